"""Runs the program entrydb of this package; also the console script of that name."""

import _signal  # signal itself takes longer to import than a small update
import os
import sys

# In packages of distributions, CMakeLists.txt replaces this by the path to the system's program.
_FROM_HERE = "bin/entrydb"
PATH = os.path.abspath(os.path.join(os.path.dirname(__file__), _FROM_HERE))

_IGNORED_BY_PYTHON = (_signal.SIGPIPE, _signal.SIGXFSZ)  # the program would inherit that

# Commands that use path entries; options that name other path entries; all options with an argument.
_ASKING = ("list", "groups", "why", "log")
_NAMING = ("--path", "--db", "--root")
_WITH_ARGUMENT = (*_NAMING, "--fresh", "--python", "--hook", "--color")


def rules():
    """Return this interpreter's rules, for --python."""
    return "%d.%d" % sys.version_info[:2]


def stranger_above(directory):
    """Return the status of the first directory above an open one, from "/" on, that belongs neither to root nor to
    the effective user; None if there is none. ".." does not follow links, which a stranger could switch meanwhile."""
    above = [os.stat("..", dir_fd=directory)]
    while not (len(above) > 1 and os.path.samestat(*above[-2:])):
        above.append(os.stat("../" * (len(above) + 1), dir_fd=directory))
    return next((each for each in reversed(above) if each.st_uid not in (0, os.geteuid())), None)


def restore_signals():
    for each in _IGNORED_BY_PYTHON:
        _signal.signal(each, _signal.SIG_DFL)


def run_beside(*arguments):
    """Run the program and return its exit status, negative for a signal. Importing subprocess is slower."""
    return os.waitstatus_to_exitcode(os.waitpid(_start(arguments, [0]), 0)[1])


def start_detached(*arguments):
    """Start the program in a new session, with standard files on /dev/null, and no others: they may be locked,
    or pipes whose reader waits for their end."""
    _start(arguments, [0, 1, 2], [int(name) for name in os.listdir("/proc/self/fd") if int(name) > 2], setsid=True)


def _start(arguments, empty, closed=(), **how):
    return os.posix_spawn(PATH, ["entrydb", *arguments], os.environ, setsigdef=_IGNORED_BY_PYTHON,
                          file_actions=[*((os.POSIX_SPAWN_OPEN, file, os.devnull, os.O_RDWR, 0) for file in empty),
                                        *((os.POSIX_SPAWN_CLOSE, file) for file in closed)], **how)


def run(arguments, environment=None):
    """Replace this process by the program; return an exit status only if that fails."""
    restore_signals()
    try:
        os.execve(PATH, ["entrydb", *arguments], os.environ if environment is None else environment)
    except OSError as error:
        from . import _files
        print(f"entrydb: {_files.printable(PATH)}: {error.strerror}; install the package again",
              file=sys.stderr)
    return 3


def run_for_interpreter(arguments):
    """Run the program for the path entries of this interpreter, by its rules."""
    verb, rest = arguments[0], arguments[1:]
    options = [each.partition("=")[0] for each in rest]
    if verb in _ASKING and not any(each in _NAMING for each in options):
        if "--python" not in options:
            rest = ["--python", rules(), *rest]
        rest = [word for entry in sys.path for word in ("--path", entry)] + rest
    elif verb == "update" and all(each.startswith("-") or before in _WITH_ARGUMENT
                                  for before, each in zip(["", *rest], rest)):
        rest = [*rest, sys.prefix]
    return run([verb, *rest])


def main():
    """The script `entrydb`: run the program as if this interpreter's environment were active."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in ("on", "off"):
        print(f"entrydb: there is no command '{arguments[0]}'; for the acceleration of "
              f"importlib.metadata, run 'python -m entrydb {arguments[0]}'", file=sys.stderr)
        return 2
    environment = dict(os.environ)
    if sys.prefix != sys.base_prefix:
        environment["VIRTUAL_ENV"] = sys.prefix
    elif os.path.isdir(os.path.join(sys.prefix, "conda-meta")):
        environment.pop("VIRTUAL_ENV", None)
        environment["CONDA_PREFIX"] = sys.prefix
    return run(arguments, environment)
