#!/usr/bin/env python3
"""Packages that are wrong on purpose must be caught; see lib/survivors.py.

usage: mutants.py [--seed N] [--cases N] [NAME...]

Each mutant of spoilt.py is given to differential.py. Two interpreters are asked, an older one that sorts by group
and the newest.
"""

import ast
import os
import sys

import reference
import survivors

HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENTS = 12    # built at a time: most mutants are caught by the first of them
MUTANTS_AT_A_TIME = 2


def names():
    """spoilt.py itself can be imported by a worker only."""
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
