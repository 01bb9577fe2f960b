"""Root beside another user: nothing is lent, nothing forged is believed.

A second user is made for these tests, and removed. He does what he can in directories
of his own while root runs the program on them.
"""

import base64
import contextlib
import glob
import hashlib
import os
import pwd
import re
import shutil
import signal
import stat
import subprocess
import unittest

import support
from support import (COULD_NOT, DATABASE, DONE, SITE, CommandTest, add_distribution, change_database, query,
                     write)

PYTHON = "/usr/bin/python3"  # which the other user can run, too
SWAPS = int(os.environ.get("ENTRYDB_TEST_SWAPS") or 60)  # updates by root while the other one swaps files

SWAPPER = """
import os, sys
directory, target = sys.argv[1:]
names = ["entry_points.db.new", "entry_points.db", "entry_points.db.lock", "entry_points.db.damaged"]
while True:
    for name in names:
        path = f"{directory}/{name}"
        try:
            os.unlink(path)
        except OSError:
            pass
        try:
            os.symlink(target, path)
        except OSError:
            pass
"""

DIRECTORY_SWAPPER = """
import os, sys
directory, target = sys.argv[1:]
while True:
    try:
        os.rename(directory, directory + ".away")
        os.symlink(target, directory)
        os.unlink(directory)
        os.rename(directory + ".away", directory)
    except OSError:
        pass
"""


def state_of(pid):
    """Such as T, when it is stopped; Z when it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def has_pending(pid, number):
    """Has a signal been sent to a process that is stopped?"""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        sent = re.search(r"^ShdPnd:\s*(\w+)", file.read(), re.MULTILINE)
    return int(sent[1], 16) >> (number - 1) & 1


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
                    with open(each, "rb") as file:
                        content = hashlib.sha256(file.read()).hexdigest()
                found[each] = (status.st_uid, status.st_mode, content)
        return found

    def assert_untouched(self):
        self.assertEqual(self.look(self.mine), self.before)

    def venv_of_other(self):
        add_distribution(self.site, "alpha")
        self.other.own(self.prefix)

    def assert_all_others(self):
        for path, (uid, _, _) in self.look(self.prefix).items():
            self.assertEqual(uid, self.other.uid, path)


class Writing(TrustTest):
    def test_with_the_rights_of_the_owner(self):
        self.venv_of_other()
        self.update()
        self.assertEqual(query(self.database, "SELECT name FROM distribution"), [("alpha",)])
        self.assert_all_others()
        add_distribution(self.site, "beta")
        self.other.own(self.prefix)
        for words in (["update", "--hook", "pip"], ["update"]):
            self.run_program(*words, self.prefix, status=DONE)
        self.assertEqual(query(self.database, "SELECT count(*) FROM distribution"), [(2,)])
        self.assert_all_others()
        self.run_program("forget", self.site, status=DONE)
        self.assert_all_others()

    def test_a_directory_that_is_a_link(self):
        """var/lib/entrydb leads to a directory of root's, into the system's own database, to nowhere."""
        self.venv_of_other()
        os.makedirs(f"{self.prefix}/var/lib")
        for target in (self.mine, f"{self.mine}/new"):
            link = f"{self.prefix}/var/lib/entrydb"
            with contextlib.suppress(OSError):
                os.unlink(link)
            os.symlink(target, link)
            self.other.own(self.prefix)
            self.update(status=COULD_NOT)
            self.run_program("update", "--hook", "dpkg", self.prefix, status=DONE)
            self.assert_untouched()

    def test_links_in_place_of_the_files(self):
        self.venv_of_other()
        self.update()
        directory = os.path.dirname(self.database)
        for name in ("", ".new", ".lock", ".damaged"):
            for link in (os.symlink, os.link):
                if link is os.link and os.path.exists("/proc/sys/fs/protected_hardlinks"):
                    continue  # he could not make one
                with contextlib.suppress(OSError):
                    os.unlink(self.database + name)
                link(self.secret, self.database + name)
                self.other.own(directory)
                self.run_program("update", self.prefix)
                self.assert_untouched()

    def swap(self, script, *arguments):
        if not os.access(PYTHON, os.X_OK):
            self.skipTest(f"no {PYTHON}")
        child = subprocess.Popen([PYTHON, "-c", script, *arguments], user=self.other.uid,
                                 group=self.other.gid, extra_groups=[], start_new_session=True)
        self.addCleanup(child.wait)
        self.addCleanup(os.killpg, child.pid, signal.SIGKILL)

    def test_files_exchanged_meanwhile(self):
        self.venv_of_other()
        self.update()
        self.swap(SWAPPER, os.path.dirname(self.database), self.secret)
        for _ in range(SWAPS):
            self.run_program("update", "--fresh", "exact", self.prefix)
            self.assert_untouched()

    def test_directories_exchanged_meanwhile(self):
        self.venv_of_other()
        self.update()
        self.swap(DIRECTORY_SWAPPER, os.path.dirname(self.database), self.mine)
        for _ in range(SWAPS):
            self.run_program("update", "--fresh", "exact", self.prefix)
            self.assert_untouched()

    def test_the_child_ends_with_root_s_process(self):
        """Nobody could stop it any more: killed itself, the parent passes no signal on."""
        self.venv_of_other()
        self.update()
        add_distribution(self.site, "beta")
        self.other.own(self.prefix)
        with support.held_lock(self.database):
            parent = self.start("update", self.prefix)
            support.until(lambda: self.children_of(parent.pid), "there is no child")
            child, = self.children_of(parent.pid)
            support.until(lambda: support.opens(child, f"{self.database}.lock"), "the child does not come to the lock")
            os.kill(child, signal.SIGSTOP)
            support.until(lambda: state_of(child) == "T", "the child does not stop")
            parent.kill()
            parent.wait()
            support.until(lambda: has_pending(child, signal.SIGTERM), "nobody tells the child")
            os.kill(child, signal.SIGCONT)
            support.until(lambda: state_of(child) == "Z", "the child goes on")
            self.assertEqual(query(self.database, "SELECT count(*) FROM distribution"), [(1,)])

    def children_of(self, pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]

    def test_links_within_another_root(self):
        """Absolute links, and "..", mean what they mean in there."""
        image = f"{self.top}/image"
        site = f"{image}/usr/lib/python3/dist-packages"
        add_distribution(site, "alpha")
        os.makedirs(f"{image}/var/lib")
        os.symlink(self.mine, f"{image}/var/lib/entrydb")
        self.run_program("update", "--root", image)
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

    def test_everybody_may_write(self):
        """Nothing can be published there: root has a database of its own for it."""
        add_distribution(self.site, "alpha")
        os.chmod(self.prefix, 0o777)
        self.update(status=DONE)
        self.assertFalse(os.path.exists(f"{self.prefix}/var"))
        self.assertEqual(query(self.user_database, "SELECT name FROM distribution"), [("alpha",)])
        reply = self.run_program("update", "--root", self.prefix, "/", status=COULD_NOT)
        self.assertIn(f"everybody may write to {self.prefix}", reply.err)


class Publishing(TrustTest):
    def publishes(self, word):
        with open(self.database, "rb") as file:
            return word in file.read() and bool(os.fstat(file.fileno()).st_mode & 0o004)

    def test_what_only_root_may_read(self):
        """An entry_points.txt that is a link to a file of root's is not published."""
        self.venv_of_other()
        info = add_distribution(self.site, "spy")
        os.unlink(f"{info}/entry_points.txt")
        os.symlink(self.secret, f"{info}/entry_points.txt")
        self.other.own(self.prefix)
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

    def with_record(self, name):
        """The name of the directory, and the hash in its RECORD."""
        text = f"[group]\n{name} = is:said\n"
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        info = add_distribution(self.site, name, text=text)
        write(f"{info}/RECORD", f"{os.path.basename(info)}/entry_points.txt,sha256={digest.decode()},{len(text)}\n")
        return info, digest

    def test_a_private_record(self):
        """Its hashes say what is in files that others may not read."""
        _, shown = self.with_record("open")
        info, hidden = self.with_record("private")
        os.chmod(f"{info}/RECORD", 0o600)
        self.update()
        self.assertTrue(self.publishes(shown))
        self.assertFalse(self.publishes(hidden))

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


class Believing(TrustTest):
    def forge(self, database=None):
        change_database(database or self.database, "UPDATE entry_point SET value = 'evil:main'")

    def values(self, *path, **how):
        return {row[2] for row in self.list(path=list(path) or None, **how).fields}

    def test_a_database_of_somebody_else(self):
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
        for mode, gid in ((0o666, 0), (0o664, self.other.gid)):
            os.chown(self.database, 0, gid)
            os.chmod(self.database, mode)
            self.assertNotIn("evil:main", self.values(), oct(mode))

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

    def load(self, group, name):
        """What entrydb_load() says, and its message; in a process of its own."""
        script = """if True:
            import ctypes, sys
            library, site, group, name = sys.argv[1:]
            lib = ctypes.CDLL(library)
            lib.entrydb_set_get.restype = lib.entrydb_error_message.restype = ctypes.c_void_p
            path = (ctypes.c_char_p * 1)(site.encode())
            db, found, symbol = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
            error = (ctypes.c_void_p * 8)()
            assert lib.entrydb_open(path, ctypes.c_size_t(1), None, ctypes.byref(db), error) == 0
            assert lib.entrydb_select(db, group.encode(), name.encode(), ctypes.byref(found), error) == 0
            entry = ctypes.c_void_p(lib.entrydb_set_get(found, ctypes.c_size_t(0)))
            assert entry.value, "not found"
            code = lib.entrydb_load(db, entry, ctypes.byref(symbol), error)
            text = ctypes.c_char_p(lib.entrydb_error_message(error)).value if code < 0 else b""
            print(code, text.decode())
            """
        done = subprocess.run([PYTHON, "-c", script, self.LIBRARY, self.site, group, name],
                              env=self.environment(), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        code, _, text = done.stdout.partition(" ")
        return int(code), text

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
