"""Mutants: the package entrydb wrong on purpose, patched in a worker of the differential test.

Each is a function that patches one thing. mutants.py sees to it that every one is noticed.
"""

import copy
import itertools
import os

import entrydb._accelerated as accelerated
import entrydb._databases as databases
import entrydb._entry_points as light
import entrydb._native as native
import entrydb._metadata_module as metadata_module

Database = native.Database


# --- on the entry points of an answer ---

def file_of(entry):
    """Of its metadata; light ones have no distribution yet."""
    dist = vars(entry)["dist"]
    return dist.file if type(dist) is light._Located else str(dist._path)


def blocks(entries):
    """The entries of each distribution, which stand together."""
    return [list(each) for _, each in itertools.groupby(entries, key=file_of)]


def reverse_readdir(entries):
    return [entry for block in reversed(blocks(entries)) for entry in block]


def sort_by_name(entries):
    return sorted(entries, key=lambda entry: file_of(entry).lower())


def reverse_in_file(entries):
    return [entry for block in blocks(entries) for entry in reversed(block)]


def drop_egg_info(entries):
    return [entry for entry in entries if not file_of(entry).lower().endswith("egg-info")]


def drop_last(entries):
    return entries[:-1]


def lose_case(entries):
    return [remade(entry, entry.name.lower(), entry.group, entry.dist) for entry in entries]


def lose_shared_distributions(entries):
    return [remade(entry, entry.name, entry.group, copy.copy(entry.dist)) for entry in entries]


def lose_shared_groups(entries):
    return [remade(entry, entry.name, another(entry.group), entry.dist) for entry in entries]


def remade(entry, name, group, dist):
    return type(entry)(name, entry.value, group)._for(dist)


def another(text):
    """An equal str, but not the same object."""
    return (text + "x")[:-1]


def on_entries(change):
    """The mutant that changes what the database answers so."""
    class Changed(Spoilt):
        def select(self, *arguments):
            found = super().select(*arguments)
            return found and change(found)

    put(Changed)


# --- on the handle ---

class Spoilt:
    """A handle on path entries that one method of may be replaced."""

    def __init__(self, path, rules=0, program=None):
        self.path = path
        self.rules = rules
        self.own = Database(path, rules, program)

    def select(self, *arguments):
        return self.own.select(*arguments)

    def survey(self):
        return self.own.survey() or {}

    def __getattr__(self, name):
        return getattr(self.own, name)


def put(database):
    databases.Database = native.Database = database


def un_shadow():
    """Each path entry alone, so that none hides what another brings."""
    class Unshadowed(Spoilt):
        def select(self, *arguments):
            found = [Database((entry,), self.rules).select(*arguments) for entry in self.path]
            return None if None in found else list(itertools.chain(*found))

    put(Unshadowed)


def stale():
    """What it said the first time, for ever."""
    listings = {}

    class Stale(Spoilt):
        def select(self, group, name, kind, locate, *parses):
            key = os.getcwd(), self.path, self.rules, kind
            if listings.get(key) is None:
                listings[key] = self.own.select(None, None, kind, locate, *parses)
            return listings[key] and [each for each in listings[key] if group in (None, each.group)
                                      and name in (None, each.name)]

    put(Stale)


def silent_about_broken():
    """As if nobody had to be asked where a distribution cannot be read."""
    class Silent(Spoilt):
        def select(self, *arguments):
            return super().select(*arguments) or []

    put(Silent)


def trusting():
    """`roots` is no mutant of `exact`: here all is just installed, and watched by both."""
    os.environ["ENTRYDB_FRESH"] = "trust"


# --- on who is asked ---

def ignore_finders():
    """As if there were none but the known."""
    own = databases.finders

    def known_finders():
        return [each for each in own()
                if databases.is_standard_finder(each) or metadata_module.provider(each)]

    accelerated.finders = light.finders = known_finders


def ignore_replaced_parts():
    metadata_module.Recognition.current = lambda self: self.known


def see_through_wrappers():
    """As if what a wrapper says that it wraps were in its place."""
    own = metadata_module._replaced

    def replaced(module):
        originals, ours = own(module)
        found = {(home, name): value for home, owner in homes(module)
                 for name, value in vars(owner).items() if hasattr(value, "__wrapped__")}
        return ({**{key: value.__wrapped__ for key, value in found.items()}, **originals},
                (*ours, *found.values()))

    def homes(module):
        return [("", module), *((name, value) for name, value in vars(module).items()
                                if isinstance(value, type) and value.__module__ == module.__name__)]

    metadata_module._replaced = replaced


def ignore_the_rest():
    """Group and name count, whatever else is asked for."""
    def split(params):
        return *(params[key] if type(params.get(key)) is str else None
                 for key in ("group", "name")), None

    light.split = accelerated.split = split


# --- on the collection ---

def plain_tuples():
    find = accelerated.Answer.find

    def find_plainly(self, params):
        found = find(self, params)
        return found if found is None else tuple(found)

    accelerated.Answer.find = find_plainly


def not_sorted():
    """As later versions have it."""
    accelerated.by_group = lambda entry: 0


# --- on the property ---

def on_survey(change):
    """What a walk over the distributions of a path entry is answered from, changed for each file."""
    class Changed(Spoilt):
        def survey(self):
            found = super().survey()
            return {file: change(found, file) for file in found}

    put(Changed)


def property_empty():
    on_survey(lambda found, file: ())


def property_of_winner():
    """What the first distribution of that name in the directory has."""
    on_survey(lambda found, file: next(
        rows for each, rows in found.items() if project(each) == project(file)))


def property_backwards():
    on_survey(lambda found, file: found[file] and tuple(
        text for at in range(len(found[file]) - 3, -1, -3) for text in found[file][at:at + 3]))


def project(file):
    stem = os.path.splitext(os.path.basename(file))[0]
    return stem.partition("-")[0].lower()


# --- all of them ---

CHANGES = {each.__name__: each for each in (
    reverse_readdir, sort_by_name, reverse_in_file, drop_egg_info, drop_last, lose_case,
    lose_shared_distributions, lose_shared_groups)}
PATCHES = {each.__name__: each for each in (
    un_shadow, stale, silent_about_broken, trusting, ignore_finders, ignore_replaced_parts,
    see_through_wrappers, ignore_the_rest, plain_tuples, not_sorted, property_empty, property_of_winner,
    property_backwards)}


def spoil(name):
    if name == "none":
        on_entries(lambda entries: entries)
    elif name in CHANGES:
        on_entries(CHANGES[name])
    else:
        PATCHES[name]()
