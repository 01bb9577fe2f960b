"""rpm, the real one, with the package of hooks/rpm/entrydb.spec installed in a root of its own.

rpm runs its file triggers there. After each transaction the database alone has to say what
importlib.metadata finds.
"""

import os
import subprocess
import unittest

import managers
import target_root
from target_root import BROKEN, RootTest, package, support

FILES = {"entrydb": ["/usr/bin/entrydb", "/usr/{lib}/entrydb",
                     "/usr/{lib}/entrydb/entrydb-archive.so", "/usr/share/man/man1/entrydb.1",
                     "/usr/share/man/man5/entrydb.5", "/usr/share/man/man7/entrydb-freshness.7",
                     "/var/lib/entrydb",
                     "/var/lib/entrydb/entry_points.db"],
         "entrydb-libs": ["/usr/{lib}/libentrydb.so.0", "/usr/{lib}/libentrydb.so.0.1.0"],
         "entrydb-devel": ["/usr/include/entrydb.h", "/usr/{lib}/libentrydb.so",
                           "/usr/{lib}/pkgconfig/entrydb.pc"]}
BULK_FILES = 2000  # the list of them is many times what a pipe holds


class Rpm(managers.Rpm):
    def install_file(self, path):
        return self.command("--upgrade", "--force", path)


def rpm_words(*words):
    return subprocess.run(["rpm", *words], stdout=subprocess.PIPE, text=True, check=True).stdout


class RpmTest(RootTest):
    manager_class = Rpm

    @staticmethod
    def make_package(place):
        target_root.pack_recipes(place)
        target_root.build(["rpmbuild", "-bb", "--nodeps", "--define", f"_topdir {place}/top",
                           "--define", f"_sourcedir {place}", "--define", "debug_package %{nil}",
                           "--define", f"_rpmdir {place}",
                           "--define", "_build_name_fmt %%{NAME}.rpm", f"{place}/entrydb.spec"],
                          place)
        return f"{place}/entrydb.rpm"


class Package(RpmTest):
    def test_files(self):
        lib = rpm_words("--eval", "%{_lib}").strip()
        for name, expected in FILES.items():
            found = rpm_words("-qpl", f"{self.built}/{name}.rpm").splitlines()
            for path in expected:
                path = path.replace("{lib}", lib)
                self.assertTrue(any(each in (path, f"{path}.gz") for each in found), (path, found))

    def test_version(self):
        self.assertEqual(rpm_words("-qp", "--qf", "%{VERSION}", self.package),
                         target_root.version())

    def test_triggers(self):
        text = rpm_words("-qp", "--filetriggers", self.package)
        for kind in ("transfiletriggerin", "transfiletriggerpostun"):
            self.assertIn(f"{kind} scriptlet (using /bin/sh) -- /usr/lib/python3, "
                          "/usr/lib64/python3, ", text)

    def test_installed_last(self):
        """Its own trigger records what is there already."""
        self.install(package("alpha"), package("beta"))
        self.install_entrydb()
        self.check(package("alpha"), package("beta"))

    def test_verified(self):
        """The database is there as the package says, modes and owners included."""
        self.install(package("alpha"))
        self.install_entrydb()
        self.assertEqual(self.run_manager(self.manager.command("--verify", "entrydb")), "")

    def test_installed_again(self):
        self.install_entrydb()
        self.install(package("alpha"))
        self.install_entrydb()
        self.check(package("alpha"))

    def test_erased(self):
        self.install_entrydb()
        self.install(package("alpha"))
        output = self.run_manager(self.manager.command("--erase", "entrydb"))
        self.assertNotIn("warning", output)
        self.assertFalse(os.path.exists(f"{self.root}/var/lib/entrydb"))
        self.install(package("beta"))
        self.check_careful(package("alpha"), package("beta"))


class Transactions(target_root.SharedTransactions, RpmTest):
    upgrade_calls = 2  # one for what came, one for what went

    def setUp(self):
        super().setUp()
        self.install_entrydb()

    def test_reinstalled(self):
        self.install(package("alpha"))
        path = f"{self.site}/alpha-1.0.dist-info/entry_points.txt"
        support.write(path, "[demo]\nalpha = edited:by_hand\n")
        self.install(package("alpha"), options=["--replacepkgs"])
        self.check(package("alpha"))

    def test_other_packages(self):
        """What has no Python in it does not call the program."""
        calls = self.count_refreshes()
        self.run_manager(self.manager.install_file(self.make_rpm("other", "/usr/share/other", 3)))
        self.assertEqual(calls(), 0)

    def test_many_files(self):
        self.check_quiet(self.run_manager(self.manager.install_file(self.bulk())))
        self.assertIsNone(self.difference("trust"))
        self.check_quiet(self.run_manager(self.manager.command("--erase", "bulk")))
        self.check()

    def check_quiet(self, output):
        """But for what Debian's rpm says of itself."""
        self.assertEqual([line for line in output.splitlines() if not line.startswith("rpm: ")], [])

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

    def test_program_that_fails(self):
        """rpm tells of it, and goes on."""
        for name, content in BROKEN.items():
            with self.subTest(name):
                self.replace_program(content)
                output = self.install(package("alpha"))
                self.assertEqual("scriptlet failed" in output, name != "reads nothing", output)
                self.check_careful(package("alpha"))
                self.remove(package("alpha"))

    def test_program_that_does_not_read(self):
        self.replace_program(BROKEN["reads nothing"])
        self.check_quiet(self.run_manager(self.manager.install_file(self.bulk())))
        self.assertIsNone(self.difference("exact"))

    def test_without_the_hook(self):
        """Readers find out for themselves; the next transaction makes up for it."""
        self.install(package("beta"))
        for option in ("--noscripts", "--notriggers"):
            with self.subTest(option):
                self.install(package("alpha"), options=[option])
                self.assertIsNotNone(self.difference("trust"))
                self.check_careful(package("alpha"), package("beta"))
                self.install(package("gamma"))
                self.check(package("alpha"), package("beta"), package("gamma"))
                self.remove(package("alpha"), package("gamma"))

    def test_same_version_without_the_hook(self):
        self.install(package("alpha"))
        self.install(package("alpha", number=2), options=["--notriggers"])
        self.assertIsNotNone(self.difference("trust"))
        self.assertIsNone(self.difference("exact"))

    def test_switched_off(self):
        self.install(package("alpha"))
        os.mkdir(f"{self.root}/etc/entrydb")
        support.write(f"{self.root}/etc/entrydb/no-rpm-hook", "")
        calls = self.count_refreshes()
        self.check_quiet(self.install(package("beta")))
        self.remove(package("beta"))
        self.assertEqual(calls(), 0)

    def test_nothing_can_be_written(self):
        path = f"{self.root}/var/lib/entrydb"
        prefix = self.in_namespace(f"mount --bind {path} {path}",
                                   f"mount -o remount,ro,bind {path}")
        output = self.install(package("alpha"), prefix=prefix)
        self.assertIn("entrydb: ", output)
        self.assertNotIn("scriptlet failed", output)
        self.check_careful(package("alpha"))

    def test_audit_trail(self):
        prefix = self.in_namespace(f"mount -t proc proc {self.root}/proc")
        self.install(package("alpha"), prefix=prefix)
        self.install(package("alpha", "2.0"), prefix=prefix)
        self.install(package("beta"))
        self.assertEqual(support.events(self.manager.database)[-3:],
                         [("index", None, None, None), ("upgrade", "alpha", "1.0", "2.0"),
                          ("install", "Beta.tools", None, "1.0")])
        first, second, third = self.commands()[-3:]
        for command, version in ((first, "1.0"), (second, "2.0")):
            self.assertTrue(command.startswith(f"rpm: rpm --root {self.root}"), command)
            self.assertIn(f"python3-alpha-{version}-1.noarch.rpm", command)
        self.assertEqual(third, "rpm")  # without /proc


if __name__ == "__main__":
    support.main()
