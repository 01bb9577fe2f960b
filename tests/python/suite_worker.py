"""Runs the metadata tests of a Python or a package inside an interpreter under test.

usage: suite_worker.py JSON

JSON: {"tests": dotted names, "index": a command that indexes the directory appended to it, or null,
"settle": whether the indexed rows are to be trusted by their times alone, "by": "function" or
"property", which of the two must answer}. Prints one JSON object: the outcome of each test, and how
the queries of the tests were answered.

The tests are unchanged. Indexing happens between the setUp of a test and its body, when the fixtures
have filled the directories and put them on sys.path.
"""

import collections
import json
import sys
import unittest

SETTLE = ("UPDATE distribution SET settled = 1, watched = 0",
          "UPDATE root SET settled = 1, watched = 0")


class Outcomes(unittest.TestResult):
    """The outcome of each test, and of each subtest that did not pass, by id."""

    def __init__(self):
        super().__init__()
        self.outcomes = {}

    def put(self, test, outcome, detail=""):
        self.outcomes[test.id()] = [outcome, detail]

    def addSuccess(self, test):
        self.outcomes.setdefault(test.id(), ["passed", ""])

    def addError(self, test, err):
        self.put(test, "error", self._exc_info_to_string(err, test))

    def addFailure(self, test, err):
        self.put(test, "failed", self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        self.put(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        self.put(test, "failed as expected")

    def addUnexpectedSuccess(self, test):
        self.put(test, "passed unexpectedly")

    def addSubTest(self, test, subtest, err):
        if err:
            self.put(subtest, "failed", self._exc_info_to_string(err, test))


class Indexer:
    """Updates the database with the directories that a test has put on sys.path."""

    def __init__(self, command, settle):
        import os
        import sqlite3
        import subprocess
        # Saved, since some tests replace these modules or their functions by a fake file system.
        self.run, self.isdir, self.connect = subprocess.run, os.path.isdir, sqlite3.connect
        self.exists, self.environ = os.path.exists, dict(os.environ)
        self.command, self.settle = command, settle
        self.known = set(sys.path)
        self.failed = []

    def added(self):
        return [entry for entry in sys.path if isinstance(entry, str)
                and entry not in self.known and self.exists(entry)]

    def index(self):
        for entry in self.added():
            done = self.run([*self.command, entry], env=self.environ,
                            capture_output=True)
            if done.returncode:
                self.failed.append(f"{entry}: {done.stderr.decode(errors='replace')}")
        if self.settle and self.added():
            self.make_settled()

    def make_settled(self):
        """Make the rows trusted by their times, as after some seconds."""
        file = self.environ["XDG_STATE_HOME"] + "/entrydb/entry_points.db"
        connection = self.connect(file)
        for statement in SETTLE:
            connection.execute(statement)
        connection.commit()
        connection.close()

    def put_after_setup(self):
        set_up = unittest.TestCase._callSetUp

        def set_up_and_index(test):
            set_up(test)
            self.index()

        unittest.TestCase._callSetUp = set_up_and_index


class Counter:
    """Counts the answers from the database, and the freshness of the tests' directories."""

    def __init__(self):
        self.known = set(sys.path)
        self.counts = collections.Counter()

    def watch(self, by):
        from entrydb import _accelerated, _databases
        _accelerated.WALK_BEGINS = 0  # no directory of the tests has so many distributions
        if by == "property":
            _accelerated.Answer.find = lambda answer, params: None
        self.databases = _databases
        self.wrap(_accelerated.Answer, "find", "entry_points", self.count_roots)
        self.wrap(_accelerated.Walk, "find", "distribution", lambda: None)

    def wrap(self, owner, name, kind, more):
        find = vars(owner)[name]

        def counting(*arguments):
            found = find(*arguments)
            self.counts[f"{kind}: {'python' if found is None else 'database'}"] += 1
            if found is not None:
                more()
            return found

        setattr(owner, name, counting)

    def count_roots(self):
        for _, handle in self.databases._kept.values():
            for path, _, state, _ in handle.path_entries():
                if path not in self.known:
                    self.counts[f"root: {state}"] += 1


def main():
    task = json.loads(sys.argv[1])
    del sys.path[0]  # the directory of this file
    counter, indexer = Counter(), None
    if task["index"]:
        indexer = Indexer(task["index"], task["settle"])
        indexer.put_after_setup()
    if "entrydb" in sys.modules:
        counter.watch(task["by"])
    result = Outcomes()
    unittest.defaultTestLoader.loadTestsFromNames(task["tests"]).run(result)
    json.dump({"outcomes": result.outcomes, "counts": counter.counts,
               "failed": indexer.failed if indexer else []}, sys.__stdout__)


if __name__ == "__main__":
    main()
