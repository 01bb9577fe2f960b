"""Mutants: defects of the package entrydb, patched into a worker of the differential test.

Each mutant is a function that patches one thing. mutants.py checks that all are detected.
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


# --- defects of the entry points in an answer ---

def file_of(entry):
    """The file of the entry's metadata; light entries have no distribution yet."""
    dist = vars(entry)["dist"]
    return dist.file if type(dist) is light._Located else str(dist._path)


def blocks(entries):
    """The entries grouped by distribution, which are consecutive."""
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
    """An equal str that is another object."""
    return (text + "x")[:-1]


def on_entries(change):
    """The mutant that applies a change to the answers from the database."""
    class Changed(Spoilt):
        def select(self, *arguments):
            found = super().select(*arguments)
            return found and change(found)

    put(Changed)


# --- defects of the handle ---

class Spoilt:
    """A wrapper of a handle on path entries, one method of which may be replaced."""

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
    """Query each path entry alone, so that no distribution shadows another."""
    class Unshadowed(Spoilt):
        def select(self, *arguments):
            found = [Database((entry,), self.rules).select(*arguments) for entry in self.path]
            return None if None in found else list(itertools.chain(*found))

    put(Unshadowed)


def stale():
    """Repeat the first answer for ever."""
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
    """Ignore that importlib.metadata must be asked about unreadable distributions."""
    class Silent(Spoilt):
        def select(self, *arguments):
            return super().select(*arguments) or []

    put(Silent)


def trusting():
    """Use level trust. Level roots would be no defect here: everything is newly installed and watched."""
    os.environ["ENTRYDB_FRESH"] = "trust"


# --- defects of the recognition ---

def ignore_finders():
    """Ignore unknown finders."""
    own = databases.finders

    def known_finders():
        return [each for each in own()
                if databases.is_standard_finder(each) or metadata_module.provider(each)]

    accelerated.finders = light.finders = known_finders


def ignore_replaced_parts():
    metadata_module.Recognition.current = lambda self: self.known


def see_through_wrappers():
    """Take the function that a wrapper names as wrapped for the installed one."""
    own = metadata_module._replaced

    def replaced(module):
        found = {f"{home}{name}": value for home, owner in homes(module)
                 for name, value in vars(owner).items() if hasattr(value, "__wrapped__")}
        return {**{name: (value, getattr(value, "__code__", None), value.__wrapped__)
                   for name, value in found.items()}, **own(module)}

    def homes(module):
        return [("", module), *((name, value) for name, value in vars(module).items()
                                if isinstance(value, type) and value.__module__ == module.__name__)]

    metadata_module._replaced = replaced


def ignore_the_rest():
    """Ignore all parameters other than group and name."""
    def split(params):
        return *(params[key] if type(params.get(key)) is str else None
                 for key in ("group", "name")), None

    light.split = accelerated.split = split


# --- defects of the collection ---

def plain_tuples():
    find = accelerated.Answer.find

    def find_plainly(self, params):
        found = find(self, params)
        return found if found is None else tuple(found)

    accelerated.Answer.find = find_plainly


def not_sorted():
    """Do not sort, as in later versions."""
    accelerated.by_group = lambda entry: 0


# --- defects of the property ---

def on_survey(change):
    """The mutant that applies a change to the entry points of each file in a survey."""
    class Changed(Spoilt):
        def survey(self):
            found = super().survey()
            return {file: change(found, file) for file in found}

    put(Changed)


def property_empty():
    on_survey(lambda found, file: ())


def property_of_winner():
    """Return the entry points of the first distribution of that name in the directory."""
    on_survey(lambda found, file: next(
        rows for each, rows in found.items() if project(each) == project(file)))


def property_backwards():
    on_survey(lambda found, file: found[file] and tuple(
        text for at in range(len(found[file]) - 3, -1, -3) for text in found[file][at:at + 3]))


def project(file):
    stem = os.path.splitext(os.path.basename(file))[0]
    return stem.partition("-")[0].lower()


# --- the table of mutants ---

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
