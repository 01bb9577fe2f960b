"""What importlib.metadata does, timed inside its own process.

usage: baseline.py scan GROUP PATH_ENTRY...    the first importlib.metadata.entry_points(group=GROUP),
                                               and another; GROUP "": those of all groups
       baseline.py wheels WHEEL...             the entry_points.txt of each, by zipfile

Prints nanoseconds, how many entry points, or bytes, there were, and the nanoseconds of
the second question. The imports are not counted. Run with -I -S.
"""

import sys
import time


def scan(group, *path):
    import importlib.metadata
    import zipfile  # noqa: F401

    sys.path[:] = path
    parameters = {"group": group} if group else {}
    start = time.perf_counter_ns()
    found = tuple(importlib.metadata.entry_points(**parameters))
    first = time.perf_counter_ns()
    tuple(importlib.metadata.entry_points(**parameters))
    return first - start, len(found), time.perf_counter_ns() - first


def wheels(paths):
    import zipfile

    start = time.perf_counter_ns()
    size = 0
    for path in paths:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".dist-info/entry_points.txt"):
                    size += len(archive.read(name))
    return time.perf_counter_ns() - start, size


if __name__ == "__main__":
    print(*(scan(*sys.argv[2:]) if sys.argv[1] == "scan" else wheels(sys.argv[2:])), sep="\t")
