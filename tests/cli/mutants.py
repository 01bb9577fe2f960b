#!/usr/bin/env python3
"""Mutation test of differential.py: it must catch every defective program; see lib/survivors.py.

usage: mutants.py [--seed N] [--cases N] [NAME...]

Each mutant is a wrapper that runs the program ($ENTRYDB, default build/indexer/entrydb) and falsifies its answer.
"""

import os
import sys

import reference
import survivors
from mutant import CALL_MUTANTS, ROW_MUTANTS
from program import LIB, LONG, default_program


def write_wrapper(scratch, name):
    place = f"{scratch}/{name}"
    os.mkdir(f"{place}.scratch")
    with open(place, "w") as stream:
        stream.write(f"#!{sys.executable} -ISXutf8\n"
                     "import os, sys\n"
                     f"os.environ['REAL_PROGRAM'] = {default_program()!r}\n"
                     f"os.environ['MUTANT_SCRATCH'] = {place + '.scratch'!r}\n"
                     f"sys.path.insert(0, {LIB!r})\n"
                     f"import mutant\nsys.exit(mutant.main({name!r}, sys.argv[1:]))\n")
    os.chmod(place, 0o755)
    return place


def how(scratch, name, cases):
    return ["--cases", str(cases)], {"ENTRYDB": write_wrapper(scratch, name),
                                     "ENTRYDB_TEST_PYTHONS": reference.one_that_differs().executable}


if __name__ == "__main__":
    sys.exit(survivors.main(os.path.dirname(os.path.abspath(__file__)), [*ROW_MUTANTS, *CALL_MUTANTS],
                          100 if LONG else 12, how))
