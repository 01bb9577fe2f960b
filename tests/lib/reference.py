"""The reference: the available Python interpreters and their answers.

ENTRYDB_TEST_PYTHONS lists executables, separated by colons; the default is python3.10 to python3.15
from PATH and pyenv. Each is run once to see that it works: pyenv puts dead names on PATH.
Free-threaded builds must be listed explicitly, since they need an extension of their own.
"""

import glob
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MINORS = range(10, 16)
PROBE = ("import sys, platform; print(platform.python_implementation(), "
         "'%d.%d.%d' % sys.version_info[:3], sys.executable, 't' in sys.abiflags, sep='\\n')")


class Interpreter:
    def __init__(self, executable, version, is_free_threaded=False):
        self.executable = executable
        self.version = version
        self.is_free_threaded = is_free_threaded
        self.rules = ".".join(version.split(".")[:2])
        self.library = f"python{self.rules}{'t' if is_free_threaded else ''}"  # the directory below lib


def candidates():
    named = os.environ.get("ENTRYDB_TEST_PYTHONS")
    if named:
        return [name for name in named.split(":") if name]
    return [*found_as(""), *glob.glob("/usr/bin/python3.[0-9][0-9]")]


def found_as(suffix):
    """The executables on PATH and under pyenv."""
    found = [shutil.which(f"python3.{minor}{suffix}") for minor in MINORS]
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    for minor in MINORS:
        found += sorted(glob.glob(f"{pyenv}/versions/*/bin/python3.{minor}{suffix}"))
    return [name for name in found if name]


def probe(executable):
    """The interpreter behind a name; None if it does not run."""
    try:
        done = subprocess.run([executable, "-I", "-S", "-c", PROBE], capture_output=True,
                              text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) != 4 or lines[0] != "CPython":
        return None
    major, minor = map(int, lines[1].split(".")[:2])
    if (major, minor) < (3, 10):
        return None
    return Interpreter(lines[2], lines[1], lines[3] == "True")


def interpreters():
    """Working CPythons, oldest first, one per full version."""
    are_named = bool(os.environ.get("ENTRYDB_TEST_PYTHONS"))
    return sorted_by_version(each for each in map(probe, candidates())
                             if each and (are_named or not each.is_free_threaded))


def free_threaded():
    """The available free-threaded CPythons, likewise."""
    return sorted_by_version(each for each in map(probe, found_as("t"))
                             if each and each.is_free_threaded)


def sorted_by_version(found):
    by_version = {}
    for each in found:
        by_version.setdefault(each.version, each)
    return sorted(by_version.values(), key=lambda each: version_key(each.version))


def one_per_minor(found):
    """The newest of each minor version, which share their rules."""
    return list({each.rules: each for each in found}.values())


def one_that_differs():
    """An interpreter with other rules than 3.12 and later, if any: enough to catch a mutant."""
    found = interpreters()
    return ([each for each in found if version_key(each.version) < [3, 12]] or found)[-1]


def version_key(version):
    return [int(part) for part in version.split(".")]


class Worker:
    """A long-lived interpreter that answers queries; `rules` is the value for --python."""

    def __init__(self, interpreter, importlib_metadata=None):
        self.interpreter = interpreter
        self.rules = "im10" if importlib_metadata else interpreter.rules
        self.label = interpreter.version + (" importlib_metadata" if importlib_metadata else "")
        command = [interpreter.executable, "-I", "-S", "-X", "utf8", f"{HERE}/reference_worker.py"]
        if importlib_metadata:
            command.append(importlib_metadata)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker of Python {self.label} ended early, "
                               f"status {self.process.wait()}")
        return json.loads(line)

    def ask(self, cwd, path, queries):
        """One answer for each query, a dict of entry_points() parameters."""
        return self.send({"cwd": cwd, "path": path, "queries": queries})

    def send(self, request):
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def start_workers(found, importlib_metadata=None):
    workers = [Worker(each) for each in found]
    if importlib_metadata:
        # importlib_metadata needs 3.11 or later; the newest will do.
        able = [each for each in found if version_key(each.version) >= [3, 11]]
        workers += [Worker(each, importlib_metadata) for each in able[-1:]]
    return workers


def announce(found):
    for each in found:
        print(f"Python {each.version}: {each.executable}")
    if not found:
        print("SKIP: no CPython 3.10 or later that runs")
        sys.exit(77)
