#!/usr/bin/env python3
"""README's two commands one after the other on a fresh machine, hooks/install.sh and tests/run.

Of the second the short form, since this is a part of the long one: what the first has indexed and
installed, and what belongs to the machine, changes no test.
"""

import os
import subprocess

import support
from fresh_machine import INSTALL, NOBODY, PROGRAM, SOURCES, STATE, FreshTest

FEW = "20"  # writers that are killed; other runs kill enough
SITE = "/usr/lib/python3/dist-packages"
HOME = "/root"  # in there
USERS_SITE = f"{HOME}/.local/lib/python3.11/site-packages"
USERS_DATABASE = f"{HOME}/.local/state/entrydb/entry_points.db"
# Of the user who runs the tests.
SETTINGS = ("ENTRYDB_FRESH=trust", "ENTRYDB_DISABLE=demo", f"ENTRYDB_PATH={USERS_SITE}", "ENTRYDB_REFRESH=0",
            "VIRTUAL_ENV=/usr", f"XDG_STATE_HOME={HOME}/.local/state")


class Tests(FreshTest):
    def test_without_rights(self):
        """What is missing is said, and nothing is tried without it."""
        self.run_there(*NOBODY, "cp", "-R", SOURCES, "/tmp/own")
        said = self.run_there(*NOBODY, "/tmp/own/tests/run", "--quick", status=1)
        self.assertRegex(said, r"install\.sh: these packages are missing: [^\n]*\bcmake [^\n]*"
                               r"- run this as root, or with sudo set up\n")
        self.assertIn("0 passed, 1 failed, 0 skipped", said)
        self.assertNotIn("CMake Error", said)

    def test_both_commands(self):
        self.check_installation_for_all_users()
        self.check_tests()
        self.check_what_was_there_stays()

    def check_installation_for_all_users(self):
        """Whatever the umask of who installs it; one of two databases was there before."""
        home = self.root.on_disk(HOME)
        for site, name in ((SITE, "alpha"), (USERS_SITE, "beta")):
            support.add_distribution(self.root.on_disk(site), name)
        subprocess.run([support.PROGRAM, "update", "--quiet", self.root.on_disk(USERS_SITE)], check=True,
                       env=support.environment(home, XDG_STATE_HOME=None))
        said = self.run_there("sh", "-c", f"umask 077; exec {INSTALL}")
        for line in ("alpha", f"{STATE}/entry_points.db: ", "Databases: 2."):
            self.assertIn(line, said)
        # The lock is for who writes alone: a reader could hold it for ever.
        hidden = ["!", "-name", "*.lock", "(", "!", "-readable", "-o", "-type", "d", "!", "-executable", ")"]
        self.assertEqual(self.run_there(*NOBODY, "find", "/usr/local", STATE, *hidden), "")
        self.assertRegex(self.run_there(*NOBODY, "entrydb", "--version"), r"\Aentrydb \d")

    def check_tests(self):
        """They see neither databases nor rules nor settings; nothing has been downloaded for them before."""
        self.run_there("entrydb", "disable", "--user", "demo")
        said = self.run_there("env", *SETTINGS, f"ENTRYDB_TEST_ROUNDS={FEW}", f"{SOURCES}/tests/run", "--quick")
        self.assertRegex(said, r"\n\d+ passed, 0 failed, 0 skipped; ")
        self.assertNotIn("SKIP", said)

    def check_what_was_there_stays(self):
        said = self.run_there(INSTALL, "--uninstall")
        self.assertFalse(os.path.exists(self.root.on_disk(PROGRAM)), said)
        self.assertFalse(os.path.exists(self.root.on_disk(STATE)), said)
        self.assertTrue(os.path.exists(self.root.on_disk(USERS_DATABASE)), said)


if __name__ == "__main__":
    support.main()
