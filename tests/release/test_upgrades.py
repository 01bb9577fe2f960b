#!/usr/bin/env python3
"""Upgrades while programs run: answers are right before, during and after an upgrade.

The library is replaced by a rename, as package managers do, and the wheel by pip. The new version is
another build of the same sources; with ENTRYDB_TEST_LONG also a next release, built with an additional
table and a new version of the schema.

    ENTRYDB, ENTRYDB_BUILD  the program and the build directory
    ENTRYDB_PYTHON_WHEEL    the wheel; without it, one is built
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest
import zipfile

import reference
import support
import stress
import wheels
from support import TOP, COULD_NOT, DONE, CommandTest, add_distribution, events

LONG = "ENTRYDB_TEST_LONG" in os.environ
BUILD = os.path.abspath(os.environ.get("ENTRYDB_BUILD") or f"{TOP}/build")
SONAME = "libentrydb.so.0"
LIBRARIES = ("-lsqlite3", "-lz", "-lelf", "-pthread", "-ldl")
INSTALLATIONS = 40 if LONG else 4  # upgrades of the wheel while programs run
NEXT_VERSION = "99.0"


def reason_to_skip():
    if not os.path.exists(f"{BUILD}/libquery/libentrydb.a"):
        return "the libraries are not built"
    if b"__asan_init" in subprocess.run(["nm", "-D", f"{BUILD}/libquery/libentrydb.so"],
                                        stdout=subprocess.PIPE, check=True).stdout:
        return "hosts know of no sanitizer"
    return None


def setUpModule():
    reason = reason_to_skip()
    if reason:
        raise unittest.SkipTest(reason)


def must(*command, **how):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **how)
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def relink(place, number):
    """Link another build, with the functions at other addresses."""
    support.write(f"{place}.c", f"extern char padding_{number}[{number * 4096}];\n"
                                f"char padding_{number}[{number * 4096}] = {{1}};\n")
    must(os.environ.get("CC") or "cc", "-shared", "-fPIC", f"-Wl,-soname,{SONAME}",
         f"-Wl,--version-script={TOP}/libquery/entrydb.sym", "-o", place, f"{place}.c",
         "-Wl,--whole-archive", f"{BUILD}/libquery/libentrydb.a", "-Wl,--no-whole-archive", *LIBRARIES)
    return place


def has_lost_its_library(process):
    """Is the library that the process uses replaced?"""
    try:
        with open(f"/proc/{process.pid}/maps", encoding="utf-8", errors="replace") as stream:
            return f"/{SONAME} (deleted)" in stream.read()
    except OSError:
        return False


class LibraryReplaced(stress.Stress):
    """Hosts in C query during changes of the disk and updates; see stress.py."""

    def start_readers(self):
        self.directory = f"{self.top}/libraries"
        os.mkdir(self.directory)
        self.builds = [f"{BUILD}/libquery/{SONAME}", relink(f"{self.top}/other.so", 1)]
        self.replaced = self.outlived = 0
        self.replace()
        self.readers = super().start_readers()
        self.late = []
        self.replacer = threading.Thread(target=self.replace_on)
        self.replacer.start()
        self.addCleanup(self.replacer.join)
        self.addCleanup(self.stop.set)
        return self.readers

    def environment(self, **variables):
        return super().environment(LD_LIBRARY_PATH=self.directory, **variables) \
            if hasattr(self, "directory") else super().environment(**variables)

    def replace(self):
        shutil.copy(self.builds[self.replaced % 2], f"{self.directory}/new")
        os.rename(f"{self.directory}/new", f"{self.directory}/{SONAME}")
        self.replaced += 1

    def replace_on(self):
        """Replace the library repeatedly; now and then start a reader with the new one."""
        while not self.stop.is_set():
            time.sleep(0.1)
            self.replace()
            self.outlived += any(map(has_lost_its_library, self.readers))
            if self.replaced % 4 == 0:
                self.late.append(subprocess.Popen(
                    [stress.READER, self.site, "2", "1"], env=self.environment(),
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        for each in self.late:
            self.finish_reader(each)

    def check_answers(self):
        self.replacer.join()
        self.assertFalse(self.failures)
        super().check_answers()

    def check_end(self):
        self.assertGreater(len(self.late), 1)
        self.assertGreater(self.replaced, 5)
        self.assertGreater(self.outlived, 1)
        super().check_end()


# --- the wheel ---

# Not accelerated: importlib.metadata before and after; two equal answers are taken as right.
COMPARING = """
import importlib.metadata, os, sys, entrydb
def told(points):
    return sorted((e.group, e.name, e.value) for e in points)
compared = 0
while not os.path.exists(sys.argv[1]):
    before, ours, after = (told(f()) for f in (importlib.metadata.entry_points, entrydb.entry_points,
                                               importlib.metadata.entry_points))
    if before == after:
        compared += 1
        assert ours == before, (ours, before)
print(compared)
"""
# Accelerated, in the state of its start.
ASKING = """
import importlib.metadata, os, sys
answers, asked = set(), 0
while not os.path.exists(sys.argv[1]):
    answers.add(tuple(sorted(e.name for e in importlib.metadata.entry_points(group="pytest11"))))
    asked += 1
assert answers == {("alpha", "beta", "gamma")}, answers
print(asked)
"""
VERSION = "import entrydb; print(entrydb.__version__)"
BOTH = """
import ctypes, entrydb, sys
library = ctypes.CDLL(sys.argv[1])
class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char_p), ("details", ctypes.c_void_p)]
library.entrydb_set_count.restype = ctypes.c_size_t
library.entrydb_set_get.restype = ctypes.c_void_p
library.entrydb_entry_point_name.restype = ctypes.c_char_p
paths, error = (ctypes.c_char_p * 1)(sys.argv[2].encode()), Error()
db, found = ctypes.c_void_p(), ctypes.c_void_p()
assert library.entrydb_open(paths, ctypes.c_size_t(1), None, ctypes.byref(db), ctypes.byref(error)) == 0
for _ in range(3):
    assert library.entrydb_select(db, b"pytest11", None, ctypes.byref(found), ctypes.byref(error)) == 0
    theirs = sorted(library.entrydb_entry_point_name(ctypes.c_void_p(library.entrydb_set_get(
        found, ctypes.c_size_t(i)))).decode() for i in range(library.entrydb_set_count(found)))
    library.entrydb_set_free(found)
    print(*theirs, "|", *sorted(entrydb.entry_points(group="pytest11").names))
library.entrydb_close(db)
"""


def renumbered(wheel, place):
    """A copy of the wheel with a later version."""
    [version] = re.findall(r"entrydb-([0-9.]+)-", os.path.basename(wheel))
    name = f"{place}/{os.path.basename(wheel).replace(version, NEXT_VERSION)}"
    info = f"entrydb-{version}.dist-info"
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(name, "w") as new:
        for member in old.infolist():
            content = old.read(member)
            if member.filename in (f"{info}/METADATA", "entrydb/__init__.py"):
                content = content.replace(version.encode(), NEXT_VERSION.encode())
            if member.filename == f"{info}/RECORD":
                content = re.sub(rb",sha256=[^,]*,\d*", b",,", content.replace(
                    info.encode(), info.replace(version, NEXT_VERSION).encode()))
            member.filename = member.filename.replace(info, info.replace(version, NEXT_VERSION))
            new.writestr(member, content)
    return name


class Wheels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        wheels.set_up()
        found = reference.interpreters()
        if not found:
            raise unittest.SkipTest("no CPython 3.10 or later that runs")
        cls.versions = [wheels.wheel(), renumbered(wheels.wheel(), wheels.scratch())]
        cls.venv = wheels.Environment(found[-1], cls.versions[0])
        cls.venv.entrydb("on")

    def start(self, code, *arguments, **variables):
        child = subprocess.Popen([self.venv.python, "-c", code, *arguments], text=True, cwd="/",
                                 env=wheels.clean_environment(**variables), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(support.end, child)
        return child

    def test_upgraded_while_programs_run(self):
        ends = f"{wheels.scratch()}/ends"
        running = [self.start(COMPARING, ends, ENTRYDB="0"), self.start(ASKING, ends)]
        starts = 0
        for number in range(INSTALLATIONS):
            wheel = self.versions[(number + 1) % 2]
            pip = subprocess.Popen([sys.executable, "-m", "pip", "--python", self.venv.python, "install",
                                    "--quiet", "--no-deps", "--no-index", "--force-reinstall", wheel],
                                   env=wheels.clean_environment(), text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.addCleanup(support.end, pip)
            while pip.poll() is None:
                self.assertEqual(self.venv.ask(), list(wheels.PLUGINS))  # and no message is printed
                starts += 1
            self.assertEqual(pip.returncode, 0, pip.stdout.read())
            self.assertIn(f"-{self.venv.ask(VERSION)[0]}-", wheel)
        support.write(ends, "")
        for child in running:
            said = child.communicate(timeout=support.SECONDS_ALLOWED)[0]
            self.assertEqual(child.returncode, 0, said)
            self.assertGreater(int(said), 10)
        self.assertGreater(starts, INSTALLATIONS)

    def test_beside_the_system_library(self):
        """Both libraries are loaded in one process."""
        said = wheels.run(self.venv.python, "-c", BOTH, relink(f"{wheels.scratch()}/{SONAME}", 2),
                          self.venv.site).stdout
        names = " ".join(wheels.PLUGINS)
        self.assertEqual(said.splitlines(), [f"{names} | {names}"] * 3)

    def test_beside_the_system_program(self):
        """Both programs update the same database in turn."""
        [own] = glob.glob(f"{self.venv.site}/entrydb/bin/entrydb")
        environment = support.environment(wheels.scratch())
        for number in range(4):
            add_distribution(self.venv.site, f"extra{number}")
            updates, lists = (own, support.PROGRAM) if number % 2 else (support.PROGRAM, own)
            for words in (("update", "--quiet", self.venv.prefix), ("verify", "--quiet", self.venv.prefix)):
                must(updates if words[0] == "update" else lists, *words, env=environment)
            listed = must(lists, "list", "--python", self.venv.interpreter.rules, "--path", self.venv.site,
                          env=environment)
            stock = self.venv.ask("import importlib.metadata as m; print(*[f'{e.group}\\t{e.name}' for d in "
                                  f"m.distributions(path=[{self.venv.site!r}]) for e in d.entry_points])",
                                  ENTRYDB="0")
            self.assertEqual(sorted(" ".join("\t".join(line.split("\t")[:2])
                                             for line in listed.splitlines()).split()), stock)


# --- another version of the schema ---

def next_release(place):
    """Build a next release from these sources, with an additional table."""
    shutil.copytree(TOP, f"{place}/sources", ignore=shutil.ignore_patterns("build*", ".git", "__pycache__"))
    for file, old, new in (("db/schema.sql", "PRAGMA user_version = 1;",
                            "PRAGMA user_version = 2;\nCREATE TABLE of_the_future (x TEXT) STRICT;"),
                           ("db/sql.h", "SQL_USER_VERSION   1u", "SQL_USER_VERSION   2u")):
        text = support.read(f"{place}/sources/{file}")
        if old not in text:
            raise AssertionError(f"{file}: no {old}")
        support.write(f"{place}/sources/{file}", text.replace(old, new))
    must("cmake", "-S", f"{place}/sources", "-B", f"{place}/build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
         "-DENTRYDB_FLEET=OFF")
    must("cmake", "--build", f"{place}/build", "--target", "entrydb_program", "entrydb")
    return f"{place}/build"


@unittest.skipUnless(LONG, "builds the next release: only with --long")
class OtherSchema(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.next = next_release(support.make_directory(cls))

    def setUp(self):
        super().setUp()
        for name in ("alpha", "beta"):
            self.install(name)
        self.programs = (support.PROGRAM, f"{self.next}/indexer/entrydb")
        self.libraries = (f"{BUILD}/libquery", f"{self.next}/libquery")
        self.stock = reference.start_workers(reference.interpreters()[-1:])[0]
        self.addCleanup(self.stock.close)

    def install(self, name):
        add_distribution(self.site, name, text=f"[demo]\n{name} = {name}:f\n")

    def asked(self, directory):
        """The answer of a host that uses the library of that directory."""
        done = subprocess.run([stress.READER, self.site, "4", "1"], capture_output=True, text=True,
                              env=self.environment(LD_LIBRARY_PATH=directory))
        self.assertEqual(done.returncode, 0, done.stderr)
        return {tuple(sorted(line.split()[2:])) for line in done.stdout.splitlines()}

    def run_of(self, program, *words, status=DONE):
        done = subprocess.run([program, *words], env=self.environment(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, status, f"{program} {words}: {done.stderr}")
        return done

    def check_answers(self):
        """The answers of both programs, and of hosts with each library."""
        rows = self.stock.ask("/", [self.site], [{}])[0]["rows"]
        expected = sorted([row[0], row[1], row[2]] for row in rows)
        for program in self.programs:
            listed = self.run_of(program, "list", "--path", self.site).stdout
            self.assertEqual(sorted(line.split("\t")[:3] for line in listed.splitlines()), expected)
        for directory in self.libraries:
            self.assertEqual(self.asked(directory),
                             {tuple(f"{name}={value}" for _, name, value in expected)})

    def test_older_with_newer(self):
        older, newer = self.programs
        self.run_of(newer, "update", self.prefix)
        before = support.read_bytes(self.database)
        self.check_answers()
        said = self.run_of(older, "update", self.prefix, status=COULD_NOT).stderr
        self.assertIn("made by a newer entrydb (version 2 of the database", said)
        self.install("late")
        self.check_answers()
        self.assertEqual(support.read_bytes(self.database), before)

    def test_newer_with_older(self):
        older, newer = self.programs
        self.run_of(older, "update", self.prefix)
        trail = events(self.database)
        self.check_answers()
        self.run_of(newer, "update", self.prefix)
        self.assertEqual(support.query(self.database, "PRAGMA user_version"), [(2,)])
        self.assertEqual(events(self.database)[:len(trail)], trail)
        self.check_answers()

    def test_under_load(self):
        """Hosts of both releases query while updates alternate the database's version."""
        stop, failures = threading.Event(), []

        def ask(directory):
            while not stop.is_set():
                try:
                    answers = self.asked(directory)
                except AssertionError as error:
                    answers = str(error)
                if answers != {("alpha=alpha:f", "beta=beta:f")}:
                    failures.append((directory, answers))
        hosts = [threading.Thread(target=ask, args=(directory,)) for directory in self.libraries]
        for host in hosts:
            host.start()
        try:
            for _ in range(20):
                for program in self.programs:
                    shutil.rmtree(os.path.dirname(self.database), ignore_errors=True)
                    self.run_of(program, "update", self.prefix)
                    time.sleep(0.1)
        finally:
            stop.set()
            for host in hosts:
                host.join()
        self.assertEqual(failures, [])


if __name__ == "__main__":
    support.main()
