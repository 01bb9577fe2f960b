"""Real programs print the same and end with the same status, accelerated or not.

They are unchanged, in an environment of tests/fixtures/programs-requirements.txt that
entrydb has indexed, and accelerated from outside (tests/python/start). What each of
them asked is counted: where a program looks for entry points, the database must have
answered.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import package
import package_cache
import reference
import support
from package_cache import pip_ran
from support import remove_tree

FIXTURE = "programs-requirements.txt"
SECONDS_ALLOWED = 300

# What differs from run to run: times of day, durations, addresses, numbers of open files.
PASSING = [(re.compile(pattern), text) for pattern, text in (
    (r"0x[0-9a-f]{6,}", "0x..."),
    (r"\d\d\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d([.,]\d+)?", "<time>"),
    (r"_\d{8}_\d{6}\b", "_<time>"),
    (r"\b1[34]\d{13}\b", "<id>"),
    (r"\d+\.\d+ ?s(econds)?\b", "<duration>"),
    (r"=+ (.* in <duration>) =+", r"== \1 =="),
    (r"\b(oldfd|name)=\d+", r"\1=<number>"),
)]

FILES = {
    "test_small.py": """
        import pytest

        def test_mock(mocker, faker):
            assert mocker.Mock(return_value=3)() == 3 and faker.name()

        @pytest.mark.asyncio
        async def test_asyncio():
            pass

        def test_fails():
            assert {"a": 1} == {"a": 2}
        """,
    "untidy.py": "import os, sys\nx=1 \ndef f( a ):\n  return l\n",
    "conf.py": 'project = "small"\nextensions = ["sphinx.ext.autodoc"]\nhtml_theme = "alabaster"\n',
    "index.rst": "Small\n=====\n\n.. code-block:: python\n\n   print(1)\n",
    "mkdocs.yml": "site_name: small\ntheme: readthedocs\nplugins: [search]\n"
                  "markdown_extensions: [toc, tables]\n",
    "docs/index.md": "# Small\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "small.ipynb": json.dumps({"cells": [{"cell_type": "markdown", "id": "a", "metadata": {},
                                          "source": ["# Small"]}],
                               "metadata": {}, "nbformat": 4, "nbformat_minor": 5}),
}

STEVEDORE = """
from stevedore import DriverManager, EnabledExtensionManager
from stevedore import ExtensionManager, NamedExtensionManager
for group in ("pytest11", "keyring.backends", "flake8.extension", "xarray.backends", "nobody"):
    print(group, [(e.name, e.entry_point_target) for e in ExtensionManager(group)])
print(NamedExtensionManager("flake8.extension", ["F", "C90"], name_order=True).names())
print(DriverManager("flake8.report", "default").driver)
print(EnabledExtensionManager("pygments.lexers", lambda each: True).names())
"""

OPENTELEMETRY = """
import opentelemetry.propagate
print([type(each).__name__ for each in opentelemetry.propagate.propagators])
from opentelemetry.sdk._configuration import _import_exporters
from opentelemetry.sdk._configuration import _import_id_generator, _import_sampler
print(_import_exporters(["console", "otlp_proto_http"], ["console"], ["console"]))
print(_import_id_generator("random"), _import_sampler("always_on"))
from opentelemetry.context import _RUNTIME_CONTEXT
print(type(_RUNTIME_CONTEXT))
"""

XARRAY = "import xarray; print(list(xarray.backends.list_engines()))"
FSSPEC = "import fsspec; print(fsspec.available_protocols(), sorted(fsspec.registry))"
METADATA = """
import importlib.metadata as metadata
print([(each.group, each.name, each.value, each.dist.name) for each in metadata.entry_points()])
print([(each.name, list(each.entry_points)) for each in metadata.distributions()])
"""

home = environment = None


def setUpModule():
    global home, environment
    package.require()
    environment = find_environment()
    home = tempfile.mkdtemp(prefix="entrydb-programs-")
    unittest.addModuleCleanup(remove_tree, home)
    unittest.addModuleCleanup(remove_tree, f"{environment}/var")
    subprocess.run([package.program(), "--quiet", "update", environment], check=True,
                   env=package.python_environment(home))


# --- the environment ---

def find_environment():
    """The cached one. Not moved after it was built: its scripts name their place."""
    able = [each for each in reference.interpreters()
            if [3, 12] <= reference.version_key(each.version) < [3, 14]]
    if not able:
        raise unittest.SkipTest("no CPython 3.12 or 3.13, for which the programs are pinned")
    key = package_cache.fixture_key(FIXTURE)
    place = f"{package_cache.cache_directory()}/programs-{able[-1].rules}-{key}"
    if not os.path.exists(f"{place}/complete"):
        shutil.rmtree(place, ignore_errors=True)
        if not build_environment(able[-1].executable, place):
            raise unittest.SkipTest("pip cannot get the programs")
        open(f"{place}/complete", "w").close()
    return place


def build_environment(python, place):
    subprocess.run([python, "-I", "-m", "venv", place], check=True)
    return pip_ran(f"{place}/bin/python", "install", "--quiet", "--no-deps",
                   "-r", f"{package_cache.FIXTURES}/{FIXTURE}")


# --- runs ---

class Run:
    """A program's run in a directory of its own that always has the same name."""

    def __init__(self, command, accelerated, variables):
        self.report = f"{home}/report"
        self.work = f"{home}/work"
        make_files(self.work)
        env = package.python_environment(
            f"{home}/user", accelerated=accelerated, ENTRYDB_TEST_REPORT=self.report,
            PATH=f"{environment}/bin:/usr/bin:/bin", COLUMNS="80", SOURCE_DATE_EPOCH="1000000000",
            NO_COLOR="1", PYTHONHASHSEED="0", JUPYTER_PLATFORM_DIRS="1", **variables)
        done = subprocess.run([f"{environment}/bin/{command[0]}", *command[1:]], cwd=self.work,
                              env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS_ALLOWED)
        self.status = done.returncode
        self.output = normal(done.stdout.decode(errors="replace"))
        self.counts = package.take_counts(self.report)

    def made(self, *files):
        """What it has written there, by file."""
        return {file: normal(read(f"{self.work}/{file}")) for file in files}


def make_files(work):
    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(f"{home}/user", ignore_errors=True)
    for file, text in FILES.items():
        os.makedirs(os.path.dirname(f"{work}/{file}"), exist_ok=True)
        support.write(f"{work}/{file}", "\n".join(line.removeprefix("        ") for line in text.split("\n")))


def read(file):
    with open(file, encoding="utf-8", errors="replace") as stream:
        return stream.read()


def normal(text):
    for pattern, replacement in PASSING:
        text = pattern.sub(replacement, text)
    return text


class ProgramTest(unittest.TestCase):
    maxDiff = None

    def compare(self, *command, asks="Answer: database", makes=(), status=0, order=list,
                **variables):
        """asks: what must have been counted; None for a program that asks nothing.

        order: sorted, for a program whose output follows the addresses of its objects.
        """
        expected = Run(command, False, variables)
        wanted = expected.made(*makes)
        self.assertEqual(expected.status, status, expected.output)
        got = Run(command, True, variables)
        self.assertEqual(expected.counts, {})
        self.assertEqual(got.status, expected.status, got.output)
        self.assertEqual(order(got.output.split("\n")), order(expected.output.split("\n")))
        self.assertEqual(got.made(*makes), wanted)
        if asks:
            self.assertGreater(got.counts.get(asks, 0), 0, got.counts)
            self.assertEqual(got.counts.get("Answer: python", 0), 0, got.counts)

    def python(self, text, **how):
        self.compare("python", "-c", text, **how)

    # pluggy and flake8 ask each distribution, one after another.
    def test_pytest_version(self):
        self.compare("pytest", "--version", "--version", asks="Walk: database")

    def test_pytest_help(self):
        self.compare("pytest", "--help", asks="Walk: database")

    def test_pytest_run(self):
        self.compare("pytest", "--trace-config", "test_small.py", asks="Walk: database", status=1)

    def test_pytest_in_processes(self):
        self.compare("pytest", "-q", "-n", "1", "test_small.py", asks="Walk: database", status=1)

    def test_flake8(self):
        self.compare("flake8", "--version", asks="Walk: database")
        self.compare("flake8", "untidy.py", asks="Walk: database", status=1)

    def test_sphinx(self):
        self.compare("sphinx-build", "-b", "html", ".", "out", makes=["out/index.html"])

    def test_stevedore(self):
        self.python(STEVEDORE)

    def test_jupyter(self):
        self.compare("jupyter", "--version", asks=None)
        self.compare("jupyter", "kernelspec", "list")

    def test_nbconvert(self):
        self.compare("jupyter", "nbconvert", "--help")
        self.compare("jupyter", "nbconvert", "--to", "markdown", "small.ipynb", makes=["small.md"])

    def test_xarray(self):
        self.python(XARRAY)

    def test_fsspec(self):
        self.python(FSSPEC)

    def test_opentelemetry(self):
        self.python(OPENTELEMETRY, OTEL_PROPAGATORS="baggage,tracecontext")

    def test_mkdocs(self):
        self.compare("mkdocs", "--version", asks=None)
        self.compare("mkdocs", "build", makes=["site/index.html"])

    def test_twine(self):
        self.compare("twine", "--version")
        self.compare("twine", "--help")

    def test_keyring(self):
        self.compare("keyring", "--list-backends", order=sorted)

    def test_pip(self):
        self.compare("pip", "list", "--disable-pip-version-check", asks=None)
        self.compare("pip", "show", "pytest", "flake8", asks=None)

    def test_metadata(self):
        self.python(METADATA)


if __name__ == "__main__":
    support.main()
