"""The functions and properties that replace those of a metadata module while entrydb is on.

Loaded by _entrydb_site when the program imports such a module, which may never be queried: so it has
few functions and no class, which costs ten times as much. The first query loads
_entrydb_connecting.py, which loads the package once that saves time.
"""

import sys
from _frozen_importlib_external import SourceFileLoader

worth = 30                   # distributions: a query of them in Python takes as long as loading entrydb
itself = sys.modules[__name__]  # a program may delete it from sys.modules
HINTS = "__annotate__" if sys.version_info >= (3, 14) else "__annotations__"
replacements = {}            # name of a metadata module -> (module, parts, begin); see replace_in()


def replace_in(module):
    """Replace functions and properties of a module, once. The replacements are ordinary attributes:
    programs may replace and restore them, too. Raises on an unknown kind of module."""
    if replacements.get(module.__name__, [None])[0] is module:
        return
    kind = module.Distribution
    own_function, own_distribution = module.entry_points, module.distribution
    code, other = own_function.__code__, own_distribution.__code__
    if (code.co_argcount, code.co_kwonlyargcount, code.co_flags & 12) != (0, 0, 8) \
            or (other.co_varnames[:1], other.co_argcount, other.co_kwonlyargcount, other.co_flags & 12) \
            != (("distribution_name",), 1, 0, 0):  # 8: **keywords, 4: *arguments
        raise TypeError
    parts = {}     # (class or "", name) -> (its owner, the original, our replacement)
    asked = None   # a Connecting, from the first query on

    def begin():
        """Return the Connecting; None if it cannot be created now."""
        nonlocal asked
        try:
            sys.modules.setdefault(__name__, itself)
            asked = asked or part("_entrydb_connecting").Connecting(itself, module, parts)
        except Exception:  # half uninstalled, or being loaded by another thread
            pass
        return asked

    def entry_points(**params):
        to = asked or begin()
        return (to.ask or to.ask_first)(params) if to and to.active else own_function(**params)

    def distribution(distribution_name):
        to = asked or begin()
        return to and to.active and to.find(distribution_name) or own_distribution(distribution_name)

    def put_getter(name):
        stood = vars(kind)[name]
        own = stood.fget if type(stood) is property else None

        def getter(self):
            to = asked or begin()
            found = to.read_part(name, self) if to and to.active else None
            return own(self) if found is None else found

        parts["Distribution", name] = kind, stood, property(looking_like(own, getter))

    parts["", "entry_points"] = module, own_function, looking_like(own_function, entry_points)
    parts["", "distribution"] = module, own_distribution, looking_like(own_distribution, distribution)
    put_getter("entry_points")
    put_getter("name")
    put_getter("version")
    replacements[module.__name__] = module, parts, begin
    for (_, name), (owner, _, ours) in parts.items():
        setattr(owner, name, ours)


def looking_like(own, function):
    """Copy the metadata of the original to the replacement, for callers that ignore __wrapped__."""
    function.__module__, function.__name__ = own.__module__, own.__name__
    function.__qualname__, function.__doc__ = own.__qualname__, own.__doc__
    setattr(function, HINTS, getattr(own, HINTS))
    function.__wrapped__ = own
    return function


def execute(module):
    """Replaces the method exec_module() of a loader until a metadata module is loaded, then inserts the
    replacements. The loader stays the same object, for code that inspects a spec, and equal to others."""
    name = module.__name__
    if name not in ("importlib.metadata", "importlib_metadata"):
        raise ImportError(f"the loader cannot handle {name}", name=name)
    getattr(module.__loader__, "__dict__", {}).pop("exec_module", None)
    SourceFileLoader(name, module.__file__).exec_module(module)
    try:
        replace_in(module)
    except Exception:
        pass
