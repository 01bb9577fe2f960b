"""never_stale.py with a moderate number of steps: pip, uv, dpkg, rpm and pacman concurrently."""

import os
import time
import unittest

import never_stale

import support

STEPS = int(os.environ.get("ENTRYDB_TEST_STEPS") or (1000 if support.LONG else 40))
PIP_STEPS = STEPS * 3 // 8  # each takes a second


class NeverStale(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.options = never_stale.parse(["--steps", str(STEPS), "--pip-steps", str(PIP_STEPS)])
        began = time.monotonic()
        cls.results = never_stale.run_all(cls.options)
        print(never_stale.total(cls.options, cls.results, time.monotonic() - began), flush=True)

    def check(self, name):
        result = self.results[name]
        if result.skipped:
            self.skipTest(result.skipped)
        self.assertIsNone(result.failure, f"seed {self.options.seed}: {result.failure}")
        self.assertEqual(result.findings, [], f"seed {self.options.seed}")
        counts = result.history.counts
        if counts["refused"] > counts["steps"] // 2:
            self.skipTest(f"{name}, killed once, refused {counts['refused']} of {counts['steps']} transactions")
        self.assertGreater(counts["changes"], counts["steps"] // 4, f"too few changes: {result}")
        print(result, flush=True)

    def test_pip(self):
        self.check("pip")

    def test_uv(self):
        self.check("uv")

    def test_dpkg(self):
        self.check("dpkg")

    def test_rpm(self):
        self.check("rpm")

    def test_pacman(self):
        self.check("pacman")


if __name__ == "__main__":
    support.main()
