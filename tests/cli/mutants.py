#!/usr/bin/env python3
"""A test of the test: programs that are wrong on purpose must be caught.

usage: mutants.py [--seed N] [--cases N] [NAME...]

Each mutant is a wrapper that runs the program ($ENTRYDB, default
build/indexer/entrydb) and spoils its answer; differential.py must find a
difference in every one, and none in the wrapper that spoils nothing.
Status 0 all caught, 1 one survived, 77 skipped.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import reference
from mutant import CALL_MUTANTS, ROW_MUTANTS
from program import LIB, LONG, default_program

HERE = os.path.dirname(os.path.abspath(__file__))


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


def differential(scratch, name, options):
    """Status of differential.py over one mutant, and the last line that it printed."""
    env = dict(os.environ, ENTRYDB=write_wrapper(scratch, name), PYTHONPATH=LIB,
               ENTRYDB_TEST_PYTHONS=reference.one_that_differs().executable)
    command = [sys.executable, f"{HERE}/differential.py", "--seed", str(options.seed), "--cases",
               str(options.cases), "--stop-after", "1", "--keep", f"{scratch}/{name}.kept"]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode(errors="backslashreplace")


def verdict(scratch, name, options):
    status, printed = differential(scratch, name, options)
    if status == 77:
        print(printed)
        sys.exit(77)
    # A crash of the test has status 1 as well: only counted differences count.
    differing = re.search(r", (\d+) cases differ, ", printed)
    caught = status == 1 and differing and int(differing[1]) > 0
    good = status == 0 if name == "none" else bool(caught)
    print(f"{name}: {'as it should be' if good else 'WRONG'}: {printed.splitlines()[-1]}", flush=True)
    if not good:
        print(printed)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=100 if LONG else 12)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    names = options.names or ["none", *ROW_MUTANTS, *CALL_MUTANTS]
    with tempfile.TemporaryDirectory(prefix="entrydb-mutants-") as scratch:
        os.environ["TMPDIR"] = scratch
        results = [verdict(scratch, name, options) for name in names]
    print(f"{sum(results)} of {len(results)} as they should be")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
