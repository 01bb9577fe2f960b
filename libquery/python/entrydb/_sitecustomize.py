"""How sitecustomize.py ends, which begins with _entrydb_site.py: see _environment.py."""

import os
import sys

sys.modules.setdefault("_entrydb_site", sys.modules[__name__]).start_refreshing()

# One that stands behind this one on sys.path is run as if this one were not there.
home = os.path.dirname(__file__)
behind = sys.path[sys.path.index(home) + 1:] if home in sys.path else None
if behind:
    from _frozen_importlib_external import PathFinder
    behind = PathFinder.find_spec(__name__, behind)
if behind and behind.loader:
    from _frozen_importlib import _load
    _load(behind)
