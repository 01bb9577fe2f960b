"""The hook of pip: updates the databases of the environments that pip has changed.

Called at the exit of a pip process that has imported the command install or uninstall. It never
raises, and a failed update does not change pip's exit status. Nothing is imported here: pip 26.3 and
later refuses imports once an installation has begun, and pip may have uninstalled the modules.
"""

import os
import shlex
import site
import sys

from . import _program

_DIRECTORIES = ("--target", "-t", "--prefix", "--root")
_DATABASE = "var/lib/entrydb/entry_points.db"
_OF_A_BUILD = "pip-build-env-"  # pip runs itself for a temporary build environment


def update(tell):
    """Update the databases; tell: called with a message if that fails."""
    if any(_OF_A_BUILD in argument for argument in sys.argv):
        return
    places = changed(sys.argv)
    if not os.path.exists(__file__):  # pip has just uninstalled this package
        for file in (f"{place}/{_DATABASE}" for place in places):
            if os.path.exists(file):
                print(f"entrydb: {file} stays, and nothing updates it any more; to remove it: "
                      f"rm -r {shlex.quote(os.path.dirname(file))}", file=sys.stderr)
        return
    try:
        _program.run_beside("update", "--hook", "pip", *places)
    except OSError as error:
        tell(f"entrydb: {_program.PATH}: {error.strerror}")
    except KeyboardInterrupt:
        pass


def changed(arguments):
    """Return the environments and directories that pip with these arguments may have changed."""
    found = [sys.prefix]
    if site.ENABLE_USER_SITE and os.path.isdir(site.getuserbase()):
        found.append(site.getuserbase())
    for at, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if option in _DIRECTORIES:
            named = [value] if equals else arguments[at + 1:at + 2]
            found += [place for place in named if not _is_staging(option, place)]
    return [os.path.abspath(place) for place in found if os.path.isdir(place)]


def _is_staging(option, place):
    """Return True for a staging directory, as used to build packages: no database is created there."""
    return option in ("--prefix", "--root") and not os.path.exists(f"{place}/{_DATABASE}")
