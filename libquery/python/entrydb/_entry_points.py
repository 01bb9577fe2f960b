"""entrydb.entry_points(): the newest interface of importlib.metadata, without importing that."""

import sys

from . import _native
from ._databases import database, finders, is_standard_finder, split

_INVALID = "Invalid object reference"


class _Located:
    """The location of a distribution's metadata; the distribution object is made on demand."""

    __slots__ = ("path", "file", "made")

    def __init__(self, path, file):
        self.path = path
        self.file = file
        self.made = None

    def __reduce__(self):
        return _Located, (self.path, self.file)

    def distribution(self):
        if self.made is None:  # shared by all its entry points, as in importlib.metadata
            from . import _metadata_module
            self.made = _metadata_module.maker().locator()(self.path, self.file)
        return self.made


def _parse(value):
    """Return (module, attr or None, extras) of a value."""
    module, colon, attr = value.partition(":")
    if _is_dotted(module) and (_is_dotted(attr) if colon else not attr):
        return module, attr or None, []
    return _parse_rest(value)


def _is_dotted(text):
    """Return True for ASCII identifiers joined by dots, which need no regular expression."""
    return text.isascii() and text.replace(".", "_").isidentifier()


def _parse_rest(value):
    import re
    match = re.match(r"(?P<module>[\w.]+)\s*(:\s*(?P<attr>[\w.]+)\s*)?((?P<extras>\[.*\])\s*)?$",
                     value)
    if not match:
        raise ValueError(f"{_INVALID}: {value!r}; 'module:attr [extras]' is expected")
    return match["module"], match["attr"], re.findall(r"\w+", match["extras"] or "")


class EntryPoint:
    """An immutable entry point; equal if name, value and group are equal."""

    def __init__(self, name, value, group):
        vars(self).update(name=name, value=value, group=group, dist=None)

    def _for(self, dist):
        vars(self).update(dist=dist)
        return self

    @property
    def dist(self):
        """The distribution, an object of importlib.metadata."""
        dist = vars(self)["dist"]
        if type(dist) is _Located:
            dist = dist.distribution()
            vars(self)["dist"] = dist
        return dist

    module = property(lambda self: _parse(self.value)[0])
    attr = property(lambda self: _parse(self.value)[1])
    extras = property(lambda self: _parse(self.value)[2])

    def load(self):
        """Import the module and return the object that the value names."""
        name, attr, _ = _parse(self.value)
        found = _import(name)
        for part in (attr or "").split("."):
            if part:
                found = getattr(found, part)
        return found

    def matches(self, **params):
        """Return True if the attributes have these values."""
        if "dist" in params:
            raise ValueError('"dist" is not suitable for matching; select from the '
                             "entry_points of a distribution instead")
        return all(value == getattr(self, name) for name, value in params.items())

    def _key(self):
        return self.name, self.value, self.group

    def __lt__(self, other):
        return self._key() < other._key() if isinstance(other, EntryPoint) else NotImplemented

    def __eq__(self, other):
        return self._key() == other._key() if isinstance(other, EntryPoint) else NotImplemented

    def __hash__(self):
        return hash(self._key())

    def __setattr__(self, name, value):
        raise AttributeError("EntryPoint objects are immutable.")

    def __repr__(self):
        return f"EntryPoint(name={self.name!r}, value={self.value!r}, group={self.group!r})"


def _import(name):
    if name.startswith("."):
        import importlib
        return importlib.import_module(name)  # raises, as it does in importlib.metadata
    __import__(name)
    return sys.modules[name]


class EntryPoints(tuple):
    """An immutable collection of entry points."""

    __slots__ = ()

    def __getitem__(self, name):
        """Return the first entry point of that name."""
        for each in self:
            if each.matches(name=name):
                return each
        raise KeyError(name)

    def __repr__(self):
        return f"{self.__class__.__name__}({tuple(self)!r})"

    def select(self, **params):
        """Return the matching entry points."""
        return EntryPoints(each for each in self if each.matches(**params))

    names = property(lambda self: {each.name for each in self})
    groups = property(lambda self: {each.group for each in self})


def entry_points(**params):
    """Return the entry points of all distributions on sys.path, or the matching ones: the same as
    importlib.metadata.entry_points(**params), in the order of discovery."""
    found = _from_database(params)
    return _from_importlib_metadata(params) if found is None else found  # both apply the policy rules


def version(name):
    """Return importlib.metadata.version(name)."""
    handle = _database() if type(name) is str and name else None
    found = handle and handle.find(name)
    headers = found and _native.headers(found[1])
    if headers and headers[1] and headers[1].isprintable():
        return headers[1]
    import importlib.metadata
    return importlib.metadata.version(name)


def _from_database(params):
    group, name, rest = split(params)
    handle = None if group is False else _database()
    found = handle and handle.select(group, name, EntryPoint, _Located)
    if found is None:
        return None
    found = EntryPoints(found)
    return found.select(**rest) if rest else found


def _database():
    """Return a handle; None unless the only finder of distributions is a known one."""
    found = finders()
    if len(found) != 1:
        return None
    if is_standard_finder(found[0]):
        return _if_all_parse(database(), sys.version_info >= (3, 15))
    from . import _metadata_module
    module = _metadata_module.provider(found[0])
    return module and _if_all_parse(database(), module.parses)


def _if_all_parse(handle, parses):
    """Return the handle; None if importlib.metadata would fail on a value that cannot be parsed."""
    return handle if handle and (not parses or handle.all_parse()) else None


def _from_importlib_metadata(params):
    from . import _metadata_module
    found = EntryPoints(EntryPoint(each.name, each.value, each.group)._for(each.dist)
                        for each in _metadata_module.entry_points(params))
    try:
        from . import _policy
    except ImportError:  # the import system is disabled: nothing can be loaded either
        return found
    return _policy.obey(found)
