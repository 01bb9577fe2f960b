"""A root directory that a package manager of a system installs into, and is its database right?

rpm, pacman and apk run inside that root (chroot) what a package wants run: so it holds a
shell and the libraries that the program needs. After each step what the database alone
says of the root is compared with what importlib.metadata finds there.
"""

import functools
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
BUILD_SECONDS = 900
PACKAGES = (".apk", ".pkg.tar", ".rpm")
NOT_PACKED = ("build", ".")  # so begin the names of what no tarball has

# Of a release that was made before any of these builds.
RELEASED = "1700000000"
UPSTREAM = {"ENTRYDB_HOMEPAGE": "https://example.org/entrydb",
            "ENTRYDB_MAINTAINER": "Ann Packager <ann@example.org>", "SOURCE_DATE_EPOCH": RELEASED}

# What stands in for the program, in the tests of those that go wrong.
BROKEN = {"missing": None, "no program": b"\x7fELF, cut off\n", "failing": b"#!/bin/sh\nexit 3\n",
          "killed": b"#!/bin/sh\nkill -KILL $$\n", "reads nothing": b"#!/bin/sh\nexit 0\n"}


def version():
    with open(f"{support.TOP}/CMakeLists.txt", encoding="utf-8") as stream:
        return re.search(r"project\(entrydb VERSION ([0-9.]+)", stream.read())[1]


def pack_sources(place, with_tests=False):
    """The tarball that a packager would start from, of what is in the working tree."""
    left_out = NOT_PACKED if with_tests else (*NOT_PACKED, "tests")
    name = f"entrydb-{version()}"
    path = f"{place}/{name}.tar.xz"
    with tarfile.open(path, "w:xz", preset=0) as archive:
        for entry in sorted(os.listdir(support.TOP)):
            if not entry.startswith(left_out):
                archive.add(f"{support.TOP}/{entry}", f"{name}/{entry}", filter=readable)
    return path


def pack_recipes(place, with_tests=False):
    """The tarball, and beside it the recipes that are made for it."""
    path = pack_sources(place, with_tests)
    build([f"{support.TOP}/hooks/recipes.sh", path, place], place, env={**os.environ, **UPSTREAM})
    return path


def another_place(test):
    """A directory with the same recipes, to build the same once more: later, and elsewhere."""
    return shutil.copytree(test.built, f"{support.make_directory(test)}/another/place",
                           ignore=lambda directory, names: [
                               name for name in names if name.endswith(PACKAGES)
                               or os.path.isdir(f"{directory}/{name}")])


def readable(member):
    """By whoever builds; and without what Python left."""
    member.mode |= 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return None if member.name.endswith(("__pycache__", ".pyc", ".o")) else member


def build(command, cwd, **how):
    """Runs a packager's tool; what it says is shown only where it fails."""
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=BUILD_SECONDS, **how)
    if done.returncode:
        raise AssertionError(f"{command}:\n{done.stdout.decode(errors='replace')[-4000:]}")


def libraries(path):
    """What the dynamic linker opens for a program."""
    done = subprocess.run(["ldd", path], stdout=subprocess.PIPE, text=True, check=True)
    return re.findall(r"(?:=> |^\s+)(/\S+) \(0x", done.stdout, re.MULTILINE)


def library_of_gcc():
    """What a program of C needs that is compiled with -fexceptions, as distributions do."""
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
    """A directory and a package in it, made once for all tests of the module."""
    place = support.make_directory(types.SimpleNamespace(addCleanup=unittest.addModuleCleanup))
    return place, make(place)


class RootTest(unittest.TestCase):
    """A test with a manager of managers.py, whose root has no program of ours yet."""

    manager_class = None
    manager_keeps = ()  # directories in the root

    @classmethod
    def setUpClass(cls):
        if not support.IS_ROOT:
            raise unittest.SkipTest("only root can run what a package wants run in another root")
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
        """Of entrydb itself; returns its file."""
        raise NotImplementedError

    def setUp(self):
        self.top = support.make_directory(self)
        self.manager = self.manager_class(self.top, self.reference.interpreter, random.Random(0))
        self.root, self.site = self.manager.root, self.manager.site
        self.entrydb = program.Program(self.top, support.PROGRAM)
        # The packages are the same for all tests: made once.
        self.manager.maker.place = f"{self.built}/tiny"
        os.makedirs(self.manager.maker.place, exist_ok=True)
        self.furnish()

    def furnish(self):
        for name in ("tmp", "dev", "proc", "var/lib", "etc", "usr/bin"):
            os.makedirs(f"{self.root}/{name}", exist_ok=True)
        try:
            os.mknod(f"{self.root}/dev/null", 0o20666, os.makedev(1, 3))
        except PermissionError:  # in some containers; an empty file does as well
            support.write(f"{self.root}/dev/null", b"")
        for name in ("/bin/sh", "/bin/rm"):
            add_program(self.root, os.path.realpath(name), name)
        for each in (*libraries(support.PROGRAM), library_of_gcc()):
            copy_inside(self.root, each)

    # -- transactions -----------------------------------------------------

    def run_manager(self, command, prefix=(), status=0):
        """Its output; no hook makes it fail."""
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
        """What is in the root of files, and of directories that have entrydb's name; without
        what the manager keeps for itself."""
        found = set()
        for directory, names, files in os.walk(self.root):
            names[:] = [name for name in names
                        if f"{directory}/{name}"[len(self.root):] not in self.manager_keeps]
            found.update(f"{directory}/{name}" for name in files)
            found.update(f"{directory}/{name}" for name in names if "entrydb" in name)
        return found

    def install_entrydb(self):
        return self.run_manager(self.manager.install_file(self.package))

    # -- what the hook calls ----------------------------------------------

    def count_refreshes(self):
        """From now on; returns a function that says how often the program has been called."""
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

    # -- what is known ----------------------------------------------------

    def difference(self, level):
        """None, or where the program's answer departs from importlib.metadata's."""
        answer = self.reference.ask("/", [self.site], [{}])[0]
        command, reply = self.entrydb.list([self.manager.path_entry], {}, self.reference.rules,
                                           [*self.manager.list_options, "--fresh", level])
        wrong = program.difference(answer, reply)
        return wrong and f"{wrong}\n{command}"

    def check(self, *expected):
        """What the database alone says, and what a careful look does; expected: packages."""
        self.assertTrue(os.path.exists(self.manager.database), "there is no database")
        self.assertIsNone(self.difference("trust"))
        self.check_careful(*expected)
        self.assertEqual(self.known(), sorted(each.name for each in expected))

    def known(self):
        """The distributions that the database has."""
        text = "SELECT name FROM distribution ORDER BY name"
        return [name for name, in support.query(self.manager.database, text)]

    def check_careful(self, *expected):
        for level in ("roots", "exact"):
            self.assertIsNone(self.difference(level))
        self.check_installed(*expected)

    def check_installed(self, *expected):
        """The manager did what it was asked to."""
        found = [name for name in os.listdir(self.site) if name.endswith(".dist-info")] \
            if os.path.isdir(self.site) else []
        self.assertEqual(sorted(found), sorted(f"{each.stem}.dist-info" for each in expected))

    def site_time(self):
        return os.stat(self.site).st_mtime_ns

    def commands(self):
        """Of the audit trail."""
        return [command for command, in
                support.query(self.manager.database, "SELECT command FROM event WHERE action NOT LIKE 'entry-point%' ORDER BY id")]

    def in_namespace(self, *mounts):
        """The words before a command that runs with these mounts, which nobody else sees."""
        words = ["unshare", "--mount", "sh", "-c"]
        probe = [*words, f"mount -t tmpfs none {self.top}"]
        if subprocess.run(probe, capture_output=True, check=False).returncode:
            self.skipTest("mount is not permitted here")
        return [*words, " && ".join([*mounts, 'exec "$@"']), "sh"]


def package(name, package_version="1.0", number=1):
    """number: the packager's release."""
    return Package({"alpha": "alpha", "beta": "Beta.tools", "gamma": "gamma_delta"}[name],
                   package_version, number)


class SharedTransactions:
    """What holds for every manager; beside RootTest."""

    upgrade_calls = 1  # of the program, in one transaction that upgrades

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
        """The time of the site directory tells nothing; only the hook knows."""
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
