"""`entrydb push` into a real PostgreSQL: history, who may write what, and a server that dies."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import support
from support import (COULD_NOT, DONE, IS_ROOT, SITE, STRANGER, TOP, USAGE, CommandTest, add_distribution, as_user,
                     remove_tree, write)

FLEET = f"{TOP}/indexer/fleet/fleet.sql"
MODULE = f"{os.path.dirname(support.PROGRAM)}/entrydb-fleet.so"


def tool(name):
    """A program of PostgreSQL's, which Debian keeps off the PATH."""
    return max(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), default=None) or shutil.which(name)


class Server:
    """A server of this test's own, on a socket in its own directory."""

    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="entrydb-pg-", dir="/tmp")  # a socket's path is short
        self.owner = STRANGER if IS_ROOT else None
        if self.owner:
            os.chown(self.top, self.owner, self.owner)
        os.chmod(self.top, 0o755)
        self.data = f"{self.top}/data"
        self.run("initdb", "-D", self.data, "-U", "admin", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self.start()
        try:
            self.sql("CREATE DATABASE fleet", database="postgres")
            with open(FLEET, encoding="utf-8") as schema:
                self.sql(schema.read())
        except BaseException:
            self.end()
            raise

    def run(self, name, *arguments, **how):
        return subprocess.run([tool(name), *arguments], check=True, capture_output=True, text=True, cwd="/",
                              **as_user(self.owner), **how)

    def start(self):
        # Not captured: the server would hold the pipe open.
        subprocess.run([tool("pg_ctl"), "-D", self.data, "-w", "-l", f"{self.top}/log", "-o",
                        f"-k {self.top} -c listen_addresses= -c fsync=off", "start"], check=True, cwd="/",
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user(self.owner))

    def stop(self, mode="immediate"):
        self.run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def end(self):
        try:
            self.stop()
        except subprocess.CalledProcessError:
            pass  # it is stopped already
        remove_tree(self.top)

    def sql(self, text, user="admin", database="fleet", check=True):
        done = subprocess.run([tool("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.top, "-U", user,
                               "-d", database], input=text, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise AssertionError(done.stderr)
        return [line.split("|") for line in done.stdout.splitlines()] if check else done.stderr

    def url(self, role):
        return f"postgresql://{role}@/fleet?host={self.top}"


def setUpModule():
    global SERVER  # noqa: PLW0603: there is one for all tests
    if not os.path.exists(MODULE):
        raise unittest.SkipTest("entrydb was built without libpq")
    if not all(map(tool, ("initdb", "pg_ctl", "psql"))):
        raise unittest.SkipTest("PostgreSQL is not installed")
    SERVER = Server()


def tearDownModule():
    SERVER.end()


class Fleet(CommandTest):
    number = 0

    def setUp(self):
        super().setUp()
        Fleet.number += 1
        self.role = f"host{Fleet.number}"
        SERVER.sql(f"CREATE ROLE {self.role} LOGIN; SELECT entrydb.enroll('{self.role}')")
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
        actions = SERVER.sql(f"SELECT action, distribution FROM entrydb.event e JOIN entrydb.host h ON h.id = e.host "
                             f"WHERE h.name = '{self.role}' AND e.root = '{SITE}'")
        self.assertEqual(sorted(map(tuple, actions)), [("index", ""), ("install", "beta"), ("remove", "alpha")])

    def test_what_has_not_changed_is_not_sent(self):
        self.update()
        self.push()
        first = self.pushed()
        self.assertIn("0 of them changed: 0 rows", self.push().err)
        self.assertEqual(self.pushed(), first)

    def test_only_what_changed_begins_anew(self):
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
        self.assertEqual(SERVER.sql(f"SELECT file, code FROM entrydb.startup s JOIN entrydb.host h ON h.id = s.host "
                                    f"WHERE h.name = '{self.role}'"), [["evil.pth", "import evil"]])
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

    def test_odd_text(self):
        add_distribution(self.site, "odd", text="[g\\t]\na\\b = m:f\n\x1b = m:\u2028\n".replace("\u2028", "f"))
        with open(f"{self.site}/x.pth", "wb") as file:
            file.write(b"import \xff\x00 '\\N'\n")
        self.update()
        self.push()
        self.assertIn(("odd", "a\\b"), self.names())
        self.assertEqual(SERVER.sql(f"SELECT code FROM entrydb.startup s JOIN entrydb.host h ON h.id = s.host "
                                    f"WHERE h.name = '{self.role}'"), [[r"import \xff\x00 '\\N'"]])

    def test_usage(self):
        for words in ([], ["http://x/"], ["nonsense", self.prefix]):
            self.assertRegex(self.run_program("push", *words, status=USAGE).err, r"\Aentrydb: .*--help'\n\Z")


class Trust(Fleet):
    """A host is the role that it logs in as."""

    def test_a_role_that_is_no_host(self):
        self.update()
        SERVER.sql(f"CREATE ROLE nobody{self.number} LOGIN; GRANT entrydb_host TO nobody{self.number}")
        reply = self.push(role=f"nobody{self.number}", status=COULD_NOT)
        self.assertIn("knows no host by this role", reply.err)
        self.assertEqual(reply.err.count("\n"), 1)

    def test_a_host_that_lies_about_another(self):
        self.update()
        self.push()
        victim = self.role
        [[number, environment]] = SERVER.sql(f"SELECT h.id, e.id FROM entrydb.host h JOIN entrydb.environment e "
                                             f"ON e.host = h.id WHERE h.name = '{victim}'")
        self.setUp()
        row = "'r', 'd', 'g', 'n', 'v', 'python', 'ok', now()"
        columns = "host, environment, root, distribution, group_name, name, value, kind, state, valid_from"
        for host in (number, "entrydb.me()"):
            for statement in (f"INSERT INTO entrydb.entry_point ({columns}) VALUES ({host}, {environment}, {row})",
                              f"INSERT INTO entrydb.environment (host, path) VALUES ({number}, '/x')"):
                self.assertRegex(SERVER.sql(statement, user=self.role, check=False),
                                 "row-level security|foreign key|ERROR")
        for statement in ("UPDATE entrydb.entry_point SET valid_to = now()",
                          f"SELECT entrydb.merge('entry_point', {environment})",
                          "UPDATE entrydb.environment SET digest = ''",
                          "DELETE FROM entrydb.event"):
            SERVER.sql(statement, user=self.role, check=False)
        self.assertEqual(SERVER.sql("SELECT * FROM entrydb.entry_point", user=self.role), [])
        self.assertEqual(self.names(role=victim), [("alpha", "alpha"), ("alpha", "alpha-cmd")])
        self.assertIn("ERROR", SERVER.sql(f"SELECT entrydb.enroll('{self.role}x')", user=self.role, check=False))


class Failures(Fleet):
    def test_a_server_that_is_away(self):
        self.update()
        reply = self.run_program("push", "postgresql://nobody@/fleet?host=/nowhere", self.prefix, status=COULD_NOT)
        self.assertEqual(reply.err.count("\n"), 1)

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

    def test_a_push_that_is_cut_off_leaves_nothing(self):
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

    def test_many_at_once(self):
        """Each host waits for nobody; two pushes of one host follow each other."""
        self.update()
        children = [self.start("push", SERVER.url(self.role), self.prefix) for _ in range(6)]
        for child in children:
            child.communicate(timeout=support.SECONDS_ALLOWED)
        self.assertEqual([child.returncode for child in children], [DONE] * 6)
        self.assertEqual(SERVER.sql(f"SELECT count(*) FROM entrydb.entry_points WHERE host = '{self.role}' "
                                    "AND valid_to = 'infinity'"), [["2"]])


if __name__ == "__main__":
    support.main()
