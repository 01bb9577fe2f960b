"""Replaces the parts of a metadata module, one after another, and prints the answers.

usage: replaced_worker.py MODULE HOW...

MODULE: importlib.metadata or importlib_metadata. HOW: plain, wraps or wrapt. Writes one JSON list per
case: [part, when, how, answers, calls that the replacement received]. The output must be the same
with and without entrydb: test_replaced.py compares them.
"""

import importlib
import json
import re
import sys

NAME, *HOWS = sys.argv[1:]
module = importlib.import_module(NAME)
from wrappers import Recorder, parts  # noqa: E402 - imports modules that must be imported after it

# --- queries ---

def text(value):
    """repr() without the addresses of objects."""
    return re.sub("0x[0-9a-f]+", "", str(value))


def rows(found):
    return sorted(map(text, ((each.name, each.value, each.group) for each in found)))


def questions():
    yield lambda: rows(module.entry_points(group="demo"))
    yield lambda: rows(module.entry_points(group="demo", name="d1"))
    yield lambda: [rows(each.entry_points) for each in module.distributions()]
    yield lambda: [module.version("d1"), text(vars(module.distribution("D2")))]
    yield lambda: [(each.name, each.version) for each in module.distributions()]


def attempt(question):
    try:
        return question()
    except Exception as error:
        return [type(error).__name__, text(error)]


def ask():
    return [attempt(question) for question in questions()]


def forget_listings():
    """Clear importlib.metadata's cache of listings, which it has not filled if entrydb answered."""
    module.FastPath.__new__.cache_clear()


# --- cases ---

def run_case(owner, name, how):
    forget_listings()
    recorder = Recorder()
    try:
        with recorder.replacing(owner, name, how):
            answers = ask()
            calls = recorder.calls
    except (AttributeError, TypeError) as error:
        return [text(error)], 0
    return [*answers, *ask()], calls


def acceleration():
    """The acceleration of the module; None without it."""
    getattr(vars(module).get("_entrydb"), "entry_points", None)  # the first time makes it
    return vars(module).get("_entrydb")


def forget_recognition():
    """Make the next query behave like the first."""
    found = acceleration()
    if found:
        from entrydb import _metadata_module
        _metadata_module._recognized.clear()
        for name in found.own:
            vars(found).pop(name, None)
        found.connected, found.wait, found.pause = False, 0, 0


def main():
    connected = []
    for part, owner, name in parts(module):
        for how in HOWS:
            for when in "before", "after":
                forget_recognition()
                if when == "after":
                    ask()
                    connected.append(bool(acceleration() and acceleration().connected))
                print(json.dumps([part, when, how, *run_case(owner, name, how)]))
    print(json.dumps(sum(connected) / len(connected)))


if __name__ == "__main__":
    main()
