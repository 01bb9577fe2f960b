"""Database handles, cached between queries.

For each set of rules one handle is cached, for the sys.path of the last query. A child of fork()
opens its own.
"""

import os
import sys

from ._native import Database

_kept = {}
os.register_at_fork(after_in_child=_kept.clear)


def item(dictionary, key):
    """Return dictionary.get(key), without its lock: in free-threaded Python get() locks the dict, and
    the child of a fork() in another thread at that moment would wait for that lock forever."""
    try:
        return dictionary[key]
    except KeyError:
        return None


class Kept(dict):
    """A cache of make(key), cleared when it has most items."""

    def __init__(self, make, most):
        self.make = make
        self.most = most

    def __missing__(self, key):
        if len(self) >= self.most:
            self.clear()
        found = self[key] = self.make(key)
        return found


def database(rules=0):
    """Return a handle for the current sys.path; None if an entry is not a valid str."""
    if type(sys.path) is not list:
        return None
    path = tuple(sys.path)  # a copy: other threads may change it
    known = item(_kept, rules)
    if known is not None and known[0] == path and all(map(_is_same, known[0], path)):
        return known[1]
    found = _open(path, rules)
    if found is not None:
        _kept[rules] = path, found
    return found


def path_entries():
    """Return the path entries of all cached handles."""
    return [each for _, handle in tuple(_kept.values()) for each in handle.path_entries()]


def _is_same(known, entry):
    return known is entry or type(entry) is str


def _open(path, rules):
    if not all(type(entry) is str for entry in path):
        return None
    try:
        return Database(path, rules, program())
    except (OSError, ValueError):  # a NUL, a lone surrogate: left to importlib.metadata
        return None


def program():
    """Return the name of this program for policy rules of a single program; None if unknown."""
    words = getattr(sys, "argv", None)
    path = words[0] if words and type(words[0]) is str else ""
    name = path.removesuffix("/__main__.py").rpartition("/")[2]  # of python -m PACKAGE
    return name if name and name.isprintable() else None


def split(params):
    """Return (group, name, parameters still to be compared) for the parameters of entry_points().

    importlib.metadata compares in the order of the keywords and stops at the first difference. So
    only the leading group and name of type str are passed to the database. The group is False if the
    database cannot answer at all.
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
    """Return the finders of sys.meta_path that find distributions."""
    return [finder for finder in sys.meta_path if getattr(finder, "find_distributions", None)]


def is_standard_finder(finder):
    """Return True for the interpreter's unmodified PathFinder."""
    home = item(sys.modules, "_frozen_importlib_external")
    if home is None or finder is not item(vars(home), "PathFinder"):
        return False
    method = item(vars(finder), "find_distributions")
    if type(method) not in (classmethod, staticmethod):  # a wrapper may have their __func__
        return False
    function = method.__func__
    return type(function) is type(is_standard_finder) and function.__globals__ is vars(home) \
        and function.__code__.co_filename == "<frozen importlib._bootstrap_external>"
