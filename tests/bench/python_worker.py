"""Times a query inside a new Python process.

usage: python_worker.py KIND GROUP SITE

Run with -I -S: sys.path is that of the interpreter with SITE, which contains the package entrydb,
appended. The kinds, each with a first and a later query:

  light         import entrydb; entrydb.entry_points(group=GROUP)
  python        import importlib.metadata; importlib.metadata.entry_points(group=GROUP)
  python-call   the same without the import
  accelerated   the same after entrydb.accelerate()
  lazy          the same after the actions of sitecustomize.py: no part of the package is imported yet
  walk          for each of distributions(): the entry points in GROUP
  walk-accelerated  the same after entrydb.accelerate()

Prints the nanoseconds of the first query, those of a later one (the median of several), the number of
entry points, and the peak resident memory in kB after the first query.
"""

import sys
import time

LONG = 300_000_000    # nanoseconds of later queries
FEWEST, MOST = 3, 200


def light():
    import entrydb
    return lambda group: entrydb.entry_points(group=group)


def importlib_metadata():
    import importlib.metadata
    return lambda group: importlib.metadata.entry_points(group=group)


def walk():
    from importlib.metadata import distributions
    return lambda group: [entry for distribution in distributions()
                          for entry in distribution.entry_points if entry.group == group]


def import_metadata():
    import importlib.metadata  # noqa: F401


def accelerate():
    import_metadata()
    import entrydb
    entrydb.accelerate()


def start_lazily():
    import_metadata()
    import _entrydb_site
    _entrydb_site.start()


# The preparation before the clock starts, and the timed import, which returns the query.
KINDS = {
    "light": (None, light),
    "python": (None, importlib_metadata),
    "python-call": (import_metadata, importlib_metadata),
    "accelerated": (accelerate, importlib_metadata),
    "lazy": (start_lazily, importlib_metadata),
    "walk": (import_metadata, walk),
    "walk-accelerated": (accelerate, walk),
}


def first(prepare, begin, group):
    if prepare:
        prepare()
    start = time.perf_counter_ns()
    ask = begin()
    found = ask(group)
    return time.perf_counter_ns() - start, len(found), ask


def later(ask, group):
    times = []
    while len(times) < FEWEST or (sum(times) < LONG and len(times) < MOST):
        start = time.perf_counter_ns()
        ask(group)
        times.append(time.perf_counter_ns() - start)
    return sorted(times)[len(times) // 2]


def peak_memory():
    with open("/proc/self/status", encoding="ascii") as stream:
        return next(line.split()[1] for line in stream if line.startswith("VmHWM"))


def main(kind, group, site):
    sys.path.append(site)
    elapsed, count, ask = first(*KINDS[kind], group)
    memory = peak_memory()
    print(elapsed, later(ask, group), count, memory, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
