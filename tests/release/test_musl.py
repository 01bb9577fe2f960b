#!/usr/bin/env python3
"""The sources compile with musl, the C library of Alpine Linux, and call no function that it lacks.

musl-gcc compiles them with the headers of the other libraries, which are not available for musl.
Therefore nothing is linked; instead, each undefined symbol must be in musl or have the prefix of one of
those libraries. The toml++ wrapper is left out, since there is no C++ library.

The long form builds those libraries, too (musl_libraries.py), links the program, the library and the
tests, and runs them.

    ENTRYDB_BUILD  the build directory, whose compile_commands.json names the sources
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest

import debian_root
import musl_libraries
import support
from support import TOP

BUILD = os.path.abspath(os.environ.get("ENTRYDB_BUILD") or f"{TOP}/build")
COMPILER = "musl-gcc"
OPTIONS = ("-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fPIC")
# Headers of the libraries missing for musl, and of the kernel.
HEADERS = ("archive.h", "archive_entry.h", "curl", "gelf.h", "libelf.h", "libpq-fe.h",
           "pg_config_ext.h", "postgres_ext.h", "sqlite3.h", "zconf.h", "zlib.h", "asm", "asm-generic",
           "linux", *filter(None, [sysconfig.get_config_var("MULTIARCH")]))  # Debian's directory of some Python headers
OTHER_LIBRARIES = re.compile(r"(?:archive|elf|gelf|sqlite3)_\w+|crc32\w*|inflate\w*"
                             r"|PQ\w+|curl_\w+|_?Py\w+|pyproject_\w+|_GLOBAL_OFFSET_TABLE_|__dso_handle")
# musl before 1.2.3 defines the 64-bit names with _GNU_SOURCE, later versions do not.
OLD_CONDITION = re.compile(r"#if defined\(_LARGEFILE64_SOURCE\) \|\| defined\(_GNU_SOURCE\)")
NEW_CONDITION = "#if defined(_LARGEFILE64_SOURCE)"

# Tests that cannot be built with static libraries, or that examine the libraries themselves.
NO_CXX_LIBRARY = ("pjrt_host_cxx",)
LIBRARIES_INSIDE = ("api-abi",)
SECONDS_ALLOWED = 3600


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout


def header_directory():
    """The directory of musl's headers."""
    done = subprocess.run([COMPILER, "-E", "-v", "-x", "c", "/dev/null"], check=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return next(line.strip() for line in done.stderr.splitlines()
                if line.startswith(" /") and os.path.exists(f"{line.strip()}/stdio.h"))


def sources():
    """The compiled sources of the program, the library and the archive module."""
    with open(f"{BUILD}/compile_commands.json", encoding="utf-8") as stream:
        files = {row["file"] for row in json.load(stream)}
    tops = "|".join(re.escape(os.path.realpath(top)) for top in (BUILD, TOP))
    rooms = re.compile(rf"(?:{tops})/(?:db|libquery|indexer)/.*\.c")
    return sorted(file for file in files if rooms.fullmatch(os.path.realpath(file)))


def symbols(which, *files):
    lines = output("nm", which, "--format=posix", *files).splitlines()
    return {line.split()[0] for line in lines if " " in line}


class Musl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which(COMPILER):
            raise unittest.SkipTest(f"no {COMPILER}")
        cls.scratch = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.include = f"{cls.scratch}/include"
        cls.copy_headers_of_musl()
        cls.link_other_headers()

    @classmethod
    def copy_headers_of_musl(cls):
        shutil.copytree(header_directory(), cls.include)
        for path in glob.glob(f"{cls.include}/**/*.h", recursive=True):
            text = support.read(path)
            support.write(path, OLD_CONDITION.sub(NEW_CONDITION, text))

    @classmethod
    def link_other_headers(cls):
        places = ["/usr/include", "/usr/include/postgresql",
                  f"/usr/include/{output('cc', '-print-multiarch').strip()}"]
        for name in HEADERS:
            found = [f"{place}/{name}" for place in places if os.path.exists(f"{place}/{name}")]
            if found:  # optional libraries may be missing, and their sources are then not compiled
                os.symlink(found[0], f"{cls.include}/{name}")

    def compile(self, source, number):
        target = f"{self.scratch}/{number}.o"
        done = subprocess.run([COMPILER, *OPTIONS, "-isystem", self.include, f"-I{TOP}",
                               "-DPy_LIMITED_API=0x030a0000", "-isystem", sysconfig.get_path("include"),
                               f"-I{TOP}/libquery",  # included by the example as installed
                               "-c", "-o", target, source], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        return target

    def library_of_musl(self):
        """The path of musl's libc.a, from a link: -print-file-name names that of the GNU C library."""
        source = self.write("empty.c", "int main(void) { return 0; }\n")
        trace = output(COMPILER, "-static", "-Wl,--trace", "-o", f"{self.scratch}/empty", source)
        return re.search(r"\S*/libc\.a", trace)[0]

    def write(self, name, text):
        support.write(f"{self.scratch}/{name}", text)
        return f"{self.scratch}/{name}"

    def test_all_sources(self):
        objects = [self.compile(source, number) for number, source in enumerate(sources())]
        self.assertGreater(len(objects), 50)
        known = symbols("--defined-only", *objects, self.library_of_musl())
        wanted = symbols("--undefined-only", *objects) - known
        self.assertEqual([name for name in sorted(wanted) if not OTHER_LIBRARIES.fullmatch(name)],
                         [])

    def test_missing_function_is_detected(self):
        """A premise of the test above."""
        source = self.write("planted.c", "#include <string.h>\nconst char *text(void);\n"
                                         "const char *text(void) { return strerrordesc_np(1); }\n")
        with self.assertRaisesRegex(AssertionError, "strerrordesc_np"):
            self.compile(source, "planted")


@unittest.skipUnless("ENTRYDB_TEST_LONG" in os.environ, "builds libraries for musl: only with --long")
class Linked(unittest.TestCase):
    """Linked like on Alpine Linux, except for the other libraries."""

    @classmethod
    def setUpClass(cls):
        reason = musl_libraries.reason_to_skip()
        if reason:
            raise unittest.SkipTest(reason)
        cls.build = f"{TOP}/build-tests/musl"
        musl_libraries.configure(cls.build)
        done = debian_root.run(["cmake", "--build", cls.build, "--", "-k", "0"], timeout=SECONDS_ALLOWED)
        said = debian_root.text_of(done)
        failed = re.findall(r"(?m)^FAILED: (?:\[[^]]*\] )?(\S+)", said)
        unexpected = [path for path in failed if not any(each in path for each in NO_CXX_LIBRARY)]
        if unexpected:
            raise AssertionError(f"{unexpected}: {said[-4000:]}")

    def test_linked_with_musl(self):
        said = output("readelf", "-ldW", f"{self.build}/indexer/entrydb")
        self.assertIn("/lib/ld-musl-", said)
        self.assertEqual(re.findall(r"NEEDED.*\[(.*)\]", said), ["libc.so"])

    def test_unit_and_api(self):
        done = debian_root.run(["ctest", "--test-dir", self.build, "--output-on-failure", "--no-tests=error",
                                "-E", f"^({'|'.join(LIBRARIES_INSIDE)})$"], timeout=SECONDS_ALLOWED)
        self.assertEqual(done.returncode, 0, debian_root.text_of(done)[-6000:])

    def test_commands(self):
        environment = {**os.environ, "PYTHONPATH": support.LIB, "ENTRYDB": f"{self.build}/indexer/entrydb", "ENTRYDB_BUILD": self.build,
                       "ENTRYDB_TEST_PLUGINS": f"{self.build}/tests/fixtures"}
        for script in ("test_commands.py", "test_bad_input.py", "test_escaping.py"):
            with self.subTest(script):
                done = debian_root.run([sys.executable, f"{TOP}/tests/cli/{script}"], env=environment)
                self.assertEqual(done.returncode, 0, debian_root.text_of(done)[-6000:])


if __name__ == "__main__":
    support.main()
