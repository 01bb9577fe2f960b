#!/usr/bin/env python3
"""The Debian package keeps the system's database up to date, whatever apt and dpkg do.

Real apt-get and dpkg install, reinstall, upgrade and remove real packages in a small Debian
(debian_root.py). After each step the database alone, without a look at the disk, must agree with the
Python of that Debian. Then the program is made to fail in every way, and apt must not be affected.
"""

import contextlib
import fcntl
import glob
import json
import os
import re
import shutil
import subprocess
import unittest

import debian_root
import program
import support
import target_root
import tiny_packages
from debian_root import DATABASE, PACKAGES, PROC, SITE, STATE, Root
from tiny_packages import Package

PROGRAM = "/usr/bin/entrydb"
SWITCH = "/etc/entrydb/no-dpkg-hook"
BEFORE = f"{target_root.version()}-0"  # an older version of the package
KILLED_AFTER = (0, 0.002, 0.005, 0.01, 0.02)  # seconds
HOOK_WAITS = 10  # seconds, for the lock
PATIENCE = 120   # the additional time of an apt run on a busy machine

deb = debs = place = archive = root_with_entrydb = None


def setUpModule():
    global deb, debs, place, archive, root_with_entrydb
    debian_root.check_tools()
    place = debian_root.build_packages()
    debs = debian_root.packages(place)
    deb = debs["entrydb"]
    runnable = [file for name, file in debs.items() if not name.endswith("-dev")]
    archive = debian_root.tarball([*debian_root.libraries(*runnable), *PACKAGES])
    root_with_entrydb = Root.unpack(Module(), archive)
    root_with_entrydb.text("apt-get", "install", "-y", root_with_entrydb.put(deb))


class Module:
    """Stands for this module in make_directory(): the directories live as long as the module."""

    addCleanup = staticmethod(unittest.addModuleCleanup)


class DpkgTest(unittest.TestCase):
    """A root with entrydb in it; each test leaves it unchanged."""

    @classmethod
    def make_root(cls):
        return root_with_entrydb

    @classmethod
    def setUpClass(cls):
        cls.root = cls.make_root()
        cls.scratch = support.make_directory(cls)
        cls.maker = tiny_packages.Maker(f"{cls.scratch}/packages", SITE)
        cls.rules, cls.path = cls.root.python()
        cls.entrydb = cls.root.put(deb)

    # -- steps --

    def apt(self, *words, root=None, **how):
        """Run apt-get, which must succeed and leave no package half-configured."""
        done = (root or self.root).run("apt-get", "-y", "--allow-downgrades", *words, **how)
        self.assertEqual(done.returncode, 0, debian_root.text_of(done))
        self.assertEqual(self.root.text("dpkg", "--audit"), "")
        return debian_root.text_of(done)

    def tiny(self, name="alpha", version="1.0", build=1):
        """Create a tiny .deb in the root; returns its path there."""
        return self.root.put(self.maker.deb(Package(name, version, build)))

    @contextlib.contextmanager
    def refreshed(self, *expected):
        """Expect these runs of the package's postinst meanwhile: "trigproc", "configure"."""
        before = len(self.root.refreshes())
        yield
        self.assertEqual(self.root.refreshes()[before:], list(expected))

    # -- checks --

    def difference(self, *options):
        return program.difference(self.root.python_answer(self.path),
                                  self.root.listed(self.rules, self.path, *options))

    def check_in_step(self):
        """The database is up to date, and the first query does not check the distributions."""
        states = [json.loads(line)["state"] for line in self.root.text("entrydb", "status", "--json", "--path",
                                                                       SITE).splitlines()]
        self.assertEqual(states, ["fresh"])
        self.assertIn((SITE[1:],), support.query(self.on_disk(DATABASE), "SELECT path FROM root"))
        self.assertIsNone(self.difference("--fresh", "trust"))
        self.assertEqual(support.leftovers(self.on_disk(DATABASE)), [])

    def check_right_without_database(self):
        """The database is out of date, but the answer is right."""
        self.assertIsNotNone(self.difference("--fresh", "trust"))
        self.assertIsNone(self.difference())

    def on_disk(self, path):
        return self.root.on_disk(path)

    def values(self, name):
        """The values of the entry points with this name, from the database alone."""
        return [row[2] for row in self.root.listed(self.rules, self.path, "--fresh", "trust").rows
                if row[1] == name]


class ThePackage(DpkgTest):
    """The contents of the package, before entrydb is installed."""

    @classmethod
    def make_root(cls):
        return Root.unpack(cls, archive)

    def test_installed_together_with_others(self):
        """dpkg may run "configure" before that of the other packages; the trigger runs last."""
        with self.refreshed("configure", "trigproc"):
            self.apt("install", self.entrydb, *PACKAGES)
        self.check_in_step()
        self.assertGreater(len(self.root.python_answer(self.path)["rows"]), 10)

    def test_no_lintian_overrides(self):
        for file in debs.values():
            contents = debian_root.text_of(debian_root.must(["dpkg-deb", "--contents", file]))
            self.assertNotIn("lintian/overrides", contents)

    def test_hardened(self):
        """The hardening flags that debhelper requests have reached the compiler."""
        for name, path in (("entrydb", PROGRAM[1:]), ("libentrydb0", "usr/lib/*/libentrydb.so.0.*")):
            raw = f"{self.scratch}/{name}"
            debian_root.must(["dpkg-deb", "--extract", debs[name], raw])
            file = glob.glob(f"{raw}/{path}")[0]
            dynamic = debian_root.text_of(debian_root.must(["readelf", "-dhW", file]))
            self.assertRegex(dynamic, r"FLAGS_1\).*NOW")
            self.assertRegex(dynamic, r"Type: +DYN")
            names = debian_root.text_of(debian_root.must(["nm", "-D", file]))
            self.assertIn("__stack_chk_fail", names)
            self.assertIn("_chk@", names)

    def test_maintainer_scripts(self):
        control = f"{self.scratch}/control"
        debian_root.must(["dpkg-deb", "--control", deb, control])
        for script in ("postinst", "postrm"):
            with open(f"{control}/{script}", encoding="utf-8") as stream:
                self.assertEqual(stream.readline(), "#!/bin/sh\n")
        if shutil.which("shellcheck"):
            debian_root.must(["shellcheck", f"{control}/postinst", f"{control}/postrm"])

    def test_triggers_cover_sys_path(self):
        """The trigger watches the directories of distributions in this release and in later ones."""
        watched = self.watched()
        later = [f"{top}/{python}/{site}" for top in ("/usr/lib", "/usr/local/lib")
                 for python in ("python3.16", "pypy3.10") for site in ("dist-packages", "site-packages")]
        there = [entry for entry in self.path if os.path.isdir(self.on_disk(entry))]
        for entry in [*there, *later, "/usr/lib/pypy3/dist-packages"]:
            self.assertTrue(any(f"{entry}/".startswith(f"{each}/") for each in watched), entry)
        self.assertFalse([each for each in watched if each.count("/") < 3])

    def watched(self):
        control = f"{self.scratch}/triggers"
        debian_root.must(["dpkg-deb", "--control", deb, control])
        return re.findall(r"^interest-noawait (/\S+)$", support.read(f"{control}/triggers"), re.MULTILINE)


class AllPackages(DpkgTest):
    """The program, the library and the module are upgraded, used, and purged without a trace."""

    @classmethod
    def make_root(cls):
        return Root.unpack(cls, archive)

    def test_upgraded_used_and_purged(self):
        names = [name for name in debs if not name.endswith("-dev")]
        before = self.files()
        older = [self.root.put(debian_root.renumbered(debs[name], BEFORE, self.scratch))
                 for name in names]
        self.apt("install", *older, PACKAGES[0])
        self.check_in_step()
        self.apt("install", *(self.root.put(debs[name]) for name in names))
        self.check_in_step()
        self.check_the_packages_own_test()
        self.apt("purge", "--autoremove", *names, PACKAGES[0])
        self.assertEqual(sorted(self.files() - before), [])

    def check_the_packages_own_test(self):
        """The package's autopkgtest that needs no compiler."""
        done = self.root.run(self.root.put(f"{support.TOP}/hooks/dpkg/tests/installed"))
        self.assertEqual(done.returncode, 0, debian_root.text_of(done))
        self.assertIn("markdown.extensions", self.root.text(
            "python3", "-c", "import entrydb; print(entrydb.entry_points().groups)"))

    def files(self):
        """The files of the root, except those of the package manager and of the tests."""
        found = set()
        for directory, names, files in os.walk(self.root.path):
            names[:] = [name for name in names if name not in ("proc", "srv", "__pycache__")]
            found.update(f"{directory}/{name}" for name in files + names)
        own = tuple(self.on_disk(f"/var/{each}") for each in ("lib/dpkg", "lib/apt", "log", "cache"))
        return {path for path in found if not path.startswith(own)}


class Steps(DpkgTest):
    """Each run of apt or dpkg refreshes the database once."""

    def test_packages_of_the_distribution(self):
        for words in (["install", *PACKAGES], ["install", "--reinstall", PACKAGES[0]],
                      ["remove", PACKAGES[0]], ["purge", *PACKAGES]):
            with self.subTest(" ".join(words)), self.refreshed("trigproc"):
                self.apt(*words)
                self.check_in_step()

    def test_audit_trail(self):
        seen = len(self.root.events())
        self.apt("install", PACKAGES[1], self.tiny("gamma_delta"))
        events = self.root.events()[seen:]
        self.assertEqual({each[1] for each in events}, {"tabulate", "gamma_delta"})
        self.assertEqual({each[0] for each in events}, {"install"})
        command = {each[4] for each in events}
        self.assertEqual(len(command), 1)
        self.assertTrue(command.pop().startswith(f"dpkg: apt-get install {PACKAGES[1]} "))
        self.apt("purge", PACKAGES[1], "python3-gamma-delta")
        log = self.root.text("entrydb", "log", "--db", DATABASE).splitlines()[-1]
        self.assertIn("\tremove\t", log)
        self.assertIn(f"\tdpkg: apt-get purge {PACKAGES[1]} ", log)

    def test_upgrade_and_downgrade(self):
        """The second step changes no time of the site directory: only the trigger notices it."""
        steps = (("1.0", 1), ("1.0", 2), ("1.1", 1), ("1.0", 3), ("2.0", 2), ("1.0", 1))
        for version, build in steps:
            with self.subTest(version=version, build=build), self.refreshed("trigproc"):
                self.apt("install", self.tiny("alpha", version, build))
                self.check_in_step()
                self.assertEqual(len(self.values("alpha")),
                                 build != tiny_packages.WITHOUT_ENTRY_POINTS)
        self.apt("remove", "python3-alpha")
        self.check_in_step()

    def test_bare_dpkg(self):
        debs = [self.tiny(name) for name in ("alpha", "Beta.tools")]
        with self.refreshed("trigproc"):
            self.root.text("dpkg", "-i", *debs)
        self.check_in_step()
        self.assertTrue(self.root.events()[-1][4].startswith("dpkg: dpkg -i "))
        self.root.text("dpkg", "-P", "python3-alpha", "python3-beta-tools")
        self.check_in_step()

    def test_dpkg_from_outside(self):
        """The host's dpkg enters the root, which has no /proc."""
        package = self.maker.deb(Package("alpha", "1.1", 2))
        debian_root.must(["dpkg", f"--root={self.root.path}", "-i", package],
                         env=debian_root.ENVIRONMENT)
        self.check_in_step()
        self.assertEqual(self.root.events()[-1][4], "dpkg")
        self.apt("purge", "python3-alpha")

    def test_environment_of_the_caller_is_ignored(self):
        """Neither the virtual environment nor the home of the user who runs apt is touched."""
        venv = self.on_disk("/srv/venv")
        home = self.on_disk("/srv/home")
        for prefix in (venv, f"{home}/.local"):
            site = f"{prefix}/lib/python{self.rules}/site-packages"
            os.makedirs(site)
            support.add_distribution(site, "private")
        env = {"VIRTUAL_ENV": "/srv/venv", "HOME": "/srv/home", "ENTRYDB_PATH": "/srv/venv",
               "ENTRYDB_FRESH": "trust"}
        self.apt("install", self.tiny(), env=env)
        self.check_in_step()
        self.assertEqual(os.listdir(venv), ["lib"])
        self.assertEqual(os.listdir(home), [".local"])
        self.assertEqual(os.listdir(f"{home}/.local"), ["lib"])
        self.apt("purge", "python3-alpha")

    def test_unrelated_packages_do_not_refresh(self):
        with self.refreshed():
            self.apt("install", "--reinstall", self.unrelated())

    def unrelated(self):
        control = ("Package: plain\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.c>\n"
                   "Description: x\n")
        os.makedirs(f"{self.scratch}/plain/DEBIAN")
        support.write(f"{self.scratch}/plain/DEBIAN/control", control)
        debian_root.must(["dpkg-deb", "-b", f"{self.scratch}/plain", f"{self.scratch}/plain.deb"])
        return self.root.put(f"{self.scratch}/plain.deb")

    def test_switched_off(self):
        os.makedirs(os.path.dirname(self.on_disk(SWITCH)))
        support.write(self.on_disk(SWITCH), "")
        self.apt("install", self.tiny())
        self.check_right_without_database()
        os.remove(self.on_disk(SWITCH))
        self.apt("install", "--reinstall", self.tiny())
        self.check_in_step()
        self.apt("purge", "python3-alpha")


class OfEntrydbItself(DpkgTest):
    """The package of entrydb itself is upgraded, removed and purged."""

    def test_upgrade(self):
        newer = self.root.put(debian_root.renumbered(deb, "99.0", support.make_directory(self)),
                              "newer.deb")
        seen = self.root.events()
        self.apt("install", newer, self.tiny())
        self.check_in_step()
        self.assertEqual(self.root.events()[:len(seen)], seen)
        self.apt("install", self.entrydb)
        self.apt("purge", "python3-alpha")

    def test_remove_and_install_again(self):
        """Removal deletes the database, which nothing would update; the audit trail is restored."""
        self.apt("install", self.tiny())
        seen = self.root.events()
        self.assertTrue(seen)
        self.apt("remove", "entrydb")
        self.assertFalse(os.path.exists(self.on_disk(DATABASE)))
        self.apt("install", self.entrydb)
        self.check_in_step()
        self.assertEqual(self.root.events()[:len(seen)], seen)
        self.apt("purge", "python3-alpha")

    def test_purge(self):
        for words in (["purge", "entrydb"], ["remove", "entrydb"]):
            self.apt(*words)
            self.root.text("dpkg", "-P", "entrydb")
            self.assertFalse(os.path.exists(self.on_disk(STATE)))
            self.assertNotIn("entrydb", self.root.text("dpkg-query", "-W"))
            self.apt("install", self.entrydb)
            self.check_in_step()

    def test_purge_of_undeletable_database(self):
        here = self.root.mounted(PROC, f"-t tmpfs -o ro tmpfs {STATE}")
        self.apt("purge", "entrydb", root=here)
        self.apt("install", self.entrydb)
        self.check_in_step()


class Broken(DpkgTest):
    """A database is an index: its failure must not affect apt."""

    def setUp(self):
        self.good = self.on_disk(f"{PROGRAM}.good")
        os.rename(self.on_disk(PROGRAM), self.good)
        self.addCleanup(self.recover)

    def recover(self):
        """Recover as a new version of the package would: the next run of apt succeeds."""
        if os.path.exists(self.good):
            os.rename(self.good, self.on_disk(PROGRAM))
        self.root.text("dpkg", "-P", "python3-alpha", "python3-beta-tools")
        self.check_in_step()

    def replace_program(self, script, mode=0o755):
        support.write(self.on_disk(PROGRAM), script)
        os.chmod(self.on_disk(PROGRAM), mode)

    def work(self):
        os.replace(self.good, self.on_disk(PROGRAM))

    def check_harmless(self, root=None, **how):
        """Two runs of apt that are not recorded, then one that is."""
        for name in ("alpha", "Beta.tools"):
            said = self.apt("install", self.tiny(name), root=root, **how)
            self.assertIn("entrydb: the update ended with status ", said)
        self.work()
        self.check_right_without_database()

    def test_program_fails(self):
        self.replace_program("#!/bin/sh\necho broken >&2\nexit 1\n")
        self.check_harmless()

    def test_program_crashes(self):
        self.replace_program("#!/bin/sh\nkill -SEGV $$\n")
        self.check_harmless()

    def test_program_is_killed(self):
        self.replace_program("#!/bin/sh\nkill -KILL $$\n")
        self.check_harmless()

    def test_program_is_not_executable_code(self):
        self.replace_program(b"\x7fELF and nothing more")
        self.check_harmless()

    def test_program_without_permission(self):
        self.replace_program("", 0o644)
        self.check_harmless()

    def test_program_is_missing(self):
        self.check_harmless()

    def test_program_hangs(self):
        """apt waits no longer than the limit in the script, here a second."""
        script = self.on_disk("/var/lib/dpkg/info/entrydb.postinst")
        text = support.read(script)
        self.addCleanup(support.write, script, text)
        support.write(script, re.sub("(?m)^seconds_allowed=.*", "seconds_allowed=1", text))
        self.replace_program("#!/bin/sh\nexec sleep 1000\n")
        self.check_harmless(timeout=PATIENCE)

    def test_killed_while_updating(self):
        """After each kill, the old or the new database is there, complete."""
        for delay in KILLED_AFTER:
            self.replace_program(f'#!/bin/sh\n{PROGRAM}.good "$@" &\n'
                                 f"sleep {delay}\nkill -KILL $!\nkill -KILL $$\n")
            with self.subTest(delay=delay):
                self.apt("install", "--reinstall", self.tiny())
                self.assertTrue(support.is_sound(self.on_disk(DATABASE)))

    def test_endless_input(self):
        """`yes | apt-get install`: reading to the end of stdin would never finish."""
        self.work()
        yes = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
        self.addCleanup(support.end, yes)
        self.apt("install", self.tiny(), stdin=yes.stdout, timeout=PATIENCE)
        self.check_in_step()

    def test_lock_is_held(self):
        self.work()
        with open(self.on_disk(f"{DATABASE}.lock"), "a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            said = self.apt("install", self.tiny(), timeout=HOOK_WAITS + PATIENCE)
        self.assertIn("entrydb: ", said)
        self.check_right_without_database()

    def test_full_disk(self):
        self.check_unwritable("size=32k", " full")

    def test_read_only(self):
        self.check_unwritable("ro", "Read-only file system")

    def check_unwritable(self, options, reason):
        """One line reports the failure, and answers remain right."""
        self.work()
        mounts = (PROC, f"-t tmpfs -o {options} tmpfs {STATE}")
        said = self.apt("install", self.tiny(), root=self.root.mounted(*mounts))
        lines = [line for line in said.splitlines() if line.startswith("entrydb: ")]
        self.assertEqual(len(lines), 1, said)
        self.assertIn(reason, lines[0])
        self.check_right_without_database()

    def test_damaged_database(self):
        self.work()
        support.write(self.on_disk(DATABASE), "no database\n")
        self.apt("install", self.tiny())
        self.assertIsNone(self.difference("--fresh", "trust"))
        os.remove(self.on_disk(f"{DATABASE}.damaged"))


class Chrootless(DpkgTest):
    """The host's dpkg and entrydb install and index in another system's root."""

    def test_another_root(self):
        target = "/srv/target"
        for name in ("info", "updates", "triggers"):
            os.makedirs(self.on_disk(f"{target}/var/lib/dpkg/{name}"))
        support.write(self.on_disk(f"{target}/var/lib/dpkg/status"), self.status())
        before = self.root.events()
        dpkg = ["dpkg", f"--root={target}", "--force-script-chrootless"]
        self.root.text(*dpkg, "-i", self.entrydb)
        self.root.text(*dpkg, "-i", self.tiny(), self.tiny("gamma_delta"))
        self.assertEqual(sorted(self.names(target)), sorted(self.python_names(target)))
        self.assertIn("alpha", self.names(target))
        self.assertIn((SITE[1:],), support.query(self.on_disk(target + DATABASE),
                                                 "SELECT path FROM root"))
        self.root.text(*dpkg, "-P", "python3-alpha")
        self.assertNotIn("alpha", self.names(target))
        self.assertEqual(sorted(self.names(target)), sorted(self.python_names(target)))
        self.assertEqual(self.root.events(), before)
        self.root.text(*dpkg, "-P", "entrydb")
        self.assertFalse(os.path.exists(self.on_disk(f"{target}{STATE}")))
        self.assertTrue(os.path.exists(self.on_disk(DATABASE)))

    def status(self):
        """A dpkg status in which the libraries are installed: dpkg runs no trigger with missing dependencies."""
        packages = support.read(self.on_disk("/var/lib/dpkg/status")).split("\n\n")
        return "\n\n".join(each for each in packages if not each.startswith("Package: entrydb\n"))

    def names(self, target):
        return [row[1] for row in self.root.listed(self.rules, [SITE], "--root", target,
                                                   "--fresh", "trust").rows]

    def python_names(self, target):
        return [row[1] for row in self.root.python_answer([f"{target}{SITE}"])["rows"]]


if __name__ == "__main__":
    support.main()
