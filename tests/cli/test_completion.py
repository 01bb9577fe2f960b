"""Completion in bash, zsh and fish, run in the shells themselves (zsh and fish if installed)."""

import os
import re
import select
import shutil
import subprocess
import time

import support
from support import DONE, PROGRAM, TOP, CommandTest, add_distribution

COMPLETIONS = f"{TOP}/hooks/completions"
BASH = r"""
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_entrydb "$1"
printf '%s\n' "${COMPREPLY[@]}"
"""
ZSH = r"""
fpath=({folder} $fpath)
autoload -U compinit && compinit -u -D
unsetopt list_beep auto_menu
tell() {{ print -r -- "$BUFFER" >{told}.part && command mv {told}.part {told} }}
zle -N tell
bindkey '^I' complete-word '^T' tell
PS1='READY> '
"""


class CompletionTest(CommandTest):
    shell = None

    def setUp(self):
        super().setUp()
        self.executable = shutil.which(self.shell)
        if not self.executable:
            self.skipTest(f"there is no {self.shell}")
        # One name needs quotes; the last group cannot be completed.
        add_distribution(self.site, "odd", text="[pytest11]\ncov = m:f\nxdist = m:g\ntwo words = m:h\n"
                                                "[console_scripts]\ntool = m:h\n[g\x1bh]\nn = m:f\n")
        os.makedirs(f"{self.top}/folder")
        with open(f"{self.top}/file.whl", "w", encoding="ascii"):
            pass

    def shell_environment(self):
        return self.environment(PATH=f"{os.path.dirname(PROGRAM)}:{os.environ['PATH']}", ENTRYDB_PATH=self.site,
                                TERM="dumb", ZDOTDIR=self.home, SHELL=self.executable)

    def commands(self):
        return set(re.findall(r"(?m)^  ([a-z]+)\b", self.run_program("--help", status=DONE).out))

    def options(self, command):
        return set(re.findall(r"(?m)^  (--[a-z-]+)", self.run_program(command, "--help", status=DONE).out))


class Words:
    """The list of completions for a command line, in shells that can be asked for it."""

    def test_commands(self):
        self.assertEqual(self.offered(""), self.commands())
        self.assertEqual(self.offered("l"), {"list", "log"})
        self.assertEqual(self.offered("--quiet", "l"), {"list", "log"})
        self.assertEqual(self.offered("help", "wh"), {"why"})

    def test_options_are_those_of_the_command(self):
        for command in self.commands():
            self.assertEqual(self.offered(command, "--"), self.options(command), command)
        self.assertEqual(self.offered("add", "--j"), {"--json"})

    def test_values(self):
        self.assertEqual(self.offered("list", "--fresh", ""), {"trust", "roots", "exact"})
        self.assertEqual(self.offered("list", "--color", "a"), {"auto", "always"})
        self.assertEqual(self.offered("list", "--python", "im"), {"im10"})
        self.assertEqual(self.offered("update", "--hook", "dp"), {"dpkg"})
        self.assertEqual(self.offered("list", "--group", "pyt"), {"pytest11"})
        for value, status in (("3.14", DONE), ("im10", DONE)):
            self.run_program("list", "--python", value, "--path", self.site, status=status)

    def test_every_option_with_an_argument_has_values(self):
        """No option whose help shows an argument is followed by commands."""
        text = self.run_program("--help", status=DONE).out
        for option in re.findall(r"(?m)^  (--[a-z-]+) [A-Z]", text):
            self.assertNotIn("list", self.offered(option, "l"), option)

    def test_files_and_directories(self):
        self.assertEqual(self.offered("update", f"{self.top}/fo"), {f"{self.top}/folder"})
        self.assertEqual(self.offered("add", f"{self.top}/fi"), {f"{self.top}/file.whl"})
        self.assertEqual(self.offered("list", "--db", f"{self.top}/fi"), {f"{self.top}/file.whl"})
        self.assertEqual(self.offered("list", "--path", f"{self.top}/f"), {f"{self.top}/folder"})

    def test_groups_and_names(self):
        for command in ("list", "why"):
            self.assertEqual(self.offered(command, ""), {"pytest11", "console_scripts"}, "what can be typed")
            self.assertEqual(self.offered(command, "pytest11", "x"), {"xdist"})
            self.assertEqual(self.offered(command, "console_scripts", ""), {"tool"})
        self.assertEqual(self.offered("list", "pytest11", "xdist", ""), set())

    def test_groups_depend_on_the_options(self):
        add_distribution(f"{self.top}/other", "other", text="[elsewhere]\nn = m:f\n")
        self.assertEqual(self.offered("list", "--path", f"{self.top}/other", ""), {"elsewhere"})
        self.assertEqual(self.offered("list", "--path", f"{self.top}/other", "elsewhere", ""), {"n"})

    def test_the_program_on_the_line_is_not_run(self):
        """It may be another user's, or a link of another user's to the system's shell, which then runs the file "groups"."""
        program = f"{self.top}/entrydb"
        support.write(program, f"#!/bin/sh\necho >{self.top}/run\n")
        os.chmod(program, 0o755)
        self.assertEqual(self.offered("l", program=program), {"list", "log"})
        self.assertEqual(self.offered("list", "", program=program), {"pytest11", "console_scripts"})
        self.assertFalse(os.path.exists(f"{self.top}/run"))


class Bash(Words, CompletionTest):
    shell = "bash"

    def offered(self, *words, program="entrydb"):
        done = subprocess.run([self.executable, "--norc", "-c", BASH, "bash", f"{COMPLETIONS}/entrydb.bash", program,
                               *words], env=self.shell_environment(), capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.splitlines()) - {""}

    def test_options_split_by_bash(self):
        self.assertEqual(self.offered("list", "--fresh", "=", "e"), {"exact"})
        self.assertEqual(self.offered("list", "--fresh", "="), {"trust", "roots", "exact"})
        self.assertEqual(self.offered("list", "--path", "=", f"{self.top}/other", ""), set())

    def test_quoting(self):
        self.assertEqual(self.offered("list", "pytest11", "t"), {"two\\ words"})

    def test_registration(self):
        script = f"source {COMPLETIONS}/entrydb.bash; complete -p entrydb"
        done = subprocess.run([self.executable, "--norc", "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "complete -F _entrydb entrydb\n")


class Fish(Words, CompletionTest):
    shell = "fish"

    def offered(self, *words, program="entrydb"):
        """Completions without their descriptions; fish appends a slash to directories."""
        script = f"source {COMPLETIONS}/entrydb.fish; complete --do-complete \"$argv\""
        done = subprocess.run([self.executable, "--no-config", "-c", script, program, *words],
                              env=self.shell_environment(), capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return {line.split("\t")[0].rstrip("/") for line in done.stdout.splitlines()}

    def test_option_and_value_in_one_word(self):
        self.assertEqual(self.offered("list", "--fresh=e"), {"--fresh=exact"})

    def test_descriptions(self):
        script = f"source {COMPLETIONS}/entrydb.fish; complete --do-complete 'entrydb why'"
        done = subprocess.run([self.executable, "--no-config", "-c", script], env=self.shell_environment(),
                              capture_output=True, text=True, check=True)
        self.assertRegex(done.stdout, r"\Awhy\texplain an entry point")


class Zsh(CompletionTest):
    """The command line after the tab key was pressed: zsh completes on terminals only."""

    shell = "zsh"

    def completed(self, line):
        told = f"{self.top}/told"
        ours, theirs = os.openpty()
        child = subprocess.Popen([self.executable, "-f", "-i"], env=self.shell_environment(), stdin=theirs,
                                 stdout=theirs, stderr=theirs, start_new_session=True)
        self.addCleanup(support.end, child)
        os.close(theirs)
        self.addCleanup(os.close, ours)
        setup = f"{self.top}/setup"
        support.write(setup, ZSH.format(folder=COMPLETIONS, told=told))
        os.write(ours, f". {setup}\n".encode())
        self.read_until(ours, lambda seen: b"READY" in seen)
        os.write(ours, f"{line}\t\x14".encode())
        self.read_until(ours, lambda seen: os.path.exists(told))
        shown = support.read(told)
        os.unlink(told)
        return shown.removesuffix("\n")

    def read_until(self, terminal, is_done):
        """Read all output of the shell, so that it never blocks."""
        seen, deadline = b"", time.monotonic() + support.SECONDS_ALLOWED
        while not is_done(seen):
            self.assertLess(time.monotonic(), deadline, seen)
            if select.select([terminal], [], [], 0.02)[0]:
                seen += os.read(terminal, 65536)

    def test_completed_line(self):
        os.makedirs(f"{self.top}/folder/inner")
        for line, expected in (
                ("upd", "update "), ("help wh", "help why "), ("list --fres", "list --fresh "),
                ("list --fresh ex", "list --fresh exact "), ("list --fresh=ex", "list --fresh=exact "),
                ("list pyt", "list pytest11 "), ("why pytest11 xd", "why pytest11 xdist "),
                ("list pytest11 tw", "list pytest11 two\\ words "), ("add --js", "add --json "),
                (f"list --path {self.top}/fo", f"list --path {self.top}/folder/"),
                (f"update {self.top}/folder/in", f"update {self.top}/folder/inner/")):
            with self.subTest(line=line):
                self.assertEqual(self.completed(f"entrydb {line}"), f"entrydb {expected}")

    def test_groups_depend_on_the_options(self):
        """Also in a directory whose name needs quotes; a glob qualifier, which could run a command, is not expanded."""
        for name in ("other", "two words"):
            add_distribution(f"{self.top}/{name}", "other", text="[elsewhere]\nn = m:f\n")
        os.makedirs(f"{self.home}/own")
        add_distribution(f"{self.home}/own", "own", text="[elsewhere]\nn = m:f\n")
        for place in (f"{self.top}/other", f"{self.top}/two\\ words", f"'{self.top}/two words'", "~/own"):
            self.assertEqual(self.completed(f"entrydb list --path {place} else"), f"entrydb list --path {place} elsewhere ")
        self.completed(f"entrydb list --path {self.top}(e:eval 'mkdir {self.top}/owned':) else")
        self.assertFalse(os.path.exists(f"{self.top}/owned"))


if __name__ == "__main__":
    support.main()
