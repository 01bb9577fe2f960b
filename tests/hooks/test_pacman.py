"""The package for Arch Linux: hooks/pacman/PKGBUILD installed by the real pacman in a separate root.

makepkg builds the packages, and pacman runs its hook inside the root. After each transaction the
database alone must agree with importlib.metadata. check() runs with Arch Linux's compiler flags.
"""

import glob
import gzip
import os
import re
import shutil
import subprocess
import tarfile
import unittest

import managers
import target_root
from target_root import RootTest, archives, package, support

FILES = {"entrydb": ("usr/bin/entrydb", "usr/lib/entrydb/entrydb-archive.so",
                     "usr/lib/entrydb/entrydb-fleet.so", "usr/lib/libentrydb.so.0",
                     "usr/include/entrydb.h", "usr/lib/pkgconfig/entrydb.pc",
                     "usr/lib/cmake/entrydb/entrydb-config.cmake",
                     "usr/lib/systemd/system/entrydb.timer",
                     "usr/share/bash-completion/completions/entrydb",
                     "usr/share/doc/entrydb/examples/example.c",
                     "usr/share/libalpm/hooks/entrydb.hook",
                     "usr/share/licenses/entrydb/LICENSE", "usr/share/man/man1/entrydb.1.gz"),
         "python-entrydb": ("usr/share/licenses/python-entrydb/LICENSE",)}
MODULE = r"usr/lib/python3\.\d+/site-packages/entrydb/(_native\.abi3\.so|_program\.py|__init__\.py)"
LONG = "ENTRYDB_TEST_LONG" in os.environ
BULK = 1000  # distributions; pacman sends their names to the hook


def packages(place):
    """The files that makepkg built."""
    return sorted(glob.glob(f"{place}/*.pkg.tar"))


def name_of(path):
    return os.path.basename(path).rsplit("-", 3)[0]


def members(path):
    done = subprocess.run(["bsdtar", "-tf", path], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


# Arch Linux's compiler flags, except those for particular processors.
FLAGS = """
CFLAGS="-O2 -pipe -fno-plt -fexceptions -Wp,-D_FORTIFY_SOURCE=3 -Wformat -Werror=format-security"
CFLAGS+=" -fstack-clash-protection -fno-omit-frame-pointer"
CXXFLAGS="$CFLAGS -Wp,-D_GLIBCXX_ASSERTIONS"
LDFLAGS="-Wl,-O1 -Wl,--sort-common -Wl,--as-needed -Wl,-z,relro -Wl,-z,now"
LTOFLAGS=-flto=auto
"""


def makepkg_configuration(place):
    """This machine's makepkg.conf with Arch Linux's options."""
    path = f"{place}/makepkg.conf"
    support.write(path, f". /etc/makepkg.conf\nOPTIONS+=(strip !debug lto){FLAGS}")
    return path


def make_packages(place, *words):
    """Build packages from the recipes in the directory, as a user, since makepkg refuses to work for root."""
    os.chown(place, support.STRANGER, support.STRANGER)
    env = {"PATH": os.environ["PATH"], "HOME": place, "LC_ALL": "C.UTF-8", "PKGEXT": ".pkg.tar",
           "PKGDEST": place, "BUILDDIR": place, "PACKAGER": "x",
           "SOURCE_DATE_EPOCH": target_root.RELEASED, "CTEST_PARALLEL_LEVEL": "4"}
    target_root.build(["makepkg", "--nodeps", "--config", makepkg_configuration(place), *words],
                      place, env=env, **support.as_user(support.STRANGER))


def contents(path):
    """The contents of a package in order, except for the directories it was built in, which makepkg records
    so that others can reproduce the build."""
    with tarfile.open(path) as archive:
        members = [(each.get_info(), each.isfile() and archive.extractfile(each).read())
                   for each in archive]
    told = dict((info["name"], data) for info, data in members)
    lines = [line for line in told[".BUILDINFO"].splitlines(True)
             if not line.startswith((b"builddir = ", b"startdir = "))]
    sums = [line for line in gzip.decompress(told[".MTREE"]).splitlines(True)
            if not line.startswith(b"./.BUILDINFO ")]
    return [lines, sums, *((info, data) for info, data in members
                           if info["name"] not in (".BUILDINFO", ".MTREE"))]


class PacmanTest(RootTest):
    manager_class = managers.Pacman
    manager_keeps = ("/var/lib/pacman", "/cache", "/hooks", "/gpg")

    @classmethod
    def setUpClass(cls):
        if not shutil.which("makepkg"):
            raise unittest.SkipTest("there is no makepkg")
        super().setUpClass()

    @staticmethod
    def make_package(place):
        target_root.pack_recipes(place)
        make_packages(place)
        return next(path for path in packages(place) if name_of(path) == "entrydb")

    def check_quiet(self, output):
        for word in ("error", "entrydb: ", "roken pipe"):
            self.assertNotIn(word, output)


class Package(target_root.SeveralPackages, PacmanTest):
    FILES = FILES
    set_aside = ["", "/entry_points.db.removed"]

    def test_files(self):
        found = {name_of(path): members(path) for path in packages(self.built)}
        self.check_files(found)
        module = [path for path in found["python-entrydb"] if re.fullmatch(MODULE, path)]
        self.assertEqual(len(module), 3, found["python-entrydb"])
        self.assertFalse([path for path in found["entrydb"] if "site-packages" in path])

    def test_no_build_directory_in_the_packages(self):
        """namcap checks this, too, but Debian does not package it."""
        for path in packages(self.built):
            done = subprocess.run(["bsdtar", "-xOf", path, "--exclude", ".BUILDINFO",
                                   "--exclude", ".MTREE"], stdout=subprocess.PIPE, check=True)
            self.assertEqual(done.stdout.count(self.built.encode()), 0, path)

    def test_removal_is_complete(self):
        """Removing all packages leaves nothing, not even files written by entrydb and Python, but the audit trail."""
        before = self.files()
        self.check_quiet(self.run_manager(self.manager.command("-Udd", *packages(self.built))))
        self.assertTrue(os.path.exists(self.manager.database))
        verify = [word for word in self.manager.command("-Qkk", *FILES)
                  if word not in ("--noconfirm", "--noprogressbar")]
        self.assertNotIn("warning", self.run_manager(verify))
        self.remove_named(*FILES)
        self.assertEqual(sorted(self.files() - before), [self.state + each for each in self.set_aside])

    @unittest.skipUnless(LONG, "builds the packages once more: only with --long")
    def test_reproducible(self):
        again = target_root.another_place(self)
        make_packages(again, "--nocheck")
        self.assertEqual(len(packages(again)), len(FILES))
        for first, second in zip(packages(self.built), packages(again), strict=True):
            self.assertEqual(name_of(first), name_of(second))
            for one, other in zip(contents(first), contents(second), strict=True):
                self.assertTrue(one == other, one[0])

    def test_version(self):
        self.assertIn(f"entrydb-{target_root.version()}-1-", self.package)


class Transactions(target_root.MoreTransactions, PacmanTest):
    ways_around_the_hook = ("a link",)

    def setUp(self):
        super().setUp()
        # A file of the package of Python, or the directory would be removed with the last package.
        self.install_file(self.make("python", {f"{self.manager.site_inside.strip('/')}/README.txt": b""}))

    def make(self, name, files):
        return self.manager.maker.pacman_file(name, name, "1-1", files)

    def other_package(self):
        return self.make("other", {"usr/lib/python3.11/os.py": b"", "usr/share/other/METADATA": b""})

    def bulk(self):
        site = self.manager.site_inside.strip("/")
        return self.make("bulk", {f"{site}/bulk{number}-1.dist-info/METADATA":
                                  support.metadata(f"bulk{number}", "1").encode() for number in range(BULK)})

    def test_no_python_left(self):
        self.install(package("alpha"))
        self.remove_named("python", "python3-alpha")
        self.assertFalse(os.path.exists(self.site))
        self.check()

    def test_eggs(self):
        """Older formats of metadata: an egg-info directory and a single file."""
        for name, path in (("one", "one.egg-info/PKG-INFO"), ("two", "two-1.egg-info")):
            with self.subTest(name):
                files = {path: support.metadata(name, "1").encode()}
                self.install_file(self.make(name, archives.below(self.manager.site_inside.strip("/"), files)))
                self.assertEqual(self.known(), [name])
                self.remove_named(name)
                self.check()

    def check_failure_told(self, broken, output):
        """pacman reports the failure and continues."""
        if broken != "reads nothing":  # whether it is reported depends on timing
            self.assertIn("error: ", output)

    def switch_off(self):
        os.symlink("/dev/null", f"{self.root}/hooks/entrydb.hook")

    def install_around_the_hook(self, way, *packages):
        self.switch_off()
        self.install(*packages)
        os.unlink(f"{self.root}/hooks/entrydb.hook")

    def test_audit_trail(self):
        """Of a long command line the verb and the packages are recorded, not the options before them."""
        self.check_audit_trail("pacman: pacman -Udd ", "alpha-{}-1.pkg.tar")


if __name__ == "__main__":
    support.main()
