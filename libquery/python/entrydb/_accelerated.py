"""The answers that replace stock's: its own objects, found through the database."""

import os
from operator import attrgetter

from . import _native, _stock
from ._databases import database, finders, split

WALK_BEGINS = 8       # distributions of one path entry that were asked for, one by one
WALK_PAUSE_MAX = 4096
WALKS_MAX = 64        # path entries

by_group = attrgetter("group")


def connect(replacement):
    """Answer through it from now on; a module that is not recognised stays stock's."""
    stock = _stock.of(replacement.module)
    if stock is None:
        replacement.active = False
        return
    replacement.ask_distribution = walker(stock, replacement.property.fget)
    replacement.ask = Answer(stock, replacement.function)  # last: it says that all is there


def provider(caller):
    """The Stock whose finder is the only one; None where stock has to be asked.

    Once importlib_metadata is imported, its finder is the only one, and the standard
    module answers with distributions and entry points of its making.
    """
    found = finders()
    if len(found) != 1:
        return None
    stock = _stock.provider(found[0])
    if stock is None or not stock.unchanged():
        return None
    if stock is not caller and (caller.module.__name__ != "importlib.metadata"
                                or not caller.unchanged()):
        return None
    return stock


class Answer:
    """entry_points() of one metadata module."""

    def __init__(self, caller, fallback):
        self.caller = caller
        self.fallback = fallback

    def __call__(self, params):
        found = self.find(params)
        return self.fallback(**params) if found is None else found

    def find(self, params):
        group, name, rest = split(params)
        stock = None if group is False else provider(self.caller)
        handle = stock and database(self.caller.rules)
        found = handle and handle.select(group, name, stock.EntryPoint, stock.locator())
        if found is None:
            return None
        return self.collect(found, group, params, rest)

    def collect(self, found, group, params, rest):
        """As stock's function ends, for these entry points."""
        groups = self.caller.groups
        if groups and not params:
            return groups.load(found)
        if groups and group is None:
            found.sort(key=by_group)
        found = self.caller.EntryPoints(found)
        return found.select(**rest) if rest else found


class Walk:
    """The distributions of one path entry, which somebody asks for one after another."""

    def __init__(self, root):
        self.root = root
        self.database = None
        self.state = self.rows = None
        self.wait = self.pause = WALK_BEGINS

    def find(self, file):
        """(name, value, group) tuples; None where stock has to be asked.

        Reading all of a root is worth it from some number of distributions on, and only
        as long as the root is what the database has.
        """
        if self.wait:
            self.wait -= 1
            return None
        if self.database is None:
            self.database = _native.Database((self.root,))
        state = self.database.refresh()
        if state is None:
            self.wait = self.pause = min(2 * self.pause, WALK_PAUSE_MAX)
            return None
        if state != self.state:
            # By the path of a file stock finds nothing inside an archive.
            self.rows = os.path.isdir(self.root or ".") and self.database.survey() or {}
            self.state = state
        return self.rows.get(file)


class Walks(dict):
    """By directory; for a file name, as stock spells it."""

    def __missing__(self, root):
        if len(self) >= WALKS_MAX:
            self.clear()
        found = self[root] = Walk(root)
        return found


walks = Walks()
os.register_at_fork(after_in_child=walks.clear)


def walker(stock, fallback):
    """The property entry_points of the distributions of one metadata module."""
    if os.environ.get("ENTRYDB_FRESH") == "exact":
        return fallback  # each question would look at all distributions; stock looks at one
    return _native.Walker(stock.PathDistribution, stock.path_type, stock.EntryPoint,
                          stock.EntryPoints, stock.seen_reading, walks, fallback)
