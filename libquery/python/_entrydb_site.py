"""Runs at the start of each interpreter of an environment that entrydb is switched on in.

entrydb.pth imports this module; from Python 3.15 on entrydb.start calls start(). Each
start pays for what stands here, so that is little: the rest, _entrydb_replacement.py, is
loaded when the program imports what it is about.
"""

import os
import sys


def watcher(name, path=None, target=None):
    """A finder that finds nothing of its own: it sees what is being imported."""
    if name in {"importlib.metadata", "importlib_metadata", "pip._internal.commands.install",
                "pip._internal.commands.uninstall"}:
        try:
            found = rest()
        except Exception:  # half uninstalled, say: the program must not suffer
            return None
        return found.find_spec(name, path, target)
    return None


watcher.find_spec = watcher  # a class would take longer to make


def rest():
    """From beside this file, whatever sys.path is."""
    name = "_entrydb_replacement"
    if name not in sys.modules:
        from _frozen_importlib import _load
        from _frozen_importlib_external import spec_from_file_location
        home = os.path.dirname(os.path.abspath(__file__))
        try:
            _load(spec_from_file_location(name, f"{home}/{name}.py"))
        except (FileNotFoundError, NotADirectoryError):  # frozen, or in a zip
            __import__(name)
    return sys.modules[name]


def start():
    """Begin; once begun, nothing more happens. ENTRYDB=0 in the environment forbids it."""
    if watcher in sys.meta_path or os.environ.get("ENTRYDB") == "0":
        return
    sys.meta_path.insert(0, watcher)
    if "importlib.metadata" in sys.modules or "importlib_metadata" in sys.modules:
        rest().replace_in_loaded()


def stop():
    """Take back all that start() did."""
    if watcher in sys.meta_path:
        sys.meta_path.remove(watcher)
        rest().take_all_away()
