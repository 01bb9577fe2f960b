"""The Python package under test, and the environment of programs that use it.

ENTRYDB_PYTHON_PACKAGE names the directory to put on PYTHONPATH; the default is the newest complete
package built below the top. Without a package, a test module is skipped: setUpModule =
package.require.
"""

import glob
import json
import os
import unittest

import package_cache
from support import TOP, environment

PARTS = ("entrydb/__init__.py", "entrydb/_native.*.so", "entrydb/bin/entrydb", "_entrydb_site.py",
         "_entrydb_replacement.py", "_entrydb_connecting.py")
START = f"{TOP}/tests/python/start"


def is_complete(directory):
    return all(glob.glob(f"{glob.escape(directory)}/{part}") for part in PARTS)


def directory():
    """The directory of the package; None if there is none."""
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
    """The program inside the package."""
    return os.path.join(directory(), "entrydb", "bin", "entrydb")


def downloaded(name, version, interpreter, *more):
    """A directory with a distribution for an interpreter; None if pip cannot get it."""
    place = f"{package_cache.cache_directory()}/{name}-{version}"
    return place if package_cache.publish(lambda scratch: package_cache.pip_ran(
        interpreter.executable, "install", "--no-deps", "--only-binary", ":all:", "--target", scratch,
        *more), place) else None


def importlib_metadata(version, found):
    """A directory with that version of importlib_metadata, or None."""
    if version == "10.2.0":
        return package_cache.importlib_metadata(found)
    return downloaded("importlib_metadata", version, found[-1], f"importlib_metadata=={version}",
                      "zipp==3.23.0")


def wrapt(interpreter):
    """A directory with the newest wrapt, or None."""
    return downloaded("wrapt", interpreter.library.removeprefix("python"), interpreter, "wrapt")


def python_environment(home, *path, accelerated=False, **variables):
    """The environment for a Python that finds the package and the directories in path.

    accelerated: switch every interpreter on from its start, by tests/python/start.
    """
    places = [*([START] if accelerated else []), directory(), *path]
    variables.setdefault("PATH", os.environ.get("PATH"))
    if os.environ.get("ENTRYDB_TEST_PRELOAD"):  # the run-time of a sanitizer, which Python does not bring
        variables["LD_PRELOAD"] = os.environ["ENTRYDB_TEST_PRELOAD"]
        variables["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return environment(home, PYTHONPATH=os.pathsep.join(places), PYTHONDONTWRITEBYTECODE="1",
                       **variables)


def take_counts(report):
    """How many answers came from where, in all processes with that file in ENTRYDB_TEST_REPORT."""
    counts = {}
    if os.path.exists(report):
        with open(report, encoding="utf-8") as stream:
            for line in stream:
                for key, count in json.loads(line)["counts"].items():
                    counts[key] = counts.get(key, 0) + count
        os.remove(report)
    return counts
