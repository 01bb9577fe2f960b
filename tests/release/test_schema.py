#!/usr/bin/env python3
"""Databases of other versions: older ones are migrated, newer ones left alone.

tests/fixtures/released has two files for each release: entrydb-VERSION.db, created by its program from
tree() below, and schema-N.sql, the schema with user_version N. Nothing is released yet: the checks are
tried with a new database until then.

    test_schema.py --record   writes both, for each release

    ENTRYDB  the program
"""

import contextlib
import glob
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import support
from support import TOP, COULD_NOT, DATABASE, DONE, SITE, CommandTest, add_distribution, events, write

RELEASED = f"{TOP}/tests/fixtures/released"
SCHEMA = f"{TOP}/db/schema.sql"
NAMES = ("alpha", "beta")  # distributions with one entry point each


def tree(prefix):
    for name in NAMES:
        add_distribution(f"{prefix}/{SITE}", name)


def statements(file):
    """The statements that create objects, without comments and layout, and the version."""
    text = re.sub(r"--[^\n]*", "", support.read(file))
    version = int(re.search(r"PRAGMA user_version = (\d+)", text)[1])
    return version, [" ".join(each.split()) for each in text.split(";") if "CREATE" in each]


def without_database(changes, databases):
    """Versions with a date in the change log, but without a stored database."""
    released = re.findall(r"(?m)^## \[(\d+(?:\.\d+)+)\] - \d", changes)
    return sorted(set(released) - {re.search(r"entrydb-(.*)\.db", name)[1] for name in databases})


def execute(file, *commands):
    with contextlib.closing(sqlite3.connect(file)) as connection:
        for command in commands:
            connection.execute(command)
        connection.commit()


class SchemaTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.prefix = f"{self.top}/prefix"
        self.site, self.database = f"{self.prefix}/{SITE}", f"{self.prefix}/{DATABASE}"
        tree(self.prefix)

    def update(self, *words, status=DONE):
        return self.run_program("update", *words, self.prefix, status=status)

    def check_names(self, *names):
        found = self.run_program("list", "--path", self.site, status=DONE).fields
        self.assertEqual(sorted({row[3] for row in found}), sorted(names))


class Older(SchemaTest):
    def check_migrated(self, file):
        """The database or the disk is read; an update migrates it; and its audit trail is continued."""
        os.makedirs(os.path.dirname(self.database), exist_ok=True)
        shutil.copy(file, self.database)
        trail = events(self.database)
        self.assertTrue(trail)
        self.check_names(*NAMES)
        add_distribution(self.site, "late")
        self.check_names(*NAMES, "late")
        self.update()
        self.check_names(*NAMES, "late")
        self.assertEqual(events(self.database)[:len(trail)], trail)
        self.assertTrue(support.is_sound(self.database))

    def test_released(self):
        found = sorted(glob.glob(f"{RELEASED}/entrydb-*.db"))
        if not found:
            self.skipTest("nothing is released yet")
        for file in found:
            with self.subTest(os.path.basename(file)):
                self.check_migrated(file)

    def test_each_release_is_stored(self):
        changes = support.read(f"{TOP}/CHANGELOG.md")
        self.assertEqual(without_database(changes, glob.glob(f"{RELEASED}/entrydb-*.db")), [],
                         f"{__file__} --record, by the release itself, writes what is missing")
        changes = "## [Unreleased]\n## [0.2.0] - 2027-01-01\n## [0.1.0] - 2026-12-01\n"
        self.assertEqual(without_database(changes, ["x/entrydb-0.1.0.db"]), ["0.2.0"])

    def test_current(self):
        """A database as stored by --record."""
        record(self.top)
        [file] = glob.glob(f"{self.top}/entrydb-*.db")
        self.check_migrated(file)

    def test_older_version(self):
        """As if version 0 had been released, with another table."""
        self.update()
        file = f"{self.top}/older.db"
        shutil.move(self.database, file)
        execute(file, "PRAGMA user_version = 0", "CREATE TABLE of_old (x)")
        self.check_migrated(file)


class Newer(SchemaTest):
    def setUp(self):
        super().setUp()
        self.update()
        execute(self.database, "PRAGMA user_version = 2", "CREATE TABLE of_the_future (x)")
        self.newer = support.read_bytes(self.database)

    def check_left_alone(self, reply):
        self.assertIn(f"{self.database}: made by a newer entrydb (version 2 of the database", reply.err)
        self.assertEqual(support.read_bytes(self.database), self.newer)
        self.assertEqual(support.leftovers(self.database), [])

    def test_update_leaves_it_alone(self):
        for words in ((), ("--fresh", "exact"), ("--sealed",)):
            with self.subTest(words):
                self.check_left_alone(self.update(*words, status=COULD_NOT))

    def test_hook_reports_it_and_succeeds(self):
        self.check_left_alone(self.update("--hook", "pip", status=DONE))

    def test_disk_is_read(self):
        self.check_names(*NAMES)
        add_distribution(self.site, "late")
        self.check_names(*NAMES, "late")

    def test_named_file(self):
        reply = self.run_program("update", "--db", self.database, self.prefix, status=COULD_NOT)
        self.check_left_alone(reply)
        reply = self.run_program("list", "--db", self.database, status=COULD_NOT)
        self.assertIn("version 2 of the database, this program reads version", reply.err)

    def test_damaged_version_number(self):
        """The schema is the current one, whatever the number in the header says."""
        execute(self.database, "DROP TABLE of_the_future")
        self.assertIn("set aside", self.update().err)


class Version(unittest.TestCase):
    """user_version is increased when the schema changes."""

    def check(self, file):
        recorded, before = statements(file)
        version, now = statements(SCHEMA)
        self.assertLessEqual(recorded, version)
        self.assertEqual(recorded == version, before == now,
                         "user_version in db/schema.sql and db/sql.h must grow with the schema")

    def test_released(self):
        found = sorted(glob.glob(f"{RELEASED}/schema-*.sql"))
        if not found:
            self.skipTest("nothing is released yet")
        for file in found:
            with self.subTest(os.path.basename(file)):
                self.check(file)

    def test_unversioned_changes(self):
        text = support.read(SCHEMA)
        version, _ = statements(SCHEMA)
        more, number = text + "\nCREATE TABLE more (x);\n", f"user_version = {version}"
        column = "normalized_name TEXT"
        self.assertIn(column, text)
        with tempfile.TemporaryDirectory() as scratch:
            file = f"{scratch}/schema.sql"
            for planted, fails in ((text, False), (text + "-- more\n", False), (more, True),
                                   (text.replace(column, "normalized TEXT"), True),
                                   (text.replace(column, "normalized_name BLOB"), True),
                                   (text.replace(number, f"user_version = {version - 1}"), True),
                                   (more.replace(number, f"user_version = {version - 1}"), False),
                                   (more.replace(number, f"user_version = {version + 1}"), True)):
                write(file, planted)
                with self.assertRaises(AssertionError) if fails else contextlib.nullcontext():
                    self.check(file)


def record(place=RELEASED):
    release = re.search(r"project\(entrydb VERSION ([0-9.]+)", support.read(f"{TOP}/CMakeLists.txt"))[1]
    with tempfile.TemporaryDirectory() as scratch:
        tree(scratch)
        subprocess.run([support.PROGRAM, "update", "--quiet", scratch], check=True)
        shutil.copy(f"{scratch}/{DATABASE}", f"{place}/entrydb-{release}.db")
    shutil.copy(SCHEMA, f"{place}/schema-{statements(SCHEMA)[0]}.sql")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        support.main()
