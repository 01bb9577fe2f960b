#!/usr/bin/env python3
"""Compares entrydb with importlib.metadata for every group of a real environment.

usage: oracle_venv.py [--sample N]

Builds a venv of the distributions in tests/fixtures/venv-requirements.txt (wheels), venv-sources.txt
(source distributions) and editable-project (editable), cached in $ENTRYDB_TEST_CACHE. Then, for every
interpreter found (reference.py) and importlib_metadata 10, compares the whole listing, every group,
and a sample of names: in the indexed venv with --fresh roots and exact, and in a copy that was never
indexed. `entrydb audit` must print at most a page about the venv, without errors. The program is
$ENTRYDB, default build/indexer/entrydb. Exit status: 0 equal, 1 differences, 77 skipped.
"""

import argparse
import glob
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import package_cache
import reference
from package_cache import FIXTURES, pip_ran
from program import Program, difference

MOST_REPORTS = 8
PAGE = 40  # lines


class Oracle:
    def __init__(self, program, workers):
        self.program = program
        self.workers = workers
        self.comparisons = self.differences = 0

    def check(self, path, queries, ways):
        """ways: (label, options of `entrydb list`); the reference is queried once for all of them."""
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            every = list(pool.map(lambda worker: worker.ask("/", path, queries), self.workers))
        for worker, answers in zip(self.workers, every):
            for label, options in ways:
                for params, answer in zip(queries, answers):
                    self.compare(f"{label}, Python {worker.label}", worker.rules, path, params, answer, options)

    def compare(self, label, rules, path, params, answer, options):
        command, reply = self.program.list(path, params, rules, options)
        self.comparisons += 1
        wrong = difference(answer, reply)
        if wrong:
            self.differences += 1
            if self.differences <= MOST_REPORTS:
                print(f"{label}: {wrong}\n  entrydb {' '.join(command)}")

    def close(self):
        for worker in self.workers:
            worker.close()


def build_environment(python, place):
    """Build the venv, with the sources of the editable project in its directory `project`."""
    subprocess.run([python, "-I", "-m", "venv", place], check=True)
    inside = f"{place}/bin/python"
    project = f"{place}/project"
    shutil.copytree(f"{FIXTURES}/editable-project", project)
    install = ["install", "--no-deps", "--no-compile", "--ignore-requires-python"]
    build = [*install, "--no-build-isolation"]
    return (pip_ran(inside, *install, "-r", f"{FIXTURES}/venv-requirements.txt")
            and pip_ran(inside, *build, "-r", f"{FIXTURES}/venv-sources.txt")
            and pip_ran(inside, *build, "-e", project))


def environment(found):
    """The cached venv. It cannot be moved: scripts and .pth files contain its path."""
    able = [each for each in found if reference.version_key(each.version) < [3, 14]]
    maker = (able or found)[-1]
    key = package_cache.fixture_key("venv-requirements.txt", "venv-sources.txt",
                                    "editable-project/pyproject.toml")
    place = f"{package_cache.cache_directory()}/venv-{maker.rules}-{key}"
    complete = f"{place}/complete"
    if not os.path.exists(complete):
        shutil.rmtree(place, ignore_errors=True)
        print(f"building {place} ...", flush=True)
        if not build_environment(maker.executable, place):
            package_cache.give_up(maker.executable, "cannot build the environment")
        open(complete, "w").close()
    return place


def site_of(place):
    return glob.glob(f"{place}/lib/python3.*/site-packages")[0]


def queries_for(rows, sample):
    """The whole listing, every group, and a fixed sample of names."""
    groups = dict.fromkeys(row[0] for row in rows)
    pairs = list(dict.fromkeys((row[0], row[1]) for row in rows))
    pairs = random.Random(3).sample(pairs, min(sample, len(pairs)))
    return ([{}] + [{"group": group} for group in groups] + [{"group": "no.such.group"}]
            + [{"group": group, "name": name} for group, name in pairs])


def compare_everything(oracle, place, scratch, sample):
    site = site_of(place)
    rows = oracle.workers[-1].ask("/", [site], [{}])[0]["rows"]
    queries = queries_for(rows, sample)
    groups = {row[0] for row in rows}
    print(f"{len(infos(site))} distributions, {len(rows)} entry points, {len(groups)} groups, "
          f"{len(queries)} queries")
    oracle.check([site], queries, [("indexed, roots", ["--fresh", "roots"]),
                                   ("indexed, exact", ["--fresh", "exact"])])
    copy = f"{scratch}/copy/lib/{os.path.basename(os.path.dirname(site))}/site-packages"
    copy_infos(site, copy)
    oracle.check([copy], queries, [("never indexed", [])])
    # The source tree of the editable project contains an egg-info directory.
    source = f"{place}/project/src"
    few = [{}, {"group": "entrydb.tests"}, {"group": "pytest11"}]
    oracle.check([source, site], few, [("source tree first", [])])
    oracle.check([copy, source, site], few, [("source tree hidden", [])])


def infos(site):
    return [name for name in os.listdir(site) if name.lower().endswith(("dist-info", "egg-info"))]


def copy_infos(site, copy):
    """Copy only the metadata: the whole environment has hundreds of megabytes."""
    os.makedirs(copy)
    for name in os.listdir(site):
        source = f"{site}/{name}"
        if name in infos(site):
            subprocess.run(["cp", "-a", source, copy], check=True)
        elif os.path.isdir(source):
            os.mkdir(f"{copy}/{name}")


def update(program, place):
    done = program.run(["update", place])
    if done.returncode:
        print(f"entrydb update {place}: exit status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return done.returncode == 0


def audit_is_short(program, place):
    """`entrydb audit` reports at most a page, and no errors, about an honest environment."""
    done = program.run(["audit", place])
    lines = done.stdout.decode(errors="replace").splitlines()
    errors = [line for line in lines if line.startswith("error")]
    print(f"audit: {len(lines)} lines, {len(errors)} of them errors")
    for line in errors:
        print(f"  {line}")
    return done.returncode in (0, 1) and not errors and len(lines) <= PAGE


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=60, help="(group, name) pairs to ask for")
    options = parser.parse_args()
    found = reference.interpreters()
    reference.announce(found)
    place = environment(found)
    importlib_metadata = package_cache.importlib_metadata(found)
    if not importlib_metadata:
        package_cache.give_up(found[-1].executable, "cannot get importlib_metadata")
    with tempfile.TemporaryDirectory(prefix="entrydb-venv-") as scratch:
        oracle = Oracle(Program(scratch), reference.start_workers(found, importlib_metadata))
        shutil.rmtree(f"{place}/var", ignore_errors=True)
        updated = update(oracle.program, place)
        compare_everything(oracle, place, scratch, options.sample)
        short = audit_is_short(oracle.program, place)
        oracle.close()
    print(f"{oracle.comparisons} comparisons, {oracle.differences} differences")
    return 0 if updated and short and not oracle.differences else 1


if __name__ == "__main__":
    sys.exit(main())
