"""After pip: bring the databases of what it has changed up to date.

Called at the exit of a pip that has imported its command install or uninstall. It
never raises, and a failure of the update changes nothing of pip's exit status. Nothing
is imported by then: pip from 26.3 on refuses what is imported once its installation has
begun, and what it has just uninstalled is gone.
"""

import os
import site
import subprocess
import sys

from . import _program

_DIRECTORIES = ("--target", "-t", "--prefix", "--root")
_OF_A_BUILD = "pip-build-env-"  # pip runs itself to furnish one; it is gone soon


def update(tell):
    """tell: is given a message where it fails."""
    if any(_OF_A_BUILD in argument for argument in sys.argv):
        return
    try:
        subprocess.run([_program.PATH, "update", "--hook", "pip", *changed(sys.argv)],
                       stdin=subprocess.DEVNULL, check=False)
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
            found += [value] if equals else arguments[at + 1:at + 2]
    return [os.path.abspath(place) for place in found if os.path.isdir(place)]
