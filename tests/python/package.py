"""The Python package under test, and the environment of programs that run with it.

ENTRYDB_PYTHON_PACKAGE names the directory to put on PYTHONPATH; otherwise the newest
complete package that was built below the top is taken. Without any, a test module is
skipped: setUpModule = package.require.
"""

import glob
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from support import TOP, environment  # noqa: E402

PARTS = ("entrydb/__init__.py", "entrydb/_native.*.so", "entrydb/bin/entrydb", "_entrydb_site.py")
START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start")


def is_complete(directory):
    return all(glob.glob(f"{glob.escape(directory)}/{part}") for part in PARTS)


def directory():
    """None where there is no package."""
    named = os.environ.get("ENTRYDB_PYTHON_PACKAGE")
    if named:
        return os.path.abspath(named)
    found = [each for depth in ("build*", "build*/*")
             for each in glob.glob(f"{glob.escape(TOP)}/{depth}/libquery/python")]
    return max(filter(is_complete, found), key=os.path.getmtime, default=None)


def require():
    if directory() is None:
        raise unittest.SkipTest("no Python package is built; ENTRYDB_PYTHON_PACKAGE names one")


def program():
    """The one that the package carries."""
    return os.path.join(directory(), "entrydb", "bin", "entrydb")


def python_environment(home, *path, accelerated=False, **variables):
    """For a Python that finds the package, and what else is on path.

    accelerated: every interpreter in it is so from its start, by tests/python/start.
    """
    places = [*([START] if accelerated else []), directory(), *path]
    variables.setdefault("PATH", os.environ.get("PATH"))
    if os.environ.get("ENTRYDB_TEST_PRELOAD"):  # a sanitizer's run-time: Python brings none
        variables["LD_PRELOAD"] = os.environ["ENTRYDB_TEST_PRELOAD"]
        variables["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return environment(home, PYTHONPATH=os.pathsep.join(places), PYTHONDONTWRITEBYTECODE="1",
                       **variables)
