"""The tests of importlib.metadata, from each available Python and from the source distributions of
importlib_metadata, have the same outcome with and without acceleration.

suite_worker.py runs them unchanged: first without entrydb, then accelerated with directories that are
not in a database, newly indexed, or indexed some time ago. Every test must pass, fail or be skipped
as without acceleration, and the answers from the database are counted.
"""

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

import package
import package_cache
import reference
import support
from package_cache import pip_ran
from support import SECONDS_ALLOWED, make_directory

HERE = os.path.dirname(os.path.abspath(__file__))
FEWEST = 40  # tests that pass without acceleration: with fewer, the suite was not found

# How: (how it runs, environment, what must have happened, what must not)
NO_ROOT = ("root: fresh", "root: checked")
WAYS = {
    "not indexed": ({}, {}, ("entry_points: database", "root: scanned"), NO_ROOT),
    "just indexed": ({"index": True}, {}, ("entry_points: database", "root: fresh"), ()),
    "indexed": ({"index": True, "settle": True}, {}, ("entry_points: database", "root: fresh"), ()),
    "indexed, exact": ({"index": True, "settle": True}, {"ENTRYDB_FRESH": "exact"},
                       ("entry_points: database", "root: checked"), ("root: fresh",)),
    "by distribution": ({"index": True, "settle": True, "by": "property"}, {},
                        ("distribution: database",), ("entry_points: database",)),
}

# Requirements of importlib_metadata and its tests, in versions that several Pythons can use.
NEEDS = ["jaraco.test==5.7.0", "lazy-importer==0.1.0", "packaging==26.3", "pyfakefs==6.3.2",
         "typing-extensions==4.16.0", "zipp==3.23.0"]

setUpModule = package.require


def standard_tests(interpreter):
    """The names of that Python's tests of importlib.metadata."""
    if reference.version_key(interpreter.version) >= [3, 13]:
        return [f"test.test_importlib.metadata.test_{name}" for name in ("api", "main", "zip")]
    return [f"test.test_importlib.test_{name}" for name in ("metadata_api", "main", "zip")]


def has(interpreter, test):
    return not subprocess.run([interpreter.executable, "-c", f"import {test}"],
                              capture_output=True).returncode


class SuiteTest(unittest.TestCase):
    def compare(self, interpreter, tests, *path):
        """Run the tests in each of WAYS."""
        expected = self.run_suite(interpreter, tests, path)["outcomes"]
        passed = [name for name, (outcome, _) in expected.items() if outcome == "passed"]
        self.assertGreater(len(passed), FEWEST, expected)
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            running = {way: pool.submit(self.run_suite, interpreter, tests, path, True, variables,
                                        **how) for way, (how, variables, _, _) in WAYS.items()}
        for way, (_, _, wanted, forbidden) in WAYS.items():
            with self.subTest(way, python=interpreter.version):
                report = running[way].result()
                self.assertEqual(report["failed"], [])
                self.assertEqual(departures(expected, report["outcomes"]), "")
                self.check_counts(report["counts"], wanted, forbidden)

    def check_counts(self, counts, wanted, forbidden):
        for key in wanted:
            self.assertGreater(counts.get(key, 0), 0, f"{key}: {counts}")
        for key in forbidden:
            self.assertEqual(counts.get(key, 0), 0, f"{key}: {counts}")

    def run_suite(self, interpreter, tests, path, accelerated=False, variables=None,
                  index=False, settle=False, by="function"):
        home = make_directory(self)
        task = {"tests": tests, "settle": settle, "by": by,
                "index": [package.program(), "update"] if index else None}
        env = package.python_environment(home, *path, accelerated=accelerated, **variables or {})
        command = [interpreter.executable, f"{HERE}/suite_worker.py", json.dumps(task)]
        done = subprocess.run(command, env=env, cwd=path[-1] if path else home, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=SECONDS_ALLOWED)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])


def departures(expected, outcomes):
    """The tests with another outcome than expected, with tracebacks."""
    lines = []
    for name in sorted({*expected, *outcomes}):
        was, now = (each.get(name, ["absent", ""]) for each in (expected, outcomes))
        if was[0] != now[0]:
            lines.append(f"{name}: {was[0]} without entrydb, {now[0]} with it\n{was[1]}{now[1]}")
    return "\n".join(lines)


# --- the standard module ---

class StandardTest(SuiteTest):
    """One test for each Python, added by add_standard_tests()."""

    def check(self, interpreter):
        tests = standard_tests(interpreter)
        if not has(interpreter, tests[0]):
            self.skipTest(f"{interpreter.executable} came without its tests")
        self.compare(interpreter, tests)


def add_standard_tests():
    for each in reference.one_per_minor(reference.interpreters()):
        def test(self, interpreter=each):
            self.check(interpreter)

        setattr(StandardTest, f"test_python_{each.version.replace('.', '_')}", test)


# --- importlib_metadata ---

class BackportTest(SuiteTest):
    """importlib_metadata's source distribution, with its tests."""

    def check(self, version):
        able = [each for each in reference.interpreters()
                if [3, 11] <= reference.version_key(each.version)]
        if not able:
            self.skipTest("no CPython 3.11 or later that runs")
        needs, source = suite_of(able[-1].executable, version)
        if not source:
            self.skipTest("pip cannot get the source distribution, or what its tests need")
        self.compare(able[-1], backport_tests(source), needs, source)

    def test_8_6(self):
        self.check("8.6.1")

    def test_10_2(self):
        self.check("10.2.0")


def backport_tests(source):
    """All of its test modules."""
    found = []
    for place, _, files in os.walk(f"{source}/tests"):
        inside = os.path.relpath(place, source).replace(os.sep, ".")
        found += [f"{inside}.{file[:-3]}" for file in files
                  if file.startswith("test_") and file.endswith(".py")]
    return sorted(found)


def suite_of(python, version):
    """The cached directories (requirements of the tests, source distribution)."""

    needs = f"{package_cache.cache_directory()}/metadata-suite-needs"
    source = f"{package_cache.cache_directory()}/importlib_metadata-source-{version}"

    def install(scratch):
        return pip_ran(python, "install", "--quiet", "--target", scratch, *NEEDS)

    def unpack(scratch):
        with tempfile.TemporaryDirectory() as place:
            return (pip_ran(python, "download", "--quiet", "--no-deps", "--dest", place,
                            "--no-binary=importlib_metadata", f"importlib_metadata=={version}")
                    and extract(place, scratch))

    if package_cache.publish(install, needs) and package_cache.publish(unpack, source):
        return needs, source
    return None, None


def extract(place, scratch):
    """Extract the archive, without its top-level directory."""
    [archive] = os.listdir(place)
    with tarfile.open(f"{place}/{archive}") as stream:
        stream.extractall(f"{scratch}/part", filter="data")
    [top] = os.listdir(f"{scratch}/part")
    for name in os.listdir(f"{scratch}/part/{top}"):
        shutil.move(f"{scratch}/part/{top}/{name}", scratch)
    shutil.rmtree(f"{scratch}/part")
    return True


add_standard_tests()

if __name__ == "__main__":
    support.main()
