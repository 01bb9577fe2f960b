"""The parts of a metadata module, and wrappers that do nothing but count their calls.

A program's wrapper must see the same calls with and without entrydb. replaced_worker.py installs one
after another, session_worker.py some at a time, temporarily.
"""

import contextlib
import functools
import importlib.machinery
import io
import os
import pathlib
import types

SKIPPED = frozenset((  # attributes that a class must have, and constants of a module
    "__dict__", "__weakref__", "__module__", "__qualname__", "__slots__", "__builtins__", "__name__",
    "__package__", "__path__", "__file__", "__cached__", "__spec__", "__loader__", "__doc__",
    "__all__", "__orig_bases__", "__firstlineno__", "__static_attributes__", "_abc_impl",
    "__abstractmethods__", "__parameters__", "__lazy_modules__", "__warningregistry__",
    "__annotations__", "__annotations_cache__",  # created when they are accessed
    "_entrydb"))                                 # added by the acceleration


def homes(module):
    """(name, owner, attributes)"""
    yield "", module, list(vars(module))
    for name, value in list(vars(module).items()):
        if isinstance(value, type) and value.__module__.startswith(module.__name__):
            yield name, value, list(vars(value))
    for kind in pathlib.PosixPath.__mro__[:-1]:
        yield kind.__name__, kind, list(vars(kind))
    finder = importlib.machinery.PathFinder
    yield "PathFinder", finder, [name for name in vars(finder) if name == "find_distributions"]
    yield "os", os, ["listdir", "stat", "fspath"]
    yield "io", io, ["open"]


def parts(module):
    """(name, owner, attribute)"""
    return [(f"{home}.{name}", owner, name) for home, owner, names in homes(module)
            for name in names if name not in SKIPPED]


def counted(find, counts, what):
    """A function of entrydb that counts its calls, and those that returned an answer."""
    def call(*arguments):
        counts[what] += 1
        found = find(*arguments)
        counts[what + "_native"] += found is not None
        return found
    return call


class Recorder:
    """Replacements that record the calls they receive."""

    def __init__(self):
        self.calls = 0

    def plain(self, own):
        def replaced(*arguments, **keywords):
            self.calls += 1
            return own(*arguments, **keywords)
        return replaced

    def wraps(self, own):
        return functools.wraps(own)(self.plain(own))

    def wrapt(self, own):
        import wrapt

        def wrapper(wrapped, instance, arguments, keywords):
            self.calls += 1
            return wrapped(*arguments, **keywords)

        return wrapt.FunctionWrapper(own, wrapper)

    def replacement(self, own, how):
        """A replacement of the same kind; for parts that are not called, an object that records accesses."""
        wrap = getattr(self, how)
        if how == "wrapt" and (callable(own) or hasattr(own, "__get__")):
            return wrap(own)
        if isinstance(own, (staticmethod, classmethod)):
            return type(own)(wrap(own.__func__))
        if isinstance(own, property):
            return property(wrap(own.fget), own.fset, own.fdel, own.__doc__)
        if callable(own):
            return wrap(own)
        return Asked(self, own) if isinstance(own, types.ModuleType) else object()

    @contextlib.contextmanager
    def replacing(self, owner, name, how):
        """Context manager; raises AttributeError or TypeError if the part cannot be replaced."""
        own = vars(owner)[name]
        setattr(owner, name, self.replacement(own, how))
        try:
            yield
        finally:
            setattr(owner, name, own)


class Asked:
    def __init__(self, recorder, own):
        self.recorder, self.own = recorder, own

    def __getattr__(self, name):
        self.recorder.calls += 1
        return getattr(self.own, name)
