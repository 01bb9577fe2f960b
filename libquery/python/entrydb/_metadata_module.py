"""Which importlib.metadata is this, and is it still what it was?

Its rules of order and shadowing, and its classes, changed from release to release,
and a program may replace any part of it. So a module is recognised by the functions
that make its answers, by the names that each of them uses: known ones stand in the
table below. What is not in it is left alone.

No state of the module is believed to be its own because it was met first: a function is
its own if its code was loaded from the module's directory and runs in its namespace,
which nobody's wrapper does (see native/recognize.c). Whether what was found so has changed is seen
before each answer (see native/parts.c); of the rest of Python, what the answer would be read with.
"""

import os
import sys
from operator import attrgetter

from . import _native
from ._databases import Kept, finders, is_standard_finder, item

PATH_ENTRIES_MAX = 64  # whose paths are kept
PATHS_MAX = 1024       # of one of them

# Digest of the parts -> the rules by which they answer. Each line was compared with the
# module itself by the differential test. Left out are importlib_metadata 9.1 and 10.0,
# which sort the directory.
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

# Those that parse each value when its object is made: where one cannot be, every call fails.
_PARSING = frozenset((
    0x40d9e224b655de70, 0xe06d791400e38abf, 0x77bf904aeaa83b48, 0x680541e039084313,
    0xfc4da4f51f824644, 0xb9befc09786976a7,
))


FIRST, WITH_METADATA = 1, 2  # which of several distributions of one name is found

# Digest of what finds a distribution by its name -> one of these.
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
    """A metadata module: how its objects are made; if it was recognised, by which rules it
    answers, and what it was then."""

    def __init__(self, module, digest=0, naming=0, unchanged=None, names=None):
        """unchanged: has nobody replaced a part of the module, or what it reads the disk with?"""
        names = names or vars(module)
        self.module = module
        self.rules = _KNOWN.get(digest, 0)
        self.parses = digest in _PARSING
        self.finds = _FINDING.get(naming)  # a distribution by its name: which one?
        self.unchanged = unchanged
        self.EntryPoint = names["EntryPoint"]
        self.EntryPoints = names["EntryPoints"]
        self.PathDistribution = names["PathDistribution"]
        self.FastPath = names["FastPath"]
        self.Path = names["pathlib"].Path
        self.path_type = names["pathlib"].PosixPath  # what Path() makes; no question asks it here
        self.groups = names.get("SelectableGroups")
        self.paths = no_paths(self.Path)

    def locator(self):
        """A function from a path entry and the file name of metadata in it to a distribution."""
        joins = {}
        new, kind = object.__new__, self.PathDistribution

        def locate(path, file):
            join = joins.get(path)
            if join is None:
                join = joins[path] = self.join_in(path)
            distribution = new(kind)  # what its own __new__ adds is a check of the class
            distribution._path = join(file)
            return distribution

        return locate

    def join_in(self, path):
        """How the module itself gets from a path entry to a file in it."""
        if _native.is_directory(path or "."):
            return self.paths[path].__getitem__
        fast = self.FastPath(path)
        fast.lookup(fast.mtime)  # finds that it is a zip, and how to join paths in it
        return lambda file: fast.joinpath(file.rpartition("/")[2])


def no_paths(make):
    """By directory, the Path of each file in it, by the file's name; nobody changes a Path."""
    return Kept(lambda directory: Kept(lambda file: make(directory, file.rpartition("/")[2]),
                                       PATHS_MAX), PATH_ENTRIES_MAX)


def recognise(module, originals, ours):
    """The MetadataModule, None where its code is not known, or a part of it is not its own; and a
    function that tells whether all that this rests upon is as it was."""
    digest, naming, unchanged, names = _native.recognise(module, originals, ours)
    try:
        known = MetadataModule(module, digest, naming, unchanged, names) if digest in _KNOWN else None
    except (AttributeError, KeyError):
        known = None
    return known if unchanged() else None, unchanged  # another thread may have patched it


# --- the modules of this process ---

class Recognition:
    """What is known of one module, which a program may patch, and may put right again."""

    def __init__(self, module):
        self.module = module
        self.wait = self.pause = 0
        self.known = None
        self.look()

    def current(self):
        """The MetadataModule, if all of it is its own at this moment."""
        known, unchanged = self.seen
        if not unchanged():
            return self.look()
        wait = self.wait
        if known is None and not wait:
            return self.look()
        if wait:
            self.wait = wait - 1  # of what it was: threads that count at once do not get below 0
        return known

    def look(self):
        """A patch that was there before may be gone, and another may be harmless. Where one of the
        other kind was seen, and no change since, it is looked at ever more rarely."""
        found, _ = self.seen = recognise(self.module, *_replaced(self.module))
        if found is None:  # what is known stays: it will be that again
            self.wait = self.pause = min(2 * self.pause + 1, QUESTIONS_WAITED_MAX)
        else:
            self.known = found
            self.wait = self.pause = 0
        return found


QUESTIONS_WAITED_MAX = 1023
_recognised = {}


def _forget_paths():
    """In a child of fork(): another thread may have been in the middle of adding one."""
    for each in tuple(_recognised.values()):
        if each.known:
            each.known.paths = no_paths(each.known.Path)


os.register_at_fork(after_in_child=_forget_paths)


def _recognition(module):
    """A module that is loaded again is another one."""
    found = item(_recognised, module.__name__)
    if found is None or found.module is not module:
        found = _recognised[module.__name__] = Recognition(module)
    return found


def current(module):
    """The MetadataModule of a module that is recognised, and is all its own now; or None."""
    return _recognition(module).current()


def now(module):
    """The same, looked at however short a time ago that was done in vain."""
    seen = _recognised.get(module.__name__)
    found = _recognition(module)
    if found is seen:
        found.wait = 0
        return found.current()
    return found.known


def of(module):
    """The MetadataModule of a module that was recognised, whatever became of it; or None."""
    return _recognition(module).known


def _replaced(module):
    """The parts that acceleration has replaced, and what it has put in their places."""
    replacing = sys.modules.get("_entrydb_replacement")
    known, parts, _ = replacing and replacing.replacements.get(module.__name__) or (None, {}, None)
    if known is not module:
        return {}, ()
    parts = tuple(parts.items())  # to which another thread may add
    return {place: theirs for place, (_, theirs, _) in parts}, tuple(ours for _, (_, _, ours) in parts)


def maker():
    """The MetadataModule whose distributions importlib.metadata would answer with."""
    import importlib.metadata
    found = [provider(finder) for finder in finders()]
    if len(found) == 1 and found[0]:
        return found[0]
    return of(importlib.metadata) or MetadataModule(importlib.metadata)


def entry_points(params):
    """What importlib.metadata answers, in the order of discovery: older versions sort by group."""
    import importlib.metadata as module
    if hasattr(module, "SelectableGroups"):
        unique = module.unique_everseen(module.distributions(), key=attrgetter("_normalized_name"))
        found = [each for distribution in unique for each in distribution.entry_points]
        return [each for each in found if each.matches(**params)]
    own = _replaced(module)[0].get(("", "entry_points"), module.entry_points)
    return own(**params)


def home_of(finder):
    """The module that a finder of distributions belongs to; None if unknown, or not imported."""
    if is_standard_finder(finder):
        return item(sys.modules, "importlib.metadata")
    module = item(sys.modules, "importlib_metadata")
    is_its = type(finder) is getattr(module, "MetadataPathFinder", None)
    return module if is_its and not getattr(finder, "__dict__", None) else None


def provider(finder):
    """Its MetadataModule; None if it is not known."""
    module = home_of(finder)
    return module and of(module)
