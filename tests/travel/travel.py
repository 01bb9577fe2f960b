"""Helpers for the tests of copied trees: an environment, ways to copy it, and queries of the copy.

The reference is importlib.metadata in the copy, with each available interpreter. inotify tells which
files the program opens; it needs no privileges and works on every file system.
"""

import atexit
import ctypes
import glob
import os
import shutil
import struct
import subprocess

import carry
import program
import reference
import support

IN_OPEN = 0x20
EVENT = struct.Struct("iIII")
OLD = 1_600_000_000  # seconds since 1970: the time of files created long before they were indexed
CLAMP = 1_500_000_000

_workers = None


def workers():
    """One interpreter for each minor version, shared by all tests of a script."""
    global _workers
    if _workers is None:
        _workers = reference.start_workers(reference.one_per_minor(reference.interpreters()))
        for worker in _workers:
            atexit.register(worker.close)
    return _workers


class Opened:
    """Records the files of a given name that are opened in the metadata of a site directory."""

    def __init__(self, site, name="entry_points.txt"):
        self.site, self.name = site, name
        self.directories = []

    def __enter__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.watched = {}
        for path in glob.glob(f"{glob.escape(self.site)}/*-info"):
            watch = libc.inotify_add_watch(self.fd, os.fsencode(path), IN_OPEN)
            if watch < 0:
                raise OSError(ctypes.get_errno(), f"inotify_add_watch: {path}")
            self.watched[watch] = os.path.basename(path)
        return self

    def __exit__(self, *_):
        try:
            self.read(os.read(self.fd, 1 << 20))
        except BlockingIOError:
            pass
        os.close(self.fd)

    def read(self, events):
        at = 0
        while at < len(events):
            watch, _, _, length = EVENT.unpack_from(events, at)
            at += EVENT.size
            name = events[at:at + length].rstrip(b"\0").decode()
            at += length
            if name == self.name:
                self.directories.append(self.watched[watch])


class TravelTest(support.CommandTest):
    def setUp(self):
        super().setUp()
        self.fill(self.site)
        set_times(self.prefix, OLD + 0.123456789)
        self.index()
        self.arrived = 0

    def fill(self, site):
        """All kinds of distributions: shadowed, a metadata file, no metadata, no entry points, broken."""
        for number in range(12):
            support.add_distribution(site, f"dist{number}")
        support.add_distribution(site, "contested", "1.0", text="[demo]\ncontested = one:main\n")
        support.add_distribution(site, "contested", "2.0", text="[demo]\ncontested = two:main\n")
        os.unlink(f"{support.add_distribution(site, 'silent')}/entry_points.txt")
        support.add_distribution(site, "broken", text="[demo\nno\n")
        support.write(f"{site}/file-1.0.egg-info", support.metadata("file", "1.0"))
        os.makedirs(f"{site}/egg-1.0.egg-info")
        support.write(f"{site}/egg-1.0.egg-info/PKG-INFO", support.metadata("egg", "1.0"))
        support.write(f"{site}/egg-1.0.egg-info/entry_points.txt", support.entry_points("egg"))

    def place(self):
        """A path that does not exist yet."""
        self.arrived += 1
        return f"{self.top}/there{self.arrived}"

    def site_of(self, prefix):
        return f"{prefix}/{support.SITE}"

    def info(self, prefix, name="dist3", version="1.0"):
        return f"{self.site_of(prefix)}/{name}-{version}.dist-info"

    def change_layer(self, prefix):
        """Add, remove, upgrade and replace distributions like a second layer; returns those to be read again."""
        site = self.site_of(prefix)
        support.add_distribution(site, "added")
        shutil.rmtree(self.info(prefix, "dist1"))
        shutil.rmtree(self.info(prefix, "dist2"))
        support.add_distribution(site, "dist2", "2.0")
        shutil.rmtree(self.info(prefix, "dist3"))
        support.add_distribution(site, "dist3", text=support.entry_points("dist3").replace("run", "nur"))
        support.replace(f"{self.info(prefix, 'dist4')}/entry_points.txt", "[demo]\nfour = 4:main\n")
        return ["added-1.0.dist-info", "dist2-2.0.dist-info", "dist3-1.0.dist-info", "dist4-1.0.dist-info"]

    def replace_unseen(self):
        """Replace contents keeping size and time, and change a directory."""
        path = f"{self.info(self.prefix)}/entry_points.txt"
        times = os.stat(path)
        support.replace(path, support.entry_points("dist3").replace("main", "niam"))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        os.utime(self.site)

    def ask(self, prefix, worker, *options):
        path = [self.site_of(prefix)]
        answer = worker.ask("/", path, [{}])[0]
        reply = self.list("--json", "--python", worker.rules, *options, path=path)
        return program.difference(answer, Answer(reply))

    def check_right(self, prefix, *options):
        """The answers agree with importlib.metadata, in its order, in each interpreter."""
        self.assertTrue(workers(), "no CPython runs here")
        for worker in workers():
            self.assertIsNone(self.ask(prefix, worker, *options), f"{worker.label} {options}")

    def is_wrong(self, prefix, *options):
        return self.ask(prefix, workers()[-1], *options) is not None

    def opened(self, prefix, *arguments):
        """The distributions whose entry_points.txt the program opens for a query or a command."""
        arguments = arguments or ("list", "--path", self.site_of(prefix))
        with Opened(self.site_of(prefix)) as opened:
            self.run_program(*arguments, status=support.DONE)
        return sorted(opened.directories)

    def check_known(self, prefix, read=()):
        """The answers are right, and only changed files were opened."""
        self.check_right(prefix)
        self.assertEqual(self.opened(prefix), sorted(read))

    def check_anchored(self, prefix, read=()):
        """An update opens no other file, and adapts the database to the tree."""
        self.check_known(prefix, read)
        self.assertEqual(self.opened(prefix, "update", "--quiet", prefix), sorted(read))
        self.check_right(prefix)
        self.check_right(prefix, "--fresh", "exact")


class Answer:
    """The interface that program.difference() needs."""

    def __init__(self, reply):
        self.status, self.stderr, self.trouble = reply.status, reply.err, None
        self.rows = [program.read_row(os.fsencode(line)) for line in reply.out.split("\n") if line]


# --- ways to copy ---

def tool(test, name):
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if not found:
        test.skipTest(f"there is no {name}")
    return found


def run(*words, **how):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **how)
    if done.returncode:
        raise AssertionError(f"{words}: {done.stdout.decode(errors='replace')[-2000:]}")


def set_times(top, seconds):
    carry.set_times(top, lambda status: int(seconds * 1e9))


def clamp(top, seconds):
    """Limit times to that time, as with SOURCE_DATE_EPOCH."""
    for path in carry.every(top):
        if os.lstat(path).st_mtime > seconds:
            os.utime(path, (seconds, seconds), follow_symlinks=False)


def copy(source, target):
    run("cp", "-a", source, target)
