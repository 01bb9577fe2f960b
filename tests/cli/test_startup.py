"""Code that Python runs at start-up: its rows in the database and its history."""

import os
import subprocess
import sys

import support
from support import DONE, NOT_FOUND, SITE, CommandTest, add_distribution, query, replace, settle, write

MARKED = "import sys; sys.stderr.write('RAN')"


class Startup(CommandTest):
    def setUp(self):
        super().setUp()
        add_distribution(self.site, "alpha")

    def code(self):
        return query(self.database, "SELECT root, file, line, kind, code FROM startup_code")

    def log(self):
        return [(event["action"], event["detail"]) for event in
                self.run_program("log", "--json", "--db", self.database, status=DONE).objects
                if event["action"].startswith("startup")]

    def test_executed_and_other_lines(self):
        write(f"{self.site}/b.pth", "# import comment\n/some/path\nimport os\n import indented\n"
                                    "import\ttabbed\r\nimportant\n")
        write(f"{self.site}/a.start", "# a comment\n\n  tool.start:begin  \ntool.other:run\n")
        write(f"{self.site}/.hidden.pth", "import hidden\n")  # Python 3.12.1 reads it, 3.12.2 does not
        write(f"{self.site}/.hidden.start", "tool.start:hidden\n")
        write(f"{self.site}/sitecustomize.py", "")
        os.mkdir(f"{self.site}/usercustomize")
        write(f"{self.site}/sitecustomize_not.py", "")
        self.update()
        self.assertEqual(self.code(), [
            (SITE, ".hidden.pth", 1, "import", "import hidden"),
            (SITE, "a.start", 3, "start", "tool.start:begin"),
            (SITE, "a.start", 4, "start", "tool.other:run"),
            (SITE, "b.pth", 3, "import", "import os"),
            (SITE, "b.pth", 5, "import", "import\ttabbed"),
            (SITE, "sitecustomize.py", 0, "module", ""),
            (SITE, "usercustomize", 0, "module", "")])

    def test_every_line_that_python_runs(self):
        """Lines are separated by the same characters as in this interpreter."""
        for number, end in enumerate(("\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028")):
            text = f"/nowhere{end}{MARKED}\n"
            with open(f"{self.site}/t.pth", "w", encoding="utf-8", newline="") as file:
                file.write(text)
            ran = b"RAN" in subprocess.run(
                [sys.executable, "-I", "-S", "-c", f"import site; site.addsitedir({self.site!r})"],
                stderr=subprocess.PIPE, check=True).stderr
            self.update(self.prefix, "--fresh", "exact")
            found = [row[4] for row in self.code()]
            self.assertTrue(found == [MARKED] or not ran, (number, found))

    def test_added_and_removed(self):
        self.update()
        self.assertEqual(self.log(), [])
        write(f"{self.site}/evil.pth", "import evil\n")
        self.update()
        self.assertEqual(self.log(), [("startup", "evil.pth: import evil")])
        replace(f"{self.site}/evil.pth", "\nimport evil\nimport worse\n")
        self.update()
        self.assertEqual(self.log()[1:], [("startup", "evil.pth: import worse")])
        self.assertEqual([row[2] for row in self.code()], [2, 3])
        os.remove(f"{self.site}/evil.pth")
        self.update()
        self.assertEqual(self.log()[2:], [("startup-gone", "evil.pth: import evil"),
                                          ("startup-gone", "evil.pth: import worse")])
        self.assertEqual(self.code(), [])

    def test_edit_in_place_is_a_difference(self):
        write(f"{self.site}/evil.pth", "import one\n")
        settle()
        self.update()
        self.run_program("verify", self.prefix, status=DONE)
        write(f"{self.site}/evil.pth", "import two\n")
        self.assertIn("start-up code differs", self.run_program("verify", self.prefix, status=NOT_FOUND).out)
        self.update(self.prefix, "--fresh", "exact")
        self.assertEqual([row[4] for row in self.code()], ["import two"])

    def test_unreadable_files_are_reported(self):
        os.mkfifo(f"{self.site}/fifo.pth")
        with open(f"{self.site}/large.pth", "wb") as file:
            file.truncate((1 << 20) + 1)
        write(f"{self.site}/long.pth", "import os;" + "x" * (1 << 17))
        self.update()
        fifo, large, long_line = self.code()
        self.assertEqual((fifo[2], fifo[4]), (0, "not a regular file"))
        self.assertIn("the limit is 1048576", large[4])
        self.assertEqual(len(long_line[4]), 1 << 16)

    def test_forgotten_with_the_root(self):
        write(f"{self.site}/evil.pth", "import evil\n")
        self.update()
        self.run_program("forget", self.site, status=DONE)
        self.assertEqual(query(self.database, "SELECT * FROM startup"), [])


if __name__ == "__main__":
    support.main()
