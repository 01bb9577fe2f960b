#!/usr/bin/env python3
"""tests/run on a fresh machine: the short form, since this is a part of the long one."""


import support
from fresh_machine import NOBODY, SOURCES, FreshTest

FEW = "20"  # writers that are killed; other runs kill enough


class Tests(FreshTest):
    def test_without_rights(self):
        """What is missing is said, and nothing is tried without it."""
        self.run_there(*NOBODY, "cp", "-R", SOURCES, "/tmp/own")
        said = self.run_there(*NOBODY, "/tmp/own/tests/run", "--quick", status=1)
        self.assertRegex(said, r"install\.sh: these packages are missing: [^\n]*\bcmake [^\n]*"
                               r"- run this as root, or with sudo set up\n")
        self.assertIn("0 passed, 1 failed, 0 skipped", said)
        self.assertNotIn("CMake Error", said)

    def test_quick(self):
        said = self.run_there("env", f"ENTRYDB_TEST_ROUNDS={FEW}",
                              f"{SOURCES}/tests/run", "--quick")
        self.assertRegex(said, r"\n\d+ passed, 0 failed, 0 skipped; ")
        self.assertNotIn("SKIP", said)


if __name__ == "__main__":
    support.main()
