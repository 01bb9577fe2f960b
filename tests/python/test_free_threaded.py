#!/usr/bin/env python3
"""The package on a free-threaded CPython, with the extension that pip builds for it.

The other tests of the package run with that interpreter and extension. In the long form all of them
do, and an interpreter is built if none is installed.
"""

import functools
import os
import subprocess
import sys
import unittest

import free_threaded
import package
import program
import support
import wheels

LONG = bool(os.environ.get("ENTRYDB_TEST_LONG"))
CASES = 20000  # of the differential test
SECONDS_ALLOWED = 7200
# No fork while threads make queries: even with importlib.metadata alone, 1 of 1,100 children of 3.13t
# waited for ever for an object's lock held by a thread of the parent.
OF_THREADS = ("threads", "threads_that_patch", "walks_of_threads_and_children")


def setUpModule():
    package.require()
    interpreter()


@functools.cache
def interpreter():
    return free_threaded.interpreter(build=LONG)


@functools.cache
def wheel():
    return wheels.build(interpreter())


@functools.cache
def installed():
    """A directory with the contents of the wheel."""
    place = f"{wheels.scratch()}/package"
    wheels.run(*wheels.pip_for(interpreter()), "install", "--no-deps", "--no-index",
               "--target", place, wheel())
    return place


class Test(unittest.TestCase):
    def run_with_it(self, script, *arguments):
        env = {**os.environ, "PYTHONPATH": program.LIB, "ENTRYDB": program.default_program(),
               "ENTRYDB_PYTHON_PACKAGE": installed(), "ENTRYDB_PYTHON_WHEEL": wheel(),
               "ENTRYDB_TEST_PYTHONS": interpreter().executable}
        done = subprocess.run([sys.executable, f"{free_threaded.HERE}/{script}", *arguments],
                              env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS_ALLOWED)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:])
        return done.stdout


class FreeThreaded(Test):
    def test_tags(self):
        tag = "cp" + interpreter().rules.replace(".", "")
        self.assertIn(f"-{tag}-{tag}t-", os.path.basename(wheel()))

    def test_gil_stays_disabled(self):
        """An extension that does not declare its support for free threading would enable the GIL."""
        code = ("import sys; from entrydb import _native; import entrydb; entrydb.accelerate(); "
                "import importlib.metadata as m; m.entry_points(group='g'); print(sys._is_gil_enabled())")
        done = subprocess.run([interpreter().executable, "-W", "error", "-c", code], text=True,
                              env={"PYTHONPATH": installed()}, stdout=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout, "False\n")

    def test_threads(self):
        self.run_with_it("test_behaviour.py", *(f"BehaviourTest.test_{each}" for each in OF_THREADS))


@unittest.skipUnless(LONG, "ENTRYDB_TEST_LONG is not set")
class All(Test):
    def test_behaviour(self):
        self.run_with_it("test_behaviour.py")

    def test_replaced(self):
        self.run_with_it("test_replaced.py")

    def test_switch(self):
        self.run_with_it("test_switch.py")

    def test_suites(self):
        self.run_with_it("test_stdlib_suites.py", "StandardTest")

    def test_differential(self):
        said = self.run_with_it("differential.py", "--cases", str(CASES))
        self.assertNotRegex(said, "(roots|exact): not recognized")


if __name__ == "__main__":
    support.main()
