# The functions and properties that replace those of a metadata module while entrydb is on.
#
# Loaded by _entrydb_site when the program imports such a module, which may never be queried: so it has
# few functions, no docstrings, and no class, which costs ten times as much. The first query loads
# _entrydb_connecting.py, which loads the package once that saves time.

import sys
from _frozen_importlib_external import SourceFileLoader

worth = 30                   # distributions: a query of them in Python takes as long as loading entrydb
HINTS = "__annotate__" if sys.version_info >= (3, 14) else "__annotations__"
replacements = {}            # name of a metadata module -> (module, parts, begin); see replace_in()


# Replace functions and properties of a module, once. The replacements are ordinary attributes: programs may
# replace and restore them, too. Raises on an unknown kind of module.
def replace_in(module):
    if replacements.get(module.__name__, [None])[0] is module:
        return
    kind = module.Distribution
    own_function, own_distribution = module.entry_points, module.distribution
    code = own_function.__code__
    if (code.co_argcount, code.co_kwonlyargcount, code.co_varnames[0]) != (0, 0, "params") \
            or own_distribution.__code__.co_varnames != ("distribution_name",):
        raise TypeError
    parts = {}     # (class or "", name) -> (its owner, the original, our replacement)
    asked = None   # a Connecting, from the first query on

    # Return the Connecting; None if it cannot be created now.
    def begin():
        nonlocal asked
        try:
            asked = asked or part("_entrydb_connecting").Connecting(module, parts)
        except Exception:  # half uninstalled, or being loaded by another thread
            pass
        return asked

    def entry_points(**params):
        to = asked or begin()
        return (to.ask or to.ask_first)(params) if to else own_function(**params)

    def distribution(distribution_name):
        to = asked or begin()
        return to and to.find(distribution_name) or own_distribution(distribution_name)

    def put_getter(name):
        stood = vars(kind)[name]
        own = stood.fget if type(stood) is property else None

        def getter(self):
            to = asked or begin()
            found = to and to.read_part(name, self)
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


# Copy the metadata of the original to the replacement, for callers that ignore __wrapped__.
def looking_like(own, function):
    function.__module__, function.__name__ = own.__module__, own.__name__
    function.__qualname__, function.__doc__ = own.__qualname__, own.__doc__
    setattr(function, HINTS, getattr(own, HINTS))
    function.__wrapped__ = own
    return function


# Replaces the method exec_module() of a loader until a metadata module is loaded, then inserts the
# replacements. The loader stays the same object, for code that inspects a spec, and equal to others.
def execute(module):
    name = module.__name__
    if name not in ("importlib.metadata", "importlib_metadata"):
        raise ImportError(f"the loader cannot handle {name}", name=name)
    getattr(module.__loader__, "__dict__", {}).pop("exec_module", None)
    SourceFileLoader(name, module.__file__).exec_module(module)
    try:
        replace_in(module)
    except Exception:
        pass
