"""The program entrydb, as the package carries it."""

import os
import sys

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "entrydb")


def rules():
    """This interpreter's rules, for --python."""
    return "%d.%d" % sys.version_info[:2]


def site_path():
    """sys.path as a program of this interpreter has it; `python -m` has put the current
    directory before it."""
    return sys.path if getattr(sys.flags, "safe_path", False) else sys.path[1:]
