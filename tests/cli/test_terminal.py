"""Output on terminals has aligned columns, headings and colours; output to pipes has none of them."""

import re

import support
from support import DATABASE, DONE, NOT_FOUND, SITE, USAGE, CommandTest, add_distribution, change_database

COLOR = re.compile("\x1b\\[[0-9;]*m")


class TerminalTest(CommandTest):
    def setUp(self):
        super().setUp()
        add_distribution(self.site, "alpha")
        add_distribution(self.site, "longer-name", "22.0", text="[a.much.longer.group]\n\u4e00\u4e8c = m:f\n")

    def list_words(self, *words):
        return ["list", "--path", self.site, *words]


class Columns(TerminalTest):
    def plain(self, *words, columns=0):
        return self.on_terminal(*words, "--color", "never", columns=columns).splitlines()

    def test_list(self):
        lines = self.plain(*self.list_words("--python", "3.11"))
        self.assertEqual(lines, [
            "GROUP                NAME       VALUE                    DISTRIBUTION  VERSION",
            "a.much.longer.group  \u4e00\u4e8c       m:f                      longer-name   22.0",
            "console_scripts      alpha-cmd  alpha.cli:run            alpha         1.0",
            "demo                 alpha      alpha.plugin:main [x,y]  alpha         1.0"])

    def test_groups(self):
        self.assertEqual(self.plain("groups", "--path", self.site), [
            "GROUP                COUNT", "a.much.longer.group  1", "console_scripts      1", "demo                 1"])

    def test_log(self):
        self.update()
        lines = self.plain("log", "--path", self.site, columns=200)
        self.assertEqual(lines[0].split(), ["TIME", "ACTION", "DISTRIBUTION", "ROOT", "COMMAND", "USER"])
        at = lines[0].index("COMMAND")
        self.assertEqual({line[at:at + 14] for line in lines[1:]}, {"entrydb update"})

    def test_lines_fit_the_terminal(self):
        """Wide columns are folded, or printed below their rows; if that does not suffice, the last columns are omitted."""
        add_distribution(self.site, "wide", text=f"[demo]\n{'n' * 30} = {'m' * 30}.\u4e00\u4e8c:f\n")
        self.update()
        for words in (self.list_words(), ["log", "--path", self.site], ["status", "--path", self.site]):
            for columns in (40, 80, 100, 130):
                with self.subTest(verb=words[0], columns=columns):
                    lines = [line for line in self.plain(*words, columns=columns) if not line.startswith("entrydb:")]
                    self.assertLessEqual(max(map(len, lines)), columns)
        lines = self.plain(*self.list_words("demo"), columns=60)
        self.assertEqual([line.split() for line in lines[1:]], [
            ["demo", "alpha", "alpha", "1.0"], ["alpha.plugin:main", "[x,y]"],
            ["demo", "n" * 30, "wide", "1.0"], ["m" * 30 + ".\u4e00\u4e8c:f"]])
        lines = self.plain("status", "--path", self.site, columns=40)
        self.assertEqual("".join(line[:lines[0].index("STATE")].rstrip() for line in lines[1:lines.index("")]), self.site)
        self.assertEqual([line[:8] for line in lines if line.isupper() or line.endswith("BY")], ["PATH    ", "DATABASE"])

    def test_folding_takes_linear_time(self):
        add_distribution(self.site, "wide", text=f"[demo]\nx = {'w' * 8_000_000}\n")
        used = support.processor_seconds()
        self.assertGreater(len(self.plain(*self.list_words("demo"))), 100_000)
        self.assertLess(support.processor_seconds() - used, 10)

    def test_very_wide_column_leaves_room_for_the_others(self):
        add_distribution(self.site, "wide", text=f"[demo]\n{'w' * 200} = m:f\n")
        lines = self.plain(*self.list_words("demo"))
        self.assertLess(lines[0].index("DISTRIBUTION"), 60)
        self.assertEqual(lines.count("  m:f"), 1)
        self.assertIn("demo   alpha ", lines[1])

    def test_nothing_found_has_no_headings(self):
        shown = self.on_terminal(*self.list_words("somewhere.else"), status=NOT_FOUND)
        self.assertEqual(shown, "entrydb: nothing was found\n")

    def test_control_characters_in_names(self):
        add_distribution(self.site, "odd", text="[demo]\n\x1b[31mred\x9b = m:f\n")
        shown = "\n".join(self.plain(*self.list_words("demo")))
        self.assertIn("\\x1b[31mred\\u009b  m:f", shown)
        self.assertNotIn("\x1b", shown)

    def test_pipes_get_tabs_and_no_headings(self):
        self.assertEqual(self.list("demo", env=self.environment(**support.XTERM)).out,
                         "demo\talpha\talpha.plugin:main [x,y]\talpha\t1.0\n")
        self.assertIn("demo\t1\n", self.run_program("groups", "--path", self.site).out)

    def test_json_is_the_same(self):
        words = self.list_words("--json")
        self.assertEqual(self.on_terminal(*words), self.run_program(*words).out)


class Colors(TerminalTest):
    def test_auto(self):
        self.assertRegex(self.on_terminal(*self.list_words()), COLOR)
        self.assertRegex(self.on_terminal(*self.list_words("--color", "auto")), COLOR)
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}, {"TERM": ""}):
            self.assertNotRegex(self.on_terminal(*self.list_words(), **variables), COLOR)
        self.assertRegex(self.on_terminal(*self.list_words(), NO_COLOR=""), COLOR)
        self.assertNotRegex(self.list(env=self.environment(**support.XTERM)).out, COLOR)

    def test_always_and_never(self):
        for words in (["list"], ["groups"], ["why", "demo", "alpha"]):
            words += ["--path", self.site]
            plain = self.run_program(*words, "--color", "never", status=DONE)
            self.assertNotRegex(plain.out, COLOR)
            colored = self.run_program(*words, "--color=always", status=DONE,
                                       env=self.environment(NO_COLOR="1", TERM="dumb"))
            self.assertRegex(colored.out, COLOR)
            self.assertEqual(COLOR.sub("", colored.out), plain.out)
            self.assertNotRegex(self.on_terminal(*words, "--color", "never"), COLOR)

    def test_invalid_values(self):
        reply = self.run_program("list", "--color", "sometimes", status=USAGE)
        self.assertIn("--color sometimes: expected auto, always or never", reply.err)

    def test_colors_keep_the_alignment(self):
        colored = self.on_terminal(*self.list_words())
        self.assertEqual(COLOR.sub("", colored), self.on_terminal(*self.list_words("--color", "never")))


class LogOrder(CommandTest):
    def test_events_of_several_databases_are_sorted_by_time(self):
        second = f"{self.top}/second"
        for number, prefix in enumerate((self.prefix, second)):
            for name in ("one", "two", "three"):
                add_distribution(f"{prefix}/{SITE}", f"{name}{number}")
                self.update(prefix)
            change_database(f"{prefix}/{DATABASE}", f"UPDATE event SET time = 1000 + id * 10 + {number}")
        reply = self.run_program("log", "--json", "--path", self.site, "--path", f"{second}/{SITE}", status=DONE)
        times = [event["time"] for event in reply.objects]
        self.assertEqual(times, sorted(times))
        databases = [event["database"] for event in reply.objects]
        self.assertNotEqual(databases, sorted(databases), "they alternate")
        text = self.run_program("log", "--path", self.site, "--path", f"{second}/{SITE}", status=DONE)
        self.assertEqual([row[0] for row in text.fields], times)

    def test_events_of_a_second_keep_their_order(self):
        for name in ("first", "mm", "aa"):
            add_distribution(self.site, name)
            self.update()
        change_database(self.database, "UPDATE event SET time = 1000")
        names = [event["distribution"] for event in self.run_program("log", "--json", "--path", self.site).objects]
        self.assertEqual(names[-2:], ["mm", "aa"])


if __name__ == "__main__":
    support.main()
