"""Applies the policy rules (entrydb(1), POLICY) to answers of importlib.metadata.

Answers from a database are already filtered. A policy file that cannot be read or is not trusted
forbids nothing here: the program keeps its plugins and gets a warning.
"""

import sys
from os import fsencode

from ._databases import database, program
from ._native import Database


def has_rules():
    """Return True if there are policy rules."""
    try:
        return _handle().has_policy()
    except (OSError, ValueError) as error:
        _warn(error)
        return False


def _warn(error):
    import warnings
    warnings.warn(f"entrydb: {error}", RuntimeWarning, stacklevel=1)


def obey(found):
    """Return the allowed ones, in a collection of the same class."""
    return _without(found, _handle()) if has_rules() else found


def _handle():
    """Return a handle for sys.path, without invalid entries."""
    return database() or Database(tuple(filter(_is_path, sys.path)), 0, program())


def _is_path(entry):
    """Return True for a str without NUL and lone surrogates."""
    try:
        return type(entry) is str and b"\0" not in fsencode(entry)
    except UnicodeEncodeError:
        return False


def _without(found, handle):
    if isinstance(found, dict):  # by group: CPython 3.10 and 3.11 without parameters
        kept = ((group, _without(each, handle)) for group, each in found.items())
        return type(found)((group, each) for group, each in kept if each)
    return type(found)(each for each in found if _is_allowed(each, handle))


def _is_allowed(each, handle):
    dist = getattr(each, "dist", None)
    name = getattr(dist, "_normalized_name", None)
    place = getattr(getattr(dist, "_path", None), "parent", None)  # the rules of an environment apply to it only
    try:
        return handle.allowed(each.group, each.name, name, str(place or "/"))[0]
    except OSError as error:  # of an environment's policy file, or of one changed since has_rules()
        _warn(error)
    except (ValueError, TypeError):  # not a str
        pass
    return True
