#!/usr/bin/env python3
"""The accelerated importlib.metadata opens no file in a tree that was carried with its database."""

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

RULES_SECONDS = 1.2  # after which the files of rules are looked at again
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
        """Nothing that Python would raise an exception on."""
        for number in range(80):  # fewer are left to Python
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

    def test_first_question(self):
        self.assertEqual(self.check(self.carried(), QUESTION), [])

    def test_first_question_where_it_was_sealed(self):
        self.assertEqual(self.check(self.carried("sealed"), QUESTION), [])

    def test_walk(self):
        there = self.carried()
        support.settle()  # what is younger is compared again for each distribution, which Python does
        # The first few are Python's own, at home, too.
        self.assertEqual(len(self.check(there, WALK)), len(self.check(self.prefix, WALK)))

    def rule(self, prefix, distribution):
        os.makedirs(f"{prefix}/etc/entrydb", exist_ok=True)
        support.write(f"{prefix}/etc/entrydb/policy.conf", f"[*]\n* = disable distribution={distribution}\n")

    def test_a_rule_about_names(self):
        """Without a rule nobody looks at METADATA; with one, names are those of today."""
        there = self.carried()
        support.write(f"{self.info(there)}/METADATA", support.metadata("renamed", "1.0"))
        without = self.check(there, QUESTION)
        self.assertEqual(without, [])
        for name, gone in (("dist3", False), ("renamed", True), ("dist4", True)):
            self.rule(there, name)
            answer = self.ask(there, QUESTION).split()
            number = "dist4" if name == "dist4" else "dist3"
            self.assertEqual([each for each in answer if each.startswith(f"{number}=")] == [], gone, name)

    def test_a_rule_that_comes_later(self):
        """In a process that has asked without looking at names."""
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

    def test_as_few_as_python_reads_at_home(self):
        switched_on = QUESTION.replace("import entrydb\n", "import _entrydb_site as entrydb\n").replace(
            "accelerate", "start")
        asked = 'print(sys.modules["_entrydb_replacement"].replacements["importlib.metadata"][2]().ask is not None)'
        with test_far.mounted(self, delay=0.005) as host:
            answer, connected, _ = self.ask(host.point, f"{switched_on}\n{asked}").split("\n")
            self.assertEqual(connected, "True")
            self.assertEqual(self.ask(host.point, QUESTION, "off"), f"{answer}\n")


if __name__ == "__main__":
    support.main()
