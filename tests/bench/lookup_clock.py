"""Times what a program spends in look-ups of entry points, wherever it makes them.

Imported at the start of an interpreter, from a .pth file. Once the program has imported
importlib.metadata or importlib_metadata, its entry_points(), distributions() and the
property Distribution.entry_points are timed, the outermost of them alone. Each adds a
line, in nanoseconds, to the file ENTRYDB_BENCH_CLOCK: at once, since some programs end
by becoming another one.
"""

import os
import sys
import time

METADATA = ("importlib.metadata", "importlib_metadata")
inside = False
file = os.open(os.environ["ENTRYDB_BENCH_CLOCK"], os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)


def timed(function):
    def wrapper(*arguments, **keywords):
        global inside
        if inside:
            return function(*arguments, **keywords)
        inside, start = True, time.perf_counter_ns()
        try:
            return function(*arguments, **keywords)
        finally:
            elapsed, inside = time.perf_counter_ns() - start, False
            os.write(file, b"%d\n" % elapsed)
    return wrapper


def timed_iterator(function):
    def wrapper(*arguments, **keywords):
        advance = timed(iter(function(*arguments, **keywords)).__next__)
        while True:
            try:
                found = advance()
            except StopIteration:
                return
            yield found
    return wrapper


def watch(module):
    module.entry_points = timed(module.entry_points)
    module.distributions = timed_iterator(module.distributions)
    getter = vars(module.Distribution)["entry_points"].fget
    module.Distribution.entry_points = property(timed(getter))


class Loader:
    def __init__(self, loader):
        self.loader = loader

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        watch(module)


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name not in METADATA:
            return None
        for finder in sys.meta_path:
            spec = finder is not self and finder.find_spec(name, path, target)
            if spec:
                spec.loader = Loader(spec.loader)
                return spec
        return None


sys.meta_path.insert(0, Finder())
