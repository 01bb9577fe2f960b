"""An answer equals the state of the disk at that moment, whatever has happened to it.

The operations of package managers are done here by plain file operations, without a hook: level
"roots" notices the changes that it promises to notice, and "exact" notices the others.
"""

import importlib.metadata
import os
import shutil
import subprocess
import time
import unittest

import support
from support import (change_database, CLOCK_TICK, DONE, NOT_FOUND, SITE, CommandTest, add_distribution, entry_points, metadata,
                     query, replace, settle, write)

YOUNG = 1.8   # seconds; directories younger than 2 when they are read are watched
ATTEMPTS = 20
NEW_TEXT = "[demo]\nalpha = alpha.renewed:main\n"


def python_answer(site, group="demo"):
    """The (name, value) pairs that Python finds there now, in order."""
    importlib.metadata.FastPath.__new__.cache_clear()  # it trusts the mtime, entrydb does not
    found, names = [], set()
    for distribution in importlib.metadata.distributions(path=[site]):
        name = distribution._normalized_name
        if name not in names:
            names.add(name)
            found += [(point.name, point.value) for point in distribution.entry_points if point.group == group]
    return found


class FreshnessTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.info = add_distribution(self.site, "alpha")
        add_distribution(self.site, "steady")
        self.index()

    def answer(self, level, path=None):
        reply = self.list("demo", "--fresh", level, path=path or self.site)
        self.assertIn(reply.status, (DONE, NOT_FOUND), str(reply))
        self.assertEqual(reply.err, "")
        return [(row[1], row[2]) for row in reply.fields]

    def check_seen(self, *levels, path=None):
        expected = python_answer(path or self.site)
        for level in levels or ("roots", "exact"):
            self.assertEqual(self.answer(level, path), expected, level)

    def check_missed_by_roots(self):
        """The one documented gap of level roots; a hook, or level exact, closes it."""
        self.assertNotEqual(self.answer("roots"), python_answer(self.site))
        self.check_seen("exact")
        self.update()
        self.check_seen()


class Operations(FreshnessTest):
    """The operations of package managers, one by one."""

    def test_no_change(self):
        self.check_seen()
        self.assertEqual(self.freshness(), "fresh")
        self.assertEqual(self.freshness(self.site, "--fresh", "exact"), "scanned")

    def test_install(self):
        add_distribution(self.site, "beta")
        self.check_seen()

    def test_uninstall(self):
        shutil.rmtree(self.info)
        self.check_seen()

    def test_reinstall(self):
        shutil.rmtree(self.info)
        add_distribution(self.site, "alpha", text=NEW_TEXT)
        self.check_seen()

    def test_upgrade_and_downgrade(self):
        for version in ("2.0", "0.9"):
            shutil.rmtree(self.info)
            self.info = add_distribution(self.site, "alpha", version, text=NEW_TEXT)
            self.check_seen()
            self.assertIn(("alpha", version), self.list("demo").names)
            self.index()

    def test_upgrade_by_pip(self):
        """pip moves the old directory to a stash beside it, writes the new one, and removes the stash."""
        stash = f"{self.site}/~lpha-1.0.dist-info"
        os.rename(self.info, stash)
        self.check_seen()
        add_distribution(self.site, "alpha", "2.0", text=NEW_TEXT)
        self.check_seen()
        shutil.rmtree(stash)
        self.check_seen()

    def test_import_writes_bytecode(self):
        os.mkdir(f"{self.site}/package")
        self.index()
        os.mkdir(f"{self.site}/package/__pycache__")
        self.assertEqual(self.freshness(), "fresh")
        self.check_seen()

    def test_reinstall_by_system_package_manager(self):
        """rpm, pacman and dpkg rename each file into place; the directory stays."""
        before = os.stat(self.site)
        replace(f"{self.info}/METADATA", metadata("alpha", "1.0"))
        replace(f"{self.info}/entry_points.txt", NEW_TEXT)
        self.assertEqual(os.stat(self.site).st_mtime_ns, before.st_mtime_ns)
        self.check_missed_by_roots()

    def test_reinstall_by_system_package_manager_with_archive_times(self):
        times = os.stat(f"{self.info}/entry_points.txt"), os.stat(self.info)
        replace(f"{self.info}/entry_points.txt", NEW_TEXT)
        os.utime(f"{self.info}/entry_points.txt", ns=(times[0].st_atime_ns, times[0].st_mtime_ns))
        os.utime(self.info, ns=(times[1].st_atime_ns, times[1].st_mtime_ns))
        self.check_missed_by_roots()

    def test_edited_in_place(self):
        write(f"{self.info}/entry_points.txt", NEW_TEXT)
        self.check_missed_by_roots()

    def test_edited_in_place_at_the_same_size_and_time(self):
        path = f"{self.info}/entry_points.txt"
        times = os.stat(path)
        write(path, entry_points("alpha").replace("main", "niam"))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        self.assertEqual(os.stat(path).st_size, times.st_size)
        self.check_missed_by_roots()

    def test_replaced_by_rename(self):
        replace(f"{self.info}/entry_points.txt", NEW_TEXT)
        self.check_missed_by_roots()

    def test_file_added_and_removed_in_an_existing_distribution(self):
        os.unlink(f"{self.info}/entry_points.txt")
        self.check_missed_by_roots()
        self.index()
        write(f"{self.info}/entry_points.txt", NEW_TEXT)
        self.check_missed_by_roots()

    def test_version_changed_in_place(self):
        write(f"{self.info}/METADATA", metadata("alpha", "1.5"))
        self.assertIn(("alpha", "1.5"), self.list("demo", "--fresh", "exact").names)

    def test_exact_reads_only_what_changed(self):
        strace = shutil.which("strace")
        if not strace:
            self.skipTest("there is no strace")
        write(f"{self.info}/entry_points.txt", NEW_TEXT)
        trace = f"{self.top}/trace"
        done = subprocess.run([strace, "-f", "-y", "-e", "trace=open,openat,openat2", "-o", trace, support.PROGRAM, "update",
                               self.site], env=self.environment(ASAN_OPTIONS="detect_leaks=0"), capture_output=True)
        if done.returncode != DONE:
            self.skipTest("strace cannot trace here")
        with open(trace, errors="replace") as file:
            opened = [line for line in file if '"entry_points.txt"' in line or "/entry_points.txt\"" in line]
        self.assertEqual(len(opened), 1, opened)
        self.assertIn("alpha-1.0.dist-info", opened[0])


class Traps(FreshnessTest):
    def test_scan_inside_an_install(self):
        """A scan of a directory without its files yet: it must not be trusted afterwards."""
        info = f"{self.site}/beta-1.0.dist-info"

        def begin():
            os.mkdir(info)
            self.update()
            self.assertNotIn("beta", dict(self.answer("roots")))
            write(f"{info}/METADATA", metadata("beta", "1.0"))
            self.update()

        self.while_young(begin, info)
        write(f"{info}/entry_points.txt", entry_points("beta"))
        self.check_seen()

    def while_young(self, act, info):
        """Do what must be done while the distribution is too young to be trusted; repeat if too slow."""
        for _ in range(ATTEMPTS):
            began = time.monotonic()
            act()
            if time.monotonic() - began < YOUNG:
                return
            shutil.rmtree(info)
            self.update()
        self.skipTest("this machine is too busy")

    def test_scan_in_the_middle_of_each_step(self):
        """Changes after a scan are noticed, at whatever step the scan happened."""
        steps = (lambda info: os.mkdir(info),
                 lambda info: write(f"{info}/INSTALLER", "pip"),
                 lambda info: write(f"{info}/METADATA", metadata("beta", "1.0")),
                 lambda info: write(f"{info}/entry_points.txt", ""),
                 lambda info: write(f"{info}/entry_points.txt", entry_points("beta")),
                 lambda info: write(f"{info}/RECORD", ""))
        for scanned in range(len(steps)):
            info = f"{self.site}/beta-1.0.dist-info"

            def begin():
                for step in steps[:scanned + 1]:
                    step(info)
                self.update()

            self.while_young(begin, info)
            for step in steps[scanned + 1:]:
                step(info)
            self.check_seen()
            shutil.rmtree(info)
            self.check_seen()

    def test_scan_inside_an_install_long_afterwards(self):
        """Files with old times appear after the settling time: the row must still be watched."""
        info = f"{self.site}/beta-1.0.dist-info"
        os.mkdir(info)
        self.update()
        settle()
        write(f"{info}/entry_points.txt", entry_points("beta"))
        os.utime(f"{info}/entry_points.txt", (1, 1))
        self.check_seen()
        self.update()
        self.check_seen()

    def test_scan_long_after_the_directory_was_created(self):
        """rpm creates the directory first and unpacks the files seconds later."""
        info = f"{self.site}/beta-1.0.dist-info"
        os.mkdir(info)
        settle()
        self.update()
        settle()
        write(f"{info}/METADATA", metadata("beta", "1.0"))
        write(f"{info}/entry_points.txt", entry_points("beta"))
        self.check_seen()

    def test_new_distribution_is_watched(self):
        info = f"{self.site}/beta-1.0.dist-info"

        def begin():
            add_distribution(self.site, "beta")
            time.sleep(CLOCK_TICK)
            self.update()

        self.while_young(begin, info)
        self.assertEqual(self.freshness(), "fresh")
        write(f"{info}/entry_points.txt", NEW_TEXT)
        self.check_seen()
        settle()
        self.update()
        self.assertEqual(query(self.database, "SELECT sum(watched) FROM distribution"), [(0,)])
        self.assertEqual(self.freshness(), "fresh")

    def test_times_going_backwards(self):
        add_distribution(self.site, "beta")
        os.utime(self.site, (1_000_000, 1_000_000))
        self.check_seen()
        self.index()
        self.check_seen()
        shutil.rmtree(self.info)
        os.utime(self.site, (999_999, 999_999))
        self.check_seen()

    def test_just_changed_is_settled(self):
        """A change just before the update is safe: the update waits for the next tick of the clock."""
        for number in range(ATTEMPTS):
            add_distribution(self.site, f"beta{number}")
            self.update()
            unsettled = query(self.database, "SELECT (SELECT count(*) FROM root WHERE NOT settled), "
                                             "(SELECT count(*) FROM distribution WHERE NOT settled)")
            self.assertEqual(unsettled, [(0, 0)], number)

    def test_times_in_the_future(self):
        future = time.time() + 100_000
        os.utime(self.site, (future, future))
        self.update()
        self.assertEqual(self.freshness(), "scanned", "a time in the future is never settled")
        add_distribution(self.site, "beta")
        os.utime(self.site, (future, future))
        self.check_seen()

    def test_another_directory_with_the_same_times(self):
        """A switched symbolic link leads to another directory: the inode differs."""
        self.index()
        self.assertEqual(self.freshness(), "fresh")
        change_database(self.database, "UPDATE root SET inode = inode + 1")
        self.assertEqual(self.freshness(), "checked")

    def test_same_mtime_other_ctime(self):
        before = os.stat(self.site)
        add_distribution(self.site, "beta")
        os.utime(self.site, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assertEqual(os.stat(self.site).st_mtime_ns, before.st_mtime_ns)
        self.check_seen()

    def test_another_directory_renamed_over(self):
        other = f"{self.prefix}/other"
        add_distribution(other, "beta")
        before = os.stat(self.site)
        os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
        shutil.rmtree(self.site)
        os.rename(other, self.site)
        self.check_seen()

    def test_another_directory_linked_in(self):
        other = f"{self.top}/other"
        add_distribution(other, "beta")
        shutil.rmtree(self.site)
        os.symlink(other, self.site)
        self.check_seen()

    def test_directory_becomes_a_file_and_nothing(self):
        shutil.rmtree(self.site)
        self.check_seen()
        write(self.site, "no zip")
        self.check_seen()
        os.unlink(self.site)
        os.makedirs(self.site)
        self.check_seen()

    def test_distribution_becomes_a_link(self):
        os.rename(self.info, f"{self.top}/outside")
        os.symlink(f"{self.top}/outside", self.info)
        self.check_seen()
        self.index()
        write(f"{self.top}/outside/entry_points.txt", NEW_TEXT)
        self.check_seen("exact")


class InPlace(FreshnessTest):
    """Distributions that are edited in place are checked on every query."""

    def test_editable_install(self):
        info = add_distribution(self.site, "beta", **{
            "direct_url.json": '{"url": "file:///src", "dir_info": {"editable": true}}'})
        self.index(watched="name = 'beta'")
        self.assertEqual(self.freshness(), "fresh")
        for change in (write, replace):
            change(f"{info}/entry_points.txt", f"[demo]\nbeta = beta:{change.__name__}\n")
            self.check_seen()
            self.index(watched="name = 'beta'")
            self.assertEqual(self.freshness(), "fresh")
        os.unlink(f"{info}/entry_points.txt")
        self.check_seen()

    def test_not_editable(self):
        add_distribution(self.site, "beta", **{
            "direct_url.json": '{"url": "https://example.org/beta.whl", "archive_info": {}}'})
        settle()
        self.update()
        self.assertEqual(query(self.database, "SELECT sum(watched) FROM distribution"), [(0,)])

    def test_source_tree(self):
        source = f"{self.top}/project/src"
        info = f"{source}/thing.egg-info"
        os.makedirs(info)
        write(f"{info}/PKG-INFO", metadata("thing", "0.1"))
        write(f"{info}/entry_points.txt", entry_points("thing"))
        self.index(source, database=self.user_database, watched="1")
        self.assertEqual(self.freshness(source, name="thing"), "fresh")
        write(f"{info}/entry_points.txt", "[demo]\nthing = thing:edited\n")
        self.check_seen(path=source)

    def test_several_changes_of_one_of_many(self):
        for number in range(20):
            add_distribution(self.site, f"editable{number}", **{"direct_url.json": '{"dir_info":{"editable":true}}'})
        self.index(watched="name LIKE 'editable%'")
        for number in (0, 7, 19):
            write(f"{self.site}/editable{number}-1.0.dist-info/entry_points.txt", f"[demo]\nx = m:n{number}\n")
            self.check_seen()


class Databases(FreshnessTest):
    """Whatever happens to the database, the answer matches the disk."""

    def test_deleted(self):
        os.unlink(self.database)
        self.check_seen()

    def test_of_another_tree(self):
        other = f"{self.top}/second/{SITE}"
        add_distribution(other, "beta")
        self.update(f"{self.top}/second")
        shutil.copy(f"{self.top}/second/{support.DATABASE}", self.database)
        self.check_seen()

    def test_restored_old_copy(self):
        """The stamps in a database from a backup or an image layer are outdated."""
        old = f"{self.top}/old.db"
        shutil.copy(self.database, old)
        add_distribution(self.site, "beta")
        self.index()
        shutil.rmtree(self.info)
        os.rename(old, self.database)
        self.check_seen()
        self.update()
        self.check_seen()


@unittest.skipUnless(shutil.which("cc"), "no C compiler")
@unittest.skipIf(support.build_type_is_sanitized(), "a sanitizer must be loaded first")
class TimesOfDirectories(FreshnessTest):
    """A file system where no change of a directory shows in its times, as some that are mounted from an object store."""

    STAT = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <sys/stat.h>
    #define SHOW(name, declared, given)                                                 \\
        int name declared                                                               \\
        {                                                                               \\
            int (*real) declared = (int (*) declared)dlsym(RTLD_NEXT, #name);           \\
            int done = real given;                                                      \\
            if (done == 0 && S_ISDIR(status->st_mode))                                  \\
                status->st_mtim = status->st_ctim = (struct timespec){1700000000, 0};   \\
            return done;                                                                \\
        }
    SHOW(fstat, (int fd, struct stat *status), (fd, status))
    SHOW(fstatat, (int fd, const char *path, struct stat *status, int flags), (fd, path, status, flags))
    """

    def test_no_change_shows(self):
        preload = f"{self.top}/stat.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", "-o", preload, "-ldl"], input=self.STAT, text=True, check=True)
        os.environ["LD_PRELOAD"] = preload
        self.addCleanup(os.environ.pop, "LD_PRELOAD")
        os.unlink(self.database)
        self.update()
        support.settle()
        self.update()
        for name in ("beta", "gamma"):
            add_distribution(self.site, name)
            self.check_seen()
        shutil.rmtree(self.info)
        self.check_seen()


if __name__ == "__main__":
    support.main()
