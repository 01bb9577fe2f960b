"""Questions and the handles that answer them, kept between one question and the next.

One handle, on the sys.path of the last question, is kept for each set of rules. A
child of fork() opens its own.
"""

import os
import sys

from ._native import Database

_kept = {}
os.register_at_fork(after_in_child=_kept.clear)


def item(dictionary, key):
    """As dictionary.get(key), which takes the dict's lock where Python has no other one: what a
    thread waits for when another one forks, the child would wait for for ever."""
    try:
        return dictionary[key]
    except KeyError:
        return None


class Kept(dict):
    """What was made of each key; where these get too many, all are forgotten."""

    def __init__(self, make, most):
        self.make = make
        self.most = most

    def __missing__(self, key):
        if len(self) >= self.most:
            self.clear()
        found = self[key] = self.make(key)
        return found


def database(rules=0):
    """A handle on sys.path as it is now; None where an entry is not for a database."""
    if type(sys.path) is not list:
        return None
    path = tuple(sys.path)  # which other threads may change
    known = item(_kept, rules)
    if known is not None and known[0] == path and all(map(_is_same, known[0], path)):
        return known[1]
    found = _open(path, rules)
    if found is not None:
        _kept[rules] = path, found
    return found


def path_entries():
    """What all handles have found of theirs."""
    return [each for _, handle in tuple(_kept.values()) for each in handle.path_entries()]


def _is_same(known, entry):
    return known is entry or type(entry) is str


def _open(path, rules):
    if not all(type(entry) is str for entry in path):
        return None
    try:
        return Database(path, rules, program())
    except (OSError, ValueError):  # a NUL, a lone surrogate: importlib.metadata knows what to do
        return None


def program():
    """Who asks, where a rule about what may be loaded is for one program only."""
    words = getattr(sys, "argv", None)
    path = words[0] if words and type(words[0]) is str else ""
    name = path.removesuffix("/__main__.py").rpartition("/")[2]  # of python -m PACKAGE
    return name if name and name.isprintable() else None


def split(params):
    """(group, name, what else must be compared) of the parameters of entry_points().

    importlib.metadata compares in the order of the keywords and stops at the first difference. So
    what is asked of the database are the exact strings at the front, and no more. The
    group is False where the database cannot be asked at all.
    """
    group = name = None
    for key, value in params.items():
        if type(value) is str and key == "group":
            group = value
        elif type(value) is str and key == "name":
            name = value
        else:
            break
    else:
        return group, name, None
    if "dist" in params or "self" in params or group is None:
        return False, None, None
    return group, name, params


def finders():
    """The finders of sys.meta_path that importlib.metadata would ask for distributions."""
    return [finder for finder in sys.meta_path if getattr(finder, "find_distributions", None)]


def is_standard_finder(finder):
    """PathFinder as the interpreter has brought it along."""
    home = item(sys.modules, "_frozen_importlib_external")
    if home is None or finder is not item(vars(home), "PathFinder"):
        return False
    method = item(vars(finder), "find_distributions")
    if type(method) not in (classmethod, staticmethod):  # a wrapper may have their __func__
        return False
    function = method.__func__
    return type(function) is type(is_standard_finder) and function.__globals__ is vars(home) \
        and function.__code__.co_filename == "<frozen importlib._bootstrap_external>"
