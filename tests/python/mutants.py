#!/usr/bin/env python3
"""A test of the test: packages that are wrong on purpose must be caught.

usage: mutants.py [--seed N] [--cases N] [NAME...]

Each mutant of spoilt.py is given to differential.py, which must find a difference in every
one, and none in the one that spoils nothing. Two interpreters are asked, an older one that
sorts by group and the newest. Status 0 all caught, 1 one survived, 77 skipped.
"""

import argparse
import ast
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import reference
from program import LIB

HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENTS = 12    # built at a time: most mutants are caught by the first of them
MUTANTS_AT_A_TIME = 2


def mutants():
    """The names; spoilt.py itself can be imported by a worker only."""
    with open(f"{HERE}/spoilt.py", encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    tables = [each.value for each in tree.body if isinstance(each, ast.Assign)
              and each.targets[0].id in ("CHANGES", "PATCHES")]
    return [name.id for table in tables for name in table.generators[0].iter.elts]


def pythons():
    return ":".join(each.executable for each in (reference.one_that_differs(), reference.interpreters()[-1]))


def differential(scratch, name, options):
    command = [sys.executable, f"{HERE}/differential.py", "--seed", str(options.seed),
               "--cases", "1" if name == "none" else str(options.cases),
               "--batch", str(ENVIRONMENTS), "--stop-after", "1", "--versions", "",
               "--mutant", name, "--keep", f"{scratch}/{name}.kept"]
    env = dict(os.environ, TMPDIR=scratch, ENTRYDB_TEST_PYTHONS=options.pythons, PYTHONPATH=LIB)
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode(errors="backslashreplace")


def verdict(name, status, printed):
    if status == 77:
        print(printed)
        sys.exit(77)
    # A crash of the test has status 1 as well: only counted differences count.
    differing = re.search(r"^\d+ cases, (\d+) cases differ, ", printed, re.MULTILINE)
    caught = status == 1 and differing and int(differing[1]) > 0
    good = status == 0 if name == "none" else bool(caught)
    print(f"{name}: {'as it should be' if good else 'WRONG'}: {printed.splitlines()[-1]}",
          flush=True)
    if not good:
        print(printed)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    options.pythons = pythons()
    names = options.names or ["none", *mutants()]
    with tempfile.TemporaryDirectory(prefix="entrydb-python-mutants-") as scratch, \
            concurrent.futures.ThreadPoolExecutor(MUTANTS_AT_A_TIME) as pool:
        done = pool.map(lambda name: differential(scratch, name, options), names)
        results = [verdict(name, *each) for name, each in zip(names, done)]
    print(f"{sum(results)} of {len(results)} as they should be")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
