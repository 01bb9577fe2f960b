"""A conda plugin: updates the database of an environment after a command that changes it.

conda imports this module by its entry point in the group "conda", and calls conda_post_commands()
for the functions to run after commands. An error here must not make conda report a failure of work
that it has completed. Every conda command fails if a plugin cannot be imported: so this plugin does
nothing if conda's interface has changed.
"""

import os
import shutil
import subprocess
import sys

CHANGING = {"create", "install", "update", "upgrade", "remove", "uninstall",
            "env_create", "env_update"}
SECONDS_ALLOWED = 60
# Not the caller's PATH: the active environment comes first there, and may be another user's.
PLACES = f"{sys.prefix}/bin:/usr/local/bin:/usr/bin"


def tell(failure):
    """Print a failure only if conda is verbose: programs parse its output."""
    if os.environ.get("CONDA_VERBOSE", "0") != "0" or {"-v", "--verbose"} & set(sys.argv):
        print(f"entrydb: the database is not updated: {failure}", file=sys.stderr)


def update(command):
    """Update the database of the environment that the command changed."""
    try:
        from conda.base.context import context
        program = shutil.which("entrydb", path=PLACES)
        if not program:
            raise FileNotFoundError(f"no entrydb in {PLACES}")
        subprocess.run([program, "update", "--hook", "conda", str(context.target_prefix)],
                       stdin=subprocess.DEVNULL, timeout=SECONDS_ALLOWED, check=False)
    except Exception as failure:  # conda's interface has changed, or the program fails
        tell(failure)


def conda_post_commands():
    """Yield the hook; nothing if conda has no CondaPostCommand, whose module has changed once."""
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
