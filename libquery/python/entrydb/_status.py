"""Reports whether this interpreter answers from the database and, if not, why."""

import os
import posix
import sys

from . import _files

_MESSAGE_MAX = 500    # bytes
_NAMES_MAX = 3        # replaced parts


def show(environment):
    """Print the status. Return True if importlib.metadata is accelerated in this process."""
    broken = extension_failure()
    reason = broken or why_not(environment)
    print(f"this interpreter, Python {sys.version.split()[0]}: "
          + (f"importlib.metadata is not accelerated: {reason}" if reason else
             "importlib.metadata is accelerated" + unless_few()))
    if not reason and sys.modules["_entrydb_replacement"].refreshes and os.environ.get("ENTRYDB_REFRESH") != "0":
        print("a process that finds a database stale starts its update")
    if not broken:
        show_path_entries()
    return not reason


def unless_few():
    """Return a restriction for small environments, which Python reads faster than entrydb is loaded."""
    import _entrydb_connecting
    replacing = sys.modules["_entrydb_replacement"]
    count = _entrydb_connecting.count_distributions(replacing.worth)
    if count >= replacing.worth:
        return ""
    return (f", once it has read {replacing.worth} distributions in one process: there are {count}, "
            "so the first questions are its own")


def show_path_entries():
    """Print the current source of answers for each path entry."""
    from . import _native
    database = _native.Database(tuple(sys.path))
    database.refresh()
    for path, file, state, reason in database.path_entries():
        where = f" ({_files.printable(file)})" if file else ""
        print(f"{_files.printable(path)}: {state}: {reason}{where}")


def why_not(environment):
    """Return a reason in one line; None if the acceleration works."""
    return not_started(environment) or not_recognized() or others_asked()


def not_started(environment):
    if os.environ.get("ENTRYDB") == "0":
        return "ENTRYDB=0 is set"
    started = sys.modules.get("_entrydb_site")
    if started and "entrydb_loader" in str(getattr(sys.path_importer_cache.get(started.LIBRARY), "_loaders", "")):
        return None
    if not environment.is_on():
        return "entrydb is off here; 'python -m entrydb on' switches it on"
    if sys.flags.no_site:
        return "it was started with -S, which leaves out every .pth file"
    if environment.has_sitecustomize():
        return sitecustomize_not_run()
    if not environment.is_read:
        return f"Python runs no .pth file of {_files.printable(environment.path)}"
    return "entrydb.pth has not been run to its end; 'python -m entrydb on' writes it again"


def sitecustomize_not_run():
    other = getattr(sys.modules.get("sitecustomize"), "__file__", None)
    if other:
        return f"{_files.printable(other)} is run instead of entrydb's sitecustomize.py"
    return "sitecustomize.py has not been run to its end; 'python -m entrydb on' writes it again"


def not_recognized():
    import importlib.metadata
    from . import _metadata_module
    if _metadata_module.current(importlib.metadata) is not None:
        return None
    names = sorted(set(replaced_parts(importlib.metadata)))
    if not names:
        return "it is of a version, or changed in a way, that entrydb does not know"
    more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
    return f"replaced by other code: {', '.join(names[:_NAMES_MAX])}{more}"


def replaced_parts(module):
    """Yield names of replaced functions, for a short message. Recognition checks more than these."""
    import pathlib
    owners = [module, *(each for each in vars(module).values() if isinstance(each, type)
                        and each.__module__ == module.__name__), *pathlib.PosixPath.__mro__[:-1]]
    for owner in owners:
        home = f"{owner.__module__}.{owner.__qualname__}" if isinstance(owner, type) else owner.__name__
        yield from (f"{home}.{name}" for name, value in vars(owner).items() if is_foreign(value))
    yield from (f"os.{name}" for name in ("listdir", "stat", "fspath")
                if getattr(os, name) is not getattr(posix, name))


def is_foreign(value):
    """Return True for a function, or wrapper of one, from outside of Python's library and entrydb."""
    value = getattr(value, "fget", None) or getattr(value, "__func__", value)
    code = getattr(value, "__code__", None)
    if code is None:
        kind = type(value)
        return hasattr(value, "__wrapped__") and kind.__module__ not in ("builtins", "functools")
    file = code.co_filename
    library, home = os.path.dirname(os.__file__) + os.sep, os.path.dirname(__file__)
    return not (file.startswith((library, "<frozen ")) and "-packages" not in file
                or file.startswith((home, f"{os.path.dirname(home)}/_entrydb_")))


def others_asked():
    """Return a message about finders of distributions that entrydb does not know; None if there is none."""
    from . import _databases, _metadata_module
    found = _databases.finders()
    others = {name_of(each): None for each in found if _metadata_module.provider(each) is None}
    if others:
        return f"distributions also come from {', '.join(others)} on sys.meta_path"
    if not found:
        return "nothing on sys.meta_path finds distributions"
    return None if len(found) == 1 else \
        f"more than one finder is on sys.meta_path: {', '.join(map(name_of, found))}"


def name_of(finder):
    kind = finder if isinstance(finder, type) else type(finder)
    return f"{kind.__module__}.{kind.__qualname__}"


def extension_failure():
    """Return the reason why the extension cannot be loaded; None if it can. Tested in a child process,
    which a damaged extension may crash."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os._exit(_try_extension(writing))
    os.close(writing)
    with open(reading, errors="replace") as stream:
        message = " ".join(stream.read().split())
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended == 0:
        return None
    message = message or f"it ends the process with signal {-ended}"
    return f"the extension cannot be loaded: {_files.printable(message)}; " \
        "install the package again"


def _try_extension(writing):
    try:
        from . import _native
        _native.Database(())
    except BaseException as error:
        os.write(writing, str(error).encode(errors="backslashreplace")[:_MESSAGE_MAX])
        return 1
    return 0
