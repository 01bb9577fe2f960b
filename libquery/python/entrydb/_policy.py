"""The rules about what may be loaded (entrydb(1)), over answers that come from importlib.metadata.

What a database answers is without what they forbid already. A file of rules that cannot
be read or believed forbids nothing here: a program does not lose its plugins because of
that, it is warned.
"""

import sys
from os import fsencode

from ._databases import database, program
from ._native import Database


def has_rules():
    """Is there any? Without one, nothing differs from importlib.metadata."""
    try:
        return _handle().has_policy()
    except (OSError, ValueError) as error:
        _warn(error)
        return False


def _warn(error):
    import warnings
    warnings.warn(f"entrydb: {error}", RuntimeWarning, stacklevel=1)


def obey(found):
    """The same without what is forbidden, of the same class."""
    return _without(found, _handle()) if has_rules() else found


def _handle():
    """On what of sys.path can have rules."""
    return database() or Database(tuple(filter(_is_path, sys.path)), 0, program())


def _is_path(entry):
    """Not what names no file: another object, a NUL, a lone surrogate."""
    try:
        return type(entry) is str and b"\0" not in fsencode(entry)
    except UnicodeEncodeError:
        return False


def _without(found, handle):
    if isinstance(found, dict):  # by group: CPython 3.10 and 3.11, asked for everything
        kept = ((group, _without(each, handle)) for group, each in found.items())
        return type(found)((group, each) for group, each in kept if each)
    return type(found)(each for each in found if _is_allowed(each, handle))


def _is_allowed(each, handle):
    dist = getattr(each, "dist", None)
    name = getattr(dist, "_normalized_name", None)
    place = getattr(getattr(dist, "_path", None), "parent", None)  # the rules of environments are for their own
    try:
        return handle.allowed(each.group, each.name, name, str(place or "/"))[0]
    except OSError as error:  # an environment's, or the file has gone bad meanwhile
        _warn(error)
    except (ValueError, TypeError):  # no text
        pass
    return True
