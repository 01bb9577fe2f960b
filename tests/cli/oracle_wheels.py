#!/usr/bin/env python3
"""Compares entrydb with importlib.metadata for real wheels that are not installed.

usage: oracle_wheels.py [--limit N]

Downloads the wheels of tests/fixtures/wheels.txt (cached in $ENTRYDB_TEST_CACHE). For each wheel and
every interpreter found (reference.py), the entry points that importlib.metadata reads with the wheel
as path entry are compared with `entrydb list --path WHEEL`, before and after `entrydb add`. The
program is $ENTRYDB, default build/indexer/entrydb. Exit status: 0 equal, 1 differences, 77 skipped.
"""

import argparse
import glob
import os
import sys
import tempfile

import package_cache
import reference
from oracle_venv import Oracle
from package_cache import pip_ran
from program import Program

FEWEST_WHEELS = 200
GROUPS_TOGETHER = 8       # the reference reopens all wheels for each query
# Any interpreter may download them: the wheels are pure Python and only read.
ANY_PYTHON = ["--no-deps", "--only-binary", ":all:", "--python-version", "3.13",
              "--implementation", "py", "--abi", "none", "--platform", "any"]


def download(python, pins, destination):
    """Download in one call of pip; if that fails, in halves, so that a missing wheel costs only itself."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listing:
        listing.write("\n".join(pins) + "\n")
        listing.flush()
        alone = len(pins) == 1
        if pip_ran(python, "download", "--quiet", *ANY_PYTHON, "--dest", destination,
                   "-r", listing.name, quiet=not alone):
            return len(pins)
    if alone:
        return 0
    half = len(pins) // 2
    first = download(python, pins[:half], destination)
    # If the first half yields nothing, the index is missing and not just one wheel.
    return first + download(python, pins[half:], destination) if first else 0


def wheels(found):
    pins = package_cache.requirements("wheels.txt")
    key = package_cache.fixture_key("wheels.txt")
    place = f"{package_cache.cache_directory()}/wheels-{key}"

    def build(scratch):
        print(f"downloading {len(pins)} wheels ...", flush=True)
        return download(found[-1].executable, pins, scratch) >= FEWEST_WHEELS

    if not package_cache.publish(build, place):
        package_cache.give_up(found[-1].executable, f"cannot download {FEWEST_WHEELS} wheels")
    return sorted(glob.glob(f"{place}/*.whl"))


def check_all(oracle, every, database):
    for wheel in every:
        name = os.path.basename(wheel)
        oracle.check([wheel], [{}], [(f"not indexed, {name}", []), (f"added, {name}", database)])


def check_together(oracle, every, database):
    """Query all wheels as one path, which tests shadowing and order across archives, group by group."""
    path = [*every, *every[:3]]
    rows = oracle.workers[-1].ask("/", path, [{}])[0]["rows"]
    groups = list(dict.fromkeys(row[0] for row in rows))
    print(f"{len(every)} wheels, {len(rows)} entry points, {len(groups)} groups")
    queries = [{}] + [{"group": group} for group in groups[:GROUPS_TOGETHER]]
    oracle.check(path, queries, [("not indexed, together", []), ("added, together", database)])


def add(program, every, database):
    done = program.run(["add", *database, *every])
    if done.returncode:
        print(f"entrydb add: exit status {done.returncode}\n{done.stderr.decode(errors='replace')[:2000]}")
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=None, help="only the first N wheels")
    options = parser.parse_args()
    found = reference.interpreters()
    reference.announce(found)
    every = wheels(found)[:options.limit]
    importlib_metadata = package_cache.importlib_metadata(found)
    with tempfile.TemporaryDirectory(prefix="entrydb-wheels-") as scratch:
        database = ["--db", f"{scratch}/wheels.db"]
        oracle = Oracle(Program(scratch), reference.start_workers(found, importlib_metadata))
        added = add(oracle.program, every, database)
        check_all(oracle, every, database)
        check_together(oracle, every, database)
        oracle.close()
    print(f"{oracle.comparisons} comparisons, {oracle.differences} differences")
    return 0 if added and not oracle.differences else 1


if __name__ == "__main__":
    sys.exit(main())
