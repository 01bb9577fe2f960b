"""Makes the same calls of importlib.metadata and of entrydb in one process of an interpreter under test.

usage: face_worker.py JSON

JSON: {"package": directory of entrydb, "helpers": directories on sys.path for the other modules of the
test, "importlib_metadata": directory or null, "accelerate_first": whether importlib_metadata is
imported after the acceleration, "mutant": name or null}. Started as `python -I -S -X utf8`. It reads
one JSON request per line, a list of environments, and writes one JSON answer per line: counts and
differences for each environment. sys.path is replaced during the calls, so every module that is
imported lazily must be imported here.
"""

import collections
import contextlib
import faulthandler
import itertools
import json
import os
import random
import sys

OPTIONS = json.loads(sys.argv[1])
sys.path[:0] = OPTIONS["helpers"]

import calls  # noqa: E402
import observation  # noqa: E402
import reference_worker  # noqa: E402 - imports what importlib.metadata imports lazily
import wrappers  # noqa: E402
from facts import Facts, attempt  # noqa: E402

DIFFERENCES_KEPT = 3     # per environment


class Face:
    """entrydb and the metadata modules of this interpreter."""

    def __init__(self):
        sys.path.insert(0, OPTIONS["package"])
        import entrydb
        import entrydb._accelerated
        import entrydb._databases
        import entrydb._entry_points
        import _entrydb_site
        import importlib.metadata
        self.entrydb, self.replacements = entrydb, _entrydb_site.part("_entrydb_replacement").replacements
        directory = OPTIONS["importlib_metadata"]
        if not OPTIONS["accelerate_first"]:
            self.load(directory)
        elif directory:
            sys.path.insert(0, directory)
        entrydb.accelerate()
        self.modules = [importlib.metadata, *self.load(directory)]
        assert len(self.replacements) == len(self.modules)
        self.known = all(each._entrydb.entry_points and each._entrydb.connect() for each in self.modules)
        self.count()
        if OPTIONS["mutant"]:
            import spoilt
            spoilt.spoil(OPTIONS["mutant"])

    def load(self, directory):
        return [reference_worker.load_module(directory)] if directory else []

    def count(self):
        """Count the queries, and those not passed on to importlib.metadata."""
        self.counts = collections.Counter()
        for each in self.modules:
            answer = getattr(each._entrydb.entry_points, "__self__", None)
            if self.known:
                answer.find = wrappers.counted(answer.find, self.counts, "asked")
        walk = self.entrydb._accelerated.Walk
        walk.find = wrappers.counted(walk.find, self.counts, "read")
        light = self.entrydb._entry_points
        light._from_database = wrappers.counted(light._from_database, self.counts, "asked")

    @contextlib.contextmanager
    def without_entrydb(self):
        """Restore importlib.metadata's own functions."""
        replaced = [each for _, functions in self.replacements.values() for each in functions.values()]
        for function, _, own in replaced:
            function.__code__ = own
        try:
            yield
        finally:
            for function, ours, _ in replaced:
                function.__code__ = ours

    @contextlib.contextmanager
    def unsorted(self, wanted):
        """Make importlib.metadata return the order of discovery instead of sorting by group."""
        groups = getattr(self.modules[0], "SelectableGroups", None)
        if not (wanted and groups):
            yield
            return
        own = vars(groups)["load"]
        groups.load = self.modules[0].EntryPoints
        try:
            yield
        finally:
            groups.load = own

    def begin_walks_after(self, number):
        """Read so many distributions of a path entry singly first; the trees here are small."""
        self.entrydb._accelerated.WALK_BEGINS = number

    def forget_listings(self):
        """Clear importlib.metadata's cache of directory listings, which lasts as long as their mtime."""
        for module in self.modules:
            module.FastPath.__new__.cache_clear()

    def forget_handles(self):
        self.entrydb._databases._kept.clear()
        self.entrydb._accelerated.walks.clear()


class Counts(dict):
    def __init__(self):
        super().__init__(calls=0, filled=0, raised=0, asked=0, asked_native=0, read=0,
                         read_native=0)


class Environment:
    """Some calls in one environment at one stage."""

    def __init__(self, face, request):
        self.face = face
        self.seed = request["seed"]
        self.random = random.Random(self.seed)
        self.counts = Counts()
        self.differences = []
        self.path = request["path"]

    def run(self, number):
        self.face.forget_listings()
        with calls.sys_path(list(self.path)), self.face.without_entrydb():
            facts = Facts(self.face.modules[-1], self.path)
        maker = calls.Maker(self.random, self.face.modules, facts)
        self.face.begin_walks_after(self.random.choice([8, 2, 0, 0]))
        self.face.counts.clear()
        for at in range(number):
            self.compare(maker.make(), f"{self.seed}-{at}")
            if len(self.differences) >= DIFFERENCES_KEPT:
                break
        self.counts.update(self.face.counts)
        return {"counts": self.counts, "differences": self.differences}

    def compare(self, call, seed):
        """Alternate which side is called first, since it fills caches for the other."""
        sides = [self.ask_python, self.ask_entrydb]
        seen = {}
        for side in sides if self.random.random() < 0.5 else sides[::-1]:
            if call.circumstances.text:
                self.face.forget_listings()
            with calls.sys_path(list(self.path)):
                seen[side] = side(call, seed)
        if call.circumstances.text:
            self.face.forget_listings()
        compare = compare_light if call.light else compare_alike
        with calls.sys_path(list(self.path)), self.face.without_entrydb():
            wrong = compare(*[seen[side] for side in sides])
        self.counts["calls"] += 1
        self.tally(call, seen[self.ask_python])
        if wrong:
            self.differences.append({"call": str(call), "where": wrong[0],
                                     "python": wrong[1][:1500], "entrydb": wrong[2][:1500]})

    def tally(self, call, seen):
        answers = itertools.chain(*seen.found) if call.walks and seen.found else [seen.view]
        answers = list(answers)
        self.counts["raised"] += any(map(observation.is_raised, answers))
        if call.walks:
            self.counts["filled"] += any(each[1] for each in answers
                                         if not observation.is_raised(each))
        elif seen.found is not None:
            self.counts["filled"] += bool(len(seen.found))

    def ask_python(self, call, seed):
        with self.face.without_entrydb(), self.face.unsorted(call.light):
            return Seen(call, seed, call.ask)

    def ask_entrydb(self, call, seed):
        return Seen(call, seed, call.ask_light if call.light else call.ask)


class Seen:
    """The answer of one side, and its observable properties."""

    def __init__(self, call, seed, ask):
        observed = observation.Observation(seed)
        self.found = None
        with call.circumstances(), observed.recording():
            try:
                self.found = ask(observed)
                self.view = self.look(observed, call)
            except Exception as error:  # patched parts may raise while the answer is observed, too
                self.view = ["raised", type(error), str(error)]
        self.warnings = observed.warnings

    def look(self, observed, call):
        if call.light:
            return []
        return self.found if call.walks else observed.answer(self.found)


def compare_alike(own, fast):
    wrong = observation.difference(own.view, fast.view)
    wrong = wrong or observation.difference(own.warnings, fast.warnings, "warnings")
    if wrong or own.found is None:
        return wrong
    return compare_objects(own.found, fast.found) or compare_groups(own.found, fast.found)


def compare_objects(left, right):
    """Do the classes themselves consider the answers equal?"""
    with observation.warnings.catch_warnings():
        observation.warnings.simplefilter("ignore")
        if left != right or not left == right:
            return "answer == answer", "equal", "not equal"
    if left is right and len(left):
        return "answer", "a new object", "the same object"
    return None


def compare_groups(left, right):
    """Neighbours that share their group string in memory must share it in both answers."""
    for at, shared in enumerate(zip(*map(observation.shared_groups, (left, right)))):
        if shared == (True, False):
            return f"groups of entries {at} and {at + 1}", "the same object", "equal objects"
    return None


def compare_light(own, fast):
    if own.found is None:
        if fast.found is None and (own.view == fast.view or are_about_value(own, fast)):
            return None
        return "raised", repr(own.view), repr(fast.view if fast.found is None else fast.found)
    if fast.found is None:
        return "raised", repr(own.found), repr(fast.view)
    return (observation.difference(light_rows(own.found), light_rows(fast.found), "rows")
            or check_light(fast.found, list(own.found)))


def are_about_value(own, fast):
    """An unparsable value raises ValueError in the newest version, other errors in older ones."""
    return (own.view[1] in (AttributeError, AssertionError, ValueError)
            and fast.view[1] is ValueError and "Invalid object reference" in fast.view[2])


def light_rows(found):
    """Fields and distributions: a distribution is described once, and then by its number."""
    seen = observation.Observation(0)
    return [(each.name, each.value, each.group, seen.distribution(each.dist)) for each in found]


def check_light(found, entries):
    """Check the interface of the newest version against importlib.metadata's entries."""
    import entrydb
    written = "EntryPoint(name={0.name!r}, value={0.value!r}, group={0.group!r})".format
    checks = [
        ("type", entrydb.EntryPoints, type(found)),
        ("types", [entrydb.EntryPoint] * len(entries), [type(each) for each in found]),
        ("names", {each.name for each in entries}, found.names),
        ("groups", {each.group for each in entries}, found.groups),
        ("hashes", [hash(observation.tuple_of(each)) for each in found], list(map(hash, found))),
        ("sorted", sorted(map(observation.tuple_of, entries)),
         list(map(observation.tuple_of, sorted(found)))),
        ("repr", list(map(written, found)), list(map(repr, found))),
    ]
    for what, left, right in checks:
        if left != right:
            return what, repr(left), repr(right)
    return check_light_entries(found, entries)


def check_light_entries(found, entries):
    by_key = {observation.tuple_of(each): each for each in entries}
    for each in found:
        for field in ("module", "attr", "extras"):
            left = attempt(getattr, by_key[observation.tuple_of(each)], field)
            right = attempt(getattr, each, field)
            if left != right:
                return f"{field} of {each!r}", repr(left), repr(right)
        if found[each.name] != next(e for e in found if e.name == each.name):
            return f"[{each.name!r}]", repr(each), repr(found[each.name])
    return None


def answer(face, request):
    os.environ.update(HOME=request["home"], XDG_STATE_HOME=f"{request['home']}/state")
    if request["forget"]:
        face.forget_handles()
    replies = []
    for each in request["environments"]:
        os.chdir(each["root"])
        replies.append(Environment(face, each).run(request["calls"]))
    os.chdir("/")
    return replies


def main():
    faulthandler.enable()
    face = Face()
    print(json.dumps({"known": face.known}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(face, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
