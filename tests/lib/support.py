"""Shared helpers of the program's tests: running it, small trees, and the contents of databases.

ENTRYDB names the program, default build/indexer/entrydb under the top. Each test case has its own
directory with a home in it, so that no database of the machine is read or written.
"""

import base64
import contextlib
import fcntl
import glob
import hashlib
import json
import os
import pty
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from program import LIB, LONG, TOP, default_program  # noqa: F401: others take them from here

PROGRAM = default_program()
SECONDS_ALLOWED = 120
SETTLED_AFTER = 2.2  # seconds; younger files are still watched
CLOCK_TICK = 0.02    # seconds; on every file system, changes further apart have different times
STRANGER = 65534     # nobody: an ordinary user who owns nothing
IS_ROOT = os.geteuid() == 0
SITE = "lib/python3.11/site-packages"
DATABASE = "var/lib/entrydb/entry_points.db"
DONE, NOT_FOUND, USAGE, COULD_NOT = range(4)
TABLES = ("root", "distribution", "entry_point", "target")

needs_root = unittest.skipUnless(IS_ROOT, "only root can do this")
XTERM = {"TERM": "xterm-256color", "NO_COLOR": None}


class Reply:
    def __init__(self, command, status, out, err):
        self.command, self.status = command, status
        self.out = out.decode("utf-8", "surrogateescape")
        self.err = err.decode("utf-8", "surrogateescape")

    @property
    def lines(self):
        return self.out.splitlines()

    @property
    def fields(self):
        return [line.split("\t") for line in self.out.split("\n") if line]

    @property
    def objects(self):
        return [json.loads(line) for line in self.out.split("\n") if line]

    @property
    def names(self):
        """The (name, version) pairs of `list`, in order."""
        return [(row[1], row[4]) for row in self.fields]

    def __str__(self):
        return f"{self.command} -> {self.status}\n--- stdout\n{self.out[:2000]}\n--- stderr\n{self.err[:3000]}"


class CommandTest(unittest.TestCase):
    """A test with a temporary directory, a home and the program."""

    def setUp(self):
        self.assertTrue(os.access(PROGRAM, os.X_OK), f"{PROGRAM}: build it, or name another by ENTRYDB")
        self.top = make_directory(self)
        self.home = f"{self.top}/home"
        self.prefix = f"{self.top}/venv"
        self.site = f"{self.prefix}/{SITE}"
        self.database = f"{self.prefix}/{DATABASE}"
        self.user_database = f"{self.home}/state/entrydb/entry_points.db"
        for path in (self.home, self.site):
            os.makedirs(path)
        self.home_is_lent = True

    def environment(self, **variables):
        return environment(self.home, **variables)

    def command(self, arguments, user=None):
        if user and self.home_is_lent:
            os.chown(self.home, user, user)  # it must belong to the user who runs the program
        return [public_program() if user else PROGRAM, *map(str, arguments)]

    def start(self, *arguments, user=None, env=None, **how):
        """Start the program; it is killed if it is still running when the test ends."""
        child = subprocess.Popen(self.command(arguments, user), env=env or self.environment(),
                                 **quiet_streams(how), **as_user(user))
        self.addCleanup(end, child)
        return child

    def run_program(self, *arguments, status=None, user=None, env=None, **how):
        done = subprocess.run(self.command(arguments, user), env=env or self.environment(),
                              timeout=SECONDS_ALLOWED, **quiet_streams(how), **as_user(user))
        reply = Reply(" ".join(map(str, arguments)), done.returncode, done.stdout or b"",
                      done.stderr or b"")
        self.check_sane(reply)
        if status is not None:
            self.assertEqual(reply.status, status, str(reply))
        return reply

    def on_terminal(self, *words, status=DONE, stderr=None, columns=0, **variables):
        """The program's output on a terminal, with stderr unless that is given."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        child = self.start(*words, stdout=theirs, stderr=stderr or theirs,
                           env=self.environment(**{**XTERM, **variables}))
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # EIO: the other end is closed
            pass
        os.close(ours)
        self.assertEqual(child.wait(), status, shown)
        return shown.decode().replace("\r\n", "\n")

    def finish(self, *children):
        """Wait for the children to end, and check that they succeeded."""
        for child in children:
            _, err = child.communicate(timeout=SECONDS_ALLOWED)
            self.assertEqual(child.returncode, DONE, err.decode())

    def mount(self, *options, place=None):
        """Mount a tmpfs; skips the test if that is impossible."""
        place = place or f"{self.top}/disk"
        tools = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        os.mkdir(place)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(("mode=0755", *options)), "none", place],
                              capture_output=True, text=True, env=tools)
        if done.returncode:
            self.skipTest(f"nothing can be mounted here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", place], env=tools)
        return place

    def check_sane(self, reply):
        """Every call must end with one of the four statuses and without a report of a sanitizer."""
        self.assertIn(reply.status, (DONE, NOT_FOUND, USAGE, COULD_NOT), str(reply))
        self.assertNotIn("Sanitizer", reply.err, str(reply))
        self.assertNotIn("runtime error:", reply.err, str(reply))

    def list(self, *arguments, path=None, **how):
        entries = [path] if isinstance(path, str) else path or [self.site]
        options = [word for entry in entries for word in ("--path", entry)]
        return self.run_program("list", *options, *arguments, **how)

    def update(self, *paths, status=DONE, **how):
        return self.run_program("update", *(paths or [self.prefix]), status=status, **how)

    def index(self, *paths, database=None, watched="0"):
        """Update and make the rows trusted and no longer watched, as after a few seconds.

        watched: an SQL condition for the distributions that are to remain watched, as editable ones do.
        """
        reply = self.update(*paths)
        time.sleep(CLOCK_TICK)
        change_database(database or self.database,
                        f"UPDATE distribution SET settled = 1, watched = watched AND ({watched})",
                        "UPDATE root SET settled = 1, watched = "
                        "(SELECT count(*) FROM distribution d WHERE d.root = root.id AND d.watched)")
        return reply

    def freshness(self, path=None, *options, name="alpha", **how):
        """The freshness of the answer about the path entry: fresh, checked or scanned."""
        reply = self.run_program("why", "--json", "demo", name, "--path", path or self.site,
                                 *options, status=DONE, **how)
        return reply.objects[0]["freshness"]


# --- directories ---

def make_directory(test):
    """A new directory that all users may enter, removed after the test (or class)."""
    path = os.path.realpath(tempfile.mkdtemp(prefix="entrydb-test-"))
    os.chmod(path, 0o755)
    cleanup = test.addClassCleanup if isinstance(test, type) else test.addCleanup
    cleanup(remove_tree, path)
    return path


def remove_tree(path):
    """Remove the tree, including its unreadable parts, without touching anything outside."""
    def make_writable(_, child, __):
        for each in (os.path.dirname(child), child):
            if each == path or each.startswith(f"{path}/"):
                with contextlib.suppress(OSError):
                    os.chmod(each, 0o700)

    shutil.rmtree(path, onerror=make_writable)
    shutil.rmtree(path, ignore_errors=True)


def fill(disk, leave=0):
    """Fill the disk except for so many bytes, with one file."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{disk}/filler")
    with open(f"{disk}/filler", "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        file.truncate(max(0, os.path.getsize(f"{disk}/filler") - leave))


# --- processes ---

def environment(home, **variables):
    """The environment of this process without variables that affect the program; None removes a variable."""
    steering = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYENV_ROOT", "XDG_CONFIG_HOME")
    env = {key: value for key, value in os.environ.items()
           if not key.startswith("ENTRYDB") and key not in steering}
    env.update(HOME=home, XDG_STATE_HOME=f"{home}/state", LC_ALL="C.UTF-8", PATH="/nowhere")
    env.update({key: value for key, value in variables.items() if value is not None})
    for key in [key for key, value in variables.items() if value is None]:
        env.pop(key, None)
    return env


def quiet_streams(how):
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    streams.update(how)
    return streams


def as_user(user):
    return {"user": user, "group": user, "extra_groups": []} if user else {}


def end(child):
    if child.poll() is None:
        child.send_signal(signal.SIGKILL)
    child.wait()
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream:
            stream.close()


def until(condition, what="the condition was never met"):
    """Wait for a condition, however slow the machine is."""
    end = time.monotonic() + SECONDS_ALLOWED
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(0.01)


def listens(child, number):
    """Does the program handle the signal already, or has it ended?"""
    with open(f"/proc/{child.pid}/status", encoding="utf-8") as file:
        caught = re.search(r"^SigCgt:\s*(\w+)", file.read(), re.MULTILINE)
    return child.poll() is not None or (caught and int(caught[1], 16) >> (number - 1) & 1)


def opens(pid, path):
    """Does the process have the file open?"""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                if os.readlink(f"/proc/{pid}/fd/{name}") == path:
                    return True
    return False


def has_open(child, path):
    """Has the program opened the file, or ended?"""
    return opens(child.pid, path) or child.poll() is not None


def processor_seconds():
    """The CPU time of all ended children, which the load of the machine does not affect."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


_copy = None


def public_program():
    """A copy of the program that all users can reach."""
    global _copy
    if _copy is None:
        _copy = tempfile.TemporaryDirectory(prefix="entrydb-test-program-")
        os.chmod(_copy.name, 0o755)
        for file in [PROGRAM, *glob.glob(f"{os.path.dirname(PROGRAM)}/*.so")]:
            os.chmod(shutil.copy(file, _copy.name), 0o755)
    return f"{_copy.name}/entrydb"


def build_type_is_sanitized():
    with open(PROGRAM, "rb") as file:
        return b"__asan_init" in file.read()


# --- small trees ---

def metadata(name, version):
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"


def digest(content):
    """The digest in the format of RECORD."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def entry_points(name):
    return f"[demo]\n{name} = {name}.plugin:main [x,y]\n[console_scripts]\n{name}-cmd = {name}.cli:run\n"


def add_distribution(site, name, version="1.0", text=None, **files):
    """Create a dist-info directory in the order of an installer: directory, files, entry points, RECORD."""
    info = f"{site}/{name}-{version}.dist-info"
    os.makedirs(info)
    write(f"{info}/METADATA", metadata(name, version))
    write(f"{info}/entry_points.txt", entry_points(name) if text is None else text)
    for file, content in files.items():
        write(f"{info}/{file}", content)
    return info


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)


def replace(path, content):
    """Replace a file as package managers do: write a new one and rename it."""
    write(f"{path}.part", content)
    os.rename(f"{path}.part", path)


def settle():
    """Wait until everything written so far is old enough to be trusted."""
    time.sleep(SETTLED_AFTER)


def stamp(path):
    """A value that changes when the file is written or replaced, but not when it is read."""
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


# --- databases ---

def connect(file):
    """Open the database read-only, without creating any file beside it."""
    return contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True))


def query(file, text, *values):
    with connect(file) as connection:
        return connection.execute(text, values).fetchall()


def rows(file, tables=TABLES):
    with connect(file) as connection:
        return {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
                for table in tables}


def events(file):
    return query(file, "SELECT action, distribution, old_version, version FROM event ORDER BY id")


def distribution_events(file):
    """The events without those of single entry points."""
    return [event for event in events(file) if not event[0].startswith("entry-point")]


def is_sound(file):
    return query(file, "PRAGMA integrity_check") == [("ok",)]


def change_database(file, *statements):
    """Change the database behind entrydb's back."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@contextlib.contextmanager
def held_lock(database):
    """Hold the lock of a writer."""
    with open(f"{database}.lock", "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def leftovers(database):
    """Unexpected files beside a database."""
    name = os.path.basename(database)
    return sorted(set(os.listdir(os.path.dirname(database))) - {name, f"{name}.lock"})


def main():
    """Run the tests; status 77 if all were skipped."""
    result = unittest.main(module="__main__", exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.skipped and len(result.skipped) >= result.testsRun else 0)
