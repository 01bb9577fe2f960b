"""The end of sitecustomize.py, which begins with _entrydb_site.py: see _environment.py."""

import sys

sys.modules.setdefault("_entrydb_site", sys.modules[__name__]).start_refreshing()

if HOME in sys.path[:-1]:  # noqa: F821 - run the next sitecustomize.py on sys.path, which this one hides
    from _frozen_importlib import _load
    behind = PathFinder.find_spec(__name__, sys.path[sys.path.index(HOME) + 1:])  # noqa: F821
    if behind and behind.loader:
        _load(behind)
