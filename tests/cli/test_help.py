"""The help texts, the options that each command accepts, and "did you mean" hints."""

import re

import support
from support import DONE, NOT_FOUND, USAGE, CommandTest, add_distribution, change_database, query

COMMON = {"color", "quiet", "help"}
KEEPING = COMMON | {"db", "root"}
RULING = COMMON | {"root", "prefix", "user", "distribution", "program"}
ASKING = KEEPING | {"platform", "path", "python", "fresh", "json"}
TAKES = {
    "update": KEEPING | {"path", "fresh", "hook", "sealed"},
    "add": COMMON | {"platform", "db", "json", "python", "index", "all", "all-versions", "requirements"},
    "search": COMMON | {"db", "json", "command"},
    "forget": KEEPING | {"path", "platform"},
    "list": ASKING | {"group", "allowed", "program"},
    "groups": ASKING,
    "status": ASKING,
    "plugins": ASKING,
    "why": ASKING | {"program"},
    "run": COMMON | {"db", "path", "python", "fresh", "group", "print"},
    "probe": COMMON | {"db", "path", "python", "fresh", "json", "program", "timeout"},
    "quarantine": COMMON | {"json", "clear"},
    "disable": RULING,
    "enable": RULING | {"priority"},
    "verify": KEEPING | {"path", "json", "platform"},
    "audit": KEEPING | {"path", "json", "html", "sarif", "baseline", "facts", "fail-on", "since", "rules",
                        "platform"},
    "push": KEEPING,
    "log": KEEPING | {"path", "python", "json"},
    "export": COMMON | {"root"},
    "help": COMMON,
}
VALUES = {"db": "/nowhere/x.db", "path": "/nowhere", "root": "/nowhere", "python": "3.12", "fresh": "roots",
          "platform": "linux/amd64", "group": "g", "prefix": "/nowhere", "distribution": "d", "program": "p",
          "priority": "1", "timeout": "5", "hook": "dpkg", "html": "-", "sarif": "-",
          "baseline": "/nowhere", "facts": "/nowhere", "fail-on": "none", "since": "2026-01-01", "color": "never",
          "requirements": "/nowhere", "command": "x"}


def options_in(text):
    return set(re.findall(r"(?m)^  --([\w-]+)", text))


class Help(CommandTest):
    def test_of_each_command(self):
        for verb, takes in TAKES.items():
            with self.subTest(verb=verb):
                text = self.run_program(verb, "--help", status=DONE).out
                self.assertTrue(text.startswith(f"usage: entrydb {verb} [OPTION...]"), text)
                self.assertEqual(options_in(text), takes)
                self.assertRegex(text, rf"(?m)^Examples:\n(  entrydb {verb}\b.*\n)+\nExit status: 0 .*\.\n\Z")
                self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_other_ways_to_ask(self):
        text = self.run_program("why", "--help").out
        for words in (["help", "why"], ["why", "-h"], ["--help", "why"], ["why", "g", "n", "--help"]):
            self.assertEqual(self.run_program(*words, status=DONE).out, text)
        text = self.run_program("--help").out
        for words in (["help"], ["-h"]):
            self.assertEqual(self.run_program(*words, status=DONE).out, text)

    def test_of_an_unknown_command(self):
        for words in (["help", "lits"], ["lits", "--help"]):
            reply = self.run_program(*words, status=USAGE)
            self.assertIn("no command 'lits'; did you mean 'list'?", reply.err)
            self.assertEqual(reply.out, "")

    def test_general_help_names_all_commands(self):
        text = self.run_program("--help", status=DONE).out
        self.assertTrue(text.startswith("usage: entrydb COMMAND"))
        self.assertEqual(set(re.findall(r"(?m)^  ([a-z]+)\b", text)), set(TAKES))
        self.assertEqual(options_in(text), set().union(*TAKES.values()) | {"version"})
        self.assertLessEqual(len(text.splitlines()), 72)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)


class Options(CommandTest):
    """An option that a command does not accept is an error, not ignored."""

    def line(self, verb, option):
        words = {"add": ["x"], "forget": ["x"], "why": ["g", "n"], "disable": ["g"], "run": [], "probe": ["g", "n"], "enable": ["g"]}.get(verb, [])
        return [verb, *words, f"--{option}", *([VALUES[option]] if option in VALUES else [])]

    def test_rejected_options(self):
        for verb, takes in TAKES.items():
            for option in set().union(*TAKES.values()) - takes - {"hook"}:
                reply = self.run_program(*self.line(verb, option), status=USAGE)
                self.assertEqual(reply.err, f"entrydb: {verb} does not accept --{option}; see 'entrydb {verb} --help'\n")

    def test_accepted_options(self):
        for verb in ("list", "groups", "why", "log"):
            for option in TAKES[verb] - {"help"}:
                self.assertNotEqual(self.run_program(*self.line(verb, option)).status, USAGE, (verb, option))

    def test_hook_is_an_option_of_update(self):
        reply = self.run_program("list", "--hook", "dpkg", status=DONE)
        self.assertIn("list does not accept --hook", reply.err)

    def test_error_names_the_option(self):
        for words, said in ((["--db"], "--db needs an argument, FILE"), (["--json=3"], "--json takes no argument"),
                            (["-x"], "-x: no such option"), (["--jsn"], "did you mean '--json'?"),
                            (["--colour", "never"], "did you mean '--color'?"), (["--zzzzz"], "--zzzzz: no such option;")):
            self.assertIn(said, self.run_program("list", *words, status=USAGE).err)

    def test_option_path_equals_path_arguments(self):
        add_distribution(self.site, "alpha")
        self.run_program("update", "--path", self.site, status=DONE)
        self.assertEqual(query(self.database, "SELECT count(*) FROM distribution"), [(1,)])
        self.run_program("verify", "--path", self.site, status=DONE)
        self.run_program("forget", "--path", self.site, status=DONE)
        self.assertEqual(query(self.database, "SELECT count(*) FROM distribution"), [(0,)])


class DidYouMean(CommandTest):
    def setUp(self):
        super().setUp()
        add_distribution(self.site, "odd", text="[pytest11]\ncov = m:f\nxdist = m:g\n[console_scripts]\ntool = m:h\n")

    def err(self, *words, status=NOT_FOUND):
        return self.run_program(*words, "--path", self.site, status=status).err

    def test_commands(self):
        for wrong, right in (("lst", "list"), ("upadte", "update"), ("veryfy", "verify"), ("group", "groups")):
            self.assertIn(f"did you mean '{right}'?", self.err(wrong, status=USAGE))
        self.assertNotIn("did you mean", self.err("frobnicate", status=USAGE))

    def test_groups(self):
        expected = "entrydb: there is no group 'pytset11'; did you mean 'pytest11'?\n"
        self.assertEqual(self.err("list", "pytset11"), expected)
        self.assertEqual(self.err("list", "pytset11", "cov"), expected)
        self.assertIn(expected, self.err("why", "pytset11", "cov"))

    def test_names(self):
        expected = "entrydb: there is no 'xdits' in group 'pytest11'; did you mean 'xdist'?\n"
        self.assertEqual(self.err("list", "pytest11", "xdits"), expected)
        self.assertIn(expected, self.err("why", "pytest11", "xdits"))

    def test_no_similar_word(self):
        self.assertEqual(self.err("list", "something.else.entirely"), "")
        self.assertEqual(self.err("list", "pytest11", "tool"), "", "of another group")
        self.assertNotIn("did you mean", self.err("why", "pytest11", "elsewhere"))

    def test_quiet(self):
        self.assertEqual(self.err("list", "pytset11", "--quiet"), "")

    def test_long_words_are_ignored(self):
        self.assertEqual(self.err("list", "pytest11" * 10000), "")


class NextStep(CommandTest):
    """If nothing is found at all, `list` suggests what to do; the exit status is unchanged."""

    def err(self, *words, **how):
        reply = self.run_program("list", *words, status=NOT_FOUND, **how)
        self.assertEqual(reply.out, "")
        self.assertEqual(self.run_program("list", "--quiet", *words, status=NOT_FOUND, **how).err, "")
        return reply.err

    def test_no_such_path(self):
        self.assertRegex(self.err("--path", f"{self.top}/absent"),
                         rf"\Aentrydb: .*{self.top}/absent; search elsewhere with --path or ENTRYDB_PATH\n\Z")

    def test_no_database(self):
        for said in (self.err("--path", self.site), self.run_program("groups", "--path", self.site).err):
            self.assertIn(f"no database has {self.site};", said)
            self.assertIn("'entrydb update PATH'", said)

    def test_an_empty_environment(self):
        self.index()
        self.assertRegex(self.err("--path", self.site), r"\Aentrydb: the databases have no entry points .*\n\Z")

    def test_an_empty_database(self):
        file = f"{self.top}/empty.db"
        self.update(self.site, "--db", file)
        change_database(file, "DELETE FROM root")
        self.assertIn(f"{file} has no entry points; fill it with 'entrydb update --db FILE PATH'", self.err("--db", file))

    def test_nothing_to_search(self):
        self.assertIn("entrydb: ", self.err(env=self.environment(ENTRYDB_PATH=f"{self.top}/absent")))


if __name__ == "__main__":
    support.main()
