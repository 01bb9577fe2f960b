"""What stands in a metadata module, as its own functions and properties, while entrydb is on.

Loaded by _entrydb_site when the program imports such a module, which may never be asked anything:
so each function costs, and a class ten times as much. entrydb/_connecting.py, loaded by the first
question, asks the package, and loads that when it is worth it.
"""

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import sys
from _thread import allocate_lock

worth = 70                   # distributions that Python reads as fast as entrydb is loaded
HOME = __file__.rpartition("/")[0] + "/entrydb"
itself = sys.modules[__name__]  # whatever a program drops from there
METADATA = ("importlib.metadata", "importlib_metadata")
VARIABLE = 4 | 8             # of a code object: inspect.CO_VARARGS, CO_VARKEYWORDS
connecting = allocate_lock()
replacements = {}            # by the name of a metadata module: (it, parts, begin), see replace_in()
refreshes = False


def replace_in(module):
    """Put functions and properties into a module, in the place of its own. They stay ordinary
    attributes, which may be replaced once more and put back."""
    kind = module.Distribution
    own_function, own_distribution = module.entry_points, module.distribution
    parts = {}     # by (class or "", name): its owner, what stood there, and ours
    asked = None   # a Connecting, from the first question on

    def begin():
        """The Connecting; None where there can be none yet."""
        nonlocal asked
        if not asked and connecting.acquire(False):
            try:
                asked = submodule("_connecting").Connecting(itself, module, parts)
            except Exception:  # half uninstalled, say: the program must not suffer
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
    """By number, kinds and names of parameters."""
    ours, theirs = function.__code__, own.__code__
    taken = ours.co_argcount
    return taken == theirs.co_argcount and ours.co_kwonlyargcount == theirs.co_kwonlyargcount \
        and (ours.co_flags ^ theirs.co_flags) & VARIABLE == 0 \
        and ours.co_varnames[:taken] == theirs.co_varnames[:taken]


def looking_like(own, function):
    """Also to those who do not follow __wrapped__."""
    annotations = "__annotate__" if hasattr(own, "__annotate__") else "__annotations__"
    for name in ("__module__", "__name__", "__qualname__", "__doc__", annotations):
        setattr(function, name, getattr(own, name))
    function.__wrapped__ = own
    return function


def submodule(name):
    """One of the modules of the package beside this file, whatever finds modules by now, or nothing. What
    else is named entrydb, in the directory of a script, say, is not run; nor is the package's own
    __init__.py."""
    sys.modules.setdefault(__name__, itself)
    for package in ("entrydb", "_entrydb"):
        if getattr(sys.modules.get(package), "__path__", None) == [HOME]:
            break
    else:
        spec = external.spec_from_file_location(package, f"{HOME}/__init__.py", submodule_search_locations=[HOME])
        sys.modules[package] = bootstrap.module_from_spec(spec)
    full = f"{package}.{name}"
    with bootstrap._ModuleLockManager(full):  # another thread may be in the middle of it
        if full not in sys.modules:
            try:
                bootstrap._load_unlocked(
                    external.spec_from_file_location(full, f"{HOME}/{name}.py"))
            except (FileNotFoundError, NotADirectoryError):  # frozen, or in a zip
                __import__(full)
        return sys.modules[full]


# --- imports ---

class Execution:
    """Stands in for a loader's method exec_module() until a metadata module is loaded, and puts
    the replacements in. The loader itself stays what whoever looks at a spec expects."""

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
    """By a finder that is watched. A loader that takes no attribute, or has its own exec_module()
    already, is left alone."""
    loader = spec.loader
    if name not in METADATA:
        submodule("_connecting").update_at_exit()
    elif not isinstance(loader, type) and hasattr(type(loader), "exec_module") \
            and "exec_module" not in getattr(loader, "__dict__", ("exec_module",)):
        loader.exec_module = Execution(loader)


def replace_if_known(module):
    """Once. A module that does not look like the ones known is left as it is."""
    try:
        if replacements.get(module.__name__, [None])[0] is not module:
            replace_in(module)
    except Exception:
        pass
