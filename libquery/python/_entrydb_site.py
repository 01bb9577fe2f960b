"""Runs at the start of each interpreter of an environment that entrydb is switched on in.

sitecustomize.py begins with this module, or entrydb.pth imports it; from Python 3.15 on
entrydb.start calls a function. Each start pays for each function that stands here: so they are few,
and imports pay nothing. The finders of the few directories where a module that matters may be found
say what they have found; _entrydb_replacement.py is loaded when that is such a module.

A program may drop or reload any module, this one too. So the finders carry all state.
"""

import os
import sys
from _frozen_importlib_external import PathFinder, SourceFileLoader
from _weakref import ref
from posix import access

LIBRARY = getattr(os, "__file__", "").rpartition("/")[0] + "/importlib"
METADATA = "importlib.metadata", "importlib_metadata"
WATCHED = {*METADATA, "pip._internal.commands.install", "pip._internal.commands.uninstall"}


def watch(directory, state):
    """Have the finder of a directory say what it finds, unless it does so already, or some other
    program has changed it."""
    finder = PathFinder._path_importer_cache(directory)
    if "find_spec" in getattr(finder, "__dict__", ("find_spec",)):
        return
    own = ref(finder)  # a cycle would cost Python time at its end

    def find_spec(name, target=None):
        finder = own()
        spec = type(finder).find_spec(finder, name, target)
        if spec and name in WATCHED:
            try:
                rest(state).found(name, spec)
            except Exception:  # half uninstalled, say: the program must not suffer
                pass
        return spec

    find_spec.entrydb = state
    finder.find_spec = find_spec


def begun():
    """The state that the finders share; None before start()."""
    finder = getattr(sys.path_importer_cache.get(LIBRARY), "__dict__", {})
    return getattr(finder.get("find_spec"), "entrydb", None)


def rest(state=None):
    """The module _entrydb_replacement, loaded once, from beside this file whatever sys.path is. The
    import system would spend as long on it as the module itself takes."""
    state = state or begun() or {}
    name = "_entrydb_replacement"
    found = state.get("rest") or sys.modules.get(name)
    if not found:
        found = type(sys)(name)
        found.__file__ = f"{os.path.dirname(os.path.abspath(__file__))}/{name}.py"
        try:
            code = SourceFileLoader(name, found.__file__).get_code(name)
            sys.modules[name] = found
            exec(code, vars(found))
        except (FileNotFoundError, NotADirectoryError):  # frozen, or in a zip
            found = __import__(name)
    state["rest"] = found
    found.refreshes = state.get("refreshes")
    return found


def start(refreshes=False):
    """Begin, or look for directories that sys.path has got meanwhile. ENTRYDB=0 in the environment
    forbids it. refreshes: a database that is found stale is brought up to date at the end."""
    if os.environ.get("ENTRYDB") == "0":
        return
    state = begun() or {"refreshes": refreshes}
    watch(LIBRARY, state)
    for entry in tuple(sys.path):
        try:
            if access(entry + "/importlib_metadata", 0):
                watch(entry, state)
            if access(entry + "/pip/_internal/commands", 0):
                watch(entry + "/pip/_internal/commands", state)
        except Exception:  # not a str, or not one for the file system
            pass
    for name in METADATA:
        if name in sys.modules:
            rest(state).replace_if_known(sys.modules[name])


def start_refreshing():
    start(True)
