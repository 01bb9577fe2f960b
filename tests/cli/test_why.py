#!/usr/bin/env python3
"""`entrydb why` names what stands against loading an entry point, without running anything."""

import shutil

from archives import described, write_files
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
        """Metadata that was left behind."""
        self.install("gone", {"sub/__init__.py": "", "__init__.py": ""}, "gone.sub:autoload")
        shutil.rmtree(f"{self.site}/gone")
        self.assertEqual(self.problems("gone"), "gone/sub/__init__.py is listed in RECORD and not "
                                                "there: the package is gone, its metadata was left")

    def test_no_module(self):
        self.install("never", {}, "never.there:autoload")
        self.assertEqual(self.problems("never"), f"nothing in {self.site} is the module never.there")

    def test_elsewhere(self):
        """A module of another distribution is not missed."""
        self.install("one", {"__init__.py": ""}, "one")
        self.install("two", {"__init__.py": "def autoload(): pass\n"}, "one:autoload")
        self.assertEqual(self.problems("two"), "one/__init__.py has no autoload in it")

    def test_attribute(self):
        """Only where nothing can have brought it."""
        texts = {"def other(): pass\n": False, "": False, "from .x import *\n": True, "autoload = 1\n": True,
                 "def __getattr__(name): pass\n": True, "if 1:\n    def autoload(): pass\n": True,
                 "exec('def auto' 'load(): pass')  # autoload\n": True}
        for number, (text, has_it) in enumerate(texts.items()):
            with self.subTest(text):
                self.install(f"p{number}", {"__init__.py": text}, f"p{number}:autoload.x")
                problem = self.problems(f"p{number}")
                self.assertEqual(problem, None if has_it else f"p{number}/__init__.py has no autoload in it")


if __name__ == "__main__":
    main()
