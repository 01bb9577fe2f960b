"""Tests of the system package managers: the database of a root directory that one installs into.

rpm, pacman and apk run the scripts of packages inside that root (chroot), so it holds a shell and the
libraries that the program needs. After each step the answer from the database alone is compared with
that of importlib.metadata.
"""

import functools
import json
import os
import random
import re
import shutil
import subprocess
import tarfile
import types
import unittest

import archives  # noqa: F401: for those who import this
import program
import reference
import support
from managers import Unavailable
from tiny_packages import Package

PROGRAM_INSIDE = "/usr/bin/entrydb"
BUILD_SECONDS = 1800
PACKAGES = (".apk", ".pkg.tar", ".rpm")
NOT_PACKED = ("build", ".git/")  # prefixes

# The time of a release that is older than all builds of the tests.
RELEASED = "1700000000"
UPSTREAM = {"ENTRYDB_HOMEPAGE": "https://example.org/entrydb",
            "ENTRYDB_MAINTAINER": "Ann Packager <ann@example.org>", "SOURCE_DATE_EPOCH": RELEASED}

# Defective replacements of the program.
BROKEN = {"missing": None, "no program": b"\x7fELF, cut off\n", "failing": b"#!/bin/sh\nexit 3\n",
          "killed": b"#!/bin/sh\nkill -KILL $$\n", "reads nothing": b"#!/bin/sh\nexit 0\n"}


def version():
    return re.search(r"project\(entrydb VERSION ([0-9.]+)", support.read(f"{support.TOP}/CMakeLists.txt"))[1]


def pack_sources(place):
    """The tarball of the working tree that a packager would start from."""
    name = f"entrydb-{version()}"
    path = f"{place}/{name}.tar.xz"
    with tarfile.open(path, "w:xz", preset=0) as archive:
        for entry in sorted(os.listdir(support.TOP)):
            if not f"{entry}/".startswith(NOT_PACKED):
                archive.add(f"{support.TOP}/{entry}", f"{name}/{entry}", filter=readable)
    return path


def pack_recipes(place):
    """The tarball with the recipes made for it beside it."""
    path = pack_sources(place)
    build([f"{support.TOP}/hooks/recipes.sh", path, place], place, env={**os.environ, **UPSTREAM})
    return path


def another_place(test):
    """A second directory with the same recipes, for a second build at another time and place."""
    return shutil.copytree(test.built, f"{support.make_directory(test)}/another/place",
                           ignore=lambda directory, names: [
                               name for name in names if name.endswith(PACKAGES)
                               or os.path.isdir(f"{directory}/{name}")])


def readable(member):
    """Make a member of the tarball readable for the user who builds; leave out Python's caches."""
    member.mode |= 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return None if member.name.endswith(("__pycache__", ".pyc", ".o")) else member


def build(command, cwd, **how):
    """Run a packager's tool; its output is shown only if it fails."""
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=BUILD_SECONDS, **how)
    if done.returncode:
        raise AssertionError(f"{command}:\n{done.stdout.decode(errors='replace')[-4000:]}")


def libraries(path):
    """The libraries that the dynamic linker loads for a program."""
    done = subprocess.run(["ldd", path], stdout=subprocess.PIPE, text=True, check=True)
    return re.findall(r"(?:=> |^\s+)(/\S+) \(0x", done.stdout, re.MULTILINE)


def library_of_gcc():
    """libgcc_s, which C programs compiled with -fexceptions need, as distributions do."""
    done = subprocess.run(["cc", "-print-file-name=libgcc_s.so.1"], stdout=subprocess.PIPE,
                          text=True, check=True)
    return os.path.normpath(done.stdout.strip())


def copy_inside(root, path, place=None):
    target = root + (place or path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.exists(target):
        shutil.copy(path, target)


def add_program(root, path, place=None):
    for each in libraries(path):
        copy_inside(root, each)
    copy_inside(root, path, place)


@functools.cache
def package_of(make):
    """A directory and a package in it, built once for all tests of the module."""
    place = support.make_directory(types.SimpleNamespace(addCleanup=unittest.addModuleCleanup))
    return place, make(place)


class RootTest(unittest.TestCase):
    """A test with a manager of managers.py, in whose root entrydb is not yet installed."""

    manager_class = None
    manager_keeps = ()  # directories of the root that the manager writes to

    @classmethod
    def setUpClass(cls):
        if not support.IS_ROOT:
            raise unittest.SkipTest("only root can run the scripts of packages in another root")
        try:
            cls.manager_class.check()
        except Unavailable as reason:
            raise unittest.SkipTest(str(reason)) from None
        found = reference.interpreters()
        if not found:
            raise unittest.SkipTest("no CPython 3.10 or later that runs")
        cls.reference = reference.start_workers(found[-1:])[0]
        cls.addClassCleanup(cls.reference.close)
        cls.built, cls.package = package_of(cls.make_package)

    @staticmethod
    def make_package(place):
        """Build the package of entrydb; returns its file."""
        raise NotImplementedError

    def setUp(self):
        self.top = support.make_directory(self)
        self.manager = self.manager_class(self.top, self.reference.interpreter, random.Random(0))
        self.root, self.site = self.manager.root, self.manager.site
        self.state = f"{self.root}/var/lib/entrydb"
        self.entrydb = program.Program(self.top, support.PROGRAM)
        # The packages are the same for all tests and built once.
        self.manager.maker.place = f"{self.built}/tiny"
        os.makedirs(self.manager.maker.place, exist_ok=True)
        self.furnish()

    def furnish(self):
        for name in ("tmp", "dev", "proc", "var/lib", "etc", "usr/bin"):
            os.makedirs(f"{self.root}/{name}", exist_ok=True)
        try:
            os.mknod(f"{self.root}/dev/null", 0o20666, os.makedev(1, 3))
        except PermissionError:  # in some containers; an empty file will do
            support.write(f"{self.root}/dev/null", b"")
        for name in ("/bin/sh", "/bin/mv", "/bin/rm", "/usr/bin/link", "/usr/bin/unlink", "/usr/bin/timeout"):
            add_program(self.root, os.path.realpath(name), name)
        for each in (*libraries(support.PROGRAM), library_of_gcc()):
            copy_inside(self.root, each)

    # -- transactions -----------------------------------------------------

    def run_manager(self, command, prefix=(), status=0):
        """Run the manager; returns its output. Hooks must never make it fail."""
        done = subprocess.run([*prefix, *command], env=self.manager.env, cwd=self.top,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=support.SECONDS_ALLOWED)
        output = done.stdout.decode(errors="replace")
        self.assertEqual(done.returncode, status, f"{command}\n{output}")
        return output

    def install(self, *packages, options=(), **how):
        words = [self.manager.install(package) for package in packages]
        return self.run_manager([*words[0], *(each[-1] for each in words[1:]), *options], **how)

    def remove(self, *packages, options=(), **how):
        words = [self.manager.remove(package) for package in packages]
        return self.run_manager([*words[0], *(each[-1] for each in words[1:]), *options], **how)

    def files(self):
        """The files of the root, and directories named after entrydb, except what the manager writes
        for itself."""
        found = set()
        for directory, names, files in os.walk(self.root):
            names[:] = [name for name in names
                        if f"{directory}/{name}"[len(self.root):] not in self.manager_keeps]
            found.update(f"{directory}/{name}" for name in files)
            found.update(f"{directory}/{name}" for name in names if "entrydb" in name)
        return found

    def install_file(self, path):
        return self.run_manager(self.manager.install_file(path))

    def install_entrydb(self):
        return self.install_file(self.package)

    def remove_named(self, *names):
        return self.run_manager(self.manager.remove_named(*names))

    # -- calls by the hook ------------------------------------------------

    def count_refreshes(self):
        """Count calls of the program from now on; returns a function that returns the count."""
        os.rename(self.root + PROGRAM_INSIDE, f"{self.root}{PROGRAM_INSIDE}.real")
        script = f'#!/bin/sh\necho "$*" >>/calls\nexec {PROGRAM_INSIDE}.real "$@"\n'
        self.replace_program(script.encode())
        return self.take_calls

    def take_calls(self):
        path = f"{self.root}/calls"
        if not os.path.exists(path):
            return 0
        with open(path, encoding="utf-8") as stream:
            lines = stream.readlines()
        os.unlink(path)
        return len(lines)

    def replace_program(self, content):
        path = self.root + PROGRAM_INSIDE
        if os.path.exists(path):
            os.unlink(path)
        if content is not None:
            support.write(path, content)
            os.chmod(path, 0o755)

    # -- the database ------------------------------------------------------

    def difference(self, level):
        """How the program's answer differs from importlib.metadata's; None if it does not."""
        answer = self.reference.ask("/", [self.site], [{}])[0]
        command, reply = self.entrydb.list([self.manager.path_entry], {}, self.reference.rules,
                                           [*self.manager.list_options, "--fresh", level])
        wrong = program.difference(answer, reply)
        return wrong and f"{wrong}\n{command}"

    def check(self, *expected):
        """Check the answer from the database alone and with full checks; expected: packages."""
        self.assertTrue(os.path.exists(self.manager.database), "there is no database")
        if os.path.isdir(self.site):
            self.check_fresh()
        self.assertIsNone(self.difference("trust"))
        self.check_careful(*expected)
        self.assertEqual(self.known(), sorted(each.name for each in expected))

    def check_fresh(self):
        """The first query must be answered without checking the distributions."""
        done = self.entrydb.run(["status", "--json", "--path", self.manager.path_entry, *self.manager.list_options])
        found = json.loads(done.stdout)
        self.assertEqual(found["state"], "fresh", found)

    def known(self):
        """The distributions in the database."""
        text = "SELECT name FROM distribution ORDER BY name"
        return [name for name, in support.query(self.manager.database, text)]

    def check_careful(self, *expected):
        for level in ("roots", "exact"):
            self.assertIsNone(self.difference(level))
        self.check_installed(*expected)

    def check_installed(self, *expected):
        """The manager has installed exactly these packages."""
        found = [name for name in os.listdir(self.site) if name.endswith(".dist-info")] \
            if os.path.isdir(self.site) else []
        self.assertEqual(sorted(found), sorted(f"{each.stem}.dist-info" for each in expected))

    def site_time(self):
        return os.stat(self.site).st_mtime_ns

    def commands(self):
        """The commands in the audit trail."""
        return [command for command, in
                support.query(self.manager.database, "SELECT command FROM event WHERE action NOT LIKE 'entry-point%' ORDER BY id")]

    def in_namespace(self, *mounts):
        """A command prefix that runs a command with these private mounts."""
        words = ["unshare", "--mount", "sh", "-c"]
        probe = [*words, f"mount -t tmpfs none {self.top}"]
        if subprocess.run(probe, capture_output=True, check=False).returncode:
            self.skipTest("mount is not permitted here")
        return [*words, " && ".join([*mounts, 'exec "$@"']), "sh"]


def package(name, package_version="1.0", number=1):
    """number: the package release."""
    return Package({"alpha": "alpha", "beta": "Beta.tools", "gamma": "gamma_delta"}[name],
                   package_version, number)


class SharedPackage:
    """Properties of the package of entrydb that hold for every manager; mixed into RootTest."""

    set_aside = []  # files of the database that remain after removal

    def test_installed_last(self):
        """Installing the package indexes the distributions that are already installed."""
        self.install(package("alpha"), package("beta"))
        self.check_quiet(self.install_entrydb())
        self.check(package("alpha"), package("beta"))

    def test_installed_together(self):
        """The package indexes distributions that are installed in the same transaction."""
        self.install(package("beta"))
        words = self.manager.install(package("alpha"))
        self.check_quiet(self.run_manager([*self.manager.install_file(self.package), words[-1]]))
        self.check(package("alpha"), package("beta"))

    def test_removed(self):
        """Removal deletes the database, which nothing would update; without a purge, the audit trail is kept."""
        self.install_entrydb()
        self.install(package("alpha"))
        trail = "SELECT * FROM event ORDER BY id"
        seen = support.query(self.manager.database, trail)
        self.check_quiet(self.remove_named("entrydb"))
        self.assertEqual([path[len(self.state):] for path in sorted(self.files()) if path.startswith(self.state)],
                         self.set_aside)
        self.install(package("beta"))
        self.check_careful(package("alpha"), package("beta"))
        self.install_entrydb()
        self.check(package("alpha"), package("beta"))
        if self.set_aside:
            self.assertEqual(support.query(self.manager.database, trail)[:len(seen)], seen)


class SeveralPackages(SharedPackage):
    """The same for rpm and pacman. FILES: for each built package, its files as Python format strings."""

    def check_files(self, found, **words):
        """found: package name -> the paths in it."""
        self.assertEqual(set(found), set(self.FILES))
        for name, expected in self.FILES.items():
            for path in expected:
                self.assertIn(path.format(**words), found[name])
        self.assertFalse([path for each in found.values() for path in each if path.endswith(".a")])

    def test_installed_again(self):
        self.install_entrydb()
        self.install(package("alpha"))
        self.check_quiet(self.install_entrydb())
        self.check(package("alpha"))


class SharedTransactions:
    """Properties that hold for every manager once entrydb is installed; mixed into RootTest."""

    upgrade_calls = 1  # calls of the program in one upgrade transaction
    ways_around_the_hook = ()  # options of the manager that disable it

    def setUp(self):
        super().setUp()
        self.install_entrydb()

    def other_package(self):
        """A package without a Python distribution."""
        raise NotImplementedError

    def check_failure_told(self, broken, output):
        """broken: the kind of defect, a key of BROKEN."""

    def test_history(self):
        old, new, other = package("alpha"), package("alpha", "2.0"), package("beta")
        for packages, expected in (([old], [old]), ([other], [old, other]), ([new], [new, other]),
                                   ([old], [old, other])):
            self.check_quiet(self.install(*packages))
            self.check(*expected)
        self.check_quiet(self.remove(old))
        self.check(other)
        self.check_quiet(self.remove(other))
        self.check()

    def test_same_version(self):
        """Reinstalling a version leaves the time of the site directory alone: only the hook notices."""
        self.install(package("alpha"), package("beta"))
        time = self.site_time()
        for number in (2, 3, 1):
            self.install(package("alpha", number=number))
            self.assertEqual(self.site_time(), time)
            self.check(package("alpha", number=number), package("beta"))

    def test_several_at_once(self):
        calls = self.count_refreshes()
        several = package("alpha"), package("beta"), package("gamma")
        others = [each._replace(version="1.1") for each in several]
        for act, packages, expected, count in (
                (self.install, several, several, 1),
                (self.install, others, others, self.upgrade_calls),
                (self.remove, others, (), 1)):
            act(*packages)
            self.assertEqual(calls(), count)
            self.check(*expected)

    def test_other_packages(self):
        """Packages without Python distributions do not cause a call of the program."""
        calls = self.count_refreshes()
        self.install_file(self.other_package())
        self.assertEqual(calls(), 0)

    def test_program_that_fails(self):
        for name, content in BROKEN.items():
            with self.subTest(name):
                self.replace_program(content)
                self.check_failure_told(name, self.install(package("alpha")))
                self.check_careful(package("alpha"))
                self.remove(package("alpha"))

    def test_program_that_hangs(self):
        """A transaction waits at most a minute for the program; in this test, a second."""
        limit = f"{self.root}/usr/bin/timeout"
        os.rename(limit, f"{limit}.real")
        support.write(limit, '#!/bin/sh\nwhile [ "$1" != 60 ]; do shift; done\nshift\n'
                             'exec /usr/bin/timeout.real 1 "$@"\n')
        os.chmod(limit, 0o755)
        self.replace_program(b"#!/bin/sh\nwhile :; do :; done\n")
        self.install(package("alpha"))
        self.check_careful(package("alpha"))

    def install_around_the_hook(self, way, *packages):
        self.install(*packages, options=[way])

    def test_without_the_hook(self):
        """Without the hook, readers notice the changes; the next transaction updates the database."""
        self.install(package("beta"))
        for way in self.ways_around_the_hook:
            with self.subTest(way):
                self.install_around_the_hook(way, package("alpha"))
                self.assertIsNotNone(self.difference("trust"))
                self.check_careful(package("alpha"), package("beta"))
                self.install(package("gamma"))
                self.check(package("alpha"), package("beta"), package("gamma"))
                self.remove(package("alpha"), package("gamma"))

    def switch_off(self):
        os.mkdir(f"{self.root}/etc/entrydb")
        support.write(f"{self.root}/etc/entrydb/no-{self.manager.hook}-hook", "")

    def test_switched_off(self):
        self.install(package("alpha"))
        self.switch_off()
        calls = self.count_refreshes()
        self.check_quiet(self.install(package("beta")))
        self.remove(package("beta"))
        self.assertEqual(calls(), 0)


class MoreTransactions(SharedTransactions):
    """Further properties, for rpm and pacman."""

    reinstall_options = ()

    def test_reinstalled(self):
        self.install(package("alpha"))
        support.write(f"{self.site}/alpha-1.0.dist-info/entry_points.txt", "[demo]\nalpha = by:hand\n")
        self.install(package("alpha"), options=self.reinstall_options)
        self.check(package("alpha"))

    def bulk(self):
        """A package for which the manager passes a long list of files."""
        raise NotImplementedError

    def test_bulk(self):
        self.check_quiet(self.install_file(self.bulk()))
        self.assertIsNone(self.difference("trust"))
        self.check_quiet(self.remove_named("bulk"))
        self.check()

    def test_program_that_does_not_read(self):
        self.replace_program(BROKEN["reads nothing"])
        self.install_file(self.bulk())
        self.assertIsNone(self.difference("exact"))

    def test_same_version_without_the_hook(self):
        self.install(package("alpha"))
        self.install_around_the_hook(self.ways_around_the_hook[-1], package("alpha", number=2))
        self.assertIsNotNone(self.difference("trust"))
        self.assertIsNone(self.difference("exact"))

    def test_nothing_can_be_written(self):
        self.install(package("beta"))
        path = f"{self.root}/var/lib/entrydb"
        prefix = self.in_namespace(f"mount --bind {path} {path}", f"mount -o remount,ro,bind {path}")
        output = self.install(package("alpha"), prefix=prefix)
        self.assertIn("entrydb: ", output)
        for told in ("scriptlet failed", "command failed"):
            self.assertNotIn(told, output)
        self.check_careful(package("alpha"), package("beta"))

    def check_audit_trail(self, begin, file):
        """begin: a prefix of the commands; file: a file of a version of alpha."""
        prefix = self.in_namespace(f"mount -t proc proc {self.root}/proc")
        self.install(package("alpha"), prefix=prefix)
        self.install(package("alpha", "2.0"), prefix=prefix)
        self.install(package("beta"))
        self.assertEqual(support.distribution_events(self.manager.database)[-3:],
                         [("index", None, None, None), ("upgrade", "alpha", "1.0", "2.0"),
                          ("install", "Beta.tools", None, "1.0")])
        *told, last = self.commands()[-3:]
        for command, version in zip(told, ("1.0", "2.0"), strict=True):
            self.assertTrue(command.startswith(begin), command)
            self.assertIn(file.format(version), command)
        self.assertEqual(last, self.manager.hook)  # if /proc is not mounted
