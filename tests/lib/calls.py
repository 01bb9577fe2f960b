"""Random calls of entry_points() and its relatives, and the conditions of each call.

Each Call is made of both importlib.metadata and entrydb. Its arguments are created once, so that both
get the very same objects.
"""

import contextlib
import functools
import importlib.machinery
import os
import pathlib
import sys
from types import FunctionType

FIELDS = ("group", "name", "value", "module", "attr", "extras")
STRANGE_TEXTS = ["nobody", "", "\0", "g\0", "\ud800", "g\udcff", "\u00e9", "e\u0301", " g ", "G"]


class Text(str):
    """A subclass of str that compares like str."""


class Caseless(str):
    """A str with its own __eq__."""

    def __eq__(self, other):
        return self.lower() == other.lower()

    __hash__ = None


class Anything:
    """Compares equal to everything."""

    def __eq__(self, other):
        return True


class Prefix:
    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return str(other).startswith(self.text)


class Angry:
    """Raises on comparison; the error shows a compared string, but only the type of other objects."""

    def __eq__(self, other):
        text = repr(other) if isinstance(other, str) else type(other).__name__
        raise RuntimeError(f"compared with {text}")


class Maker:
    """Makes random calls that suit an environment."""

    def __init__(self, random, modules, facts):
        self.random = random
        self.modules = modules
        self.facts = facts

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, pool):
        return self.random.choice(pool)

    def make(self):
        call = self.pick([self.ask] * 11 + [self.ask_lightly] * 4 + [self.walk] * 3
                         + [self.ask_distribution, self.ask_metadata]
                         + [self.ask_name] * 3 + [self.walk_names])()
        number = self.random.random()
        if number < 0.06:
            call.circumstances = self.odd_path()
        elif number < 0.10:
            call.circumstances = self.finder()
        elif number < 0.15 and not call.light:
            call.circumstances = self.patch()
        return call

    # -- queries -----------------------------------------------------------

    def ask(self):
        module = self.pick(self.modules)
        params = self.params()
        positional = self.random.random() < 0.01
        def call(_):
            return module.entry_points("g") if positional else module.entry_points(**params)
        return Call(f"{module.__name__}.entry_points{'(g)' if positional else spell(params)}",
                    call, params)

    def ask_lightly(self):
        params = self.params()
        for key in ("dist", "self"):  # versions differ in the message of the error
            params.pop(key, None)
        return LightCall(f"entrydb.entry_points{spell(params)}", self.modules[0], params)

    def walk(self):
        module = self.pick(self.modules)
        times = self.pick([1, 2, 2, 3])
        def call(seen):
            return [[seen.attempt(lambda: each.entry_points) for each in module.distributions()]
                    for _ in range(times)]
        return WalkCall(f"{module.__name__}: entry_points of all distributions, {times} times",
                        call)

    def ask_distribution(self):
        module = self.pick(self.modules)
        name = self.pick(self.facts.distribution_names + ["nobody", "foo", ""])
        return Call(f"{module.__name__}.distribution({name!r}).entry_points",
                    lambda _: module.distribution(name).entry_points)

    def names(self):
        """Names of distributions, each in one of its accepted spellings, or nearly so."""
        name = self.pick(self.facts.distribution_names + ["nobody", "foo", ""])
        return self.pick([str, str.upper, str.title, lambda text: text.replace("-", "_"),
                          lambda text: text.replace("_", "-."), lambda text: text + "-"])(name)

    def ask_name(self):
        """distribution(), version() and metadata of one name."""
        module, names = self.pick(self.modules), [self.names() for _ in range(3)]
        def call(seen):
            def look(name):
                found = module.distribution(name)
                return str(type(found)), repr(vars(found)), found.version, found.name
            return [[seen.attempt(look, name), seen.attempt(lambda: (module.version(name),))]
                    for name in names]
        return WalkCall(f"{module.__name__}: distribution() and version() of {names!r}", call)

    def walk_names(self):
        module = self.pick(self.modules)
        def call(seen):
            return [[seen.attempt(lambda: (each.name, each.version)) for each in module.distributions()]]
        return WalkCall(f"{module.__name__}: names and versions of all distributions", call)

    def ask_metadata(self):
        module = self.pick(self.modules)
        path = self.pick(self.facts.files + ["/nowhere/x.dist-info"])
        path = self.pick([str, pathlib.Path])(path)
        return Call(f"{module.__name__}.Distribution.at({path!r}).entry_points",
                    lambda _: module.Distribution.at(path).entry_points)

    # -- parameters --------------------------------------------------------

    def params(self):
        kind = self.random.random()
        if kind < 0.12:
            return {}
        if kind < 0.40:
            return {"group": self.value_of("group")}
        if kind < 0.48:
            return {"name": self.value_of("name")}
        if kind < 0.70:
            row = self.pick(self.facts.rows) if self.facts.rows else ("g", "a")
            pairs = [("group", row[0]), ("name", row[1])]
            if self.chance(0.3):
                pairs = [(key, self.value_of(key)) for key, _ in pairs]
            return dict(pairs if self.chance(0.6) else pairs[::-1])
        return self.odd_params()

    def odd_params(self):
        keys = [self.pick(FIELDS) for _ in range(self.pick([1, 1, 2, 2, 3]))]
        if self.chance(0.25):
            keys.append(self.pick(["foo", "dist", "self", "params", "path", "cls", "__class__"]))
        self.random.shuffle(keys)
        return {key: self.strange(key) if self.chance(0.3) else self.value_of(key) for key in keys}

    def value_of(self, key):
        known = self.facts.values.get(key)
        if known and self.chance(0.75):
            return self.pick(known)
        return self.pick(STRANGE_TEXTS)

    def strange(self, key):
        text = self.value_of(key)
        text = text if isinstance(text, str) else "m"
        return self.pick([Text(text), Caseless(text), Anything(), Prefix(text[:1]), Angry(), None,
                          text.encode("utf-8", "replace"), 1, [], [text], ("a",),
                          self.facts.a_dist])

    # -- conditions --------------------------------------------------------

    def odd_path(self):
        entry = self.pick(self.facts.path + ["/nowhere"])
        odd = self.pick([pathlib.Path(entry), Text(entry), os.fsencode(entry), None, 3, "a\0b",
                         "\ud800", entry + "\0", "~", [entry], pathlib.PurePosixPath(entry)])
        at = self.random.randrange(len(self.facts.path) + 1)
        path = list(self.facts.path)
        if self.chance(0.2):
            return With(f"sys.path a tuple, {path}", sys_path, tuple(path))
        if self.chance(0.5) and at < len(path):
            path[at] = odd
        else:
            path.insert(at, odd)
        return With(f"sys.path {path}", sys_path, path)

    def finder(self):
        kinds = [Silent(), Speaking(self.modules[-1]), Broken(), NotOne(), None,
                 importlib.machinery.PathFinder]
        finder = self.pick(kinds)
        at = self.random.randrange(3)
        if finder is None:
            return With("no finder of distributions on sys.meta_path", no_finder)
        return With(f"{finder!r} on sys.meta_path", extra_finder, finder, at)

    def patch(self):
        module = self.pick(self.modules)
        patches = [patch for patch in PATCHES if patch.fits(module)]
        patch = self.pick(patches)
        return With(f"{module.__name__}: {patch.name} replaced", patch.applied, module)


def spell(params):
    return "(" + ", ".join(f"{key}={brief(value)}" for key, value in params.items()) + ")"


def brief(value):
    return f"{type(value).__name__}({value})" if type(value) in (Text, Caseless) else repr(value)


class With:
    def __init__(self, text, manager, *arguments):
        self.text = text
        self.manager = manager
        self.arguments = arguments

    def __call__(self):
        return self.manager(*self.arguments)


class Call:
    light = walks = False

    def __init__(self, text, action, params=None):
        self.text = text
        self.action = action
        self.params = params
        self.circumstances = With("", contextlib.nullcontext)

    def ask(self, seen):
        return self.action(seen)

    def __str__(self):
        return f"{self.text}{' with ' if self.circumstances.text else ''}{self.circumstances.text}"


class WalkCall(Call):
    """A call whose result is already comparable: a list of what each property returned."""
    walks = True


class LightCall(Call):
    """Calls entrydb's own function; the expected answer comes from importlib.metadata."""
    light = True

    def __init__(self, text, module, params):
        super().__init__(text, lambda _: module.entry_points(**params), params)

    def ask_light(self, _):
        import entrydb
        return entrydb.entry_points(**self.params)


# --- conditions ---

@contextlib.contextmanager
def sys_path(path):
    own = sys.path
    sys.path = path
    try:
        yield
    finally:
        sys.path = own


@contextlib.contextmanager
def meta_path(finders):
    own = sys.meta_path[:]
    sys.meta_path[:] = finders
    try:
        yield
    finally:
        sys.meta_path[:] = own


def extra_finder(finder, at):
    at = at if at < 2 else len(sys.meta_path)
    return meta_path(sys.meta_path[:at] + [finder] + sys.meta_path[at:])


def no_finder():
    return meta_path([each for each in sys.meta_path
                      if not getattr(each, "find_distributions", None)])


class Silent:
    def find_spec(self, name, path=None, target=None):
        return None

    def find_distributions(self, context=None):
        return []

    def __repr__(self):
        return type(self).__name__


class Broken(Silent):
    def find_distributions(self, context=None):
        raise LookupError("this finder is broken")


class NotOne(Silent):
    find_distributions = None


class Speaking(Silent):
    """Finds a distribution that exists on no disk."""

    def __init__(self, module):
        class Made(module.Distribution):
            def read_text(self, filename):
                return {"entry_points.txt": "[g]\nmade = m:f\n[h]\na = m\n",
                        "METADATA": "Name: made\nVersion: 9\n"}.get(filename)

            def locate_file(self, path):
                return path

        self.made = Made()

    def find_distributions(self, context=None):
        return [self.made]


# --- patches of the module ---

class Patch:
    """A monkey patch. home: the name of a class of the module, '' for the module itself, 'os' or
    'Path'. wrapped: applied with functools.wraps, so that it resembles the original."""

    def __init__(self, home, name, make, wrapped=False):
        self.home = home
        self.attribute = name
        self.name = f"{home}.{name}".lstrip(".") + (", by functools.wraps" if wrapped else "")
        self.make = self.wrapping(make) if wrapped else make

    @staticmethod
    def wrapping(make):
        def made(own):
            function = make(own)
            return functools.wraps(own)(function) if isinstance(function, FunctionType) else function
        return made

    def owner(self, module):
        if self.home == "os":
            return os
        if self.home == "Path":
            return pathlib.Path
        return getattr(module, self.home, None) if self.home else module

    def fits(self, module):
        return hasattr(self.owner(module), self.attribute)

    @contextlib.contextmanager
    def applied(self, module):
        owner = self.owner(module)
        own = vars(owner).get(self.attribute)
        setattr(owner, self.attribute, self.make(getattr(owner, self.attribute)))
        try:
            yield
        finally:
            if own is None:
                delattr(owner, self.attribute)
            else:
                setattr(owner, self.attribute, own)


def nothing(_):
    return lambda *_, **__: []


def backwards(own):
    return lambda *args, **kwargs: list(own(*args, **kwargs))[::-1]


def first_half(own):
    def half(*args, **kwargs):
        found = list(own(*args, **kwargs))
        return found[:len(found) // 2]
    return half


def more_text(own):
    def read_text(self, filename):
        text = own(self, filename)
        return "[patched]\na = m\n" + (text or "") if filename == "entry_points.txt" else text
    return read_text


def more_in_file(own):
    def read_text(self, *args, **kwargs):
        text = own(self, *args, **kwargs)
        return "[patched]\na = m\n" + text if self.name == "entry_points.txt" else text
    return read_text


def angry(_):
    def raises(*_, **__):
        raise LookupError("replaced")
    return raises


def constant_property(_):
    return property(lambda self: ())


def own_name(_):
    return property(lambda self: str(self._path))


def static_lower(own):
    return staticmethod(lambda name: own(name)[:1])


def negated(own):
    return lambda self, **params: not own(self, **params)


def static_nothing(_):
    return staticmethod(lambda *_, **__: iter(()))


PATCHES = [
    Patch("", "distributions", backwards), Patch("", "distributions", first_half),
    Patch("Distribution", "discover", nothing), Patch("Distribution", "discover", backwards),
    Patch("PathDistribution", "read_text", more_text),
    Patch("PathDistribution", "read_text", angry),
    Patch("PathDistribution", "_normalized_name", own_name),
    Patch("Distribution", "entry_points", constant_property),
    Patch("FastPath", "children", backwards), Patch("FastPath", "children", nothing),
    Patch("MetadataPathFinder", "find_distributions", first_half),
    Patch("Prepared", "normalize", static_lower), Patch("EntryPoint", "matches", negated),
    Patch("EntryPoints", "select", first_half), Patch("Sectioned", "section_pairs", static_nothing),
    Patch("os", "listdir", backwards), Patch("os", "listdir", first_half),
    Patch("os", "listdir", angry), Patch("os", "stat", angry),
    Patch("Path", "read_text", more_in_file), Patch("Path", "open", angry),
    Patch("", "unique_everseen", nothing), Patch("FastPath", "search", nothing),
    Patch("FastPath", "joinpath", angry), Patch("Lookup", "search", nothing),
    Patch("EntryPoint", "__init__", angry),
    Patch("PathDistribution", "__init__", angry), Patch("PathDistribution", "__getattribute__", angry),
    Patch("Path", "joinpath", angry), Patch("Path", "__new__", angry),
]
PATCHES += [Patch(each.home, each.attribute, each.make, wrapped=True) for each in PATCHES]
