#!/usr/bin/env python3
"""The manual pages are complete: entrydb(1) documents all commands and options, entrydb(5) the schema.

The page on the database is compared with the columns that SQLite creates from db/schema.sql, and the
queries in it must run.
"""

import glob
import os
import re
import sqlite3
import unittest

import support
from support import DONE, TOP, CommandTest, read

PAGE_OF_SQL = f"{TOP}/db/man/entrydb.5"
# Documented for the program alone.
PRIVATE = {"settled", "contested", "has_metadata", "directory_stamp", "files_stamp", "kinds"}


class Program(CommandTest):
    def setUp(self):
        super().setUp()
        self.help = self.run_program("--help", status=DONE).out
        self.page = read(f"{TOP}/indexer/man/entrydb.1")

    def test_commands(self):
        commands = re.findall(r"(?m)^  ([a-z]+)\b", self.help)
        self.assertGreater(len(commands), 5)
        for command in commands:
            with self.subTest(command=command):
                self.assertRegex(self.page, rf"(?m)^\.Cm {command}$")        # the synopsis
                self.assertRegex(self.page, rf"(?m)^\.It Cm {command}\b")

    def test_options(self):
        options = re.findall(r"(?m)(?:^  |, )--([a-z-]+)", self.help)
        self.assertGreater(len(options), 5)
        for option in options:
            with self.subTest(option=option):
                self.assertRegex(self.page, rf"(?m)^\.It Fl -{option}\b")


class Database(unittest.TestCase):
    def setUp(self):
        self.page = read(PAGE_OF_SQL)
        self.database = sqlite3.connect(":memory:")
        self.addCleanup(self.database.close)
        self.database.executescript(read(f"{TOP}/db/schema.sql"))

    def section(self, name):
        """The text from one table's or view's item to the next."""
        return re.search(rf"(?ms)^\.It Sy {name}$(.*?)(?=^\.It Sy |^\.Sh )", self.page)[1]

    def test_columns(self):
        relations = self.database.execute(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')").fetchall()
        self.assertGreater(len(relations), 8)
        for (relation,) in relations:
            words = set(re.findall(r"\w+", self.section(relation)))
            columns = {row[1] for row in self.database.execute(f"PRAGMA table_xinfo({relation})")}
            self.assertEqual(columns - words - PRIVATE, set(), relation)

    def test_queries(self):
        queries = re.findall(r'(?s)^\$ sqlite3 [^"\n]*"(.*?)"$', self.page, re.MULTILINE)
        self.assertGreater(len(queries), 3)
        for query in queries:
            with self.subTest(query=query):
                self.database.execute(query)


class Layout(unittest.TestCase):
    def test_every_page_is_installed(self):
        """Each page is installed by the CMakeLists.txt of its folder."""
        pages = glob.glob(f"{TOP}/*/man/*.[1-9]")
        self.assertGreater(len(pages), 3)
        for page in pages:
            folder, name = os.path.split(page)
            self.assertIn(f"man/{name} DESTINATION", read(f"{folder}/../CMakeLists.txt"), page)


class Security(unittest.TestCase):
    def test_named_tests_exist(self):
        named = re.findall(r"`(tests/[^`]+)`", read(f"{TOP}/.github/SECURITY.md"))
        self.assertGreater(len(named), 10)
        self.assertEqual([path for path in named if not os.path.exists(f"{TOP}/{path}")], [])


if __name__ == "__main__":
    support.main()
