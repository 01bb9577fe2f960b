"""entrydb: entry points from a database, with the answers of importlib.metadata.

entry_points() answers what importlib.metadata.entry_points() would, without importing
it. accelerate() puts the database under importlib.metadata itself, for a program that
is not to be changed; `python -m entrydb on` does so for a whole environment.
"""

__version__ = "0.1.0"
__all__ = ["EntryPoint", "EntryPoints", "accelerate", "decelerate", "entry_points", "version"]

# Imported when first used, so that one of them does not cost the import of the others.
_LATER = ("EntryPoint", "EntryPoints", "entry_points", "version")


def accelerate():
    """Let importlib.metadata and importlib_metadata, imported now or later, answer through
    the database, with their own objects. Neither is imported by it. ENTRYDB=0 forbids it."""
    site = _site()
    site.start()
    rest = site.rest()
    rest.worth = 0  # who asks for it wants it at once
    for _, _, begin in tuple(rest.replacements.values()):
        replacement = begin()
        if replacement:
            replacement.connect()


def decelerate():
    """Take back all that accelerate() did."""
    rest = _site().rest()
    rest.submodule("_connecting").stop(rest)


def _site():
    """The module beside this package, also when sys.path leads elsewhere by now."""
    import sys
    home = __path__[0].rpartition("/")[0]
    sys.path.append(home)
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
