#!/usr/bin/env python3
"""The examples in the READMEs work.

The sessions in README.md are run on a terminal, in a home of their own and without network, with
substitutes of the same names, versions and entry points for the packages that they install. The
output must be as shown; only numbers of distributions, times and the version of Python may differ. The
C program is compiled, the Python code is run. The files named in any README must exist.

    ENTRYDB_BUILD           the build directory, from which entrydb is installed
    ENTRYDB_TEST_PLUGINS    the compiled plugins of tests/fixtures/plugins
    ENTRYDB_PYTHON_PACKAGE  the Python package; without it, the lines of Python are skipped
"""

import glob
import os
import re
import shutil
import subprocess
import unittest

import application
import archives
import support
from application import CXX, TOP, WARNINGS, run
from support import read

README = f"{TOP}/README.md"
HOME = "/home/ann"   # the user of the sessions
MOST_LINES = 150     # a front page must be short enough to be read
SECONDS_ALLOWED = 300
PROMPT = "$ "
NEXT = "--- next command ---"

PACKAGES = [  # name, version, entry points, module
    ("pytest_cov", "6.0.0", "[pytest11]\npytest_cov = pytest_cov.plugin\n", "pytest_cov/plugin.py"),
    ("pytest_mock", "3.14.0", "[pytest11]\npytest_mock = pytest_mock\n", "pytest_mock/__init__.py"),
]

# Parts that differ between machines, and their replacements for the comparison.
UNSTABLE = [
    (r"python3\.\d+", "python3.N"),
    (r"\b\d+ (site directories|distributions|added|changed|removed|broken)", r"N \1"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME"),
    (r"[\t ]+", " "),  # column widths depend on their contents
]


def readmes():
    """All READMEs except those in build directories."""
    found = glob.glob("**/README.md", root_dir=TOP, recursive=True)
    return [f"{TOP}/{path}" for path in found if not path.startswith("build")]


def blocks(language):
    """The fenced code blocks of a language in README.md."""
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", read(README))


def steps(session):
    """(command, output) for each command of a session."""
    found = []
    for line in session.splitlines():
        if line.startswith(PROMPT):
            found.append([line[len(PROMPT):], []])
        elif found[-1][0].endswith("\\"):
            found[-1][0] += f"\n{line}"
        else:
            found[-1][1].append(line)
    return found


def comparable(lines):
    """The lines without parts that differ between machines; listings are in any order."""
    text = "\n".join(lines)
    for pattern, replacement in UNSTABLE:
        text = re.sub(pattern, replacement, text)
    return sorted(line.strip() for line in text.splitlines())


def read_some(terminal):
    """Read from a terminal; nothing if its other end is closed."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


class ReadmeTest(unittest.TestCase):
    """A new home in which entrydb is installed and pip finds the substitutes."""

    @classmethod
    def setUpClass(cls):
        cls.installed = application.Installation(cls)
        cls.wheels = f"{cls.installed.top}/wheels"
        os.mkdir(cls.wheels)
        with open(f"{os.environ['ENTRYDB_TEST_PLUGINS']}/pjrt_good.so", "rb") as stream:
            archives.write_wheel(cls.wheels, "pjrt-good", {"jax_plugins/good.so": stream.read()},
                                 "[jax_plugins]\ngood = jax_plugins.good:GetPjrtApi\n")
        for name, version, entry_points, module in PACKAGES:
            archives.write_wheel(cls.wheels, name.replace("_", "-"), {module: b""}, entry_points,
                                 version)

    def setUp(self):
        self.home = f"{self.installed.top}/home"
        os.mkdir(self.home)
        self.addCleanup(shutil.rmtree, self.home)
        self.environment = {**self.installed.environment, "HOME": self.home,
                            "PATH": f"{self.installed.prefix}/bin:{os.environ['PATH']}",
                            "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": self.wheels,
                            "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def type(self, script):
        """The terminal's output of a shell script."""
        ours, theirs = os.openpty()
        with subprocess.Popen(["timeout", str(SECONDS_ALLOWED), "bash", "-c", script],
                              env={**self.environment, "NO_COLOR": "1"}, cwd=self.home,
                              stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs):
            os.close(theirs)
            shown = b"".join(iter(lambda: read_some(ours), b""))
        os.close(ours)
        return shown.decode().replace("\r\n", "\n").replace(self.home, HOME)

    def play(self, session):
        """Run the commands in one shell and compare their output."""
        shown = steps(session)
        script = "\n".join(f"echo '{NEXT}'\n{command}" for command, _ in shown)
        printed = self.type(script).split(f"{NEXT}\n")[1:]
        self.assertEqual(len(printed), len(shown))
        for (command, expected), lines in zip(shown, printed):
            self.assertEqual(comparable(expected), comparable(lines.splitlines()), command)

    def make_environment(self, *packages):
        """Create an environment; sets the variables of its activation."""
        venv = f"{self.home}/venv"
        run("python3", "-m", "venv", venv, env=self.environment)
        run(f"{venv}/bin/pip", "install", "-q", *packages, env=self.environment)
        return {"VIRTUAL_ENV": venv}

    def test_session(self):
        self.play(blocks("console")[0])

    def test_cxx(self):
        [source] = blocks("cpp")
        support.write(f"{self.home}/host.cpp", source)
        self.environment.update(self.make_environment("pjrt-good"))
        self.play(blocks("console")[1])
        run(*CXX, "-std=c++11", *WARNINGS, "-Wno-shadow", "-o", f"{self.home}/host", f"{self.home}/host.cpp",
            *self.installed.pkg_config("--cflags", "--libs"))

    def test_python(self):
        package = os.environ.get("ENTRYDB_PYTHON_PACKAGE")
        if not package or not os.path.exists(f"{package}/entrydb/__init__.py"):
            self.skipTest("no Python package is built; ENTRYDB_PYTHON_PACKAGE names one")
        self.make_environment("pytest-cov", "pytest-mock")
        [source] = blocks("python")
        for _ in range(2):  # not indexed, then indexed
            printed = run(f"{self.home}/venv/bin/python", "-c", source,
                          env={**self.environment, "PYTHONPATH": package})
            self.assertEqual(sorted(printed.splitlines()),
                             ["pytest_cov pytest_cov.plugin 6.0.0", "pytest_mock pytest_mock 3.14.0"])
            run(f"{self.installed.prefix}/bin/entrydb", "update", "--quiet", f"{self.home}/venv",
                env=self.environment)

    def test_length(self):
        self.assertLessEqual(len(read(README).splitlines()), MOST_LINES)


class Names(unittest.TestCase):
    """The references of READMEs and manual pages exist."""

    def test_links(self):
        for readme in readmes():
            for target in re.findall(r"\]\(([^)#:]+)\)", read(readme)):
                with self.subTest(readme=readme, link=target):
                    self.assertTrue(os.path.exists(f"{os.path.dirname(readme)}/{target}"))

    def test_files(self):
        """Text in backticks that begins with a folder of this tree, or of the README, is an existing path."""
        named = 0
        for readme in readmes():
            places = (TOP, os.path.dirname(readme))
            for name in re.findall(r"`([\w.-]+/[\w./-]*)", read(readme)):
                if not any(os.path.isdir(f"{place}/{name.split('/')[0]}") for place in places):
                    continue
                named += 1
                with self.subTest(readme=readme, file=name):
                    self.assertTrue(any(os.path.exists(f"{place}/{name}") for place in places))
        self.assertGreater(named, 10)

    def test_manual_pages(self):
        """entrydb(5) in a README, .Xr entrydb 5 in a manual page."""
        pages = glob.glob(f"{TOP}/*/man/*.[1-9]")
        installed = {tuple(os.path.basename(page).rsplit(".", 1)) for page in pages}
        for file in readmes() + pages:
            text = read(file)
            for page in re.findall(r"\b((?:lib)?entrydb[a-z-]*)\((\d)\)", text) + re.findall(
                    r"(?m)^\.Xr ((?:lib)?entrydb\S*) (\d)", text):
                with self.subTest(file=file, page=page):
                    self.assertIn(page, installed)


if __name__ == "__main__":
    support.main()
