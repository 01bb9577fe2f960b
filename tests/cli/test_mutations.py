"""Databases and archives with changed bits, bytes, pages, rows or members: no crash, no hang, and recovery.

Most effective under AddressSanitizer. ENTRYDB_TEST_MUTATION_SECONDS: the time for each of the two.
ENTRYDB_TEST_SEED: repeats a run.
"""

import contextlib
import os
import random
import shutil
import sqlite3
import time

import archives
import support
from support import COULD_NOT, DONE, NOT_FOUND, CommandTest, add_distribution, is_sound, leftovers, query, write

LONG = bool(os.environ.get("ENTRYDB_TEST_LONG"))
USUAL_SECONDS = 1800 if LONG else 18 if support.build_type_is_sanitized() else 4
SECONDS = float(os.environ.get("ENTRYDB_TEST_MUTATION_SECONDS", USUAL_SECONDS))
SEED = int(os.environ.get("ENTRYDB_TEST_SEED", time.time_ns() % 1_000_000))
PAGE = 4096
BATCH = 60  # archives per call
FACTS = ("SELECT d.directory, e.group_name, e.name, e.value FROM distribution d "
         "LEFT JOIN entry_point e ON e.distribution = d.id ORDER BY 1, 2, 3, 4")


class MutationTest(CommandTest):
    number = 0  # of the current round
    least = 1   # rounds to run even if they take longer

    def setUp(self):
        super().setUp()
        self.choose = random.Random(SEED)

    def each_round(self):
        """Round numbers until the time is over."""
        began = time.monotonic()
        while self.number < self.least or time.monotonic() - began < SECONDS:
            yield self.number
            self.number += 1
        print(f"\n{type(self).__name__}: {self.number} rounds (seed {SEED})", flush=True)

    def _formatMessage(self, msg, standardMsg):
        return f"seed {SEED}, round {self.number}: {super()._formatMessage(msg, standardMsg)}"

    def check_sane(self, reply):
        super().check_sane(reply)
        self.assertIn(reply.status, (DONE, NOT_FOUND, COULD_NOT), str(reply))

    # --- changes of bytes ---

    def flip_bits(self, data):
        for _ in range(self.choose.choice((1, 1, 10, 300))):
            data[self.choose.randrange(len(data))] ^= 1 << self.choose.randrange(8)

    def set_bytes(self, data):
        at = self.choose.randrange(len(data))
        for offset in range(min(self.choose.choice((1, 2, 4, 8)), len(data) - at)):
            data[at + offset] = self.choose.choice((0, 1, 0x7F, 0x80, 0xFF))

    def move_bytes(self, data):
        size = self.choose.randrange(1, 1 + min(600, len(data)))
        start, to = (self.choose.randrange(len(data) - size + 1) for _ in range(2))
        data[to:to + size] = data[start:start + size]

    def cut_off(self, data):
        del data[self.choose.randrange(len(data)):]

    def double(self, data):
        data += data[self.choose.randrange(len(data)):]


class Databases(MutationTest):
    """Queries of a damaged database are answered or refused, and one update repairs it."""

    STATEMENTS = (
        "UPDATE root SET {number} = {value}", "UPDATE distribution SET {row} = {value} WHERE {some}",
        "UPDATE distribution SET normalized_name = NULL WHERE {some}", "DELETE FROM distribution WHERE {some}",
        "UPDATE distribution SET directory = '../../../etc' || id WHERE {some}", "DELETE FROM entry_point WHERE {some}",
        "UPDATE entry_point SET id = id + {value} WHERE {some}",
        "UPDATE distribution SET id = id + {value} WHERE {some}",
        "DELETE FROM root WHERE {some}", "UPDATE root SET id = {value} WHERE {some}", "UPDATE root SET path = '../' || path WHERE {some}",
        "UPDATE entry_point SET name = printf('%.*c', 100000, 'x') WHERE {some}",
        "UPDATE root SET kind = 'zip' WHERE {some}",
        "UPDATE entry_point SET value = char(27, 10, 0, 155) || value WHERE {some}", "DELETE FROM target WHERE {some}",
        "UPDATE target SET object = '../../../lib/libc.so.6', symbol = 'system', kind = 'native', state = 'ok'",
        "DROP INDEX entry_point_name", "DROP VIEW entry_points", "DROP TABLE event", "CREATE TABLE more (x)",
        "CREATE TRIGGER evil AFTER INSERT ON event BEGIN DELETE FROM root; END", "PRAGMA user_version = {value}",
        "CREATE VIEW endless AS WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n FROM x) SELECT n FROM x",
        "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage = {page} WHERE {some}",
        "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE {some}", "PRAGMA journal_mode = WAL",
        "PRAGMA page_size = 512; VACUUM", "PRAGMA encoding = 'UTF-16'; VACUUM", "PRAGMA auto_vacuum = 1; VACUUM",
    )

    VALUES = ("NULL", "-1", "0", "1", "7", "1 << 31", "1 << 40", "1 << 62", "-9223372036854775808",
              "9223372036854775807", "9e99", "''", "'../x'", "'/etc'", "'lib/python3.11/site-packages'",
              "x'00ff'", "char(27, 10, 0, 155)", "printf('%.*c', 100000, 'x')")

    least = 2 * len(STATEMENTS)  # each statement, and as many of the other kinds

    def setUp(self):
        super().setUp()
        for number in range(60):
            add_distribution(self.site, f"more{number}",
                             text="[other]\n" + "".join(f"name{number}.{i} = m{i}:f\n" for i in range(number)))
        add_distribution(self.site, "broken", text="[x\n")
        self.update()
        self.index()
        self.truth = query(self.database, FACTS)
        self.good = support.read_bytes(self.database)

    def test_queries_and_recovery(self):
        for number in self.each_round():
            write(self.database, self.good)
            if number < len(self.STATEMENTS):
                self.change_by_statement(self.STATEMENTS[number])
            else:
                self.choose.choice((self.change_bytes, self.change_pages, self.change_column,
                                    lambda: self.change_by_statement(self.choose.choice(self.STATEMENTS))))()
            told = self.integrity_tells()
            self.ask()
            os.mkdir(f"{self.site}/passing")  # changes the directory, so that it is scanned again
            os.rmdir(f"{self.site}/passing")
            self.heal(told)

    def change_bytes(self):
        data = bytearray(self.good)
        self.choose.choice((self.flip_bits, self.set_bytes, self.move_bytes, self.cut_off, self.double))(data)
        write(self.database, bytes(data))

    def change_pages(self):
        data = bytearray(self.good)
        pages = len(data) // PAGE
        for _ in range(self.choose.choice((1, 1, 3))):
            to = PAGE * self.choose.randrange(1, pages)
            source = PAGE * self.choose.randrange(pages)
            data[to:to + PAGE] = self.choose.choice((data[source:source + PAGE], bytes(PAGE), os.urandom(PAGE)))
        write(self.database, bytes(data))

    def change_by_statement(self, statement):
        words = {"value": self.choose.choice((-1, 0, 1, 7, 1 << 31, 1 << 40, 1 << 62, -(1 << 63))),
                 "number": self.choose.choice(("distributions", "broken", "watched", "mtime", "settled")),
                 "row": self.choose.choice(("position", "directory_stamp", "watched", "settled", "has_metadata")),
                 "some": f"rowid % {self.choose.choice((1, 2, 50))} = 0", "page": self.choose.randrange(30)}
        self.execute(statement.format(**words))

    def change_column(self):
        """Change a column of a random table, in one or all of its rows."""
        columns = query(self.database, "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_xinfo(t.name) c "
                                       "WHERE t.type = 'table' AND c.hidden = 0")
        table, column = self.choose.choice(columns)
        where = self.choose.choice(("", f"WHERE rowid = (SELECT min(rowid) FROM {table})"))
        self.execute(f"UPDATE {table} SET {column} = {self.choose.choice(self.VALUES)} {where}")

    def execute(self, script):
        with contextlib.closing(sqlite3.connect(self.database)) as connection:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("PRAGMA ignore_check_constraints = 1")
                connection.executescript(script)
                connection.commit()

    def integrity_tells(self):
        """Does SQLite's own check find the damage?"""
        try:
            return not is_sound(self.database)
        except (sqlite3.Error, UnicodeDecodeError):
            return True

    def ask(self):
        """Run two queries per start of the program, which takes most of the time."""
        questions = (["list", "--path", self.site], ["list", "--db", self.database, "--json"],
                     ["why", "other", "name7.1", "--path", self.site, "--fresh", "exact"],
                     ["groups", "--path", self.site], ["verify", self.prefix], ["log", "--db", self.database])
        for words in self.choose.sample(questions, 2):
            self.run_program(*words)

    def heal(self, told):
        self.update()
        self.assertLessEqual(set(leftovers(self.database)), {"entry_points.db.damaged"})
        self.assertTrue(is_sound(self.database))
        now = query(self.database, FACTS)
        if told:
            self.assertEqual(now, self.truth)
        self.assertEqual({row[0] for row in now}, {row[0] for row in self.truth})
        if self.choose.random() < 0.2:
            self.assertNotIn("set aside", self.update().err, "one update was not enough")
        for name in leftovers(self.database):
            os.unlink(f"{os.path.dirname(self.database)}/{name}")


class Archives(MutationTest):
    """A damaged archive is added or refused, and after its removal nothing of it remains."""

    def setUp(self):
        super().setUp()
        self.sources = f"{self.top}/sources"
        os.mkdir(self.sources)
        self.make_sources()
        self.originals = {}
        for name in sorted(os.listdir(self.sources)):
            self.originals[name] = support.read_bytes(f"{self.sources}/{name}")

    def make_sources(self):
        tree = archives.installed(files={"spam/native.so": os.urandom(300)})
        debian = archives.below("usr/lib/python3/dist-packages", tree)
        pyproject = '[project]\nname = "spam"\nversion = "1"\n[project.scripts]\na = "b:c"\n'
        source = archives.source(files={"pyproject.toml": pyproject})
        egg = {"EGG-INFO/PKG-INFO": archives.metadata(), "EGG-INFO/entry_points.txt": archives.ENTRY_POINTS}
        archives.write_zip(f"{self.sources}/spam-1.0-py3-none-any.whl", tree)
        archives.write_zip(f"{self.sources}/stored-1.0-py3-none-any.whl", tree, archives.zipfile.ZIP_STORED)
        archives.write_zip(f"{self.sources}/spam-1.0.egg", egg)
        archives.write_zip(f"{self.sources}/spam-1.0.zip", source)
        for ending in ("tar", "tar.gz", "tar.bz2", "tar.xz"):
            archives.write_tar(f"{self.sources}/spam-1.0.{ending}", source)
            archives.write_tar(f"{self.sources}/files.{ending}", debian)
        if shutil.which("zstd"):
            archives.write_conda(f"{self.sources}/spam-1.0-py_0.conda",
                                 archives.below("lib/python3.11/site-packages", tree))
        if shutil.which("dpkg-deb"):
            for compression in ("none", "xz"):
                archives.write_deb(f"{self.sources}/spam-{compression}_1_all.deb", debian, compression)
        if shutil.which("rpmbuild"):
            archives.write_rpm(f"{self.sources}/spam-1-1.noarch.rpm",
                               archives.below("usr/lib/python3.11/site-packages", tree))

    def test_add(self):
        catalogue = f"{self.top}/catalogue.db"
        for _ in self.each_round():
            mutants = f"{self.top}/mutants"
            os.mkdir(mutants)
            for index in range(BATCH):
                self.make_mutant(f"{mutants}/{index}")
            self.run_program("add", "--db", catalogue, *(f"{mutants}/{path}" for path in sorted(os.listdir(mutants))))
            shutil.rmtree(mutants)
            if os.path.exists(catalogue):
                self.assertTrue(is_sound(catalogue))
                self.run_program("list", "--db", catalogue)

    def make_mutant(self, directory):
        name = self.choose.choice(sorted(self.originals))
        data = bytearray(self.originals[name])
        for _ in range(self.choose.choice((1, 1, 2, 5))):
            if data:
                self.choose.choice((self.flip_bits, self.set_bytes, self.move_bytes, self.cut_off, self.double))(data)
        os.mkdir(directory)
        write(f"{directory}/{name}", bytes(data))


if __name__ == "__main__":
    support.main()
