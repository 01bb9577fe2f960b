"""One failure at a time, where it is decided what may be loaded: a rule is written whole or not at
all, and what is forbidden never gets through because something failed.

ENTRYDB_TEST_FAULTS and ENTRYDB_TEST_SEED as for test_faults.py.
"""

import os
import random
import sys
import unittest

sys.dont_write_bytecode = True
import failing
import support
from support import COULD_NOT, DONE, NOT_FOUND, PROGRAM

WANTED = os.environ.get("ENTRYDB_TEST_FAULTS") or ("all" if support.LONG else "60")
SEED = int(os.environ.get("ENTRYDB_TEST_SEED") or random.randrange(1 << 32))
BEFORE = "[g]\nbad = disable\n"
AFTER = "[g]\nbad = disable\nmore = disable\n"
DYNAMIC_LINKER_GAVE_UP = (127, "out of memory\n")


class PolicyFaults(unittest.TestCase):
    def setUp(self):
        self.top = support.make_directory(self)
        self.home = f"{self.top}/home"
        self.site = f"{self.top}/venv/{support.SITE}"
        self.file = f"{self.home}/.config/entrydb/policy.conf"
        os.makedirs(os.path.dirname(self.file))
        support.add_distribution(self.site, "thing", text="[g]\nbad = m:f\ngood = m:f\n")
        self.env = support.environment(self.home)
        self.preload = failing.build_preload(self.top)
        print(f"seed {SEED}", file=sys.stderr)

    def prepare(self):
        support.write(self.file, BEFORE)

    def written(self):
        return support.read(self.file)

    def faults_of(self, command, kind):
        self.prepare()
        if kind == "memory":
            faults = failing.memory_faults(command, self.env, self.preload, self.top)
        else:
            faults = failing.call_faults(command, self.env, self.top)
        if WANTED == "all" or len(faults) <= int(WANTED):
            return faults
        return random.Random(f"{SEED} {kind}").sample(faults, int(WANTED))

    def sweep(self, kind, words, check):
        command = [PROGRAM, *words]
        for fault in self.faults_of(command, kind):
            self.prepare()
            done = failing.run_with(fault, command, self.env, self.preload)
            text = done.stderr.decode(errors="replace")
            if (done.returncode, text) == DYNAMIC_LINKER_GAVE_UP:
                continue
            with self.subTest(fault=str(fault), status=done.returncode, stderr=text[:300]):
                check(done)

    def check_writing(self, done):
        self.assertIn((done.returncode, self.written()),
                      ((DONE, AFTER), (COULD_NOT, BEFORE), (COULD_NOT, AFTER)))
        if done.returncode == COULD_NOT:
            self.assertTrue(done.stderr.startswith(b"entrydb: "))
        left = failing.run([PROGRAM, "disable", "--user", "g/more"], self.env)
        self.assertEqual((left.returncode, self.written()), (DONE, AFTER))

    def check_asking(self, done):
        self.assertNotIn(b"bad", done.stdout)
        if done.returncode == DONE:
            self.assertIn(b"good", done.stdout)
        else:
            self.assertEqual(done.returncode, COULD_NOT)
            self.assertTrue(done.stderr.startswith(b"entrydb: "))

    def check_running(self, done):
        """`bad` is not even named as what would be run."""
        self.assertIn(done.returncode, (NOT_FOUND, COULD_NOT))
        self.assertEqual(done.stdout, b"")

    def sweep_all(self, kind):
        self.sweep(kind, ["disable", "--user", "g/more"], self.check_writing)
        self.sweep(kind, ["list", "--allowed", "--path", self.site, "g"], self.check_asking)
        self.sweep(kind, ["run", "--print", "--path", self.site, "--group", "g", "bad"], self.check_running)

    @unittest.skipIf(support.build_type_is_sanitized(), "a sanitizer has its own allocator")
    def test_each_allocation(self):
        self.sweep_all("memory")

    @unittest.skipUnless(failing.STRACE, "strace is not installed")
    @unittest.skipIf(support.build_type_is_sanitized(), "a sanitizer makes calls of its own")
    def test_each_system_call(self):
        self.sweep_all("calls")


if __name__ == "__main__":
    support.main()
