"""Runs at interpreter start in environments where entrydb is switched on.

sitecustomize.py begins with this code, or entrydb.pth imports it; from Python 3.15 on,
entrydb.start calls start(). Each function here adds to the start-up time of every interpreter, so
there are few. Other imports cost nothing extra: only the finders of the few directories that may
contain a watched module are patched. They report a watched module, and _entrydb_replacement.py is
loaded then.

A program may delete or reload any module, including this one, so all state is kept in the finders.
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
    """Patch the finder of a directory to report watched modules, unless its find_spec() is already
    replaced."""
    finder = PathFinder._path_importer_cache(directory)
    if "find_spec" in getattr(finder, "__dict__", ("find_spec",)):
        return
    own = ref(finder)  # a reference cycle would slow down the interpreter's exit

    def find_spec(name, target=None):
        finder = own()
        spec = type(finder).find_spec(finder, name, target)
        if spec and name in WATCHED:
            try:
                rest(state).found(name, spec)
            except Exception:  # a half uninstalled package, for instance, must not break the program
                pass
        return spec

    find_spec.entrydb = state
    finder.find_spec = find_spec


def begun():
    """Return the state shared by the finders; None before start()."""
    finder = getattr(sys.path_importer_cache.get(LIBRARY), "__dict__", {})
    return getattr(finder.get("find_spec"), "entrydb", None)


def rest(state=None):
    """Return the module _entrydb_replacement, loaded once from the directory of this file, regardless
    of sys.path. A normal import would double its cost."""
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
        except (FileNotFoundError, NotADirectoryError):  # frozen, or in a zip file
            found = __import__(name)
    state["rest"] = found
    found.refreshes = state.get("refreshes")
    return found


def start(refreshes=False):
    """Patch the finders, including those of directories added to sys.path since the last call.
    ENTRYDB=0 in the environment disables it. refreshes: update stale databases at exit."""
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
        except Exception:  # not a str, or not valid as a path
            pass
    for name in METADATA:
        if name in sys.modules:
            rest(state).replace_if_known(sys.modules[name])


def start_refreshing():
    start(True)
