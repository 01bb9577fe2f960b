"""Tests a test: differential.py must find a difference with each mutant, and none without."""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

from program import LIB


def verdict(name, done):
    printed = done.stdout.decode(errors="backslashreplace")
    if done.returncode == 77:
        print(printed)
        sys.exit(77)
    # A crash of the test has status 1, too: only reported differences count.
    differing = re.search(r"cases, (\d+) cases differ, ", printed)
    caught = done.returncode == 1 and differing and int(differing[1]) > 0
    good = done.returncode == 0 if name == "none" else bool(caught)
    print(f"{name}: {'as expected' if good else 'WRONG'}: {printed.splitlines()[-1]}", flush=True)
    if not good:
        print(printed)
    return good


def main(place, names, cases, how, at_a_time=1):
    """Run differential.py of @place for each of @names with the arguments and variables from @how.

    Exit status 0: all mutants were caught, 1: one survived, 77: skipped.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=cases)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()

    def differential(name):
        words, variables = how(scratch, name, options.cases)
        command = [sys.executable, f"{place}/differential.py", "--seed", str(options.seed), "--stop-after", "1",
                   "--keep", f"{scratch}/{name}.kept", *words]
        return subprocess.run(command, env={**os.environ, "TMPDIR": scratch, "PYTHONPATH": LIB, **variables},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    names = options.names or ["none", *names]
    with tempfile.TemporaryDirectory(prefix="entrydb-mutants-") as scratch, \
            concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        results = [verdict(name, done) for name, done in zip(names, pool.map(differential, names))]
    print(f"{sum(results)} of {len(results)} as expected")
    return 0 if all(results) else 1
