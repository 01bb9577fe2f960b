"""python -m entrydb: switch the acceleration of an environment on and off, or run the program.

Whatever is not one of the verbs below is the program's: it is run with this
interpreter's sys.path and rules.
"""

import glob
import os
import py_compile
import sys

from . import _program

USAGE = """\
usage: python -m entrydb enable|disable|status [--all-venvs DIR]
       python -m entrydb list|groups|why|update|... [ARGUMENT...]

enable    let every Python of this environment answer importlib.metadata.entry_points()
          from the database, and keep the database current when pip leaves
disable   take that back; the database stays, and harms nobody
status    say what holds

  --all-venvs DIR   all virtual environments below DIR that have entrydb installed

All else is done by the program entrydb, for the path entries and by the rules of this
interpreter: see 'python -m entrydb --help-program', or entrydb(1).

Environment: ENTRYDB=0 switches the acceleration off for one process.
"""

PTH = "entrydb.pth"
START = "entrydb.start"

# Run twice in a virtual environment, and by interpreters that may not have the module.
PTH_TEXT = ('import sys; exec("try:\\n import _entrydb_site\\n'
            ' _entrydb_site.start()\\nexcept Exception:\\n pass")\n')
START_TEXT = "_entrydb_site:start\n"

# Verbs of the program that look at path entries.
ASKING = ("list", "groups", "why", "log")
NAMING = ("--path", "--db", "--root")


class Environment:
    """A site directory that entrydb is installed in, and the prefix that it belongs to."""

    def __init__(self, site, prefix):
        self.site = site
        self.prefix = prefix

    def files(self):
        return {os.path.join(self.site, PTH): PTH_TEXT,
                os.path.join(self.site, START): START_TEXT}

    def is_enabled(self):
        return os.path.exists(os.path.join(self.site, PTH))

    def enable(self):
        # Compiled now: at the first start it would change the site directory's times.
        py_compile.compile(os.path.join(self.site, "_entrydb_site.py"), quiet=1)
        for file, text in self.files().items():
            _replace(file, text)
        print(f"{self.prefix}: enabled ({os.path.join(self.site, PTH)})")
        return _run(["update", self.prefix])

    def disable(self):
        for file in self.files():
            if os.path.exists(file):
                os.remove(file)
        print(f"{self.prefix}: disabled")
        return 0

    def status(self):
        print(f"{self.prefix}: {'enabled' if self.is_enabled() else 'not enabled'}")
        return 0


def _replace(file, text):
    """Whole or not at all: an interpreter may start meanwhile."""
    with open(f"{file}.new", "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(f"{file}.new", file)


def own_environment():
    package = os.path.dirname(os.path.abspath(__file__))
    return Environment(os.path.dirname(package), sys.prefix)


def environments_below(directory):
    """The virtual environments below a directory; those without entrydb are named on stderr."""
    for prefix, directories, files in os.walk(directory):
        if "pyvenv.cfg" not in files:
            continue
        directories.clear()
        found = glob.glob(f"{glob.escape(prefix)}/lib/python3*/site-packages/_entrydb_site.py")
        if found:
            yield Environment(os.path.dirname(found[0]), prefix)
        else:
            print(f"{prefix}: entrydb is not installed there; install it with that "
                  "environment's pip", file=sys.stderr)


def switch(verb, arguments):
    if not arguments:
        chosen = [own_environment()]
    elif len(arguments) == 2 and arguments[0] == "--all-venvs":
        chosen = list(environments_below(arguments[1]))
    else:
        return usage_error()
    status = 0 if chosen else 1
    for environment in chosen:
        try:
            status = max(status, getattr(environment, verb)())
        except OSError as error:
            print(f"entrydb: {error.filename}: {error.strerror}", file=sys.stderr)
            status = 3
    if verb == "status" and not arguments:
        tell_path()
    return status


def tell_path():
    """What an answer would be made from, now."""
    from . import _native, _stock
    import importlib.metadata
    known = _stock.of(importlib.metadata)
    print(f"importlib.metadata of Python {sys.version.split()[0]}: "
          f"{'recognised' if known else 'not recognised, so stock answers'}")
    if os.environ.get("ENTRYDB") == "0":
        print("ENTRYDB=0 is set: switched off for this process")
    database = _native.Database(tuple(_program.site_path()))
    database.refresh()
    for path, file, state, reason in database.roots():
        print(f"{path}: {state}: {reason}" + (f" ({file})" if file else ""))


def _run(arguments):
    import subprocess
    return subprocess.run([_program.PATH, *arguments], check=False).returncode


def run_program(arguments):
    """In place of this process."""
    verb, rest = arguments[0], arguments[1:]
    if verb in ASKING and not any(each.partition("=")[0] in NAMING for each in rest):
        for entry in _program.site_path():
            rest += ["--path", entry]
        if "--python" not in rest:
            rest += ["--python", _program.rules()]
    elif verb == "update" and not [each for each in rest if not each.startswith("-")]:
        rest.append(sys.prefix)
    try:
        os.execv(_program.PATH, ["entrydb", verb, *rest])
    except OSError as error:
        print(f"entrydb: {_program.PATH}: {error.strerror}; install the package again",
              file=sys.stderr)
    return 3


def usage_error():
    print(USAGE, end="", file=sys.stderr)
    return 2


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments:
        return usage_error()
    if arguments[0] in ("enable", "disable", "status"):
        return switch(arguments[0], arguments[1:])
    if arguments[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0
    if arguments[0] == "--help-program":
        arguments = ["--help"]
    return run_program(arguments)


if __name__ == "__main__":
    sys.exit(main())
