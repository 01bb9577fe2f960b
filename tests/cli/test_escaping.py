"""Untrusted text in output: it never controls a terminal and never breaks JSON."""

import json
import os
import re
import shutil
import subprocess

import support
from support import DONE, NOT_FOUND, USAGE, CommandTest, add_distribution, query, write

# One example of each kind of text that must be escaped.
CONTROLS = "\x1b[31m \x07 \x7f \x80 \x9b2J \u200e \u202e \u2066 \u2069 \u061c \u2028 \u2029"
CONTROLS_IN_LINE = "\x1b[31m \x07 \x7f \x80 \x9b2J \u200e \u202e \u2066 \u2069 \u061c"
RAW = b"raw\xff\xc3\xed\xb2\x80"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
ESCAPE = re.compile(rb"\\(\\|x[0-9a-f]{2}|u[0-9a-f]{4})")


def unescaped(text):
    """The original bytes, by the rules of db/base/escape.h; a lone backslash is an error."""
    raw = text.encode("utf-8", "surrogateescape")
    assert b"\\" not in ESCAPE.sub(b"", raw), raw

    def meant(found):
        what = found.group(1)
        if what == b"\\":
            return what
        number = int(what[1:], 16)
        return bytes([number]) if what[:1] == b"x" else chr(number).encode()

    return ESCAPE.sub(meant, raw)


class Hostile(CommandTest):
    """A path, a name, a value and a version full of terminal control sequences."""

    def setUp(self):
        super().setUp()
        self.site = os.fsdecode(os.fsencode(f"{self.top}/{CONTROLS}\n\t\\x41") + RAW)
        self.name = f"n{CONTROLS_IN_LINE}\\x09"
        self.value = f"m:f {CONTROLS_IN_LINE}"
        self.group = f"g{CONTROLS_IN_LINE}"
        self.info = add_distribution(self.site, "odd", text="")
        write(f"{self.info}/entry_points.txt", f"[{self.group}]\n{self.name} = {self.value}\n")
        write(f"{self.info}/METADATA", f"Name: odd{CONTROLS_IN_LINE}\nVersion: 1{CONTROLS_IN_LINE}\n")

    def check_sane(self, reply):
        super().check_sane(reply)
        for text in (reply.out, reply.err):
            self.assertIsNone(FORBIDDEN.search(text), ascii(str(reply)))
            self.assertIsNone(re.search("[\udc80-\udcff]", text), ascii(str(reply)))

    def asked(self, verb, *words, **how):
        return self.run_program(verb, "--path", self.site, *words, **how)


class Text(Hostile):
    """Text output contains no control character, and the original can be recovered from it."""

    def test_list_and_groups(self):
        row = self.asked("list", status=DONE).fields[0]
        self.assertEqual([unescaped(field).decode() for field in row[:3]], [self.group, self.name, self.value])
        self.assertEqual(unescaped(row[4]).decode(), f"1{CONTROLS_IN_LINE}")
        row = self.asked("groups", status=DONE).fields[0]
        self.assertEqual([unescaped(row[0]).decode(), row[1]], [self.group, "1"])

    def test_one_line_per_result(self):
        self.assertEqual(len(self.asked("list").lines), 1)
        self.assertEqual({len(row) for row in self.asked("list").fields}, {5})

    def test_why(self):
        reply = self.asked("why", self.group, self.name, status=DONE)
        first = reply.out.split("\n")[0]
        self.assertEqual(unescaped(first).decode(), f"{self.name} = {self.value} [{self.group}]")
        file = re.search("(?m)^  file +(.*)$", reply.out).group(1)
        self.assertEqual(unescaped(file), os.fsencode(f"{self.info}/entry_points.txt"))
        self.asked("why", "--path", f"{self.site}/absent", self.group, f"{self.name}x", status=NOT_FOUND)

    def test_update_verify_and_log(self):
        self.run_program("update", self.site, status=DONE)
        other = f"{self.site}/other{CONTROLS}\n-2.dist-info"
        os.mkdir(other)
        write(f"{other}/METADATA", f"Name: other{CONTROLS_IN_LINE}\nVersion: 2\n")
        write(f"{other}/entry_points.txt", f"[g]\nno equals sign {CONTROLS_IN_LINE}\n")
        reply = self.run_program("verify", self.site, status=NOT_FOUND)
        self.assertEqual(unescaped(reply.out[:-1]), os.fsencode(f"{other}: not in the database"))
        self.assertIn("other", self.run_program("update", self.site, status=DONE).err)
        log = self.asked("log", status=DONE)
        self.assertEqual(len(log.out.split("\n")) - 1, len(query(self.user_database, "SELECT 1 FROM event")))
        self.assertEqual(unescaped(log.fields[-1][2]).decode(), f"other{CONTROLS_IN_LINE} 2")

    def test_usage_errors(self):
        for words in ([self.name], ["list", f"--{self.name}"], ["list", "--fresh", self.name],
                      ["list", "--python", self.name], ["update", "--hook", self.name], ["list", f"-{CONTROLS}"]):
            self.run_program(*words, status=DONE if "--hook" in words else USAGE)

    def test_messages(self):
        write(f"{self.top}/{self.name}.db", "no database")
        for words in (["list", "--db", f"{self.top}/{self.name}.db"], ["update", f"{self.site}/absent"],
                      ["add", f"{self.site}/absent.whl"], ["forget", f"{self.site}/absent"],
                      ["verify", "--db", f"{self.top}/{self.name}.db"], ["log", "--db", f"{self.site}/absent.db"]):
            reply = self.run_program(*words)
            self.assertNotEqual((reply.status, reply.err), (DONE, ""))

    def test_printf_reverses_it(self):
        bash = shutil.which("bash")
        if not bash:
            self.skipTest("there is no bash")
        escaped = self.asked("list", status=DONE).fields[0][1]
        done = subprocess.run([bash, "-c", 'printf %b "$1"', "bash", escaped], capture_output=True,
                              env={"LC_ALL": "C.UTF-8"}, check=True)
        self.assertEqual(done.stdout.decode(), self.name)


class Json(Hostile):
    """json.loads() and os.fsencode() return every byte of a path."""

    def test_list_groups_and_why(self):
        for words in (("list",), ("why", self.group, self.name)):
            found = self.asked(*words, "--json", status=DONE).objects[0]
            self.assertEqual((found["group"], found["name"], found["value"]), (self.group, self.name, self.value))
            self.assertEqual(os.fsencode(found["path"]), os.fsencode(self.site))
            self.assertEqual(os.fsencode(found["file"]), os.fsencode(self.info))
        self.assertEqual(self.asked("groups", "--json").objects, [{"group": self.group, "count": 1}])

    def test_verify_and_log(self):
        self.run_program("update", self.site, status=DONE)
        add_distribution(self.site, "more")
        found = self.run_program("verify", "--json", self.site, status=NOT_FOUND).objects[0]
        self.assertEqual(os.fsencode(found["path"]), os.fsencode(self.site))
        self.assertEqual(found["distribution"], "more-1.0.dist-info")
        found = self.asked("log", "--json", status=DONE).objects[-1]
        self.assertEqual(os.fsencode(found["root"]), os.fsencode(self.site))
        self.assertEqual(found["command"], "entrydb update")

    def test_add(self):
        archive = f"{self.site}/no-archive.whl"
        write(archive, "nothing")
        found = self.run_program("add", "--json", "--db", f"{self.top}/a.db", archive).objects[0]
        self.assertEqual((os.fsencode(found["archive"]), found["state"]), (os.fsencode(archive), "failed"))

    def test_every_byte_of_a_path(self):
        every = bytes(set(range(1, 256)) - set(b"/"))
        site = os.fsdecode(os.fsencode(self.top) + b"/" + every)
        info = add_distribution(site, "alpha")
        reply = self.run_program("list", "--json", "--path", site, status=DONE)
        self.assertEqual(os.fsencode(reply.objects[0]["file"]), os.fsencode(info))
        self.assertEqual(os.fsencode(json.loads(reply.lines[0])["path"]), os.fsencode(site))
        self.assertTrue(reply.out.isascii())


if __name__ == "__main__":
    support.main()
