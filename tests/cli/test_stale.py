"""A failed update marks the database as stale: readers then check the disk until an update succeeds.

Edits inside a distribution do not change the time of the site directory. The default level relies on
the hook for them: if the hook fails, only its mark tells readers.
"""

import os
import shutil
import signal

import support
from support import (COULD_NOT, DATABASE, DONE, SITE, CommandTest, add_distribution, change_database,
                     entry_points, held_lock, leftovers, needs_root, query, replace, until)

MARK = 1162888265  # seconds since 1970: "EPDI", the same as PRAGMA application_id
OTHER_SITE = "lib/python3.12/site-packages"


def is_marked(database):
    return os.stat(database).st_mtime == MARK


class StaleTest(CommandTest):
    def setUp(self):
        super().setUp()
        for name in ("alpha", "beta"):
            add_distribution(self.site, name)
        self.other_site = f"{self.prefix}/{OTHER_SITE}"
        add_distribution(self.other_site, "gamma")

    def edit(self, name="edited", site=None):
        """Edit in place, without changing the time of the site directory."""
        replace(f"{site or self.site}/alpha-1.0.dist-info/entry_points.txt", entry_points(name))

    def names(self, site=None):
        return sorted(name for name, _ in self.list("demo", path=site or self.site, status=DONE).names)

    def interrupted_hook(self):
        """Run a hook that never gets the lock."""
        with held_lock(self.database):
            child = self.start("update", "--hook", "dpkg", self.prefix)
            until(lambda: support.has_open(child, f"{self.database}.lock"))
            child.send_signal(signal.SIGTERM)
            _, err = child.communicate(timeout=support.SECONDS_ALLOWED)
        self.assertEqual(child.returncode, DONE, err)
        self.assertIn(b"interrupted", err)


class Marked(StaleTest):
    def setUp(self):
        super().setUp()
        self.index()
        self.edit()
        self.assertEqual(self.names(), ["alpha", "beta"], "the default level leaves this to the hook")
        self.interrupted_hook()

    def test_readers_check_the_disk(self):
        self.assertTrue(is_marked(self.database))
        self.assertEqual(self.names(), ["beta", "edited"])
        self.assertEqual(self.freshness(name="beta"), "scanned")
        self.assertEqual(self.freshness(self.other_site, name="gamma"), "scanned")
        self.edit("again")
        self.assertEqual(self.names(), ["again", "beta"])
        self.assertEqual(leftovers(self.database), [])

    def test_next_hook_removes_the_mark(self):
        self.run_program("update", "--hook", "dpkg", self.prefix, status=DONE)
        self.check_recovered()

    def test_next_update_removes_the_mark(self):
        self.update("--fresh", "roots", self.prefix)
        self.check_recovered()

    def check_recovered(self):
        self.assertFalse(is_marked(self.database))
        self.assertEqual(self.names(), ["beta", "edited"])
        found = query(self.database, "SELECT name FROM entry_points WHERE group_name = 'demo' ORDER BY name")
        self.assertEqual(found, [("beta",), ("edited",), ("gamma",)])

    def test_database_was_up_to_date(self):
        """The mark is removed from an up-to-date file without replacing it."""
        self.update()
        change_database(self.database, "UPDATE distribution SET settled = 1, watched = 0",
                        "UPDATE root SET settled = 1, watched = 0")
        os.utime(self.database, (MARK, MARK))
        self.assertEqual(self.freshness(name="beta"), "scanned")
        before = os.stat(self.database).st_ino
        self.run_program("update", "--hook", "dpkg", self.prefix, status=DONE)
        self.assertFalse(is_marked(self.database))
        self.assertEqual(os.stat(self.database).st_ino, before)
        self.assertEqual(self.freshness(name="beta"), "fresh")

    def test_times_of_even_seconds(self):
        """On a FAT."""
        os.utime(self.database, (MARK & ~1, MARK & ~1))
        self.assertEqual(self.names(), ["beta", "edited"])
        self.test_next_hook_removes_the_mark()

    def test_update_of_another_site_directory(self):
        """It clears the mark, but readers and the next update still check the directories it did not scan."""
        self.update(self.other_site)
        self.assertFalse(is_marked(self.database))
        self.assertEqual(self.names(), ["beta", "edited"])
        self.update("--fresh", "roots", self.prefix)
        self.check_recovered()

    def test_other_writers_keep_the_mark(self):
        self.run_program("forget", self.other_site, status=DONE)
        self.assertTrue(is_marked(self.database), "a writer that scans nothing must keep the mark")
        self.assertEqual(self.names(), ["beta", "edited"])


class Full(StaleTest):
    @needs_root
    def test_full_disk(self):
        disk = self.mount("size=1m")
        shutil.copytree(self.prefix, f"{disk}/venv")
        prefix, site, database = f"{disk}/venv", f"{disk}/venv/{SITE}", f"{disk}/venv/{DATABASE}"
        self.index(prefix, database=database)
        self.edit(site=site)
        self.assertEqual(self.names(site), ["alpha", "beta"])
        support.fill(disk)
        self.update(prefix, status=COULD_NOT)
        self.assertTrue(is_marked(database))
        self.assertEqual(self.names(site), ["beta", "edited"])
        os.unlink(f"{disk}/filler")
        self.update(prefix)
        self.assertFalse(is_marked(database))
        self.assertEqual(self.names(site), ["beta", "edited"])


if __name__ == "__main__":
    support.main()
