"""Times importlib.metadata inside its own process.

usage: baseline.py scan GROUP PATH_ENTRY...    the first importlib.metadata.entry_points(group=GROUP)
                                               and a second one; GROUP "" means all groups

Prints the nanoseconds of the first query, the number of entry points, and the nanoseconds of the second
query. Imports are not timed. Run with -I -S.
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


if __name__ == "__main__":
    print(*scan(*sys.argv[2:]), sep="\t")
