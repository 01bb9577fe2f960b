"""The measurements of the Python package; like figures.py, each takes a Bench and yields rows.

Each sample is a new interpreter that times its own work (python_worker.py). The package is in the site
directory that is queried, where pip would install it.
"""

import os
import re
import shutil
import subprocess
import time

import environments
import python_package
from environments import RARE_GROUP
from figures import (SETTLE_SECONDS, UNPROMISED, Difference, Row, at_least, at_most_more, scaled,
                     site_of)

HERE = os.path.dirname(os.path.abspath(__file__))
PROMISED = 500         # distributions, for which targets are set
FIRST, LATER, COUNT, MEMORY = range(4)    # columns of the worker's output
STARTS = 20            # per round
QUESTION = f"import importlib.metadata as m; m.entry_points(group={RARE_GROUP!r})"


def sizes(bench):
    return bench.size((50, PROMISED, 2000), (50,))


# --- environments ---

def environment(bench, distributions):
    """An environment with the package and a database, without young files."""
    prefix = f"{bench.scratch}/python-{distributions}"
    if not os.path.isdir(prefix):
        bench.note(f"making {distributions} distributions")
        site = environments.make_environment(prefix, distributions)
        python_package.place(bench.package(), site, bench.python[0])
        time.sleep(SETTLE_SECONDS)
        bench.update(prefix)
    return prefix


class Asked:
    """Pairs of queries about one environment: entrydb's and a baseline's."""

    def __init__(self, bench, distributions, ours, baseline):
        self.bench, self.distributions = bench, distributions
        self.site = site_of(environment(bench, distributions))
        bench.same_count_at(COUNT, self.command(ours), self.command(baseline))
        self.lines = bench.interleave(lambda: self.ask(ours), lambda: self.ask(baseline))

    def command(self, kind):
        return [*self.bench.python, f"{HERE}/python_worker.py", kind, RARE_GROUP, self.site]

    def ask(self, kind):
        return self.bench.fields(self.command(kind))

    def pairs(self, column):
        return [(ours[column], baseline[column]) for ours, baseline in self.lines]

    def row(self, work, against, column, reach=UNPROMISED):
        """A row of times; the target applies to one number of distributions only."""
        return Row(f"{work}, {self.distributions:,} distributions", against,
                   scaled(self.pairs(column)),
                   reach if self.distributions == PROMISED else UNPROMISED)


# --- queries ---

def python_of(bench):
    return f"importlib.metadata (Python {bench.python_version})"


def light(bench):
    against = python_of(bench)
    for count in sizes(bench):
        asked = Asked(bench, count, "light", "python")
        yield asked.row("entrydb.entry_points(group=), first, with the import",
                        f"{against}, with its import", FIRST, at_least(20))
        yield asked.row("entrydb.entry_points(group=), again", against, LATER, at_least(50))


def accelerated(bench):
    against = python_of(bench)
    for count in sizes(bench):
        asked = Asked(bench, count, "accelerated", "python-call")
        yield asked.row("accelerated entry_points(group=), first", against, FIRST, at_least(30))
        yield asked.row("accelerated entry_points(group=), again", against, LATER)
        asked = Asked(bench, count, "lazy", "python-call")
        yield asked.row("switched on, not imported yet, first", against, FIRST)


def walk(bench):
    against, work = python_of(bench), "pluggy's walk, accelerated"
    for count in sizes(bench):
        asked = Asked(bench, count, "walk-accelerated", "walk")
        yield asked.row(f"{work}, first", against, FIRST, at_least(5))
        yield asked.row(f"{work}, again", against, LATER)


# --- start-up costs ---

def virtual_environment(bench, name, distributions=0):
    """Its interpreter, site directory and prefix."""
    prefix = f"{bench.scratch}/{name}"
    site = f"{prefix}/lib/python{'.'.join(bench.python_version.split('.')[:2])}/site-packages"
    if not os.path.isdir(prefix):
        bench.output([bench.python[0], "-I", "-m", "venv", "--without-pip", prefix])
        environments.fill(site, distributions)
    python_package.place(bench.package(), site, bench.python[0])
    return f"{prefix}/bin/python", site, prefix


def on_and_off(bench, distributions=0):
    """The interpreters of two equal environments without young files; the first is switched on."""
    ours, _, prefix = virtual_environment(bench, f"on-{distributions}", distributions)
    baseline, _, _ = virtual_environment(bench, f"off-{distributions}", distributions)
    python_package.switch_on(ours)
    if distributions:
        time.sleep(SETTLE_SECONDS)
        bench.update(prefix)
    return ours, baseline


def added(bench, work, distributions, code):
    """The added CPU time of a whole process."""
    ours, baseline = on_and_off(bench, distributions)

    def begin(python):
        return bench.processor([python, "-I", "-c", code])

    pairs = bench.interleave(lambda: begin(ours), lambda: begin(baseline), times=STARTS)
    yield Difference(f"{work}, processor time", "off", scaled(pairs, 1e6), at_most_more(0.3, "ms"), unit="ms")


def start(bench):
    yield from added(bench, "start of an interpreter, accelerated and unused", 0, "pass")


def process(bench):
    for count in bench.size((2, 20, 50, 100, PROMISED), (2, 100)):
        yield from added(bench, f"whole process with one question, {count:,} distributions", count,
                         QUESTION)


def instructions(bench):
    """The same in instructions, which noise does not affect; the kernel's are not counted."""
    if not shutil.which("valgrind"):
        raise bench.could_not("valgrind is not installed")
    for count in bench.size((2, 20, 50, 100), (2,)):
        ours, baseline = on_and_off(bench, count)
        for work, code in (("start of an interpreter", "pass"), ("whole process with one question", QUESTION)):
            pair = [instructions_of(bench, python, code) / 1e3 for python in (ours, baseline)]
            yield Row(f"{work}, {count:,} distributions, thousand instructions", "off", [pair], unit="")


def instructions_of(bench, python, code):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", python, "-s", "-c", code]
    done = subprocess.run(command, check=True, text=True, capture_output=True, stdin=subprocess.DEVNULL,
                          env={"PATH": os.environ["PATH"], "HOME": bench.scratch, "PYTHONHASHSEED": "0"})
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def memory(bench):
    count = bench.size(PROMISED, 50)
    for kind, work in (("accelerated", "accelerated entry_points(group=)"),
                       ("light", "entrydb.entry_points(group=)")):
        asked = Asked(bench, count, kind, "python")
        yield Row(f"peak memory after {work}, {count:,} distributions", python_of(bench),
                  asked.pairs(MEMORY), unit="kB")


FIGURES = {
    "python": light,
    "python-accelerated": accelerated,
    "python-walk": walk,
    "python-start": start,
    "python-process": process,
    "python-instructions": instructions,
    "python-memory": memory,
}
