"""Recognizes the version of a metadata module, and modifications of it.

Its rules of order and shadowing, and its classes, differ between releases, and a program may replace
any part of it. So a module is recognized by a digest of the functions that make its answers: of the
names that each of them uses. The table below lists the known ones; other modules are left unchanged.

The state at first use is not assumed to be unmodified: a function counts as original if its code was
loaded from the module's file and its globals are the module's namespace, which no wrapper can imitate
(see native/recognize.c). Before each answer, changes since then are detected (see native/parts.c),
also in the parts of the standard library that read the files.
"""

import os
import sys
from operator import attrgetter

import _entrydb_connecting

from . import _native
from ._databases import Kept, finders, is_standard_finder, item

PATH_ENTRIES_MAX = 64  # path entries whose paths are cached
PATHS_MAX = 1024       # paths of one path entry

# Digest -> the rules of its answers. The differential test has compared each line with the module
# itself. importlib_metadata 9.1 and 10.0 are not supported: they sort the directory.
_KNOWN = {
    0xc5385507234123d9: 0,                # CPython 3.10
    0xbc1335fcfd622cdd: 0,                # CPython 3.11
    0x5e96b6160d22e9bd: 0,                # CPython 3.12
    0xdb37f5e77b82ae9e: 0,                # CPython 3.13 and 3.14
    0x40d9e224b655de70: 0,                # CPython 3.15
    0x3e8c121e48390068: 0,                # importlib_metadata 5.0 to 7.0.0
    0x0bfe6d52475a03a5: 0,                # 7.0.1 and 7.0.2
    0x49681e3899703c8d: 0,                # 7.1 to 8.0
    0xad4f580ac4a66f23: 0,                # 8.1 and 8.2
    0x782bd45d0a93b2d0: 0,                # 8.3 and 8.4
    0x5c35ec62c2ebe1a7: 0,                # 8.5 and 8.6
    0xe06d791400e38abf: 0,                # 8.7
    0x77bf904aeaa83b48: 0,                # 8.8
    0x680541e039084313: 0,                # 8.9
    0xfc4da4f51f824644: 0,                # 9.0.0
    0xb9befc09786976a7: 0,                # 9.0.1
    0xb8c105d44ff3fa4e: _native.IM_10_1,  # 10.1
    0xd0c0b052a81ca7b7: _native.IM_10_1,  # 10.2
}

# Modules that parse each value when its object is made: every call fails if one is invalid.
_PARSING = frozenset((
    0x40d9e224b655de70, 0xe06d791400e38abf, 0x77bf904aeaa83b48, 0x680541e039084313,
    0xfc4da4f51f824644, 0xb9befc09786976a7,
))


FIRST, WITH_METADATA = 1, 2  # among several distributions of one name: the one that is found

# Digest of the functions that find a distribution by its name -> one of these.
_FINDING = {
    0x9c13837deeb2a914: FIRST,          # CPython 3.10
    0x8c4f30277256c3ca: FIRST,          # 3.11
    0x0e225811160178dc: FIRST,          # 3.12
    0x46dd06eb58c14d6c: FIRST,          # 3.13 and 3.14, importlib_metadata 7.1 to 8.0
    0xe3b7268c7eddb5b6: FIRST,          # importlib_metadata 6 to 7.0
    0xcb03079d2ec8465c: WITH_METADATA,  # 8.1 to 8.6
    0x62980ffb0d350885: WITH_METADATA,  # 8.7 to 8.9
    0xf3560a1ece18d962: WITH_METADATA,  # 9.0, and CPython 3.15
    0xa21eabbf0d84e525: WITH_METADATA,  # 10.1
    0xbc0714e8659fa0be: WITH_METADATA,  # 10.2
}


class MetadataModule:
    """A metadata module: its classes and, if it was recognized, the rules of its answers."""

    def __init__(self, module, digest=0, naming=0, unchanged=None, names=None):
        """unchanged: a function that returns False after a change of the module or the functions it uses."""
        names = names or vars(module)
        self.module = module
        self.rules = _KNOWN.get(digest, 0)
        self.parses = digest in _PARSING
        self.finds = _FINDING.get(naming)  # which distribution of a name: FIRST, WITH_METADATA or None
        self.unchanged = unchanged
        self.EntryPoint = names["EntryPoint"]
        self.EntryPoints = names["EntryPoints"]
        self.PathDistribution = names["PathDistribution"]
        self.FastPath = names["FastPath"]
        self.Path = names["pathlib"].Path
        self.path_type = names["pathlib"].PosixPath  # the type of Path()'s result
        self.groups = names.get("SelectableGroups")
        self.paths = no_paths(self.Path)

    def locator(self):
        """Return a function that makes a distribution of a path entry and its metadata file."""
        joins = {}
        new, kind = object.__new__, self.PathDistribution

        def locate(path, file):
            join = joins.get(path)
            if join is None:
                join = joins[path] = self.join_in(path)
            distribution = new(kind)  # its own __new__ only checks the class
            distribution._path = join(file)
            return distribution

        return locate

    def join_in(self, path):
        """Return a function that joins a file to the path entry as the module itself does."""
        if _native.is_directory(path or "."):
            return self.paths[path].__getitem__
        fast = self.FastPath(path)
        fast.lookup(fast.mtime)  # detects a zip file, and how to join paths in it
        return lambda file: fast.joinpath(file.rpartition("/")[2])


def no_paths(make):
    """Return a cache: directory -> file -> Path. Sharing is safe, since a Path is immutable."""
    return Kept(lambda directory: Kept(lambda file: make(directory, file.rpartition("/")[2]),
                                       PATHS_MAX), PATH_ENTRIES_MAX)


def recognize(module):
    """Return the MetadataModule, or None if its code is unknown or modified; and a function that
    returns True as long as nothing of this has changed."""
    digest, naming, unchanged, names = _native.recognize(module, _replaced(module).copy())
    try:
        known = MetadataModule(module, digest, naming, unchanged, names) if digest in _KNOWN else None
    except (AttributeError, KeyError):
        known = None
    return known if unchanged() else None, unchanged  # another thread may have patched it


# --- the modules of this process ---

class Recognition:
    """The current MetadataModule of a module that programs may patch and restore."""

    def __init__(self, module):
        self.module = module
        self.wait = self.pause = 0
        self.known = None
        self.look()

    def current(self):
        """Return the MetadataModule; None if the module is modified now."""
        known, unchanged = self.seen
        if not unchanged():
            return self.look()
        wait = self.wait
        if known is None and not wait:
            return self.look()
        if wait:
            self.wait = wait - 1  # from the local value: concurrent threads cannot get below 0
        return known

    def look(self):
        """Recognize the module again: a patch may be reverted, or harmless. After a failure without
        changes since, further attempts are increasingly rare."""
        found, _ = self.seen = recognize(self.module)
        if found is None:  # self.known stays, for when the patch is reverted
            self.wait = self.pause = min(2 * self.pause + 1, QUESTIONS_WAITED_MAX)
        else:
            self.known = found
            self.wait = self.pause = 0
        return found


QUESTIONS_WAITED_MAX = 1023
_recognized = {}


def _forget_paths():
    """In a child of fork(): another thread may have been adding a path."""
    for each in tuple(_recognized.values()):
        if each.known:
            each.known.paths = no_paths(each.known.Path)


os.register_at_fork(after_in_child=_forget_paths)


def _recognition(module):
    """Return the Recognition of a module; a reloaded module gets a new one."""
    found = item(_recognized, module.__name__)
    if found is None or found.module is not module:
        found = _recognized[module.__name__] = Recognition(module)
    return found


def current(module):
    """Return the MetadataModule of a recognized and currently unmodified module; or None."""
    return _recognition(module).current()


def now(module):
    """The same, without waiting after a failed recognition."""
    seen = _recognized.get(module.__name__)
    found = _recognition(module)
    if found is seen:
        found.wait = 0
        return found.current()
    return found.known


def of(module):
    """Return the MetadataModule of a module recognized at some time; or None."""
    return _recognition(module).known


def _replaced(module):
    """Return what entrydb has replaced: a name -> (function, its code, the original function)."""
    found = _entrydb_connecting.of(module)
    return found.replaced if found else {}


def maker():
    """Return the MetadataModule whose distributions importlib.metadata would return."""
    import importlib.metadata
    found = [provider(finder) for finder in finders()]
    if len(found) == 1 and found[0]:
        return found[0]
    return of(importlib.metadata) or MetadataModule(importlib.metadata)


def entry_points(params):
    """Return importlib.metadata's answer in the order of discovery: older versions sort by group."""
    import importlib.metadata as module
    if hasattr(module, "SelectableGroups"):
        unique = module.unique_everseen(module.distributions(), key=attrgetter("_normalized_name"))
        found = [each for distribution in unique for each in distribution.entry_points]
        return [each for each in found if each.matches(**params)]
    *_, own = _replaced(module).get("entry_points", [module.entry_points])
    return own(**params)


def home_of(finder):
    """Return the module that a finder of distributions belongs to; None if unknown or not imported."""
    if is_standard_finder(finder):
        return item(sys.modules, "importlib.metadata")
    module = item(sys.modules, "importlib_metadata")
    is_its = type(finder) is getattr(module, "MetadataPathFinder", None)
    return module if is_its and not getattr(finder, "__dict__", None) else None


def provider(finder):
    """Return the MetadataModule of a finder; None if unknown."""
    module = home_of(finder)
    return module and of(module)
