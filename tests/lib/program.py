"""Runs the program under test and compares its answers with those of importlib.metadata.

ENTRYDB names the program, default build/indexer/entrydb under the top.
"""

import json
import os
import re
import subprocess
from pathlib import PurePosixPath

LIB = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(LIB))
FIELDS = ("group", "name", "value", "module", "attr", "extras", "distribution", "version", "file")
SECONDS_ALLOWED = 120
LONG = bool(os.environ.get("ENTRYDB_TEST_LONG"))  # run for hours, as with tests/run --long

# PYTHONPATH names this directory for the test alone: its modules would shadow others in child processes.
os.environ.pop("PYTHONPATH", None)


def default_program():
    return os.path.abspath(os.environ.get("ENTRYDB") or f"{TOP}/build/indexer/entrydb")


class Program:
    """The program with a private home, so that it uses no database of the machine."""

    def __init__(self, home, executable=None):
        self.executable = executable or default_program()
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith("ENTRYDB")
                    and key not in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH")}
        self.env.update(HOME=home, XDG_STATE_HOME=f"{home}/state")

    def run(self, arguments, cwd=None):
        return subprocess.run([self.executable, *arguments], cwd=cwd, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=SECONDS_ALLOWED)

    def list(self, path, params, rules, options=(), cwd=None):
        words = [params[key] for key in ("group", "name") if key in params]
        command = ["list", "--json", "--python", rules, *options]
        for entry in path:
            command += ["--path", entry]
        if words:
            command += ["--", *words]
        return command, Reply(self.run(command, cwd))


class Reply:
    def __init__(self, done):
        self.status = done.returncode
        self.stderr = done.stderr.decode("utf-8", "surrogateescape")
        self.trouble = None
        try:
            self.rows = [read_row(line) for line in done.stdout.split(b"\n") if line]
        except (ValueError, KeyError, TypeError) as error:
            self.rows, self.trouble = [], f"unreadable output: {error!r}"


def read_row(line):
    # Bytes of a path that are not UTF-8 are output raw; NUL and other controls are escaped.
    fields = json.loads(line.decode("utf-8", "surrogateescape"))
    row = [fields[key] for key in FIELDS]
    row[8] = normal_path(row[8])
    return row


def normal_path(path):
    """Normalize like pathlib, which drops '.', '//' and a final slash; the file stays the same."""
    return str(PurePosixPath(path))


def difference(answer, reply, broken_wanted=True):
    """One line that says how the reply differs from importlib.metadata's answer; None if it does not."""
    if reply.trouble:
        return reply.trouble
    expected = [row[:8] + [normal_path(row[8])] for row in answer["rows"]]
    wrong = rows_difference(expected, reply.rows)
    if wrong:
        return wrong
    status = 0 if expected else 1
    if reply.status != status:
        return f"exit status {reply.status} instead of {status}: {reply.stderr.strip()[:300]}"
    return broken_difference(answer["broken"], reply.stderr) if broken_wanted else None


def rows_difference(expected, got):
    for rank, (left, right) in enumerate(zip(expected, got)):
        if not same_row(left, right):
            return f"row {rank} of {len(expected)}:\n  python  {left}\n  entrydb {right}"
    if len(expected) > len(got):
        return f"{len(got)} rows instead of {len(expected)}; missing first:\n  python  {expected[len(got)]}"
    if len(got) > len(expected):
        return f"{len(got)} rows instead of {len(expected)}; too many first:\n  entrydb {got[len(expected)]}"
    return None


def same_row(left, right):
    if left[:3] != right[:3] or left[8] != right[8]:
        return False
    # False stands for metadata that Python cannot decode: any answer will do.
    if any(a is not False and a != b for a, b in zip(left[6:8], right[6:8])):
        return False
    if left[3] is None:
        return not right[3]
    return left[3:5] == right[3:5] and left[5] == (right[5] or [])


def broken_difference(broken, stderr):
    expected = {normal_path(path) for path, _ in broken}
    got = reported_broken(stderr)
    if expected == got:
        return None
    reasons = {normal_path(path): reason for path, reason in broken}
    missing = [f"{path} ({reasons[path]})" for path in sorted(expected - got)]
    return f"broken distributions not reported: {missing}, wrongly reported: {sorted(got - expected)}"


ESCAPED = re.compile(rb"\\(?:(\\)|x([0-9a-f]{2})|u([0-9a-f]{4}))")


def unescape(text):
    """Undo the escaping of db/base/escape.h."""
    def character(match):
        if match[1]:
            return match[1]
        return bytes([int(match[2], 16)]) if match[2] else chr(int(match[3], 16)).encode()

    text = ESCAPED.sub(character, text.encode("utf-8", "surrogateescape"))
    return text.decode("utf-8", "surrogateescape")


def reported_broken(stderr):
    """The distributions that stderr names in lines `entrydb: <file>: <reason>`."""
    found = set()
    for line in stderr.split("\n"):
        if not line.startswith("entrydb: "):
            continue
        words = line[len("entrydb: "):].split(": ")
        for count in range(1, len(words)):
            path = normal_path(unescape(": ".join(words[:count])))
            if path.lower().endswith((".dist-info", ".egg-info", "/egg-info")) or path.lower() == "egg-info":
                found.add(path)
                break
    return found
