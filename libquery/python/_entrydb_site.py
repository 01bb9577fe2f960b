"""Runs at the start of each interpreter of an environment that entrydb is switched on in.

entrydb.pth imports this module; from Python 3.15 on entrydb.start calls start(). Each
start pays for what stands here, so that is little: the rest, _entrydb_replacement.py, is
loaded when the program imports what it is about.

A program may drop or reload any module, this one too, and leave its finder in sys.meta_path. So
what is used later is bound here, and the finder carries all state.
"""

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import os
import sys


def watcher(name, path=None, target=None):
    """A finder that finds nothing of its own: it sees what is being imported."""
    if name in {"importlib.metadata", "importlib_metadata", "pip._internal.commands.install",
                "pip._internal.commands.uninstall"}:
        try:
            find_spec = rest().find_spec
        except Exception:  # half uninstalled, say: the program must not suffer
            return None
        return find_spec(name, path, target, is_watcher)
    return None


watcher.find_spec = watcher  # a class would take longer to make
watcher.is_entrydb = True    # whichever copy of this module has made it
watcher.rest = None
watcher.refreshes = False


def is_watcher(finder):
    return type(finder) is type(is_watcher) and "is_entrydb" in finder.__dict__


def current():
    """The one that is at work; its own before that."""
    return next(filter(is_watcher, sys.meta_path), watcher)


def rest():
    """From beside this file, whatever sys.path is; once."""
    own = current()
    name = "_entrydb_replacement"
    if own.rest is None:
        home = os.path.dirname(os.path.abspath(__file__))
        try:
            own.rest = bootstrap._load(external.spec_from_file_location(name, f"{home}/{name}.py"))
        except (FileNotFoundError, NotADirectoryError):  # frozen, or in a zip
            own.rest = __import__(name)
        own.rest.refreshes = own.refreshes
    return own.rest


def start(refreshes=False):
    """Begin; once begun, nothing more happens. ENTRYDB=0 in the environment forbids it.
    refreshes: a database that is found stale is brought up to date at the end."""
    if any(map(is_watcher, sys.meta_path)) or os.environ.get("ENTRYDB") == "0":
        return
    watcher.refreshes = refreshes
    sys.meta_path.insert(0, watcher)
    if "importlib.metadata" in sys.modules or "importlib_metadata" in sys.modules:
        rest().replace_in_loaded()


def start_refreshing():
    start(True)


def stop():
    """Take back all that start() did."""
    own = current()
    if own in sys.meta_path:
        sys.meta_path.remove(own)
        if own.rest:
            own.rest.take_all_away()
