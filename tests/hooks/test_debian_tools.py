#!/usr/bin/env python3
"""The Debian packages before Debian's own judges: piuparts and autopkgtest, both for real; and
the same bytes from another place, later.

Each in a small Debian (debian_root.py) whose apt knows nothing but what the packages need.
piuparts installs, upgrades and purges all of them, and looks for whatever is left over or
broken. autopkgtest runs the packages' own tests against them as they are installed there.
"""

import filecmp
import glob
import os
import shutil
import unittest

import debian_root
import support
import target_root

# What hooks/dpkg/tests/control and autopkgtest ask for beside the packages.
COMPILER = ("apt-utils", "dpkg-dev", "gcc", "libc6-dev", "pkgconf")
# dpkg writes its lists anew where it is told to leave documentation out, as it is there.
LISTS = r"/var/lib/dpkg/info/.*\.list"
BEFORE = f"{target_root.version()}-0"  # a version before that of the packages
SAID = 4000  # characters, of the end
debs = source = archive = None


def setUpModule():
    global debs, source, archive
    if "ENTRYDB_TEST_LONG" not in os.environ:
        debian_root.skip("minutes of Debian's tools: only with --long")
    debian_root.check_tools()
    place = debian_root.build_packages()
    debs = debian_root.packages(place)
    [source] = glob.glob(f"{place}/*.dsc")
    archive = debian_root.tarball([*debian_root.libraries(*debs.values()), *COMPILER])


@unittest.skipUnless(shutil.which("piuparts"), "piuparts is not installed")
class Piuparts(unittest.TestCase):
    def setUp(self):
        self.top = support.make_directory(self)

    def base(self, *older):
        """The root as piuparts wants it; older: packages that its apt knows."""
        root = debian_root.Root.unpack(self, archive)
        place = root.on_disk(debian_root.REPOSITORY)
        for file in older:
            shutil.move(file, place)
        debian_root.write_index(place)
        root.text("apt-get", "update")
        debian_root.must(["tar", "-C", root.path, "-I", "gzip -1", "-cf", f"{self.top}/root.tar.gz", "."])
        return f"{self.top}/root.tar.gz"

    def judge(self, base, *files):
        done = debian_root.run([
            "piuparts", "--basetgz", base, "--distribution", debian_root.release(),
            "--keep-sources-list", "--do-not-verify-signatures", "--no-eatmydata",
            "--scriptsdir", "/etc/piuparts/scripts", "--ignore-regex", LISTS, *files], cwd=self.top)
        return done.returncode, debian_root.text_of(done)

    def test_all_packages(self):
        older = [debian_root.renumbered(file, BEFORE, self.top) for file in debs.values()]
        status, said = self.judge(self.base(*older), *debs.values())
        self.assertEqual(status, 0, said[-SAID:])
        self.assertTrue("PASS: Installation, upgrade and purging tests." in said, said[-SAID:])

    def test_that_a_trace_would_be_seen(self):
        """Of a package that forgets what it has made."""
        tree = f"{self.top}/litter"
        os.makedirs(f"{tree}/DEBIAN")
        support.write(f"{tree}/DEBIAN/control", "Package: litter\nVersion: 1\nArchitecture: all\n"
                      "Maintainer: a <a@b.c>\nDescription: x\n")
        support.write(f"{tree}/DEBIAN/postinst", "#!/bin/sh\necho x >/var/lib/forgotten\n")
        os.chmod(f"{tree}/DEBIAN/postinst", 0o755)
        debian_root.must(["dpkg-deb", "--root-owner-group", "-b", tree, f"{tree}.deb"])
        status, said = self.judge(self.base(), f"{tree}.deb")
        self.assertNotEqual(status, 0)
        self.assertTrue("/var/lib/forgotten" in said, said[-SAID:])


@unittest.skipUnless(shutil.which("autopkgtest"), "autopkgtest is not installed")
class Autopkgtest(unittest.TestCase):
    def test_own_tests(self):
        root = debian_root.Root.unpack(self, archive)
        done = debian_root.run(["autopkgtest", "--no-built-binaries", *debs.values(), source,
                                "--", "chroot", root.path])
        said = debian_root.text_of(done)
        self.assertEqual(done.returncode, 0, said[-SAID:])
        for name in ("installed", "development"):
            self.assertRegex(said, rf"(?m)^{name} +PASS")


class Reproducible(unittest.TestCase):
    def test_built_again(self):
        place = f"{support.make_directory(self)}/another/place"
        os.makedirs(place)
        debian_root.copy_packages(os.path.dirname(source), place)
        for path in glob.glob(f"{place}/*.deb"):
            os.remove(path)
        debian_root.make_packages(place)
        again = debian_root.packages(place)
        self.assertEqual(set(again), set(debs))
        for name, file in debs.items():
            self.assertTrue(filecmp.cmp(file, again[name], shallow=False), name)


if __name__ == "__main__":
    support.main()
