#!/usr/bin/env python3
"""Programs compiled against an earlier library work with this one.

tests/fixtures/released/libentrydb.so.N.abi describes the library and its header, by abidw. Nothing is
released yet, so it describes the coming release. Additions are allowed; removals, and changes that
affect compiled programs, need a new N: the SOVERSION in libquery/CMakeLists.txt.

A copy of the released header, and a program host.c, are stored with it: the program is compiled with
that header and runs with the current library.

    test_abi.py --record   writes them: when SOVERSION grows, and for each release

    ENTRYDB        the program
    ENTRYDB_BUILD  the build directory
"""

import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import support
from support import TOP

BUILD = os.path.abspath(os.environ.get("ENTRYDB_BUILD") or f"{TOP}/build")
LIBRARY = f"{BUILD}/libquery/libentrydb.so"
HEADER = f"{TOP}/libquery/entrydb.h"
RECORDS = f"{TOP}/tests/fixtures/released"
# Omit paths of the build machine and internal types.
PLAIN = ("--no-architecture", "--no-corpus-path", "--no-comp-dir-path", "--short-locs",
         "--no-elf-needed", "--no-parameter-names", "--exported-interfaces-only",
         "--drop-private-types", "--drop-undefined-syms", "--type-id-style", "hash")
# Option structures begin with their size, which tells the library the fields that a caller knows.
MAY_GROW = """[suppress_type]
  type_kind = struct
  name_regexp = ^\\\\w+_options$
  has_data_member_inserted_at = end
"""
BREAK = "SOVERSION in libquery/CMakeLists.txt must grow"

# A small library for the tests of the comparison.
BEFORE = """
enum colour { RED = 1, BLUE = 2 };
struct box { int width; int height; };
struct open_options { unsigned long size; int first; };
int box_area(const struct box *box, enum colour colour);
int box_open(const struct open_options *options);
int box_area(const struct box *box, enum colour colour) { return box->width * (int)colour; }
int box_open(const struct open_options *options) { return options->first; }
"""
ADDITIONS = {
    "a function": (BEFORE, BEFORE + "int box_new(void);\nint box_new(void) { return 0; }\n"),
    "a member of an enumeration": ("BLUE = 2 ", "BLUE = 2, GREEN = 3 "),
    "an option": ("int first;", "int first; int second;"),
}
BREAKS = {
    "a function is gone": ("int box_open", "static __attribute__((unused)) int box_open"),
    "another type of an argument": ("enum colour colour)", "long long colour)"),
    "an argument more": ("enum colour colour)", "enum colour colour, int more)"),
    "another answer": ("int box_area", "long box_area"),
    "members in another order": ("int width; int height;", "int height; int width;"),
    "a larger structure": ("int height;", "int height; int depth;"),
    "another value of a constant": ("BLUE = 2", "BLUE = 3"),
    "an option before others": ("int first;", "int zeroth; int first;"),
}


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def soname(library):
    return re.search(r"\(SONAME\).*\[(.*)\]", run("readelf", "-dW", library).stdout)[1]


@contextlib.contextmanager
def alone(header):
    """A directory with only that header: types from elsewhere are private."""
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(header, directory)
        yield directory


def record(library, header, file):
    with alone(header) as headers:
        done = run("abidw", *PLAIN, "--headers-dir", headers, "--out-file", file, library)
    if done.returncode:
        raise RuntimeError(done.stdout)


def difference(file, library, header):
    """The incompatible changes since that record; empty if there are none."""
    with alone(header) as headers, tempfile.NamedTemporaryFile("w", suffix=".txt") as suppressions:
        suppressions.write(MAY_GROW)
        suppressions.flush()
        done = run("abidiff", "--no-architecture", "--no-added-syms", "--suppressions",
                   suppressions.name, "--headers-dir2", headers, file, library)
    return done.stdout if done.returncode else ""


def reason_to_skip():
    missing = [tool for tool in ("abidw", "abidiff", "readelf") if not shutil.which(tool)]
    if missing:
        return f"no {' and no '.join(missing)}"
    if not os.path.exists(LIBRARY):
        return "the shared library is not built"
    if "__asan_init" in run("nm", "-D", LIBRARY).stdout:
        return "sanitizers add symbols of their own"
    if sys.maxsize < 2 ** 63 - 1:
        return "the record is of a machine with 64 bits"
    return None


class AbiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = reason_to_skip()
        if reason:
            raise unittest.SkipTest(reason)
        cls.scratch = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.scratch)


class Library(AbiTest):
    def test_compatible(self):
        """After a change of SOVERSION there is no record of that name, and incompatible changes are allowed."""
        file = f"{RECORDS}/{soname(LIBRARY)}.abi"
        self.assertTrue(os.path.exists(file), f"{file} is missing: {__file__} --record writes it")
        self.assertEqual(difference(file, LIBRARY, HEADER), "", BREAK)

    def test_newest_record(self):
        """The newest record has the current SOVERSION."""
        numbers = [int(name.rsplit(".", 2)[1]) for name in glob.glob(f"{RECORDS}/libentrydb.so.*.abi")]
        self.assertEqual(soname(LIBRARY), f"libentrydb.so.{max(numbers)}")

    def test_incompatible_records(self):
        """Records with an additional function, another argument or a smaller structure are incompatible."""
        text = support.read(f"{RECORDS}/{soname(LIBRARY)}.abi")
        closes = re.search(r"<function-decl name='entrydb_close'.*?</function-decl>", text, re.DOTALL)[0]
        other = closes.replace("type-id='", "type-id='" + self.type_of("entrydb_set_count", text) + "' was='")
        error = re.search(r"<class-decl name='entrydb_error' size-in-bits='(\d+)'", text)
        smaller = error[0].replace(error[1], str(int(error[1]) - 64))
        for planted, where in ((text.replace("name='entrydb_close'", "name='entrydb_shut'"), "entrydb_shut"),
                               (text.replace(closes, other), "entrydb_close"),
                               (text.replace(error[0], smaller), "type size changed")):
            self.assertNotEqual(planted, text)
            file = f"{self.scratch}/planted.abi"
            support.write(file, planted)
            self.assertIn(where, difference(file, LIBRARY, HEADER))

    @staticmethod
    def type_of(function, text):
        """The type of the function's first argument."""
        return re.search(rf"<function-decl name='{function}'.*?<parameter type-id='(\w+)'", text,
                         re.DOTALL)[1]


class OldProgram(support.CommandTest, AbiTest):
    """A program compiled with the released header."""

    def compile(self, header):
        program = f"{self.top}/host"
        with alone(header) as headers:
            done = run(os.environ.get("CC") or "cc", "-std=c99", "-Wall", "-Werror", f"-I{headers}",
                       "-o", program, f"{RECORDS}/{soname(LIBRARY)}/host.c", LIBRARY)
        self.assertEqual(done.returncode, 0, done.stdout)
        return program

    def ask(self, program):
        return subprocess.run([program, self.site, "g"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, env=self.environment(LD_LIBRARY_PATH=os.path.dirname(LIBRARY)))

    def install(self):
        shutil.copy(f"{BUILD}/tests/fixtures/native.so", self.site)
        support.write(f"{self.site}/one.py", "")
        support.add_distribution(self.site, "one", text="[g]\na = native:entry\nb = one:main\n",
                                 RECORD="native.so,,\none.py,,\n")

    def test_runs(self):
        self.install()
        program = self.compile(f"{RECORDS}/{soname(LIBRARY)}/entrydb.h")
        for _ in range(2):  # not indexed, then indexed
            done = self.ask(program)
            self.assertEqual((done.stdout, done.stderr, done.returncode), (
                "a = native:entry of one: 42, accepted 1\nb = one:main of one: needs Python\n", "", 0))
            self.update()

    def test_incompatible_programs(self):
        """A program compiled with another structure or other constants fails."""
        self.install()
        text = support.read(f"{RECORDS}/{soname(LIBRARY)}/entrydb.h")
        for old, new in (("ENTRYDB_EPYTHON = -8,", "ENTRYDB_EPYTHON = -80,"),
                         ("entrydb_accept *accept; /* or NULL */\n\tvoid *payload;",
                          "void *payload;\n\tentrydb_accept *accept;"),
                         ("sizeof(entrydb_load_options), 0, NULL, NULL", "9, 0, NULL, NULL")):
            with self.subTest(old):
                self.assertIn(old, text)
                os.makedirs(f"{self.top}/planted", exist_ok=True)
                support.write(f"{self.top}/planted/entrydb.h", text.replace(old, new))
                self.assertNotEqual(self.ask(self.compile(f"{self.top}/planted/entrydb.h")).returncode, 0)


class Comparison(AbiTest):
    """The comparison allows additions and detects incompatible changes."""

    def build(self, text, place):
        """Build a library with that header; returns both."""
        header, library = f"{self.scratch}/{place}/box.h", f"{self.scratch}/{place}/box.so"
        os.makedirs(os.path.dirname(header), exist_ok=True)
        support.write(header, text)
        done = run(os.environ.get("CC") or "cc", "-g", "-shared", "-fPIC", "-Wl,-soname,box.so.0",
                   "-include", header, "-x", "c", "-o", library, "/dev/null")
        self.assertEqual(done.returncode, 0, done.stdout)
        return library, header

    def differences(self, changes):
        file = f"{self.scratch}/before.abi"
        record(*self.build(BEFORE, "before"), file)
        for what, (old, new) in changes.items():
            self.assertIn(old, BEFORE)
            yield what, difference(file, *self.build(BEFORE.replace(old, new), "after"))

    def test_no_change(self):
        for what, found in self.differences({"nothing": ("", "")}):
            self.assertEqual(found, "", what)

    def test_additions(self):
        for what, found in self.differences(ADDITIONS):
            with self.subTest(what):
                self.assertEqual(found, "")

    def test_incompatible_changes(self):
        for what, found in self.differences(BREAKS):
            with self.subTest(what):
                self.assertNotEqual(found, "")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record(LIBRARY, HEADER, f"{RECORDS}/{soname(LIBRARY)}.abi")
        place = f"{RECORDS}/{soname(LIBRARY)}"
        if not os.path.isdir(place):
            shutil.copytree(max(glob.glob(f"{RECORDS}/libentrydb.so.*[0-9]"), key=os.path.getmtime), place)
        shutil.copy(HEADER, place)
    else:
        support.main()
