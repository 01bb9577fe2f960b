"""The end of sitecustomize.py, which begins with _entrydb_site.py: see _environment.py."""

import os
import sys

sys.modules.setdefault("_entrydb_site", sys.modules[__name__]).start_refreshing()

# Run the next sitecustomize.py on sys.path, which this one hides.
home = os.path.dirname(__file__)
behind = sys.path[sys.path.index(home) + 1:] if home in sys.path else None
if behind:
    from _frozen_importlib_external import PathFinder
    behind = PathFinder.find_spec(__name__, behind)
if behind and behind.loader:
    from _frozen_importlib import _load
    _load(behind)
