"""python -m entrydb: switches the acceleration of importlib.metadata on and off.

All other commands run the program entrydb with this interpreter's sys.path and rules.
"""

import sys

USAGE = """\
usage: python -m entrydb on [--no-refresh]
       python -m entrydb off|status
       python -m entrydb COMMAND [ARGUMENT...]

Let importlib.metadata answer from the database:
  on        in every Python of this environment, from its start; this creates the
            database, and pip updates it from then on
  off       no longer; the database stays
  status    print whether this interpreter does so and, if not, why; and what each path
            entry is answered from

  --no-refresh   do not start an update where a process has found the database stale

Only its owner changes an environment: root leaves that of another user alone, and prints
the command to run. Uninstalling or upgrading entrydb switches it off.

Any other COMMAND (list, groups, why, update, ...) runs the program entrydb for the path
entries and by the rules of this interpreter. See 'entrydb --help' and entrydb(1).

Environment: ENTRYDB=0 switches the acceleration off for one process, ENTRYDB_REFRESH=0 the
update at its end.

Exit status: 0 done, or on; 1 off; 2 usage; 3 could not.
"""

VERBS = ("on", "off", "status")
HELP = ("-h", "--help")
OLD = {"enable": "on", "disable": "off"}


def switch(verb, options):
    from . import _environment
    environment = _environment.Environment()
    if (verb, options) == ("on", ["--no-refresh"]):
        return environment.on(refreshes=False)
    if options:
        return usage_error()
    if verb == "status":
        environment.status()
        from . import _status
        return 0 if _status.show(environment) else 1
    return getattr(environment, verb)()


def usage_error():
    print(USAGE.partition("\n\n")[0] + "\n\nSee 'python -m entrydb --help'.", file=sys.stderr)
    return 2


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments:
        return usage_error()
    verb, *rest = arguments
    if verb in OLD:
        print(f"entrydb: there is no command '{verb}'; to switch the acceleration {OLD[verb]}, run "
              f"'python -m entrydb {OLD[verb]}'", file=sys.stderr)
        return 2
    from . import _program
    if verb not in ("on", "off"):  # a closed pipe must not interrupt these
        _program.restore_signals()
    if verb in HELP or verb in VERBS and set(rest) & set(HELP):
        print(USAGE, end="")
        return 0
    if verb in VERBS:
        import _signal
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)  # ignored, it would hide how a child ended
        return switch(verb, rest)
    return _program.run_for_interpreter(arguments)


if __name__ == "__main__":
    # `python -m` puts the current directory in front: another user may have modules there.
    if not getattr(sys.flags, "safe_path", False) and __file__ != f"{sys.path[0]}/entrydb/__main__.py":
        del sys.path[0]
    sys.exit(main())
