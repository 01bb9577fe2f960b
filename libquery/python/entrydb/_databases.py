"""Questions and the handles that answer them, kept between one question and the next.

One handle, on the sys.path of the last question, is kept for each set of rules. A
child of fork() opens its own.
"""

import os
import sys

from ._native import Database

_kept = {}
os.register_at_fork(after_in_child=_kept.clear)


def database(rules=0):
    """A handle on sys.path as it is now; None where an entry is not for a database."""
    path = sys.path
    known = _kept.get(rules)
    if known is not None and known[0] == path and all(map(_is_same, known[0], path)):
        return known[1]
    found = _open(path, rules)
    if found is not None:
        _kept[rules] = list(path), found
    return found


def _is_same(known, entry):
    return known is entry or type(entry) is str


def _open(path, rules):
    if type(path) is not list or not all(type(entry) is str for entry in path):
        return None
    try:
        return Database(tuple(path), rules)
    except (OSError, ValueError):  # a NUL, a lone surrogate: stock knows what to do
        return None


def split(params):
    """(group, name, what else must be compared) of the parameters of entry_points().

    Stock compares in the order of the keywords and stops at the first difference. So
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
    """The finders of sys.meta_path that stock would ask for distributions."""
    return [finder for finder in sys.meta_path if getattr(finder, "find_distributions", None)]


def is_standard_finder(finder):
    """PathFinder as the interpreter has brought it along."""
    if type(finder) is not type or finder.__module__ != "_frozen_importlib_external":
        return False
    function = getattr(finder.find_distributions, "__func__", finder.find_distributions)
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == "<frozen importlib._bootstrap_external>"
