"""The functions and properties that replace those of a metadata module while entrydb is on.

Loaded by _entrydb_site when the program imports such a module, which may never be queried: so it has
few functions, and only one class, which costs ten times as much. The first query loads
entrydb/_connecting.py, which loads the package once that saves time.
"""

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import sys
from _thread import allocate_lock

worth = 70                   # distributions: reading them in Python takes as long as loading entrydb
HOME = __file__.rpartition("/")[0] + "/entrydb"
itself = sys.modules[__name__]  # a program may delete it from sys.modules
METADATA = ("importlib.metadata", "importlib_metadata")
VARIABLE = 4 | 8             # flags of code objects: inspect.CO_VARARGS, CO_VARKEYWORDS
connecting = allocate_lock()
replacements = {}            # name of a metadata module -> (module, parts, begin); see replace_in()
refreshes = False


def replace_in(module):
    """Replace functions and properties of a module. The replacements are ordinary attributes: programs
    may replace and restore them, too."""
    kind = module.Distribution
    own_function, own_distribution = module.entry_points, module.distribution
    parts = {}     # (class or "", name) -> (its owner, the original, our replacement)
    asked = None   # a Connecting, from the first query on

    def begin():
        """Return the Connecting; None if it cannot be created now."""
        nonlocal asked
        if not asked and connecting.acquire(False):
            try:
                asked = submodule("_connecting").Connecting(itself, module, parts)
            except Exception:  # a half uninstalled package, for instance, must not break the program
                pass
            finally:
                connecting.release()
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
        if type(own) is not type(begin):
            own = submodule("_connecting").getter_of(stood)

        def getter(self):
            to = asked or begin()
            found = to.read_part(name, self) if to and to.active else None
            return own(self) if found is None else found

        parts["Distribution", name] = kind, stood, property(looking_like(own, getter), doc=stood.__doc__)

    if not takes_the_same(own_function, entry_points):
        entry_points = submodule("_connecting").with_any_arguments(own_function, entry_points)
    parts["", "entry_points"] = module, own_function, looking_like(own_function, entry_points)
    if takes_the_same(own_distribution, distribution):
        parts["", "distribution"] = module, own_distribution, looking_like(own_distribution, distribution)
    put_getter("entry_points")
    put_getter("name")
    put_getter("version")
    replacements[module.__name__] = module, parts, begin
    for (_, name), (owner, _, ours) in parts.items():
        setattr(owner, name, ours)


def takes_the_same(own, function):
    """Return True if number, kinds and names of the parameters are equal."""
    ours, theirs = function.__code__, own.__code__
    taken = ours.co_argcount
    return taken == theirs.co_argcount and ours.co_kwonlyargcount == theirs.co_kwonlyargcount \
        and (ours.co_flags ^ theirs.co_flags) & VARIABLE == 0 \
        and ours.co_varnames[:taken] == theirs.co_varnames[:taken]


def looking_like(own, function):
    """Copy the metadata of the original to the replacement, for callers that ignore __wrapped__."""
    annotations = "__annotate__" if hasattr(own, "__annotate__") else "__annotations__"
    for name in ("__module__", "__name__", "__qualname__", "__doc__", annotations):
        setattr(function, name, getattr(own, name))
    function.__wrapped__ = own
    return function


def submodule(name):
    """Return a submodule of the package beside this file, independently of the current import system.
    Neither another module called entrydb (in a script's directory, for instance) nor the package's own
    __init__.py is run."""
    sys.modules.setdefault(__name__, itself)
    for package in ("entrydb", "_entrydb"):
        if getattr(sys.modules.get(package), "__path__", None) == [HOME]:
            break
    else:
        spec = external.spec_from_file_location(package, f"{HOME}/__init__.py", submodule_search_locations=[HOME])
        sys.modules[package] = bootstrap.module_from_spec(spec)
    full = f"{package}.{name}"
    with bootstrap._ModuleLockManager(full):  # another thread may be importing it
        if full not in sys.modules:
            try:
                bootstrap._load_unlocked(
                    external.spec_from_file_location(full, f"{HOME}/{name}.py"))
            except (FileNotFoundError, NotADirectoryError):  # frozen, or in a zip file
                __import__(full)
        return sys.modules[full]


# --- imports ---

class Execution:
    """Replaces a loader's method exec_module() until a metadata module is loaded, then inserts the
    replacements. The loader object stays the same, for code that inspects a spec."""

    def __init__(self, loader):
        self.loader = loader

    def __eq__(self, other):
        return True if type(other) is Execution else NotImplemented

    def __call__(self, module):
        if module.__name__ in METADATA:
            vars(self.loader).pop("exec_module", None)
        type(self.loader).exec_module(self.loader, module)
        if module.__name__ in METADATA:
            replace_if_known(module)


def found(name, spec):
    """Called by a patched finder. Skips a loader that accepts no attributes or whose instance already
    has an exec_module()."""
    loader = spec.loader
    if name not in METADATA:
        submodule("_connecting").update_at_exit()
    elif not isinstance(loader, type) and hasattr(type(loader), "exec_module") \
            and "exec_module" not in getattr(loader, "__dict__", ("exec_module",)):
        loader.exec_module = Execution(loader)


def replace_if_known(module):
    """Replace functions in a module, once. Leave an unknown kind of module unchanged."""
    try:
        if replacements.get(module.__name__, [None])[0] is not module:
            replace_in(module)
    except Exception:
        pass
