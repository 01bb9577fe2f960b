"""The measurements. Each takes a Bench and yields rows.

A row has pairs (entrydb, baseline), measured one right after the other in the same run; its ratio is
the median of the pairs' ratios. The columns of the C programs are documented in their sources.
"""

import contextlib
import os
import shutil
import sqlite3
import statistics
import time

import environments
from environments import COMMON_GROUP, RARE_GROUP, SITE

HERE = os.path.dirname(os.path.abspath(__file__))
SETTLE_SECONDS = 3    # younger distributions are compared one by one at each query

# Microseconds are timed in batches shorter than a time slice. There are many batches, so that the median
# is not affected by those that other processes interrupted.
BATCHES = 40      # per round
LOOKUPS = 200     # per batch
FEW_LOOKUPS = 20  # whose pages fit a cache of SQLite's default size
OPENINGS = 5


class Row:
    """@reach: the target, as at_most(1.5) or at_least(8); None and UNPROMISED mean no target."""

    def __init__(self, work, against, pairs, reach=None, unit="us"):
        self.work, self.against, self.reach, self.unit = work, against, reach, unit
        self.entrydb = statistics.median(pair[0] for pair in pairs)
        self.baseline = statistics.median(pair[1] for pair in pairs)
        ratios = [a / b for a, b in pairs]
        if reach and reach.faster:
            ratios = [1 / ratio for ratio in ratios]
        self.ratio = statistics.median(ratios)
        self.spread = min(ratios), max(ratios)
        self.rounds = len(pairs)

    @property
    def verdict(self):
        return self.reach.verdict(self.ratio) if self.reach else ""


class Difference(Row):
    """A difference of times with a large common part, shown in place of the ratio."""

    def __init__(self, work, against, pairs, reach=None, unit="us"):
        super().__init__(work, against, pairs, None, unit)
        self.reach = reach
        differences = [a - b for a, b in pairs]
        self.ratio = statistics.median(differences)
        self.spread = min(differences), max(differences)


class Reach:
    def __init__(self, limit, faster):
        self.limit, self.faster = limit, faster

    def __str__(self):
        return f">= {self.limit:g} x faster" if self.faster else f"<= {self.limit:g} x"

    def verdict(self, ratio):
        if ratio >= self.limit if self.faster else ratio <= self.limit:
            return "ok"
        by = self.limit / ratio - 1 if self.faster else ratio / self.limit - 1
        return f"short by {by:.0%}"


class Unpromised(Reach):
    """Shows the speed-up, for rows that accompany the row with a target."""

    def __init__(self):
        super().__init__(None, True)

    def __str__(self):
        return "x faster"

    def verdict(self, ratio):
        return ""


class DifferenceReach:
    faster = False

    def __init__(self, limit, unit):
        self.limit, self.unit = limit, unit

    def __str__(self):
        return f"<= +{self.limit:g} {self.unit}"

    def verdict(self, difference):
        return "ok" if difference <= self.limit else f"short by {difference - self.limit:.2g} {self.unit}"


def at_most(limit):
    return Reach(limit, False)


UNPROMISED = Unpromised()


def at_most_more(limit, unit):
    return DifferenceReach(limit, unit)


def at_least(limit):
    return Reach(limit, True)


def columns(lines, entrydb, baseline):
    """Two columns of a C program's output, converted from nanoseconds to microseconds."""
    return [(line[entrydb] / 1e3, line[baseline] / 1e3) for line in lines]


def scaled(pairs, divisor=1e3):
    return [(a / divisor, b / divisor) for a, b in pairs]


# --- environments, created once ---

def settle(bench):
    time.sleep(SETTLE_SECONDS)


def realistic(bench, distributions):
    """An environment with a database and without young files."""
    prefix = f"{bench.scratch}/realistic-{distributions}"
    if not os.path.isdir(prefix):
        bench.note(f"making {distributions} distributions")
        environments.make_environment(prefix, distributions)
        settle(bench)
        bench.update(prefix)
    return prefix


def crowded(bench, distributions, each):
    prefix = f"{bench.scratch}/crowded-{distributions * each}"
    if not os.path.isdir(prefix):
        bench.note(f"making {distributions * each:,} entry points")
        environments.make_crowded_environment(prefix, distributions, each)
        settle(bench)
        bench.update(prefix)
    return prefix


def some_entry_point(bench, prefix):
    """The group and name of a typical entry point."""
    lines = bench.output([bench.entrydb, "list", "--path", f"{prefix}/{SITE}", COMMON_GROUP]).splitlines()
    return lines[len(lines) // 2].split("\t")[:2]


def site_of(prefix):
    return f"{prefix}/{SITE}"


# --- look-ups ---

def lookup(bench):
    prefix = realistic(bench, bench.size(2000, 200))
    kinds = ["trust", "roots", "bare", "stats"]
    lines = bench.table(["lookup", bench.rounds * BATCHES, LOOKUPS, "first", *(f"{kind}:{prefix}" for kind in kinds)])
    work = "look-up by group and name, kept open"
    yield Row(f"{work}, fresh=trust", "the bare SQLite statement", columns(lines, 0, 2), at_most(1.5))
    yield Row(f"{work}, fresh=roots, 3 path entries", "the bare SQLite statement", columns(lines, 1, 2))
    yield Row(f"{work}, fresh=roots, 3 path entries", "the bare statement and 4 stat()", columns(lines, 1, 3))


def growth(bench):
    small = crowded(bench, 100, 10)
    middle = crowded(bench, 500, 20)
    large = crowded(bench, 2000, bench.size(500, 50))
    subjects = [f"{kind}:{prefix}" for kind in ("trust", "bare") for prefix in (small, middle, large)]
    lines = bench.table(["lookup", bench.rounds * BATCHES, LOOKUPS, "first", *subjects])
    again = bench.table(["lookup", bench.rounds * BATCHES, FEW_LOOKUPS, "again", *subjects])
    work, count = "look-up, kept open", f"{2000 * bench.size(500, 50):,} entry points"
    yield Row(f"{work}, 10,000 entry points", "the same among 1,000", columns(lines, 1, 0))
    yield Row(f"{work}, {count}", "the same among 1,000", columns(lines, 2, 0), at_most(1.3))
    yield Row(f"{work}, {count}", "the bare SQLite statement", columns(lines, 2, 5))
    yield Row(f"{work}, {count}, asked again", "the same among 1,000", columns(again, 2, 0))
    yield Row(f"[the bare statement, {count}, asked again]", "the same among 1,000", columns(again, 5, 3))
    yield Row(f"[the bare statement, {count}]", "the same among 1,000", columns(lines, 5, 3))


def opening(bench):
    prefix = realistic(bench, bench.size(2000, 200))
    group, name = some_entry_point(bench, prefix)
    lines = bench.table(["open", bench.rounds * BATCHES, OPENINGS, prefix, group, name])
    work = "open, select, close"
    yield Row(f"{work}, freshness of 3 path entries", "bare SQLite open, prepare, query, close", columns(lines, 0, 2),
              at_most(1.5))
    yield Row(f"{work}, freshness of 3 path entries", "the same and 4 stat()", columns(lines, 0, 3))
    yield Row(f"{work}, fresh=trust", "bare SQLite open, prepare, query, close", columns(lines, 1, 2))


# --- native plugins ---

# The steps of JAX: the entry points of a group, the file of the module, the library beside it.
FIND_IN_PYTHON = """
import time
start = time.perf_counter_ns()
import importlib.metadata, importlib.util, pathlib, sys
sys.path.insert(0, sys.argv[1])
found = [each for each in importlib.metadata.entry_points(group=sys.argv[2]) if each.name == sys.argv[3]]
path = pathlib.Path(importlib.util.find_spec(found[0].module).origin).resolve()
assert path.exists()
print(time.perf_counter_ns() - start)
"""


def plugin(bench):
    """Each measurement is taken by a new process."""
    count = bench.size(1000, 50)
    prefix, name = f"{bench.scratch}/plugins", f"plugin_{count // 2:04}"
    environments.make_plugins(prefix, count, bench.program("plugin.so"))
    settle(bench)
    bench.update(prefix)
    one = [prefix, environments.PLUGIN_GROUP, name]
    load, find, bare, registry = ([bench.program("plugin"), way, *one] for way in ("load", "find", "bare", "registry"))
    known = [bench.program("plugin"), "known", f"{site_of(prefix)}/{name}/native.so", "entry"]
    python = [*bench.python, "-c", FIND_IN_PYTHON, site_of(prefix), *one[1:]]
    pairs = bench.interleave(lambda: bench.inside(load) - bench.inside(known), lambda: bench.inside(bare), times=10)
    yield Row(f"find and load one plugin among {count:,}, less dlopen of the known path",
              "bare SQLite open, query, close", scaled(pairs), at_most(1.5))
    pairs = bench.interleave(lambda: bench.inside(find), lambda: bench.inside(python))
    yield Row(f"find one plugin among {count:,}, in a new process", f"as JAX does (Python {bench.python_version})",
              scaled(pairs), at_least(100))
    pairs = bench.interleave(lambda: bench.inside(registry), lambda: 100.0)
    yield Row("registry: look-up of a name that is loaded", "100 ns", pairs, at_most(1), unit="ns")


# --- scans ---

def scan(bench):
    count = bench.size(500, 100)
    prefix = f"{bench.scratch}/unindexed"
    if not os.path.isdir(prefix):
        environments.make_environment(prefix, count)
    site = site_of(prefix)
    for group, note in ((RARE_GROUP, "a group that few have"), (COMMON_GROUP, "a group that most have")):
        ours = [bench.program("visit"), group, site]
        python = [*bench.python, f"{HERE}/baseline.py", "scan", group, site]
        bench.same_count(ours, python)
        pairs = bench.interleave(lambda c=ours: bench.inside(c), lambda c=python: bench.inside(c))
        yield Row(f"scan of an unindexed directory, {count} distributions, {note}",
                  f"importlib.metadata, first (Python {bench.python_version})", scaled(pairs), at_least(12))


# --- updates ---

def remove_database(prefix):
    shutil.rmtree(f"{prefix}/var", ignore_errors=True)


def full_update(bench, prefix):
    remove_database(prefix)
    return bench.wall([bench.entrydb, "update", "--quiet", prefix])


def read_all(database):
    """The statements that create such a database, and the insertions with their rows."""
    with contextlib.closing(sqlite3.connect(database)) as source:
        schema = source.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL "
                                "AND name NOT LIKE 'sqlite_%' ORDER BY rowid").fetchall()
        tables = []
        for name in (name for kind, name, _ in schema if kind == "table"):
            columns = [column for column, in source.execute(
                f"SELECT name FROM pragma_table_xinfo('{name}') WHERE hidden = 0")]
            tables.append((f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                           source.execute(f"SELECT {', '.join(columns)} FROM {name} ORDER BY rowid").fetchall()))
    return ";".join(sql for _, _, sql in schema), tables


def publication(database):
    """Nanoseconds for writing the rows into a new file by plain SQLite, and for fsync, rename, fsync."""
    schema, tables = read_all(database)
    new, directory = f"{database}.bench.new", os.open(os.path.dirname(database), os.O_RDONLY)
    start = time.perf_counter_ns()
    with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as target:
        target.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; "
                             f"PRAGMA cache_size = -65536; BEGIN IMMEDIATE; {schema}")
        for insertion, rows in tables:
            target.executemany(insertion, rows)
        target.execute("COMMIT")
    written = time.perf_counter_ns()
    with open(new, "rb") as file:
        os.fsync(file.fileno())
    os.rename(new, f"{database}.bench")
    os.fsync(directory)
    done = time.perf_counter_ns()
    os.close(directory)
    return written - start, done - written


def update(bench):
    count = bench.size(2000, 200)
    prefix = realistic(bench, count)
    site, lines = site_of(prefix), []
    for _ in range(bench.rounds):
        ours = full_update(bench, prefix)
        read = bench.wall([bench.program("readfiles"), site])
        again = full_update(bench, prefix)
        read_again = bench.wall([bench.program("readfiles"), site])
        rows, sync = publication(f"{prefix}/var/lib/entrydb/entry_points.db")
        lines += [(ours, read, rows, sync), (again, read_again, rows, sync)]
    work, against = f"full update of {count} distributions", "bare C reading the same files"
    yield Row(work, against, [(line[0] / 1e3, line[1] / 1e3) for line in lines])
    yield Row(f"{work}, less the publication", against,
              [((line[0] - line[2] - line[3]) / 1e3, line[1] / 1e3) for line in lines], at_most(2))


def install(bench):
    count = bench.size(2000, 200)
    prefix, site = realistic(bench, count), site_of(realistic(bench, count))
    maker, pairs = environments.Maker(1), []
    for number in range(bench.rounds):
        package = f"newcomer_{number}"
        settle(bench)
        whole = full_update(bench, prefix)
        info = environments.make_distribution(maker, site, package, maker.entry_points(package))
        one = bench.wall([bench.entrydb, "update", "--quiet", prefix])
        pairs.append((one, whole))
        shutil.rmtree(f"{site}/{info}")
        shutil.rmtree(f"{site}/{package}")
    settle(bench)
    full_update(bench, prefix)
    yield Row(f"update after one install among {count}", "full update", scaled(pairs), at_least(10))


FIGURES = {
    "lookup": lookup,
    "growth": growth,
    "open": opening,
    "plugin": plugin,
    "scan": scan,
    "update": update,
    "install": install,
}
