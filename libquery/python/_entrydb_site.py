"""Runs at the start of each interpreter of an environment that entrydb is switched on in.

sitecustomize.py begins with this module, or entrydb.pth imports it; from Python 3.15 on
entrydb.start calls a function. Each start pays for each function that stands here, and each import
would for a finder in sys.meta_path: so they are few, and what is watched are the few directories
that matter. The rest, _entrydb_replacement.py, is loaded when the program imports what it is about.

A program may drop or reload any module, this one too, and leave its hook in sys.path_hooks. So
what is used later is bound here, and the hook carries all state.
"""

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import os
import sys
from posix import access


def watcher(path, finder=None):
    """A path hook: what another one makes for a directory where a module is looked for that
    matters tells what it finds. finder: where it is made already."""
    try:
        is_watched = path.endswith(("/importlib", "/pip/_internal/commands")) \
            or path in sys.path and access(path + "/importlib_metadata", 0)
    except Exception:  # not a str, or not one for the file system; a program's own sys.path
        is_watched = False
    for hook in tuple(sys.path_hooks) if is_watched and not finder else ():
        try:
            finder = finder or not is_watcher(hook) and hook(path)
        except ImportError:
            pass
    if not finder:
        raise ImportError
    if not is_watched or "find_spec" in getattr(finder, "__dict__", ("find_spec",)):
        return finder

    def find_spec(name, target=None):
        spec = type(finder).find_spec(finder, name, target)
        if spec and name in {"importlib.metadata", "importlib_metadata", "pip._internal.commands.install",
                             "pip._internal.commands.uninstall"}:
            try:
                rest().found(name, spec)
            except Exception:  # half uninstalled, say: the program must not suffer
                pass
        return spec

    find_spec.is_entrydb = True
    finder.find_spec = find_spec
    return finder


watcher.is_entrydb = True    # whichever copy of this module has made it
watcher.rest = None          # a weak reference: some versions keep sys.path_hooks to their very end
watcher.refreshes = False


def is_watcher(hook):
    return type(hook) is type(is_watcher) and "is_entrydb" in hook.__dict__


def rest():
    """From beside this file, whatever sys.path is; once. Of the watcher that is at work."""
    own = next(filter(is_watcher, sys.path_hooks), watcher)
    name = "_entrydb_replacement"
    found = own.rest and own.rest()
    if not found:
        home = os.path.dirname(os.path.abspath(__file__))
        try:
            found = bootstrap._load(external.spec_from_file_location(name, f"{home}/{name}.py"))
        except (FileNotFoundError, NotADirectoryError):  # frozen, or in a zip
            found = __import__(name)
        found.begin(own)
    return found


def start(refreshes=False):
    """Begin; once begun, nothing more happens. ENTRYDB=0 in the environment forbids it.
    refreshes: a database that is found stale is brought up to date at the end."""
    if any(map(is_watcher, sys.path_hooks)) or os.environ.get("ENTRYDB") == "0":
        return
    watcher.refreshes = refreshes
    sys.path_hooks.insert(0, watcher)
    for path, finder in tuple(sys.path_importer_cache.items()):
        if finder:
            watcher(path, finder)
    for name in "importlib.metadata", "importlib_metadata":
        if name in sys.modules:
            rest().replace_in(sys.modules[name])


def start_refreshing():
    start(True)
