"""The configurations for osquery and Datasette work on the published file as it is."""

import json
import os
import re
import shutil
import subprocess

import support
from support import TOP, CommandTest, add_distribution, write

DATASETTE = os.environ.get("ENTRYDB_DATASETTE") or shutil.which("datasette")


def configuration(name):
    with open(f"{TOP}/indexer/fleet/{name}", encoding="utf-8") as file:
        return json.load(file)


class Explorers(CommandTest):
    def setUp(self):
        super().setUp()
        add_distribution(self.site, "alpha", text="[pytest11]\nspy = alpha:plugin\n")
        write(f"{self.site}/alpha.pth", "import alpha\n")
        self.update()

    def test_the_tables_of_osquery(self):
        tables = configuration("osquery.conf")["auto_table_construction"]
        self.assertGreater(len(tables), 3)
        with support.connect(self.database) as database:
            for name, table in tables.items():
                with self.subTest(table=name):
                    answer = database.execute(table["query"])
                    self.assertEqual([column[0] for column in answer.description], table["columns"])
                    self.assertEqual(os.path.basename(table["path"]), os.path.basename(self.database))

    def test_the_questions_of_datasette(self):
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

    def test_datasette_itself(self):
        if not DATASETTE:
            self.skipTest("datasette is not installed; ENTRYDB_DATASETTE names it")
        for address, words in (("/entry_points/providers.json?name=spy&_shape=array", '"distribution": "alpha"'),
                               ("/entry_points/unasked.json?_shape=array", '"code": "import alpha"'),
                               ("/entry_points/entry_points?_facet=group_name", "pytest11")):
            done = subprocess.run([DATASETTE, "-i", self.database, "-m", f"{TOP}/indexer/fleet/datasette.json",
                                   "--get", address], capture_output=True, text=True, check=True,
                                  env=self.environment(PATH=os.environ["PATH"]), timeout=support.SECONDS_ALLOWED)
            self.assertIn(words, done.stdout)


if __name__ == "__main__":
    support.main()
