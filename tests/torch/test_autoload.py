"""`import torch` calls the plugins of torch.backends, with and without the database."""

import json
import os
import re
import shutil

import package_cache
import support
import torch_environment
from extensions import make_extension
from support import settle
from torch_environment import EnvironmentTest
from wheels import write

setUpModule = torch_environment.set_up

GROUP = "torch.backends"
IMPORT = "import torch; print('imported')"
CALLED = "def autoload(): print('called')\n"
SWITCH = "TORCH_DEVICE_BACKEND_AUTOLOAD"

# The directory is added to sys.path during the run, and removed later.
MOVING = """
import sys
import torch
torch._import_device_backends()
sys.path.insert(0, {place!r})
torch._import_device_backends()
sys.path.remove({place!r})
torch._import_device_backends()
"""


# conftest.py and test_it.py: an entry point that exists for one test and is not installed.
CONFTEST = 'pytest_plugins = ["entrydb.testing"]\n'
DEVICE = "called = []\ndef autoload(): called.append(True)\n"
TESTS = """
import torch
import my_device

def test_my_device(entry_point_database):
    entry_point_database.add("torch.backends", "mine", "my_device:autoload")
    torch._import_device_backends()
    assert my_device.called

def test_removed_after_the_test():
    my_device.called.clear()
    torch._import_device_backends()
    assert not my_device.called
"""


class AutoloadTest(EnvironmentTest):
    def check(self, source=IMPORT, says="", cause="", **how):
        """says and cause: lines in the program's output."""
        reply = self.script(source, **how)
        self.assertIn(says, reply.out + reply.err)
        self.assertIn(cause, reply.err)
        return reply

    def fails(self, name, cause, problem=None, source=IMPORT):
        """`import torch` fails with torch's own message, caused by that exception; `entrydb why` reports the
        problem without importing the plugin."""
        self.check(source, status=1, cause=cause, says=(
            f"RuntimeError: Failed to load the backend extension: {name}. You can disable "
            f"extension auto-loading with {SWITCH}=0.\n"))
        reply = self.environment.entrydb("why", "--json", GROUP, name)
        found = json.loads(reply.out)["problem"]
        self.assertIn(problem, found) if problem else self.assertIsNone(found)


class Found(AutoloadTest):
    def test_none(self):
        self.check(says="imported\n")

    def test_switch(self):
        """Autoload is on if the variable is unset or exactly 1, as in torch."""
        self.plugin("well", GROUP, "well:autoload", CALLED)
        for value, called in ((None, True), ("1", True), ("", False), ("0", False), ("true", False)):
            with self.subTest(value):
                reply = self.check(asks=["Answer"] if called else [],
                                   **({} if value is None else {SWITCH: value}))
                self.assertEqual(reply.out, "called\nimported\n" if called else "imported\n")

    def test_two_of_the_same_name(self):
        """Both are called, in the order of importlib.metadata."""
        self.plugin("one", GROUP, "one:autoload", "def autoload(): print('one')", entry="same")
        self.plugin("two", GROUP, "two:autoload", "def autoload(): print('two')", entry="same")
        self.assertEqual(sorted(self.check().out.split()), ["imported", "one", "two"])

    def test_at_run_time(self):
        """As in torch's own test, a directory is added to sys.path later, and removed."""
        place = f"{self.environment.scratch}/later"
        write_distribution(place, "later", CALLED)
        self.assertEqual(self.check(MOVING.format(place=place)).out, "called\n")

    def test_no_metadata_is_read(self):
        """No entry_points.txt of any distribution is opened."""
        self.plugin("well", GROUP, "well:autoload", CALLED)
        settle()
        self.environment.entrydb("update", self.environment.prefix)
        self.assertEqual(self.opened(accelerated=True), [])
        self.assertGreater(len(self.opened(accelerated=False)), 1)

    def opened(self, accelerated):
        log = f"{self.environment.scratch}/strace"
        self.environment.must("strace", "-f", "-e", "trace=open,openat", "-o", log,
                              self.environment.python, "-c", IMPORT, accelerated=accelerated)
        with open(log, errors="replace", encoding="utf-8") as stream:
            return re.findall(r'"([^"]*/entry_points\.txt)"', stream.read())


class Testing(AutoloadTest):
    def test_fixture(self):
        """The author of a back end can test its autoload without installing it."""
        pytest = package_cache.pytest_directory(self.environment.python)
        if not pytest:
            self.skipTest("pip cannot get pytest")
        place = f"{self.environment.scratch}/project"
        os.makedirs(place)
        for name, text in (("conftest", CONFTEST), ("my_device", DEVICE), ("test_it", TESTS)):
            write(f"{place}/{name}.py", text)
        for accelerated in (False, True):
            reply = self.environment.must(self.environment.python, "-m", "pytest", "-q", place,
                                          accelerated=accelerated, PYTHONPATH=pytest)
            self.assertIn("2 passed", reply.out)


class Broken(AutoloadTest):
    def test_raises(self):
        self.plugin("bad", GROUP, "bad:autoload", "def autoload(): raise OSError('no such device')")
        self.fails("bad", "\nOSError: no such device\n")

    def test_no_attribute(self):
        self.plugin("bad", GROUP, "bad:autoload", "")
        self.fails("bad", "\nAttributeError: module 'bad' has no attribute 'autoload'\n",
                   "bad/__init__.py does not contain autoload")

    def test_no_module(self):
        self.plugin("bad", GROUP, "worse.absent:autoload", "")
        self.fails("bad", "\nModuleNotFoundError: No module named 'worse'\n",
                   f"there is no module worse.absent in {self.environment.site}")

    def test_removed(self):
        """Only the metadata of the package is left."""
        self.plugin("bad", GROUP, "bad:autoload", CALLED)
        shutil.rmtree(f"{self.environment.site}/bad")
        self.fails("bad", "\nModuleNotFoundError: No module named 'bad'\n",
                   "bad/__init__.py is listed in RECORD, but missing")

    def test_no_library(self):
        self.extension_plugin("absent_function", "libabsent.so")
        self.fails("bad", "\nImportError: libabsent.so: cannot open shared object file: "
                          "No such file or directory\n",
                   "bad/_C.so needs libabsent.so, which is not found")

    def test_no_symbol(self):
        """For example a C++ function that this version of torch lacks."""
        self.extension_plugin("_ZN2at6absentEv")
        self.fails("bad", "bad/_C.so: undefined symbol: _ZN2at6absentEv\n",
                   "bad/_C.so needs the symbol _ZN2at6absentEv, which none of its libraries defines")

    def extension_plugin(self, symbol, library=None):
        """Install a plugin that imports an extension."""
        extension = make_extension(f"{self.environment.scratch}/extension", symbol, library)
        self.install("bad", {"bad/__init__.py": f"from . import _C\n{CALLED}", "bad/_C.so": extension},
                     f"[{GROUP}]\nbad = bad:autoload\n")

    def test_disabled(self):
        """One plugin is disabled, and the others are called."""
        self.plugin("bad", GROUP, "bad:autoload", "def autoload(): raise OSError('no such device')")
        self.plugin("well", GROUP, "well:autoload", CALLED)
        self.environment.must(self.environment.program, "disable", f"{GROUP}/bad",
                              "--prefix", self.environment.prefix)
        self.addCleanup(shutil.rmtree, f"{self.environment.prefix}/etc/entrydb")
        reply = self.environment.must(self.environment.python, "-c", IMPORT)
        self.assertEqual(reply.out, "called\nimported\n")
        self.assertIn("  allowed      no: ", self.environment.entrydb("why", GROUP, "bad").out)

    def test_exits(self):
        """SystemExit is not an Exception: it ends the program with its status."""
        self.plugin("bad", GROUP, "bad:autoload", "import sys\ndef autoload(): sys.exit(7)")
        self.assertEqual(self.check(status=7).out, "")


def write_distribution(place, name, source):
    info = f"{place}/{name}-1.0.dist-info"
    os.makedirs(info, exist_ok=True)
    write(f"{place}/{name}.py", source)
    write(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    write(f"{info}/entry_points.txt", f"[{GROUP}]\n{name} = {name}:autoload\n")


if __name__ == "__main__":
    support.main()
