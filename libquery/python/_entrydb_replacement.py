"""What stands in a metadata module, as its own function and property, while entrydb is on.

Loaded by _entrydb_site when the program imports such a module, which may never be asked
anything: so this module, too, is small, and each function in it costs. entrydb/_connecting.py, loaded
by the first question, asks the package, and loads that when it is worth it.
"""

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import _thread
import os
import sys
from _weakref import ref

worth = 70                   # distributions that Python reads as fast as entrydb is loaded
HOME = os.path.dirname(__file__) + "/entrydb"
itself = sys.modules[__name__]  # whatever a program drops from there
METADATA = ("importlib.metadata", "importlib_metadata")
VARIABLE = 4 | 8             # of a code object: inspect.CO_VARARGS, CO_VARKEYWORDS
connecting = _thread.allocate_lock()
replacements = {}            # by the name of the metadata module
refreshes = False
hook = None                  # of _entrydb_site


class Replacement:
    """A metadata module's own function and property, and those put in their place.

    Both stay ordinary attributes, which may be replaced once more and put back. The
    real work is in entrydb._connecting, whose class this object gets, and entrydb._accelerated.
    """

    home = itself
    complete = False
    read = 0  # distributions: by Python so far

    def __init__(self, module):
        self.module = module
        self.active = True
        self.ask = self.own_new = None
        self.parts = {}             # by (class or "", name): its owner, what stood there, and ours
        self.function = self.add("", "entry_points", make_function)
        self.property = self.add("Distribution", "entry_points", make_entry_points)
        self.add("", "distribution", make_distribution)
        for which, name in enumerate(("name", "version")):  # of a distribution's METADATA
            self.add("Distribution", name, make_header, which)
        replacements[module.__name__] = self
        self.put()

    def add(self, place, name, make, *more):
        owner = getattr(self.module, place) if place else self.module
        theirs = vars(owner)[name]
        self.parts[place, name] = owner, theirs, make(self, theirs, *more)
        return theirs

    def put(self):
        for (_, name), (owner, _, ours) in self.parts.items():
            setattr(owner, name, ours)

    def is_complete(self):
        """Has it all its methods? See connect() there."""
        if not self.complete and connecting.acquire(False):
            try:
                submodule("_connecting").complete(self)
            except Exception:  # half uninstalled, say: the program must not suffer
                pass
            finally:
                connecting.release()
        return self.complete


def make_function(replacement, own):
    def entry_points(**params):
        if replacement.active and (replacement.ask or replacement.is_complete()):
            return (replacement.ask or replacement.ask_first)(params)
        return own(**params)

    function = entry_points if takes_the_same(own, entry_points) \
        else submodule("_connecting").with_any_arguments(own, entry_points)
    return looking_like(own, function)


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


def make_entry_points(replacement, found):
    own = found.fget if type(found) is property else None
    if type(own) is not type(looking_like):
        own = submodule("_connecting").getter_of(found)

    def entry_points(self):
        if replacement.active and (replacement.ask or replacement.is_complete()
                                   and replacement.is_reading_worth_it() and replacement.connect()):
            return replacement.ask_distribution(self)
        return own(self)

    return property(looking_like(own, entry_points), doc=found.__doc__)


def make_distribution(replacement, own):
    def distribution(distribution_name):
        ask = replacement.active and replacement.is_complete() and replacement.can_find()
        found = ask and ask(distribution_name)
        return found or own(distribution_name)

    return looking_like(own, distribution) if takes_the_same(own, distribution) else own


def make_header(replacement, found, which):
    own = found.fget if type(found) is property else None
    if type(own) is not type(looking_like):
        own = submodule("_connecting").getter_of(found)

    def header(self):
        ask = replacement.active and replacement.is_complete() and replacement.can_read()
        value = ask and ask(self, which)
        return value or own(self)

    return property(looking_like(own, header), doc=found.__doc__)


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
            replace_in(module)


def begin(watcher):
    """Called by _entrydb_site, whose hook carries all state."""
    global hook, refreshes
    hook, refreshes = watcher, watcher.refreshes
    watcher.rest = ref(itself)


def found(name, spec):
    """By a finder that is watched. A loader that takes no attribute, or has its own exec_module()
    already, is left alone."""
    loader = spec.loader
    if name not in METADATA:
        submodule("_connecting").update_at_exit()
    elif not isinstance(loader, type) and hasattr(type(loader), "exec_module") \
            and "exec_module" not in getattr(loader, "__dict__", ("exec_module",)):
        loader.exec_module = Execution(loader)


def replace_in(module):
    """A module that does not look like the ones known is left as it is."""
    try:
        Replacement(module)
    except Exception:
        pass
