#!/usr/bin/env python3
"""Programs replace each part of importlib.metadata, before and after the first query.

The answers, and the calls that the replacement receives, must be those of importlib.metadata alone.
The parts and the ways to replace them are listed in replaced_worker.py. Runs with the oldest and the
newest interpreter; in the long form with all of them, and with wrapt.
"""

import json
import os
import subprocess
import unittest

import package
import reference
import support
from support import DATABASE, add_distribution, change_database, make_directory

setUpModule = package.require
HERE = os.path.dirname(os.path.abspath(__file__))
DISTRIBUTIONS = 9     # more than are read singly before the directory is read as a whole
CASES_MIN = 400       # per interpreter and way to replace
SECONDS_ALLOWED = 900
SHOWN = 400           # characters of an answer
OURS = "PathDistribution.__new__"  # some versions inherit it; acceleration adds it
LONG = bool(os.environ.get("ENTRYDB_TEST_LONG"))
BACKPORTS = ("6.11.0", "10.2.0") if LONG else ("10.2.0",)


class ReplacedTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        found = reference.one_per_minor(reference.interpreters())
        self.found = found if LONG or len(found) < 3 else [found[0], found[-1]]

    def make_environment(self, interpreter):
        """Create an environment; returns its indexed site directory."""
        top = make_directory(self)
        self.home, prefix = f"{top}/home", f"{top}/venv"
        site = f"{prefix}/lib/python{interpreter.rules}/site-packages"
        for number in range(DISTRIBUTIONS):
            add_distribution(site, f"d{number}")
        subprocess.run([package.program(), "--quiet", "update", prefix], check=True,
                       env=package.python_environment(self.home))
        change_database(f"{prefix}/{DATABASE}", "UPDATE distribution SET settled = 1, watched = 0",
                        "UPDATE root SET settled = 1, watched = 0")
        return site

    def run_worker(self, interpreter, path, hows, name, accelerated):
        env = package.python_environment(self.home, *path, accelerated=True,
                                         ENTRYDB="1" if accelerated else "0")
        done = subprocess.run([interpreter.executable, f"{HERE}/replaced_worker.py", name, *hows],
                              env=env, cwd=path[0], text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=SECONDS_ALLOWED)
        self.assertEqual(done.returncode, 0, done.stderr)
        *cases, connected = map(json.loads, done.stdout.splitlines())
        self.assertEqual(connected, accelerated, "the fraction of cases in which entrydb answered first")
        return cases

    def sweep(self, interpreter, name="importlib.metadata", directory=None):
        site = self.make_environment(interpreter)
        wrapping = LONG and interpreter is self.found[-1] and package.wrapt(interpreter)
        hows = ["plain", "wraps", *(["wrapt"] if wrapping else [])]
        path = [each for each in (site, directory, wrapping) if each]
        own, fast = (self.run_worker(interpreter, path, hows, name, accelerated)
                     for accelerated in (False, True))
        self.assertGreater(len(own), CASES_MIN * len(hows))
        fast = [each for each in fast if each[0] != OURS or OURS in {part for part, *_ in own}]
        self.assertEqual([each[:3] for each in own], [each[:3] for each in fast])
        differing = [pair for pair in zip(own, fast) if pair[0] != pair[1]]
        shown = "\n".join(f"{ours[:3]}:\n  python  {str(ours[3:])[:SHOWN]}\n"
                          f"  entrydb {str(theirs[3:])[:SHOWN]}" for ours, theirs in differing[:5])
        self.assertFalse(differing, f"{len(differing)} of {len(own)} cases\n{shown}")

    def test_standard_library(self):
        for interpreter in self.found:
            with self.subTest(python=interpreter.version):
                self.sweep(interpreter)

    def test_importlib_metadata(self):
        for version in BACKPORTS:
            with self.subTest(version):
                directory = package.importlib_metadata(version, self.found)
                if directory is None:
                    self.skipTest(f"pip cannot get importlib_metadata {version}")
                self.sweep(self.found[-1], "importlib_metadata", directory)


if __name__ == "__main__":
    support.main()
