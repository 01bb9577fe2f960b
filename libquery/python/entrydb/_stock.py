"""Which importlib.metadata is this, and is it still what it was?

Its rules of order and shadowing, and its classes, changed from release to release,
and a program may replace any part of it. So a module is recognised by the functions
that make its answers, by the names that each of them uses: known ones stand in the
table below. What is not in it is left to stock.
"""

import os
import sys
from operator import attrgetter

from . import _native
from ._databases import finders, is_standard_finder

# What makes the answers: where (a class, or the module itself) and what.
_PARTS = (
    ("", ("entry_points", "distributions", "unique_everseen")),
    ("Sectioned", ("section_pairs", "read", "valid")),
    ("EntryPoint", ("__init__", "_for", "matches")),
    ("EntryPoints", ("select", "_from_text_for", "_from_text", "_parse_groups")),
    ("SelectableGroups", ("load", "_all", "select")),
    ("Distribution", ("discover", "_discover_resolvers", "_prefer_valid", "entry_points",
                      "_normalized_name")),
    ("FastPath", ("__init__", "joinpath", "children", "zip_children", "search", "mtime", "lookup")),
    ("Lookup", ("__init__", "search")),
    ("Prepared", ("__init__", "normalize", "legacy_normalize")),
    ("MetadataPathFinder", ("find_distributions", "_search_paths")),
    ("PathDistribution", ("__init__", "read_text", "_normalized_name", "_name_from_stem",
                          "_has_metadata")),
)

# What reads one entry_points.txt: all that the property of a distribution rests upon.
_READING = frozenset((
    ("Sectioned", "section_pairs"), ("Sectioned", "read"), ("Sectioned", "valid"),
    ("EntryPoint", "__init__"), ("EntryPoint", "_for"), ("EntryPoints", "_from_text_for"),
    ("EntryPoints", "_from_text"), ("EntryPoints", "_parse_groups"),
    ("PathDistribution", "read_text")))

# Digest of the parts -> the rules by which they answer. Each line was compared with stock
# by the differential test. Left out are CPython 3.15 and importlib_metadata 8.7 to 9.0,
# where one value that cannot be parsed fails every call, and 9.1 and 10.0, which sort
# the directory.
_KNOWN = {
    0x7df7cbbf80840e12: 0,                # CPython 3.10
    0x8cc5a2a39f0e5bd1: 0,                # CPython 3.11
    0xb055a32cfa6286e7: 0,                # CPython 3.12
    0x926b61f5a651bbb6: 0,                # CPython 3.13
    0x60f59a6f84109f73: 0,                # importlib_metadata 5.0 to 7.0.0
    0x49b22a853b0c3e44: 0,                # 7.0.1
    0x5c1b43b793854a95: 0,                # 7.1 to 8.0
    0x42886653672e470a: 0,                # 8.1 and 8.2
    0x95d3bf937e4c2771: 0,                # 8.3 and 8.4
    0xaf5889dbaa236d8a: 0,                # 8.5 and 8.6
    0x6c3c13a0b038062f: _native.IM_10_1,  # 10.1
    0xea9ee69518af1236: _native.IM_10_1,  # 10.2
}


class Stock:
    """A metadata module that was recognised."""

    def __init__(self, module, rules):
        self.module = module
        self.rules = rules
        self.EntryPoint = module.EntryPoint
        self.EntryPoints = module.EntryPoints
        self.PathDistribution = module.PathDistribution
        self.FastPath = module.FastPath
        self.Path = module.pathlib.Path
        self.path_type = type(self.Path())
        self.groups = getattr(module, "SelectableGroups", None)
        found = _replacement(module)
        self.property = found.property if found else vars(module.Distribution)["entry_points"]
        self.seen = tuple(_seen(module, _all_parts()))
        self.seen_reading = tuple(_seen(module, _READING))

    def unchanged(self):
        """Has nobody replaced a part of the module, or what it reads the disk with?"""
        if not _native.same(self.seen):
            return False
        found = _replacement(self.module)
        expected = found.own_property if found else self.property
        return (vars(self.module.Distribution)["entry_points"] is expected
                and "entry_points" not in vars(self.PathDistribution))

    def locator(self):
        """A function from a path entry and the file name of metadata in it to a distribution."""
        joins = {}
        new, kind = object.__new__, self.PathDistribution

        def locate(path, file):
            join = joins.get(path)
            if join is None:
                join = joins[path] = self.join_in(path)
            distribution = new(kind)  # what its own __new__ adds is a check of the class
            distribution._path = join(file.rpartition("/")[2])
            return distribution

        return locate

    def join_in(self, path):
        """How stock gets from a path entry to a child of it."""
        if os.path.isdir(path or "."):
            return lambda child: self.Path(path, child)
        fast = self.FastPath(path)
        fast.lookup(fast.mtime)  # finds that it is a zip, and how to join paths in it
        return fast.joinpath


def _all_parts():
    return [(place, name) for place, names in _PARTS for name in names]


def _home(module, place):
    """The namespace that a part is looked up in; an empty one where there is no such class."""
    if not place:
        return vars(module)
    found = getattr(module, place, None)
    return {} if found is None else vars(found)


def _seen(module, parts):
    """(namespace, name, value) of the parts, of the classes, and of the ways to the disk."""
    for place, name in parts:
        home = _home(module, place)
        if name in home and (place, name) not in _REPLACED:
            yield home, name, home[name]
    for name in ("os", "pathlib", "EntryPoint", "EntryPoints", "Distribution",
                 "PathDistribution", "FastPath", "Lookup", "Prepared", "MetadataPathFinder",
                 "DistributionFinder"):
        yield vars(module), name, vars(module)[name]
    yield vars(os), "listdir", os.listdir
    yield vars(os), "stat", os.stat
    yield vars(module.pathlib), "Path", module.pathlib.Path
    for name in ("read_text", "open", "joinpath"):
        yield _giver(module.pathlib.Path, name)


# Those that acceleration itself replaces.
_REPLACED = frozenset((("", "entry_points"), ("Distribution", "entry_points")))


def _giver(owner, name):
    """Of which class an attribute comes."""
    for each in owner.__mro__:
        if name in vars(each):
            return vars(each), name, vars(each)[name]
    raise AttributeError(name)


# --- recognition ---

def _codes(part):
    """The code of a function, however it is wrapped, and of the functions in it."""
    part = getattr(part, "fget", part)
    part = getattr(part, "__func__", part)
    while hasattr(part, "__wrapped__"):
        part = part.__wrapped__
    code = getattr(part, "__code__", None)
    waiting = [] if code is None else [code]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [each for each in code.co_consts if isinstance(each, type(code))]


def digest(module, originals):
    """A number for what the parts of a module do. originals: parts that were replaced."""
    words = []
    for place, name in _all_parts():
        part = originals.get((place, name)) or _home(module, place).get(name)
        words.append(f"{place}.{name}")
        words += sorted({each for code in _codes(part) for each in code.co_names})
    return _native.digest(" ".join(words))


def recognise(module, originals=()):
    """The Stock of a metadata module; None where it is not known."""
    try:
        rules = _KNOWN.get(digest(module, dict(originals)))
        return None if rules is None else Stock(module, rules)
    except (AttributeError, KeyError, TypeError):
        return None


# --- the modules of this process ---

_recognised = {}


def of(module):
    """The Stock of a module, found out once; a module loaded anew is another one."""
    known = _recognised.get(module.__name__)
    if known is None or known[0] is not vars(module).get("Distribution"):
        known = vars(module).get("Distribution"), recognise(module, _originals(module))
        _recognised[module.__name__] = known
    return known[1]


def _replacement(module):
    site = sys.modules.get("_entrydb_site")
    return site and site.replacements.get(module.__name__)


def _originals(module):
    found = _replacement(module)
    if not found:
        return ()
    return {("", "entry_points"): found.function, ("Distribution", "entry_points"): found.property}


def maker():
    """The Stock whose distributions importlib.metadata would answer with."""
    import importlib.metadata
    found = [provider(finder) for finder in finders()]
    if len(found) == 1 and found[0]:
        return found[0]
    return of(importlib.metadata) or Stock(importlib.metadata, 0)


def entry_points(params):
    """What stock answers, in the order of discovery: older versions sort by group."""
    import importlib.metadata as module
    if hasattr(module, "SelectableGroups"):
        unique = module.unique_everseen(module.distributions(), key=attrgetter("_normalized_name"))
        found = [each for distribution in unique for each in distribution.entry_points]
        return [each for each in found if each.matches(**params)]
    replaced = _replacement(module)
    return (replaced.function if replaced else module.entry_points)(**params)


def provider(finder):
    """The Stock of the module that a finder of distributions belongs to; None if unknown."""
    if is_standard_finder(finder):
        module = sys.modules.get("importlib.metadata")
    else:
        module = sys.modules.get("importlib_metadata")
        if type(finder) is not getattr(module, "MetadataPathFinder", None):
            return None
    return module and of(module)
