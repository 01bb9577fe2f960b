#!/usr/bin/env python3
"""Other processors: 32-bit, big-endian, and arm64.

Runs the unit and api tests, the command tests, and exchanges databases between machines. See
other_machines.py; the first run downloads a root and builds for each machine.
    ENTRYDB               this machine's program
    ENTRYDB_TEST_MACHINES names, separated by commas (default: all)
"""

import contextlib
import os
import sqlite3
import unittest

import debian_root
import other_machines  # extends sys.path for the imports below
import support
from support import DATABASE, DONE, NOT_FOUND, SITE

SECONDS_ALLOWED = 10800  # for all tests of one kind, in an emulator on a busy machine
SECONDS_OF_A_TEST = 3600
SCRIPTS = ("test_commands.py", "test_bad_input.py", "test_escaping.py")  # that need no pip
# A time beyond 32 bits, and the digest of a distribution, which depends on it.
FAR_FUTURE = 2 ** 32 + 7
TABLES = ("root", "distribution", "entry_point", "plugin", "target", "startup")


def contents(file):
    """All rows except the audit trail and the version."""
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as opened:
        rows = {table: opened.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
                for table in TABLES}
        return rows, opened.execute("PRAGMA user_version").fetchone()


class MachineTest:
    """Mixed into unittest.TestCase, once for each machine."""

    machine = None

    @classmethod
    def setUpClass(cls):
        if "ENTRYDB_TEST_LONG" not in os.environ:
            raise unittest.SkipTest("builds all for another machine: only with --long")
        wanted = os.environ.get("ENTRYDB_TEST_MACHINES")
        if wanted and cls.machine.name not in wanted.split(","):
            raise unittest.SkipTest("another machine is asked for")
        debian_root.check_tools()
        reason = other_machines.reason_to_skip(cls.machine)
        if reason:
            raise unittest.SkipTest(reason)
        cls.root = other_machines.root_of(cls.machine)
        cls.build = other_machines.build(cls.machine, cls.root)
        cls.program = f"{cls.build}/indexer/entrydb"

    def setUp(self):
        self.top = support.make_directory(self)
        self.place = other_machines.Place(self.machine, self.root,
                                          {support.TOP, self.build, os.path.dirname(self.top)})
        self.prefix = f"{self.top}/prefix"
        self.site, self.database = f"{self.prefix}/{SITE}", f"{self.prefix}/{DATABASE}"
        self.environment = {**debian_root.ENVIRONMENT, "HOME": f"{self.top}/home"}

    def must(self, done, status=DONE):
        self.assertEqual(done.returncode, status, debian_root.text_of(done)[-6000:])
        return debian_root.text_of(done)

    def here(self, *words, status=DONE):
        return self.must(debian_root.run([support.PROGRAM, *words], env=self.environment), status)

    def there(self, *words, status=DONE):
        return self.must(self.place.run_inside(self.program, *words, env=self.environment), status)

    # -- the project's tests --

    def test_unit_and_api(self):
        self.must(self.place.run("ctest", "--test-dir", self.build, "--output-on-failure",
                                 "--no-tests=error", "-j2", "--timeout", str(SECONDS_OF_A_TEST),
                                 timeout=SECONDS_ALLOWED))

    def test_commands(self):
        """Run by the other machine's Python, in its root."""
        environment = {**debian_root.ENVIRONMENT, "PYTHONPATH": support.LIB, "ENTRYDB": self.program, "ENTRYDB_BUILD": self.build,
                       "ENTRYDB_TEST_PLUGINS": f"{self.build}/tests/fixtures",
                       "PYTHONDONTWRITEBYTECODE": "1"}
        for script in SCRIPTS:
            with self.subTest(script):
                said = self.must(self.place.run_inside("python3", f"{support.TOP}/tests/cli/{script}",
                                                       env=environment, timeout=SECONDS_ALLOWED))
                self.assertRegex(said, r"\nOK")

    # -- exchange of databases --

    def tree(self):
        for name in ("alpha", "beta"):
            info = support.add_distribution(self.site, name, "1.0", RECORD="")
            support.write(f"{self.site}/{name}.py", "def main(): pass\n")
        for path in (f"{info}/METADATA", info, self.site):
            os.utime(path, (FAR_FUTURE, FAR_FUTURE))
        support.settle()

    def moved(self, name):
        place = f"{self.top}/{name}.db"
        os.rename(self.database, place)
        return place

    def test_same_rows(self):
        """Both machines create the same rows from the same tree, including stamps."""
        self.tree()
        self.here("update", self.prefix)
        ours = contents(self.moved("ours"))
        self.there("update", self.prefix)
        theirs = contents(self.moved("theirs"))
        self.assertGreater(len(ours[0]["distribution"]), 1)
        self.assertEqual(ours, theirs)

    def test_each_reads_the_other(self):
        self.tree()
        for makes, reads in ((self.here, self.there), (self.there, self.here)):
            makes("update", self.prefix)
            before = contents(self.database)
            for level in ("trust", "roots", "exact"):
                listed = [run("list", "--json", "--fresh", level, "--path", self.site)
                          for run in (makes, reads)]
                for name in ("alpha", "beta"):
                    self.assertIn(f'"distribution":"{name}"', listed[0])
                self.assertEqual(*listed)
            reads("verify", self.prefix)
            self.assertRegex(reads("update", self.prefix), r"\b0 added, 0 changed, 0 removed")
            self.assertEqual(contents(self.database), before)
            self.moved("read")

    def test_change_is_noticed(self):
        """A premise of the test above."""
        self.tree()
        self.here("update", self.prefix)
        support.add_distribution(self.site, "gamma")
        self.assertIn("gamma", self.there("list", "--path", self.site))
        self.there("verify", self.prefix, status=NOT_FOUND)
        self.assertRegex(self.there("update", self.prefix), r"\b1 added, 0 changed, 0 removed")


class I386(MachineTest, unittest.TestCase):
    machine = other_machines.MACHINES[0]


class Arm64(MachineTest, unittest.TestCase):
    machine = other_machines.MACHINES[1]


class S390x(MachineTest, unittest.TestCase):
    machine = other_machines.MACHINES[2]


if __name__ == "__main__":
    support.main()
