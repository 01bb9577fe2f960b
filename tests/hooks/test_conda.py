#!/usr/bin/env python3
"""The conda plugin registers itself, updates the database, and never breaks conda.

Most tests run it in a substitute for conda, whose interface is varied in the ways it might change. The
real conda is used if pip or PATH provides one.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import support

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLUGIN = f"{TOP}/hooks/conda"

# The part of conda that the plugin uses.
HOOKIMPL = "def hookimpl(function):\n    function.is_hook = True\n    return function\n"
TYPES = """
class CondaPostCommand:
    def __init__(self, name, action, run_for):
        self.name, self.action, self.run_for = name, action, run_for
"""
CONTEXT = "class context:\n    target_prefix = '/the/prefix'\n"

# As in conda, a plugin that cannot be imported makes the command fail.
HOST = """
import os, sys
sys.prefix = os.environ["CONDA"]
import entrydb_conda as plugin
found = list(plugin.conda_post_commands())
print("hook" if hasattr(plugin.conda_post_commands, "is_hook") else "no hook", len(found))
for each in found:
    assert "install" in each.run_for
    each.action("install")
"""


class PluginTest(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="entrydb-conda-")
        self.addCleanup(shutil.rmtree, self.place)
        os.mkdir(f"{self.place}/bin")
        self.write("bin/entrydb", f'#!/bin/sh\necho "$@" >>{self.place}/called\n')
        os.chmod(f"{self.place}/bin/entrydb", 0o755)
        shutil.copytree(f"{self.place}/bin", f"{self.place}/active/bin")  # the active environment's, which may be another user's
        self.write("active/bin/entrydb", f"#!/bin/sh\necho other >>{self.place}/called\n")

    def write(self, file, text):
        path = f"{self.place}/{file}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        support.write(path, text)

    def conda(self, plugins=HOOKIMPL, types=TYPES, context=CONTEXT):
        """A substitute for conda; None leaves a module out."""
        self.write("conda/__init__.py", "")
        for file, text in (("conda/plugins/__init__.py", plugins),
                           ("conda/plugins/types.py", types),
                           ("conda/base/context.py", context)):
            if text is not None:
                self.write(file, text)

    def run_host(self, *arguments):
        done = subprocess.run(
            [sys.executable, "-c", HOST, *arguments], text=True, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=60,
            env={"PATH": f"{self.place}/active/bin:{os.environ['PATH']}", "CONDA": self.place,
                 "PYTHONPATH": f"{self.place}:{PLUGIN}", "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip(), done.stderr

    def called(self):
        try:
            return support.read(f"{self.place}/called")
        except FileNotFoundError:
            return ""

    def test_current_interface(self):
        self.conda()
        self.assertEqual(self.run_host(), ("hook 1", ""))
        self.assertEqual(self.called(), "update --hook conda /the/prefix\n")

    def test_older_module(self):
        self.conda(plugins=HOOKIMPL + TYPES, types=None)
        self.assertEqual(self.run_host(), ("hook 1", ""))
        self.assertIn("/the/prefix", self.called())

    def test_missing_class(self):
        self.conda(types="")
        self.assertEqual(self.run_host(), ("hook 0", ""))
        self.assertIn("CondaPostCommand", self.run_host("--verbose")[1])

    def test_other_signature(self):
        self.conda(types="class CondaPostCommand:\n    def __init__(self, name):\n        pass\n")
        self.assertEqual(self.run_host(), ("hook 0", ""))

    def test_no_hookimpl(self):
        self.conda(plugins="")
        self.assertEqual(self.run_host(), ("no hook 1", ""))

    def test_raising_import(self):
        self.conda(plugins="raise RuntimeError('deprecated')", types=None)
        self.assertEqual(self.run_host(), ("no hook 0", ""))

    def test_no_context(self):
        self.conda(context="")
        self.assertEqual(self.run_host(), ("hook 1", ""))
        self.assertEqual(self.called(), "")

    def test_without_the_program(self):
        self.conda()
        os.remove(f"{self.place}/bin/entrydb")
        if not shutil.which("entrydb", path="/usr/local/bin:/usr/bin"):
            self.assertEqual(self.run_host(), ("hook 1", ""))
            self.assertIn("no entrydb in ", self.run_host("-v")[1])
            self.assertEqual(self.called(), "")


class RealCondaTest(unittest.TestCase):
    def test_real_conda(self):
        conda = shutil.which("conda")
        if conda is None:
            self.skipTest("no conda on PATH, and the package index has none")
        place = tempfile.mkdtemp(prefix="entrydb-conda-")
        self.addCleanup(shutil.rmtree, place)
        info = f"{place}/entrydb_conda-0.1.0.dist-info"
        os.mkdir(info)
        for file, text in (("METADATA", "Metadata-Version: 2.1\nName: entrydb-conda\nVersion: 0.1.0\n"),
                           ("entry_points.txt", "[conda]\nentrydb = entrydb_conda\n")):
            support.write(f"{info}/{file}", text)
        env = dict(os.environ, PYTHONPATH=f"{place}:{PLUGIN}")
        done = subprocess.run([conda, "info"], env=env, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    support.main()
