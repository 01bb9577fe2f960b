#!/usr/bin/env python3
"""Mutation test of differential.py: it must catch every defective package; see lib/survivors.py.

usage: mutants.py [--seed N] [--cases N] [NAME...]

Each mutant of spoilt.py is passed to differential.py, with two interpreters: an old one that sorts by
group, and the newest.
"""

import ast
import os
import sys

import reference
import survivors

HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENTS = 12    # per batch: most mutants are caught by the first ones
MUTANTS_AT_A_TIME = 2


def names():
    """The names of the mutants. spoilt.py itself can only be imported by a worker."""
    with open(f"{HERE}/spoilt.py", encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    tables = [each.value for each in tree.body if isinstance(each, ast.Assign)
              and each.targets[0].id in ("CHANGES", "PATCHES")]
    return [name.id for table in tables for name in table.generators[0].iter.elts]


def how(scratch, name, cases):
    pythons = reference.one_that_differs(), reference.interpreters()[-1]
    return (["--cases", "1" if name == "none" else str(cases), "--batch", str(ENVIRONMENTS), "--versions", "",
             "--mutant", name], {"ENTRYDB_TEST_PYTHONS": ":".join(each.executable for each in pythons)})


if __name__ == "__main__":
    sys.exit(survivors.main(HERE, names(), 20000, how, MUTANTS_AT_A_TIME))
