"""entrydb.testing, the pytest plugin: entry points that exist for one test.

A real pytest runs the tests below, with and without acceleration. Skipped if pip cannot get pytest.
"""

import subprocess
import unittest

import package
import package_cache
import reference
import support
from support import make_directory, write

setUpModule = package.require
CONFTEST = 'pytest_plugins = ["entrydb.testing"]\n'
TESTS = '''
import importlib.metadata
import json

import entrydb
import pytest


def names():
    found = importlib.metadata.entry_points(group="demo").names
    assert entrydb.entry_points(group="demo").names == found
    return found


def test_add(entry_point_database):
    assert names() == set()
    entry_point_database.add("demo", "mine", "json:loads")
    assert names() == {"mine"}
    [found] = importlib.metadata.entry_points(group="demo", name="mine")
    assert found.load() is json.loads
    assert found.dist.metadata["Name"] == "entrydb-testing"


def test_remove(entry_point_database):
    entry_point_database.add("demo", "first", "json:loads")
    entry_point_database.add("demo", "second", "json:dumps", distribution="another")
    assert names() == {"first", "second"}
    entry_point_database.remove("demo", "first")
    assert names() == {"second"}
    with pytest.raises(KeyError):
        entry_point_database.remove("demo", "first")


def test_removed_after_the_test():
    assert names() == set()
'''


class TestingTest(unittest.TestCase):
    def test_plugin(self):
        interpreter = reference.interpreters()[-1]
        pytest = package_cache.pytest_directory(interpreter.executable)
        if not pytest:
            self.skipTest("pip cannot get pytest")
        for accelerated in (False, True):
            with self.subTest(accelerated=accelerated):
                self.run_pytest(interpreter, pytest, accelerated)

    def run_pytest(self, interpreter, pytest, accelerated):
        place = make_directory(self)
        write(f"{place}/conftest.py", CONFTEST)
        write(f"{place}/test_it.py", TESTS)
        env = package.python_environment(f"{place}/home", pytest, accelerated=accelerated)
        done = subprocess.run([interpreter.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                               place], env=env, cwd=place, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("3 passed", done.stdout)


if __name__ == "__main__":
    support.main()
