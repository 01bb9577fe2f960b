"""Slow files: on a network file system, and on a disk with empty caches.

The network file system is tests/lib/far.c: each request takes a millisecond, concurrent requests take no
longer, and the kernel caches answers for three seconds, the minimum of NFS. It shows an environment with
another device number, as a second host sees it, and is mounted again for each sample, so that nothing is
cached.
"""

import os
import subprocess

import environments
import far
import python_figures
from environments import COMMON_GROUP, RARE_GROUP
from figures import Row, at_least, realistic, scaled, site_of

HERE = os.path.dirname(os.path.abspath(__file__))

DELAY, MEMORY = 0.001, 3.0  # seconds
DROP_CACHES = "/proc/sys/vm/drop_caches"
FIRST, COUNT, AGAIN = range(3)  # columns of twice.c and baseline.py
NOWHERE = "/nonexistent"


def samples(bench):
    """Fewer rounds than for microseconds."""
    return max(3, bench.rounds // 3)


def size(bench):
    return bench.size(500, 50)


def unindexed(bench):
    prefix = f"{bench.scratch}/unindexed-{size(bench)}"
    if not os.path.isdir(prefix):
        bench.note(f"making {size(bench)} distributions")
        environments.make_environment(prefix, size(bench))
    return prefix


def by_library(bench, level):
    return lambda site: [bench.program("twice"), level, RARE_GROUP, site]


def by_python(bench):
    return lambda site: [*bench.python, f"{HERE}/baseline.py", "scan", RARE_GROUP, site]


def sample_far(bench, prefix, command):
    """The fields of the command's output, run with the mounted site directory."""
    try:
        with far.Far(far.build(bench.scratch), prefix, f"{bench.scratch}/far-away", DELAY, MEMORY) as host:
            return bench.fields(command(site_of(host.point)))
    except far.CannotMount as error:
        raise bench.could_not(str(error)) from None


def sample_cold(bench, prefix, command):
    """Load the program and its libraries into the caches before it is timed."""
    subprocess.run(["sync"], check=True)
    try:
        with open(DROP_CACHES, "w", encoding="ascii") as file:
            file.write("3")
    except OSError as error:
        raise bench.could_not(f"the caches cannot be dropped: {error}") from None
    bench.fields(command(NOWHERE))
    return bench.fields(command(site_of(prefix)))


def compare(bench, sample, prefix, ours, baseline, count=COUNT):
    """[(fields of entrydb, fields of the baseline)]; both must have found the same number."""
    lines = [(sample(bench, prefix, ours), sample(bench, prefix, baseline)) for _ in range(samples(bench))]
    found = {line[count] for pair in lines for line in pair}
    if len(found) != 1 or found == {0}:
        raise bench.could_not(f"found {sorted(found)}, and not the same")
    return lines


def pairs(lines, column):
    return [(ours[column], python[column]) for ours, python in lines]


def rows(bench, sample, where, reach):
    """@reach: the target for the row with a database."""
    against = f"importlib.metadata (Python {bench.python_version})"
    for prefix, level, what, aim in ((unindexed(bench), "roots", "no database", at_least(1)),
                                     (realistic(bench, size(bench)), "roots", "roots", reach),
                                     (realistic(bench, size(bench)), "trust", "trust", reach)):
        lines = compare(bench, sample, prefix, by_library(bench, level), by_python(bench))
        work = f"{where}, {size(bench)} distributions, {what}"
        yield Row(f"{work}, first", f"{against}, first", scaled(pairs(lines, FIRST)), aim)
        yield Row(f"{work}, again", f"{against}, again", scaled(pairs(lines, AGAIN)), aim)


def check_far(bench):
    reason = far.why_not()
    if reason:
        raise bench.could_not(reason)


def far_away(bench):
    check_far(bench)
    yield from rows(bench, sample_far, "far away", at_least(20))


def far_away_python(bench):
    """The package is on the network file system, too."""
    check_far(bench)
    for count, group in bench.size(((20, COMMON_GROUP), (50, COMMON_GROUP), (500, RARE_GROUP)), ((50, COMMON_GROUP),)):
        prefix = python_figures.environment(bench, count)

        def ask(kind):
            return lambda site: [*bench.python, f"{HERE}/python_worker.py", kind, group, site]

        lines = compare(bench, sample_far, prefix, ask("lazy"), ask("python-call"), python_figures.COUNT)
        yield Row(f"far away, {count} distributions, switched on, first, loading included",
                  f"importlib.metadata (Python {bench.python_version}), first", scaled(pairs(lines, FIRST)),
                  at_least(20 if count == 500 else 1))


def cold(bench):
    yield from rows(bench, sample_cold, "caches dropped", at_least(1))


FIGURES = {"far": far_away, "far-python": far_away_python, "cold": cold}
