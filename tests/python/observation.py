"""Takes an answer of entry_points() apart into comparable parts.

Two observations with the same seed make the same queries in the same order. Those of
importlib.metadata's answer and of entrydb's must therefore be equal, including warnings and the texts
of exceptions. Objects of importlib.metadata's classes are represented by class and attributes.
"""

import contextlib
import copy
import io
import operator
import pickle
import random
import warnings

ENTRIES_PROBED = 3     # per answer, besides the fields of all entries
QUESTIONS_ASKED = 4    # per answer, besides those about entries


class Observation:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.distributions = {}
        self.roots = {}
        self.warnings = []

    @contextlib.contextmanager
    def recording(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        # The garbage collector decides when to warn about an unclosed file.
        self.warnings = [(each.category, str(each.message), each.filename, each.lineno)
                         for each in caught if each.category is not ResourceWarning]

    # -- values and exceptions ---------------------------------------------

    def attempt(self, look, *arguments):
        """The description of the result of look(*arguments), or of its exception."""
        try:
            return self.show(look(*arguments))
        except Exception as error:
            return "raised", type(error), str(error)

    def show(self, value):
        if isinstance(value, (list, tuple)) and not is_entry(value):
            return type(value), [self.show(each) for each in value]
        if is_entry(value):
            return self.entry(value)
        if isinstance(value, dict):
            return type(value), [(key, self.show(each)) for key, each in dict.items(value)]
        if isinstance(value, (set, frozenset)):
            return type(value), sorted(map(repr, value))
        return value if isinstance(value, (str, bytes, int, type(None))) else type(value)

    def entry(self, entry):
        return (type(entry), entry.name, entry.value, entry.group, type(entry.name),
                self.distribution(entry.dist))

    def distribution(self, dist):
        """The number of the distribution; the first time with its full description."""
        known = self.distributions.get(id(dist))
        if known:
            return known[0]
        number = len(self.distributions)
        self.distributions[id(dist)] = number, dist
        path = getattr(dist, "_path", None)
        return number, type(dist), type(path), str(path), repr(path), sorted(vars(dist or self))

    # -- the whole answer --------------------------------------------------

    def answer(self, found):
        """found: the result of entry_points(), or a similar list."""
        seen = [self.show(found)]
        entries = entries_of(found)
        questions = GROUP_QUESTIONS if isinstance(found, dict) else QUESTIONS
        for question in self.random.sample(questions, QUESTIONS_ASKED):
            seen.append((question.__name__, self.attempt(question, self, found, entries)))
        for entry in self.random.sample(entries, min(ENTRIES_PROBED, len(entries))):
            probe = self.random.choice(PROBES)
            seen.append((probe.__name__, self.attempt(probe, self, entry, entries)))
        return seen

    def one_of(self, field, entries):
        """The value of that field of one entry, or one that no entry has."""
        if entries and self.random.random() < 0.8:
            return getattr(self.random.choice(entries), field)
        return self.random.choice(["nobody", "", "a", "g"])


def is_entry(value):
    return all(hasattr(type(value), each) for each in ("module", "attr", "extras", "matches"))


def entries_of(found):
    if isinstance(found, dict):
        return [entry for group in dict.values(found) for entry in group]
    return list(found)


def is_raised(shown):
    """Does it describe an exception, as returned by attempt()?"""
    return len(shown) == 3 and shown[0] == "raised"


def shared_groups(found):
    """For each pair of neighbours, is their group the same object?"""
    entries = [each for each in entries_of(found) if is_entry(each)]
    return [one.group is other.group for one, other in zip(entries, entries[1:])]


# --- queries about a collection ---

def names(_, found, __):
    return found.names


def groups(_, found, __):
    return found.groups


def by_name(seen, found, entries):
    return found[seen.one_of("name", entries)]


def by_strange_key(seen, found, _):
    return found[seen.random.choice([0, -1, 10 ** 6, None, b"a", 1.5])]


def by_slice(_, found, __):
    return found[:2]


def selected(seen, found, entries):
    keys = seen.random.sample(["name", "group", "value", "module", "foo"], 2)
    return found.select(**{key: seen.attempt(seen.one_of, key, entries) for key in keys})


def selected_all(_, found, __):
    return found.select()


def written(_, found, __):
    return repr(found)


def in_order(_, __, entries):
    return sorted(entries)


def hashed(_, found, __):
    return hash(found)


def equal_to_plain(_, found, entries):
    return [found == entries, found == tuple(entries), found != entries]


def added(_, found, entries):
    return found + type(entries)(entries[:1])


def reordered(_, found, __):
    found.reverse()
    found.append(1)
    return list(found)


def held(_, found, entries):
    return [each in found for each in entries[:2]] + [1 in found, len(found), bool(found)]


def pickled(_, found, __):
    return pickle.loads(pickle.dumps(found))


def pickle_of(_, found, __):
    """The bytes of a pickle, without memo: which equal strings are one object may differ."""
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, 4)
    pickler.fast = True
    pickler.dump(found)
    return stream.getvalue()


def as_dict(_, found, __):
    return dict(found)


def distribution_facts(seen, _, entries):
    dist = seen.random.choice(entries).dist
    return [seen.attempt(operator.attrgetter(each), dist)
            for each in ("metadata.__class__", "name", "version", "_normalized_name")]


def distribution_entries(seen, _, entries):
    return seen.random.choice(entries).dist.entry_points


def distribution_file(seen, _, entries):
    return seen.random.choice(entries).dist.read_text("entry_points.txt")


QUESTIONS = [names, groups, by_name, by_name, by_strange_key, by_slice, selected, selected,
             selected_all, written, in_order, hashed, equal_to_plain, added, held, pickled,
             pickle_of, as_dict, distribution_facts, distribution_entries, distribution_file,
             reordered]


# --- queries about the groups of 3.10 and 3.11 ---

def group_of(seen, found, entries):
    return found[seen.one_of("group", entries)]


def group_or_default(seen, found, entries):
    return found.get(seen.one_of("group", entries), ())


def keys(_, found, __):
    return [list(found), list(found.keys()), "g" in found, len(found)]


def values(_, found, __):
    return list(found.values())


def items(_, found, __):
    return list(found.items())


GROUP_QUESTIONS = [names, groups, selected, selected, selected_all, written, group_of,
                   group_or_default, keys, values, items, pickled, pickle_of, held,
                   distribution_facts, distribution_entries]


# --- queries about an entry point ---

def parsed(seen, entry, _):
    return [seen.attempt(operator.attrgetter(each), entry)
            for each in ("module", "attr", "extras", "pattern.pattern")]


def matched(seen, entry, entries):
    keys = seen.random.sample(["name", "group", "value", "extras", "module", "foo"], 2)
    return entry.matches(**{key: seen.attempt(seen.one_of, key, entries) for key in keys})


def compared(seen, entry, entries):
    other = seen.random.choice(entries)
    return [entry < other, entry == other, entry != other, other > entry,
            seen.attempt(operator.eq, entry, tuple_of(entry)),
            seen.attempt(operator.lt, entry, 1)]


def tuple_of(entry):
    return entry.name, entry.value, entry.group


def entry_hashed(_, entry, __):
    return hash(entry), hash(entry) == hash(tuple_of(entry))


def entry_written(_, entry, __):
    return repr(entry), str(entry), f"{entry}"


def entry_as_sequence(seen, entry, _):
    return [seen.attempt(operator.getitem, entry, 0), seen.attempt(list, entry),
            seen.attempt(len, entry)]


def entry_attributes(_, entry, __):
    return list(vars(entry)), [type(each) for each in vars(entry).values()]


def entry_changed(seen, entry, _):
    copied = copy.copy(entry)
    return [seen.attempt(setattr, copied, "name", "other"),
            seen.attempt(setattr, copied, "extra", 1), copied]


def entry_copied(seen, entry, _):
    return [seen.attempt(copy.copy, entry), seen.attempt(copy.deepcopy, entry),
            seen.attempt(lambda: pickle.loads(pickle.dumps(entry)))]


def loaded(_, entry, __):
    return entry.load()


PROBES = [parsed, parsed, matched, matched, compared, entry_hashed, entry_written,
          entry_as_sequence, entry_attributes, entry_changed, entry_copied, loaded]


# --- comparison ---

def difference(left, right, place="answer"):
    """The first difference as (place, importlib.metadata's, entrydb's), or None."""
    if type(left) is type(right) and isinstance(left, (list, tuple)):
        for at, pair in enumerate(zip(left, right)):
            found = difference(*pair, f"{place}[{at}]")
            if found:
                return found
        if len(left) != len(right):
            return f"{place}: length", f"{len(left)}: {left}", f"{len(right)}: {right}"
        return None
    if type(left) is type(right) and left == right:
        return None
    return place, repr(left), repr(right)
