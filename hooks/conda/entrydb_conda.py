"""A plugin of conda: a command that changes an environment ends with an update of its database.

conda imports this module by its entry point in the group "conda", and calls
conda_post_commands() for what is to be run after which commands. Whatever goes wrong
here, conda's own work is done by then and must not be reported as failed. conda fails
each of its commands where a plugin cannot be imported: where its interface has changed,
this one does nothing.
"""

import os
import subprocess
import sys

CHANGING = {"create", "install", "update", "upgrade", "remove", "uninstall",
            "env_create", "env_update"}
SECONDS_ALLOWED = 60


def tell(failure):
    """conda's output is read by programs; whoever wonders asks for more of it."""
    if os.environ.get("CONDA_VERBOSE", "0") != "0" or {"-v", "--verbose"} & set(sys.argv):
        print(f"entrydb: the database is not updated: {failure}", file=sys.stderr)


def update(command):
    """Of the environment that the command was about. Without the program readers look there."""
    try:
        from conda.base.context import context
        subprocess.run(["entrydb", "update", "--hook", "conda", str(context.target_prefix)],
                       stdin=subprocess.DEVNULL, timeout=SECONDS_ALLOWED, check=False)
    except Exception as failure:  # of conda's interface, or of the program
        tell(failure)


def conda_post_commands():
    """None where conda has no class that takes this, which has moved once."""
    try:
        try:
            from conda.plugins.types import CondaPostCommand
        except ImportError:
            from conda.plugins import CondaPostCommand
        yield CondaPostCommand(name="entrydb", action=update, run_for=CHANGING)
    except Exception as failure:
        tell(failure)


try:
    from conda.plugins import hookimpl
except Exception as failure_of_import:
    tell(failure_of_import)
else:
    conda_post_commands = hookimpl(conda_post_commands)
