#!/usr/bin/env python3
"""Prints the last lines of tests/run: summary.py LOGS SECONDS. Exits with 1 if something failed.

LOGS holds BUILD-tests.log as written by ctest, STEP.log of the steps before the tests, and the names
of the failed steps in `failed`.
"""

import collections
import glob
import os
import re
import sys

# A test in ctest's log: its name, output, seconds and result.
TEST = re.compile(r"^\d+/\d+ Testing: (.*?)\n.*?^Output:\n-+\n(.*?)<end of output>\n"
                  r"Test time = +([\d.]+) sec\n-+\n(.*?)\n", re.MULTILINE | re.DOTALL)
REASON = re.compile(r"\.\.\. skipped ['\"](.*)['\"]$|^SKIP: (.*)$", re.MULTILINE)
LINES_SHOWN, COLUMNS_SHOWN = 25, 300


class Test:
    def __init__(self, build, name, output, seconds, end):
        self.name, self.output, self.seconds = f"{build}: {name}", output, float(seconds)
        self.state = "skipped" if "Skipped" in end else "passed" if "Passed" in end else "failed"
        self.reasons = collections.Counter(one or other for one, other in REASON.findall(output))

    def __str__(self):
        why = "; ".join(reason if count == 1 else f"{count} times {reason}" for reason, count in self.reasons.items())
        inside = "inside skipped: " if self.state == "passed" and why else ""
        return f"{self.state:8}{self.seconds:6.0f} s  {self.name}{f' ({inside}{why})' if why else ''}"


def tests(logs):
    for path in sorted(glob.glob(f"{logs}/*-tests.log"), key=os.path.getmtime):
        with open(path, encoding="utf-8", errors="replace") as file:
            for found in TEST.findall(file.read()):
                yield Test(os.path.basename(path).removesuffix("-tests.log"), *found)


def failed_steps(logs):
    if os.path.exists(f"{logs}/failed"):
        with open(f"{logs}/failed", encoding="utf-8") as names:
            for name in names.read().split():
                with open(f"{logs}/{name}.log", encoding="utf-8", errors="replace") as log:
                    yield Test("step", name, log.read(), 0, "Failed")


def main():
    logs, seconds = sys.argv[1:]
    all_tests = [*failed_steps(logs), *tests(logs)]
    print("\n== summary ==")
    print(*all_tests, sep="\n")
    for test in all_tests:
        if test.state == "failed":
            print(f"\n-- failed: {test.name}")
            print("\n".join(line[:COLUMNS_SHOWN] for line in test.output.splitlines()[-LINES_SHOWN:]))
    counts = collections.Counter(test.state for test in all_tests)
    print(f"\n{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped; {seconds} s")
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)


if __name__ == "__main__":
    main()
