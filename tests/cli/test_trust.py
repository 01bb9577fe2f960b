"""Root and another user: no privileges are lent, forged data is not trusted.

A second user is made for these tests, and removed. He does what he can in directories
of his own while root runs the program on them.
"""

import base64
import contextlib
import glob
import hashlib
import json
import os
import pwd
import re
import shlex
import shutil
import signal
import sqlite3
import stat
import struct
import subprocess
import time
import unittest
import urllib.parse
import zipfile

import far
import support
from support import (COULD_NOT, DATABASE, DONE, NOT_FOUND, PROGRAM, SITE, CommandTest, add_distribution,
                     change_database, query, write)

NO_LEAKS = "detect_leaks=0"  # LeakSanitizer is a tracer itself, and there can be one only
PYTHON = "/usr/bin/python3"  # which the other user can run, too


def installed_modules():
    """The directory of modules, relative to that of the program."""
    cache = support.read(f"{os.path.dirname(os.path.dirname(PROGRAM))}/CMakeCache.txt")
    prefix, library, programs = (re.search(rf"^CMAKE_INSTALL_{name}:\w+=(.*)$", cache, re.MULTILINE)[1]
                                 for name in ("PREFIX", "LIBDIR", "BINDIR"))
    return os.path.relpath(os.path.join(prefix, library, "entrydb"), os.path.join(prefix, programs))


class Account:
    """An ordinary user, with a home."""

    def __init__(self, test):
        self.name = f"entrydb-{os.getpid()}"
        subprocess.run(["useradd", "--no-create-home", "--user-group", "--shell", "/bin/sh", self.name],
                       check=True, capture_output=True)
        test.addClassCleanup(self.remove)
        account = pwd.getpwnam(self.name)
        self.uid, self.gid = account.pw_uid, account.pw_gid

    def remove(self):
        subprocess.run(["userdel", "--force", self.name], check=False, capture_output=True)

    def own(self, path):
        """All below path becomes his, links too."""
        for directory, names, files in os.walk(path):
            for name in ["", *names, *files]:
                os.lchown(f"{directory}/{name}".rstrip("/"), self.uid, self.gid)

    def run(self, *command):
        subprocess.run(command, user=self.uid, group=self.gid, extra_groups=[], check=True)


@unittest.skipUnless(support.IS_ROOT, "only root can be tricked into what only root can do")
@unittest.skipUnless(shutil.which("useradd"), "useradd is not installed")
class TrustTest(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.other = Account(cls)

    def setUp(self):
        super().setUp()
        self.mine = f"{self.top}/root"
        os.mkdir(self.mine)
        self.secret = f"{self.mine}/secret"
        write(self.secret, "[secret]\nword = is:swordfish\n")
        os.chmod(self.secret, 0o600)
        self.before = self.look(self.mine)

    def look(self, directory):
        """All that is below it: names, owners, modes, contents."""
        found = {}
        for path, names, files in os.walk(directory):
            for name in [".", *names, *files]:
                each = os.path.normpath(f"{path}/{name}")
                status = os.lstat(each)
                content = None
                if stat.S_ISREG(status.st_mode):
                    content = hashlib.sha256(support.read_bytes(each)).hexdigest()
                found[each] = (status.st_uid, status.st_mode, content)
        return found

    def without_proc(self):
        """The command that runs the program so, in a list; an empty list where it cannot be."""
        hidden = [shutil.which("unshare") or "false", "--mount", "/bin/sh", "-c", f'{shutil.which("mount")} -t tmpfs none /proc && exec "$@"', "sh", PROGRAM]
        return [hidden] if subprocess.run([*hidden, "--version"], capture_output=True, check=False).returncode == 0 else []

    def assert_untouched(self):
        self.assertEqual(self.look(self.mine), self.before)

    def venv_of_other(self):
        add_distribution(self.site, "alpha")
        self.other.own(self.prefix)

    def assert_all_others(self):
        for path, (uid, _, _) in self.look(self.prefix).items():
            self.assertEqual(uid, self.other.uid, path)


class Writing(TrustTest):
    def test_a_prefix_of_another_user_is_left_alone(self):
        """Root says whose it is and what to run; the hook passes over it."""
        self.venv_of_other()
        os.chown(self.prefix, self.other.uid, 4711)  # as in a directory that hands down its group
        before = self.look(self.prefix)
        for words in (["update"], ["update", "--sealed"], ["forget"], ["export", "adbc"]):
            with self.subTest(words):
                reply = self.run_program(*words, self.prefix, status=COULD_NOT if words != ["forget"] else NOT_FOUND)
                self.assertEqual(self.look(self.prefix), before)
                if words[0] == "update":
                    command = reply.err.strip().rpartition("; run: ")[2]
                    self.assertEqual(reply.err, f"entrydb: {self.prefix} belongs to user {self.other.uid}; run: {command}\n")
        reply = self.run_program("update", "--hook", "dpkg", self.prefix, status=DONE)
        self.assertEqual((reply.out, reply.err), ("", ""))
        self.assertEqual(self.look(self.prefix), before)
        words = command.split()
        self.assertEqual(words[:5], ["setpriv", f"--reuid={self.other.uid}", f"--regid={self.other.gid}",
                                     "--clear-groups", "entrydb"])
        os.chmod(self.top, 0o755)
        subprocess.run([shutil.which(words[0]), *words[1:4], PROGRAM, *words[5:]], check=True, capture_output=True, env=self.environment())
        self.assertEqual(query(self.database, "SELECT name FROM distribution"), [("alpha",)])
        self.assert_all_others()
        self.assertIn(f" --clear-groups entrydb forget {self.site}\n",
                      self.run_program("forget", self.site, status=COULD_NOT).err)

    def test_a_name_is_no_part_of_the_command(self):
        """What root is told to run is that command for a shell, too, whatever the directory is called."""
        for name in ("x; touch owned", "x $(touch owned) `touch owned`", "it's", "x\ntouch owned"):
            prefix = f"{self.top}/{name}"
            add_distribution(f"{prefix}/{SITE}", "alpha")
            add_distribution(f"{prefix}/target", "beta")  # its database is the user's own
            self.other.own(prefix)
            for words in (["update", prefix], ["update", f"{prefix}/target"], ["disable", "--prefix", prefix, "g"]):
                command = self.run_program(*words, status=COULD_NOT).err.rpartition("; run: ")[2].strip()
                self.assertEqual(shlex.split(command)[4:], ["entrydb", *(word.replace("\n", "\\x0a") for word in words)])

    def test_a_home_of_another_user(self):
        """sudo may keep HOME: root's own database would then lie in the user's directory."""
        add_distribution(f"{self.top}/odd", "alpha")
        home = f"{self.top}/their-home"
        os.makedirs(home)
        self.other.own(home)
        reply = self.run_program("update", f"{self.top}/odd", status=COULD_NOT, env={**self.environment(), "XDG_STATE_HOME": "", "HOME": home})
        self.assertRegex(reply.err, rf"\Aentrydb: {home}/\.local/state/entrydb/entry_points\.db belongs to user "
                                    rf"{self.other.uid}; run: setpriv .* entrydb update --db {home}/\.local/state/entrydb/entry_points\.db\n\Z")
        self.assertEqual(os.listdir(home), [])

    def test_the_others_are_done(self):
        """What is left alone does not keep root from its own: a prefix, or a link in it that root does not follow."""
        self.venv_of_other()
        os.mkdir(f"{self.mine}/lib", 0o700)
        for number, words in enumerate(2 * (["update"], ["update", "--hook", "pip"])):
            if number == 2:
                shutil.rmtree(f"{self.prefix}/lib")
                os.symlink(f"{self.mine}/lib", f"{self.prefix}/lib")
                self.other.own(self.prefix)
            own = f"{self.top}/own-{number}"
            add_distribution(f"{own}/{SITE}", "beta")
            self.run_program(*words, self.prefix, own, status=DONE if "--hook" in words else COULD_NOT)
            self.assertEqual(query(f"{own}/{DATABASE}", "SELECT name FROM distribution"), [("beta",)])

    def test_a_site_directory_of_another_user(self):
        """In /usr/local, say: root's own database is kept in step without it, by hooks in silence."""
        root = f"{self.top}/system"
        add_distribution(f"{root}/usr/lib/python3/dist-packages", "alpha")
        theirs = f"{root}/usr/local/lib/python3.11"
        add_distribution(f"{theirs}/dist-packages", "theirs")
        self.other.own(theirs)
        for words, name, status in (([], "beta", COULD_NOT), (["--hook", "dpkg"], "gamma", DONE)):
            add_distribution(f"{root}/usr/lib/python3/dist-packages", name)
            reply = self.run_program("update", "--root", root, *words, status=status)
            self.assertEqual("left alone" in reply.err, status != DONE, reply.err)
            self.assertIn((name,), query(f"{root}/var/lib/entrydb/entry_points.db", "SELECT name FROM distribution"))
            self.assertNotIn(("theirs",), query(f"{root}/var/lib/entrydb/entry_points.db", "SELECT name FROM distribution"))

    def test_nothing_of_another_user_s_is_opened(self):
        """Not even the database: a FIFO in its place would keep root waiting."""
        self.venv_of_other()
        os.makedirs(os.path.dirname(self.database))
        os.mkfifo(self.database)
        os.mkfifo(f"{self.database}.lock")
        self.other.own(self.prefix)
        self.update(status=COULD_NOT)
        self.run_program("update", "--hook", "dpkg", self.prefix, status=DONE)

    def test_links_within_another_root(self):
        """Absolute links, and "..", mean what they mean in there."""
        image = f"{self.top}/image"
        site = f"{image}/usr/lib/python3/dist-packages"
        add_distribution(site, "alpha")
        os.makedirs(f"{image}/var/lib")
        os.symlink(self.mine, f"{image}/var/lib/entrydb")
        self.run_program("update", "--root", image)
        self.run_program("update", "--root", image, "--db", f"{image}/var/lib/entrydb/one.db")
        os.symlink(image, f"{self.top}/alias")
        self.run_program("update", "--root", f"{self.top}/alias", "--db", f"{image}/var/lib/entrydb/one.db")
        self.run_program("audit", "--root", image, "--sarif", f"{image}/var/lib/entrydb/report")
        self.run_program("audit", "--root", ".", "--sarif", "var/lib/entrydb/report", cwd=image)
        self.run_program("forget", "--root", image, "--db", "image/var/lib/entrydb/one.db", site[len(image):], cwd=self.top)
        self.assert_untouched()
        os.unlink(f"{image}/var/lib/entrydb")
        os.makedirs(f"{image}/state")
        os.symlink("/state", f"{image}/var/lib/entrydb")
        self.run_program("update", "--root", image, status=DONE)
        self.assertTrue(os.path.exists(f"{image}/state/entry_points.db"))
        os.unlink(f"{image}/var/lib/entrydb")
        os.symlink("../" * 20 + "state", f"{image}/var/lib/entrydb")
        self.run_program("update", "--root", image, status=DONE)
        self.assert_untouched()
        os.rename(f"{image}/usr/lib/python3", f"{image}/moved")
        os.symlink("/moved", f"{image}/usr/lib/python3")
        os.unlink(f"{image}/state/entry_points.db")
        self.run_program("update", "--root", image, status=DONE)
        self.assertEqual(query(f"{image}/state/entry_points.db", "SELECT name FROM distribution"), [("alpha",)])

    def test_everybody_may_write(self):
        """Nothing can be published there: root has a database of its own for it."""
        add_distribution(self.site, "alpha")
        os.chmod(self.prefix, 0o777)
        self.update(status=DONE)
        self.assertFalse(os.path.exists(f"{self.prefix}/var"))
        self.assertEqual(query(self.user_database, "SELECT name FROM distribution"), [("alpha",)])
        reply = self.run_program("update", "--root", self.prefix, "/", status=COULD_NOT)
        self.assertIn(f"everybody may write to {self.prefix}", reply.err)

    def test_rules_where_others_can_write(self):
        """They would be ignored, and everything of that environment refused."""
        etc = f"{self.prefix}/etc"
        os.makedirs(etc)
        os.chown(etc, 0, self.other.gid)
        os.chmod(etc, 0o775)
        reply = self.run_program("disable", "--prefix", self.prefix, "demo", status=COULD_NOT)
        self.assertIn("rules there would be ignored", reply.err)
        self.assertEqual(os.listdir(etc), [])
        os.chown(etc, 0, 0)
        self.run_program("disable", "--prefix", self.prefix, "demo", status=DONE)


class Publishing(TrustTest):
    def publishes(self, word):
        with open(self.database, "rb") as file:
            return word in file.read() and bool(os.fstat(file.fileno()).st_mode & 0o004)

    def test_files_only_root_can_read(self):
        """An entry_points.txt that is a link to a file of root's is not published."""
        info = add_distribution(self.site, "spy")
        os.unlink(f"{info}/entry_points.txt")
        os.symlink(self.secret, f"{info}/entry_points.txt")
        self.update()
        self.assertFalse(self.publishes(b"swordfish"))

    def test_private_files_in_root_s_own_directories(self):
        add_distribution(self.site, "open")
        info = add_distribution(self.site, "private", text="[secret]\nword = is:swordfish\n")
        os.chmod(f"{info}/entry_points.txt", 0o600)
        self.update()
        self.assertFalse(self.publishes(b"swordfish"))
        self.assertIn("word", [row[1] for row in self.list().fields])
        others = self.list(user=self.other.uid)
        self.assertNotIn("word", [row[1] for row in others.fields])
        self.assertIn("open", [row[1] for row in others.fields])

    def test_rows_of_a_database_that_was_private(self):
        """They quote a file that only root may read: they are not used again for all readers."""
        info = add_distribution(self.site, "private", text="[secret]\nword = is:swordfish\n")
        os.chmod(f"{info}/entry_points.txt", 0o600)
        os.chmod(self.site, 0o700)
        self.index()
        os.chmod(self.site, 0o755)
        os.chmod(self.database, 0o644)
        for rows in (1, 0):
            with contextlib.closing(sqlite3.connect(f"file:{self.database}?immutable=1", uri=True)) as db:
                self.assertEqual(db.execute("SELECT count(*) FROM entry_point").fetchone(), (rows,))
            self.update("--fresh", "exact", self.prefix)

    def test_a_directory_of_another_on_the_way(self):
        """It may lead root anywhere: into its own private tree, too."""
        add_distribution(f"{self.mine}/site-packages", "private", text="[secret]\nword = is:swordfish\n")
        shutil.rmtree(self.prefix)
        os.makedirs(f"{self.prefix}/lib")
        os.symlink(self.mine, f"{self.prefix}/lib/python3.11")
        os.lchown(f"{self.prefix}/lib", self.other.uid, self.other.gid)
        os.lchown(f"{self.prefix}/lib/python3.11", self.other.uid, self.other.gid)
        reply = self.run_program("update", self.prefix, status=COULD_NOT)
        self.assertIn(f"belongs to user {self.other.uid}", reply.err)
        self.assertFalse(os.path.exists(self.database))

    def swap(self, one, two):
        """Exchange the names again and again, as the other user."""
        swap = subprocess.Popen([PYTHON, "-c", "import ctypes, sys\nwhile True: ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, "
                                 "sys.argv[2].encode(), 2)", one, two], user=self.other.uid, group=self.other.gid, extra_groups=[])
        self.addCleanup(support.end, swap)

    def test_private_tree_swapped_in(self):
        """While root reads, one who may rename exchanges root's public tree and root's private one."""
        lib, private = f"{self.prefix}/lib", f"{self.prefix}/lib/private"
        add_distribution(self.site, "public")
        add_distribution(f"{private}/site-packages", "private", text="[secret]\nword = is:swordfish\n")
        os.chmod(private, 0o700)
        os.chown(lib, 0, self.other.gid)
        os.chmod(lib, 0o775)
        self.swap(f"{lib}/python3.11", private)
        for _ in range(40):
            self.run_program("update", "--fresh", "exact", self.prefix)
            if os.path.exists(self.database):
                self.assertFalse(self.publishes(b"swordfish"))
                shutil.rmtree(f"{self.prefix}/var")

    def test_private_archive_swapped_in(self):
        """The same with root's archives, whose permissions are those of the file that is read."""
        place, catalogue = f"{self.prefix}/archives", f"{self.top}/catalogue.db"
        os.makedirs(place)
        for name, mode in (("public", 0o644), ("swordfish", 0o600)):
            with zipfile.ZipFile(f"{place}/{name}.whl", "w") as archive:
                archive.writestr("p-1.0.dist-info/METADATA", support.metadata("p", "1.0"))
                archive.writestr("p-1.0.dist-info/entry_points.txt", f"[g]\n{name} = p:x\n")
            os.chmod(f"{place}/{name}.whl", mode)
        os.chown(place, 0, self.other.gid)
        os.chmod(place, 0o775)
        self.swap(f"{place}/public.whl", f"{place}/swordfish.whl")
        for _ in range(40):
            self.run_program("add", "--db", catalogue, f"{place}/public.whl", status=None)
            if os.path.exists(catalogue):
                names = query(catalogue, "SELECT name FROM entry_point")
                self.assertFalse(os.stat(catalogue).st_mode & 0o004 and ("swordfish",) in names)
                os.unlink(catalogue)

    def test_the_rights_of_a_user(self):
        """They are no more lent than root's: to those of a group who may make links, or whose environment it is."""
        uid, home = self.other.uid, f"{self.top}/their-home"
        os.chmod(self.top, 0o755)
        add_distribution(f"{home}/private/site-packages", "outer", text="[secret]\nword = is:swordfish\n")
        write(f"{home}/private/open", "[secret]\nword = is:swordfish\n")
        os.mkdir(f"{home}/state")
        self.other.own(home)
        os.chown(home, uid, self.other.gid)
        os.chmod(f"{home}/private", 0o700)
        info = add_distribution(self.site, "spy")
        os.unlink(f"{info}/entry_points.txt")
        os.symlink(f"{home}/private/open", f"{info}/entry_points.txt")
        os.symlink(f"{home}/private", f"{self.prefix}/lib/python3.12")
        for owner, link_owner in ((support.STRANGER, support.STRANGER), (uid, support.STRANGER)):
            for path in [self.prefix, *self.look(self.prefix)]:
                os.lchown(path, owner if not os.path.islink(path) else link_owner, support.STRANGER)
                if os.path.isdir(path) and not os.path.islink(path):
                    os.chmod(path, 0o775)
            subprocess.run([support.public_program(), "update", self.prefix], user=uid, group=self.other.gid, extra_groups=[], check=True,
                           capture_output=True, env=self.environment(HOME=home, XDG_STATE_HOME=f"{home}/state"))
            seen = subprocess.run(["grep", "-r", "swordfish", home, self.prefix], user=support.STRANGER, group=support.STRANGER, extra_groups=[],
                                  check=False, capture_output=True, text=True)
            self.assertEqual(seen.stdout, "")

    @unittest.skipUnless(shutil.which("unshare"), "unshare is not installed")
    def test_the_root_of_a_process(self):
        """It may lie in another mount namespace, where "/" is another: nothing is written here for it."""
        image = f"{self.top}/image"
        add_distribution(f"{image}/usr/lib/python3/dist-packages", "inside")
        os.mkdir(f"{image}/old")
        here = os.path.exists("/var/lib/entrydb/entry_points.db")
        inside = subprocess.Popen(["unshare", "--mount", "/bin/sh", "-c", f"mount --bind {image} {image} && cd {image} && pivot_root . old && "
                                   "echo && read line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(support.end, inside)
        if not inside.stdout.readline():
            self.skipTest("no mount namespaces here")
        reply = self.run_program("update", "--root", f"/proc/{inside.pid}/root", status=COULD_NOT)
        self.assertIn("leads past the directories above it", reply.err)
        self.assertEqual(os.path.exists("/var/lib/entrydb/entry_points.db"), here)
        self.assertIn("inside", self.run_program("list", "--root", f"/proc/{inside.pid}/root", status=DONE).out)
        add_distribution(self.site, "outside")
        theirs = subprocess.Popen(["sleep", "60"], user=self.other.uid, group=self.other.gid, extra_groups=[])
        self.addCleanup(support.end, theirs)
        self.assertIn("outside", self.run_program("list", "--root", f"/proc/{theirs.pid}/root", "--path", self.site, status=DONE).out)

    def test_a_link_of_root_s_to_a_private_tree(self):
        """The database is as private as the tree."""
        os.chmod(self.mine, 0o700)
        add_distribution(f"{self.mine}/site-packages", "private", text="[secret]\nword = is:swordfish\n")
        shutil.rmtree(self.prefix)
        os.makedirs(f"{self.prefix}/lib")
        os.symlink(self.mine, f"{self.prefix}/lib/python3.11")
        self.update()
        self.assertEqual(stat.S_IMODE(os.stat(self.database).st_mode), 0o600)

    def test_a_group_of_the_directory(self):
        """One group may read the tree; a new file in a set-gid directory gets another."""
        add_distribution(self.site, "alpha")
        os.chown(self.site, 0, self.other.gid)
        os.chmod(self.site, 0o750)
        os.makedirs(os.path.dirname(self.database))
        os.chown(os.path.dirname(self.database), 0, 1)
        os.chmod(os.path.dirname(self.database), 0o2755)
        self.update()
        self.assertEqual(stat.S_IMODE(os.stat(self.database).st_mode), 0o600)

    def test_readers_excluded_by_group_or_acl(self):
        """By a list, or as the group, of what all others may read: by any file or directory on the way."""
        os.chmod(self.top, 0o755)

        def by_group(path):
            os.chown(path, 0, self.other.gid)
            os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & ~0o070)

        def by_list(path):
            os.setxattr(path, "system.posix_acl_access", acl(self.other.uid, 0, os.stat(path).st_mode >> 6 & 5))

        for leave_out, command in ((by_group, [PROGRAM]), (by_list, [PROGRAM]), *((by_list, hidden) for hidden in self.without_proc())):
            for place in ("", "lib", SITE, f"{SITE}/private-1.0.dist-info", f"{SITE}/private-1.0.dist-info/entry_points.txt"):
                shutil.rmtree(self.prefix)
                add_distribution(self.site, "private", text="[secret]\nword = is:swordfish\n")
                try:
                    leave_out(f"{self.prefix}/{place}")
                except OSError as error:
                    self.skipTest(f"no access control lists here: {error}")
                subprocess.run([*command, "update", self.prefix], env=self.environment(ASAN_OPTIONS=NO_LEAKS), capture_output=True, check=True)
                seen = subprocess.run(["grep", "-qr", "swordfish", self.database], user=self.other.uid, group=self.other.gid,
                                      extra_groups=[], check=False, capture_output=True)
                self.assertNotEqual(seen.returncode, 0, (leave_out, place))
        shutil.rmtree(self.prefix)
        add_distribution(self.site, "open")
        subprocess.run([*command, "update", self.prefix], env=self.environment(ASAN_OPTIONS=NO_LEAKS), capture_output=True, check=True)
        self.assertTrue(self.publishes(b"open"))

    def test_tree_of_a_group(self):
        """Who reaches the database is no reader of what is closed elsewhere; directories above both do not matter."""
        os.chmod(self.top, 0o755)
        private, link = f"{self.top}/private", f"{self.mine}/link"

        def is_seen(place, mode, linked=False):
            shutil.rmtree(self.prefix)
            shutil.rmtree(private, ignore_errors=True)
            info = add_distribution(private if linked else self.site, "alpha", text="[secret]\nword = is:swordfish\n")
            if linked:
                os.makedirs(self.site)
                os.symlink(info, f"{self.site}/{os.path.basename(info)}")
            os.chown(self.prefix, 0, self.other.gid)
            os.chmod(self.prefix, 0o2750)
            os.chmod(place, mode)
            self.update(*([link] if os.path.islink(link) else []))
            return subprocess.run(["grep", "-qr", "swordfish", self.database], user=self.other.uid, group=self.other.gid,
                                  extra_groups=[], check=False, capture_output=True).returncode == 0

        for by_link in (False, True):
            if by_link:  # in a closed directory
                os.symlink(self.prefix, link)
                os.chmod(self.mine, 0o700)
            self.assertTrue(is_seen(self.prefix, 0o2750))
            self.assertFalse(is_seen(f"{self.prefix}/lib", 0o700))
            self.assertFalse(is_seen(f"{self.prefix}/lib", 0o701))
            self.assertTrue(is_seen(private, 0o755, linked=True))
            self.assertFalse(is_seen(private, 0o700, linked=True))

    def test_private_database_stays_private(self):
        """The trail has it, and pages that are free; and another site directory of the same database."""
        add_distribution(self.site, "private", text="[secret]\nword = is:swordfish\n")
        os.chmod(self.site, 0o700)
        self.update()
        other = f"{self.prefix}/lib/python3.12/site-packages"
        add_distribution(other, "open")
        self.update(other)
        self.assertFalse(self.publishes(b"swordfish"))
        write(f"{self.site}/private-1.0.dist-info/entry_points.txt", "[secret]\nword = other:one\n")
        self.update()
        os.chmod(self.site, 0o755)
        self.update()
        self.assertFalse(self.publishes(b"swordfish"))

    def test_closed_since(self):
        """What is closed after it was published is published no more, even if nothing else has changed, or another root is named."""
        os.chmod(self.top, 0o755)
        other = f"{self.prefix}/lib/python3.12/site-packages"
        for words in (["update", other], ["update", self.prefix], ["update", "--fresh", "roots", self.prefix], ["update", "--hook", "pip", self.prefix]):
            for place in (os.path.dirname(self.site), self.site):
                shutil.rmtree(self.prefix)
                add_distribution(self.site, "private", text="[secret]\nword = is:swordfish\n")
                add_distribution(other, "open")
                self.update()
                self.assertTrue(self.publishes(b"swordfish"))
                os.chmod(place, 0o700)
                self.run_program(*words, status=DONE)
                self.assertEqual(stat.S_IMODE(os.stat(self.database).st_mode), 0o600, (words, place))
        catalogue = f"{self.top}/catalogue.db"
        for name in ("a", "b"):
            with zipfile.ZipFile(f"{self.top}/{name}.zip", "w") as archive:
                archive.writestr(f"{name}-1.0.dist-info/METADATA", support.metadata(name, "1.0"))
            self.run_program("add", "--db", catalogue, f"{self.top}/{name}.zip", status=DONE)
            self.assertEqual(stat.S_IMODE(os.stat(catalogue).st_mode), 0o644 if name == "a" else 0o600)
            os.chmod(f"{self.top}/a.zip", 0o600)

    def test_closed_to_its_owner_too(self):
        """What even its owner can no longer enter is no reason to leave the database as it is."""
        os.chmod(self.top, 0o755)
        self.venv_of_other()
        for words in (["update"], ["update", "--hook", "pip"]):
            self.run_program("update", self.prefix, status=DONE, user=self.other.uid)
            self.assertEqual(stat.S_IMODE(os.stat(self.database).st_mode), 0o644)
            os.chmod(f"{self.prefix}/lib", 0o600)
            self.run_program(*words, self.prefix, status=None, user=self.other.uid)
            self.assertEqual(stat.S_IMODE(os.stat(self.database).st_mode), 0o600, words)
            os.chmod(f"{self.prefix}/lib", 0o755)
            os.unlink(self.database)

    def test_closed_below_a_root(self):
        """The same below --root with a database elsewhere; and a link there leads to where it leads inside."""
        os.chmod(self.top, 0o755)
        image, database = f"{self.top}/image", f"{self.top}/elsewhere.db"
        site = f"{image}/opt/a/{SITE}"
        add_distribution(site, "private", text="[secret]\nword = is:swordfish\n")
        add_distribution(f"{image}/opt/b/{SITE}", "open")
        words = ("--root", image, "--db", database, "update")
        self.run_program(*words, "/opt/a", "/opt/b", status=DONE)
        self.assertEqual(stat.S_IMODE(os.stat(database).st_mode), 0o644)
        os.chmod(f"{image}/opt/a/lib", 0o700)
        self.run_program(*words, "/opt/b", status=DONE)
        self.assertEqual(stat.S_IMODE(os.stat(database).st_mode), 0o600)
        os.unlink(database)
        os.rename(f"{image}/opt/a", f"{image}/private")
        os.symlink("/private", f"{image}/opt/a")
        for mode, expected in ((0o700, 0o600), (0o755, 0o644)):
            os.chmod(f"{image}/private/lib", mode)
            self.run_program(*words, "/opt/a", status=DONE)
            self.assertEqual(stat.S_IMODE(os.stat(database).st_mode), expected)
            os.unlink(database)

    def test_closed_above_a_root(self):
        """With a database elsewhere, who reads it may be unable to reach the root; one in it has the same way."""
        os.chmod(self.top, 0o755)
        above, image = f"{self.top}/above", f"{self.top}/above/image"
        add_distribution(f"{image}/opt/a/{SITE}", "private", text="[secret]\nword = is:swordfish\n")
        os.symlink(image, f"{self.top}/link")
        for mode, expected in ((0o700, 0o600), (0o711, 0o600), (0o755, 0o644)):
            os.chmod(above, mode)
            for root in image, f"{self.top}/link":
                for database, now in ((f"{self.top}/elsewhere.db", expected), (f"{image}/inside.db", 0o644)):
                    self.run_program("--root", root, "--db", database, "update", "/opt/a", status=DONE)
                    self.assertEqual(stat.S_IMODE(os.stat(database).st_mode), now, (oct(mode), root, database))
                    os.unlink(database)

    def test_a_link_in_place_of_the_database(self):
        """It is replaced where it lies: the directories above what it led to are not those of the new file."""
        os.chmod(self.top, 0o755)
        private = f"{self.top}/private"
        add_distribution(f"{private}/site", "private", text="[secret]\nword = is:swordfish\n")
        os.chmod(private, 0o700)
        os.makedirs(os.path.dirname(self.database))
        os.rmdir(self.site)
        os.symlink(f"{private}/site", self.site)
        for target in f"{private}/gone.db", f"{private}/other.db":
            if "other" in target:
                self.run_program("--db", target, "update", f"{private}/site", status=DONE)
            os.symlink(target, self.database)
            self.run_program("update", self.prefix, status=DONE)
            self.assertEqual(stat.S_IMODE(os.lstat(self.database).st_mode), 0o600)
            os.unlink(self.database)

    def test_closed_while_it_is_read(self):
        """A directory above, which is not read again: it is judged once more before anything is published."""
        os.chmod(self.top, 0o755)
        database = f"{self.top}/elsewhere.db"
        for number in range(300):
            add_distribution(f"{self.top}/above/site", f"d{number}")
        with subprocess.Popen([PROGRAM, "--quiet", "--db", database, "update", f"{self.top}/above/site"], env=self.environment()) as update:
            while update.poll() is None and not os.path.exists(f"{database}.new"):
                pass
            time.sleep(0.003)  # it was judged for the first time
            update.send_signal(signal.SIGSTOP)
            os.chmod(f"{self.top}/above", 0o700)
            if os.path.exists(database):
                self.skipTest("it was too fast")
            update.send_signal(signal.SIGCONT)
        mode = os.path.exists(database) and stat.S_IMODE(os.stat(database).st_mode)
        # On a slow machine, while it was judged for the first time: then nothing is published.
        self.assertIn((update.returncode, mode), ((DONE, 0o600), (COULD_NOT, False)))

    def test_closed_below_the_root_of_all(self):
        """The same below --root /, which is no other place than without it."""
        os.chmod(self.top, 0o755)
        database = f"{self.top}/elsewhere.db"
        for name in "ab":
            add_distribution(f"{self.top}/{name}/{SITE}", name)
        words = ("--root", "/", "--db", database, "update")
        self.run_program(*words, f"{self.top}/a", f"{self.top}/b", status=DONE)
        os.chmod(f"{self.top}/a/lib", 0o700)
        self.run_program(*words, f"{self.top}/b", status=DONE)
        self.assertEqual(stat.S_IMODE(os.stat(database).st_mode), 0o600)

    def test_closed_beside_a_database_by_any_name(self):
        """Its roots are relative to its prefix, however the name is spelled."""
        os.chmod(self.top, 0o755)
        directory, public = os.path.dirname(self.database), f"{self.top}/public/{SITE}"
        add_distribution(self.site, "private")
        add_distribution(public, "public")
        for name, place in ((DATABASE, self.prefix), (os.path.basename(DATABASE), directory), ("../entrydb//entry_points.db", directory),
                            (f"{self.prefix}/var/./lib/entrydb/entry_points.db", self.top)):
            os.chmod(self.site, 0o755)
            self.run_program("--db", name, "update", self.site, public, cwd=place, status=DONE)
            self.assertEqual(stat.S_IMODE(os.stat(self.database).st_mode), 0o644, name)
            os.chmod(self.site, 0o700)
            self.run_program("--db", name, "update", public, cwd=place, status=DONE)
            self.assertEqual(stat.S_IMODE(os.stat(self.database).st_mode), 0o600, name)
            self.assertEqual(query(self.database, "SELECT count(*) FROM root"), [(2,)], name)
            self.run_program("--db", name, "verify", cwd=place, status=DONE)
            os.unlink(self.database)

    def test_private_archives(self):
        egg, catalogue = f"{self.site}/p-1.0-py3.11.egg", f"{self.top}/catalogue.db"
        with zipfile.ZipFile(egg, "w") as archive:
            archive.writestr("EGG-INFO/PKG-INFO", support.metadata("p", "1.0"))
            archive.writestr("EGG-INFO/entry_points.txt", "[secret]\nword = is:swordfish\n")
        shutil.copy(egg, f"{self.mine}/p-1.0.zip")
        for words, database in ((("update", egg), self.database), (("add", "--db", catalogue, f"{self.mine}/p-1.0.zip"), catalogue)):
            os.chmod(words[-1], 0o600)
            self.run_program(*words, status=DONE)
            self.assertEqual(stat.S_IMODE(os.stat(database).st_mode), 0o600)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_a_library_that_an_archive_names(self):
        """An RPATH leads out of the archive: what is in a private directory there is not published."""
        os.chmod(self.top, 0o755)
        libs, wheel, catalogue = f"{self.mine}/libs", f"{self.top}/p-1.0-py3-none-any.whl", f"{self.top}/catalogue.db"
        os.mkdir(libs)
        for output, *flags in ((f"{libs}/libsword.so", "-Wl,-soname,libsword.so"),
                               (f"{self.top}/plugin.so", f"-Wl,--no-as-needed,-rpath,{libs}", f"{libs}/libsword.so")):
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", output, *flags], input=b"int entry(void) { return 1; }",
                           check=True)
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.write(f"{self.top}/plugin.so", "pkg/plugin.so")
            archive.writestr("p-1.0.dist-info/METADATA", support.metadata("p", "1.0"))
            archive.writestr("p-1.0.dist-info/entry_points.txt", "[host]\np = pkg.plugin:entry\n")
        for path, mode in ((libs, 0o700), (f"{libs}/libsword.so", 0o640), (libs, 0o755)):
            before = stat.S_IMODE(os.stat(path).st_mode)
            os.chmod(path, mode)
            self.run_program("add", "--db", catalogue, wheel, status=DONE)
            self.assertEqual((stat.S_IMODE(os.stat(catalogue).st_mode), query(catalogue, "SELECT state FROM entry_points")),
                             (0o644, [("ok" if mode == 0o755 else "missing-dependency",)]), (path, oct(mode)))
            os.chmod(path, before)
            os.unlink(catalogue)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_a_library_in_a_closed_directory_of_another_user(self):
        """Below one that he leaves open, or that everybody may write to: the whole way there is judged."""
        os.chmod(self.top, 0o755)
        catalogue = f"{self.top}/catalogue.db"
        for above, mode in (f"{self.top}/home", 0o755), (f"{self.top}/shared", 0o777):
            wheel, library = f"{self.top}/p-1.0-py3-none-any.whl", f"{above}/closed/libsword.so"
            os.makedirs(os.path.dirname(library))
            for output, *flags in ((library, "-Wl,-soname,libsword.so"),
                                   (f"{self.top}/plugin.so", f"-Wl,--no-as-needed,-rpath,{os.path.dirname(library)}", library)):
                subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", output, *flags], input=b"int entry(void) { return 1; }",
                               check=True)
            self.other.own(above)
            os.chmod(above, mode)
            with zipfile.ZipFile(wheel, "w") as archive:
                archive.write(f"{self.top}/plugin.so", "pkg/plugin.so")
                archive.writestr("p-1.0.dist-info/METADATA", support.metadata("p", "1.0"))
                archive.writestr("p-1.0.dist-info/entry_points.txt", "[host]\np = pkg.plugin:entry\n")
            for closed, state in (0o700, "missing-dependency"), (0o755, "ok"):
                os.chmod(f"{above}/closed", closed)
                self.run_program("add", "--db", catalogue, wheel, status=DONE)
                self.assertEqual((stat.S_IMODE(os.stat(catalogue).st_mode), query(catalogue, "SELECT state FROM entry_points")),
                                 (0o644, [(state,)]), (above, oct(closed)))
                os.unlink(catalogue)

    def test_a_module_with_the_longest_path(self):
        """There is no room to look for its suffixes: a link on the way would be followed without asking who can."""
        os.chmod(self.top, 0o755)
        parts = [*["d" * 254] * 15, "e" * 100]
        parts.append("f" * (4095 - len("/".join([*parts, "/link/sub"]))))
        info = add_distribution(self.site, "spam", text=f"[host]\nx = {'.'.join([*parts, 'link', 'sub'])}:y\n")
        directory = os.open(self.site, os.O_RDONLY)
        for part in parts:
            os.mkdir(part, dir_fd=directory)
            directory, above = os.open(part, os.O_RDONLY, dir_fd=directory), directory
            os.close(above)
        os.symlink(self.mine, "link", dir_fd=directory)
        os.close(directory)
        os.chmod(self.mine, 0o700)
        found = []
        for make in (False, True):
            if make:
                os.mkdir(f"{self.mine}/sub")
            os.utime(f"{info}/entry_points.txt")
            self.run_program("update", self.prefix, status=DONE)
            found.append(query(self.database, "SELECT state FROM entry_points"))
        self.assertEqual(found[0], found[1])

    def test_roots_link_to_a_public_file(self):
        """Files that are not behind it are no secrets."""
        os.chmod(self.top, 0o755)
        add_distribution(f"{self.top}/elsewhere", "open", text="[demo]\nword = is:word\n")
        os.makedirs(self.site, exist_ok=True)
        os.symlink(f"{self.top}/elsewhere/open-1.0.dist-info", f"{self.site}/open-1.0.dist-info")
        self.update()
        self.assertTrue(self.publishes(b"is:word"))

    def test_links_without_proc(self):
        """In a root directory of rpm, say. Where they lead cannot be known then: not that they lead nowhere."""
        os.chmod(self.top, 0o755)
        for name in ("one", "two"):
            add_distribution(f"{self.top}/elsewhere", name, text=f"[demo]\nword = {name}:word\n")
        os.symlink(f"{self.top}/elsewhere/one-1.0.dist-info", f"{self.site}/one-1.0.dist-info")
        os.symlink(f"{self.top}/elsewhere/two-1.0.dist-info/entry_points.txt",
                   add_distribution(self.site, "two", text="") + "/link")
        os.rename(f"{self.site}/two-1.0.dist-info/link", f"{self.site}/two-1.0.dist-info/entry_points.txt")
        support.settle()
        for command in self.without_proc():
            subprocess.run([*command, "update", self.prefix], env=self.environment(ASAN_OPTIONS=NO_LEAKS), check=True, capture_output=True)
            for user in (None, self.other.uid):
                self.assertEqual(sorted(row[2] for row in self.list(user=user).fields), ["one:word", "two:word"])
            reply = subprocess.run([*command, "list", "--path", self.site], env=self.environment(ASAN_OPTIONS=NO_LEAKS),
                                   check=False, capture_output=True, text=True)
            self.assertEqual(reply.returncode, COULD_NOT)
            self.assertIn("cannot open", reply.stderr)
        self.update()
        self.assertTrue(self.publishes(b"one:word") and self.publishes(b"two:word"))

    def test_rules_without_proc(self):
        """They hold, although they are behind a link."""
        add_distribution(self.site, "alpha")
        write(f"{self.top}/rules", "[demo]\n* = disable\n")
        os.makedirs(f"{self.prefix}/etc/entrydb")
        os.symlink(f"{self.top}/rules", f"{self.prefix}/etc/entrydb/policy.conf")
        for command in self.without_proc():
            for words, status in (((), DONE), (("--allowed",), NOT_FOUND)):
                reply = subprocess.run([*command, "list", "--path", self.site, "demo", *words],
                                       env=self.environment(ASAN_OPTIONS=NO_LEAKS), check=False, capture_output=True, text=True)
                self.assertEqual(reply.returncode, status, reply.stderr)

    def test_links_of_an_image(self):
        """With --root, no file of the host is read, regardless of the links' owners."""
        image = f"{self.top}/image"
        site = f"{image}/usr/lib/python3/dist-packages"
        info = add_distribution(site, "spy")
        os.unlink(f"{info}/entry_points.txt")
        os.symlink(self.secret, f"{info}/entry_points.txt")
        add_distribution(f"{image}{self.top}", "host", text="[inside]\nword = is:inside\n")
        os.symlink(f"{self.top}/host-1.0.dist-info", f"{site}/host-1.0.dist-info")
        add_distribution(self.mine, "outer", text="[secret]\nword = is:swordfish\n")
        os.symlink(f"{self.mine}/outer-1.0.dist-info", f"{site}/outer-1.0.dist-info")
        os.symlink(self.mine, f"{image}/usr/lib/python3.9")
        self.run_program("update", "--root", image, "/usr", status=DONE)
        rows = query(f"{image}/usr/{DATABASE}" if os.path.exists(f"{image}/usr/{DATABASE}")
                     else f"{image}/{DATABASE}", "SELECT value FROM entry_point")
        self.assertIn(("is:inside",), rows)
        self.assertNotIn(("is:swordfish",), rows)
        reply = self.run_program("list", "--root", image, "--fresh", "exact", "--path", site[len(image):])
        self.assertNotIn("swordfish", reply.out)
        add_distribution(f"{image}/venv/{SITE}", "mod", text="[g]\nx = mod:y\n", RECORD="mod.py,,\n")
        write(f"{image}/mod.py", "")
        os.symlink("/mod.py", f"{image}/venv/{SITE}/mod.py")
        found = self.run_program("audit", "--json", "--root", image, "/venv").objects
        self.assertIn("module-outside", [one["rule"] for one in found])
        os.chmod(self.top, 0o755)
        os.chmod(self.mine, 0o700)
        os.makedirs(f"{image}/srv")
        os.symlink(self.mine, f"{image}/srv/lib")
        reply = self.run_program("verify", "--root", image, "/srv", user=self.other.uid, status=COULD_NOT)
        self.assertNotIn("denied", reply.err)  # which would say that it exists
        os.symlink("/venv", f"{image}/linked")
        self.run_program("audit", "--root", image, "/linked", status=NOT_FOUND)
        self.run_program("disable", "--root", image, "--prefix", "/linked", "g", status=DONE)
        self.assertTrue(os.path.exists(f"{image}/venv/etc/entrydb/policy.conf"))

    def test_links_where_the_path_is_too_long(self):
        """A link of an image leads to a directory of it whose path on the host no system call returns."""
        names = [*["d" * 255] * 15, "d" * 238]
        at = os.open(self.top, os.O_RDONLY)
        for name in ("image", *names, "dist-packages", "spy-1.0.dist-info"):
            os.mkdir(name, dir_fd=at)
            above, at = at, os.open(name, os.O_RDONLY, dir_fd=at)
            os.close(above)
        write(f"{self.top}/hosts", "[secret]\nword = is:swordfish\n")
        os.symlink(f"{self.top}/hosts", "entry_points.txt", dir_fd=at)
        os.close(at)
        os.makedirs(f"{self.top}/image/usr/lib")
        os.symlink("/" + "/".join(names), f"{self.top}/image/usr/lib/python3")
        os.chmod(self.top, 0o755)
        for user in (None, self.other.uid):
            reply = self.run_program("list", "--fresh", "exact", "--root", f"{self.top}/image", user=user, status=NOT_FOUND)
            self.assertIn("cannot open", reply.err)

    def with_record(self, name):
        """The name of the directory, and the hash in its RECORD."""
        text = f"[group]\n{name} = is:said\n"
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        info = add_distribution(self.site, name, text=text)
        write(f"{info}/RECORD", f"{os.path.basename(info)}/entry_points.txt,sha256={digest.decode()},{len(text)}\n")
        return info, digest

    def test_a_private_object(self):
        """Its symbols, build-id and dependencies are not published either; who can read it learns them from the disk."""
        info = add_distribution(self.site, "plugin", text="[host]\nplugin = pkg.libplugin:getpid\n", RECORD="pkg/libplugin.so,,\n")
        os.makedirs(f"{self.site}/pkg")
        shutil.copy(next(iter(glob.glob("/lib/*/libc.so.6")), "/lib64/libc.so.6"), f"{self.site}/pkg/libplugin.so")
        for path, mode in ((f"{self.site}/pkg/libplugin.so", 0o600), (f"{self.site}/pkg/libplugin.so", 0o604), (f"{self.site}/pkg", 0o700)):
            for now, expected in ((mode, []), (0o755, [("native",)])):
                os.chmod(path, now)
                self.run_program("update", "--fresh", "exact", self.prefix, status=DONE)
                self.assertEqual(stat.S_IMODE(os.stat(self.database).st_mode), 0o644)
                with contextlib.closing(sqlite3.connect(self.database)) as db:
                    self.assertEqual(db.execute("SELECT kind FROM entry_points WHERE object IS NOT NULL").fetchall(), expected, (path, now))
                reply = self.run_program("list", "--json", "--path", self.site, status=DONE)
                self.assertEqual((reply.objects[0]["kind"], reply.objects[0]["file"]), ("native", info))

    def test_the_trail_of_another_database(self):
        """The command's other arguments may be private directories."""
        os.chmod(self.top, 0o755)
        add_distribution(self.site, "alpha")
        add_distribution(f"{self.top}/swordfish/lib/python3/dist-packages", "beta")
        os.chmod(f"{self.top}/swordfish", 0o700)
        self.run_program("update", f"{self.top}/swordfish", self.prefix, status=DONE)
        self.assertTrue(os.stat(self.database).st_mode & 0o004)
        self.assertFalse(self.publishes(b"swordfish"))

    def test_the_place_of_a_tree(self):
        """Paths in it are relative, so that it can be moved: neither what was damaged nor what is broken says where it was."""
        for tree in "image", "venv":
            prefix = f"{self.top}/swordfish/{tree}"
            site, database = f"{prefix}/{SITE}", f"{prefix}/{DATABASE}"
            egg = f"{site}/p-1.0-py3.11.egg"
            add_distribution(site, "alpha")
            with zipfile.ZipFile(egg, "w") as archive:
                archive.writestr("EGG-INFO/PKG-INFO", support.metadata("p", "1.0"))
                archive.writestr("EGG-INFO/entry_points.txt", "[group]\nname = value\n")
            write(egg, support.read_bytes(egg).replace(b"= value", b"= other", 1))
            for damage in (lambda: None, lambda: os.truncate(database, 4096), lambda: os.chmod(database, 0o666), lambda: write(database, "")):
                damage()
                words = ("--root", prefix, f"/{SITE}", egg.removeprefix(prefix)) if tree == "image" else (prefix, egg)
                self.run_program("update", *words, status=DONE)
                self.assertIn("checksum", str(query(database, "SELECT error FROM distribution")))
                self.assertNotIn(b"swordfish", support.read_bytes(database))

    def test_names_that_others_cannot_list(self):
        """Mode 711 hides the names in a directory from those who may enter it."""
        os.chmod(self.top, 0o755)
        add_distribution(self.site, "plugin", text="[host]\nplugin = pkg.plugin:getpid\n")
        os.makedirs(f"{self.site}/pkg")
        shutil.copy(next(iter(glob.glob("/lib/*/libc.so.6")), "/lib64/libc.so.6"), f"{self.site}/pkg/plugin.cpython-311-swordfish.so")
        for mode in (0o711, 0o755):
            os.chmod(f"{self.site}/pkg", mode)
            self.run_program("update", "--fresh", "exact", self.prefix, status=DONE)
            self.assertEqual(self.publishes(b"swordfish"), mode == 0o755)
        home, own = f"{self.top}/home711", ".local/state/entrydb/entry_points.db"
        add_distribution(f"{home}/swordfish/site", "alpha")
        os.mkdir(f"{home}/.local")
        for mode in (0o711, 0o710, 0o755):
            os.chmod(home, mode)
            for database in (f"{home}/{own}", f"{self.top}/elsewhere.db"):
                self.run_program("--db", database, "update", f"{home}/swordfish/site", status=DONE)
                self.assertEqual(stat.S_IMODE(os.stat(database).st_mode), 0o644 if mode == 0o755 else 0o600, (oct(mode), database))
                os.unlink(database)
        for may, expected in ((1, 0o600), (5, 0o644)):  # a list lets one enter it, and perhaps list it
            try:
                os.setxattr(home, "system.posix_acl_access", acl(self.other.uid, may, 5))
            except OSError as error:
                self.skipTest(f"no access control lists here: {error}")
            self.run_program("--db", f"{home}/{own}", "update", f"{home}/swordfish/site", status=DONE)
            self.assertEqual(stat.S_IMODE(os.stat(f"{home}/{own}").st_mode), expected, may)
            os.unlink(f"{home}/{own}")

    def test_what_exists_in_private_directories(self):
        """A database does not tell, with or without files there, nor whether they seem to be of the future."""
        info = add_distribution(self.site, "private", text="[secret]\nword = is:swordfish\n")
        os.chmod(info, 0o700)
        found = set()
        for change in (lambda: os.utime(f"{info}/METADATA", (4e9, 4e9)), lambda: os.unlink(f"{info}/METADATA"),
                       lambda: os.unlink(f"{info}/entry_points.txt"), lambda: None):
            self.run_program("update", "--fresh", "exact", self.prefix, status=DONE)
            found |= set(query(self.database, "SELECT distribution.*, root.settled FROM distribution JOIN root ON root.id = root"))
            change()
        self.assertEqual(len(found), 1, found)

    def test_what_a_link_leads_to(self):
        """Nor whether anything is there, for the module of an entry point."""
        os.chmod(self.top, 0o755)
        add_distribution(self.site, "plugin", text="[host]\nplugin = pkg.mod:entry\n")
        hidden, package = f"{self.top}/hidden", f"{self.site}/pkg"
        os.makedirs(package)
        for name in "mod.py", "mod.so", "libmod.so", "mod":
            os.symlink(f"{hidden}/{name}", f"{package}/{name}")
            for mode in (0o700, 0o755) if name == "mod.py" else (0o700,):
                found = []
                for is_there in False, True:
                    shutil.rmtree(hidden, ignore_errors=True)
                    os.makedirs(f"{hidden}/{name}" if is_there and name == "mod" else hidden)
                    if is_there and name != "mod":
                        write(f"{hidden}/{name}", "")
                    os.chmod(hidden, mode)
                    self.run_program("update", "--fresh", "exact", self.prefix, status=DONE)
                    found.append([query(self.database, text) for text in ("SELECT version FROM distribution", "SELECT kind, state FROM entry_points")])
                    os.unlink(self.database)
                self.assertEqual(found[0] == found[1], mode == 0o700, (name, oct(mode), found))
            os.unlink(f"{package}/{name}")

    def test_a_private_record(self):
        """Its hashes say what is in files that others may not read."""
        _, shown = self.with_record("open")
        info, hidden = self.with_record("private")
        os.chmod(f"{info}/RECORD", 0o600)
        self.update()
        self.assertTrue(self.publishes(shown))
        self.assertFalse(self.publishes(hidden))

    def test_files_that_a_group_has_moved(self):
        """Who may rename in a directory of root's can put a private file, or one that others can lock, where root expects its own."""
        add_distribution(self.site, "alpha")
        policy = f"{self.prefix}/etc/entrydb/policy.conf"
        write(f"{self.prefix}/private", "# swordfish\n")
        write(f"{self.prefix}/public", "")
        os.chmod(f"{self.prefix}/private", 0o600)
        for directory in (self.prefix, f"{self.prefix}/etc", os.path.dirname(policy), f"{self.prefix}/var", f"{self.prefix}/var/lib",
                          os.path.dirname(self.database)):
            os.makedirs(directory, exist_ok=True)
            os.chown(directory, 0, self.other.gid)
            os.chmod(directory, 0o2775)
        os.chmod(self.top, 0o755)
        self.other.run("mv", f"{self.prefix}/private", policy)
        self.other.run("mv", f"{self.prefix}/public", f"{self.database}.lock")
        self.assertIn("rules there would be ignored", self.run_program("disable", "--prefix", self.prefix, "demo", status=COULD_NOT).err)
        self.assertEqual(stat.S_IMODE(os.stat(policy).st_mode), 0o600)
        self.assertIn("is not a regular file that only you can open", self.update(status=COULD_NOT).err)

    def test_set_aside_after_it_was_closed(self):
        """A damaged database of a directory that was closed since is not left to be read under its new name."""
        os.chmod(self.top, 0o755)
        add_distribution(self.site, "private", text="[secret]\nword = is:swordfish\n")
        self.update()
        change_database(self.database, "CREATE TABLE other (x)")
        os.chmod(self.site, 0o700)
        self.assertIn("set aside", self.update().err)
        seen = subprocess.run(["grep", "-r", "swordfish", os.path.dirname(self.database)], user=self.other.uid, group=self.other.gid,
                              extra_groups=[], check=False, capture_output=True, text=True)
        self.assertEqual(seen.stdout, "")
        self.assertEqual(stat.S_IMODE(os.stat(f"{self.database}.damaged").st_mode), 0o600)

    def test_forged_rows_are_not_copied(self):
        """A database that another one put where root publishes is set aside, not taken over."""
        add_distribution(self.site, "alpha")
        self.index()
        change_database(self.database, "UPDATE entry_point SET value = 'evil:main'")
        os.chown(self.database, self.other.uid, self.other.gid)
        add_distribution(self.site, "beta")
        reply = self.update()
        self.assertEqual(query(self.database, "SELECT DISTINCT value FROM entry_point WHERE value LIKE 'evil%'"), [])
        self.assertIn("set aside", reply.err)
        self.assertEqual(os.stat(self.database).st_uid, 0)


def acl(uid, may=6, others=4):
    """An access control list with an entry for that user, as setfacl makes it."""
    entries = [(1, others | 2, 0xffffffff), (2, may, uid), (4, others, 0xffffffff), (16, may | others, 0xffffffff), (32, others, 0xffffffff)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *each) for each in entries)


class Looking(TrustTest):
    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_devices(self):
        """Root opens none that a link, or a file, of another leads to, whatever it looks for."""
        info = add_distribution(self.site, "tape")
        for name in ("entry_points.txt", "METADATA", "RECORD"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{info}/{name}")
            os.symlink("/dev/full", f"{info}/{name}")
        os.symlink("/dev/full", f"{self.site}/tape.pth")
        write(f"{self.site}/named.pth", f"/dev/full\n{'../' * self.site.count('/')}dev/full\n")
        self.other.own(self.prefix)
        image = f"{self.top}/image"  # may have been mounted: its author could make devices
        site = f"{image}/usr/lib/python3/dist-packages"
        info = add_distribution(site, "tape")
        for state in (f"{image}/var/lib/entrydb", f"{image}/etc/entrydb"):
            os.makedirs(state)
        for place in (f"{info}/entry_points.txt", f"{info}/RECORD", f"{site}/tape.pth", f"{image}/{DATABASE}", f"{image}/etc/entrydb/policy.conf.lock",
                      f"{image}/report"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(place)
            os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        for verb in (["list", "--fresh", "exact", "--path", self.site], ["audit", self.site], ["verify", self.prefix],
                     ["why", "demo", "tape", "--path", self.site], ["list", "--root", image], ["update", "--root", image],
                     ["audit", "--root", image], ["verify", "--root", image], ["disable", "--root", image, "demo"],
                     ["audit", "--root", image, "--sarif", f"{image}/report"]):
            trace = f"{self.top}/trace"
            subprocess.run([shutil.which("strace"), "-f", "-qq", "-e", "trace=openat,openat2,open", "-yy", "-o", trace, PROGRAM, *verb],
                           env=self.environment(), capture_output=True, check=False)
            with open(trace, encoding="utf-8") as lines:
                opened = [line for line in lines if re.search(r"= \d+<.*<char 1:7>", line)
                          and "O_PATH" not in line and '"/proc/self/environ"' not in line]  # a sanitizer's
            self.assertEqual(opened, [], verb)

    def test_a_lease(self):
        """Who has one on his file does not keep root busy until the kernel takes it away."""
        image = f"{self.top}/image"
        for site, options in ((self.site, []), (f"{image}/usr/lib/python3/dist-packages", ["--root", image])):
            info = add_distribution(site, "alpha")
            self.other.own(self.top)
            os.chmod(self.top, 0o755)
            holder = subprocess.Popen([PYTHON, "-c", "import fcntl, os, signal, sys; signal.signal(signal.SIGIO, signal.SIG_IGN); "
                                       "fcntl.fcntl(os.open(sys.argv[1], os.O_RDWR), fcntl.F_SETLEASE, fcntl.F_WRLCK); print(flush=True); sys.stdin.read()",
                                       f"{info}/entry_points.txt"], user=self.other.uid, group=self.other.gid, extra_groups=[],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            with holder:
                holder.stdout.readline()
                reply = self.run_program("list", "--fresh", "exact", *options, "--path", site[len(image) if options else 0:], status=COULD_NOT)
            self.assertIn("cannot open: Resource temporarily unavailable", reply.err)

    def spy(self):
        """His environment, whose links lead to what is root's alone, to his own, and to what everybody may read."""
        text = "[demo]\n{0} = is:{0}\n"
        os.chmod(self.top, 0o755)
        os.chmod(self.mine, 0o700)
        write(f"{self.mine}/open", text.format("swordfish"))  # but in a directory that others cannot search
        self.held = os.open(f"{self.mine}/open", os.O_RDONLY)  # leads there past that directory
        self.addCleanup(os.close, self.held)
        add_distribution(f"{self.mine}/site-packages", "outer", text=text.format("swordfish"))
        add_distribution(self.site, "plain", text=text.format("plain"))
        for name, target in (("a", self.secret), ("b", f"{self.mine}/open"), ("c", "/etc/shadow"), ("d", f"{self.top}/theirs"),
                             ("e", f"{self.top}/everybodys"), ("f", "/proc/self/environ"), ("g", f"{self.top}/pipe"),
                             ("h", f"/proc/{os.getpid()}/fd/{self.held}"), ("i", f"{self.top}/denied"),
                             ("j", f"/proc/{os.getpid()}/root{self.top}/behind")):  # of his own mount namespace, perhaps
            info = add_distribution(self.site, name)
            os.unlink(f"{info}/entry_points.txt")
            os.symlink(target, f"{info}/entry_points.txt")
        os.symlink(f"{self.mine}/site-packages/outer-1.0.dist-info", f"{self.site}/outer-1.0.dist-info")
        os.symlink(self.mine, f"{self.prefix}/lib/python3.12")
        os.symlink("site-packages", f"{os.path.dirname(self.site)}/dist-packages")
        os.symlink(f"/proc/{os.getpid()}/root{self.site}", f"{self.prefix}/lib/python3.13")
        self.other.own(self.prefix)
        for name in ("theirs", "behind"):
            write(f"{self.top}/{name}", text.format(name))
            os.chmod(f"{self.top}/{name}", 0o600)
            os.chown(f"{self.top}/{name}", self.other.uid, self.other.gid)
        write(f"{self.top}/everybodys", text.format("everybodys"))
        write(f"{self.top}/denied", text.format("denied"))  # to his group
        os.chown(f"{self.top}/denied", 0, self.other.gid)
        os.chmod(f"{self.top}/denied", 0o604)
        os.mkfifo(f"{self.top}/pipe")

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_links_out_of_the_prefix(self):
        """Root follows those of another user to what is that user's, or everybody's, and to nothing else."""
        self.spy()
        trace = f"{self.top}/trace"
        for without in ((), ("-e", "inject=openat2:error=ENOSYS")):
            for verb in (["list", "--fresh", "exact", "--path", self.site, "--path", f"{self.prefix}/lib/python3.12/site-packages"],
                         ["audit", self.site], ["audit", self.prefix], ["verify", self.prefix], ["why", "demo", "swordfish", "--path", self.site]):
                reply = subprocess.run([shutil.which("strace"), "-f", "-qq", "-e", "trace=openat,openat2,open", *without, "-y",
                                        "-o", trace, PROGRAM, *verb], env=self.environment(ASAN_OPTIONS=NO_LEAKS), capture_output=True, check=False, text=True)
                with open(trace, encoding="utf-8") as lines:
                    opened = [line for line in lines if re.search(rf"= \d+<({self.mine}|/etc/shadow|/proc/\d+/environ|{self.top}/(pipe|denied|behind))", line)
                              and "O_PATH" not in line and '"/proc/self/environ"' not in line]  # a sanitizer's
                self.assertEqual(opened, [], (verb, without))
                if verb[0] == "list":
                    self.assertEqual({line.split("\t")[2] for line in reply.stdout.splitlines()},
                                     {"is:plain", "is:theirs", "is:everybodys"}, without)
        self.assertIn("\tabsent", self.run_program("status", "--path", f"{self.prefix}/lib/python3.13").out)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_the_memory_of_his_process(self):
        """Who reads its command line waits for its memory, which its owner can keep locked: root does not read it."""
        theirs = subprocess.Popen(["sleep", "60"], user=self.other.uid, group=self.other.gid, extra_groups=[])
        self.addCleanup(theirs.wait)
        self.addCleanup(theirs.kill)
        image, trace = f"{self.top}/image", f"{self.top}/trace"
        os.makedirs(f"{image}/proc")
        for prefix, site in ((self.prefix, self.site), (f"{image}/usr", f"{image}/usr/lib/python3/dist-packages")):
            add_distribution(site, "alpha")
            write(f"{site}/names.pth", f"/proc/{theirs.pid}/map_files\n")
            for place in (f"{site}/more.pth", f"{prefix}/pyvenv.cfg"):
                os.symlink(f"/proc/{theirs.pid}/cmdline", place)
        self.other.own(self.top)
        os.chmod(self.top, 0o755)
        mount = [shutil.which("unshare") or "false", "--mount", "/bin/sh", "-c", f'{shutil.which("mount")} --bind /proc {image}/proc && exec "$@"', "sh"]
        can_mount = subprocess.run([*mount, PROGRAM, "--version"], capture_output=True, check=False).returncode == 0
        for verb in (["list"], ["status"], ["audit", self.prefix], *([["list", "--root", image], ["audit", "--root", image]] if can_mount else [])):
            subprocess.run([*(mount if "--root" in verb else []), shutil.which("strace"), "-f", "-qq", "-e", "trace=openat,openat2,open,read,pread64,getdents64", "-y", "-o", trace,
                            PROGRAM, *verb], env=self.environment(VIRTUAL_ENV=self.prefix, ASAN_OPTIONS=NO_LEAKS), capture_output=True, check=False)
            with open(trace, encoding="utf-8") as lines:
                seen = [line for line in lines if re.search(f"/{theirs.pid}/(cmdline|map_files)>", line)]
            self.assertTrue(seen, verb)
            self.assertEqual([line for line in seen if not re.search(r"\bopen(at2?)?\(", line)], [], verb)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_the_root_of_his_process(self):
        """What lies behind such a link may never answer: root does not even look there."""
        there = f"/proc/{os.getpid()}/root"
        add_distribution(self.site, "alpha", text="[console_scripts]\nalpha = alpha:main\n")
        python = f"{self.prefix}/bin/{os.path.basename(os.path.dirname(SITE))}"
        os.makedirs(os.path.dirname(python), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(python)
        os.symlink(f"{there}{PYTHON}", python)
        write(f"{self.prefix}/pyvenv.cfg", "home = /usr/bin\n")
        self.other.own(self.prefix)
        reply = self.run_program("run", "alpha", env={"ENTRYDB_PATH": self.site}, status=COULD_NOT)
        self.assertIn("no Python was found", reply.err)
        reply = subprocess.run([shutil.which("strace"), "-qq", "-o", "/dev/null", "-e", "inject=openat2:error=ENOSYS", PROGRAM, "run", "alpha"],
                               env=self.environment(ASAN_OPTIONS=NO_LEAKS, ENTRYDB_PATH=self.site), capture_output=True, check=False, text=True)
        self.assertIn("no Python was found", reply.stderr)  # on an old kernel, too
        for path in self.look(self.prefix):
            os.lchown(path, 0, 0)
        os.makedirs(f"{self.top}/theirs/adbc/drivers")
        write(f"{self.top}/theirs/adbc/drivers/.entrydb", "")
        os.mkdir(f"{self.prefix}/etc")
        os.symlink(f"{there}{self.top}/theirs/adbc", f"{self.prefix}/etc/adbc")
        self.other.own(f"{self.prefix}/etc")
        for _ in range(2):
            self.assertNotIn("adbc", self.run_program("update", self.prefix, status=DONE).err)
        info = f"{self.site}/alpha-1.0.dist-info"
        os.rename(f"{info}/entry_points.txt", f"{self.top}/theirs/entry_points.txt")
        os.symlink(f"{there}{self.top}/theirs/entry_points.txt", f"{info}/entry_points.txt")
        self.other.own(info)
        trace = f"{self.top}/trace"
        os.mkdir(f"{self.top}/theirs/bin")
        os.symlink(f"{there}{PYTHON}", f"{self.top}/theirs/bin/python3")
        for verb in (["update", self.prefix], ["list", "--path", self.site], ["verify"]):
            subprocess.run([shutil.which("strace"), "-f", "-qq", "-e", "trace=%%stat,/access", "-o", trace, PROGRAM, *verb],
                           env=self.environment(ASAN_OPTIONS=NO_LEAKS, PATH=f"{self.top}/theirs/bin"), capture_output=True, check=False)
            with open(trace, encoding="utf-8") as lines:
                self.assertEqual([line for line in lines if re.search("dist-info/entry_points.txt|theirs/bin/python3", line) and "NOFOLLOW" not in line], [])

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_real_paths(self):
        """Root reads no link by a whole path, in which he may put a link such as /proc/PID/root meanwhile."""
        os.makedirs(f"{self.prefix}/bin")
        os.symlink(PYTHON, f"{self.prefix}/bin/python3")
        os.makedirs(self.site, exist_ok=True)
        os.mknod(f"{self.site}/socket", stat.S_IFSOCK | 0o666)  # cannot be opened
        self.other.own(self.prefix)
        trace = f"{self.top}/trace"
        for verb in (["list", "--path", f"{self.site}/socket"], ["verify"]):
            subprocess.run([shutil.which("strace"), "-f", "-qq", "-e", "trace=/readlink", "-o", trace, PROGRAM, *verb],
                           env=self.environment(ASAN_OPTIONS=NO_LEAKS, PATH=f"{self.prefix}/bin"), capture_output=True, check=False)
            with open(trace, encoding="utf-8") as lines:
                self.assertEqual([line for line in lines if self.prefix in line], [])

    def test_a_link_to_a_private_database(self):
        """Root's own, which is as true of his prefix as of root's, but not his to show."""
        os.chmod(self.mine, 0o700)
        site = f"{self.mine}/{SITE}"
        add_distribution(site, "outer", text="[demo]\nswordfish = is:swordfish\n")
        self.run_program("update", self.mine)
        shutil.rmtree(self.prefix)
        os.makedirs(self.prefix)
        os.symlink(site, f"{self.prefix}/site")
        self.other.own(self.prefix)
        for path in (f"{self.prefix}/site", f"{self.prefix}/site/../site-packages"):
            self.assertNotIn("swordfish", self.run_program("list", "--fresh", "trust", "--path", path).out)
        self.run_program("disable", "--prefix", f"{self.prefix}/site/../../..", "demo", status=COULD_NOT)
        self.assertFalse(os.path.exists(f"{self.mine}/etc"))
        shutil.rmtree(self.prefix)
        shutil.copytree(f"{self.mine}/lib", f"{self.prefix}/lib", ignore=lambda path, names: [name for name in names if "outer" in name])
        os.makedirs(f"{self.prefix}/var/lib")
        os.symlink(f"{self.mine}/var/lib/entrydb", f"{self.prefix}/var/lib/entrydb")
        self.other.own(self.prefix)
        reply = self.run_program("list", "--fresh", "trust", "--path", self.site)
        self.assertNotIn("swordfish", reply.out)

    def test_a_link_to_a_root(self):
        """Below a root every link is followed: so a link of another user leads only to a root of that user."""
        inside = "usr/lib/python3/dist-packages"
        add_distribution(f"{self.mine}/{inside}", "outer", text="[secret]\nword = is:swordfish\n")
        info = add_distribution(self.site, "alpha")
        os.unlink(f"{info}/entry_points.txt")
        os.symlink(self.secret, f"{info}/entry_points.txt")
        add_distribution(self.site, "beta")
        for target, site, status in ((self.mine, f"/{inside}", COULD_NOT), ("/", self.site, COULD_NOT), (".", self.site[len(self.prefix):], DONE)):
            os.symlink(target, f"{self.prefix}/image")
            self.other.own(self.prefix)
            reply = self.run_program("list", "--root", f"{self.prefix}/image", "--path", site, status=status)
            self.assertNotIn("swordfish", reply.out)
            os.unlink(f"{self.prefix}/image")

    def test_a_link_to_private_archives(self):
        """Not even their names are listed; those of root are, also without /proc."""
        os.chmod(self.mine, 0o700)
        write(f"{self.mine}/swordfish-1.0-py3-none-any.whl", "")
        os.makedirs(f"{self.prefix}/wheels")
        os.symlink(self.mine, f"{self.prefix}/wheels/all")
        self.other.own(self.prefix)
        reply = self.run_program("add", "--db", f"{self.top}/catalogue.db", f"{self.prefix}/wheels/all", status=COULD_NOT)
        self.assertNotIn("swordfish", reply.err)
        for command in [[PROGRAM], *self.without_proc()]:
            reply = subprocess.run([*command, "add", "--db", f"{self.top}/catalogue.db", self.mine], env=self.environment(ASAN_OPTIONS=NO_LEAKS),
                                   capture_output=True, check=False, text=True)
            self.assertIn("swordfish", reply.stderr)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_an_old_kernel(self):
        """Without openat2(), what lies below --root is read hop by hop."""
        image = f"{self.top}/image"
        site = f"{image}/usr/lib/python3/dist-packages"
        info = add_distribution(site, "spy")
        os.unlink(f"{info}/entry_points.txt")
        os.symlink(self.secret, f"{info}/entry_points.txt")
        add_distribution(f"{image}/opt", "inside", text="[inside]\nword = is:inside\n")
        os.symlink("/opt/inside-1.0.dist-info", f"{site}/inside-1.0.dist-info")
        reply = subprocess.run([shutil.which("strace"), "-qq", "-o", "/dev/null", "-e", "inject=openat2:error=ENOSYS", PROGRAM, "list", "--root",
                                image, "--fresh", "exact", "--path", site[len(image):]], env=self.environment(ASAN_OPTIONS=NO_LEAKS), capture_output=True, check=True, text=True)
        self.assertIn("is:inside", reply.stdout)
        self.assertNotIn("swordfish", reply.stdout)


class Running(TrustTest):
    def test_nothing_of_another_user_s(self):
        """Neither by its Python nor by root's."""
        add_distribution(self.site, "evil", text="[console_scripts]\nevil = evil:main\n")
        write(f"{self.site}/evil.py", f"open({self.mine + '/pwned'!r}, 'w')\ndef main():\n    pass\n")
        python = f"{self.prefix}/bin/{os.path.basename(os.path.dirname(SITE))}"
        os.makedirs(os.path.dirname(python), exist_ok=True)
        if not os.path.lexists(python):
            os.symlink(PYTHON, python)
        self.other.own(self.prefix)
        for verb in (["run", "evil"], ["probe", "console_scripts", "evil"]):
            for env in ({"VIRTUAL_ENV": self.prefix}, {"ENTRYDB_PATH": self.site}):
                reply = self.run_program(*verb, env=env, status=COULD_NOT)
                self.assertIn(f"belongs to user {self.other.uid}", reply.err)
        for path in self.look(self.prefix):
            os.lchown(path, 0, 0)
        for place, mode, why in ((os.path.dirname(python), 0o2775, "may write to"), (self.site, 0o2775, "may write to"), (self.site, 0o1777, "can create files in")):
            os.chown(place, 0, self.other.gid)
            os.chmod(place, mode)
            reply = self.run_program("run", "evil", env={"ENTRYDB_PATH": self.site}, status=COULD_NOT)
            self.assertIn(f"others {why} {place}", reply.err)
            os.chmod(place, 0o755)
        os.makedirs(f"{self.site}/pkg/__pycache__")
        write(f"{self.site}/pkg/__init__.py", "")
        os.rename(f"{self.site}/evil.py", f"{self.site}/pkg/evil.py")
        write(f"{self.site}/evil-1.0.dist-info/entry_points.txt", "[console_scripts]\nevil = pkg.evil:main\n")
        more = ("pkg/evil.pyc", "pkg/evil.abi3.so", "pkg/__pycache__/evil.cpython-3.pyc", "pkg/__init__.so", "pkg/__pycache__/__init__.cpython-3.pyc")
        for module in more:
            write(f"{self.site}/{module}", "")
        for module in ("pkg", "pkg/__init__.py", "pkg/__pycache__", "pkg/evil.py", *more):
            os.chown(f"{self.site}/{module}", self.other.uid, self.other.gid)
            for verb in (["run", "evil"], ["probe", "console_scripts", "evil"]):
                self.assertIn(f"{self.site}/{module} belongs to user", self.run_program(*verb, env={"ENTRYDB_PATH": self.site}, status=COULD_NOT).err)
            os.chown(f"{self.site}/{module}", 0, 0)
        theirs = f"{self.top}/theirs"
        os.mkdir(theirs)
        os.chown(theirs, self.other.uid, self.other.gid)
        for mode, home, why in ((0o666, "/usr/bin", f"others may write to {self.prefix}/pyvenv.cfg"),
                                (0o644, f"{theirs}/bin", f"{theirs} belongs to user {self.other.uid}")):
            write(f"{self.prefix}/pyvenv.cfg", f"home = {home}\n")
            os.chmod(f"{self.prefix}/pyvenv.cfg", mode)
            self.assertIn(why, self.run_program("run", "evil", env={"ENTRYDB_PATH": self.site}, status=COULD_NOT).err)
        self.assert_untouched()


    def test_an_editable_install_of_another_user_s_sources(self):
        """Python finds the module there, by a .pth file or by an import hook; and a directory that does not exist could be made."""
        theirs = f"{self.top}/their sources"
        os.makedirs(f"{theirs}/src")
        write(f"{theirs}/src/evil.py", f"open({self.mine + '/pwned'!r}, 'w')\ndef main():\n    pass\n")
        self.other.own(theirs)
        shutil.rmtree(self.prefix)
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", self.prefix], check=True)
        site = glob.glob(f"{self.prefix}/lib/python*/site-packages")[0]
        info = add_distribution(site, "evil", text="[console_scripts]\nevil = evil:main\n")
        for name, text in ((f"{site}/evil.pth", f"{theirs}/src\n"), (f"{site}/evil.pth", f"{theirs}/none\n"),
                           (f"{info}/direct_url.json", json.dumps({"dir_info": {"editable": True}, "url": f"file://{urllib.parse.quote(theirs)}"}))):
            write(name, text)
            for verb in (["run", "evil"], ["probe", "console_scripts", "evil"]):
                reply = self.run_program(*verb, env={"ENTRYDB_PATH": site}, status=COULD_NOT)
                self.assertIn(f"{theirs} belongs to user {self.other.uid}", reply.err)
            os.unlink(name)
        self.assert_untouched()
        os.makedirs(f"{self.mine}/src")
        write(f"{self.mine}/src/evil.py", "def main():\n    print('mine')\n")
        write(f"{site}/evil.pth", f"{self.mine}/src\n")
        write(f"{info}/direct_url.json", json.dumps({"dir_info": {"editable": True}, "url": f"file://{self.mine}"}))
        self.assertIn("mine", self.run_program("run", "evil", env={"ENTRYDB_PATH": site}, status=DONE).out)
        # Any other installation from a URL: the interpreter is judged nevertheless.
        write(f"{info}/direct_url.json", json.dumps({"archive_info": {}, "url": "file:///tmp/evil-1.0.whl"}))
        self.assertIn("mine", self.run_program("run", "evil", env={"ENTRYDB_PATH": site}, status=DONE).out)
        os.chown(f"{self.prefix}/bin", self.other.uid, self.other.gid)
        for verb in (["run", "evil"], ["probe", "console_scripts", "evil"]):
            reply = self.run_program(*verb, env={"ENTRYDB_PATH": site}, status=COULD_NOT)
            self.assertIn(f"{self.prefix}/bin belongs to user {self.other.uid}", reply.err)

    def test_the_user_site_of_another_user(self):
        """Python would run the .pth files there, as sudo may keep HOME; and compiled modules of a kept cache."""
        home = f"{self.top}/theirs"
        shutil.rmtree(self.prefix)
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", "--system-site-packages", self.prefix], check=True)
        site = glob.glob(f"{self.prefix}/lib/python*/site-packages")[0]
        add_distribution(site, "safe", text="[console_scripts]\nsafe = safe:main\n")
        write(f"{site}/safe.py", "def main():\n    print('safe')\n")
        theirs = site.replace(self.prefix, f"{home}/.local")
        os.makedirs(theirs)
        write(f"{theirs}/evil.pth", f"import sys; open({self.mine + '/pwned'!r}, 'w')\n")
        self.other.own(home)
        shared = f"{self.top}/shared"
        shutil.copytree(f"{home}/.local", f"{shared}/.local")
        os.chmod(shared, 0o1777)
        write(f"{home}/evil.py", f"open({self.mine + '/pwned'!r}, 'w')\ndef main(): pass\n")
        subprocess.run([PYTHON, "-c", "import py_compile, sys; py_compile.compile(sys.argv[1], f'{sys.argv[2]}/safe.{sys.implementation.cache_tag}.pyc', "
                        "invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)", f"{home}/evil.py", f"{home}/cache{site}"], check=True)
        self.other.own(home)
        for name in (".local", ".local/lib"):
            os.makedirs(os.path.dirname(f"{self.top}/{name[1:]}/{name}"))
            os.symlink(f"{home}/{name}", f"{self.top}/{name[1:]}/{name}")
        for place in ({"HOME": home}, {"HOME": shared}, {"PYTHONUSERBASE": f"{home}/.local"}, {"PYTHONPYCACHEPREFIX": f"{home}/cache"},
                      {"HOME": f"{self.top}/local"}, {"HOME": f"{self.top}/local/lib"}, {"PYTHONUSERBASE": f"{self.top}/local/lib/.local"}):
            for verb in (["run", "safe"], ["probe", "console_scripts", "safe"]):
                self.assertIn("safe", self.run_program(*verb, env=self.environment(ENTRYDB_PATH=site, **place), status=DONE).out)
            self.assert_untouched()
        # Where the path does not show the version of its interpreter, as in Debian.
        debian = f"{self.prefix}/lib/python3/dist-packages"
        shutil.copytree(site, debian)
        own = os.path.dirname(theirs).replace(home, f"{self.top}/version")
        os.makedirs(os.path.dirname(own))
        os.symlink(os.path.dirname(theirs), own)
        for verb in (["run", "safe"], ["probe", "console_scripts", "safe"]):
            self.assertIn("safe", self.run_program(*verb, env=self.environment(ENTRYDB_PATH=debian, HOME=f"{self.top}/version"), status=DONE).out)
        self.assert_untouched()

    def test_a_module_beside_the_program(self):
        """In a sticky directory, who cannot replace the program can add what it loads, or a link that is switched later."""
        shared = f"{self.top}/shared"
        os.makedirs(f"{shared}/own")
        os.chmod(shared, 0o1777)
        os.chmod(self.top, 0o755)
        module = shutil.copy(f"{os.path.dirname(PROGRAM)}/entrydb-archive.so", shared)
        write(f"{self.top}/a.tar.gz", "")
        os.chown(module, self.other.uid, self.other.gid)
        modules = f"{shared}/own/{installed_modules()}"
        self.other.run("mkdir", "-p", os.path.dirname(os.path.normpath(modules)))
        self.other.run("ln", "-s", os.path.dirname(PROGRAM), os.path.normpath(modules))
        for place, found in ((shared, module), (f"{shared}/own", f"{modules}/entrydb-archive.so")):
            program = shutil.copy(PROGRAM, place)
            done = subprocess.run([program, "add", "--db", f"{self.top}/a.db", f"{self.top}/a.tar.gz"], env=self.environment(), check=False,
                                  capture_output=True, text=True)
            self.assertIn(f"{found}, which belongs to user {self.other.uid}", done.stderr)


class Results(TrustTest):
    def test_in_a_directory_of_another(self):
        """Root's file is not overwritten by way of his link, nor anything else written there."""
        theirs = f"{self.top}/theirs"
        os.mkdir(theirs)
        os.symlink(self.secret, f"{theirs}/report")
        self.other.own(theirs)
        os.chown(theirs, self.other.uid, self.other.gid)
        reply = self.run_program("audit", self.site, "--sarif", f"{theirs}/report")
        self.assertIn(f"belongs to user {self.other.uid}", reply.err)
        self.assertEqual(os.listdir(theirs), ["report"])
        self.assert_untouched()
        os.unlink(f"{theirs}/report")
        os.symlink("/dev/full", f"{theirs}/report")  # it could be a disk
        os.symlink(f"{theirs}/report", f"{self.top}/report")
        self.run_program("audit", self.site, "--sarif", f"{self.top}/report", status=DONE)
        self.assertFalse(os.path.islink(f"{self.top}/report"))

    def test_is_private(self):
        """It may say what others cannot read."""
        add_distribution(self.site, "alpha")
        self.run_program("audit", self.site, "--sarif", f"{self.top}/report")
        self.assertEqual(stat.S_IMODE(os.stat(f"{self.top}/report").st_mode), 0o600)


class Believing(TrustTest):
    def test_a_list_lets_another_write(self):
        """Its mask looks like the permissions of the group."""
        add_distribution(self.site, "alpha")
        self.index()
        self.forge()
        self.assertIn("evil:main", self.values())
        try:
            os.setxattr(self.database, "system.posix_acl_access", acl(self.other.uid))
        except OSError as error:
            self.skipTest(f"no access control lists here: {error}")
        self.assertNotIn("evil:main", self.values())

    def forge(self, database=None):
        change_database(database or self.database, "UPDATE entry_point SET value = 'evil:main'")

    def values(self, *path, **how):
        return {row[2] for row in self.list(path=list(path) or None, **how).fields}

    def test_database_of_a_stranger(self):
        add_distribution(self.site, "alpha")
        self.index()
        self.forge()
        self.assertIn("evil:main", self.values())
        os.chown(self.database, self.other.uid, self.other.gid)
        self.assertNotIn("evil:main", self.values())

    def test_a_database_that_others_may_write(self):
        add_distribution(self.site, "alpha")
        self.index()
        self.forge()
        for mode, gid in ((0o666, 0), (0o664, self.other.gid), (0o664, 1)):
            os.chown(self.database, 0, gid)
            os.chmod(self.database, mode)
            self.assertNotIn("evil:main", self.values(), oct(mode))

    @unittest.skipUnless(shutil.which("unshare"), "unshare is not installed")
    def test_in_a_user_namespace(self):
        """Root outside of the user namespace has no rights inside, even without /proc to detect it; and any group gets
        the number of a private one."""
        add_distribution(self.site, "alpha")
        self.index()
        self.forge()
        os.chmod(self.top, 0o755)
        self.assertIn("evil:main", self.values(user=self.other.uid))
        hidden = f"{shutil.which('mount')} -t tmpfs none /proc"
        for before, owner, mode, gid, trusted in (
                (":", 0, 0o644, 0, False), (hidden, 0, 0o644, 0, False), (":", self.other.uid, 0o644, 1, True),
                (":", self.other.uid, 0o664, 1, False), (hidden, self.other.uid, 0o664, 1, False),
                (":", self.other.uid, 0o664, self.other.gid, self.other.gid == self.other.uid)):
            with self.subTest((before, mode, gid)):
                if before == hidden and support.build_type_is_sanitized():
                    self.skipTest("a sanitizer reads its options from /proc")
                os.chown(self.database, owner, gid)
                os.chmod(self.database, mode)
                done = subprocess.run([shutil.which("unshare"), "--user", "--map-root-user", "--mount", "/bin/sh", "-c", f'{before} || exit 77; exec "$@"', "sh",
                                       PROGRAM, "list", "--path", self.site], env=self.environment(ASAN_OPTIONS=NO_LEAKS), user=self.other.uid,
                                      group=gid or self.other.gid, extra_groups=[], capture_output=True, text=True, check=False)
                if done.returncode not in (DONE, COULD_NOT):
                    self.skipTest(f"no user namespaces here: {done.stderr}")
                self.assertIn("evil:main" if trusted else "alpha.plugin:main", done.stdout, (before, mode, gid))
                self.assertEqual("evil:main" in done.stdout, trusted, (before, mode, gid))

    def test_each_path_entry_for_itself(self):
        """His database answers for his directory, never for root's beside it, whichever comes first."""
        rival = f"{self.prefix}/lib/python3.12/site-packages"
        add_distribution(self.site, "alpha")
        add_distribution(rival, "beta")
        self.index()
        self.forge()
        self.other.own(self.site)
        os.chown(self.database, self.other.uid, self.other.gid)
        for path in ([self.site, rival], [rival, self.site]):
            found = {row[1]: row[2] for row in self.list(path=path).fields}
            self.assertEqual(found["beta"], "beta.plugin:main [x,y]", path)

    def test_a_link_to_a_database_of_root_s(self):
        """Rows that are true of another place."""
        add_distribution(self.site, "alpha")
        self.index()
        other = f"{self.top}/other"
        site = f"{other}/{SITE}"
        add_distribution(site, "decoy")
        os.makedirs(f"{other}/var/lib/entrydb")
        os.symlink(self.database, f"{other}/{DATABASE}")
        self.other.own(other)
        self.assertEqual({row[1] for row in self.list(path=site).fields}, {"decoy", "decoy-cmd"})


class Loading(TrustTest):
    """Through the library: what a forged row leads to is not loaded."""

    LIBRARY = f"{os.environ.get('ENTRYDB_BUILD') or f'{support.TOP}/build'}/libquery/libentrydb.so"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not os.path.exists(cls.LIBRARY) or support.build_type_is_sanitized():
            raise unittest.SkipTest(f"no {cls.LIBRARY} for a program without sanitizers")

    def load(self, group, name, first="pass", flags=0):
        """What entrydb_load_with() says, and its message; in a process of its own."""
        script = """if True:
            import ctypes, os, sys
            library, site, group, name, first, flags = sys.argv[1:]
            exec(first)
            lib = ctypes.CDLL(library)
            lib.entrydb_set_get.restype = lib.entrydb_error_message.restype = ctypes.c_void_p
            path = (ctypes.c_char_p * 1)(site.encode())
            db, found, symbol = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
            error = (ctypes.c_void_p * 8)()
            assert lib.entrydb_open(path, ctypes.c_size_t(1), None, ctypes.byref(db), error) == 0
            assert lib.entrydb_select(db, group.encode(), name.encode(), ctypes.byref(found), error) == 0
            entry = ctypes.c_void_p(lib.entrydb_set_get(found, ctypes.c_size_t(0)))
            assert entry.value, "not found"
            options = (ctypes.c_size_t * 4)(4 * ctypes.sizeof(ctypes.c_size_t), int(flags))
            code = lib.entrydb_load_with(db, entry, options, ctypes.byref(symbol), error)
            text = ctypes.c_char_p(lib.entrydb_error_message(error)).value if code < 0 else b""
            print(code, text.decode())
            """
        done = subprocess.run([PYTHON, "-c", script, self.LIBRARY, self.site, group, name, first, str(flags)],
                              env=self.environment(), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        code, _, text = done.stdout.partition(" ")
        return int(code), text

    def test_a_switched_link(self):
        """Root's own link leads through another user's directory, which can be replaced at any time."""
        info, theirs = add_distribution(self.site, "plugin", text="[host]\nplugin = pkg.libplugin:getpid\n"), f"{self.top}/theirs"
        libc = next(iter(glob.glob("/lib/*/libc.so.6")), "/lib64/libc.so.6")
        os.makedirs(f"{self.mine}/pkg")
        shutil.copy(libc, f"{self.mine}/pkg/libplugin.so")
        write(f"{info}/RECORD", "pkg/libplugin.so,,\n")
        os.makedirs(theirs)
        os.symlink(f"{self.mine}/pkg", f"{theirs}/pkg")
        os.symlink(f"{theirs}/pkg", f"{self.site}/pkg")
        self.other.own(theirs)
        os.chown(theirs, self.other.uid, self.other.gid)
        code, text = self.load("host", "plugin")
        self.assertLess(code, 0)
        self.assertIn(f"{theirs} belongs to user {self.other.uid}", text)
        os.chown(theirs, 0, 0)
        code, text = self.load("host", "plugin")
        self.assertIn("others may have made", text)
        os.lchown(f"{theirs}/pkg", 0, 0)
        self.assertEqual(self.load("host", "plugin")[0], 0)

    def test_a_file_system_of_another_user(self):
        """With FUSE, the user who runs it says who owns the files."""
        if far.why_not():
            self.skipTest(far.why_not())
        info = add_distribution(self.site, "plugin", text="[host]\nplugin = pkg.libplugin:getpid\n")
        os.makedirs(f"{self.site}/pkg")
        shutil.copy(next(iter(glob.glob("/lib/*/libc.so.6")), "/lib64/libc.so.6"), f"{self.site}/pkg/libplugin.so")
        write(f"{info}/RECORD", "pkg/libplugin.so,,\n")
        program, mount = far.build(self.top), f"{self.top}/mount"
        self.site = f"{mount}/{SITE}"
        with far.Far(program, self.prefix, mount, user=0):
            self.assertEqual(self.load("host", "plugin"), (0, "\n"))
        with far.Far(program, self.prefix, mount, user=self.other.uid):
            code, text = self.load("host", "plugin")
            reply = self.run_program("update", mount, status=COULD_NOT)
        self.assertLess(code, 0)
        for message in text, reply.err:
            self.assertIn(f"{mount} belongs to user {self.other.uid}", message)

    def test_an_access_control_list_of_nfs(self):
        """The mode says nothing about the users and groups that it names."""
        if far.why_not():
            self.skipTest(far.why_not())
        info = add_distribution(self.site, "plugin", text="[host]\nplugin = pkg.libplugin:getpid\n")
        os.makedirs(f"{self.site}/pkg")
        plugin = f"{self.site}/pkg/libplugin.so"
        shutil.copy(next(iter(glob.glob("/lib/*/libc.so.6")), "/lib64/libc.so.6"), plugin)
        write(f"{info}/RECORD", "pkg/libplugin.so,,\n")
        program, mount = far.build(self.top), f"{self.top}/mount"
        own, site = self.site, f"{mount}/{SITE}"
        ordinary = [(0, 0x1601a7, "OWNER@"), (0, 0x1200a1, "GROUP@"), (0, 0x1200a1, "EVERYONE@")]
        named = [(0, 0x2, "ann@example.org"), (0, 0x10000, "1004"), (0, 0x40, "staff@x"), (0, 0x40000, "EVERYONE@x")]
        for path in (plugin, f"{own}/pkg"):
            for entries, believed in ([ordinary, True], [[(0, 0x1200a1, "ann@x"), *ordinary], True],
                                      [[(1, 0x2, "ann@x"), *ordinary], True],
                                      *([[*ordinary, each], False] for each in named)):
                os.setxattr(path, "user.nfs4_acl", far.nfs4_list(*entries))
                self.site = site
                with self.subTest(path=path, entries=entries), \
                        far.Far(program, self.prefix, mount, user=0, lists=True):
                    code, text = self.load("host", "plugin")
                    if believed:
                        self.assertEqual((code, text), (0, "\n"))
                    else:
                        self.assertLess(code, 0)
                        self.assertIn(f"others may write to {path.replace(self.prefix, mount)}", text)
            os.removexattr(path, "user.nfs4_acl")

    def test_denied_by_a_list_of_nfs(self):
        """What a named user may not read is not published."""
        if far.why_not():
            self.skipTest(far.why_not())
        files = [add_distribution(self.site, name, text=f"[host]\n{name} = a\n") + "/entry_points.txt" for name in "pq"]
        for file, kind in zip(files, (0, 1)):
            os.setxattr(file, "user.nfs4_acl", far.nfs4_list((kind, 0x1, "ann@example.org"), (0, 0x1, "EVERYONE@")))
        mount, file = f"{self.top}/mount", f"{self.top}/public.db"
        with far.Far(far.build(self.top), self.prefix, mount, user=0, lists=True):
            self.run_program("--db", file, "update", f"{mount}/{SITE}", status=None)
        self.assertEqual((os.stat(file).st_mode & 0o777, support.query(file, "SELECT name FROM entry_points")), (0o644, [("p",)]))

    def test_a_file_system_that_others_may_not_enter(self):
        """With FUSE, the modes do not show that only the user who mounted it may."""
        if far.why_not():
            self.skipTest(far.why_not())
        add_distribution(self.site, "open", text="[host]\nopen = a\n")
        hidden = add_distribution(f"{self.top}/hidden", "hidden", text="[host]\nhidden = a\n")
        inside, mount = f"{self.site}/hidden-1.0.dist-info", f"{self.top}/mount"
        for directory, point, site, expected in ((self.prefix, mount, f"{mount}/{SITE}", (0o600, [("open",)])),
                                                 (hidden, inside, self.site, (0o644, [("open",)]))):
            for closed in True, False:
                file = f"{self.top}/{os.path.basename(point)}-{closed}.db"
                with far.Far(far.build(self.top), directory, point, user=0, closed=closed):
                    self.run_program("--db", file, "update", site, status=None)
                found = (os.stat(file).st_mode & 0o777, sorted(support.query(file, "SELECT name FROM entry_points")))
                names = [("hidden",), ("open",)] if point == inside else [("open",)]
                self.assertEqual(found, expected if closed else (0o644, names), (point, closed))
        os.chmod(self.top, 0o755)
        theirs = f"{self.top}/theirs"
        os.mkdir(theirs)
        os.chown(theirs, self.other.uid, self.other.gid)
        with far.Far(far.build(self.top), self.prefix, mount, user=self.other.uid):  # it may refuse them itself (allow_root)
            self.other.run(PROGRAM, "--db", f"{theirs}/file.db", "update", f"{mount}/{SITE}")
        self.assertEqual(stat.S_IMODE(os.stat(f"{theirs}/file.db").st_mode), 0o600)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_a_library_beside_it(self):
        """What the dynamic linker loads with a plugin is asked about as the plugin is, by whatever way: an RPATH holds for
        the libraries of libraries, too, from where the plugin lies."""
        info = add_distribution(self.site, "plugin", text="[host]\nplugin = pkg.libplugin:entry\n")
        libs = f"{self.site}/pkg.libs"
        os.makedirs(f"{self.site}/pkg")
        os.makedirs(libs)
        write(f"{info}/RECORD", "pkg/libplugin.so,,\n")
        for inner, outer in (("-z,defs", "--disable-new-dtags"), ("-rpath,$ORIGIN", "--enable-new-dtags")):
            for name, needs in (("deeper", []), ("helper", ["deeper"])):
                subprocess.run(["cc", "-shared", "-fPIC", "-nostdlib", "-x", "c", "-", "-x", "none", "-o", f"{libs}/lib{name}.so",
                                f"-Wl,--no-as-needed,{inner},-soname,lib{name}.so", *(f"{libs}/lib{each}.so" for each in needs)],
                               input=b"int unused;", check=True)
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", f"{self.site}/pkg/libplugin.so",
                            f"-Wl,--no-as-needed,{outer},-rpath,$ORIGIN/../pkg.libs,-rpath-link,{libs}", f"{libs}/libhelper.so"],
                           input=b"int entry(void) { return 1; }", check=True)
            self.assertEqual(self.load("host", "plugin"), (0, "\n"))
            for path in (f"{libs}/libhelper.so", f"{libs}/libdeeper.so", libs):
                os.chown(path, self.other.uid, self.other.gid)
                code, text = self.load("host", "plugin")
                self.assertLess(code, 0, path)
                self.assertIn(f"{path} belongs to user {self.other.uid}", text.replace("pkg/../", ""))
                os.chown(path, 0, 0)
        os.chmod(f"{libs}/libdeeper.so", 0o775)
        self.assertEqual(self.load("host", "plugin")[0], 0)
        os.chown(f"{libs}/libdeeper.so", 0, self.other.gid)
        self.assertLess(self.load("host", "plugin")[0], 0)
        with open(f"{libs}/libhelper.so", "r+b") as file:  # the dynamic linker needs no sections
            file.seek(0x3c if struct.calcsize("P") == 8 else 0x30)
            file.write(bytes(4))
        code, text = self.load("host", "plugin")
        self.assertRegex(text, "others may write to .*/libdeeper.so")
        self.assertLess(code, 0)
        os.chown(f"{libs}/libdeeper.so", 0, 0)
        self.run_program("update", self.prefix)
        self.assertEqual(query(self.database, "SELECT state FROM entry_points"), [("not-examined",)])
        self.assertEqual(self.load("host", "plugin")[0], 0)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_where_libraries_are_looked_for(self):
        """A run path can gain further libraries: write access to its directories counts."""
        info = add_distribution(self.site, "plugin", text="[host]\nplugin = pkg.libplugin:entry\n")
        pkg, theirs = f"{self.site}/pkg", f"{self.top}/theirs"
        os.makedirs(pkg)
        os.makedirs(f"{theirs}/sub")
        self.other.own(theirs)
        for name, mode in (("sticky", 0o1777), ("private", 0o1775)):  # the latter for the group with the owner's number
            os.makedirs(f"{self.top}/{name}")
            os.chmod(f"{self.top}/{name}", mode)
        write(f"{info}/RECORD", "pkg/libplugin.so,,\n")
        gone = f"{self.top}/sticky/libgone.so"
        for library in (f"{pkg}/libhelper.so", gone):
            subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", library, *([] if library == gone else ["-Wl,-soname,libhelper.so"])],
                           check=True)
        for run_path, extra, loads in ((theirs, [f"{pkg}/libhelper.so"], False), (f"{theirs}/$LIB", [f"{pkg}/libhelper.so"], False),
                                       (f"{theirs}/$PLATFORM", [], False), ("", [], False), ("sub", [], False), (f"{self.top}/sticky/x", [], False),
                                       (f"{self.top}/sticky", [], False), ("/none", [gone], False), (f"{self.top}/private", [], True),
                                       ("/proc/self/cwd", [f"{pkg}/libhelper.so"], False),
                                       (theirs, ["-Wl,-f,libother.so"], False), (f"{self.mine}/none:/none", [f"{pkg}/libhelper.so"], True)):
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", f"{pkg}/libplugin.so", "-Wl,--no-as-needed", *extra,
                            f"-Wl,--enable-new-dtags,-rpath,{run_path}:$ORIGIN"], input=b"int entry(void) { return 1; }", check=True)
            if gone in extra:
                os.unlink(gone)
            code, text = self.load("host", "plugin", f"os.chdir({theirs!r})")
            self.assertEqual(code, 0 if loads else -5, (run_path, text))  # ENTRYDB_EPERMISSION
        for below in ("glibc-hwcaps/x86-64-v2", "tls", "x86_64"):  # where glibc looks first
            os.makedirs(f"{pkg}/{below}")
            shutil.copy(f"{pkg}/libhelper.so", f"{pkg}/{below}")
            self.assertEqual(self.load("host", "plugin")[0], 0)
            for each in (f"{pkg}/{below}/libhelper.so", f"{pkg}/{below}"):
                os.chown(each, self.other.uid, self.other.gid)
                self.assertIn(f"{each} belongs to user", self.load("host", "plugin")[1])
                os.chown(each, 0, 0)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_what_the_dynamic_linker_expands(self):
        """$ORIGIN anywhere, alone or braced, but not in a longer word; what $LIB and $PLATFORM are, only it knows."""
        info = add_distribution(self.site, "plugin", text="[host]\nplugin = pkg.libplugin:entry\n")
        pkg, mine, stub = f"{self.site}/pkg", f"{self.mine}/d", f"{self.top}/stub.so"
        os.makedirs(pkg)
        write(f"{info}/RECORD", "pkg/libplugin.so,,\n")

        def link(output, *flags):
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", output, "-Wl,--no-as-needed", "-Wl,--enable-new-dtags", *flags],
                           input=b"int entry(void) { return 1; }", check=True)

        def load(place, needed, run_path, cwd=mine):
            """Once with a library of root's, once with one of another user's, in directories of root's."""
            os.makedirs(os.path.dirname(place), exist_ok=True)
            link(stub, f"-Wl,-soname,{needed}")
            link(f"{pkg}/libplugin.so", stub, f"-Wl,-rpath,{run_path}")
            shutil.copy(stub, place)
            own = self.load("host", "plugin", f"os.chdir({cwd!r})")[0]
            os.chown(place, self.other.uid, self.other.gid)
            foreign = self.load("host", "plugin", f"os.chdir({cwd!r})")[0]
            os.unlink(place)
            return own, foreign

        lib, cpu = glob.glob("/lib/*/libc.so.6")[0].split("/")[2] if glob.glob("/lib/*/libc.so.6") else "", os.uname().machine
        for place, needed, run_path, loads in (
                (f"{mine}{pkg}/libx.so", "libx.so", f"{mine}/$ORIGIN", True), (f"{mine}{pkg}/libx.so", "libx.so", f"{mine}${{ORIGIN}}", True),
                (f"{mine}/$ORIGINx/libx.so", "libx.so", "$ORIGINx", True), (f"{mine}/${{ORIGIN/libx.so", "libx.so", "${ORIGIN", True),
                (f"{mine}/libx.so", "libx.so", "/none:", True), (f"{mine}/libx.so", "libx.so", ".", True),
                (f"{pkg}x.so", "${ORIGIN}x.so", "/none", True), (f"{mine}/a:b/libx.so", f"{mine}/a:b/libx.so", "/none", True),
                (f"{mine}/lib/{lib}/libx.so", "libx.so", f"{mine}/$LIB", False), (f"{mine}/{cpu}/libx.so", "libx.so", f"{mine}/${{PLATFORM}}", False),
                (f"{mine}/lib/{lib}x.so", "${LIB}x.so", "/none", False)):
            self.assertEqual(load(place, needed, run_path), (0 if loads else -5, -5), (needed, run_path))
        link(f"{pkg}/libplugin.so", f"-Wl,-rpath,/{'x/' * 2100}")
        self.assertEqual(self.load("host", "plugin")[0], -5)
        long = load(f"{mine}/libx.so", "libx.so", f"{'/none:' * 11000}{mine}")  # what is in it is not read, whosever it is
        self.assertEqual(long, (-4, -4))  # ENTRYDB_EFORMAT
        link(f"{pkg}/libplugin.so", "-Wl,--disable-new-dtags,-rpath,")
        theirs = f"{self.top}/theirs"
        os.makedirs(theirs)
        self.other.own(theirs)
        self.assertEqual(self.load("host", "plugin", f"os.chdir({theirs!r})")[0], 0)
        self.site = f"{self.mine}/$LIB/lib/python3.11/site-packages"
        shutil.copytree(self.prefix, f"{self.mine}/$LIB")
        link(f"{self.site}/pkg/libplugin.so")
        self.assertIn("dlopen() replaces", self.load("host", "plugin")[1])

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_what_a_library_for_a_processor_needs(self):
        info, theirs = add_distribution(self.site, "plugin", text="[host]\nplugin = pkg.libplugin:entry\n"), f"{self.top}/theirs"
        best = f"{self.site}/pkg/glibc-hwcaps/x86-64-v2"
        os.makedirs(best)
        os.makedirs(theirs)
        self.other.own(theirs)
        write(f"{info}/RECORD", "pkg/libplugin.so,,\n")
        for output, *flags in ((f"{best}/libhelper.so", f"-Wl,-rpath,{theirs}"), (f"{self.site}/pkg/libhelper.so",),
                               (f"{self.site}/pkg/libplugin.so", f"{self.site}/pkg/libhelper.so", "-Wl,-rpath,$ORIGIN")):
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", output, "-Wl,--no-as-needed", "-Wl,--enable-new-dtags",
                            f"-Wl,-soname,{os.path.basename(output)}", *flags], input=b"int entry(void) { return 1; }", check=True)
        self.assertIn(f"{theirs} belongs to user", self.load("host", "plugin")[1])
        os.chown(theirs, 0, 0)
        self.assertEqual(self.load("host", "plugin")[0], 0)

    def test_a_host_with_more_rights_than_its_user(self):
        """A set-uid program that has put its user back can take root again; so could what it loads."""
        info = add_distribution(self.site, "plugin", text="[host]\nplugin = pkg.libplugin:getpid\n")
        libc = next(iter(glob.glob("/lib/*/libc.so.6")), "/lib64/libc.so.6")
        os.makedirs(f"{self.site}/pkg")
        shutil.copy(libc, f"{self.site}/pkg/libplugin.so")
        write(f"{info}/RECORD", "pkg/libplugin.so,,\n")
        os.chmod(self.top, 0o755)
        uid, gid = self.other.uid, self.other.gid
        drop = f"os.setresgid({gid}, {gid}, {gid}); os.setresuid({uid}, {uid}, {uid})"
        ambient = [shutil.which("setpriv"), f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--inh-caps=+net_raw", "--ambient-caps=+net_raw"]
        for first, loads in ((drop, True), (f"ctypes.CDLL(None).prctl(8, 1); {drop}", False),  # PR_SET_KEEPCAPS
                             (f"os.getuid() or os.execv({ambient[0]!r}, [*{ambient}, *sys.orig_argv])", True),
                             (f"os.setresgid({gid}, {gid}, {gid}); os.setresuid({uid}, {uid}, 0)", False),
                             (f"os.setresuid({uid}, 0, 0)", False)):
            self.other.own(self.prefix)
            os.chown(self.prefix, uid, gid)
            code, text = self.load("host", "plugin", first)
            self.assertEqual(code == 0, loads, text)
            if not loads:
                self.assertIn(f"belongs to user {uid}", text)

    def test_the_home_of_another_user(self):
        """As sudo and su may leave it: neither a file there nor its absence keeps anything from being loaded."""
        info = add_distribution(self.site, "plugin", text="[host]\nplugin = pkg.libplugin:getpid\n")
        os.makedirs(f"{self.site}/pkg")
        shutil.copy(next(iter(glob.glob("/lib/*/libc.so.6")), "/lib64/libc.so.6"), f"{self.site}/pkg/libplugin.so")
        write(f"{info}/RECORD", "pkg/libplugin.so,,\n")
        os.chmod(self.top, 0o755)
        home, uid, gid = f"{self.top}/theirs", self.other.uid, self.other.gid
        file, begin = f"{home}/.config/entrydb/policy.conf", f"os.environ.update(HOME={self.top + '/theirs'!r}, XDG_CONFIG_HOME='', XDG_STATE_HOME='')"
        os.makedirs(os.path.dirname(file))
        for make in (lambda: write(file, "[host]\n* = disable\n"), lambda: os.mkfifo(file), lambda: os.symlink(file, file), lambda: os.mkdir(file)):
            make()
            os.symlink(file, f"{os.path.dirname(file)}/audit.conf")
            self.other.own(home)
            reply = self.run_program("audit", self.prefix, env=self.environment(HOME=home, XDG_CONFIG_HOME=""))
            self.assertNotIn(home, reply.err)
            for flags in (0, 8):  # ENTRYDB_LOAD_GUARDED
                self.assertEqual(self.load("host", "plugin", begin, flags)[0], 0)
            os.rename(os.path.dirname(file), f"{os.path.dirname(file)}{os.lstat(file).st_ino}")
            os.mkdir(os.path.dirname(file))
        write(file, "[host]\n* = disable\n")
        self.other.own(home)
        link = f"{self.top}/shared/link"  # his, past a directory in which he can make one: not followed, or it may never answer
        os.mkdir(os.path.dirname(link))
        os.chmod(os.path.dirname(link), 0o1777)
        os.symlink(f"/proc/{os.getpid()}/root{home}", link)
        os.lchown(link, uid, gid)
        self.assertEqual(self.load("host", "plugin", begin.replace(home, link))[0], 0)
        for path in (home, f"{home}/.config", os.path.dirname(file)):
            os.chown(path, 0, 0)
        self.assertIn(f"{file} belongs to user {uid}", self.load("host", "plugin", begin)[1])
        os.chmod(home, 0o700)
        begin += f"; os.setresgid({gid}, {gid}, {gid}); os.setresuid({uid}, {uid}, {uid})"
        for flags in (0, 8):
            self.assertEqual(self.load("host", "plugin", begin, flags)[0], 0)

    def test_a_row_that_leads_out_of_its_path_entry(self):
        libc = next(iter(glob.glob("/lib/*/libc.so.6")), "/lib64/libc.so.6")
        add_distribution(self.site, "alpha")
        self.index()
        up = "../" * self.site.count("/")
        for target in (f"{up}{libc.lstrip('/')}", libc):
            change_database(self.database, "DELETE FROM target",
                            "INSERT INTO target (entry_point, kind, state, object, symbol) SELECT id, 'native', "
                            f"'ok', '{target}', 'getpid' FROM entry_point WHERE group_name = 'demo'")
            for owner in (self.other.uid, 0):
                os.chown(self.database, owner, 0)
                os.chown(self.site, owner, 0)
                code, text = self.load("demo", "alpha")
                self.assertLess(code, 0, f"{target} was loaded")
                self.assertNotIn("libc", text)


if __name__ == "__main__":
    support.main()
