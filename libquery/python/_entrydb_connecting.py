"""Loaded by _entrydb_replacement at the first query: decides when loading the package saves time.

Until then Python's own functions answer; in small environments they always do. The other modules are
obtained by part(), see _entrydb_site: a program may delete them from sys.modules.
"""

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import _thread
import atexit
import os
import posix
import sys
from time import perf_counter, time

HOME = __file__.rpartition("/")[0] + "/entrydb"
environ, stat = os.environ, posix.stat
replacements = {}            # name of a metadata module -> its Connecting
connecting = _thread.allocate_lock()
counted = {}                 # path entry -> (inode and time or set of names, distributions)
QUESTIONS_WAITED_MAX = 1023  # queries between two attempts to connect
RETRY = 3600                 # seconds
READING = 4                  # times as many distributions, if read one by one: entrydb saves less then
FINDING = 8                  # the same if one of them is looked for by its name
WORTH_FAR_AWAY = 16          # distributions, on a slow file system
FAR_AWAY = 0.0005            # seconds to look for policy files; a local file system needs a tenth of it
ONE_BY_ONE = 32              # distributions read singly before the caller seems to iterate over all
HINTS = "__annotate__" if sys.version_info >= (3, 14) else "__annotations__"


class Connecting:
    """Answers the queries of a metadata module; own: its own functions, which have the original code.
    Once it is connected, further attributes hide the methods of these names."""

    connected = False
    asking = None                    # the thread in which Python's own function runs
    wait = pause = read = count = 0  # read: distributions read by Python so far; count: for one query

    def __init__(self, module, functions):
        self.home, self.module = part("_entrydb_replacement"), module
        self.own = {what: type(put_new)(code, vars(module), function.__name__, function.__defaults__)
                    for what, (function, _, code) in functions.items()}
        self.replaced = {what: (*functions[what][:2], own) for what, own in self.own.items()}
        put_new(module, self.replaced)
        self.refresh_at_exit(behind)
        replacements[module.__name__] = self

    def is_worth_it(self, worth, read=0):
        """Return True if, with those that were read, there are so many distributions that loading entrydb
        is faster than letting Python read all, or if there may be policy rules, which only entrydb
        applies. The time needed to look for policy files shows whether the file system is slow."""
        self.count = count_distributions(worth - read)
        many, began = read + self.count, perf_counter()
        return many >= worth or may_have_rules() \
            or many >= WORTH_FAR_AWAY and perf_counter() - began > FAR_AWAY

    def entry_points(self, /, **params):
        """Python's own function reads every distribution through the replaced property, for which
        is_reading_worth_it() then returns False."""
        if self.is_worth_it(self.home.worth, self.read) and self.connect():
            return self.entry_points(**params)
        self.asking = _thread.get_ident()
        try:
            return self.own["entry_points"](**params)
        finally:
            self.asking = None
            self.read += self.count

    def distribution(self, name):
        """Return the distribution of that name. To find it, Python lists all directories and parses each
        name in them."""
        worth = FINDING * self.home.worth
        if count_distributions(worth) >= worth and self.connect():
            return self.distribution(name)
        return self.own["distribution"](name)

    def is_reading_worth_it(self):
        """The same as is_worth_it() for a query of one distribution; the caller may be iterating over all."""
        if self.asking == _thread.get_ident():
            return False
        self.read += 1
        worth = READING * self.home.worth
        return self.read >= worth or self.read == ONE_BY_ONE and self.is_worth_it(worth) \
            or self.read < ONE_BY_ONE and may_have_rules()

    def entry_points_of(self, distribution):
        if self.is_reading_worth_it() and self.connect():
            return self.entry_points_of(distribution)
        return self.own["entry_points_of"](distribution)

    def name_of(self, distribution, which="name_of"):
        """Return the name of a distribution. Python imports the email parser (from 3.13 on, not before
        that), which takes longer than loading entrydb."""
        if (not self.home.worth or "email.message" not in sys.modules) and self.connect():
            return getattr(self, which)(distribution)
        return self.own[which](distribution)

    def version_of(self, distribution):
        return self.name_of(distribution, "version_of")

    def connect(self):
        """Connect to the database; return True if it can be queried. Other threads, and code run by
        the imports, do not wait while this is in progress: they get False. Failed attempts are
        repeated after increasing numbers of queries. In the child of a fork() during an attempt of
        another thread the lock stays held, since a module may be half imported: such a child never
        connects. (os.register_at_fork() would keep everything imported by the metadata module alive
        until the interpreter's exit and slow that down.)"""
        wait = self.wait
        if wait and not self.connected:
            self.wait = wait - 1  # from the local value: concurrent threads cannot get below 0
            return False
        if not connecting.acquire(False):
            return self.connected
        try:
            if not self.connected and (self.is_foreign() or not submodule("_accelerated").connect(self)):
                raise LookupError
        except Exception:  # a half uninstalled package, for instance, must not break the program
            self.wait = self.pause = min(2 * self.pause + 1, QUESTIONS_WAITED_MAX)
        finally:
            connecting.release()
        return self.connected

    def is_foreign(self):
        """Return True if another module stands for pathlib, as in meson: loading entrydb to recognize that
        would be a waste, unless there may be policy rules."""
        found = vars(self.module).get("pathlib")
        return type(found) is type(sys) and vars(found).get("__name__") != "pathlib" and not may_have_rules()

    def refresh_at_exit(self, find):
        """Register the update; find: a function that returns stale (path entry, database) pairs."""
        if self.home.refreshes and environ.get("ENTRYDB_REFRESH") != "0" and environ.get("ENTRYDB_FRESH") != "exact":
            atexit.unregister(refresh)
            atexit.register(refresh, find, (posix.getpid(), posix.geteuid()))


def of(module):
    """Return the Connecting of a module; None if its functions have not been replaced."""
    getattr(getattr(module, "_entrydb", None), "entry_points", None)  # the first time creates it
    found = getattr(module, "_entrydb", None)
    return found if type(found) is Connecting else None


class Moved(ImportError):
    """After chroot(), nothing of the package is loaded."""


def submodule(name):
    """Return a submodule of the package beside this file, independently of the current import system.
    Neither another module called entrydb (in a script's directory, for instance) nor the package's own
    __init__.py is run."""
    for each in "_entrydb_replacement", __name__:
        sys.modules.setdefault(each, part(each))
    for package in ("entrydb", "_entrydb"):
        if getattr(sys.modules.get(package), "__path__", None) == [HOME]:
            break
    else:
        spec = external.spec_from_file_location(package, f"{HOME}/__init__.py", submodule_search_locations=[HOME])
        sys.modules[package] = bootstrap.module_from_spec(spec)
    full = f"{package}.{name}"
    with bootstrap._ModuleLockManager(full):  # another thread may be importing it
        if full not in sys.modules:
            if part("_entrydb_replacement").is_moved():
                raise Moved
            try:
                bootstrap._load_unlocked(
                    external.spec_from_file_location(full, f"{HOME}/{name}.py"))
            except (FileNotFoundError, NotADirectoryError):  # frozen, or in a zip file
                __import__(full)
        return sys.modules[full]


def put_new(module, replaced):
    """Skip the search for abstract attributes that some versions make at each creation of a
    distribution: PathDistribution has none."""
    kind = module.PathDistribution
    checking = getattr(module, "DeprecatedNonAbstract", None)
    own = checking and vars(checking).get("__new__")
    own = getattr(own, "__func__", None)
    if getattr(own, "__globals__", None) is not vars(module):
        return
    inspect = sys.modules.get("inspect")  # the original; a program may replace the module's

    def __new__(cls, *arguments, **keywords):
        if cls is kind and checking.__new__ is own and module.inspect is inspect:
            return object.__new__(cls)
        return checking.__new__(cls, *arguments, **keywords)

    for name in "__module__", "__name__", "__qualname__", "__doc__", HINTS:
        setattr(__new__, name, getattr(own, name))
    __new__.__wrapped__ = kind.__init__  # the signature of the class
    if "__new__" not in vars(kind):
        kind.__new__ = staticmethod(__new__)
    if is_ours(kind.__new__):  # or that of another thread
        replaced["__new__"] = kind.__new__, kind.__new__.__code__, own


def is_ours(function):
    return getattr(function, "__globals__", None) is globals()


def count_distributions(most):
    """Return about the number of distributions on sys.path; stop counting at most. Uses the directory
    listings cached by the import system, and never a replaced os.listdir()."""
    found = 0
    for entry in tuple(sys.path)[::-1]:  # the directories that pip installs into are last
        found += count_metadata(entry)
        if found >= most:
            break
    return found


def count_metadata(entry, stat=posix.stat, list_directory=posix.listdir):
    """Return the number of names in a directory that end in -info, cached until its modification time
    changes. The default arguments protect the functions from libraries that fake a file system."""
    if type(entry) is not str:
        return 0
    try:
        finder = sys.path_importer_cache.get(entry)
        seen = finder._path_cache if type(finder) is external.FileFinder else None
        if not seen:  # the import system makes a new set when the directory has changed
            status = stat(entry or ".")
            seen = status.st_ino, status.st_mtime_ns
        known = counted.get(entry)
        if not known or known[0] is not seen and (type(seen) is set or known[0] != seen):
            names = seen if type(seen) is set else list_directory(entry or ".")
            known = counted[entry] = seen, "/".join((*names, "")).count("-info/")
        return known[1]
    except (OSError, TypeError, ValueError) as error:
        pass_on_if_foreign(error)
        return 0


def pass_on_if_foreign(error):
    """Raise an exception of a signal handler again. Its traceback has a further frame; that of a C
    function has only the caller's."""
    if error.__traceback__.tb_next:
        raise error


def may_have_rules():
    """Return True if there may be policy rules (entrydb(1), POLICY). The guessed prefixes need not be
    environments; entrydb checks that later."""
    config = environ.get("XDG_CONFIG_HOME", "")
    config = config if config[:1] == "/" else environ.get("HOME", "") + "/.config"
    entries = (each if each[:1] == "/" else "./" + each for each in tuple(sys.path) if type(each) is str)
    prefixes = {entry[:entry.rfind("/lib")] for entry in entries if "/lib" in entry}
    return "ENTRYDB_DISABLE" in environ or any(map(exists, (
        f"{config}/entrydb/policy.conf", "/etc/entrydb/policy.conf",
        *(f"{prefix}/etc/entrydb/policy.conf" for prefix in prefixes))))


def exists(path):
    try:
        stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        pass_on_if_foreign(error)
    return True


def is_privileged():
    """As trust_is_privileged() in db/base/trust.c: may the environment be another user's?"""
    try:
        try:
            with open("/proc/self/auxv", "rb") as file:
                words = memoryview(file.read()).cast("L")
            found = (23, 1) in zip(words[::2], words[1::2])  # AT_SECURE
        except FileNotFoundError:  # no /proc; importing ctypes is slower
            found = __import__("ctypes").CDLL(None).getauxval(23)
    except Exception:  # such a process may not even read its own
        return True
    return bool(found) or len({*posix.getresuid()}) * len({*posix.getresgid()}) > 1


# --- update of stale databases: see entrydb/_refresh.py ---

def refresh(find, who):
    """Start the update, except in a child of fork(), as another user, or if pip's hook does it. Ignores all errors."""
    try:
        found = not exit_is_watched and find()
        if found and who == (posix.getpid(), posix.geteuid()) and not part("_entrydb_replacement").is_moved() \
                and exists("/proc/self/fd") and not is_privileged():  # without /proc that imports a module
            submodule("_refresh").start(found)
    except Exception:
        pass


def behind():
    """Return the environment's database if it seems stale, for processes in which only Python has
    answered: the site directory is newer than the database and than the last update started for it
    (or that was long ago, since the update may have been killed). A time in the future says nothing: the clock
    was wrong."""
    place = f"{sys.prefix}/var/lib/entrydb"
    site = os.path.dirname(HOME)
    changed, database, now = stat(site).st_mtime, f"{place}/entry_points.db", time()
    if changed <= stat(database).st_mtime <= now:
        return []
    if max(changed, now - RETRY) <= stat(f"{database}.lock").st_mtime <= now:
        return []
    return [(site, database)]


def stop(home):
    """Undo start() of _entrydb_site. An attribute that another program has replaced since is kept."""
    for finder in sys.path_importer_cache.values():
        loaders = getattr(finder, "__dict__", {}).get("_loaders") or ()
        for at, (suffix, loader) in enumerate(loaders):
            if getattr(loader, "__name__", "") == "entrydb_loader":
                loaders[at] = suffix, external.SourceFileLoader
    for module, functions in home.replacements.values():
        for function, ours, code in functions.values():
            if function.__code__ is ours:
                function.__code__ = code
        if is_ours(module.PathDistribution.__new__):
            del module.PathDistribution.__new__
    home.replacements.clear()


# --- pip ---

exit_is_watched = False


def watch_pip(name, loader):
    """Watch the commands of pip, once it is imported; then update databases after those that change some."""
    if name != "pip":
        return update_at_exit()
    directory = loader.path.rpartition("/")[0] + "/_internal/commands"
    loaders = external.PathFinder._path_importer_cache(directory)._loaders
    loaders[loaders.index((".py", type(loader)))] = ".py", part.__globals__["entrydb_loader"]


def update_at_exit():
    """Register the update of databases after pip. Imports everything now: pip may forbid imports later,
    or uninstall this package."""
    global exit_is_watched
    if exit_is_watched:
        return
    exit_is_watched = True
    try:
        submodule("_accelerated")  # pip may query entry points, too
        update = submodule("_hook").update
    except Exception as error:
        tell_if_verbose(f"entrydb: no database will be updated: {error}")
    else:
        atexit.register(update, tell_if_verbose)


def tell_if_verbose(message):
    """Print a message only if pip is verbose: programs parse its output."""
    if environ.get("PIP_VERBOSE", "0") != "0" or any(
            each == "--verbose" or each.startswith("-v") for each in sys.argv):
        print(message, file=sys.stderr)
