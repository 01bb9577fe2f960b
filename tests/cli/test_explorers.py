"""The configurations for osquery and Datasette work with the published file."""

import json
import os
import re
import shutil
import subprocess
import unittest
import urllib.request

import package_cache
import support
from support import TOP, CommandTest, add_distribution, write


def configuration(name):
    with open(f"{TOP}/indexer/fleet/{name}", encoding="utf-8") as file:
        return json.load(file)


class Published(CommandTest):
    def setUp(self):
        super().setUp()
        add_distribution(self.site, "alpha", text="[pytest11]\nspy = alpha:plugin\n")
        write(f"{self.site}/alpha.pth", "import alpha\n")
        self.update()


class Explorers(Published):
    def test_osquery_tables(self):
        tables = configuration("osquery.conf")["auto_table_construction"]
        self.assertGreater(len(tables), 3)
        add_distribution(self.site, "beta", text="[pytest11]\nspy = beta:plugin\n")  # a conflict
        self.update()
        with support.connect(self.database) as database:
            for name, table in tables.items():
                with self.subTest(table=name):
                    answer = database.execute(table["query"])
                    self.assertEqual([column[0] for column in answer.description], table["columns"])
                    self.assertTrue(answer.fetchall())
                    self.assertEqual(os.path.basename(table["path"]), os.path.basename(self.database))

    def test_datasette_queries(self):
        described = configuration("datasette.json")["databases"]["entry_points"]
        given = {"name": "spy", "group": "pytest11", "since": "2020-01-01"}
        with support.connect(self.database) as database:
            for name, query in described["queries"].items():
                with self.subTest(query=name):
                    self.assertLessEqual(set(re.findall(r"(?<!:):(\w+)", query["sql"])), set(given))
                    self.assertTrue(database.execute(query["sql"], given).fetchall())
            for table, wanted in described["tables"].items():
                columns = {row[1] for row in database.execute(f"PRAGMA table_xinfo({table})")}
                self.assertLessEqual(set(wanted.get("facets", [])), columns, table)

    def test_osquery_format(self):
        """The keys that osquery documents for automatic table construction: it silently ignores all others."""
        self.assertEqual(list(configuration("osquery.conf")), ["auto_table_construction"])
        for name, table in configuration("osquery.conf")["auto_table_construction"].items():
            with self.subTest(table=name):
                self.assertRegex(name, r"\A[a-z][a-z_]*\Z")
                self.assertEqual(sorted(table), ["columns", "path", "platform", "query"])
                self.assertTrue(table["columns"] and all(isinstance(column, str) for column in table["columns"]))
                self.assertTrue(os.path.isabs(table["path"]))
                self.assertIn(table["platform"], ("linux", "posix", "all"))
                self.assertNotIn(";", table["query"])


class Datasette(Published):
    """A real Datasette server answers queries and pages."""

    @classmethod
    def setUpClass(cls):
        named = os.environ.get("ENTRYDB_DATASETTE") or shutil.which("datasette")
        cls.program = [named] if named else package_cache.datasette()
        if not cls.program:
            raise unittest.SkipTest("pip cannot get Datasette (package_cache.py); ENTRYDB_DATASETTE names it")

    def setUp(self):
        super().setUp()
        child = subprocess.Popen(
            [*self.program, "serve", "-i", self.database, "-m", f"{TOP}/indexer/fleet/datasette.json", "-h", "127.0.0.1",
             "-p", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=self.environment(PATH=os.environ["PATH"]))
        self.addCleanup(support.end, child)
        self.address = next((found[0] for line in child.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line))), None)
        self.assertTrue(self.address)

    def get(self, path):
        with urllib.request.urlopen(f"{self.address}/entry_points{path}", timeout=support.SECONDS_ALLOWED) as page:
            return page.read().decode()

    def test_queries(self):
        for path, wanted in (("/providers.json?name=spy", {"distribution": "alpha", "value": "alpha:plugin"}),
                             ("/group.json?group=pytest11", {"name": "spy", "distribution": "alpha"}),
                             ("/unasked.json", {"name": "alpha.pth", "code": "import alpha"}),
                             ("/news.json?since=2020-01-01", {"action": "index"})):
            with self.subTest(path):
                rows = json.loads(self.get(f"{path}{'&' if '?' in path else '?'}_shape=array"))
                self.assertTrue(any(wanted.items() <= row.items() for row in rows), rows)

    def test_pages(self):
        """The database page lists the queries, each table page has facets, and none of them times out."""
        described = configuration("datasette.json")["databases"]["entry_points"]
        front = self.get("")
        for name, query in described["queries"].items():
            self.assertIn(f'href="/entry_points/{name}"', front)
            self.assertIn(query["title"].replace("?", ""), front)
        for table, wanted in described["tables"].items():
            page = self.get(f"/{table}")
            for facet in wanted.get("facets", []):
                self.assertIn(f'id="facet-{facet}"', page)
            self.assertNotIn("timed out", page)


if __name__ == "__main__":
    support.main()
