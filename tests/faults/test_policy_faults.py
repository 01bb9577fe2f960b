"""Policy with one failure at a time: a rule is written completely or not at all, and a failure never
allows a forbidden entry point.

ENTRYDB_TEST_FAULTS and ENTRYDB_TEST_SEED as for test_faults.py.
"""

import os
import sys
import unittest

sys.dont_write_bytecode = True
import failing
import support
from failing import DYNAMIC_LINKER_GAVE_UP, SEED
from support import COULD_NOT, DONE, NOT_FOUND, PROGRAM

BEFORE = "[g]\nbad = disable\n"
AFTER = "[g]\nbad = disable\nmore = disable\n"


class PolicyFaults(failing.EachKind, unittest.TestCase):
    def setUp(self):
        self.top = support.make_directory(self)
        self.home = f"{self.top}/home"
        self.site = f"{self.top}/venv/{support.SITE}"
        self.file = f"{self.home}/.config/entrydb/policy.conf"
        os.makedirs(os.path.dirname(self.file))
        support.add_distribution(self.site, "thing", text="[g]\nbad = m:f\ngood = m:f\n[h]\nbad = m:f\ngood = m:f\n")
        os.makedirs(f"{self.top}/venv/etc/entrydb")
        support.write(f"{self.top}/venv/etc/entrydb/policy.conf", "[h]\nbad = disable\n")
        self.env = support.environment(self.home)
        self.preload = failing.build_preload(self.top)
        print(f"seed {SEED}", file=sys.stderr)

    def prepare(self):
        support.write(self.file, BEFORE)

    def written(self):
        return support.read(self.file)

    def check_each(self, kind, words, check):
        command = [PROGRAM, *words]
        self.prepare()
        for fault in failing.faults_of(kind, command, self.env, self.preload, self.top):
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
        """`bad` is not even named as what would run."""
        self.assertIn(done.returncode, (NOT_FOUND, COULD_NOT))
        self.assertEqual(done.stdout, b"")

    def sweep(self, kind):
        self.check_each(kind, ["disable", "--user", "g/more"], self.check_writing)
        self.check_each(kind, ["list", "--allowed", "--path", self.site, "g"], self.check_asking)
        self.check_each(kind, ["list", "--allowed", "--path", f"{self.top}/venv/lib/../{support.SITE}", "h"], self.check_asking)
        self.check_each(kind, ["run", "--print", "--path", self.site, "--group", "g", "bad"], self.check_running)


if __name__ == "__main__":
    support.main()
