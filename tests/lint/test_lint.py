"""Static checks of shell scripts, manual pages and the formatting of C, by standard tools."""

import glob
import os
import re
import shutil
import subprocess
import unittest

import support
from support import TOP

FORMAT = "version 14."  # other versions of clang-format format differently


def shell_scripts():
    for folder, _, names in (each for top in (".ci", "hooks", "tests") for each in os.walk(f"{TOP}/{top}")):
        for name in names:
            with open(f"{folder}/{name}", "rb") as file:
                first = file.readline(80)
            if first.startswith(b"#!") and first.strip().endswith(b"sh"):
                yield f"{folder}/{name}"


def sources():
    return sorted(path for top in ("db", "libquery", "indexer", "tests")
                  for path in glob.glob(f"{TOP}/{top}/**/*.[ch]", recursive=True))


class Lint(unittest.TestCase):
    def check(self, tool, *arguments):
        done = subprocess.run([tool, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:])

    def need(self, tool):
        if not shutil.which(tool):
            self.skipTest(f"no {tool}")
        return tool

    def test_shell_scripts(self):
        self.check(self.need("shellcheck"), *sorted(shell_scripts()))

    def test_manuals(self):
        self.check(self.need("mandoc"), "-Tlint", "-Wwarning", *glob.glob(f"{TOP}/*/man/*.[1-9]"))

    def test_getenv(self):
        """Only one function reads the environment, and refuses it to privileged processes; libcurl reads proxy settings."""
        found = {os.path.relpath(path, TOP) for path in sources() if not path.startswith(f"{TOP}/tests/")
                 and re.search(r"\bgetenv\(|secure_getenv\(", support.read(path))}
        self.assertEqual(found - {"db/base/trust.c", "db/base/trust.h"}, {"indexer/package_index/transfer_module.c"})

    def test_format_of_c(self):
        said = subprocess.run([self.need("clang-format"), "--version"], capture_output=True, text=True, check=True).stdout
        if FORMAT not in said:
            self.skipTest(f"not clang-format {FORMAT}")
        self.check("clang-format", "--dry-run", "--Werror", *sources())


if __name__ == "__main__":
    support.main()
