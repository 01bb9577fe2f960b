"""The terminal session pictured in README.md equals the program's output.

`DRAW_PICTURE=1` draws it again.
"""

import os
import re
import subprocess
from xml.sax.saxutils import escape

import support
from support import DONE, NOT_FOUND, SITE, TOP, CommandTest, add_distribution

PICTURE = f"{TOP}/.github/session.svg"
VENV = "/home/ann/venv"
COLUMNS = 114
SESSION = (("list", "pytest11"), ("why", "pytest11", "pytest_mock"), ("audit", VENV))
MINUTE = re.compile("20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}")
STYLE = re.compile("\x1b\\[([0-9;]*)m")
ADVANCE, LINE, MARGIN = 8.43, 19, 16  # px, for a font of 14 px
TEMPLATE = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" viewBox="0 0 {width} {height}">
<title>A session with entrydb in a terminal</title>
<style>
text {{ font: 14px monospace; fill: #d8dee9; white-space: pre }}
.s1, .s1-36 {{ font-weight: bold }} .s1-36 {{ fill: #79c0ff }} .s2 {{ fill: #8b949e }}
.s31 {{ fill: #ff7b72 }} .s32 {{ fill: #7ee787 }} .s33 {{ fill: #f2cc60 }}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>
{lines}
</svg>
"""


def drawn(line):
    """The parts of a line between changes of colour."""
    first, *rest = STYLE.split(line)
    return escape(first) + "".join(
        f'<tspan class="s{style.replace(";", "-")}">{escape(text)}</tspan>' if style != "0" else escape(text)
        for style, text in zip(rest[::2], rest[1::2]) if text)


def picture(lines):
    return TEMPLATE.format(
        width=round(COLUMNS * ADVANCE + 2 * MARGIN), height=len(lines) * LINE + 2 * MARGIN,
        lines="\n".join(f'<text xml:space="preserve" x="{MARGIN}" y="{number * LINE + MARGIN + 14}">{drawn(line)}</text>'
                        for number, line in enumerate(lines) if line))


class Picture(CommandTest):
    def setUp(self):
        super().setUp()
        self.root = f"{self.top}/root"
        self.site = f"{self.root}{VENV}/{SITE}"
        os.makedirs(self.site)
        code = "def main(): pass\n"
        for name, version, text in (
                ("pytest_cov", "6.0.0", "[pytest11]\npytest_cov = pytest_cov\n"),
                ("pytest_mock", "3.14.0", "[pytest11]\npytest_mock = pytest_mock\n"),
                ("greeter", "1.2", "[console_scripts]\npyhton = greeter:main\n")):
            support.write(f"{self.site}/{name}.py", code)
            add_distribution(self.site, name, version, text, INSTALLER="pip\n",
                             RECORD=f"{name}.py,{support.digest(code.encode())},{len(code)}\n")
        self.run_program("update", "--root", self.root, VENV)

    def shown(self, verb, *words):
        """The output lines in an activated environment."""
        where = [] if verb == "audit" else ["--path", f"{VENV}/{SITE}"]
        text = self.on_terminal(verb, "--root", self.root, *where, *words, columns=COLUMNS + len(self.root),
                                status=NOT_FOUND if verb == "audit" else DONE, stderr=subprocess.DEVNULL)
        return MINUTE.sub("2026-11-21 09:30", text.replace(self.root, "")).splitlines()

    def test_picture_is_up_to_date(self):
        lines = []
        for words in SESSION:
            lines += ["", f"$ \x1b[1mentrydb {' '.join(words)}\x1b[0m", *self.shown(*words)]
        found = picture(lines[1:])
        if os.environ.get("DRAW_PICTURE"):
            support.write(PICTURE, found)
        with open(PICTURE, encoding="utf-8") as stream:
            self.assertEqual(stream.read(), found)


if __name__ == "__main__":
    support.main()
