"""The cost of a tree that was copied with its database (cp, an archive, an image), compared with the original.

Nothing in either has changed. In the copy, each distribution is recognized by its name and the sizes and
times of its files; in the original, one stat suffices.
"""

import os
import subprocess

import environments
import python_figures
from figures import Row, at_most, scaled, site_of
from python_figures import COUNT, FIRST, LATER

CARRIED = 445  # distributions, for which the target is set


def carry(prefix, sealed=None):
    """Copy the environment; sealed: a Bench whose program seals the database first."""
    there = f"{prefix}-{'sealed' if sealed else 'carried'}"
    if not os.path.isdir(there):
        subprocess.run(["cp", "-a", prefix, there], check=True)
        if sealed:
            sealed.output([sealed.entrydb, "update", "--sealed", "--quiet", there])
    return there


def carried(bench):
    count = bench.size(CARRIED, 50)
    home = python_figures.environment(bench, count)
    for sealed, what in ((None, "carried"), (bench, "carried, sealed")):
        there = carry(home, sealed)
        commands = [[*bench.python, f"{python_figures.HERE}/python_worker.py", "lazy", environments.RARE_GROUP,
                     site_of(prefix)] for prefix in (there, home)]
        bench.same_count_at(COUNT, *commands)
        lines = bench.interleave(*[lambda command=command: bench.fields(command) for command in commands])
        for column, which, reach in ((FIRST, "first", at_most(1.5)), (LATER, "again", None)):
            yield Row(f"accelerated entry_points(group=), {which}, {what}, {count} distributions",
                      "the same where it was indexed",
                      scaled([(ours[column], at_home[column]) for ours, at_home in lines]), reach)


FIGURES = {"carried": carried}
