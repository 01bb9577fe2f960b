#!/usr/bin/env python3
"""Differential test of entrydb and importlib.metadata in random hostile environments.

usage: differential.py [--seed N] [--cases N] [--first N] [--pythons A:B]
                       [--jobs N] [--stop-after N] [--keep DIRECTORY]

The program is $ENTRYDB, default build/indexer/entrydb. Each case is a random tree (hostile.py). The
expected answers come from every interpreter found (reference.py), and from importlib_metadata 10 if
pip can get it. The order, rows, broken distributions and exit status are compared: without a
database; after `entrydb update`, with --fresh roots and exact; after copying the tree with its
database, so that inodes and times change (roots, exact); after changes to the listing (roots, exact)
and inside the distributions (exact); and after another update (roots, exact). A case that differs is
reported and kept in its state at that moment. To repeat it: --seed N --first CASE --cases 1. Exit
status: 0 equal, 1 differences, 77 skipped.
"""

import argparse
import multiprocessing
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import carry
import hostile
import package_cache
import reference
from program import LONG, Program, default_program, difference

BATCH = 20                # cases built, aged and checked together
SETTLING_SECONDS = 2.2    # entrydb trusts no directory that changed within 2 s of the scan
REPORTS_SHOWN = 6

workers = []              # of this process: each process of the pool starts its own


class Difference(Exception):
    pass


class Case:
    def __init__(self, options, number):
        self.number = number
        self.comparisons = self.filled = self.raised = 0
        self.place = f"{options.scratch}/case{number}"
        self.root = f"{self.place}/e"
        os.mkdir(self.place)
        self.random = random.Random(f"{options.seed}-{number}")
        self.environment = hostile.Environment(self.root, self.random)
        self.path = self.environment.path
        self.program = Program(f"{self.place}/home", options.program)
        os.mkdir(f"{self.place}/home")
        # Databases are used both ways: named by option, and found from the path entries.
        self.database = ["--db", f"{self.place}/entry.db"] if self.random.random() < 0.6 else []
        self.queries = [{}]
        self.report = None

    # -- the stages -------------------------------------------------------

    def not_indexed(self):
        self.choose_queries()
        self.check("not indexed", [[]], self.queries)

    def indexed(self):
        self.update()
        self.check("indexed", [["--fresh", "roots"]], self.queries[:3])
        self.check("indexed", [["--fresh", "exact"]], [{}])

    def carried(self):
        """Replace the tree by a copy, as a restored image or archive does."""
        if self.random.random() < 0.5:
            return
        how = self.random.choice((carry.as_it_is, carry.in_whole_seconds, carry.at_one_time))
        for path in (self.root, f"{self.place}/home", f"{self.place}/entry.db"):
            how(path)
        stage = f"carried {how.__name__}"
        self.check(stage, [["--fresh", "roots"], ["--fresh", "exact"]], self.queries[:2])
        if self.random.random() < 0.3:
            self.update()
            self.check(f"{stage}, updated", [["--fresh", "roots"]], [{}])

    def listing_changed(self):
        self.environment.change_listing()
        self.check("listing changed", [["--fresh", "roots"], ["--fresh", "exact"]], [{}])

    def inside_changed(self):
        self.environment.change_inside()
        self.check("changed inside", [["--fresh", "exact"]], self.queries[:2])

    def updated_again(self):
        self.update()
        self.check("updated again", [["--fresh", "roots"], ["--fresh", "exact"]], [{}])

    def run(self, stage):
        """Run a stage unless an earlier one differed; record the difference."""
        if self.report:
            return
        try:
            stage(self)
        except Difference as found:
            entries = "\n".join(f"    {entry!r}" for entry in self.path)
            self.report = f"case {self.number}, {found}\n  path entries (in {self.root}):\n{entries}"

    # -- helpers ----------------------------------------------------------

    def choose_queries(self):
        answer = workers[-1].ask(self.root, self.path, [{}])[0]
        # An argument cannot hold NUL.
        rows = [row for row in answer["rows"] if "\0" not in row[0] + row[1]]
        rows = self.random.sample(rows, min(3, len(rows)))
        for row in rows[:2]:
            self.queries.append({"group": row[0]})
        for row in rows[2:]:
            self.queries.append({"group": row[0], "name": row[1]})
        if self.random.random() < 0.2:
            self.queries.append({"group": "nobody"})

    def update(self):
        """Update every directory; other path entries may be refused, but must not crash the program."""
        directories = [entry for entry in self.path if entry and os.path.isdir(f"{self.root}/{entry}"
                       if not entry.startswith("/") else entry) and entry not in ("/", "..")]
        others = [entry for entry in self.path if entry and entry not in directories and entry != "/"]
        if directories:
            self.update_with(directories, (0,))
        if others:
            self.update_with(others, (0, 1, 3))

    def update_with(self, entries, allowed):
        command = ["update", *self.database, "--", *entries]
        done = self.attempt("update", command, lambda: self.program.run(command, self.root))
        if done.returncode not in allowed:
            raise Difference(f"update: exit status {done.returncode}: {self.spell(command)}\n"
                             f"  {done.stderr.decode(errors='replace').strip()[:400]}")

    def attempt(self, stage, command, action):
        try:
            return action()
        except subprocess.TimeoutExpired:
            raise Difference(f"{stage}: no answer in time: {self.spell(command)}") from None

    def check(self, stage, freshness, queries):
        for worker in workers:
            answers = worker.ask(self.root, self.path, queries)
            for fresh in freshness:
                for params, answer in zip(queries, answers):
                    self.compare(f"{stage}, Python {worker.label}", worker.rules, fresh, params, answer)

    def compare(self, stage, rules, fresh, params, answer):
        options = [*self.database, *fresh]
        command = ["list", *options, repr(params)]
        command, reply = self.attempt(stage, command, lambda: self.program.list(
            self.path, params, rules, options, self.root))
        self.comparisons += 1
        self.filled += bool(answer["rows"])
        self.raised += bool(answer["raised"])
        wrong = difference(answer, reply)
        if wrong:
            raised = f" (Python raised {answer['raised']})" if answer["raised"] else ""
            raise Difference(f"{stage}{raised}: {wrong}\n  {self.spell(command)}")

    def spell(self, command):
        return f"(cd {shlex.quote(self.root)} && {shlex.join([self.program.executable, *command])})"

    def finish(self, keep):
        if not self.report:
            hostile.destroy(self.place)
            return
        os.makedirs(keep, exist_ok=True)
        target = f"{keep}/case{self.number}"
        if os.path.exists(target):
            hostile.destroy(target)
        shutil.move(self.place, target)
        # Symbolic links inside are absolute: the kept tree stays reachable at its original path.
        os.symlink(target, self.place)
        self.report += f"\n  kept: {target}"


STAGES = [Case.not_indexed, Case.indexed, Case.carried, Case.listing_changed, Case.inside_changed, Case.updated_again]


def start(options):
    workers.extend(reference.start_workers(options.pythons, options.importlib_metadata))


def run_batch(job):
    """Let all cases of a batch age together: waiting for each of them would take hours."""
    options, numbers = job
    cases = [Case(options, number) for number in numbers]
    changed = time.monotonic()
    for stage in STAGES:
        if stage == Case.indexed or (stage == Case.updated_again and numbers[0] // BATCH % 2):
            wait_since(changed)   # or the next update would meet directories that have just changed
        run_stage(cases, stage, options.stop_after)
        changed = time.monotonic() if stage == Case.inside_changed else changed
    for case in cases:
        case.finish(options.keep)
    return [((case.comparisons, case.filled, case.raised), case.report) for case in cases]


def run_stage(cases, stage, stop_after):
    for case in cases:
        if sum(bool(each.report) for each in cases) < stop_after:
            case.run(stage)


def wait_since(moment):
    time.sleep(max(0, moment + SETTLING_SECONDS - time.monotonic()))


def batches(options):
    numbers = range(options.first, options.first + options.cases)
    return [(options, list(numbers[at:at + BATCH])) for at in range(0, len(numbers), BATCH)]


def run_all(options):
    counts, cases, differing = [0, 0, 0], 0, 0
    with multiprocessing.Pool(options.jobs, start, [options]) as pool:
        for results in pool.imap_unordered(run_batch, batches(options)):
            cases += len(results)
            for counted, report in results:
                counts = [sum(pair) for pair in zip(counts, counted)]
                differing += bool(report)
                if report and differing <= REPORTS_SHOWN:
                    print(report, flush=True)
            if differing >= options.stop_after:
                break
    return counts, cases, differing


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=os.environ.get("ENTRYDB_TEST_SEED"),
                        help="default: ENTRYDB_TEST_SEED, or from the clock")
    parser.add_argument("--cases", type=int, default=20_000 if LONG else 80)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--pythons", help="executables, separated by colons")
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 1))
    parser.add_argument("--stop-after", type=int, default=20, help="differing cases")
    parser.add_argument("--keep", help="where to keep environments that differ")
    options = parser.parse_args()
    if options.pythons:
        os.environ["ENTRYDB_TEST_PYTHONS"] = options.pythons
    if options.seed is None:
        options.seed = int(time.time())
    options.program = default_program()
    return options


def main():
    # Reports contain paths that are not UTF-8.
    sys.stdout.reconfigure(errors="surrogateescape")
    options = parse()
    options.pythons = reference.one_per_minor(reference.interpreters())
    reference.announce(options.pythons)
    options.importlib_metadata = package_cache.importlib_metadata(options.pythons)
    if not options.importlib_metadata:
        print("without the rules of importlib_metadata 10, which pip cannot get")
    options.scratch = tempfile.mkdtemp(prefix="entrydb-differential-")
    options.keep = os.path.abspath(options.keep or options.scratch + ".kept")
    print(f"seed {options.seed}", flush=True)
    began = time.monotonic()
    counts, cases, differing = run_all(options)
    if not differing:
        shutil.rmtree(options.scratch)
    # Too many environments without results, or with only broken ones, would make the test worthless.
    print("%d comparisons (%d with entry points, %d where Python raised)" % tuple(counts), end="")
    print(f" in {cases} cases, {differing} cases differ, "
          f"seed {options.seed}, {time.monotonic() - began:.0f} s")
    return 1 if differing else 0


if __name__ == "__main__":
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.argv])
    sys.exit(main())
