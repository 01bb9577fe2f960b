"""A plugin of conda: a command that changes an environment ends with an update of its database.

conda imports this module by its entry point in the group "conda", and calls
conda_post_commands() for what is to be run after which commands. Whatever goes wrong
here, conda's own work is done by then and must not be reported as failed.
"""

import subprocess

from conda import plugins
from conda.base.context import context

CHANGING = {"create", "install", "update", "upgrade", "remove", "uninstall",
            "env_create", "env_update"}
SECONDS_ALLOWED = 60


def update(command):
    """Of the environment that the command was about. Without the program readers look there."""
    try:
        subprocess.run(["entrydb", "update", "--hook", "conda", str(context.target_prefix)],
                       stdin=subprocess.DEVNULL, timeout=SECONDS_ALLOWED, check=False)
    except (OSError, subprocess.SubprocessError):
        pass


@plugins.hookimpl
def conda_post_commands():
    yield plugins.CondaPostCommand(name="entrydb", action=update, run_for=CHANGING)
