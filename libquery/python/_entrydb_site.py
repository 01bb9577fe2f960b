# Runs at interpreter start in environments where entrydb is switched on.
#
# sitecustomize.py begins with this code, or entrydb.pth imports it; from Python 3.15 on,
# entrydb.start calls start(). Each function, name and docstring here adds to the start-up time of every
# interpreter, so there are few, and no docstrings. Other imports cost nothing extra: only the finders of
# the few directories that may contain a watched module are patched. They make the loaders of source files
# with entrydb_loader(), which loads _entrydb_replacement.py for a watched module.
#
# A program may delete or reload any module, including this one: what is loaded is kept here as long as a
# finder has entrydb_loader().

import os
import posix
import sys
from _frozen_importlib_external import PathFinder, SourceFileLoader

access, kept = posix.access, {}
HOME = __file__.rpartition("/")[0]
LIBRARY = getattr(os, "__file__", "").rpartition("/")[0] + "/importlib"


# Return the loader of a source file.
def entrydb_loader(name, path):
    loader = SourceFileLoader(name, path)
    if name in ("importlib.metadata", "importlib_metadata", "pip",
                "pip._internal.commands.install", "pip._internal.commands.uninstall"):
        try:
            rest = part("_entrydb_replacement")
            if name[:3] == "pip":
                part("_entrydb_connecting").watch_pip(name, loader)
            else:
                loader.exec_module = rest.execute
        except Exception:  # a half uninstalled package, for instance, must not break the program
            pass
    return loader


# Return a module of the directory of this file, loaded once, regardless of sys.path. A normal import would
# double its cost.
def part(name):
    found = kept.get(name) or sys.modules.get(name)
    if not found:
        found = type(sys)(name)
        found.__file__ = f"{HOME}/{name}.py"
        try:
            code = SourceFileLoader(name, found.__file__).get_code(name)
        except OSError:  # frozen, or in a zip file; uninstalled, and then an ImportError
            code = __spec__.loader.get_code(name)
        sys.modules[name] = found
        exec(code, vars(found))
    found.part, found.refreshes, kept[name] = part, kept.get("refreshes"), found
    return found


# Patch the finders, including those of directories added to sys.path since the last call; not those with
# another loader. ENTRYDB=0 in the environment of the process disables it. refreshes: update stale databases
# at exit.
def start(refreshes=False):
    try:  # os.environ takes ten times as long
        if posix.environ.get(b"ENTRYDB") == b"0" and not part("_entrydb_connecting").is_privileged():
            return
    except Exception:  # half uninstalled
        return
    kept["refreshes"] = refreshes
    for entry in (LIBRARY, *sys.path):
        try:
            if entry is LIBRARY or access(entry + "/pip", 0) or access(entry + "/importlib_metadata", 0):
                loaders = PathFinder._path_importer_cache(entry)._loaders
                loaders[loaders.index((".py", SourceFileLoader))] = ".py", entrydb_loader
        except Exception:  # not a str, not valid as a path, or another finder
            pass
    for name in ("importlib.metadata", "importlib_metadata"):
        if name in sys.modules:
            try:
                part("_entrydb_replacement").replace_in(sys.modules[name])
            except Exception:  # of an unknown kind
                pass


start_refreshing = start.__get__(True)  # start(True), without the cost of a function
