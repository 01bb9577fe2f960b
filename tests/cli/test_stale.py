"""A database that could not be updated when it had to be: readers compare it with the disk until it is.

An edit inside a distribution changes no time of the site directory, so that the default
level leaves it to the hook: if that fails, nothing but the mark that it leaves tells readers.
"""

import os
import shutil
import signal

import support
from support import (COULD_NOT, DATABASE, DONE, SITE, CommandTest, add_distribution, change_database,
                     entry_points, held_lock, leftovers, needs_root, query, replace, until)

MARK = 1162888265  # seconds since 1970: "EPDI", as PRAGMA application_id is
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
        """In place: no time of the site directory changes."""
        replace(f"{site or self.site}/alpha-1.0.dist-info/entry_points.txt", entry_points(name))

    def names(self, site=None):
        return sorted(name for name, _ in self.list("demo", path=site or self.site, status=DONE).names)

    def interrupted_hook(self):
        """A hook that never gets the lock."""
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

    def test_readers_look_themselves(self):
        self.assertTrue(is_marked(self.database))
        self.assertEqual(self.names(), ["beta", "edited"])
        self.assertEqual(self.freshness(name="beta"), "scanned")
        self.assertEqual(self.freshness(self.other_site, name="gamma"), "scanned")
        self.edit("again")
        self.assertEqual(self.names(), ["again", "beta"])
        self.assertEqual(leftovers(self.database), [])

    def test_the_next_hook_heals(self):
        self.run_program("update", "--hook", "dpkg", self.prefix, status=DONE)
        self.check_healed()

    def test_the_next_update_heals(self):
        self.update("--fresh", "roots", self.prefix)
        self.check_healed()

    def check_healed(self):
        self.assertFalse(is_marked(self.database))
        self.assertEqual(self.names(), ["beta", "edited"])
        found = query(self.database, "SELECT name FROM entry_points WHERE group_name = 'demo' ORDER BY name")
        self.assertEqual(found, [("beta",), ("edited",), ("gamma",)])

    def test_nothing_was_to_be_done(self):
        """The mark is taken off a file that is right as it is, and that stays in its place."""
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

    def test_an_update_of_another_site_directory(self):
        """It clears the mark, and what it has not looked at is looked at by readers and by the next."""
        self.update(self.other_site)
        self.assertFalse(is_marked(self.database))
        self.assertEqual(self.names(), ["beta", "edited"])
        self.update("--fresh", "roots", self.prefix)
        self.check_healed()

    def test_what_comes_between_keeps_it(self):
        self.run_program("forget", self.other_site, status=DONE)
        self.assertTrue(is_marked(self.database), "what looks at no directory clears no mark")
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
