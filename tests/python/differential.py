#!/usr/bin/env python3
"""Differential test: importlib.metadata with and without acceleration in hostile environments.

usage: differential.py [--seed N] [--cases N] [--batch N] [--environment N]
                       [--pythons A:B] [--versions A:B] [--jobs N] [--stop-after N]
                       [--keep DIRECTORY] [--mutant NAME]

A case is one random call (calls.py): of entry_points(), of Distribution.entry_points, or of
entrydb.entry_points(). Its answer is taken apart (observation.py) and compared with that of the
original importlib.metadata in the same process (face_worker.py). The environments are those of
../lib/hostile.py; the program is $ENTRYDB, the package $ENTRYDB_PYTHON_PACKAGE. Each environment is
queried not indexed, indexed, with another listing, changed inside (which only ENTRYDB_FRESH=exact
promises to notice), indexed again, and possibly copied and changed inside again; by every interpreter
found, at `roots` and at `exact`, and by several versions of importlib_metadata. In addition,
long-running programs wrap and patch the functions involved and restore them (sessions.py). An
environment that differs is kept; to repeat it: --seed N --environment NUMBER. Exit status: 0 equal,
1 differences, 77 skipped.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import hostile
import package
import package_cache
import reference
import sessions
from program import LIB, LONG, Program, default_program

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = 6                 # per environment, stage and worker
FATAL_DROPPED = 0.7       # fraction of the environments that may contain fatal files
SETTLING_SECONDS = 2.2    # entrydb trusts no directory that changed within 2 s of the scan
REPORTS_SHOWN = 6

# importlib_metadata: version and level of freshness. 9.1 and 10.0 are not recognized.
VERSIONS = {"6.11.0": "roots", "7.0.2": "exact", "8.0.0": "roots", "8.2.0": "roots",
            "8.4.0": "exact", "8.6.1": "roots", "8.7.1": "exact", "8.9.0": "roots",
            "9.0.1": "roots", "9.1.0": "roots", "10.0.0": "exact", "10.1.0": "exact", "10.2.0": "roots"}
UNKNOWN = ("9.1.0", "10.0.0")
WANTS_3_11 = ("9.1.0", "10.0.0", "10.1.0", "10.2.0")


# --- interpreters ---

class Worker(reference.Worker):
    """One interpreter with one level of freshness, which processes batches of environments."""

    calls = CALLS

    def __init__(self, interpreter, fresh, options, version=None, directory=None):
        self.label = " ".join(filter(None, [interpreter.version, fresh,
                                            version and f"importlib_metadata {version}"]))
        self.fresh = fresh
        self.counts = collections.Counter()
        arguments = {"package": options.package, "helpers": [HERE, LIB],
                     "importlib_metadata": directory, "accelerate_first": fresh == "roots",
                     "mutant": options.mutant}
        command = [interpreter.executable, "-I", "-S", "-X", "utf8", f"{HERE}/face_worker.py",
                   json.dumps(arguments)]
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("ENTRYDB", "PYTHON"))}
        self.process = subprocess.Popen(command, env=dict(env, ENTRYDB_FRESH=fresh),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.known = self.read()["known"]
        if not self.known and version not in UNKNOWN:
            print(f"Python {self.label}: not recognized, so it answers itself")

    def end_batch(self):
        """Called when the environments are deleted: a worker keeps nothing of them."""


def start_workers(options, found):
    workers = [Worker(each, fresh, options) for each in found for fresh in ("roots", "exact")]
    recent = [each for each in found if reference.version_key(each.version) >= [3, 11]]
    for at, version in enumerate(options.versions):
        able = recent if version in WANTS_3_11 else found
        directory = package.importlib_metadata(version, found) if able else None
        if directory:
            workers.append(Worker(able[at % len(able)], VERSIONS[version], options, version,
                                  directory))
        else:
            print(f"without importlib_metadata {version}: "
                  + ("pip cannot get it" if able else "it wants Python 3.11"))
    return workers + sessions.start(options, found)


# --- environments ---

def build(root, choices):
    """Build an environment; few have fatal files, since entrydb answers no query there."""
    environment = hostile.Environment(root, choices)
    while environment.fatal and choices.random() < FATAL_DROPPED:
        hostile.destroy(root)
        environment = hostile.Environment(root, choices)
    return environment


class Case:
    """One environment, from its creation to its removal."""

    def __init__(self, options, number, home):
        self.number = number
        self.place = f"{options.scratch}/environment{number}"
        self.root = f"{self.place}/e"
        os.mkdir(self.place)
        self.environment = build(self.root, random.Random(f"{options.seed}-{number}"))
        self.program = Program(home, options.program)
        self.reports = []

    def update(self):
        """Update every path entry; some may be refused, but none may crash the program."""
        for entries, allowed in self.directories_and_others():
            if not entries:
                continue
            command = ["update", "--", *entries]
            done = self.program.run(command, self.root)
            if done.returncode not in allowed:
                self.reports.append(
                    f"update: exit status {done.returncode}: {shlex.join(command)}\n"
                    f"  {done.stderr.decode(errors='replace').strip()[:400]}")

    def directories_and_others(self):
        entries = [entry for entry in self.environment.path if entry and entry not in ("/", "..")]
        directories = [entry for entry in entries if os.path.isdir(os.path.join(self.root, entry))]
        others = [entry for entry in entries if entry not in directories]
        return (directories, (0,)), (others, (0, 1, 3))

    def request(self, seed, stage, label):
        return {"root": self.root, "path": self.environment.path,
                "seed": f"{seed}-{self.number}-{stage}-{label}"}

    def report(self, stage, label, found):
        self.reports.append(f"{stage}, Python {label}: {found['call']}\n  {found['where']}\n"
                            f"  python  {found['python']}\n  entrydb {found['entrydb']}")

    def finish(self, keep):
        """Returns the report; an environment without difference is deleted."""
        if not self.reports:
            hostile.destroy(self.place)
            return None
        os.makedirs(keep, exist_ok=True)
        target = f"{keep}/environment{self.number}"
        if os.path.exists(target):
            hostile.destroy(target)
        shutil.move(self.place, target)
        entries = "\n".join(f"    {entry!r}" for entry in self.environment.path)
        return (f"environment {self.number}\n  path entries (in {self.root}):\n{entries}\n"
                + "\n".join(self.reports) + f"\n  kept: {target}")


class Run:
    def __init__(self, options, workers):
        self.options = options
        self.workers = workers
        self.pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
        self.calls = self.differing = 0

    def batch(self, numbers):
        home = tempfile.mkdtemp(prefix="home-", dir=self.options.scratch)
        cases = [Case(self.options, number, home) for number in numbers]
        self.stage("not indexed", cases, home)
        began = time.monotonic()
        self.wait_since(began)
        self.index(cases)
        self.stage("indexed", cases, home)
        self.change(cases, "change_listing")
        self.stage("listing changed", cases, home)
        self.change(cases, "change_inside")
        changed = time.monotonic()
        self.stage("changed inside", cases, home, ("exact",))
        if numbers[0] // self.options.batch % 2 == 0:
            self.wait_since(changed)   # or the next update would meet directories that have just changed
        self.index(cases)
        self.stage("indexed again", cases, home)
        self.change(cases, "carry")
        self.stage("carried", cases, home)
        self.change(cases, "change_inside")   # not hidden by other changes now
        self.stage("changed inside again", cases, home, ("exact",))
        self.finish(cases)
        shutil.rmtree(home)

    def index(self, cases):
        list(self.pool.map(Case.update, cases))

    def change(self, cases, change):
        for case in cases:
            getattr(case.environment, change)()

    def stage(self, stage, cases, home, levels=("roots", "exact")):
        if self.is_enough():
            return
        asked = [worker for worker in self.workers if worker.fresh in levels]
        jobs = [self.pool.submit(self.ask, worker, stage, cases, home) for worker in asked]
        for worker, job in zip(asked, jobs):
            for case, reply in zip(cases, job.result()):
                worker.counts.update(reply["counts"])
                self.calls += reply["counts"]["calls"]
                self.differing += len(reply["differences"])
                for found in reply["differences"]:
                    case.report(stage, worker.label, found)

    def ask(self, worker, stage, cases, home):
        return worker.send({"home": home, "calls": worker.calls, "forget": stage.startswith("indexed"),
                            "environments": [case.request(self.options.seed, stage, worker.label)
                                             for case in cases]})

    def wait_since(self, moment):
        if not self.is_enough():
            time.sleep(max(0, moment + SETTLING_SECONDS - time.monotonic()))

    def is_enough(self):
        return self.differing >= self.options.stop_after

    def finish(self, cases):
        for worker in self.workers:
            worker.end_batch()
        for case in cases:
            report = case.finish(self.options.keep)
            if report and self.options.shown < REPORTS_SHOWN:
                self.options.shown += 1
                print(report, flush=True)

    def all(self):
        if self.options.environment is not None:
            self.batch([self.options.environment])
            return
        first = 0
        while self.calls < self.options.cases and not self.is_enough():
            self.batch(range(first, first + self.options.batch))
            first += self.options.batch


def summary(workers):
    total = collections.Counter()
    for worker in workers:
        print(f"Python {worker.label}: {counted(worker.counts)}")
        total.update(worker.counts)
    print(f"in all: {counted(total)}")


def counted(counts):
    return ("{calls} cases, {filled} with entry points, {raised} where Python raised; by entrydb "
            "itself {asked_native} of {asked} answers, {read_native} of {read} properties"
            ).format(**counts)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=os.environ.get("ENTRYDB_TEST_SEED"),
                        help="default: ENTRYDB_TEST_SEED, or from the clock")
    parser.add_argument("--cases", type=int, default=1_000_000 if LONG else 10_000, help="calls, at least")
    parser.add_argument("--batch", type=int, default=6,
                        help="environments built, aged and asked together")
    parser.add_argument("--environment", type=int, help="only the one of this number")
    parser.add_argument("--pythons", help="executables, separated by colons")
    parser.add_argument("--versions", default=":".join(VERSIONS),
                        help="of importlib_metadata, separated by colons")
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 1))
    parser.add_argument("--stop-after", type=int, default=20, help="differing cases")
    parser.add_argument("--keep", help="where to keep environments that differ")
    parser.add_argument("--mutant", help="spoil the package on purpose; see mutants.py")
    options = parser.parse_args()
    if options.pythons:
        os.environ["ENTRYDB_TEST_PYTHONS"] = options.pythons
    options.seed = int(time.time()) if options.seed is None else options.seed
    options.program = default_program()
    options.package = package.directory()
    options.versions = [each for each in options.versions.split(":") if each]
    options.shown = 0
    if options.package is None:
        package_cache.skip("the Python package is not built; name it by ENTRYDB_PYTHON_PACKAGE")
    return options


def main():
    # Reports contain bytes that are not UTF-8, and surrogates.
    sys.stdout.reconfigure(errors="backslashreplace")
    options = parse()
    found = reference.one_per_minor(reference.interpreters())
    reference.announce(found)
    options.scratch = tempfile.mkdtemp(prefix="entrydb-python-differential-")
    options.keep = os.path.abspath(options.keep or options.scratch + ".kept")
    workers = start_workers(options, found)
    print(f"seed {options.seed}", flush=True)
    began = time.monotonic()
    run = Run(options, workers)
    run.all()
    for worker in workers:
        worker.close()
    hostile.destroy(options.scratch)
    summary(workers)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} s of CPU in the workers and the program")
    print(f"{run.calls} cases, {run.differing} cases differ, seed {options.seed}, "
          f"{time.monotonic() - began:.0f} s")
    return 1 if run.differing else 0


if __name__ == "__main__":
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.argv])
    sys.exit(main())
