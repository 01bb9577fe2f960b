# The code of five functions of a metadata module while entrydb is on. The functions stay the same objects,
# with their signatures, hints and documentation.
#
# Loaded by _entrydb_site when the program imports such a module, which may never be queried: so it has
# few functions, no docstrings, and no class, which costs ten times as much. The first query loads
# _entrydb_connecting.py, which loads the package once that saves time.

import posix
import sys
from _frozen_importlib_external import SourceFileLoader

worth = 30                   # distributions: a query of them in Python takes as long as loading entrydb
replacements = {}            # name of a metadata module -> (module, functions); see replace_in()
_entrydb = None              # a global of the metadata module: a Connecting, from the first query on
root = posix.stat("/")


def entry_points(**params):
    return _entrydb.entry_points(**params)


def distribution(distribution_name):
    return _entrydb.distribution(distribution_name)


# The last three are those of properties of Distribution.
def entry_points_of(self):
    return _entrydb.entry_points_of(self)


def name_of(self):
    return _entrydb.name_of(self)


def version_of(self):
    return _entrydb.version_of(self)


# Replace the code of functions of a module. Raises on an unknown kind of module.
def replace_in(module):
    names, parts = vars(module), vars(module.Distribution)
    functions = {}  # name above -> (the function, its code from now on, its original code)
    for own, ours in (names["entry_points"], entry_points), (names["distribution"], distribution), \
            (parts["entry_points"].fget, entry_points_of), (parts["name"].fget, name_of), \
            (parts["version"].fget, version_of):
        own = getattr(own, "__wrapped__", own)  # importlib_metadata 10.1 decorates some
        code, our_code = own.__code__, ours.__code__
        if code is our_code:
            return
        if own.__globals__ is not names or code.co_freevars or code.co_varnames[0] != our_code.co_varnames[0] \
                or (code.co_argcount, code.co_kwonlyargcount) != (our_code.co_argcount, 0):
            raise TypeError
        functions[ours.__name__] = own, our_code, code
    replacements[module.__name__] = found = module, functions
    names["_entrydb"] = first = type(sys)("_entrydb")
    first.__getattr__ = begin.__get__(found)
    for own, code, _ in functions.values():
        own.__code__ = code


# Return True after chroot(): the files of this package may be another user's there, and nothing is loaded.
def is_moved(stat=posix.stat):
    found = stat("/")
    return (found.st_dev, found.st_ino) != (root.st_dev, root.st_ino)


# Return what answers the first query of a module. If that cannot be created now, its own function.
def begin(found, what):
    module, functions = found
    if what not in functions:
        raise AttributeError(what)
    try:
        if is_moved():
            raise OSError
        module._entrydb = part("_entrydb_connecting").Connecting(module, functions)
        return getattr(module._entrydb, what)
    except Exception:  # half uninstalled, or being loaded by another thread
        return type(begin)(functions[what][2], vars(module))


# Replaces the method exec_module() of a loader until a metadata module is loaded, then replaces its
# functions. The loader stays the same object, for code that inspects a spec, and equal to others.
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
