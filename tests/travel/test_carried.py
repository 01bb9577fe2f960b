#!/usr/bin/env python3
"""A copied tree with its database is recognized: files that have not changed are not read again."""

import os
import shutil
import subprocess
import tarfile
import time
import zipfile

import carry
import support
import travel
from travel import CLAMP, TravelTest, clamp, copy, run, tool, workers

SECOND = 10 ** 9       # nanoseconds
HOUR = 3600 * SECOND
SHADOWED = 1           # of these distributions; a query does not read it
ALL = 16               # distributions with an entry_points.txt, see TravelTest.fill()
MARK = 1162888265      # seconds since 1970: the mark of a database that could not be updated
ASK_TWICE = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
handle, answer, site = ctypes.c_void_p(), ctypes.c_void_p(), (ctypes.c_char_p * 1)(os.fsencode(sys.argv[2]))
library.entrydb_open.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_void_p]
library.entrydb_select.argtypes = [ctypes.c_void_p, ctypes.c_char_p] + 3 * [ctypes.c_void_p]
assert library.entrydb_open(site, 1, None, ctypes.byref(handle), None) == 0
assert library.entrydb_select(handle, b"demo", None, ctypes.byref(answer), None) == 0
os.access("/between", 0)
assert library.entrydb_select(handle, b"demo", None, ctypes.byref(answer), None) == 0
"""


class Carried(TravelTest):
    """For every way to copy a tree: everything is recognized, and an update adapts the database to it."""

    def check_all(self, prefix):
        self.check_known(prefix)
        self.assertEqual(self.freshness(self.site_of(prefix), name="dist3"), "checked")
        self.check_anchored(prefix)

    def test_copied(self):
        there = self.place()
        copy(self.prefix, there)
        self.check_all(there)

    def test_synchronized(self):
        there = self.place()
        run(tool(self, "rsync"), "-a", f"{self.prefix}/", there)
        self.check_all(there)

    def test_hard_linked(self):
        """Hard links keep the inodes of files; the database was published longer ago than a publication takes."""
        there = self.place()
        support.change_database(self.database, f"UPDATE publication SET time = time - {HOUR}")
        run("cp", "-al", self.prefix, there)
        self.check_all(there)

    def test_moved(self):
        there = self.place()
        os.rename(self.prefix, there)
        self.check_known(there)

    def unpack(self, **how):
        archive, there = f"{self.top}/archive.tar", self.place()
        with tarfile.open(archive, "w", **how) as tar:
            tar.add(self.prefix, ".")
        os.mkdir(there)
        run("tar", "-xpf", archive, "-C", there)
        return there

    def test_archive_of_whole_seconds(self):
        self.check_all(self.unpack(format=tarfile.USTAR_FORMAT))

    def test_archive_of_fractions(self):
        """Python stores fractions of times as a double."""
        self.check_all(self.unpack(format=tarfile.PAX_FORMAT))

    def test_unpacked_by_python(self):
        """As with most archives of conda-unpack and venv-pack."""
        archive, there = f"{self.top}/archive.tar", self.place()
        with tarfile.open(archive, "w") as tar:
            tar.add(self.prefix, ".")
        with tarfile.open(archive) as tar:
            tar.extractall(there)
        self.check_all(there)

    def test_all_times_set_to_one_value(self):
        """As in Nix, Guix and OSTree; older files may have kept their times."""
        for seconds in (0, 1, CLAMP):
            with self.subTest(seconds=seconds):
                there = self.place()
                copy(self.prefix, there)
                clamp(there, seconds)
                self.check_all(there)

    def test_copied_twice(self):
        """The copy is copied again, after an update there and without one."""
        there, further, home = self.place(), self.place(), self.place()
        copy(self.prefix, there)
        copy(there, further)
        self.check_all(further)
        copy(further, home)
        self.check_all(home)


class Partly(TravelTest):
    """Only a part of what the database describes is updated or copied."""

    def setUp(self):
        super().setUp()
        self.other = f"{self.prefix}/lib/python3.12/site-packages"
        support.add_distribution(self.other, "other")
        self.index()

    def test_one_of_two_is_updated(self):
        """The new database was not copied, yet no file of the other path entry is read again."""
        there = self.place()
        copy(self.prefix, there)
        other = f"{there}/lib/python3.12/site-packages"
        self.assertEqual(self.opened(there, "update", "--quiet", self.site_of(there)), [])
        with travel.Opened(other) as opened:
            self.assertEqual(self.list(path=other).names[0], ("other", "1.0"))
        self.assertEqual(opened.directories, [])

    def test_only_the_tree(self):
        """Another file system is mounted in place of the tree: the database stayed, and proves nothing."""
        there = self.place()
        copy(self.site, there)
        support.replace(f"{there}/dist3-1.0.dist-info/entry_points.txt", "[demo]\nother = o:main\n")
        shutil.rmtree(self.site)
        os.rename(there, self.site)
        self.check_right(self.prefix)
        self.assertEqual(len(self.opened(self.prefix)), ALL - SHADOWED)

    def test_two_builds_of_one_second(self):
        """The second, which no database knows, comes from a cache that keeps times; then fractions are lost."""
        then, path = time.time_ns() // SECOND * SECOND - HOUR, f"{self.info(self.prefix)}/entry_points.txt"
        text = support.read(path)
        for name in ("entry_points.txt", "METADATA"):
            os.utime(f"{self.info(self.prefix)}/{name}", ns=(then + 1, then + 1))
        self.index()
        shutil.move(self.info(self.prefix), f"{self.top}/old")
        shutil.copytree(f"{self.top}/old", self.info(self.prefix))
        support.write(path, text.replace("main", "niam"))
        for name in ("entry_points.txt", "METADATA"):
            os.utime(f"{self.info(self.prefix)}/{name}", ns=(then + 2, then + 2))
        os.utime(self.info(self.prefix))
        carry.in_whole_seconds(self.prefix)
        self.check_right(self.prefix)

    def test_one_distribution_added(self):
        """Unchanged distributions in a changed directory are not opened, in place or mounted elsewhere."""
        support.add_distribution(self.site, "added")
        self.check_known(self.prefix, ["added-1.0.dist-info"])
        os.rename(self.prefix, f"{self.top}/elsewhere")
        os.symlink(f"{self.top}/elsewhere", self.prefix)
        self.check_known(self.prefix, ["added-1.0.dist-info"])
        shutil.rmtree(self.info(self.prefix, "dist1"))
        support.replace(f"{self.info(self.prefix)}/entry_points.txt", "[demo]\nthree = 3:main\n")
        self.check_known(self.prefix, ["added-1.0.dist-info", "dist3-1.0.dist-info"])

    def test_only_the_database(self):
        """It was restored or copied into a tree that looks alike."""
        there = self.place()
        self.fill(self.site_of(there))
        support.replace(f"{self.info(there)}/entry_points.txt",
                        support.entry_points("dist3").replace("main", "niam"))
        os.makedirs(f"{there}/var/lib/entrydb")
        copy(self.database, f"{there}/{support.DATABASE}")
        self.check_right(there)
        self.assertEqual(len(self.opened(there)), ALL - SHADOWED)
        self.update(there)
        self.check_right(there)

    def test_database_made_public(self):
        """A chmod changes the ctime of the database, but proves no copy: hidden replacements are noticed."""
        os.chmod(self.database, 0o644)
        support.change_database(self.database, f"UPDATE publication SET time = time - {HOUR}")
        self.replace_unseen()
        self.check_right(self.prefix)

    def test_nothing_was_copied(self):
        """New contents of the same size and time are noticed by the change time, as always."""
        self.replace_unseen()
        self.check_right(self.prefix)

    def test_marked(self):
        """A hook has marked the database as stale: no row is trusted."""
        there = self.place()
        copy(self.prefix, there)
        os.utime(f"{there}/{support.DATABASE}", (MARK, MARK))
        self.check_right(there)
        self.assertEqual(len(self.opened(there)), ALL - 1)  # the shadowed one is not read


class Order(TravelTest):
    """Answers have the order of the directory, not that of the rows."""

    def setUp(self):
        super().setUp()
        support.change_database(self.database, "UPDATE distribution SET position = 1000000 - position")
        self.there = self.place()
        copy(self.prefix, self.there)

    def test_of_the_directory(self):
        self.check_known(self.there)

    def test_of_the_rows_at_level_trust(self):
        self.assertTrue(self.is_wrong(self.there, "--fresh", "trust"))

    def test_of_a_survey(self):
        """The order in the survey of all distributions."""
        listed = self.list("demo", path=self.site_of(self.there)).names
        groups = self.run_program("groups", "--path", self.site_of(self.there), status=support.DONE).out
        self.assertIn(f"demo\t{len(listed)}", groups)

    def test_updated(self):
        self.check_anchored(self.there)
        self.check_right(self.there, "--fresh", "trust")


class Kept(TravelTest):
    """A long-running process needs one stat per query until the directory changes."""

    def test_second_question(self):
        strace, python = tool(self, "strace"), workers()[-1].interpreter.executable
        library = f"{os.environ.get('ENTRYDB_BUILD') or support.TOP + '/build'}/libquery/libentrydb.so"
        there = self.place()
        copy(self.prefix, there)
        support.settle()  # younger files are checked again
        trace = f"{self.top}/trace"
        done = subprocess.run([strace, "-f", "-o", trace, "-e", "trace=file", python, "-I", "-S", "-c", ASK_TWICE,
                               library, self.site_of(there)], capture_output=True, check=False,
                              env=self.environment(ASAN_OPTIONS="detect_leaks=0"))
        if done.returncode:
            self.skipTest(f"cannot be traced here: {done.stderr.decode(errors='replace')[-300:]}")
        with open(trace, errors="replace", encoding="utf-8") as file:
            _, again = file.read().split("/between", 1)
        again = [line for line in again.splitlines() if there in line]
        self.assertEqual([line for line in again if "-info" in line], [])
        self.assertLessEqual(len([line for line in again if line.endswith("python3.11/site-packages\"") or
                                  "site-packages\"," in line]), 1, again)


class Zips(TravelTest):
    def test_copied(self):
        """A zip is recognized by its size and time."""
        egg = f"{self.site}/thing-1.0.egg"
        with zipfile.ZipFile(egg, "w") as file:
            file.writestr("EGG-INFO/PKG-INFO", support.metadata("thing", "1.0"))
            file.writestr("EGG-INFO/entry_points.txt", support.entry_points("thing"))
        os.utime(egg, (travel.OLD, travel.OLD))
        self.index(self.prefix, egg)
        there = self.place()
        copy(self.prefix, there)
        egg = f"{self.site_of(there)}/thing-1.0.egg"
        self.assertEqual(self.freshness(egg, name="thing"), "fresh")
        with zipfile.ZipFile(egg, "w") as file:
            file.writestr("EGG-INFO/PKG-INFO", support.metadata("thing", "2.0"))
            file.writestr("EGG-INFO/entry_points.txt", support.entry_points("thing"))
        self.assertEqual(self.freshness(egg, name="thing"), "scanned")
        self.assertEqual(self.list("demo", path=egg).names, [("thing", "2.0")])


class Changed(TravelTest):
    """Later changes are noticed in a copied tree."""

    def setUp(self):
        super().setUp()
        self.there = self.place()
        copy(self.prefix, self.there)

    def test_added(self):
        support.add_distribution(self.site_of(self.there), "added")
        self.check_anchored(self.there, ["added-1.0.dist-info"])

    def test_removed(self):
        shutil.rmtree(self.info(self.there))
        self.check_anchored(self.there)

    def test_upgraded(self):
        shutil.rmtree(self.info(self.there))
        support.add_distribution(self.site_of(self.there), "dist3", "2.0")
        self.check_anchored(self.there, ["dist3-2.0.dist-info"])

    def test_replaced(self):
        """The same version again with other contents of the same size."""
        shutil.rmtree(self.info(self.there))
        support.add_distribution(self.site_of(self.there), "dist3",
                                 text=support.entry_points("dist3").replace("main", "niam"))
        self.check_anchored(self.there, ["dist3-1.0.dist-info"])

    def test_edited(self):
        support.write(f"{self.info(self.there)}/entry_points.txt",
                      support.entry_points("dist3").replace("main", "niam"))
        self.check_anchored(self.there, ["dist3-1.0.dist-info"])

    def test_without_entry_points(self):
        os.unlink(f"{self.info(self.there)}/entry_points.txt")
        self.check_anchored(self.there)

    def test_with_entry_points(self):
        support.write(f"{self.info(self.there, 'silent')}/entry_points.txt",
                      support.entry_points("silent"))
        self.check_anchored(self.there, ["silent-1.0.dist-info"])

    def test_other_metadata(self):
        support.write(f"{self.info(self.there)}/METADATA", support.metadata("dist3", "1.5"))
        self.check_anchored(self.there, ["dist3-1.0.dist-info"])

    def test_changed_before_the_copy(self):
        support.replace(f"{self.info(self.prefix)}/entry_points.txt", "[demo]\nother = o:main\n")
        further = self.place()
        copy(self.prefix, further)
        self.check_anchored(further, ["dist3-1.0.dist-info"])

    def test_back_to_an_older_time(self):
        path = f"{self.info(self.there)}/entry_points.txt"
        support.write(path, support.entry_points("dist3").replace("main", "niam"))
        os.utime(path, (CLAMP, CLAMP))
        self.check_anchored(self.there, ["dist3-1.0.dist-info"])


if __name__ == "__main__":
    support.main()
