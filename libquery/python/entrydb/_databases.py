"""Handles on path entries, kept between questions, and who answers for sys.path.

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


def finders():
    """The finders of sys.meta_path that stock would ask for distributions."""
    return [finder for finder in sys.meta_path if getattr(finder, "find_distributions", None)]
