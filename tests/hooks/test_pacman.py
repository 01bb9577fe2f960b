"""pacman, the real one, with the package of hooks/pacman/PKGBUILD installed in a root of its own.

makepkg makes the packages; pacman runs its hook inside the root. After each transaction
the database alone has to say what importlib.metadata finds. The packages' own tests, and link-time
optimization as Arch Linux has it, are for the long run.
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
import tiny_packages
from target_root import BROKEN, RootTest, archives, package, support

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
MODULE = r"usr/lib/python3\.\d+/site-packages/entrydb/(_native\.abi3\.so|bin/entrydb|__init__\.py)"
LONG = "ENTRYDB_TEST_LONG" in os.environ
BULK = 1000  # distributions; pacman sends their names to the hook


def pack(path, tree):
    """As makepkg does it, with the directories: pacman removes those that it knows of."""
    work = f"{path}.d"
    archives.write_files(work, tree)
    archives.tool("bsdtar", "-cf", path, ".PKGINFO", "usr", cwd=work)


class Maker(tiny_packages.Maker):
    def pacman(self, package):
        return self.once(f"{self.place}/{package.stem}-{package.build}.pkg.tar",
                         lambda path: pack(path, self.pacman_tree(package)))


class Pacman(managers.Pacman):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.maker = Maker(self.maker.place, self.site_inside)

    def install_file(self, path):
        return self.command("-Udd", "--overwrite", "*", path)


def packages(place):
    """The files of all that makepkg makes."""
    return sorted(glob.glob(f"{place}/*.pkg.tar"))


def name_of(path):
    return os.path.basename(path).rsplit("-", 3)[0]


def members(path):
    done = subprocess.run(["bsdtar", "-tf", path], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


# What Arch Linux asks of the compiler, for the processors of all machines.
FLAGS = """
CFLAGS="-O2 -pipe -fno-plt -fexceptions -Wp,-D_FORTIFY_SOURCE=2 -Wformat -Werror=format-security -fstack-clash-protection"
CXXFLAGS="$CFLAGS -Wp,-D_GLIBCXX_ASSERTIONS"
LDFLAGS="-Wl,-O1 -Wl,--sort-common -Wl,--as-needed -Wl,-z,relro -Wl,-z,now"
"""


def makepkg_configuration(place):
    """This machine's, with what Arch Linux has beside it; as to link time, in the long run."""
    path = f"{place}/makepkg.conf"
    more = "OPTIONS+=(lto)\nLTOFLAGS=-flto=auto\n" if LONG else ""
    support.write(path, f". /etc/makepkg.conf\nOPTIONS+=(strip !debug){FLAGS}{more}")
    return path


def make_packages(place, *words):
    """Of the recipes that lie there. makepkg refuses to work for root."""
    os.chown(place, support.STRANGER, support.STRANGER)
    env = {"PATH": os.environ["PATH"], "HOME": place, "LC_ALL": "C.UTF-8", "PKGEXT": ".pkg.tar",
           "PKGDEST": place, "BUILDDIR": place, "PACKAGER": "x",
           "SOURCE_DATE_EPOCH": target_root.RELEASED}
    target_root.build(["makepkg", "--nodeps", "--config", makepkg_configuration(place), *words],
                      place, env=env, **support.as_user(support.STRANGER))


def contents(path):
    """All that is in a package, in its order; but for the directories that it was built in, which
    makepkg writes down so that others can build it in the same."""
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
    manager_class = Pacman
    manager_keeps = ("/var/lib/pacman", "/cache", "/hooks", "/gpg")

    @classmethod
    def setUpClass(cls):
        if not shutil.which("makepkg"):
            raise unittest.SkipTest("there is no makepkg")
        super().setUpClass()

    @staticmethod
    def make_package(place):
        target_root.pack_recipes(place, with_tests=LONG)
        make_packages(place, *([] if LONG else ["--nocheck"]))
        return next(path for path in packages(place) if name_of(path) == "entrydb")

    def check_quiet(self, output):
        for word in ("error", "entrydb: ", "roken pipe"):
            self.assertNotIn(word, output)


class Package(PacmanTest):
    def test_files(self):
        found = {name_of(path): members(path) for path in packages(self.built)}
        self.assertEqual(set(found), set(FILES))
        for name, expected in FILES.items():
            for path in expected:
                self.assertIn(path, found[name])
        self.assertFalse([path for each in found.values() for path in each if path.endswith(".a")])
        module = [path for path in found["python-entrydb"] if re.fullmatch(MODULE, path)]
        self.assertEqual(len(module), 3, found["python-entrydb"])
        self.assertFalse([path for path in found["entrydb"] if "site-packages" in path])

    def test_nothing_of_the_build_is_in_them(self):
        """namcap would say so, where it is at hand; it is no package of Debian."""
        for path in packages(self.built):
            done = subprocess.run(["bsdtar", "-xOf", path, "--exclude", ".BUILDINFO",
                                   "--exclude", ".MTREE"], stdout=subprocess.PIPE, check=True)
            self.assertEqual(done.stdout.count(self.built.encode()), 0, path)

    def test_without_a_trace(self):
        """All packages, with what the program and Python write, come and go."""
        before = self.files()
        self.check_quiet(self.run_manager(self.manager.command("-Udd", *packages(self.built))))
        self.assertTrue(os.path.exists(self.manager.database))
        verify = [word for word in self.manager.command("-Qkk", *FILES)
                  if word not in ("--noconfirm", "--noprogressbar")]
        self.assertNotIn("warning", self.run_manager(verify))
        self.run_manager(self.manager.command("-Rdd", *FILES))
        self.assertEqual(sorted(self.files() - before), [])

    @unittest.skipUnless(LONG, "builds the packages once more: only with --long")
    def test_built_again_elsewhere(self):
        again = target_root.another_place(self)
        make_packages(again, "--nocheck")
        self.assertEqual(len(packages(again)), len(FILES))
        for first, second in zip(packages(self.built), packages(again), strict=True):
            self.assertEqual(name_of(first), name_of(second))
            for one, other in zip(contents(first), contents(second), strict=True):
                self.assertTrue(one == other, one[0])

    def test_version(self):
        self.assertIn(f"entrydb-{target_root.version()}-1-", self.package)

    def test_installed_last(self):
        """Its own hook records what is there already."""
        self.install(package("alpha"), package("beta"))
        self.check_quiet(self.install_entrydb())
        self.check(package("alpha"), package("beta"))

    def test_installed_again(self):
        self.install_entrydb()
        self.install(package("alpha"))
        self.check_quiet(self.install_entrydb())
        self.check(package("alpha"))

    def test_removed(self):
        self.install_entrydb()
        self.install(package("alpha"))
        self.check_quiet(self.run_manager(self.manager.command("-Rdd", "entrydb")))
        self.assertFalse(os.path.exists(f"{self.root}/var/lib/entrydb"))
        self.install(package("beta"))
        self.check_careful(package("alpha"), package("beta"))


class Transactions(target_root.SharedTransactions, PacmanTest):
    def setUp(self):
        super().setUp()
        self.install_entrydb()
        # What Python's own package has there; else the directory would go with the last package.
        self.run_manager(self.manager.install_file(self.make_package_of(
            "python", {f"{self.manager.site_inside.strip('/')}/README.txt": b""})))

    def test_no_python_left(self):
        self.install(package("alpha"))
        self.run_manager(self.manager.command("-Rdd", "python", "python3-alpha"))
        self.assertFalse(os.path.exists(self.site))
        self.check()

    def test_reinstalled(self):
        self.install(package("alpha"))
        support.write(f"{self.site}/alpha-1.0.dist-info/entry_points.txt",
                      "[demo]\nalpha = by:hand\n")
        self.install(package("alpha"))
        self.check(package("alpha"))

    def test_other_packages(self):
        """What has no Python distribution in it does not call the program."""
        calls = self.count_refreshes()
        self.run_manager(self.manager.install_file(self.make_package_of(
            "other", {"usr/lib/python3.11/os.py": b"", "usr/share/other/METADATA": b""})))
        self.assertEqual(calls(), 0)

    def test_eggs(self):
        """Older ways to leave metadata: a directory, and a single file."""
        site = self.manager.site_inside.strip("/")
        metadata = support.metadata("one", "1").encode()
        for name, files in (("one", {"one.egg-info/PKG-INFO": metadata}),
                            ("two", {"two-1.egg-info": support.metadata("two", "1").encode()})):
            with self.subTest(name):
                path = self.make_package_of(name, archives.below(site, files))
                self.run_manager(self.manager.install_file(path))
                self.assertEqual(self.known(), [name])
                self.run_manager(self.manager.command("-Rdd", name))
                self.check()

    def test_many_names(self):
        self.check_quiet(self.run_manager(self.manager.install_file(self.bulk())))
        self.assertIsNone(self.difference("trust"))
        self.check_quiet(self.run_manager(self.manager.command("-Rdd", "bulk")))
        self.check()

    def bulk(self):
        site = self.manager.site_inside.strip("/")
        return self.make_package_of("bulk", {
            f"{site}/bulk{number}-1.dist-info/METADATA":
                support.metadata(f"bulk{number}", "1").encode() for number in range(BULK)})

    def make_package_of(self, name, files):
        path = f"{self.built}/{name}.pkg.tar"
        if not os.path.exists(path):
            info = (f"pkgname = {name}\npkgbase = {name}\npkgver = 1-1\npkgdesc = x\nurl = x\n"
                    "builddate = 1700000000\npackager = x\nsize = 10\narch = any\nlicense = x\n")
            pack(path, {".PKGINFO": info.encode()} | files)
        return path

    def test_program_that_fails(self):
        """pacman tells of it, and goes on."""
        for name, content in BROKEN.items():
            with self.subTest(name):
                self.replace_program(content)
                output = self.install(package("alpha"))
                if name != "reads nothing":  # there, it depends on who is faster
                    self.assertIn("error: ", output)
                self.check_careful(package("alpha"))
                self.remove(package("alpha"))

    def test_program_that_does_not_read(self):
        self.replace_program(BROKEN["reads nothing"])
        self.run_manager(self.manager.install_file(self.bulk()))
        self.assertIsNone(self.difference("exact"))

    def switch_off(self):
        os.symlink("/dev/null", f"{self.root}/hooks/entrydb.hook")

    def test_switched_off(self):
        """Readers find out for themselves; the next transaction makes up for it."""
        self.install(package("beta"))
        calls = self.count_refreshes()
        self.switch_off()
        self.install(package("alpha"))
        self.assertEqual(calls(), 0)
        self.assertIsNotNone(self.difference("trust"))
        self.check_careful(package("alpha"), package("beta"))
        os.unlink(f"{self.root}/hooks/entrydb.hook")
        self.install(package("gamma"))
        self.check(package("alpha"), package("beta"), package("gamma"))

    def test_same_version_without_the_hook(self):
        self.install(package("alpha"))
        self.switch_off()
        self.install(package("alpha", number=2))
        self.assertIsNotNone(self.difference("trust"))
        self.assertIsNone(self.difference("exact"))

    def test_nothing_can_be_written(self):
        self.install(package("beta"))
        path = f"{self.root}/var/lib/entrydb"
        prefix = self.in_namespace(f"mount --bind {path} {path}",
                                   f"mount -o remount,ro,bind {path}")
        output = self.install(package("alpha"), prefix=prefix)
        self.assertIn("entrydb: ", output)
        self.assertNotIn("command failed", output)
        self.check_careful(package("alpha"), package("beta"))

    def test_audit_trail(self):
        """Of a long command line the trail has the beginning: most options go to a file."""
        prefix = self.in_namespace(f"mount -t proc proc {self.root}/proc")
        support.write(self.manager.config, "[options]\nArchitecture = auto\nSigLevel = Never\n"
                      f"RootDir = {self.root}\nDBPath = {self.root}/var/lib/pacman\n"
                      f"CacheDir = {self.root}/cache\nLogFile = {self.top}/log\n")
        self.manager.command = lambda *words: ["pacman", "--config", self.manager.config,
                                               "--noconfirm", *words]
        self.install(package("alpha"), prefix=prefix)
        self.install(package("alpha", "2.0"), prefix=prefix)
        self.install(package("beta"))
        self.assertEqual(support.distribution_events(self.manager.database)[-3:],
                         [("index", None, None, None), ("upgrade", "alpha", "1.0", "2.0"),
                          ("install", "Beta.tools", None, "1.0")])
        first, second, third = self.commands()[-3:]
        for command, version in ((first, "1.0"), (second, "2.0")):
            self.assertTrue(command.startswith("pacman: pacman --config "), command)
            self.assertIn(f"alpha-{version}-1.pkg.tar", command)
        self.assertEqual(third, "pacman")  # without /proc


if __name__ == "__main__":
    support.main()
