"""entrydb: entry points from a database, with the answers of importlib.metadata.

entry_points() returns the same as importlib.metadata.entry_points(), without importing
importlib.metadata. accelerate() makes importlib.metadata itself use the database, so that existing
programs need no change; `python -m entrydb on` does so for a whole environment.
"""

__version__ = "0.1.0"
__all__ = ["EntryPoint", "EntryPoints", "accelerate", "decelerate", "entry_points", "version"]

# Imported on first use.
_LATER = ("EntryPoint", "EntryPoints", "entry_points", "version")


def accelerate():
    """Make importlib.metadata and importlib_metadata answer from the database, with their own
    objects, whether imported before or after this call. Imports neither. ENTRYDB=0 disables it."""
    import os
    import posix
    site = _site()
    if os.environ.get("ENTRYDB") != "0" or posix.environ.get(b"ENTRYDB") == b"0":
        site.start()  # which judges the variable of the process; else the program has set it
    rest = site.part("_entrydb_replacement")
    rest.worth = 0  # load entrydb with the first query
    for module, _ in tuple(rest.replacements.values()):
        found = site.part("_entrydb_connecting").of(module)
        if found:
            found.connect()


def decelerate():
    """Undo accelerate()."""
    site = _site()
    rest = site.part("_entrydb_replacement")
    site.part("_entrydb_connecting").stop(rest)


def _site():
    """Return the module _entrydb_site beside this package, even if sys.path has changed."""
    import sys
    home = __path__[0].rpartition("/")[0]
    sys.path.insert(0, home)  # remove() removes the first
    try:
        import _entrydb_site
    finally:
        sys.path.remove(home)
    return _entrydb_site


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _entry_points
    value = globals()[name] = getattr(_entry_points, name)
    return value


def __dir__():
    return sorted({*globals(), *__all__})
