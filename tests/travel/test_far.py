#!/usr/bin/env python3
"""On a slow network file system entrydb makes no more requests than importlib.metadata.

The requests are system calls by path into the environment, counted by strace: each costs at least one
request to a file server. Calls for the start of the process, and for the modules of Python or entrydb,
are not counted.
"""

import glob
import os
import shutil
import subprocess
import unittest

import far
import reference
import support
import travel
from travel import TravelTest

LONG = bool(os.environ.get("ENTRYDB_TEST_LONG"))
SIZES = (0, 50, 500, 2000) if LONG else (0, 50, 200)
GROUP = "console_scripts"  # all distributions with entry points have it
BEGIN = "/the/question/begins"
DATABASE = 1       # looking for the database, an additional call
READ_ONLY = 1      # if the path entry has changed: does its file system have change times?
ACCELERATION = 5   # DATABASE, the policy, and whether the path entry is a directory, its time and size
WAY = 12           # root checks each component of a path with a link: that of the database and of the directory
PYTHON = f"""
import os, sys
on, group, *path = sys.argv[1:]
if on == "on":
    import _entrydb_site
    _entrydb_site.start()
import importlib.metadata
sys.path[:] = path
os.path.exists({BEGIN!r})
found = importlib.metadata.entry_points(group=group)
print(len(found), any(name.endswith("_native") for name in sys.modules))
"""
PROGRAM = f"""
#include <entrydb.h>
#include <stdio.h>
#include <unistd.h>

/* usage: ask GROUP PATH_ENTRY...: how many entry points it has, and their names and distributions. */
int main(int argc, char **argv)
{{
	entrydb_options options = ENTRYDB_OPTIONS_INIT;
	entrydb_error error = ENTRYDB_ERROR_INIT;
	entrydb_set *set;
	entrydb *db;

	options.omit = ENTRYDB_OMIT_METADATA;
	access("{BEGIN}", F_OK);
	if (argc < 2 || entrydb_open((const char *const *)argv + 2, (size_t)argc - 2, &options, &db, &error) < 0 ||
	    entrydb_select(db, argv[1], NULL, &set, &error) < 0)
		return 3;
	printf("%zu\\n", entrydb_set_count(set));
	entrydb_set_free(set);
	entrydb_close(db);
	return 0;
}}
"""


def why_no_strace():
    if not shutil.which("strace"):
        return "there is no strace"
    done = subprocess.run(["strace", "-o", "/dev/null", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, text=True)
    return f"strace: {done.stdout.strip()[-200:]}" if done.returncode else None


def find_library():
    build = os.environ.get("ENTRYDB_BUILD") or os.path.dirname(os.path.dirname(support.PROGRAM))
    found = glob.glob(f"{build}/libquery/libentrydb.so")
    return os.path.dirname(found[0]) if found else None


def is_by_path(line):
    """Does the call use a path, rather than an open descriptor or /proc?"""
    if "resumed>" in line:  # the second half of a call that was counted
        return False
    if '>, "",' in line or "/proc/self/fd/" in line:  # AT_EMPTY_PATH may be in the second half
        return False
    return not line.lstrip("0123456789 ").startswith(("execve(", "fstat", "getcwd("))


class Traced(TravelTest):
    """Processes whose requests are counted."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        reason = why_no_strace()
        if reason:
            raise unittest.SkipTest(reason)
        compiler, library = shutil.which("cc"), find_library()
        if not compiler or not library:
            raise unittest.SkipTest("there is no C compiler, or no libentrydb beside the program")
        directory = support.make_directory(cls)
        cls.ask = f"{directory}/ask"
        support.write(f"{directory}/ask.c", PROGRAM)
        travel.run(compiler, "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o", cls.ask,
                   f"-I{support.TOP}/libquery", f"{directory}/ask.c", f"-L{library}", "-lentrydb",
                   f"-Wl,-rpath,{library}")
        cls.pythons = reference.one_per_minor(reference.interpreters())
        if not cls.pythons:
            raise unittest.SkipTest("no CPython runs here")

    def fill(self, site):
        """Each test creates as many distributions as it needs; see populate()."""

    def populate(self, count):
        """Add distributions; a third of them have entry points, which is typical."""
        for number in range(count):
            info = support.add_distribution(self.site, f"dist_{number}")
            if number % 3:
                os.unlink(f"{info}/entry_points.txt")
        travel.set_times(self.prefix, travel.OLD)
        return (count + 2) // 3

    def trace(self, command, tree, **variables):
        """(the lines of all requests by path into @tree, what was printed)."""
        log = f"{self.top}/trace"
        env = self.environment(PATH=os.environ["PATH"], **variables)
        done = subprocess.run(["strace", "-f", "-y", "-s", "4096", "-o", log, "-e", "trace=%file,getdents64", *command],
                              env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False, timeout=support.SECONDS_ALLOWED)
        self.assertEqual(done.returncode, 0, done.stderr.decode()[-2000:])
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = file.read().partition(BEGIN)[2].splitlines()[1:]
        lines = [line for line in lines if tree in line]
        self.listed = sum("getdents64(" in line for line in lines)
        return [line for line in lines if is_by_path(line) and "getdents64(" not in line], done.stdout.decode().split()

    def by_python(self, interpreter, tree=None, on="off", **variables):
        tree = tree or self.prefix
        command = [interpreter.executable, "-s", "-S", "-c", PYTHON, on, GROUP, self.site_of(tree)]
        return self.trace(command, tree, **variables)

    def by_library(self, tree=None, level="roots"):
        tree = tree or self.prefix
        return self.trace([self.ask, GROUP, self.site_of(tree)], tree, ENTRYDB_FRESH=level)

    def check_no_more(self, count, more=0, **how):
        """No more requests than each interpreter; @more: this many in addition."""
        ours, found = self.by_library(**how)
        self.assertEqual(found, [str(count)])
        for interpreter in self.pythons:
            python, found = self.by_python(interpreter)
            self.assertEqual(found[0], str(count))
            self.assertLessEqual(len(ours), len(python) + more, f"Python {interpreter.version}: {ours[:20]}")


class Requests(Traced):
    """With and without an up-to-date database."""

    def test_no_database(self):
        for size in SIZES:
            with self.subTest(size=size):
                shutil.rmtree(self.prefix)
                os.makedirs(self.site)
                self.check_no_more(self.populate(size))

    def test_out_of_date(self):
        size = SIZES[-1]
        count = self.populate(size)
        self.index()
        support.add_distribution(self.site, "newcomer")
        self.check_no_more(count + 1, DATABASE + READ_ONLY)
        self.check_no_more(count + 1, DATABASE, level="exact")

    def test_exact(self):
        count = self.populate(SIZES[-1])
        self.index()
        self.check_no_more(count, DATABASE, level="exact")

    def shadow(self):
        """Add old versions that were left behind, and path entries with other copies."""
        shutil.rmtree(f"{self.prefix}/var")
        self.populate(SIZES[-1])
        other = f"{self.prefix}/lib/python3/dist-packages"
        for number in range(0, SIZES[-1], 5):
            support.add_distribution(self.site, f"dist_{number}", "0.9")
            support.add_distribution(other, f"dist_{number}", "1.1")
        travel.set_times(self.prefix, travel.OLD)
        return [self.site, other]

    def test_shadowed(self):
        """Distributions that are shadowed are not read."""
        path = self.shadow()
        ours, found = self.trace([self.ask, GROUP, *path], self.prefix)
        for interpreter in self.pythons:
            command = [interpreter.executable, "-s", "-S", "-c", PYTHON, "off", GROUP, *path]
            python, expected = self.trace(command, self.prefix)
            self.assertEqual(found, expected[:1])
            self.assertLessEqual(len(ours), len(python), f"Python {interpreter.version}: {ours[:20]}")

    @unittest.skipIf(far.why_not(), far.why_not())
    def test_shadowed_and_slow(self):
        """Reading several files concurrently does not add requests."""
        path = self.shadow()
        opened, found = [], []
        for command in ([self.ask, GROUP], [self.pythons[-1].executable, "-s", "-S", "-c", PYTHON, "off", GROUP]):
            with mounted(self, delay=0.0003) as host:
                there = [entry.replace(self.prefix, host.point) for entry in path]
                done = subprocess.run([*command, *there], env=self.environment(), check=True,
                                      stdout=subprocess.PIPE, text=True)
                found.append(done.stdout.split()[0])
                opened.append(host.requests()["open"])
        self.assertEqual(*found)
        self.assertLessEqual(opened[0], opened[1])

    def test_link_in_the_path(self):
        """A path without link needs no check of each component."""
        self.populate(50)
        os.symlink(self.prefix, f"{self.top}/link")
        ours, found = self.trace([self.ask, GROUP, self.site_of(f"{self.top}/link")], self.top)
        python, expected = self.by_python(self.pythons[-1])
        self.assertEqual(found, expected[:1])
        self.assertLessEqual(len(ours), len(python) + 2 * DATABASE + READ_ONLY + 2 * WAY, ours[:20])

    def check_fresh(self, tree, looks, level="roots"):
        """The database is opened, and each path entry is checked, once."""
        ours, found = self.by_library(tree, level)
        self.assertEqual(found, [str((SIZES[-1] + 2) // 3)])
        self.assertEqual(self.listed, 0)
        self.assertEqual(len(ours), DATABASE + looks, ours)
        self.assertEqual(sum(support.DATABASE in line for line in ours), DATABASE, ours)

    def test_fresh(self):
        self.populate(SIZES[-1])
        self.index()
        self.check_fresh(self.prefix, looks=1)
        self.check_fresh(self.prefix, looks=0, level="trust")

    def test_carried(self):
        """A copy costs one listing, and one check of each distribution; names are not read."""
        size = SIZES[-1]
        count = self.populate(size)
        self.index()
        there = self.place()
        travel.copy(self.prefix, there)
        ours, found = self.by_library(there)
        self.assertEqual(found, [str(count)])
        self.assertEqual(len(ours), DATABASE + 2 + size, ours[:20])
        self.assertEqual(sum("entry_points.txt" in line for line in ours), size)
        self.assertFalse([line for line in ours if line.lstrip("0123456789 ").startswith("open") and "-info" in line])

    @unittest.skipIf(far.why_not(), far.why_not())
    def test_fresh_on_another_host(self):
        """Only the device number differs: no more requests than on the first host."""
        self.populate(SIZES[-1])
        self.index()
        with mounted(self) as host:
            tree = host.point
            self.assertNotEqual(os.stat(tree).st_dev, os.stat(self.prefix).st_dev)
            self.assertEqual(os.stat(tree).st_ino, os.stat(self.prefix).st_ino)
            self.check_fresh(tree, looks=1)
            self.check_fresh(tree, looks=0, level="trust")


PACKAGE = os.environ.get("ENTRYDB_PYTHON_PACKAGE")


@unittest.skipUnless(PACKAGE, "ENTRYDB_PYTHON_PACKAGE does not say where the Python package is")
class Accelerated(Traced):
    def check_no_more_switched_on(self, size):
        shutil.rmtree(f"{self.prefix}/var")
        count = self.populate(size)
        for interpreter in self.pythons:
            if reference.version_key(interpreter.version)[:2] > [3, 13]:
                continue  # left to importlib.metadata
            off, found = self.by_python(interpreter)
            self.assertEqual(found, [str(count), "False"])
            on, found = self.by_python(interpreter, on="on", PYTHONPATH=PACKAGE)
            self.assertEqual(found, [str(count), "True"], interpreter.version)
            self.assertLessEqual(len(on), len(off) + ACCELERATION, f"Python {interpreter.version}: {on[:20]}")

    def test_no_database(self):
        self.check_no_more_switched_on(SIZES[-1])

    def test_few(self):
        """Just above the number of distributions that is left to importlib.metadata."""
        self.check_no_more_switched_on(100)


# --- a slow network ---

def mounted(test, **how):
    """The environment as another host sees it."""
    try:
        return far.Far(far.build(support.make_directory(test)), test.prefix, f"{test.top}/far", **how)
    except far.CannotMount as error:
        return test.skipTest(str(error))


@unittest.skipIf(far.why_not(), far.why_not())
class FarAway(TravelTest):
    """Answers agree with importlib.metadata there, however slow the file system is."""

    def test_equal_answers(self):
        with mounted(self) as host:
            for level in ("roots", "exact", "trust"):
                self.check_right(host.point, "--fresh", level)
            self.assertEqual(self.freshness(self.site_of(host.point), name="dist3"), "fresh")

    def test_nothing_is_listed(self):
        with mounted(self) as host:
            self.list(path=self.site_of(host.point))
            self.assertEqual(host.requests()["list"], 0)
            self.assertEqual(host.requests()["open"], 1)

    def test_slow_and_without_database(self):
        """So slow that several files are read concurrently."""
        shutil.rmtree(f"{self.prefix}/var")
        for number in range(60):
            support.add_distribution(self.site, f"more{number}")
        with mounted(self, delay=0.0003) as host:
            self.check_right(host.point)

    def test_changed_at_home(self):
        """Installations by another host are noticed once the kernel's cache expires."""
        with mounted(self, memory=0) as host:
            support.add_distribution(self.site, "newcomer")
            self.check_right(host.point)
            shutil.rmtree(self.info(self.prefix))
            self.check_right(host.point)


if __name__ == "__main__":
    support.main()
