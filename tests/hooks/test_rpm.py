"""The package for Fedora: hooks/rpm/entrydb.spec installed by the real rpm in a separate root.

rpm runs its file triggers there. After each transaction the database alone must agree with
importlib.metadata. Fedora's macros and compiler flags are in fedora.macros; %check runs with them.
"""

import filecmp
import glob
import os
import shutil
import subprocess
import unittest

import managers
import target_root
from target_root import RootTest, package, support

FILES = {"entrydb": ["/usr/bin/entrydb", "/usr/{lib}/entrydb",
                     "/usr/{lib}/entrydb/entrydb-archive.so", "/usr/share/man/man1/entrydb.1.gz",
                     "/usr/share/man/man5/entrydb.5.gz",
                     "/usr/share/man/man7/entrydb-freshness.7.gz",
                     "/usr/share/bash-completion/completions/entrydb",
                     "/usr/lib/systemd/system/entrydb.timer", "/usr/lib/tmpfiles.d/entrydb.conf",
                     "/var/lib/entrydb", "/var/lib/entrydb/entry_points.db"],
         "entrydb-fleet": ["/usr/{lib}/entrydb/entrydb-fleet.so"],
         "entrydb-libs": ["/usr/{lib}/libentrydb.so.0", "/usr/{lib}/libentrydb.so.0.1.0"],
         "entrydb-devel": ["/usr/include/entrydb.h", "/usr/{lib}/libentrydb.so",
                           "/usr/{lib}/cmake/entrydb/entrydb-config.cmake",
                           "/usr/{lib}/pkgconfig/entrydb.pc",
                           "/usr/share/doc/entrydb-devel/examples/example.c"],
         "python3-entrydb": ["/usr/{lib}/{python}/site-packages/entrydb/_native.abi3.so",
                             "/usr/{lib}/{python}/site-packages/entrydb/_program.py",
                             *(f"/usr/{{lib}}/{{python}}/site-packages/entrydb-0.1.0.dist-info/{name}"
                               for name in ("INSTALLER", "METADATA", "WHEEL", "entry_points.txt"))]}
LONG = "ENTRYDB_TEST_LONG" in os.environ
BULK_FILES = 2000  # their list is many times larger than a pipe's buffer


HERE = os.path.dirname(os.path.abspath(__file__))


def build_packages(place, *words, prefix=()):
    """Build packages from the recipes in the directory; prefix: words before the command."""
    target_root.build([*prefix, "rpmbuild", "-bb", "--nodeps", "--load", f"{HERE}/fedora.macros",
                       *words, "--define", f"_topdir {place}/top",
                       "--define", f"_sourcedir {place}", "--define", f"_rpmdir {place}",
                       "--define", "_buildhost reproducible", "--define", "_smp_mflags -j4", "--define", "_build_name_fmt "
                       "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
                       f"{place}/entrydb.spec"], place)


def packages(place):
    """The packages built from the spec file, except the debuginfo packages."""
    return [path for path in sorted(glob.glob(f"{place}/*.rpm")) if "-debug" not in name_of(path)]


def name_of(path):
    return os.path.basename(path).rsplit("-", 2)[0]


def rpm_words(*words):
    return subprocess.run(["rpm", *words], stdout=subprocess.PIPE, text=True, check=True).stdout


def content(path):
    """The content of a file without its build-id and the checksum of its debuginfo file."""
    if os.path.islink(path):
        return os.readlink(path)
    with open(path, "rb") as stream:
        data = stream.read()
    if not data.startswith(b"\x7fELF"):
        return data
    subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id",
                    "--remove-section=.gnu_debuglink", path, f"{path}.rest"],
                   stderr=subprocess.DEVNULL, check=True)
    with open(f"{path}.rest", "rb") as stream:
        return stream.read()


class RpmTest(RootTest):
    manager_class = managers.Rpm
    manager_keeps = ("/var/lib/rpm",)

    @staticmethod
    def make_package(place):
        target_root.pack_recipes(place)
        build_packages(place)
        return next(path for path in packages(place) if name_of(path) == "entrydb")

    def check_quiet(self, output):
        """Ignores the warnings of Debian's rpm about itself."""
        self.assertEqual([line for line in output.splitlines() if not line.startswith("rpm: ")], [])


class Package(target_root.SeveralPackages, RpmTest):
    FILES = FILES
    set_aside = ["", "/entry_points.db.removed"]

    def test_files(self):
        lib = rpm_words("--eval", "%{_lib}").strip()
        python = rpm_words("--load", f"{HERE}/fedora.macros", "--eval", "%{python3_version}").strip()
        self.check_files({name_of(path): rpm_words("-qpl", path).splitlines() for path in packages(self.built)},
                         lib=lib, python=f"python{python}")

    @unittest.skipUnless(shutil.which("rpmlint"), "there is no rpmlint")
    def test_rpmlint(self):
        done = subprocess.run(["rpmlint", "--config", f"{HERE}/rpmlint.toml", *packages(self.built),
                               f"{self.built}/entrydb.spec"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        complaints = [line for line in done.stdout.splitlines() if ": W: " in line or ": E: " in line]
        self.assertEqual((done.returncode, complaints), (0, []), done.stdout)
        self.assertIn(f"{len(FILES)} packages and 1 specfiles checked", done.stdout)

    @unittest.skipUnless(shutil.which("rpmlint"), "there is no rpmlint")
    def test_rpmlint_detects_mistakes(self):
        path = f"{self.top}/entrydb.spec"
        shutil.copy(f"{self.built}/entrydb.spec", path)
        with open(path, "a", encoding="utf-8") as stream:
            stream.write("%clean\nrm -rf $RPM_BUILD_ROOT\n%define later %{nil}\n")
        done = subprocess.run(["rpmlint", "--config", f"{HERE}/rpmlint.toml", path],
                              stdout=subprocess.PIPE, text=True, check=False)
        self.assertRegex(done.stdout, "entrydb.spec:.* [EW]: ")

    def test_removal_is_complete(self):
        """Removing all packages leaves nothing, not even files written by entrydb and Python, but the audit trail."""
        before = self.files()
        names = list(map(name_of, packages(self.built)))
        self.install(package("alpha"))
        self.run_manager(self.manager.command("--upgrade", *packages(self.built)))
        self.assertTrue(os.path.exists(self.manager.database))
        self.assertEqual(self.run_manager(self.manager.command("--verify", *names)), "")
        self.install(package("beta"))
        self.assertEqual(self.run_manager(self.manager.command("--verify", *names)), "")
        self.remove_named(*names)
        self.remove(package("alpha"), package("beta"))
        self.assertEqual(sorted(self.files() - before), [self.state + each for each in self.set_aside])

    @unittest.skipUnless(LONG, "builds the packages once more: only with --long")
    def test_reproducible(self):
        """Built in a directory of the same name, as in mock, on a machine of another name."""
        again = target_root.another_place(self)
        mount = self.in_namespace(f"mount --bind {again} {self.built}")
        build_packages(self.built, "--nocheck", prefix=[*mount, "unshare", "--uts", "sh", "-c",
                                                        'hostname elsewhere && exec "$@"', "sh"])
        files = sorted(glob.glob(f"{self.built}/*.rpm"))
        self.assertGreater(len(files), 2 * len(FILES) - 2)  # with the debuginfo packages
        for path in files:
            self.assertTrue(filecmp.cmp(path, f"{again}/{os.path.basename(path)}", shallow=False), path)

    @unittest.skipUnless(LONG, "builds the packages once more: only with --long")
    def test_reproducible_in_another_directory(self):
        """Everything but the build-ids: debugedit computes them from the compiler's output before it removes the
        directory."""
        again = target_root.another_place(self)
        build_packages(again, "--nocheck")
        for first, second in zip(packages(self.built), packages(again), strict=True):
            one, other = (self.unpack(path) for path in (first, second))
            self.assertEqual(list(one), list(other))
            self.assertGreater(len(one), 1)
            for name, content in one.items():
                self.assertTrue(content == other[name], f"{first}: {name}")

    def unpack(self, path):
        """The contents of a package, without build-ids and the files named after them."""
        tree = support.make_directory(self)
        subprocess.run(["bsdtar", "-xf", path], cwd=tree, check=True)
        found = {}
        for place, directories, names in os.walk(tree):
            directories[:] = sorted(name for name in directories if name != ".build-id")
            for each in (f"{place}/{name}" for name in sorted(names)):
                found[os.path.relpath(each, tree)] = os.lstat(each).st_mode, os.lstat(each).st_mtime, content(each)
        return found

    def test_version(self):
        self.assertEqual(rpm_words("-qp", "--qf", "%{VERSION}", self.package),
                         target_root.version())

    def test_triggers(self):
        text = rpm_words("-qp", "--filetriggers", self.package)
        for kind in ("transfiletriggerin", "transfiletriggerpostun"):
            self.assertIn(f"{kind} scriptlet (using /bin/sh) -- /usr/lib/python3, "
                          "/usr/lib64/python3, ", text)

    def test_verified(self):
        """The database has the mode and owner that the package declares."""
        self.install(package("alpha"))
        self.install_entrydb()
        self.assertEqual(self.run_manager(self.manager.command("--verify", "entrydb")), "")


class Transactions(target_root.MoreTransactions, RpmTest):
    upgrade_calls = 2  # one for the new files, one for the old ones
    ways_around_the_hook = ("--noscripts", "--notriggers")
    reinstall_options = ["--replacepkgs"]

    def other_package(self):
        return self.make_rpm("other", "/usr/share/other", 3)

    def bulk(self):
        return self.make_rpm("bulk", f"{self.manager.site_inside}/bulk-1.dist-info", BULK_FILES)

    def make_rpm(self, name, directory, count):
        place = f"{self.built}/{name}"
        if not os.path.exists(place):
            os.mkdir(place)
            spec = (f"Name: {name}\nVersion: 1\nRelease: 1\nSummary: x\nLicense: x\n"
                    "BuildArch: noarch\nAutoReqProv: no\n%define __os_install_post %{nil}\n"
                    "%description\nx\n%install\n"
                    f"mkdir -p %{{buildroot}}{directory}\ncd %{{buildroot}}{directory}\n"
                    f"for i in $(seq {count}); do : >{'a-long-name-' * 15}$i; done\n"
                    f"%files\n{directory}\n")
            support.write(f"{place}/{name}.spec", spec)
            target_root.build(["rpmbuild", "-bb", "--define", f"_topdir {place}", "--define",
                               f"_rpmdir {place}", "--define", "_build_name_fmt %%{NAME}.rpm",
                               f"{place}/{name}.spec"], place)
        return f"{place}/{name}.rpm"

    def check_failure_told(self, broken, output):
        """rpm reports the failure and continues."""
        self.assertEqual("scriptlet failed" in output, broken != "reads nothing", output)

    def test_audit_trail(self):
        """Commands with the verb first, as users write them: the trail has no other options."""
        self.manager.install = lambda each: ["rpm", "-U", "--nodeps", "--root", self.root, "--dbpath", "/var/lib/rpm",
                                             self.manager.maker.rpm(each)]
        self.check_audit_trail("rpm: rpm -U ", "python3-alpha-{}-1.noarch.rpm")


if __name__ == "__main__":
    support.main()
