#!/usr/bin/env python3
"""The package with the newest Pythons, from Debian unstable.

debootstrap creates a root of that suite, from the mirror that this machine's apt uses; it is kept in
the tests' cache (delete it there to get newer Pythons). The source tree, the build and the downloaded
distributions are mounted into it, and the tests of the package run there with each Python.
"""

import os
import platform
import shutil
import unittest

import debian_root
import package
import package_cache
import program
import support
from support import TOP

HERE = os.path.dirname(os.path.abspath(__file__))

setUpModule = package.require
SUITE = "unstable"
PYTHONS = ("python3.14", "python3.15")
LIBRARIES = ("libelf1t64", "libsqlite3-0", "zlib1g", "libarchive13t64")
SECONDS_ALLOWED = 1800
SCRATCH = "/var/tmp"  # in the root; the source tree may be in /tmp
LONG = bool(os.environ.get("ENTRYDB_TEST_LONG"))
CASES = 100000 if LONG else 4000  # of the differential test
SEED = "14" if not LONG else None


def suite():
    """The directory of the Debian root, created if missing."""
    wanted = [*PYTHONS, *(f"{each}-venv" for each in PYTHONS), *LIBRARIES]
    place = f"{package_cache.cache_directory()}/debian-{SUITE}-{platform.machine()}"
    with debian_root.locked(place):
        package_cache.publish(lambda scratch: bootstrap(wanted, f"{scratch}/root"), place)
    return f"{place}/root"


def bootstrap(wanted, root):
    mirror = debian_root.mirrors(debian_root.release())
    if not mirror:
        debian_root.skip("apt says no mirror of Debian")
    done = debian_root.run(["debootstrap", "--variant=minbase", f"--include={','.join(wanted)}",
                            SUITE, root, *mirror])
    if done.returncode:
        debian_root.skip(f"debootstrap of {SUITE}: {debian_root.last_line(done)}")
    shutil.rmtree(f"{root}/var/cache/apt/archives")
    return True


class Unstable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        debian_root.check_tools()
        cls.root = suite()
        cls.cache = package_cache.cache_directory()

    def run_inside(self, script, *arguments):
        """Run a test of the package with each Python of the root; returns its output."""
        seen = {TOP, self.cache, os.path.dirname(os.path.realpath(program.default_program())),
                os.path.realpath(package.directory())}
        for place in seen:
            os.makedirs(f"{self.root}{place}", exist_ok=True)
        mounts = [debian_root.PROC, "--rbind /dev /dev", f"-t tmpfs tmpfs {SCRATCH}",
                  *(f"--bind {place} {place}" for place in sorted(seen))]
        inside = debian_root.Root(self.root, mounts)
        done = inside.run(PYTHONS[0], f"{HERE}/{script}", *arguments, timeout=SECONDS_ALLOWED,
                          env=self.environment())
        said = debian_root.text_of(done)
        self.assertEqual(done.returncode, 0, said[-6000:])
        return said

    def environment(self):
        own = {key: value for key, value in os.environ.items() if key == "ENTRYDB_TEST_LONG"}
        return {**own, "TMPDIR": SCRATCH, "PYTHONPATH": program.LIB, "ENTRYDB": os.path.realpath(program.default_program()),
                "ENTRYDB_PYTHON_PACKAGE": os.path.realpath(package.directory()),
                "ENTRYDB_TEST_CACHE": self.cache,
                "ENTRYDB_TEST_PYTHONS": ":".join(f"/usr/bin/{each}" for each in PYTHONS)}

    def test_behaviour(self):
        self.run_inside("test_behaviour.py")

    def test_replaced(self):
        self.run_inside("test_replaced.py", *([] if LONG else [
            "ReplacedTest.test_standard_library"]))

    def test_differential(self):
        said = self.run_inside("differential.py", "--cases", str(CASES),
                               *(["--seed", SEED] if SEED else []))
        for each in PYTHONS:
            self.assertIn(f"Python {each.removeprefix('python')}.", said)
        self.assertNotRegex(said, "(roots|exact): not recognized")


if __name__ == "__main__":
    support.main()
