"""Replaces every part of a metadata module, one after another, and tells what was answered.

usage: replaced_worker.py MODULE HOW...

MODULE: importlib.metadata or importlib_metadata. HOW: plain, wraps or wrapt. On stdout one JSON
list a line for each case: [part, when, how, answers, calls that the replacement saw]. With
entrydb or without must make no difference: test_replaced.py compares the two.
"""

import functools
import importlib
import io
import json
import os
import re
import sys
import types

NAME, *HOWS = sys.argv[1:]
module = importlib.import_module(NAME)
import pathlib  # noqa: E402

SKIPPED = frozenset((  # what a class cannot lose, and plain facts about a module
    "__dict__", "__weakref__", "__module__", "__qualname__", "__slots__", "__builtins__", "__name__",
    "__package__", "__path__", "__file__", "__cached__", "__spec__", "__loader__", "__doc__",
    "__all__", "__orig_bases__", "__firstlineno__", "__static_attributes__", "_abc_impl",
    "__abstractmethods__", "__parameters__", "__lazy_modules__"))


# --- what is replaced ---

def homes():
    """(name, owner, attributes)"""
    yield "", module, list(vars(module))
    for name, value in list(vars(module).items()):
        if isinstance(value, type) and value.__module__.startswith(NAME):
            yield name, value, list(vars(value))
    for kind in type(pathlib.Path()).__mro__[:-1]:
        yield kind.__name__, kind, list(vars(kind))
    yield "os", os, ["listdir", "stat", "fspath"]
    yield "io", io, ["open"]


def parts():
    return [(f"{home}.{name}", owner, name) for home, owner, names in homes()
            for name in names if name not in SKIPPED]


class Recorder:
    """Replacements, and the calls that they saw."""

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
        """The same kind of thing; for what is not called, an object that tells who asks it."""
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


class Asked:
    def __init__(self, recorder, own):
        self.recorder, self.own = recorder, own

    def __getattr__(self, name):
        self.recorder.calls += 1
        return getattr(self.own, name)


# --- what is asked ---

def text(value):
    """Without the addresses of objects."""
    return re.sub("0x[0-9a-f]+", "", str(value))


def rows(found):
    return sorted(map(text, ((each.name, each.value, each.group) for each in found)))


def questions():
    yield lambda: rows(module.entry_points(group="demo"))
    yield lambda: rows(module.entry_points(group="demo", name="d1"))
    yield lambda: [rows(each.entry_points) for each in module.distributions()]


def attempt(question):
    try:
        return question()
    except Exception as error:
        return [type(error).__name__, text(error)]


def ask():
    return [attempt(question) for question in questions()]


def forget_listings():
    """Importlib.metadata keeps them; where it was not asked itself, it has none."""
    module.FastPath.__new__.cache_clear()


# --- cases ---

def run_case(owner, name, how):
    forget_listings()
    recorder = Recorder()
    own = vars(owner)[name]
    try:
        setattr(owner, name, recorder.replacement(own, how))
    except (AttributeError, TypeError) as error:
        return [text(error)], 0
    answers = ask()
    calls = recorder.calls
    setattr(owner, name, own)
    return [*answers, *ask()], calls


def acceleration():
    """Of the module; None without it."""
    replacing = sys.modules.get("_entrydb_replacement")
    return replacing and replacing.replacements.get(NAME)


def forget_recognition():
    """The next question is the first one again."""
    found = acceleration()
    if found:
        from entrydb import _metadata_module
        _metadata_module._recognised.clear()
        found.ask = found.ask_distribution = None
        found.wait = found.pause = 0


def main():
    connected = []
    for part, owner, name in parts():
        for how in HOWS:
            for when in "before", "after":
                forget_recognition()
                if when == "after":
                    ask()
                    connected.append(bool(acceleration() and acceleration().ask))
                print(json.dumps([part, when, how, *run_case(owner, name, how)]))
    print(json.dumps(sum(connected) / len(connected)))


if __name__ == "__main__":
    main()
