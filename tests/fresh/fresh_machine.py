"""A Debian with nothing prepared, and the sources of this project in it.

Of Debian there is what debootstrap calls minbase, and a repository with the packages that
hooks/install.sh lists: what is not in that list cannot be installed there. No index of
Python packages can be reached.
"""

import re
import shutil
import unittest

import debian_root
from support import TOP, read

MOUNTS = (debian_root.PROC, "-t devpts -o ptmxmode=666 devpts /dev/pts", "-t tmpfs tmpfs /dev/shm")
SOURCES = "/srv/entrydb"
INSTALL = f"{SOURCES}/hooks/install.sh"
STATE = "/var/lib/entrydb"
PROGRAM = "/usr/local/bin/entrydb"
NO_PART = ("build*", ".git", "__pycache__")
PURPOSES = ("wheel", "deb", "quick")  # of packages besides the build's, in hooks/install.sh
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "PIP_NO_INDEX": "1"}
SECONDS_ALLOWED = 1700
NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
          "env", "HOME=/nonexistent")


def packages():
    """Debian's names of what is needed, as the script has them."""
    text = read(f"{TOP}/hooks/install.sh")
    names = set(re.findall(r"^[^|\n]+\|[^|\n]+\|([\w.+-]+)$", text, re.MULTILINE))
    for purpose in PURPOSES:
        names.update(re.search(rf"^    {purpose}\) say (.*) ;;$", text, re.MULTILINE)[1].split())
    return sorted(names)


class FreshTest(unittest.TestCase):
    """Each test has a root of its own."""

    @classmethod
    def setUpClass(cls):
        debian_root.check_tools()
        cls.archive = debian_root.tarball([*packages(), *debian_root.PACKAGES], installed=())

    def setUp(self):
        self.root = debian_root.Root.unpack(self, self.archive).mounted(*MOUNTS)
        shutil.copytree(TOP, self.root.on_disk(SOURCES), ignore=shutil.ignore_patterns(*NO_PART))

    def run_there(self, *words, status=0):
        """What the command says there, on both streams."""
        done = self.root.run(*words, env=ENVIRONMENT, timeout=SECONDS_ALLOWED)
        said = debian_root.text_of(done)
        self.assertEqual(done.returncode, status, f"{words}\n{said[-20000:]}")
        return said
