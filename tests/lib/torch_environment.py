"""A virtual environment with torch and the Python package, and runs of programs in it.

The environment without plugins is built once and cached (tests/lib/package_cache.py). Each test
module uses a hard-linked copy, in which entrydb is installed as a wheel and switched on, as a user
would do it. ENTRYDB_TEST_TORCH names another requirement, such as "torch==2.14.1"; the default is a
CPU-only build, and the tests are skipped if pip finds none, since others are gigabytes. Run as a
script, it fills the cache and prints the requirement.
"""

import functools
import os
import re
import shutil
import subprocess
import tempfile
import textwrap
import unittest
from typing import NamedTuple

import archives
import package
import package_cache
import reference
import wheels
from support import TOP, remove_tree

TORCH = os.environ.get("ENTRYDB_TEST_TORCH") or "torch==2.13.0+cpu"
BESIDE = ("numpy", "setuptools")  # torch warns without numpy, and builds extensions with setuptools
CUSTOMERS = "customers-requirements.txt"
SECONDS_ALLOWED = 300

# Output that varies between runs: addresses, and the time and process in torch's log.
PASSING = ((re.compile(r"0x[0-9a-f]{6,}"), "0x..."),
           (re.compile(r"\b([VIWE])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ "), r"\1<time> <process> "))


# --- the cache ---

def kept_torch():
    """The environment with torch, without plugins."""
    name = re.sub(r"[^\w.+-]+", "-", TORCH)
    return kept(name, [TORCH, *BESIDE]) or unavailable(
        f"{TORCH} for the CPythons here; PIP_EXTRA_INDEX_URL may name PyTorch's index of builds for the CPU")


def kept_customers():
    """An environment with other programs that load plugins; its versions need newer CPythons."""
    name = f"customers-{package_cache.fixture_key(CUSTOMERS)}"
    fixture = ["--no-deps", "-r", f"{package_cache.FIXTURES}/{CUSTOMERS}"]
    return kept(name, fixture, oldest=12) or unavailable(f"what {CUSTOMERS} names")


def unavailable(what):
    raise unittest.SkipTest(f"pip finds no {what}")


def kept(name, arguments, oldest=10):
    """A virtual environment in which pip has installed the arguments; None if it cannot.

    It uses the newest CPython that pip finds them for and that the Python package accelerates.
    """
    found = [each for each in reference.one_per_minor(reference.interpreters())[::-1]
             if [3, oldest] <= reference.version_key(each.version) < [3, 14]]
    places = {f"{package_cache.cache_directory()}/{name}-{each.rules}": each for each in found}
    there = [place for place in places if os.path.isdir(place)]
    return next((place for place in there or places
                 if package_cache.publish(functools.partial(build, places[place], arguments), place)), None)


def build(interpreter, arguments, place):
    subprocess.run([interpreter.executable, "-I", "-m", "venv", place], check=True)
    return package_cache.pip_ran(f"{place}/bin/python", "install", "--only-binary", ":all:", *arguments,
                                 quiet=True)


# --- copies ---

environment = None  # of the test module that runs


def set_up(kept_place=kept_torch):
    """For setUpModule."""
    global environment
    wheels.set_up()
    environment = Environment(kept_place())


def link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


class Reply(NamedTuple):
    """The result of a process."""
    status: int
    out: str
    err: str
    answered_by: dict  # "Answer: database" -> count; see tests/python/start

    @property
    def shown(self):
        """The part that must be the same with and without acceleration."""
        return self.status, self.out, self.err


class Environment:
    """A copy with entrydb switched on; it must be on the same file system, for hard links."""

    def __init__(self, kept):
        self.scratch = tempfile.mkdtemp(prefix=".torch-", dir=os.path.dirname(kept))
        unittest.addModuleCleanup(remove_tree, self.scratch)
        self.prefix = f"{self.scratch}/venv"
        self.python = f"{self.prefix}/bin/python"
        self.program = f"{self.prefix}/bin/entrydb"
        self.report = f"{self.scratch}/report"
        self.wheels = f"{self.scratch}/wheels"
        os.makedirs(self.wheels)
        shutil.copytree(kept, self.prefix, symlinks=True, copy_function=link_or_copy)
        [version] = os.listdir(f"{self.prefix}/lib")
        self.site = f"{self.prefix}/lib/{version}/site-packages"
        self.pip("install", wheels.wheel())
        self.must(self.python, "-m", "entrydb", "on")

    def variables(self, accelerated=True, **more):
        """accelerated: by the .pth file that `on` installs; tests/python/start counts the answers."""
        how = ({"PYTHONPATH": package.START, "ENTRYDB_TEST_REPORT": self.report}
               if accelerated else {"ENTRYDB": "0"})
        always = {"PATH": f"{self.prefix}/bin:/usr/bin:/bin", "HOME": f"{self.scratch}/home",
                  "XDG_STATE_HOME": f"{self.scratch}/state", "TMPDIR": self.scratch,
                  "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
        return wheels.clean_environment(**(always | how | more))

    def run(self, *command, accelerated=True, input="", **variables):
        done = subprocess.run(command, env=self.variables(accelerated, **variables), text=True,
                              cwd=self.scratch, input=input, capture_output=True,
                              timeout=SECONDS_ALLOWED)
        return Reply(done.returncode, normal(done.stdout), normal(done.stderr), package.take_counts(self.report))

    def must(self, *command, **how):
        reply = self.run(*command, **how)
        if reply.status:
            raise AssertionError(f"{command}: status {reply.status}\n{reply.out}{reply.err}"[:5000])
        return reply

    def compare(self, test, *command, status=0, asks=("Answer",), **variables):
        """Run the command with and without acceleration: the results must be equal, and the database must
        have answered its queries, "Answer" by entry_points() and "Walk" by distribution."""
        plain = self.run(*command, accelerated=False, **variables)
        found = self.run(*command, **variables)
        test.assertEqual(plain.status, status, plain.err)
        test.assertEqual(found.shown, plain.shown)
        test.assertEqual(plain.answered_by, {})
        test.assertNotIn("Answer: python", found.answered_by)
        test.assertLessEqual({f"{each}: database" for each in asks}, set(found.answered_by))
        return found

    def entrydb(self, *arguments, **how):
        return self.run(self.program, *arguments, **how)

    def pip(self, command, *arguments, **variables):
        quiet = ("--yes",) if command == "uninstall" else ("--no-index", "--no-deps")
        return self.must(self.python, "-m", "pip", command, *quiet, *arguments, **variables)

    def wheel(self, name, files, entry_points):
        """files: path -> content."""
        return archives.write_wheel(self.wheels, name, files, entry_points)

    def installed(self, test, *paths):
        """Install wheels for the duration of a test."""
        self.pip("install", *paths)
        names = [os.path.basename(path).partition("-")[0] for path in paths]
        test.addCleanup(self.pip, "uninstall", *names)


class EnvironmentTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.environment = environment

    def install(self, name, files, entry_points):
        """Install a distribution for the duration of the test."""
        self.environment.installed(self, self.environment.wheel(name, files, entry_points))

    def plugin(self, name, group, value, source, entry=None):
        """Install a distribution of one module with one entry point, likewise."""
        self.install(name, {f"{name}/__init__.py": textwrap.dedent(source)},
                     f"[{group}]\n{entry or name} = {value}\n")

    def script(self, source, *arguments, **how):
        """Compare the results of a Python program."""
        path = f"{self.environment.scratch}/program.py"
        wheels.write(path, textwrap.dedent(source))
        return self.environment.compare(self, self.environment.python, path, *arguments, **how)


def normal(text):
    for pattern, replacement in PASSING:
        text = pattern.sub(replacement, text)
    return text


def main():
    """Fill the cache before tests run in parallel."""
    for keep, instead in ((kept_torch, package_cache.skip), (kept_customers, print)):
        try:
            print(keep())
        except unittest.SkipTest as reason:
            instead(reason)


if __name__ == "__main__":
    main()
