#!/usr/bin/env python3
"""The accelerated importlib.metadata opens no file in a copied tree with its database."""

import os
import subprocess
import unittest

import far
import package
import support
import test_far
import travel
from travel import Opened, TravelTest, copy, workers

setUpModule = package.require

RULES_SECONDS = 1.2  # policy files are checked again after this time
QUESTION = """
import sys
import importlib.metadata as metadata
if "off" not in sys.argv:
    import entrydb
    entrydb.accelerate()
sys.path[:] = [sys.argv[1]]
found = metadata.entry_points(group="demo")
print(*[f"{each.name}={each.value}" for each in found])
"""
WALK = QUESTION.replace('found = metadata.entry_points(group="demo")', """
found = [each for distribution in metadata.distributions() for each in distribution.entry_points]
""")


class Python(TravelTest):
    def fill(self, site):
        """Distributions without anything that raises an exception in Python."""
        for number in range(80):  # fewer are left to importlib.metadata
            support.add_distribution(site, f"dist{number}")
        support.add_distribution(site, "contested", "1.0", text="[demo]\ncontested = one:main\n")
        support.add_distribution(site, "contested", "2.0", text="[demo]\ncontested = two:main\n")

    def ask(self, prefix, script, *arguments):
        done = subprocess.run([workers()[-1].interpreter.executable, "-c", script, self.site_of(prefix), *arguments],
                              env=package.python_environment(self.home), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=support.SECONDS_ALLOWED)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def check(self, prefix, script):
        right = self.ask(prefix, script, "off")
        self.assertIn("dist79", right)
        with Opened(self.site_of(prefix)) as opened:
            self.assertEqual(self.ask(prefix, script), right)
        return opened.directories

    def carried(self, *sealed):
        if sealed:
            self.update("--sealed", "--quiet", self.prefix)
        there = self.place()
        copy(self.prefix, there)
        return there

    def test_first_query(self):
        self.assertEqual(self.check(self.carried(), QUESTION), [])

    def test_first_query_of_sealed_database(self):
        self.assertEqual(self.check(self.carried("sealed"), QUESTION), [])

    def test_walk(self):
        there = self.carried()
        support.settle()  # younger distributions are compared one by one, by importlib.metadata
        # The first few are left to importlib.metadata, also without a copy.
        self.assertEqual(len(self.check(there, WALK)), len(self.check(self.prefix, WALK)))

    def rule(self, prefix, distribution):
        os.makedirs(f"{prefix}/etc/entrydb", exist_ok=True)
        support.write(f"{prefix}/etc/entrydb/policy.conf", f"[*]\n* = disable distribution={distribution}\n")

    def test_rule_about_names(self):
        """METADATA is only read if a rule depends on names; names are then current."""
        there = self.carried()
        support.write(f"{self.info(there)}/METADATA", support.metadata("renamed", "1.0"))
        without = self.check(there, QUESTION)
        self.assertEqual(without, [])
        for name, gone in (("dist3", False), ("renamed", True), ("dist4", True)):
            self.rule(there, name)
            answer = self.ask(there, QUESTION).split()
            number = "dist4" if name == "dist4" else "dist3"
            self.assertEqual([each for each in answer if each.startswith(f"{number}=")] == [], gone, name)

    def test_rule_added_later(self):
        """A rule takes effect in a process that has made queries without reading names."""
        there = self.carried()
        support.write(f"{self.info(there)}/METADATA", support.metadata("renamed", "1.0"))
        os.makedirs(f"{there}/etc/entrydb")
        later = QUESTION + f"""
import time
with open({there + "/etc/entrydb/policy.conf"!r}, "w") as file:
    file.write("[*]\\n* = disable distribution=renamed\\n")
time.sleep({RULES_SECONDS})
print(*[each.name for each in metadata.entry_points(group="demo")])
"""
        first, second = self.ask(there, later).splitlines()
        self.assertIn("dist3=", first)
        self.assertIn("dist4", second.split())
        self.assertNotIn("dist3", second.split())

    def test_changed(self):
        there = self.carried()
        support.write(f"{self.info(there)}/entry_points.txt", "[demo]\nother = o:main\n")
        self.assertEqual(self.check(there, QUESTION), ["dist3-1.0.dist-info"])


@unittest.skipIf(far.why_not(), far.why_not())
class FarAway(TravelTest):
    ask = Python.ask

    def fill(self, site):
        for number in range(20):
            support.add_distribution(site, f"dist{number}")

    def test_reads_no_more_than_importlib_metadata(self):
        switched_on = QUESTION.replace("import entrydb\n", "import _entrydb_site as entrydb\n").replace(
            "accelerate", "start")
        asked = 'print(metadata._entrydb.connected)'
        with test_far.mounted(self, delay=0.005) as host:
            answer, connected, _ = self.ask(host.point, f"{switched_on}\n{asked}").split("\n")
            self.assertEqual(connected, "True")
            self.assertEqual(self.ask(host.point, QUESTION, "off"), f"{answer}\n")


if __name__ == "__main__":
    support.main()
