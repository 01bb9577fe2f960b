#!/usr/bin/env python3
"""The program example.c, and the one in the header's comment, work.

A wheel with a compiled plugin is built and installed by pip into a virtual environment. The examples
are compiled in all the ways in which applications find the library. They must find and call the
plugin, before and after `entrydb update`.

    ENTRYDB                the program
    ENTRYDB_BUILD          the build directory, from which the library is installed
    ENTRYDB_TEST_PLUGINS   the compiled plugins of tests/fixtures/plugins
    CC, CMAKE              default: cc, cmake
"""

import os
import shutil
import subprocess
import sys
import unittest

import application
import support
from application import CC, TOP, WARNINGS, run

EXAMPLE = f"{TOP}/libquery/man/example.c"

PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(application LANGUAGES C)
find_package(entrydb 0.1 REQUIRED)
add_executable(application {source})
target_link_libraries(application PRIVATE entrydb::entrydb)
"""


def example_of_the_header():
    """The program in the comment at the top of entrydb.h."""
    comment = support.read(f"{TOP}/libquery/entrydb.h").split("*/")[0]
    lines = [line[3:] for line in comment.split("\n") if line.startswith(" * ") or line == " *"]
    code = [line[4:] for line in lines if line.startswith("    ") or not line]
    begin = next(i for i, line in enumerate(code) if line.startswith("#include"))
    end = next(i for i, line in enumerate(code) if line == "}")
    return "\n".join(code[begin:end + 1]) + "\n"


class ExampleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = application.Installation(cls)
        cls.top = cls.installed.top
        cls.environment = cls.installed.environment
        cls.venv = f"{cls.top}/venv"
        wheel = application.build_wheel(cls.top)
        run(sys.executable, "-m", "venv", cls.venv, env=cls.environment)
        run(f"{cls.venv}/bin/pip", "install", "--no-index", "--no-deps", "--quiet", wheel,
            env=cls.environment)

    def tearDown(self):
        shutil.rmtree(f"{self.venv}/var", ignore_errors=True)

    def compile(self, source, *libraries):
        program = f"{self.top}/program"
        run(*CC, "-std=c99", *WARNINGS, "-o", program, source, *libraries)
        return program

    def ask(self, program, *arguments):
        environment = {**self.environment, "VIRTUAL_ENV": self.venv}
        return subprocess.run([program, *arguments], env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)

    def check(self, program):
        for _ in range(2):  # not indexed, then indexed
            done = self.ask(program, "example.plugins", "deep-thought")
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (0, "deep-thought answers 42\n", ""))
            run(os.environ["ENTRYDB"], "update", "--quiet", self.venv, env=self.environment)
        self.assertTrue(os.path.exists(f"{self.venv}/var/lib/entrydb/entry_points.db"))

    def test_pkg_config(self):
        self.check(self.compile(EXAMPLE, *self.installed.pkg_config("--cflags", "--libs")))

    def test_static(self):
        flags = [f"{self.installed.library}/libentrydb.a" if flag == "-lentrydb" else flag
                 for flag in self.installed.pkg_config("--static", "--cflags", "--libs")]
        program = self.compile(EXAMPLE, *flags)
        self.assertNotIn("libentrydb", run("ldd", program))
        self.check(program)

    def test_find_package(self):
        build = f"{self.top}/build"
        os.makedirs(f"{self.top}/project", exist_ok=True)
        support.write(f"{self.top}/project/CMakeLists.txt", PROJECT.format(source=EXAMPLE))
        cmake = os.environ.get("CMAKE", "cmake")
        run(cmake, "-S", f"{self.top}/project", "-B", build, f"-DCMAKE_PREFIX_PATH={self.installed.prefix}")
        run(cmake, "--build", build)
        self.check(f"{build}/application")

    def test_messages(self):
        program = self.compile(EXAMPLE, *self.installed.pkg_config("--cflags", "--libs"))
        for arguments, part in [
            ([], "no such plugin"),
            (["example.plugins", "shallow-thought"], "no such plugin"),
            (["example.plugins", "pure"], "pure = deep_thought:main"),
        ]:
            done = self.ask(program, *arguments)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(part, done.stderr)

    def test_header_comment(self):
        source = f"{self.top}/header.c"
        support.write(source, example_of_the_header())
        program = self.compile(source, *self.installed.pkg_config("--cflags", "--libs"))
        for _ in range(2):
            done = self.ask(program)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("deep-thought", done.stdout.split("\n"))
            run(os.environ["ENTRYDB"], "update", "--quiet", self.venv, env=self.environment)

    def test_length(self):
        with open(EXAMPLE, encoding="utf-8") as file:
            self.assertLessEqual(len(file.readlines()), 25)


if __name__ == "__main__":
    support.main()
