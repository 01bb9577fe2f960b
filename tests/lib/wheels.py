"""The wheel of the package, and virtual environments with it.

ENTRYDB_PYTHON_WHEEL names an existing wheel; the default is the one in $ENTRYDB_BUILD/wheel, which
`wheels.py DIRECTORY` creates for all tests, or one that pip builds. A test module is skipped if pip
cannot get the build requirements: setUpModule = wheels.set_up.
"""

import copy
import functools
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from program import TOP
from support import read, write  # noqa: F401: others take them from here

FOLDER = f"{TOP}/libquery/python"
ASK = ("import importlib.metadata as m; "
       "print(*[e.name for e in m.entry_points(group='pytest11')], sep='\\n')")
PLUGINS = ("alpha", "beta", "gamma")
FILES = ("entrydb.pth", "entrydb.start", "sitecustomize.py")  # by which it is on


@functools.cache
def scratch():
    """A directory of this process that other users can read."""
    place = tempfile.mkdtemp(prefix="entrydb-wheel-")
    os.chmod(place, 0o755)
    unittest.addModuleCleanup(shutil.rmtree, place, ignore_errors=True)
    return place


def clean_environment(**variables):
    env = {key: value for key, value in os.environ.items()
           if key == "PIP_NO_INDEX" or not key.startswith(("ENTRYDB", "PYTHON", "PIP_", "XDG_", "VIRTUAL_ENV"))}
    env.update(HOME=scratch(), XDG_STATE_HOME=f"{scratch()}/state",
               PIP_DISABLE_PIP_VERSION_CHECK="1")
    env.update(variables)
    return env


def run(*command, check=True, rights={}, **variables):
    """rights: the user, group and extra_groups of subprocess."""
    done = subprocess.run(command, env=clean_environment(**variables), text=True, cwd="/",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=900, **rights)
    if check and done.returncode:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout[-3000:]}")
    return done


def set_up():
    wheel()


@functools.cache
def wheel():
    built = glob.glob(f"{os.environ.get('ENTRYDB_BUILD') or TOP}/wheel/entrydb-*.whl")
    return os.environ.get("ENTRYDB_PYTHON_WHEEL") or (built[0] if built else build())


def pip_for(interpreter=None):
    """The pip command for an interpreter; only a recent pip knows the tags of free-threaded ones."""
    own = interpreter and interpreter.is_free_threaded
    return [interpreter.executable if own else sys.executable, "-m", "pip"]


def build(interpreter=None):
    place = tempfile.mkdtemp(dir=scratch())
    done = run(*pip_for(interpreter), "wheel", "--no-deps", "-w", place, FOLDER, check=False)
    if done.returncode and "scikit-build-core" in done.stdout and "No matching" in done.stdout:
        raise unittest.SkipTest("pip cannot get scikit-build-core")
    if done.returncode:
        raise AssertionError(done.stdout[-3000:])
    return glob.glob(f"{place}/*.whl")[0]


class Environment:
    """A virtual environment with entrydb's wheel and three distributions with plugins."""

    def __init__(self, interpreter, package):
        self.interpreter = interpreter
        self.prefix = f"{scratch()}/venv-{interpreter.version}"
        if not os.path.exists(self.prefix):
            run(interpreter.executable, "-m", "venv", "--without-pip", self.prefix)
        self.pip("install", "--no-deps", "--no-index", "--force-reinstall", package)
        for name in PLUGINS:
            info = f"{self.site}/{name}-1.0.dist-info"
            os.makedirs(info, exist_ok=True)
            write(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            write(f"{info}/entry_points.txt", f"[pytest11]\n{name} = {name}.plugin\n")

    def at(self, prefix):
        """The same environment copied to another place."""
        found = copy.copy(self)
        found.prefix = prefix
        return found

    @property
    def python(self):
        return f"{self.prefix}/bin/python"

    @property
    def site(self):
        return f"{self.prefix}/lib/{self.interpreter.library}/site-packages"

    def pip(self, *arguments):
        return run(*pip_for(self.interpreter), "--python", self.python, *arguments)

    def entrydb(self, *arguments, **keywords):
        return run(self.python, "-m", "entrydb", *arguments, **keywords)

    def ask(self, code=ASK, **variables):
        return sorted(run(self.python, "-c", code, **variables).stdout.split())

    def record(self):
        [file] = glob.glob(f"{self.site}/entrydb-*.dist-info/RECORD")
        return file

    def written(self):
        """The names under which the files that switch it on exist."""
        return sorted(name for name in os.listdir(self.site)
                      if name.lstrip(".").startswith(FILES))


def main():
    directory = sys.argv[1]
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    try:
        print(shutil.copy(build(), directory))
    except unittest.SkipTest as reason:
        print(f"SKIP: {reason}")
        sys.exit(77)
    finally:
        unittest.doModuleCleanups()


if __name__ == "__main__":
    main()
