"""`entrydb push` into a real PostgreSQL: history, who may write what, and a server that dies."""

import concurrent.futures
import contextlib
import glob
import itertools
import json
import os
import random
import resource
import shutil
import signal
import socket
import string
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import support
from fleet_server import FLEET, RELATIONS, RoundTrips, Server, make_site, stop_listening, tool
from support import COULD_NOT, DONE, IS_ROOT, SITE, USAGE, CommandTest, add_distribution, write
from tls_flood import TicketFlood

OF_HOST = "JOIN entrydb.environment e ON e.id = v.environment JOIN entrydb.host h ON h.id = e.host WHERE h.name ="
MODULE = f"{os.path.dirname(support.PROGRAM)}/entrydb-fleet.so"


def setUpModule():
    global SERVER  # noqa: PLW0603: there is one for all tests
    if not os.path.exists(MODULE):
        raise unittest.SkipTest("entrydb was built without libpq")
    if not all(map(tool, ("initdb", "pg_ctl", "psql"))):
        raise unittest.SkipTest("PostgreSQL is not installed")
    # What a sanitizer keeps of freed memory counts in the limit for a reply, at which its malloc() must fail as others do.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=16:allocator_may_return_null=1"
    SERVER = Server()


def tearDownModule():
    SERVER.end()


class Fleet(CommandTest):
    number = 0

    def setUp(self):
        super().setUp()
        Fleet.number += 1
        self.role = f"host{Fleet.number}"
        SERVER.add_hosts([self.role])
        add_distribution(self.site, "alpha")

    def push(self, *paths, status=DONE, role=None, **how):
        return self.run_program("push", SERVER.url(role or self.role), *(paths or [self.prefix]), status=status, **how)

    def names(self, moment="now()", role=None):
        return [tuple(row) for row in SERVER.sql(
            f"SELECT distribution, name FROM entrydb.entry_points WHERE host = '{role or self.role}' "
            f"AND valid_from <= {moment} AND valid_to > {moment} ORDER BY 1, 2")]

    def pushed(self):
        return SERVER.sql(f"SELECT pushed FROM entrydb.environment e JOIN entrydb.host h ON h.id = e.host "
                          f"WHERE h.name = '{self.role}'")


class Pushing(Fleet):
    def test_rows_and_history(self):
        self.update()
        self.assertIn("1 databases, 1 of them changed", self.push().err)
        self.assertEqual(self.names(), [("alpha", "alpha"), ("alpha", "alpha-cmd")])
        before = SERVER.sql("SELECT clock_timestamp()")[0][0]
        add_distribution(self.site, "beta", text="[demo]\nbeta = beta:x\n")
        shutil.rmtree(f"{self.site}/alpha-1.0.dist-info")
        self.update()
        self.push()
        self.assertEqual(self.names(), [("beta", "beta")])
        self.assertEqual(self.names(f"'{before}'"), [("alpha", "alpha"), ("alpha", "alpha-cmd")])
        actions = SERVER.sql(f"SELECT action, distribution FROM entrydb.event v {OF_HOST} '{self.role}' AND v.root = '{SITE}'")
        self.assertEqual(sorted(map(tuple, actions)), [("index", ""), ("install", "beta"), ("remove", "alpha")])

    @support.needs_root
    def test_private_database_is_not_pushed(self):
        """A private entry point reaches no fleet, nor what is found about it; nor a private database."""
        info = add_distribution(self.site, "private", text="[console_scripts]\nsecret = is:swordfish\n")
        os.chmod(f"{info}/entry_points.txt", 0o600)
        write(f"{self.site}/private.pth", "import swordfish\n")
        os.chmod(f"{self.site}/private.pth", 0o600)
        add_distribution(self.site, "hashed", text="[g]\nx = hashed:y\n", RECORD="hashed.py,sha256=AAAA,1\n")
        write(f"{self.site}/hashed.py", "")
        policy = f"{self.prefix}/etc/entrydb/policy.conf"
        os.makedirs(os.path.dirname(policy))
        write(policy, "[console_scripts]\nalpha-cmd = swordfish\n")
        for file in (f"{self.site}/hashed.py", policy):
            os.chmod(file, 0o600)
        self.update()
        self.push()
        forbidden = f"SELECT v.message FROM entrydb.finding v {OF_HOST} '{self.role}' AND v.rule = 'forbidden'"
        self.assertEqual(SERVER.sql(forbidden), [])
        changed = f"SELECT count(*) FROM entrydb.finding v {OF_HOST} '{self.role}' AND v.rule = 'file-changed'"
        self.assertEqual(SERVER.sql(changed), [["0"]])
        for table in ("distribution", "entry_point", "finding", "startup", "event"):
            rows = SERVER.sql(f"SELECT v.* FROM entrydb.{table} v {OF_HOST} '{self.role}'")
            self.assertNotIn("swordfish", repr(rows), table)
        os.chmod(f"{self.site}/hashed.py", 0o644)
        os.chmod(policy, 0o644)
        add_distribution(self.site, "beta")
        self.update()
        self.push(env=self.environment(ENTRYDB_DISABLE="g"))  # of this process alone
        self.assertEqual(SERVER.sql(changed), [["1"]])
        self.assertEqual(SERVER.sql(forbidden), [[f"{policy}, line 2, which is malformed: [console_scripts] alpha-cmd = swordfish"]])
        add_distribution(self.site, "gamma")
        self.update()
        os.chmod(self.database, 0o600)
        reply = self.push(status=COULD_NOT)
        self.assertIn(f"{self.database} is not pushed: not everybody may read it", reply.err)

    @support.needs_root
    def test_a_link_into_a_closed_directory(self):
        """Whether there is anything is not told: here the zip that Python would read before its library."""
        os.chmod(self.top, 0o755)
        library, closed = os.path.dirname(self.site), f"{self.top}/closed"
        os.mkdir(closed)
        write(f"{library}/os.py", "")
        write(f"{closed}/file", "")
        os.symlink(f"{closed}/file", f"{os.path.dirname(library)}/python311.zip")
        for mode, expected in ((0o700, "0"), (0o755, "1")):
            os.chmod(closed, mode)
            add_distribution(self.site, f"d{mode}")
            self.update()
            self.push()
            self.assertEqual(SERVER.sql(f"SELECT count(*) FROM entrydb.finding v {OF_HOST} '{self.role}' AND v.message LIKE '%python311.zip%'"),
                             [[expected]])

    @support.needs_root
    def test_closed_since(self):
        """By a directory above an environment's, or above the root that is named."""
        for words, closed in (([self.prefix], f"{self.prefix}/lib"), (["--root", f"{self.top}/closed/image"], f"{self.top}/closed")):
            if words[0] == "--root":
                add_distribution(f"{words[1]}/usr/lib/python3/dist-packages", "inside")
                os.chmod(self.top, 0o755)
            self.run_program("update", *words, status=DONE)
            os.chmod(closed, 0o750)
            os.chown(closed, 0, support.STRANGER)
            reply = self.push(*words, status=COULD_NOT, user=support.STRANGER if words[0] == "--root" else None)
            self.assertIn("is not pushed: not everybody may read it", reply.err)
            self.assertEqual(self.names(), [])

    @support.needs_root
    def test_files_in_private_directories(self):
        """Its own permissions are not all that keeps a file from others."""
        info = self.install_private()
        shutil.copytree(os.path.dirname(info), f"{self.top}/hidden")
        os.symlink(f"{self.top}/hidden/private-1.0.dist-info", f"{self.site}/linked-1.0.dist-info")
        write(f"{self.top}/hidden/start.pth", "import swordfish\n")
        os.symlink(f"{self.top}/hidden/start.pth", f"{self.site}/start.pth")
        add_distribution(self.site, "listed", text="", RECORD="sitecustomize/swordfish.py,sha256=abc,1\n")
        os.mkdir(f"{self.site}/sitecustomize")  # without that file
        for path in (info, f"{self.site}/swordfish", f"{self.site}/sitecustomize", f"{self.top}/hidden"):
            os.chmod(path, 0o700)
        self.update()
        self.push()
        for table in ("distribution", "entry_point", "plugin", "finding", "startup", "event"):
            rows = SERVER.sql(f"SELECT v.* FROM entrydb.{table} v {OF_HOST} '{self.role}'")
            self.assertNotIn("swordfish", repr(rows), table)

    @support.needs_root
    def test_links_that_others_made(self):
        """Whether it exists where they lead, the fleet does not learn."""
        shared, hidden = f"{self.top}/shared", f"{self.top}/hidden"
        for path, mode in ((self.top, 0o755), (shared, 0o1777), (hidden, 0o700)):
            os.makedirs(path, exist_ok=True)
            os.chmod(path, mode)
        write(f"{self.site}/more.pth", f"{shared}/link\n{shared}/absent\n")
        os.symlink(f"{hidden}/place", f"{shared}/link")
        os.lchown(f"{shared}/link", support.STRANGER, support.STRANGER)
        for there in (False, True):
            if there:
                os.mkdir(f"{hidden}/place")
            write(f"{self.site}/{there}.txt", "")
            self.update()
            self.push()
            told = SERVER.sql(f"SELECT v.message FROM entrydb.finding v {OF_HOST} '{self.role}' AND v.rule = 'writable-by-others' AND valid_to = 'infinity'")
            self.assertEqual([row[0].partition(":")[0] for row in told], [f"{shared}/absent"], there)

    @support.needs_root
    def test_owners_in_private_directories(self):
        """Nor who owns a file there, while everybody sees that of others."""
        command = f"{self.prefix}/bin/alpha-cmd"
        os.makedirs(os.path.dirname(command))
        write(command, "")
        os.chown(command, support.STRANGER, 0)
        for mode in (0o700, 0o711):
            os.chmod(os.path.dirname(command), mode)
            add_distribution(self.site, f"more{mode}")  # else nothing is sent
            self.update()
            self.push()
            found = repr(SERVER.sql(f"SELECT v.message FROM entrydb.finding v {OF_HOST} '{self.role}' AND v.valid_to = 'infinity'"))
            self.assertEqual("alpha-cmd: it belongs to user" in found, mode == 0o711, found)

    def install_private(self):
        """With a URL, and with a plugin whose file another distribution lists."""
        info = add_distribution(self.site, "private", text="[console_scripts]\nsecret = is:swordfish\n", RECORD="swordfish.py,,\n")
        write(f"{info}/direct_url.json", '{"url": "https://swordfish/"}')
        add_distribution(self.site, "plugin", text="", RECORD="swordfish/libswordfish.so,,\n")
        os.mkdir(f"{self.site}/swordfish")
        shutil.copy(f"{os.path.dirname(support.PROGRAM)}/../tests/fixtures/kind_opencl.so", f"{self.site}/swordfish/libswordfish.so")
        return info

    @support.needs_root
    def test_private_names(self):
        """Of what only root can read, no fleet learns the name: lines of a .pth file, programs on the PATH, targets of links."""
        os.chmod(self.top, 0o755)
        private, public = f"{self.top}/private", f"{self.top}/public"
        for path in (f"{public}/swordfish/sitecustomize.py", f"{public}/mentioned/sitecustomize.py", f"{private}/bin/alpha-cmd", f"{private}/swordfish.py"):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write(path, "")
        os.chmod(f"{private}/bin/alpha-cmd", 0o755)
        os.symlink(f"{private}/swordfish.py", f"{private}/hop")
        os.symlink(f"{private}/hop", f"{self.site}/linked.py")
        add_distribution(self.site, "linked", text="[demo]\nlinked = linked:x\n", RECORD="linked.py,,\n")
        write(f"{self.site}/private.pth", f"{public}/swordfish\n/tmp/swordfish-absent\n")
        write(f"{self.site}/public.pth", f"{public}/mentioned\n{private}/bin\n")
        os.chmod(f"{self.site}/private.pth", 0o600)
        os.chmod(private, 0o700)
        self.update()
        self.push(env=self.environment(PATH=f"{private}/bin"))
        found = repr(SERVER.sql(f"SELECT v.* FROM entrydb.finding v {OF_HOST} '{self.role}'"))
        self.assertIn(f"{public}/mentioned/sitecustomize.py", found)
        for name in ("swordfish", f"{private}/bin/alpha-cmd"):
            self.assertNotIn(name, found)
        add_distribution(self.site, "beta")
        self.update()
        if shutil.which("setfacl"):
            subprocess.run(["setfacl", "-m", "u:1:---", self.database], check=True)
            self.assertIn("not everybody may read it", self.push(status=COULD_NOT).err)

    @support.needs_root
    def test_private_lists_and_names(self):
        """Nor what a private audit.conf says, nor the PATH of a directory whose name others cannot list."""
        os.chmod(self.top, 0o755)
        add_distribution(self.site, "spy", text="[hooks]\nspy = spy:x\n[console_scripts]\ndeploy = spy:y\n")
        lists, there = f"{self.home}/.config/entrydb/audit.conf", f"{self.top}/unlisted/swordfish/bin"
        for path in (lists, f"{there}/alpha-cmd"):
            os.makedirs(os.path.dirname(path))
        os.chmod(self.home, 0o755)
        write(lists, "group hooks when swordfish starts\ncommand deploy swordfish\n")
        write(f"{there}/alpha-cmd", "")
        os.chmod(f"{there}/alpha-cmd", 0o755)
        for mode, unlisted, said in ((0o600, 0o711, False), (0o644, 0o711, True), (0o600, 0o755, True)):
            os.chmod(lists, mode)
            os.chmod(f"{self.top}/unlisted", unlisted)
            add_distribution(self.site, f"more{mode}{unlisted}")
            self.update()
            self.push(env=self.environment(PATH=there))
            found = repr(SERVER.sql(f"SELECT v.* FROM entrydb.finding v {OF_HOST} '{self.role}' AND v.valid_to = 'infinity'"))
            self.assertEqual("swordfish" in found, said, (oct(mode), oct(unlisted)))

    def test_database_only_a_group_can_reach(self):
        """A member of it can read root's database there, but does not publish it."""
        self.update()
        os.chmod(self.top, 0o750)
        os.chown(self.top, 0, support.STRANGER)
        reply = self.push(status=COULD_NOT, user=support.STRANGER)
        self.assertIn(f"{self.database} is not pushed: not everybody may read it", reply.err)
        os.chown(self.home, 0, 0)
        self.push()

    def test_unchanged_rows_are_not_sent(self):
        self.update()
        self.push()
        first = self.pushed()
        self.assertIn("0 of them changed: 0 rows", self.push().err)
        self.assertEqual(self.pushed(), first)

    def test_round_trips(self):
        """Beside that of the connection: one where nothing has changed, one more for each environment that has."""
        self.update()
        counter = RoundTrips(SERVER)
        self.addCleanup(counter.close)
        for expected in (3, 2):
            counter.count = 0
            self.run_program("push", counter.url(self.role), self.prefix, status=DONE)
            self.assertEqual(counter.count, expected)

    def test_changed_rows_begin_a_new_period(self):
        self.update()
        self.push()
        add_distribution(self.site, "beta")
        self.update()
        self.push()
        self.assertEqual(SERVER.sql(f"SELECT count(*), count(DISTINCT valid_from) FROM entrydb.entry_points "
                                    f"WHERE host = '{self.role}' AND distribution = 'alpha'"), [["2", "1"]])

    def test_findings_start_up_code_and_views(self):
        add_distribution(self.site, "evil", text="[console_scripts]\naws = evil:main\nalpha-cmd = evil:main\n")
        write(f"{self.site}/evil.pth", "import evil\n")
        self.update()
        self.push()
        self.assertIn(["error", "command-hijack", "evil"],
                      SERVER.sql("SELECT level, rule, distribution FROM entrydb.findings"))
        self.assertEqual(SERVER.sql(f"SELECT file, code FROM entrydb.startup v {OF_HOST} '{self.role}'"), [["evil.pth", "import evil"]])
        self.assertEqual(SERVER.sql(f"SELECT name, distributions FROM entrydb.conflicts WHERE host = '{self.role}'"),
                         [["alpha-cmd", "{alpha,evil}"]])

    def test_drift(self):
        add_distribution(self.site, "drifting")
        self.update()
        self.push()
        first = self.role
        self.setUp()
        add_distribution(self.site, "drifting", "2.0")
        self.update()
        self.push()
        self.assertNotEqual(self.role, first)
        self.assertEqual(SERVER.sql("SELECT versions, hosts, which FROM entrydb.drift WHERE name = 'drifting'"),
                         [["2", "2", "{1.0,2.0}"]])

    def test_what_would_break_a_query_of_all_hosts(self):
        """An array or a row of more than 1 GiB; a time that is none, or of which PostgreSQL cannot tell the month."""
        for number in range(150):
            SERVER.sql(f"SELECT entrydb_host.push('/{number}', '', '[[[\"r\", \"d\", \"many\", \"{number}\", null]], [], [], [], []]', '[]')", user=self.role)
        honest = f"{self.role}honest"
        SERVER.add_hosts([honest])
        SERVER.sql("SELECT entrydb_host.push('/', '', '[[[\"r\", \"d\", \"many\", \"last\", null]], [], [], [], []]', '[]')", user=honest)
        self.assertEqual(SERVER.sql("SELECT versions, hosts, array_length(which, 1), 'last' = ANY(which) FROM entrydb.drift WHERE name = 'many'"),
                         [["151", "2", "101", "t"]])
        for moment, refused in ((1 << 62, True), (-1 << 62, True), (-210866803200, True), (253402300800, True), (0, False), (1 << 33, False)):
            event = f"SELECT entrydb_host.push('/', '', '[[], [], [], [], [[{moment}, \"a\", \"r\", null, null, null, null, null, 0]]]', '[]')"
            self.assertEqual("ERROR" in SERVER.sql(event, user=self.role, check=False), refused)
        SERVER.sql("SELECT date_trunc('month', to_timestamp(time)) FROM entrydb.event")
        many = "SELECT jsonb_agg(jsonb_build_array('r', (i || 'e131060')::numeric, 'g', 'many', 'v', 'k', 's', null)) FROM generate_series(10000, 14500) i"
        for rows, digest in ((many, "''"), ("SELECT '[]'::jsonb", "repeat('x', 600000000)")):
            self.assertIn("more than 500 MB at once", SERVER.sql(
                f"SELECT entrydb_host.push('/', {digest}, jsonb_build_array('[]'::jsonb, ({rows})), '[]')", user=self.role, check=False))

    def test_what_would_break_an_index_of_a_restored_dump(self):
        """It takes compressed text, of which a session says how it is compressed."""
        distribution, entry_point = ["r", "d", "n", "1", None], ["r", "d", "g", "n", "v", "k", "s", None]
        finding = ["rule", "level", None, None, None, None, "f", "m", "p"]
        for kind, row, places in ((0, distribution, (2, 3)), (1, entry_point, (2, 3)), (5, finding, (0,))):
            for size, place in itertools.product((1300, 10000), places):
                rows = [[], [], [], [], [], []]
                rows[kind] = [row[:place] + ["a" * size] + row[place + 1:]]
                reply = SERVER.sql(f"SELECT entrydb_host.push('/', '', '{json.dumps(rows[:5])}', '{json.dumps(rows[5])}')", user=self.role, check=False)
                self.assertEqual("violates check constraint" in reply, size > 1300, reply)
        for path, digest in (("'/'", "repeat('a', 65)"), ("repeat('a', 10000)", "''")):
            self.assertIn("violates check constraint", SERVER.sql(f"SELECT entrydb_host.push({path}, {digest}, '[]', '[]')", user=self.role, check=False))

    def test_what_would_take_minutes_to_compare(self):
        """By the collation of the database, which may be that of any language: two equal kilobytes, but for a capital letter, take seconds."""
        self.assertEqual(SERVER.sql("SELECT attrelid::regclass, attname FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid "
                                    "WHERE relnamespace = 'entrydb'::regnamespace AND attcollation NOT IN (0, '\"C\"'::regcollation)"), [])

    def test_names_of_the_same_hash(self):
        """PostgreSQL's hashes have no key: a package of 100 KB would take minutes, of each push of its host."""
        names = ("izg9Htmf8AAEtziNpJNb7thO", "AewJYoreynvCJclIuE5u$TNk", "AjorQQSotAbd4ir4/fcfgxQT", "AvhREpKZ5bT40z~fXeIBaq3P")
        self.assertEqual(SERVER.sql("SELECT count(DISTINCT hashtext(name)) FROM unnest(ARRAY[" + ", ".join(f"'{name}'" for name in names) + "]) name"), [["1"]])
        combinations = list(itertools.product(names, repeat=6))
        points = [[*row[:5], "python", "ok", row[5]] for row in combinations]
        findings = [[*row, "f", "m", ""] for row in combinations]
        for rows, found in (([[], points, [], [], []], []), ([], findings)):
            for _ in range(2):
                SERVER.sql(f"SET statement_timeout = '5s'; SELECT entrydb_host.push('/', '', $${json.dumps(rows)}$$, $${json.dumps(found)}$$)", user=self.role)
        self.assertEqual(SERVER.sql("SELECT count(*) FROM entrydb_host.own()", user=self.role), [["4096"]])

    def test_text_that_is_not_utf8(self):
        """A setting of a connection's first packet, which PostgreSQL does not check: readers and restores would refuse the table."""
        setting = "current_setting('odd.text')"
        for text, rest in (("a\udcff", ""), ("\udcc3", "\udca9"), ("\udced\udca0\udc80", ""), ("\udcc3\udca9", "")):
            for statement in (f"push({setting}, '', '[]', '[]')", f"push('/odd', {setting}, '[]', '[]')", f"push('/odd', '', jsonb_build_array(jsonb_build_array("
                              f"jsonb_build_array('r', 'd', {setting}, '1', null))), '[]')", f"push('/odd', '', '[]', jsonb_build_array(jsonb_build_array("
                              f"'rule', 'l', null, null, null, {setting}, 'f', 'm', 'p')))", f"push({setting}, current_setting('odd.rest'), '[]', '[]')"):
                done = subprocess.run([tool("psql"), "-X", "-q", "-h", SERVER.top, "-U", self.role, "-d", "fleet", "-c", f"SELECT entrydb_host.{statement}"],
                                      env={**os.environ, "PGOPTIONS": f"-c odd.text={text} -c odd.rest={rest}"}, capture_output=True, text=True, check=False)
                self.assertEqual("invalid byte sequence" in done.stderr, text != "\udcc3\udca9", (text, statement, done.stderr))

    def test_a_database_in_another_encoding(self):
        """SQL_ASCII takes bytes of which a reader's client refuses all that comes with them."""
        SERVER.sql("CREATE DATABASE bytes ENCODING 'SQL_ASCII' TEMPLATE template0", database="postgres")
        self.addCleanup(SERVER.sql, "DROP DATABASE bytes", database="postgres")
        self.assertIn("the encoding of the database is SQL_ASCII, and must be UTF8", SERVER.sql(support.read(FLEET), database="bytes", check=False))

    def test_a_database_of_postgresql_14(self):
        """There, PUBLIC can create in public, and a function of a CHECK is executed by the superuser who restores a dump."""
        SERVER.sql("CREATE DATABASE former", database="postgres")
        self.addCleanup(SERVER.sql, "DROP DATABASE former", database="postgres")
        SERVER.sql(f"GRANT CREATE ON SCHEMA public TO PUBLIC; {support.read(FLEET)}", database="former")
        self.assertIn("permission denied for schema public", SERVER.sql("CREATE TABLE public.lure ()", user=self.role, database="former", check=False))

    def test_odd_text(self):
        add_distribution(self.site, "odd", text="[g\\t]\na\\b = m:f\n\x1b = m:\u2028\n".replace("\u2028", "f"))
        support.write(f"{self.site}/x.pth", b"import \xff\x00 '\\N'\nimport \xed\xa0\x80\nimport '\\u0000\x01\"'\n")
        self.update()
        self.push()
        self.assertIn(("odd", "a\\b"), self.names())
        self.assertEqual(SERVER.sql(f"SELECT code FROM entrydb.startup v {OF_HOST} '{self.role}' ORDER BY v.line"), [[r"import \xff\x00 '\\N'"], [r"import \xed\xa0\x80"], ["import '\\u0000\x01\"'"]])

    def test_names_without_end(self):
        """An index of PostgreSQL takes 2,704 bytes: a long name must not keep all else of a host away."""
        letters = [random.choice(string.ascii_letters) for _ in range(5000)]
        text = "".join(letters)
        add_distribution(self.site, "long", text=f"[{text[:3000]}]\n{text[1000:4000]} = m:f\n")
        info = f"{self.site}/other-1.0.dist-info"
        os.makedirs(info)
        write(f"{info}/METADATA", support.metadata(text[:4000], text[4000:] * 4))
        write(f"{info}/entry_points.txt", f"[g]\n{'é' * 3000} = m:f\n")
        self.update()
        self.push()
        self.assertIn(("long", text[1000:1300]), self.names())
        self.assertIn((text[:300], "é" * 150), self.names())
        self.assertIn(("alpha", "alpha"), self.names())

    def test_the_clock_goes_backwards(self):
        """The server's: what came before has ended when what comes after begins."""
        self.update()
        self.push()
        SERVER.sql("".join(f"UPDATE entrydb.{name} SET valid_from = valid_from + interval '1 hour'; " for name in RELATIONS) +
                   "UPDATE entrydb.environment SET pushed = pushed + interval '1 hour'")
        for version in ("2.0", "3.0"):
            shutil.rmtree(glob.glob(f"{self.site}/alpha-*.dist-info")[0])
            add_distribution(self.site, "alpha", version)
            self.update()
            self.push()
        history = SERVER.sql("SELECT version, valid_from < valid_to, valid_to = lead(valid_from, 1, 'infinity') OVER (ORDER BY valid_from) "
                             f"FROM entrydb.distribution v {OF_HOST} '{self.role}' ORDER BY valid_from")
        self.assertEqual(history, [["1.0", "t", "t"], ["2.0", "t", "t"], ["3.0", "t", "t"]])

    def test_usage(self):
        for words in ([], ["http://x/"], ["nonsense", self.prefix], ["service=x password=y", self.prefix]):
            self.assertRegex(self.run_program("push", *words, status=USAGE).err, r"\Aentrydb: .*--help'\n\Z")


class Trust(Fleet):
    """A host is the role that it logs in as."""

    def test_role_without_a_host(self):
        self.update()
        SERVER.sql(f"CREATE ROLE nobody{self.number} LOGIN; GRANT entrydb_host TO nobody{self.number}")
        reply = self.push(role=f"nobody{self.number}", status=COULD_NOT)
        self.assertIn("knows no host by this role", reply.err)
        self.assertEqual(reply.err.count("\n"), 1)

    def two_hosts(self):
        """A host that has pushed, with the numbers that it has; then another one, which has, too, and is the enemy."""
        self.update()
        self.push()
        victim = self.role
        [[number, environment, path]] = SERVER.sql(
            f"SELECT h.id, e.id, quote_literal(e.path) FROM entrydb.host h JOIN entrydb.environment e ON e.host = h.id "
            f"WHERE h.name = '{victim}'")
        self.setUp()
        self.update()
        self.push()
        return victim, number, environment, path

    def everything_of(self, host):
        return [SERVER.sql(f"SELECT v.* FROM entrydb.{name} v {OF_HOST} '{host}' ORDER BY v::text") for name in RELATIONS]

    def test_a_host_that_lies_about_another(self):
        victim, number, environment, path = self.two_hosts()
        before = self.everything_of(victim)
        columns = "environment, root, distribution, group_name, name, value, kind, state, valid_from"
        for statement in (
                f"INSERT INTO entrydb.entry_point ({columns}) VALUES ({environment}, 'r', 'd', 'g', 'n', 'v', 'python', 'ok', now())",
                f"INSERT INTO entrydb.environment (host, path, digest, pushed) VALUES ({number}, '/x', '', now())",
                f"INSERT INTO entrydb.environment (id, host, path, digest, pushed) OVERRIDING SYSTEM VALUE VALUES (1000, {number}, '/x', '', now())",
                f"UPDATE entrydb.entry_point SET environment = {environment}", "UPDATE entrydb.entry_point SET valid_to = now()",
                f"UPDATE entrydb.environment SET host = {number}", "UPDATE entrydb.environment SET digest = 'lie'",
                f"SET SESSION AUTHORIZATION {victim}", f"SET ROLE {victim}", "SET ROLE admin",
                "DELETE FROM entrydb.event", "TRUNCATE entrydb.event", "CREATE TABLE entrydb.mine ()",
                "CREATE OR REPLACE FUNCTION entrydb_host.known() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
                *(f"EXPLAIN SELECT FROM entrydb.{name} WHERE false" for name in ("host", "environment", *RELATIONS)),
                "SELECT lo_creat(-1)", "SELECT lo_create(0)", "SELECT lo_from_bytea(0, '')",
                # With a type of its own, it could create a cast, which has no schema, so that a dump has it.
                "CREATE TYPE pg_temp.mine AS ENUM ()", f"CREATE TEMP TABLE host AS SELECT {number} AS id, session_user AS name",
                "SELECT * FROM entrydb.entry_points", "SELECT * FROM entrydb.findings", "COPY entrydb.host TO STDOUT",
                "SELECT setval('entrydb.environment_id_seq', 1)", "SELECT nextval('entrydb.environment_id_seq')",
                f"SELECT entrydb.enroll('{self.role}x')", f"SELECT entrydb.retire('{victim}')"):
            self.assertRegex(SERVER.sql(statement, user=self.role, check=False), "permission denied|must be (owner|member)", statement)
        lie = '["r", "d", "lie", "lie", "v", "python", "ok", null, {environment}, "infinity"]'
        # A database restored without its permissions lets everybody create temporary tables.
        SERVER.sql(f"SELECT format('GRANT TEMPORARY ON DATABASE %I TO {self.role}', current_database()) \\gexec")
        self.addCleanup(SERVER.sql, f"SELECT format('REVOKE TEMPORARY ON DATABASE %I FROM {self.role}', current_database()) \\gexec")
        for statement in (  # allowed, and of no concern to others
                f"SELECT entrydb_host.push({path}, 'lie', '[[], [{lie}], [], [], []]', '[]')",
                f"CREATE TEMP TABLE host AS SELECT {number} AS id, session_user AS name; SET search_path = pg_temp, public; "
                f"SELECT entrydb_host.push({path}, 'lie', '[]', '[]')",
                f"SET ROLE entrydb_host; SELECT entrydb_host.push({path}, 'lie', '[]', '[]')",
                "DROP OWNED BY entrydb_host CASCADE", f"REASSIGN OWNED BY entrydb_host TO {self.role}"):
            SERVER.sql(statement.replace("{environment}", environment), user=self.role)
        self.assertEqual(self.everything_of(victim), before)
        self.assertEqual(SERVER.sql(f"SELECT digest = 'lie' FROM entrydb.environment WHERE id = {environment}"), [["f"]])
        self.assertEqual(len(SERVER.sql("SELECT * FROM entrydb_host.known()", user=self.role)), 2)
        self.assertEqual(len(SERVER.sql("SELECT * FROM entrydb_host.known()", user=victim)), 1)
        own = "SELECT DISTINCT host, value FROM entrydb.{} WHERE host = '{}' ORDER BY 2"
        for role in (self.role, victim):
            self.assertEqual(SERVER.sql("SELECT DISTINCT host, value FROM entrydb_host.own() ORDER BY 2", user=role),
                             SERVER.sql(own.format("entry_points", role)))
        plan = SERVER.sql("EXPLAIN (COSTS off) SELECT FROM entrydb_host.own()", user=self.role)
        self.assertEqual(plan, [["Function Scan on own"]])  # that of its statement would tell about others

    def test_a_host_that_plans(self):
        """Permissions are checked after planning, and a plan tells how many rows match, also of a table that may not be read."""
        self.two_hosts()
        SERVER.sql("ANALYZE")
        show = "SET client_min_messages = log; SET debug_print_plan = on; "
        self.assertIn("plan_rows", SERVER.sql(f"{show} SELECT 1", user=self.role, check=False))
        for name in ("host", "environment", *RELATIONS, "entry_points", "drift", "conflicts", "findings"):
            reply = SERVER.sql(f"{show} SELECT FROM entrydb.{name} v WHERE v::text < 'x'", user=self.role, check=False)
            self.assertIn("permission denied for schema entrydb", reply)
            self.assertNotIn("plan_rows", reply)

    def test_a_host_that_measures(self):
        """After a checkpoint, the log tells whether a page was changed before: of an index on names, where the names of others are."""
        names = [f"{letter}{number}" for letter in string.ascii_lowercase for number in range(100)]
        for kind, row in enumerate((["r", "d", None, "1", None], ["r", "d", "g", None, "v", "k", "s", None], ["r", "d", "k", None, None, None, "s"],
                                    ["r", "f", 1, "k", None], [1, "a", "r", None, None, None, None, None, 0], [None, *"ldvgnfmp"])):
            def push(path, sent, kind=kind, row=row):
                rows = [[], [], [], [], [], []]
                rows[kind] = [[name if value is None else value for value in row] for name in sent]
                return f"SELECT entrydb_host.push('{path}', '', '{json.dumps(rows[:5])}', '{json.dumps(rows[5])}')"
            SERVER.sql(push("/", names), user=self.role)
            enemy = f"{self.role}enemy{kind}"
            SERVER.add_hosts([enemy])
            SERVER.sql(push("/", string.ascii_lowercase), user=enemy)
            most = []
            for _ in range(3):  # the server itself may write something
                SERVER.sql("CHECKPOINT")
                sizes = SERVER.sql("BEGIN; " + "; ".join(f"{push('/new', string.ascii_lowercase[:count])}; SELECT pg_current_wal_insert_lsn() - '0/0'"
                                                         for count in range(1, 27)) + "; ROLLBACK", user=enemy)
                sizes = [int(size) for [size] in sizes if size]
                most.append(max(after - before for before, after in itertools.pairwise(sizes[1:])))
            self.assertLess(min(most), 2500, (kind, most))

    def test_history_is_only_added_to(self):
        """Data sent by a host ends its previous rows; events stay. A transaction left open backdates nothing."""
        self.update()
        self.push()
        path = SERVER.sql("SELECT quote_literal(path) FROM entrydb_host.known()", user=self.role)[0][0]
        before = self.everything_of(self.role)
        for _ in range(2):
            SERVER.sql(f"SELECT entrydb_host.push({path}, 'lie', '[[], [], [], [], []]', '[]')", user=self.role)
        self.assertEqual(self.names(), [])
        after = self.everything_of(self.role)
        self.assertEqual([len(rows) for rows in after], [len(rows) for rows in before])
        self.assertEqual(after[RELATIONS.index("event")], before[RELATIONS.index("event")])
        for row in ("5", "[[5]]", '[[["r", "d", null, "v", null]]]', '[[], [], [], [["r", "f", "x", "k", "c"]]]'):
            self.assertIn("ERROR", SERVER.sql(f"SELECT entrydb_host.push({path}, 'lie', '{row}', '[]')", user=self.role, check=False), row)
        self.assertEqual(self.everything_of(self.role), after)
        for _ in range(2):
            began = SERVER.sql("BEGIN; SELECT now(); SELECT pg_sleep(0.2); SELECT entrydb_host.push('/held', '', '[]', '[]'); COMMIT", user=self.role)[0][0]
            self.assertEqual(SERVER.sql(f"SELECT pushed > timestamptz '{began}' + interval '0.1 s' FROM entrydb.environment WHERE path = '/held'"), [["t"]])

    def test_a_host_that_blocks_another(self):
        """Neither by locks, nor by a push of its own that is not ended."""
        victim, _, environment, path = self.two_hosts()
        for lock in ("BEGIN; LOCK TABLE entrydb.event IN SHARE MODE", "BEGIN; LOCK TABLE entrydb.host", "SELECT 1 FROM entrydb.environment FOR UPDATE",
                     f"SELECT 1 FROM entrydb.environment WHERE id = {environment} FOR KEY SHARE"):
            self.assertIn("permission denied", SERVER.sql(lock, user=self.role, check=False), lock)
        holder = subprocess.Popen([tool("psql"), "-X", "-q", "-h", SERVER.top, "-U", self.role, "-d", "fleet", "-c",
                                   f"BEGIN; SELECT entrydb_host.push({path}, 'held', '[]', '[]'); SELECT pg_sleep(600)"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            support.until(lambda: SERVER.sql(f"SELECT 1 FROM pg_stat_activity WHERE usename = '{self.role}' AND wait_event = 'PgSleep'"))
            # The prefix of the victim is gone: what it has there now is another one's.
            SERVER.sql(f"SET statement_timeout = '20s'; SELECT entrydb_host.push({path}, 'anew', '[]', '[]')", user=victim)
            SERVER.sql(f"SET statement_timeout = '20s'; SELECT entrydb.retire('{victim}')")
        finally:
            SERVER.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()")
            holder.wait()

    def test_a_host_with_most_rows(self):
        """It does not slow down the first query of others, nor own(): by the statistics of the tables, they could have as many."""
        self.addCleanup(SERVER.sql, f"SELECT entrydb.retire('{self.role}'); ANALYZE entrydb.environment, entrydb.entry_point")
        for environments, rows in ((20000, 0), (1, 20000)):
            SERVER.sql(f"DELETE FROM entrydb.environment; INSERT INTO entrydb.environment (host, path, digest, pushed) SELECT h.id, i, '', now() "
                       f"FROM entrydb.host h, generate_series(1, {environments}) i WHERE h.name = '{self.role}';"
                       "INSERT INTO entrydb.entry_point (environment, valid_from, root, distribution, group_name, name, value, kind, state) "
                       f"SELECT id, now(), '', '', '', i, '', '', '' FROM entrydb.environment, generate_series(1, {rows}) i;"
                       "ANALYZE entrydb.environment, entrydb.entry_point")
            other = f"{self.role}other{rows}"
            SERVER.add_hosts([other])
            reply = SERVER.sql("BEGIN; SELECT count(*) FROM entrydb_host.known(); SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables "
                               "WHERE schemaname = 'entrydb' AND relname = 'environment'", user=other)
            self.assertEqual(reply, [["1"], ["0"]])
            SERVER.sql("SELECT entrydb_host.push('/', '', '[]', '[]')", user=other)
            reply = SERVER.sql("BEGIN; SELECT count(*) FROM entrydb_host.own(); SELECT sum(seq_tup_read + idx_tup_fetch) "
                               "FROM pg_stat_xact_user_tables WHERE schemaname = 'entrydb' AND relname IN ('environment', 'entry_point')", user=other)
            self.assertEqual(reply, [["0"], ["1"]])

    def test_who_may_create_in_public(self):
        """Functions, operators and tables created by a host, in any schema, are not used by others."""
        for schema in ("public", "entrydb_lure"):
            SERVER.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}; GRANT CREATE, USAGE ON SCHEMA {schema} TO {self.role}")
            SERVER.sql(f"""
                CREATE FUNCTION {schema}.rise() RETURNS void LANGUAGE plpgsql AS $$ BEGIN ALTER ROLE {self.role} SUPERUSER; END $$;
                CREATE FUNCTION {schema}.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS $$ SELECT {schema}.rise()::text || $1 $$;
                CREATE FUNCTION {schema}.format(text, name) RETURNS text LANGUAGE sql AS $$ SELECT {schema}.rise()::text || $1 $$;
                CREATE FUNCTION {schema}.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT {schema}.rise(); SELECT pg_catalog.now() $$;
                CREATE FUNCTION {schema}.same(name, name) RETURNS boolean LANGUAGE sql AS $$ SELECT {schema}.rise(); SELECT true $$;
                CREATE OPERATOR {schema}.= (FUNCTION = {schema}.same, LEFTARG = name, RIGHTARG = name);
                CREATE TABLE {schema}.host (id integer, name name)""", user=self.role)
            path = f"SET search_path = {schema}, pg_catalog; "
            SERVER.sql(f"CREATE ROLE lured{self.number}{schema} LOGIN; {path} SELECT entrydb.enroll('lured{self.number}{schema}'); "
                       f"SELECT entrydb_host.push('/x', 'd', '[]', '[]') WHERE false; SELECT * FROM entrydb.drift; SELECT * FROM entrydb.entry_points")
            self.update()
            SERVER.sql(f"ALTER ROLE {self.role} SET search_path = {schema}, pg_catalog")
            self.push()
            SERVER.sql(f"{path} SELECT entrydb.retire('lured{self.number}{schema}')")
            SERVER.sql(f"DROP OWNED BY {self.role}; GRANT entrydb_host TO {self.role}")
        self.assertEqual(SERVER.sql(f"SELECT rolsuper FROM pg_roles WHERE rolname = '{self.role}'"), [["f"]])
        unset = "SELECT proname FROM pg_proc WHERE pronamespace = 'entrydb'::regnamespace AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(proconfig, '{}'))"
        self.assertEqual(SERVER.sql(unset), [])

    def test_renamed_role(self):
        self.update()
        self.push()
        SERVER.sql(f"ALTER ROLE {self.role} RENAME TO renamed{self.number}")
        self.assertIn("knows no host by this role", self.push(role=f"renamed{self.number}", status=COULD_NOT).err)
        SERVER.sql(f"UPDATE entrydb.host SET name = 'renamed{self.number}' WHERE name = '{self.role}'")
        self.assertIn("0 of them changed", self.push(role=f"renamed{self.number}").err)
        self.assertEqual(self.names(role=f"renamed{self.number}"), [("alpha", "alpha"), ("alpha", "alpha-cmd")])

    def test_retired_host(self):
        self.update()
        self.push()
        SERVER.sql(f"SELECT entrydb.retire('{self.role}')")
        for name in ("environment", *RELATIONS):
            self.assertEqual(SERVER.sql(f"SELECT count(*) FROM entrydb.{name} WHERE {'id' if name == 'environment' else 'environment'} "
                                        "NOT IN (SELECT e.id FROM entrydb.environment e JOIN entrydb.host h ON h.id = e.host)"), [["0"]])
        self.assertIn("knows no host by this role", self.push(status=COULD_NOT).err)
        self.assertIn("no host", SERVER.sql(f"SELECT entrydb.retire('{self.role}')", check=False))


class Secrets(Fleet):
    """A password in the URL: for the server alone."""

    def test_messages(self):
        for url in ("postgresql://h1:hush@[::1/fleet", "postgresql://h1:hu%zzhush@host/fleet", "postgresql://h1:hush@host/fleet?nonsense=1",
                    "postgresql://h1:hu@hush@host/fleet", "postgresql://h1:hu@sh:hush@host/fleet", "postgresql://h1:hu/hush@host/fleet", "postgresql://h1:hu?hush@host/fleet",
                    "postgresql://h1:hu#hush@host/fleet", "postgresql://h1:hush@host:99999/fleet", "postgresql://h1:hush/fleet", "postgresql:///?password=hu hush", "postgresql:///?password=a&hush",
                    "postgresql://h1:hush@127.0.0.1:1/fleet", "postgresql:///fleet?host=/nowhere&password=hush"):
            reply = self.run_program("push", url, self.prefix, status=COULD_NOT)
            self.assertRegex(reply.err, r"\Aentrydb: the fleet's (URL|server): [^\n]*\n\Z")
            self.assertNotIn("hush", reply.err)
        for url in ("postgre://h1:hush@host/fleet", "postgresql:/h1:hush@host", "postgres:h1:hush@host/fleet", "host=h password = hush"):
            self.assertNotIn("hush", self.run_program("push", url, self.prefix, status=USAGE).err)

    @support.needs_root
    def test_files_of_another_user(self):
        """sudo may keep HOME: its owner would choose the server that gets root's password."""
        write(f"{self.home}/.pg_service.conf", "[fleet]\nhost=nowhere.invalid\n")
        shutil.copy(f"{self.home}/.pg_service.conf", f"{self.home}/pg_service.conf")
        env = self.environment()
        os.mkdir(f"{self.home}/.postgresql")
        own = [f"{self.home}/.postgresql/{name}" for name in ("root.crt", "root.crl", "postgresql.crt", "postgresql.key")]
        for path in own:
            write(path, "")
        for path, variables in ((self.home, {}), (f"{self.home}/.pg_service.conf", {}), *((path, {}) for path in own),
                                (f"{self.home}/.pg_service.conf", {"HOME": "", "PGSERVICEFILE": f"{self.home}/.pg_service.conf"}),
                                (f"{self.home}/pg_service.conf", {"HOME": "", "PGSYSCONFDIR": self.home})):
            os.chown(path, support.STRANGER, support.STRANGER)
            reply = self.run_program("push", "service=fleet", self.prefix, env={**env, **variables}, status=COULD_NOT)
            self.assertIn(f"{path} belongs to user {support.STRANGER}", reply.err)
            os.chown(path, 0, 0)
        for path in own:
            os.unlink(path)
        self.assertIn("nowhere.invalid", self.run_program("push", "service=fleet", self.prefix, env=env, status=COULD_NOT).err)
        theirs = f"{self.top}/theirs"
        os.mkfifo(theirs)
        os.chown(theirs, support.STRANGER, support.STRANGER)
        for name in ("passfile", "sslcert", "sslcrl", "sslcrldir", "sslkey", "sslrootcert"):
            for url, variables in ((f"postgresql://h1@nowhere.invalid/fleet?{name}={theirs}", {}), ("service=fleet", {f"PG{name.upper()}": theirs})):
                reply = self.run_program("push", url, self.prefix, env={**env, **variables}, status=COULD_NOT)
                self.assertIn(f"{theirs} belongs to user {support.STRANGER}", reply.err)
        os.rename(theirs, f"{self.top}/system")  # of libpq 16, only sslrootcert=system is no file
        for name in ("sslcert", "sslcrl", "sslkey"):
            url = f"postgresql://h1@nowhere.invalid/fleet?{name}=system"
            reply = self.run_program("push", url, self.prefix, env=env, cwd=self.top, status=COULD_NOT)
            self.assertIn(f"system belongs to user {support.STRANGER}", reply.err)
        os.chmod(self.home, 0o1777)  # for .pgpass, which does not exist yet
        self.assertIn("others can create files in", self.run_program("push", "service=fleet", self.prefix, env=env, status=COULD_NOT).err)

    @unittest.skipUnless(IS_ROOT and shutil.which("unshare"), "only root mounts another list of users")
    def test_home_of_the_account(self):
        """That is what libpq takes without HOME, as in a unit of systemd."""
        write(f"{self.top}/passwd", f"root:x:0:0::{self.home}:/bin/sh\n")
        write(f"{self.home}/.pg_service.conf", "[fleet]\nhost=nowhere.invalid\n")
        env = self.environment()
        del env["HOME"]
        words = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"', f"{self.top}/passwd", support.PROGRAM, "push", "service=fleet", self.prefix]
        for mode, expected in ((0o755, "nowhere.invalid"), (0o1777, "others can create files in"), (0o777, "others may write to")):
            os.chmod(self.home, mode)
            done = subprocess.run(words, env={**env, "PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False)
            if done.stderr.startswith(("unshare:", "mount:")):
                self.skipTest(done.stderr)
            self.assertIn(expected, done.stderr)

    def test_words_of_the_process(self):
        with socket.socket() as silent:  # takes connections, and says nothing
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            child = self.start("push", f"postgresql://h1:hush@127.0.0.1:{silent.getsockname()[1]}/fleet?sslpassw%6Frd=hush", self.prefix)
            peer, _ = silent.accept()
            with peer, open(f"/proc/{child.pid}/cmdline", "rb") as file:
                words = file.read()
            child.kill()
            child.communicate()
        self.assertIn(b"postgresql://h1:xxxx@127.0.0.1", words)
        self.assertNotIn(b"hush", words)


@unittest.skipUnless(shutil.which("openssl"), "openssl, which makes certificates, is not installed")
class Encrypted(Fleet):
    """As libpq's settings say, with certificates."""

    def openssl(self, *words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.top)

    def authority(self, name):
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", f"{name}.key",
                     "-out", f"{name}.crt")
        return f"{self.top}/{name}.crt"

    def setUp(self):
        super().setUp()
        self.ours, self.other = self.authority("ours"), self.authority("other")
        self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")
        self.openssl("x509", "-req", "-in", "server.csr", "-CA", "ours.crt", "-CAkey", "ours.key", "-CAcreateserial", "-days", "2",
                     "-out", "server.crt")
        for name in ("server.key", "server.crt"):
            shutil.copy(f"{self.top}/{name}", SERVER.data)
            os.chmod(f"{SERVER.data}/{name}", 0o600)
            if SERVER.owner:
                os.chown(f"{SERVER.data}/{name}", SERVER.owner, SERVER.owner)

    def try_push(self, settings, host="localhost", status=DONE):
        return self.run_program("push", f"postgresql://{self.role}@{host}:{self.port}/fleet?hostaddr=127.0.0.1&{settings}",
                                self.prefix, status=status)

    def test_tls(self):
        self.update()
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        SERVER.stop("fast")
        SERVER.start(f"-c listen_addresses=127.0.0.1 -c port={self.port} -c ssl=on")
        try:
            self.assertIn("1 of them changed", self.try_push(f"sslmode=verify-full&sslrootcert={self.ours}").err)
            for settings, host, expected in ((f"sslmode=verify-full&sslrootcert={self.other}", "localhost", "certificate verify failed"),
                                             (f"sslmode=verify-full&sslrootcert={self.ours}", "elsewhere", "does not match host name"),
                                             ("sslmode=verify-full&sslrootcert=/nowhere", "localhost", "does not exist")):
                reply = self.try_push(settings, host, COULD_NOT)
                self.assertIn(expected, reply.err)
                self.assertEqual(reply.err.count("\n"), 1)
            SERVER.stop("fast")
            SERVER.start(f"-c listen_addresses=127.0.0.1 -c port={self.port} -c ssl=off")
            reply = self.try_push("sslmode=require", status=COULD_NOT)
            self.assertIn("server does not support SSL", reply.err)
            self.assertEqual(reply.err.count("\n"), 1)
        finally:
            SERVER.stop("fast")
            SERVER.start()


class Impostor:
    """What says that it is a PostgreSQL, to one client after the other: as far as @answer makes it one."""

    def __init__(self, answer, greet=lambda peer: None, *, authenticated=True, path=None):
        self.answer, self.greet, self.asked, self.authenticated = answer, greet, [], authenticated
        self.listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self.listener.bind(path or ("", 0))
        self.listener.listen()
        self.port = None if path else self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with peer, contextlib.suppress(OSError):
                self.talk(peer)

    def talk(self, peer):
        while True:
            begin = peer.recv(8)  # a length, and what is wanted: TLS, GSSAPI, or a session
            if not begin:
                return
            wanted = int.from_bytes(begin[4:], "big")
            self.asked.append(wanted)
            if wanted not in (80877103, 80877104):
                break
            peer.sendall(b"N")
        peer.recv(4096)
        if self.authenticated:
            peer.sendall(b"R" + (8).to_bytes(4, "big") + bytes(4))
        self.greet(peer)
        peer.sendall(b"Z" + (5).to_bytes(4, "big") + b"I")
        peer.recv(4096)
        peer.sendall(b"1" + (4).to_bytes(4, "big") + b"2" + (4).to_bytes(4, "big"))
        self.answer(peer)

    def close(self):
        stop_listening(self.listener, self.thread)


def column(name):
    return name + b"\0" + bytes(6) + (25).to_bytes(4, "big") + b"\xff\xff\xff\xff\xff\xff" + bytes(2)


def message(kind, body):
    return kind + (4 + len(body)).to_bytes(4, "big") + body


def ticket():
    """A cache of Kerberos credentials, such as anybody can write: for libpq, a reason to ask for encryption by Kerberos."""
    def text(value):
        return len(value).to_bytes(4, "big") + value

    def principal(*names):
        return (1).to_bytes(4, "big") + len(names).to_bytes(4, "big") + text(b"R") + b"".join(map(text, names))

    times = b"".join((int(time.time()) + seconds).to_bytes(4, "big") for seconds in (0, 0, 86400, 86400))
    return (b"\5\4\0\0" + principal(b"x") + principal(b"x") + principal(b"krbtgt", b"R") + (18).to_bytes(2, "big") + text(bytes(32)) +
            times + bytes(13) + text(b"x") + text(b""))


HEAD = b"T" + (6 + 3 * 20).to_bytes(4, "big") + b"\0\3" + column(b"a") + column(b"b") + column(b"c")


class Answers(Fleet):
    """Of a server that means no good: one line, in bounded time and memory."""

    def test_answers_without_end(self):
        self.update()

        def rows(peer):
            row = b"D" + (4 + 2 + 3 * 5).to_bytes(4, "big") + b"\0\3" + b"\0\0\0\x012" * 3
            peer.sendall(HEAD)
            while True:
                peer.sendall(row * 10000)

        def one_row(peer):
            peer.sendall(HEAD + b"D" + (1 << 30).to_bytes(4, "big") + b"\0\3" + ((1 << 30) - 14).to_bytes(4, "big"))
            while True:
                peer.sendall(bytes(1 << 20))

        def notices(peer):
            while True:
                peer.sendall(message(b"N", b"SNOTICE\0C00000\0M\x1b[31mx\0\0") * 10000)

        def settings(peer):
            for number in itertools.count():
                peer.sendall(message(b"S", b"n%d\0%s\0" % (number, b"x" * 20000)))

        def between_rows(filling):
            row = b"D" + (4 + 2 + 3 * 5).to_bytes(4, "big") + b"\0\3" + b"\0\0\0\x012" * 3

            def answer(peer):
                peer.sendall(HEAD)
                for number in itertools.count():
                    peer.sendall(row + b"".join(filling(b"%d-%d" % (number, each)) for each in range(1000)))
            return answer

        def results(peer):
            while True:
                peer.sendall(message(b"C", b"SELECT 1\0") * 10000)

        def slowly(peer):
            peer.sendall(HEAD + b"D" + (10000).to_bytes(4, "big"))
            while True:
                peer.sendall(b"\0")
                time.sleep(0.1)

        no_postgres = "it answers as no PostgreSQL does"
        for answer, words in ((results, no_postgres), (lambda peer: peer.sendall(message(b"E", b"\0")), "no error message available"),
                              (lambda peer: peer.sendall(message(b"E", b"M" + b"x" * 1000000 + b"\0\0")), "x{3900,4000}"), (lambda peer: peer.sendall(message(b"H", bytes(3))), no_postgres),
                              (slowly, "no answer within 2 seconds"), (rows, "its answer does not end"),
                              (between_rows(lambda _: message(b"A", bytes(4) + b"channel\0" + b"x" * 1000 + b"\0")), "its answer does not end"),
                              (between_rows(lambda name: message(b"S", name + b"\0" + b"x" * 1000 + b"\0")), "its answer does not end"),
                              (notices, "its answer does not end"), ((None, notices), "its answer does not end"),
                              ((None, settings), "its answer does not end"), (one_row, "cannot allocate memory for input buffer")):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            server = Impostor(*answer) if isinstance(answer, tuple) else Impostor(answer)
            began = time.monotonic()
            reply = self.run_program("push", f"postgresql://h@127.0.0.1:{server.port}/fleet?tcp_user_timeout={200 if answer is slowly else 60000}",
                                     self.prefix, status=COULD_NOT)
            server.close()
            self.assertRegex(reply.err, rf"\Aentrydb: the fleet's server: ({words})\n\Z")
            self.assertLess(time.monotonic() - began, 60)
            if not support.build_type_is_sanitized():
                self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, max(before + 1, 200 << 10))

    def test_an_answer_in_small_pieces(self):
        """From far away: what ends is read."""
        self.update()

        def answer(peer):
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.sendall(HEAD)
            for _ in range(3000):
                peer.sendall(b"D" + (4 + 2 + 3 * 5).to_bytes(4, "big") + b"\0\3" + b"\0\0\0\x012" * 3)
                time.sleep(0.0005)
            peer.sendall(message(b"C", b"SELECT 3000\0") + message(b"Z", b"I"))

        server = Impostor(answer)
        reply = self.run_program("push", f"postgresql://h@127.0.0.1:{server.port}/fleet", self.prefix, status=COULD_NOT)
        server.close()
        self.assertRegex(reply.err, r"closed the connection unexpectedly|Connection reset|connection not open")

    def test_settings_without_end(self):
        """libpq looks for each among all before it: a megabyte of them takes minutes."""
        self.update()

        def answer(peer):
            peer.sendall(HEAD)
            for number in itertools.count():
                peer.sendall(b"".join(message(b"S", b"%d-%d\0x\0" % (number, each)) for each in range(1000)))

        server = Impostor(answer)
        began = time.monotonic()
        reply = self.run_program("push", f"postgresql://h@127.0.0.1:{server.port}/fleet", self.prefix, status=COULD_NOT)
        server.close()
        self.assertEqual(reply.err, "entrydb: the server asks for too much computation\n")
        self.assertLess(time.monotonic() - began, 60)

    def test_a_row_of_a_gigabyte(self):
        """By a Unix socket, the amount received is unknown."""
        def answer(peer):
            size = (1 << 30) - 100
            peer.sendall(HEAD + b"D" + size.to_bytes(4, "big") + b"\0\3" + (size - 18).to_bytes(4, "big"))
            for _ in range(1 << 10):
                peer.sendall(bytes(1 << 20))

        self.update()
        with tempfile.TemporaryDirectory(dir="/tmp") as top:  # paths of sockets must be short
            server = Impostor(answer, path=f"{top}/.s.PGSQL.5432")
            self.addCleanup(server.close)
            reply = self.run_program("push", f"postgresql://h@/fleet?host={top}", self.prefix, status=COULD_NOT)
        self.assertEqual(reply.err, "entrydb: the fleet's server: cannot allocate memory for input buffer\n")

    def test_passwords_without_end(self):
        """Each demand has an answer, which this server does not read."""
        released = threading.Event()

        def demand(peer):
            with contextlib.suppress(OSError):
                peer.sendall(message(b"R", (5).to_bytes(4, "big") + b"salt") * 400_000)
            released.wait()

        self.update()
        with tempfile.TemporaryDirectory(dir="/tmp") as top:  # paths of sockets must be short
            for path in (f"{top}/.s.PGSQL.5432", None):
                server = Impostor(None, demand, authenticated=False, path=path)
                self.addCleanup(server.close)
                self.addCleanup(released.set)
                at = f"/fleet?host={top}" if path else f"127.0.0.1:{server.port}/fleet"
                reply = self.run_program("push", f"postgresql://h:hush@{at}", self.prefix, status=COULD_NOT)
                self.assertRegex(reply.err, r"\Aentrydb: the fleet's server: .+\n\Z")

    def test_a_password_that_takes_an_hour_to_prove(self):
        def demand(peer):
            peer.sendall(message(b"R", (10).to_bytes(4, "big") + b"SCRAM-SHA-256\0\0"))
            nonce = peer.recv(4096).partition(b"r=")[2]
            peer.sendall(message(b"R", (11).to_bytes(4, "big") + b"r=" + nonce + b"x,s=c2FsdA==,i=2147483647"))
            peer.recv(4096)

        self.update()
        server = Impostor(None, demand, authenticated=False)
        self.addCleanup(server.close)
        reply = self.run_program("push", f"postgresql://h:hush@127.0.0.1:{server.port}/fleet", self.prefix, status=COULD_NOT)
        self.assertEqual(reply.err, "entrydb: the server asks for too much computation\n")

    @unittest.skipUnless(shutil.which("openssl"), "openssl, which makes certificates, is not installed")
    def test_tickets_without_end(self):
        """OpenSSL reads them all before an answer."""
        def greet(peer):
            peer.recv(8)
            peer.sendall(b"S")

        def connect(sealed):
            sealed.read()
            sealed.send(message(b"R", bytes(4)))

        def ask(sealed):
            connect(sealed)
            sealed.send(message(b"Z", b"I"))
            sealed.read()

        self.update()
        for talk in (connect, ask):
            server = TicketFlood(self, talk, greet)
            reply = self.run_program("push", f"postgresql://h@127.0.0.1:{server.port}/fleet?sslmode=require", self.prefix, status=COULD_NOT)
            # The latter if this server pauses, such as on a busy machine.
            self.assertRegex(reply.err, r"\Aentrydb: the (server asks for too much computation|fleet's server: its answer does not end)\n\Z")

    def test_tls_is_asked_for(self):
        """Unless the server is this machine, or it is said otherwise, wherever libpq looks; 0.0.0.0 is no such address, and leads here."""
        self.update()
        support.write(f"{self.top}/ticket", ticket())
        server = Impostor(lambda peer: None)
        self.addCleanup(server.close)
        services = f"{self.top}/services"
        write(services, f"[silent]\nhost=0.0.0.0\nport={server.port}\n[clear]\nhost=0.0.0.0\nport={server.port}\nsslmode=prefer\n")
        url = f"postgresql://h@0.0.0.0:{server.port}/fleet"
        tls, session = 80877103, 196608
        for words, environment, asked in ((url, {}, [tls]), (f"postgresql://h@127.0.0.1:{server.port}/fleet", {}, [tls, session]),
                                          (f"postgresql://h@localhost:{server.port}/fleet", {}, [tls, session]),
                                          (f"postgresql://h@localhost:{server.port}/fleet?hostaddr=0.0.0.0", {}, [tls]),
                                          (f"postgresql://h@localhost:{server.port}/fleet", {"PGHOSTADDR": "0.0.0.0"}, [tls]),
                                          (f"postgresql://h@127.0.0.1:{server.port},0.0.0.0:{server.port}/fleet", {}, [tls]),
                                          (f"postgresql://h@0.0.0.0:{server.port},localhost:{server.port}/fleet?hostaddr=,127.0.0.1", {}, [tls]),
                                          (f"postgresql://h@/fleet?port={server.port}", {"PGHOST": "0.0.0.0"}, [tls]),
                                          (f"{url}?sslmode=verify-full", {}, [tls]), (f"{url}?sslmode=disable", {}, [session]),
                                          (f"{url}?sslmode=prefer", {}, [tls, session]),
                                          (url, {"PGSSLMODE": "prefer"}, [tls, session]), (url, {"PGSSLMODE": "disable"}, [session]),
                                          ("service=silent", {"PGSERVICEFILE": services}, [tls]),
                                          ("service=clear", {"PGSERVICEFILE": services}, [tls, session])):
            server.asked.clear()
            reply = self.run_program("push", words, self.prefix, status=COULD_NOT, env=self.environment(KRB5CCNAME=f"{self.top}/ticket", **environment))
            self.assertEqual(server.asked, asked, words)
            self.assertEqual(reply.err.count("\n"), 1)
            self.assertEqual("SSL was required" in reply.err, asked[-1] == tls, reply.err)

    def test_a_name_of_this_machine_that_leads_elsewhere(self):
        """Such as localhost, asked of a name server; here, a setting that is empty in the URL."""
        self.update()
        server = Impostor(lambda peer: None)
        self.addCleanup(server.close)
        reply = self.run_program("push", f"postgresql://h@0.0.0.0:{server.port}/fleet?hostaddr=", self.prefix, status=COULD_NOT,
                                 env=self.environment(PGHOSTADDR="127.0.0.1"))
        self.assertEqual((reply.err, server.asked), ("entrydb: the fleet's server: 0.0.0.0 is not this machine\n", []))


class Failures(Fleet):
    def test_unreachable_server(self):
        self.update()
        reply = self.run_program("push", "postgresql://nobody@/fleet?host=/nowhere", self.prefix, status=COULD_NOT)
        self.assertEqual(reply.err.count("\n"), 1)

    def test_a_server_that_never_answers(self):
        """It takes the connection, or also lets one in, and then says nothing: one line, in bounded time."""
        self.update()
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            url = f"postgresql://h@127.0.0.1:{silent.getsockname()[1]}/fleet"
            began = time.monotonic()
            reply = self.run_program("push", f"{url}?connect_timeout=2", self.prefix, status=COULD_NOT)
        self.assertLess(time.monotonic() - began, 30)
        self.assertRegex(reply.err, r"\Aentrydb: the fleet's server: no answer within 2 seconds\n\Z")
        counter = RoundTrips(SERVER)
        self.addCleanup(counter.close)
        for answers in (1, 2):  # the connection; the first question, too
            counter.count, counter.answers = 0, answers
            began = time.monotonic()
            reply = self.run_program("push", f"{counter.url(self.role)}&tcp_user_timeout=200", self.prefix, status=COULD_NOT)
            self.assertLess(time.monotonic() - began, 30)
            self.assertEqual(reply.err, "entrydb: the fleet's server: no answer within 2 seconds\n")
        self.push()
        self.assertEqual(len(self.names()), 2)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    @unittest.skipIf(support.build_type_is_sanitized(), "a sanitizer must be loaded first")
    def test_a_name_server_that_never_answers(self):
        """The C library waits for it without end if it is asked by TCP. Here a minute takes a second."""
        self.update()
        preload = f"{self.top}/names.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", "-o", preload], text=True, check=True, input="""
            #include <sys/time.h>
            #include <unistd.h>
            int getaddrinfo(void) { for (;;) pause(); }
            unsigned alarm(unsigned seconds)
            {
                struct itimerval limit = {.it_value.tv_sec = seconds / 60};
                return (unsigned)setitimer(ITIMER_REAL, &limit, 0);
            }""")
        for host in ("db.example.org", "/nowhere,db.example.org"):
            done = subprocess.run(["env", "--block-signal=ALRM", f"LD_PRELOAD={preload}", support.PROGRAM, "push", f"postgresql:///fleet?host={host}", self.prefix],
                                  env={**self.environment(), "PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False, timeout=30)
            self.assertEqual((done.returncode, done.stderr), (COULD_NOT, "entrydb: a name server, LDAP or Kerberos does not answer\n"))

    def test_the_first_of_two_hosts_is_dead(self):
        """Its machine says nothing, as this one does for a socket whose queue is full."""
        self.update()
        with contextlib.ExitStack() as sockets:
            dead = sockets.enter_context(socket.socket())
            dead.bind(("127.0.0.1", 0))
            dead.listen(0)
            for _ in range(4):
                waiting = sockets.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(dead.getsockname())
            hosts = f"host=127.0.0.1,{SERVER.top}&port={dead.getsockname()[1]},5432&connect_timeout=2"
            self.run_program("push", f"postgresql://{self.role}@/fleet?{hosts}", self.prefix, status=DONE)
        self.assertEqual(len(self.names()), 2)

    @unittest.skipUnless(os.environ.get("ENTRYDB_TEST_LONG"), "takes gigabytes; ENTRYDB_TEST_LONG is not set")
    def test_more_than_a_statement_can_hold(self):
        """PostgreSQL takes less than 256 MiB at once: it is said, nothing is sent, and other databases are."""
        self.update()
        support.change_database(self.database, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6) "
                                "INSERT INTO event (time, action, root, detail, uid) SELECT 1, 'change', '', printf('%.*c', 60000000, 'x'), 0 FROM n")
        other = f"{self.top}/other"
        add_distribution(f"{other}/{SITE}", "beta")
        self.update(other)
        reply = self.push(self.prefix, other, status=COULD_NOT)
        self.assertRegex(reply.err, r"\Aentrydb: \d+ bytes to send at once, of which PostgreSQL takes 268435455\n\Z")
        self.assertEqual(self.names(), [("beta", "beta"), ("beta", "beta-cmd")])

    def test_tables_of_others(self):
        self.update()
        SERVER.sql(f"CREATE DATABASE other{self.number}", database="postgres")
        for made, expected in (
                ("SELECT 1", "has no tables of this version of entrydb"),
                (f"CREATE SCHEMA entrydb_host; GRANT USAGE ON SCHEMA entrydb_host TO {self.role}", "has no tables of this version of entrydb"),
                ("CREATE FUNCTION entrydb_host.known(OUT version integer, OUT path text, OUT digest text) RETURNS SETOF record "
                 "LANGUAGE sql AS 'SELECT 2, NULL::text, NULL::text'", "has no tables of this version of entrydb"),
                ("CREATE OR REPLACE FUNCTION entrydb_host.known(OUT version integer, OUT path text, OUT digest text) RETURNS SETOF record "
                 "LANGUAGE sql AS 'SELECT 1, NULL::text, NULL::text'", "has tables of version 1, this entrydb knows version 2"),
                ("CREATE OR REPLACE FUNCTION entrydb_host.known(OUT version integer, OUT path text, OUT digest text) RETURNS SETOF record "
                 "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION E'a\x1b[31m\\nb'; END $$", "ERROR:  a\\x1b[31m\n")):
            SERVER.sql(made, database=f"other{self.number}")
            reply = self.run_program("push", SERVER.url(self.role).replace("/fleet?", f"/other{self.number}?"), self.prefix, status=COULD_NOT)
            self.assertIn(expected, reply.err)
            self.assertEqual(reply.err.count("\n"), 1)

    def test_a_role_without_rights(self):
        self.update()
        for taken, given in (("REVOKE EXECUTE ON FUNCTION entrydb_host.push FROM entrydb_host", "GRANT EXECUTE ON FUNCTION entrydb_host.push TO entrydb_host"),
                             (f"ALTER ROLE {self.role} SET default_transaction_read_only = on", f"ALTER ROLE {self.role} RESET ALL"),
                             (f"ALTER ROLE {self.role} NOLOGIN", f"ALTER ROLE {self.role} LOGIN")):
            SERVER.sql(taken)
            reply = self.push(status=COULD_NOT)
            SERVER.sql(given)
            self.assertRegex(reply.err, "permission denied for function push|read-only transaction|not permitted to log in")
            self.assertEqual(reply.err.count("\n"), 1)
        self.assertEqual(self.names(), [])
        self.push()
        self.assertEqual(len(self.names()), 2)

    @unittest.skipUnless(IS_ROOT, "only root can mount a small file system")
    def test_a_full_disk(self):
        small = self.mount("size=512k", place=f"{SERVER.top}/small{self.number}")
        os.chown(small, SERVER.owner, SERVER.owner)
        self.update()
        self.push()
        SERVER.sql(f"CREATE TABLESPACE small{self.number} LOCATION '{small}'")
        SERVER.sql(f"ALTER TABLE entrydb.startup SET TABLESPACE small{self.number}")
        write(f"{self.site}/full.pth", "".join(f"import a{i}{''.join(random.choices(string.ascii_letters, k=500))}\n" for i in range(2000)))
        add_distribution(self.site, "beta")
        self.update()
        reply = self.push(status=COULD_NOT)
        SERVER.sql("ALTER TABLE entrydb.startup SET TABLESPACE pg_default")
        SERVER.sql(f"DROP TABLESPACE small{self.number}")
        self.assertIn("No space left on device", reply.err)
        self.assertEqual(reply.err.count("\n"), 1)
        self.assertEqual(len(self.names()), 2)
        self.push()
        self.assertEqual(len(self.names()), 4)

    def test_a_signal_while_the_server_is_busy(self):
        self.update()
        holder = subprocess.Popen([tool("psql"), "-X", "-q", "-h", SERVER.top, "-U", "admin", "-d", "fleet", "-c",
                                   "BEGIN; LOCK TABLE entrydb.event; SELECT pg_sleep(600)"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            support.until(lambda: SERVER.sql("SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'entrydb.event'::regclass"))
            child = self.start("push", SERVER.url(self.role), self.prefix)
            support.until(lambda: SERVER.sql(f"SELECT 1 FROM pg_stat_activity WHERE usename = '{self.role}' AND wait_event_type = 'Lock'"))
            child.send_signal(signal.SIGTERM)
            _, told = child.communicate(timeout=support.SECONDS_ALLOWED)
        finally:
            SERVER.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()")
            holder.wait()
        self.assertEqual((child.returncode, told), (COULD_NOT, b"entrydb: interrupted\n"))
        self.push()
        self.assertEqual(len(self.names()), 2)

    def test_a_server_that_dies_and_comes_back(self):
        self.update()
        self.push()
        add_distribution(self.site, "beta")
        self.update()
        SERVER.stop()
        self.assertEqual(self.push(status=COULD_NOT).err.count("\n"), 1)
        SERVER.start()
        self.assertEqual(len(self.names()), 2)
        self.push()
        self.assertEqual(len(self.names()), 4)

    def test_interrupted_push_leaves_nothing(self):
        self.update()
        self.push()
        add_distribution(self.site, "beta")
        self.update()
        SERVER.sql("CREATE FUNCTION entrydb.cut() RETURNS trigger LANGUAGE plpgsql AS "
                   "$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$; "
                   "CREATE TRIGGER cut BEFORE INSERT ON entrydb.event FOR EACH ROW EXECUTE FUNCTION entrydb.cut()")
        try:
            reply = self.push(status=COULD_NOT)
        finally:
            SERVER.sql("DROP TRIGGER cut ON entrydb.event; DROP FUNCTION entrydb.cut()")
        self.assertIn("terminat", reply.err)
        self.assertEqual(len(self.names()), 2)
        self.push()
        self.assertEqual(len(self.names()), 4)

    def test_server_killed_during_push(self):
        """Not between two statements, as above, but by a signal to its process, wherever that is."""
        make_site(self.site, 40, 10)
        self.update()
        SERVER.sql("CREATE FUNCTION entrydb.wait() RETURNS trigger LANGUAGE plpgsql AS "
                   "$$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$; "
                   "CREATE TRIGGER wait BEFORE INSERT ON entrydb.event FOR EACH ROW EXECUTE FUNCTION entrydb.wait()")
        try:
            child = self.start("push", SERVER.url(self.role), self.prefix)
            support.until(lambda: SERVER.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"))
            SERVER.stop()
            _, told = child.communicate(timeout=support.SECONDS_ALLOWED)
            SERVER.start()
        finally:
            SERVER.sql("DROP TRIGGER wait ON entrydb.event; DROP FUNCTION entrydb.wait()")
        self.assertEqual((child.returncode, told.decode().count("\n")), (COULD_NOT, 1), told)
        self.assertEqual(self.names(), [])
        self.push()
        self.assertEqual(len(self.names()), 402)

    def test_path_that_is_not_utf8(self):
        prefix = os.fsencode(f"{self.top}/odd") + b"\xff"
        os.makedirs(prefix + b"/" + SITE.encode())
        add_distribution(os.fsdecode(prefix + b"/" + SITE.encode()), "alpha")
        self.update(os.fsdecode(prefix))
        self.push(os.fsdecode(prefix))
        self.assertIn("0 of them changed", self.push(os.fsdecode(prefix)).err)
        self.assertEqual(self.pushed_paths(), [[f"{self.top}/odd\\xff/{support.DATABASE}"]])

    def pushed_paths(self):
        return SERVER.sql(f"SELECT path FROM entrydb.environment e JOIN entrydb.host h ON h.id = e.host WHERE h.name = '{self.role}'")

    def test_many_at_once(self):
        """Hosts do not wait for each other; two pushes of one host are serialized."""
        self.update()
        children = [self.start("push", SERVER.url(self.role), self.prefix) for _ in range(6)]
        for child in children:
            child.communicate(timeout=support.SECONDS_ALLOWED)
        self.assertEqual([child.returncode for child in children], [DONE] * 6)
        self.assertEqual(SERVER.sql(f"SELECT count(*) FROM entrydb.entry_points WHERE host = '{self.role}' "
                                    "AND valid_to = 'infinity'"), [["2"]])


@unittest.skipUnless(os.environ.get("ENTRYDB_TEST_LONG"), "takes minutes; ENTRYDB_TEST_LONG is not set")
class Load(CommandTest):
    """Two thousand hosts, eight at a time; half-way the server is killed, and started again."""

    HOSTS, AT_ONCE, DISTRIBUTIONS, EACH = int(os.environ.get("ENTRYDB_TEST_HOSTS", "2000")), 8, 150, 10
    KINDS = 4  # environments that differ

    def setUp(self):
        super().setUp()
        self.prefixes = [f"{self.top}/kind{number}" for number in range(self.KINDS)]
        for number, prefix in enumerate(self.prefixes):
            make_site(f"{prefix}/{SITE}", self.DISTRIBUTIONS, self.EACH, f"1.{number}")
            self.update(prefix)
        self.hosts = [f"load{number}" for number in range(self.HOSTS)]
        SERVER.add_hosts(self.hosts)
        self.failures, self.lock = 0, threading.Lock()

    def push(self, number):
        """Until it is done, as a timer would."""
        words = ["push", "--quiet", SERVER.url(self.hosts[number]), self.prefixes[number % self.KINDS]]
        while (reply := self.run_program(*words)).status != DONE:
            self.assertEqual(reply.status, COULD_NOT, str(reply))
            # While it connects, libpq itself tells what a server says that is being killed.
            self.assertEqual(len([line for line in reply.err.splitlines() if not line.startswith("WARNING:  terminating")]), 1)
            with self.lock:
                self.failures += 1
            time.sleep(1)

    def kill_half_way(self):
        while int(SERVER.sql("SELECT count(*) FROM entrydb.environment e JOIN entrydb.host h ON h.id = e.host "
                             "WHERE h.name LIKE 'load%'")[0][0]) < self.HOSTS // 2:
            time.sleep(0.1)
        SERVER.stop()
        time.sleep(1)
        SERVER.start()

    def together(self, work, hosts=HOSTS):
        """Seconds, and of these the server's processor."""
        began, busy = time.monotonic(), SERVER.processor_seconds()
        with concurrent.futures.ThreadPoolExecutor(self.AT_ONCE) as pool:
            for _ in pool.map(work, range(hosts)):
                pass
        return time.monotonic() - began, SERVER.processor_seconds() - busy

    def check_against_copy(self):
        """What the server does for a push, and for the same rows by COPY."""
        few = self.HOSTS // 10
        copy = SERVER.copy_script("load0")
        for name in RELATIONS:  # an index grows dearer with what is in it
            SERVER.sql(f"INSERT INTO bare.{name} SELECT * FROM entrydb.{name}")
        SERVER.add_hosts([f"late{number}" for number in range(few)])
        self.hosts = [f"late{number}" for number in range(few)]
        copied, copying = self.together(lambda _: subprocess.run(copy, check=True), few)
        pushed, pushing = self.together(self.push, few)
        print(f"{few} hosts: {pushed:.1f} s, {pushing / few * 1e3:.1f} ms of the server's processor each; by COPY {copied:.1f} s, "
              f"{copying / few * 1e3:.1f} ms", file=sys.stderr)

    def test_a_fleet(self):
        killer = threading.Thread(target=self.kill_half_way)
        killer.start()
        took, _ = self.together(self.push)
        killer.join()
        self.assertGreater(self.failures, 0)
        wanted = str(self.DISTRIBUTIONS * self.EACH)
        self.assertEqual(SERVER.sql("SELECT count(*), min(n), max(n) FROM (SELECT count(*) AS n FROM entrydb.entry_points "
                                    "WHERE valid_to = 'infinity' AND host LIKE 'load%' GROUP BY host) each"),
                         [[str(self.HOSTS), wanted, wanted]])
        rows = int(SERVER.sql("SELECT count(*) FROM entrydb.entry_point")[0][0])
        again, busy = self.together(self.push)
        self.check_against_copy()
        SERVER.sql("VACUUM ANALYZE")
        question = "SELECT DISTINCT host FROM entrydb.entry_points WHERE group_name = 'group7' AND name = 'dist7-3' AND valid_to = 'infinity'"
        self.assertEqual(len(SERVER.sql(question)), self.HOSTS + self.HOSTS // 10)
        asked = [float(SERVER.sql(f"EXPLAIN (ANALYZE, TIMING OFF) {question}")[-1][0].split()[2]) for _ in range(20)]
        print(f"{self.HOSTS} hosts, {rows} entry points: {took:.0f} s, {rows / took:.0f} rows a second, {self.failures} pushes "
              f"tried again; unchanged {self.HOSTS / again:.0f} hosts a second, {busy / self.HOSTS * 1e3:.1f} ms of the server's "
              f"processor each; which hosts have X, of all: {sorted(asked)[10]:.1f} ms", file=sys.stderr)


if __name__ == "__main__":
    support.main()
