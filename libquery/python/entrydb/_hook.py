"""After pip: bring the databases of what it has changed up to date.

Called at the exit of a pip that has imported its command install or uninstall. It
never raises, and a failure of the update changes nothing of pip's exit status. Nothing
is imported by then: pip from 26.3 on refuses what is imported once its installation has
begun, and what it has just uninstalled is gone.
"""

import os
import shlex
import site
import sys

from . import _program

_DIRECTORIES = ("--target", "-t", "--prefix", "--root")
_DATABASE = "var/lib/entrydb/entry_points.db"
_OF_A_BUILD = "pip-build-env-"  # pip runs itself to furnish one; it is gone soon


def update(tell):
    """tell: is given a message where it fails."""
    if any(_OF_A_BUILD in argument for argument in sys.argv):
        return
    places = changed(sys.argv)
    if not os.path.exists(__file__):  # it is this package that pip has just uninstalled
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
    """The environments and directories in which that pip may have changed something."""
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
    """What a distribution's package is built from, say: no database is begun in there."""
    return option in ("--prefix", "--root") and not os.path.exists(f"{place}/{_DATABASE}")
