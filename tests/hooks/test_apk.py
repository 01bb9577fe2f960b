"""The package for Alpine Linux: hooks/apk installed by the real apk, if available, in a separate root.

The functions of APKBUILD are run by a shell as abuild would do, and their files are packed in the
format of apk 2, which apk 3 reads, too. ENTRYDB_TEST_APK names an apk, otherwise it is searched on PATH.
Without apk, the trigger globs are matched against a tree by apk's rules. If abuild is installed, it
checks APKBUILD itself.
"""

import ctypes
import filecmp
import gzip
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import unittest

import managers
import target_root
import tiny_packages
from target_root import RootTest, package, support

HOOKS = f"{support.TOP}/hooks/apk"
SHELLS = ("dash", "bash", "busybox ash")
SCRIPTS = {"post-install": ".post-install", "post-deinstall": ".post-deinstall", "trigger": ".trigger"}
ABUILD_SPLITS = ("dev", "doc", "libs", "pyc", "static", "systemd")  # subpackages that abuild supports without a function
FNM_PATHNAME = 1
LONG = "ENTRYDB_TEST_LONG" in os.environ
SITE = "/usr/lib/python3.12/site-packages"


def apk_program():
    return os.environ.get("ENTRYDB_TEST_APK") or shutil.which("apk")


def variable(name, place=HOOKS):
    """The value of a variable in APKBUILD."""
    return subprocess.run(["sh", "-c", f'. ./APKBUILD && printf %s "${name}"'], cwd=place,
                          stdout=subprocess.PIPE, text=True, check=True).stdout


# --- packages of apk 2: two gzip members, control and data ---

def segment(members, end):
    """end: whether to add the blocks that end a tar, which only the last segment has."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data, mode in members:
            member = tarfile.TarInfo(name)
            member.mode = mode
            if data is None:
                member.type = tarfile.DIRTYPE
            else:
                member.size = len(data)
                member.pax_headers = {"APK-TOOLS.checksum.SHA1": hashlib.sha1(data).hexdigest()}
            archive.addfile(member, io.BytesIO(data or b""))
        length = archive.offset
    data = stream.getvalue()
    return gzip.compress(data if end else data[:length], 1, mtime=0)


def with_directories(tree):
    """(name, data, mode), parents first, as apk requires."""
    members = {}
    for path, (data, mode) in sorted(tree.items()):
        parts = path.split("/")
        for depth in range(1, len(parts)):
            members.setdefault("/".join(parts[:depth]), (None, 0o755))
        members[path] = data, mode
    return [(name, data, mode) for name, (data, mode) in members.items()]


def write_apk(path, name, version, tree, scripts=(), triggers=""):
    """tree: path -> (bytes, mode)."""
    data = segment(with_directories(tree), True)
    info = (f"pkgname = {name}\npkgver = {version}\npkgdesc = x\nurl = x\narch = noarch\n"
            f"license = x\nsize = {len(data)}\norigin = {name}\n")
    if triggers:
        info += f"triggers = {triggers}\n"
    info += f"datahash = {hashlib.sha256(data).hexdigest()}\n"
    control = [(".PKGINFO", info.encode(), 0o644), *((key, text, 0o755) for key, text in scripts)]
    support.write(path, segment(control, False) + data)


def staged(directory):
    """The files of a directory in the form of write_apk(); links become files."""
    tree = {}
    for place, _, names in os.walk(directory):
        for path in (f"{place}/{name}" for name in names):
            with open(path, "rb") as stream:
                mode = os.stat(path).st_mode & 0o777
                tree[os.path.relpath(path, directory)] = stream.read(), mode
    return tree


class Maker(tiny_packages.Maker):
    def apk(self, each):
        return self.once(f"{self.place}/{each.stem}-r{each.build}.apk", lambda path: write_apk(
            path, each.system_name, f"{each.version}-r{each.build}",
            {name: (data, 0o644) for name, data in self.placed(each).items()}))


class Apk(managers.Manager):
    hook = "apk"
    site_inside = SITE

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.maker = Maker(self.maker.place, self.site_inside)

    @classmethod
    def check(cls):
        if not apk_program():
            raise managers.Unavailable("there is no apk")

    def command(self, verb, *words):
        return [apk_program(), verb, "--root", self.root, "--no-network", "--allow-untrusted",
                "--repositories-file", "/dev/null", *words]

    def install_file(self, path):
        return self.command("add", "--force-overwrite", path)

    def install(self, each):
        return self.install_file(self.maker.apk(each))

    def remove_named(self, *names):
        return self.command("del", *names)


# --- without apk ---

class Files(unittest.TestCase):
    def test_shell_syntax(self):
        tried = 0
        for shell in SHELLS:
            if shutil.which(shell.split()[0]):
                tried += 1
                for name in sorted(os.listdir(HOOKS)):
                    with self.subTest(shell, name=name):
                        subprocess.run([*shell.split(), "-n", f"{HOOKS}/{name}"], check=True)
        self.assertTrue(tried, "no shell to try")

    def test_scripts_exist(self):
        for name in [*variable("install").split(), variable("triggers").split("=")[0]]:
            self.assertTrue(os.access(f"{HOOKS}/{name}", os.X_OK), name)

    def test_fields(self):
        """The fields that abuild requires, and subpackages that it supports."""
        for name in ("pkgname", "pkgver", "pkgrel", "pkgdesc", "url", "arch", "license", "source",
                     "sha512sums"):
            self.assertTrue(variable(name), name)
        self.assertLess(len(variable("pkgdesc")), 128)
        functions = subprocess.run(["bash", "-c", ". ./APKBUILD && compgen -A function"], cwd=HOOKS,
                                   stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        for each in ("build", "check", "package"):
            self.assertIn(each, functions)
        for each in variable("subpackages").split():
            name, _, function = each.partition(":")
            self.assertTrue((function or name.rsplit("-", 1)[1]) in (*functions, *ABUILD_SPLITS)
                            or name.endswith("-completion"), name)
        self.assertLessEqual(set(SPLIT.values()), set(functions))

    @unittest.skipUnless(shutil.which("abuild"), "there is no abuild")
    def test_abuild_accepts_it(self):
        place = support.make_directory(self)
        target_root.pack_recipes(place)
        subprocess.run(["abuild", "-F", "validate"], cwd=place, check=True)

    def test_globs(self):
        """Matched by fnmatch() of the C library, as in apk: a * stops at a slash."""
        library = ctypes.CDLL(None)
        globs = variable("triggers").split("=", 1)[1].split(":")
        for path, expected in ((SITE, True), (f"{SITE}/spam-1.0.dist-info", True),
                               (f"{SITE}/spam.egg-info", True), (f"{SITE}/spam", False),
                               (f"{SITE}/spam-1.0.dist-info/licenses", False),
                               ("/usr/lib/python3.13/site-packages/x.dist-info", True),
                               ("/usr/lib/python3.12", False), ("/usr/lib", False)):
            found = any(library.fnmatch(glob.encode(), path.encode(), FNM_PATHNAME) == 0
                        for glob in globs)
            self.assertEqual(found, expected, path)


# --- with apk ---

# Subpackages with their own files have a function that calls amove.
SPLIT = {"entrydb-fleet": "fleet", "py3-entrydb": "python"}
# abuild sets the compiler's flags.
ABUILD = """
export CFLAGS="-Os -fstack-clash-protection -Wformat -Werror=format-security"
export CXXFLAGS="$CFLAGS -D_GLIBCXX_ASSERTIONS=1" LDFLAGS="-Wl,--as-needed,-O1,--sort-common"
amove() {
    for path; do
        mkdir -p "$subpkgdir/$(dirname "$path")"
        mv "$path" "$subpkgdir/$path"
    done
}
. "$1/APKBUILD"
pkgdir=$1/stage
cd "$1/$pkgname-$pkgver"
build
check
package
cd "$pkgdir"
""" + "".join(f'subpkgdir=$1/{name}; {function}\n' for name, function in SPLIT.items())


def make_packages(place):
    """Run APKBUILD's functions as abuild does; then pack its scripts and triggers."""
    with tarfile.open(f"{place}/entrydb-{target_root.version()}.tar.xz") as archive:
        archive.extractall(place)
    target_root.build(["bash", "-ec", ABUILD, "bash", place], place,
                      env={**os.environ, "SOURCE_DATE_EPOCH": target_root.RELEASED, "CTEST_PARALLEL_LEVEL": "4"})
    for name in SPLIT:
        write_apk(f"{place}/{name}.apk", name, f"{variable('pkgver', place)}-r0",
                  staged(f"{place}/{name}"))
    scripts = []
    for ending, key in SCRIPTS.items():
        with open(f"{HOOKS}/entrydb.{ending}", "rb") as stream:
            scripts.append((key, stream.read()))
    path = f"{place}/entrydb.apk"
    write_apk(path, "entrydb", f"{variable('pkgver', place)}-r{variable('pkgrel')}",
              staged(f"{place}/stage"), scripts,
              variable("triggers").split("=", 1)[1].replace(":", " "))
    return path


class ApkTest(RootTest):
    manager_class = Apk
    manager_keeps = ("/lib/apk", "/etc/apk", "/var/cache/apk", "/usr/lib/apk")

    @staticmethod
    def make_package(place):
        target_root.pack_recipes(place)
        return make_packages(place)

    def furnish(self):
        super().furnish()
        # Files of the package of Python.
        self.run_manager(self.manager.command("add", "--initdb", "--arch", "noarch", self.make_apk(
            "python3", {f"{SITE}/README.txt": b""})))

    def make_apk(self, name, files):
        path = f"{self.built}/{name}.apk"
        if not os.path.exists(path):
            write_apk(path, name, "1-r0",
                      {key.strip("/"): (data, 0o644) for key, data in files.items()})
        return path

    def check_quiet(self, output):
        for word in ("ERROR", "WARNING", "entrydb: "):
            self.assertNotIn(word, output)


class Package(target_root.SharedPackage, ApkTest):
    set_aside = ["", "/entry_points.db.removed"]

    def test_removal_is_complete(self):
        """Removing all packages leaves nothing, not even files written by entrydb and Python, but the audit trail."""
        before = self.files()
        self.check_quiet(self.install_entrydb())
        for name in SPLIT:
            self.check_quiet(self.install_file(f"{self.built}/{name}.apk"))
        self.assertTrue(os.path.exists(self.manager.database))
        self.assertIn("entrydb", self.known())
        self.remove_named("entrydb", *SPLIT)
        self.assertEqual(sorted(self.files() - before), [self.state + each for each in self.set_aside])

    @unittest.skipUnless(LONG, "builds the packages once more: only with --long")
    def test_reproducible(self):
        """abuild controls times, owners and order; the packed contents are the same."""
        again = target_root.another_place(self)
        make_packages(again)
        for name in ("entrydb", *SPLIT):
            self.assertTrue(filecmp.cmp(f"{self.built}/{name}.apk", f"{again}/{name}.apk",
                                        shallow=False), name)


class Transactions(target_root.SharedTransactions, ApkTest):
    ways_around_the_hook = ("--no-scripts",)

    def other_package(self):
        return self.make_apk("other", {"usr/lib/python3.12/os.py": b"", "usr/share/other/METADATA": b""})

    def check_failure_told(self, broken, output):
        """apk does not report it."""
        self.assertNotIn("ERROR", output)

    def test_egg_file(self):
        path = self.make_apk("egg", {f"{SITE}/egg-1.egg-info":
                                     support.metadata("egg", "1").encode()})
        self.install_file(path)
        self.assertEqual(self.known(), ["egg"])
        self.remove_named("egg")
        self.check()

    def test_stdin_is_not_read(self):
        """It may be the rest of the calling script."""
        command = self.manager.install(package("alpha"))
        done = subprocess.run(["sh", "-c", '"$@"; cat', "sh", *command], env=self.manager.env,
                              input=b"the rest\n", stdout=subprocess.PIPE, check=True,
                              timeout=support.SECONDS_ALLOWED)
        self.assertTrue(done.stdout.endswith(b"the rest\n"), done.stdout)
        self.check(package("alpha"))

    def test_audit_trail(self):
        prefix = self.in_namespace(f"mount -t proc proc {self.root}/proc")
        self.run_manager(self.manager.command("add", self.manager.maker.apk(package("alpha"))), prefix=prefix)
        self.assertEqual(self.commands()[-1], "apk: apk add alpha-1.0-r1.apk")


if __name__ == "__main__":
    support.main()
