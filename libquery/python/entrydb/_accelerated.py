"""Answers from the database, as objects of importlib.metadata's own classes."""

import os
from operator import attrgetter

from _entrydb_connecting import Moved, environ, replacements, submodule

from . import _metadata_module, _native
from ._metadata_module import WITH_METADATA
from ._databases import Kept, database, finders, item, path_entries, split

WALK_BEGINS = 32      # distributions: reading them one by one takes as long as reading all at once
WALK_PAUSE_MAX = 4096
WALKS_MAX = 64        # path entries

by_group = attrgetter("group")


def connect(replacement):
    """Answer queries from the database from now on. Return False if the module is not recognized and
    there are no policy rules."""
    known = _metadata_module.now(replacement.module)
    if known is None:
        return has_rules() and obey_rules(replacement)
    answer = Answer(replacement)
    answer.adopt(known)
    for name in "entry_points", "distribution", "name_of", "version_of":
        setattr(replacement, name, getattr(answer, name))
    replacement.refresh_at_exit(stale)
    replacement.connected = True
    return True


def stale():
    """Return the (path entry, database) pairs found stale so far."""
    return [each[:2] for each in path_entries() if each[1] and each[2] == "scanned"]


def has_rules():
    """Return True if there are policy rules; import _policy only if there may be."""
    handle = database()
    try:
        if handle and not handle.has_policy():
            return False
    except (OSError, ValueError):  # _policy reports it
        pass
    try:
        return submodule("_policy").has_rules()
    except Moved:
        return False


def obey(found):
    return submodule("_policy").obey(found) if has_rules() else found


def obey_rules(replacement):
    """Let the module itself answer permanently, and filter its answers by the policy rules."""
    obey_all = submodule("_policy").obey
    own = replacement.own
    vars(replacement).update(own)
    replacement.entry_points_of = lambda distribution: obey_all(own["entry_points_of"](distribution))
    replacement.entry_points = lambda **params: obey_all(own["entry_points"](**params))
    replacement.connected = True
    return True


def provider(caller):
    """Return the MetadataModule of the only finder; None if importlib.metadata must answer.

    Once importlib_metadata is imported, its finder is the only one, and the standard module returns
    importlib_metadata's distributions and entry points.
    """
    found = finders()
    module = _metadata_module.home_of(found[0]) if len(found) == 1 else None
    if module is caller.module:
        return caller
    if module is None or caller.module.__name__ != "importlib.metadata":
        return None
    return _metadata_module.current(module)


class Answer:
    """The answers of one metadata module; own: the module's own functions."""

    def __init__(self, replacement):
        self.replacement = replacement
        self.module, self.own = replacement.module, replacement.own
        self.caller = None

    def entry_points(self, /, **params):
        found = self.find(params)
        return obey(self.own["entry_points"](**params)) if found is None else found

    def distribution(self, name):
        return self.find_distribution(name) or self.own["distribution"](name)

    def name_of(self, distribution):
        return self.header(distribution, 0) or self.own["name_of"](distribution)

    def version_of(self, distribution):
        return self.header(distribution, 1) or self.own["version_of"](distribution)

    def adopt(self, known):
        """Use the current state of the module."""
        self.caller = known
        walk = walker(known, self.read)
        self.replacement.entry_points_of = obedient(walk) if has_rules() else walk

    def is_own(self):
        """Return True if the module is recognized and unmodified."""
        known = _metadata_module.current(self.module)
        if known is not None and known is not self.caller:
            self.adopt(known)
        return known is not None

    def read(self, distribution):
        """Return the entry points of a distribution that the walker cannot answer for. The change that
        prevents it may be harmless or reverted, so look at the module again."""
        self.is_own()
        return self.own["entry_points_of"](distribution)

    def find(self, params):
        """Return the answer of entry_points(**params); None if Python must answer."""
        group, name, rest = split(params)
        if group is False or not self.is_own():
            return None
        known = provider(self.caller)
        handle = known and database(self.caller.rules)
        if handle and known.parses and not handle.all_parse():
            return None
        found = handle and handle.select(group, name, known.EntryPoint, known.locator(),
                                         known.parses)
        if found is None:
            return None
        groups = self.caller.groups  # from here on the same as the module's own function
        if groups and not params:
            return groups.load(found)
        if groups and group is None:
            found.sort(key=by_group)
        found = self.caller.EntryPoints(found)
        return found.select(**rest) if rest else found

    def find_distribution(self, name):
        """Return the distribution of that name; None if distribution() itself must answer or raise."""
        if type(name) is not str or not name or not self.is_own() or self.caller.finds is None:
            return None
        known = provider(self.caller)
        handle = known and database(known.rules)
        found = handle and handle.find(name)
        if not found or self.caller.finds == WITH_METADATA and not _named(found[1]):
            return None
        return known.locator()(*found)

    def header(self, distribution, which):
        """Return the name or version of a plain PathDistribution; None if Python must read it, because
        it may raise or has to join lines."""
        known = self.caller
        if type(distribution) is not known.PathDistribution or len(vars(distribution)) != 1:
            return None
        path = vars(distribution).get("_path")
        if type(path) is not known.path_type or not self.is_own() or self.caller.finds is None:
            return None
        found = _native.headers(str(path))
        return found and found[which] and found[which].isprintable() and found[which]


def _named(file):
    """Return True if its METADATA, or the file used instead, has a Name."""
    found = _native.headers(file)
    return found and found[0] is not None


def obedient(walk):
    """Return the walk filtered by the policy rules. Without rules at connect time, later ones are not
    checked for: a walk takes one microsecond for each distribution."""
    obey_all = submodule("_policy").obey
    return lambda distribution: obey_all(walk(distribution))


class Walk:
    """The distributions of one path entry, for callers that iterate over them."""

    def __init__(self, root):
        self.root = root
        self.view = None  # (database, number of its state, rows): set atomically, for other threads
        self.wait = max(0, WALK_BEGINS - sum(each.read for each in tuple(replacements.values())))
        self.pause = WALK_BEGINS

    def find(self, file):
        """Return (name, value, group, name, ...); None if importlib.metadata must read.

        Reading all of a path entry pays only from some number of distributions on, and only while
        the database is fresh.
        """
        wait = self.wait
        if wait:
            self.wait = wait - 1  # from the local value: see Recognition.current()
            return None
        database, known, rows = self.view or (_native.Database((self.root,)), None, None)
        number = database.refresh()
        if number is None:
            self.view = database, None, None
            self.wait = self.pause = min(2 * self.pause, WALK_PAUSE_MAX)
            return None
        if number != known:
            # importlib.metadata finds no files by their paths inside an archive.
            rows = _native.is_directory(self.root or ".") and database.survey() or {}
            self.view = database, number, rows
        return item(rows, file)


walks = Kept(Walk, WALKS_MAX)  # by directory, as importlib.metadata spells it
os.register_at_fork(after_in_child=walks.clear)


def walker(known, fallback):
    """Return the getter of the property entry_points for the distributions of one metadata module."""
    if environ.get("ENTRYDB_FRESH") == "exact":
        return fallback  # each query would check all distributions; the fallback reads one
    return _native.walker(known.PathDistribution, known.path_type, known.EntryPoint,
                          known.EntryPoints, known.unchanged, walks, fallback, known.parses)
