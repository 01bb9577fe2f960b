#!/usr/bin/env python3
"""`entrydb why` lists the obstacles to loading an entry point, without running any code."""

import os
import shutil

from archives import described, write_files
from extensions import make_extension
from support import CommandTest, main

class WhyTest(CommandTest):
    def install(self, name, files, value, group="torch.backends"):
        files = {f"{name}/{path}": data for path, data in files.items()}
        write_files(self.site, described(files, name, "1.0", f"[{group}]\n{name} = {value}\n"))

    def problems(self, name, group="torch.backends"):
        found = self.run_program("why", "--json", group, name, "--path", self.site, status=0)
        return found.objects[0]["problem"]

    def test_none(self):
        self.install("good", {"__init__.py": "def autoload(): pass\n"}, "good:autoload")
        self.assertIsNone(self.problems("good"))
        reply = self.run_program("why", "torch.backends", "good", "--path", self.site, status=0)
        self.assertNotIn("problem", reply.out)

    def test_removed(self):
        """Only the metadata is left."""
        self.install("gone", {"sub/__init__.py": "", "__init__.py": ""}, "gone.sub:autoload")
        shutil.rmtree(f"{self.site}/gone")
        self.assertEqual(self.problems("gone"), "gone/sub/__init__.py is listed in RECORD, but "
                                                "missing: the package was removed, but not its metadata")

    def test_no_module(self):
        self.install("never", {}, "never.there:autoload")
        self.assertEqual(self.problems("never"), f"there is no module never.there in {self.site}")

    def test_module_of_another_distribution(self):
        """A module provided by another distribution is not reported as missing."""
        self.install("one", {"__init__.py": ""}, "one")
        self.install("two", {"__init__.py": "def autoload(): pass\n"}, "one:autoload")
        self.assertEqual(self.problems("two"), "one/__init__.py does not contain autoload")

    def test_attribute(self):
        """A missing attribute is reported only if no import could provide it."""
        texts = {"def other(): pass\n": False, "": False, "from .x import *\n": True, "autoload = 1\n": True,
                 "def __getattr__(name): pass\n": True, "if 1:\n    def autoload(): pass\n": True,
                 "exec('def auto' 'load(): pass')  # autoload\n": True}
        for number, (text, has_it) in enumerate(texts.items()):
            with self.subTest(text):
                self.install(f"p{number}", {"__init__.py": text}, f"p{number}:autoload.x")
                problem = self.problems(f"p{number}")
                self.assertEqual(problem, None if has_it else f"p{number}/__init__.py does not contain autoload")

    def test_symbol(self):
        extension = make_extension(self.top, "_ZN2at6absentEv")
        self.install("bad", {"__init__.py": "from . import _C, autoload\n", "_C.so": extension},
                     "bad:autoload")
        self.assertEqual(self.problems("bad"), "bad/_C.so needs the symbol _ZN2at6absentEv, which "
                                               "none of its libraries defines")

    def test_library(self):
        """A library from another package is no problem: the host has imported that package."""
        extension = make_extension(self.top, "present", "libpresent.so")
        files = {"sub/mod.py": "def autoload(): pass\n", "_C.abi3.so": extension, "elsewhere/_D.so": extension}
        self.install("bad", files, "bad.sub.mod:autoload")
        self.assertEqual(self.problems("bad"), "bad/_C.abi3.so needs libpresent.so, which is not found")
        os.makedirs(f"{self.site}/host/lib")
        os.rename(f"{self.top}/libpresent.so", f"{self.site}/host/lib/libpresent.so")
        self.assertIsNone(self.problems("bad"))


if __name__ == "__main__":
    main()
