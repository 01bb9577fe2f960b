"""What _entrydb_replacement does from the first question on: is it worth it to load the package, which
_accelerated does? Until then Python answers, and in small environments for good.
"""

import _frozen_importlib_external as external
import _thread
import atexit
import os
import posix
import sys
from time import perf_counter, time

from _entrydb_replacement import HOME, connecting, looking_like, submodule

environ, stat = os.environ, posix.stat
replacements = {}            # by the name of a metadata module: its Connecting
counted = {}                 # of a path entry: its number and time, and how many it had then
QUESTIONS_WAITED_MAX = 1023  # between two attempts to connect
RETRY = 3600                 # seconds
WORTH_FAR_AWAY = 16          # distributions, where each file takes some time to come, those of entrydb too
FAR_AWAY = 0.0005            # seconds; a look for the files of rules takes a tenth of that at home
ONE_BY_ONE = 32              # that somebody asks for, before it looks as if he walked over all


class Connecting:
    """One that was asked, and is asked through the functions and properties of @parts."""

    active = True
    ask = ask_distribution = ask_name = ask_header = None
    asking = None                    # the thread in which Python answers
    wait = pause = read = count = 0  # read, count: distributions, by Python so far, and for one question

    def __init__(self, home, module, parts):
        self.home, self.module, self.parts = home, module, parts
        self.function = parts["", "entry_points"][1]
        self.property = parts["Distribution", "entry_points"][1]
        put_new(module, parts)
        self.refresh_at_exit(behind)
        replacements[module.__name__] = self

    def is_question_worth_it(self):
        """Would Python, to answer, read more distributions than it takes to load entrydb? Where
        there may be rules about what may be loaded, only entrydb knows what they are; and how long
        it takes to look for them tells how far away the environment is."""
        self.count = count_distributions(self.home.worth - self.read)
        many, began = self.read + self.count, perf_counter()
        return many >= self.home.worth or may_have_rules() \
            or many >= WORTH_FAR_AWAY and perf_counter() - began > FAR_AWAY

    def ask_first(self, params):
        if not self.ask and self.is_question_worth_it():
            self.connect()
        return (self.ask or self.ask_python)(params)

    def is_reading_worth_it(self):
        """The same where somebody asks for one distribution; maybe he walks over all of them."""
        if self.asking == _thread.get_ident():
            return False
        self.read += 1
        return self.read >= self.home.worth or self.read == ONE_BY_ONE and self.is_question_worth_it() \
            or self.read < ONE_BY_ONE and may_have_rules()

    def find(self, name):
        """To find one by its name Python lists all directories, and takes every name in them apart."""
        if not self.ask and count_distributions(2 * self.home.worth) >= 2 * self.home.worth:
            self.connect()
        return self.ask and self.ask_name and self.ask_name(name)

    def read_part(self, name, distribution):
        """Its entry points, name or version; None where Python has to read them. To read a name or
        version it imports a parser of e-mail, from 3.13 on only then: that takes longer than to load
        entrydb."""
        if name == "entry_points":
            if self.ask or self.is_reading_worth_it() and self.connect():
                return self.ask_distribution(distribution)
            return None
        if not self.ask and (not self.home.worth or "email.message" not in sys.modules):
            self.connect()
        return self.ask_header(distribution, name == "version") or None if self.ask and self.ask_header else None

    def ask_python(self, params):
        """Its function asks for every distribution; that it is worth it has been decided."""
        self.asking = _thread.get_ident()
        try:
            return self.function(**params)
        finally:
            self.asking = None
            self.read += self.count

    def connect(self):
        """Can it be asked now? Not while it is being connected: neither another thread nor what
        the imports run may wait for that. What fails is tried again later, ever more rarely. Nor
        ever in a child whose parent was connecting in another thread: there a module may be half
        imported, and the lock stays as it is. (A function for os.register_at_fork() would keep
        all that the metadata module has imported until the very end of the interpreter, where
        that takes time.)"""
        wait = self.wait
        if wait:
            self.wait = wait - 1  # of what it was: threads that count at once do not get below 0
            return False
        if not connecting.acquire(False):
            return False
        try:
            if not self.ask and not submodule("_accelerated").connect(self):
                raise LookupError
        except Exception:  # half uninstalled, say: the program must not suffer
            self.wait = self.pause = min(2 * self.pause + 1, QUESTIONS_WAITED_MAX)
        finally:
            connecting.release()
        return self.ask is not None

    def refresh_at_exit(self, find):
        """find: a function that lists (path entry, its database)."""
        if self.home.refreshes and environ.get("ENTRYDB_REFRESH") != "0" and environ.get("ENTRYDB_FRESH") != "exact":
            atexit.unregister(refresh)
            atexit.register(refresh, find, posix.getpid())


def with_any_arguments(own, entry_points):
    return lambda *arguments, **params: own(*arguments, **params) if arguments else entry_points(**params)


def getter_of(found):
    """Of a wrapper, which may have the fget of what it wraps."""
    return lambda self: found.__get__(self, type(self))


def put_new(module, parts):
    """Some versions look through all attributes of a class for abstract ones, each time that
    one of its distributions is made. Of PathDistribution it is known: it has none."""
    kind = module.PathDistribution
    checking = getattr(module, "DeprecatedNonAbstract", None)
    own = checking and vars(checking).get("__new__")
    own = getattr(own, "__func__", None)
    if getattr(own, "__globals__", None) is not vars(module) or "__new__" in vars(kind):
        return
    inspect = sys.modules.get("inspect")  # of the module, it may be a program's by now

    def __new__(cls, *arguments, **keywords):
        if cls is kind and checking.__new__ is own and module.inspect is inspect:
            return object.__new__(cls)
        return checking.__new__(cls, *arguments, **keywords)

    looking_like(own, __new__).__wrapped__ = kind.__init__  # the signature of the class
    ours = kind.__new__ = staticmethod(__new__)
    parts["PathDistribution", "__new__"] = kind, None, ours


def count_distributions(most):
    """On sys.path, about, and little more than these: whoever has imported something has listed
    the directories already. What a program has put in the place of os.listdir() sees none of it."""
    found = 0
    for entry in tuple(sys.path)[::-1]:  # what pip installs into comes last
        found += count_metadata(entry)
        if found >= most:
            break
    return found


def count_metadata(entry, stat=posix.stat, list_directory=posix.listdir):
    """Names in a directory that end in -info: counted once, until its time is another one. (What
    fakes a file system replaces those functions wherever a module has them.)"""
    if type(entry) is not str:
        return 0
    try:
        finder = sys.path_importer_cache.get(entry)
        seen = finder._path_cache if type(finder) is external.FileFinder else None
        if not seen:  # whoever imports makes a new set when the directory has changed
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
    """What is raised by a function of C has this caller's frame alone; what the handler of a signal
    raises, which ran right after it, has a frame of its own."""
    if error.__traceback__.tb_next:
        raise error


def may_have_rules():
    """About what may be loaded: see entrydb(1). Any directory above a path entry may turn out not
    to be the prefix of an environment; that is for entrydb to find out."""
    config = environ.get("XDG_CONFIG_HOME") or environ.get("HOME", "") + "/.config"
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


# --- a database that is found stale: see entrydb/_refresh.py ---

def refresh(find, pid):
    """Not in a child of fork(), nor where pip's hook does it. What goes wrong is nobody's concern."""
    try:
        found = not exit_is_watched and find()
        if found and pid == posix.getpid():
            submodule("_refresh").start(found)
    except Exception:
        pass


def behind():
    """Where Python answers, nobody asks a database. Its environment's is taken to be stale if the
    site directory is younger than it, and than the last update that was started for that; which
    may have been killed."""
    place = f"{sys.prefix}/var/lib/entrydb"
    site = os.path.dirname(HOME)
    changed, database = stat(site).st_mtime, f"{place}/entry_points.db"
    if stat(database).st_mtime >= changed:
        return []
    if exists(f"{place}/.refresh") and stat(f"{place}/.refresh").st_mtime >= max(changed, time() - RETRY):
        return []
    return [(site, database)]


def stop(home):
    """Take back all that start() of _entrydb_site did. What somebody else has put there meanwhile stays, with
    the module's own behind it."""
    for finder in sys.path_importer_cache.values():
        if hasattr(getattr(finder, "__dict__", {}).get("find_spec"), "entrydb"):
            del finder.find_spec
    for _, parts, begin in home.replacements.values():
        replacement = begin()
        if replacement:
            replacement.active = False
        for (_, name), (owner, theirs, ours) in parts.items():
            if vars(owner).get(name) is not ours:
                continue
            if theirs:
                setattr(owner, name, theirs)
            else:
                delattr(owner, name)
    home.replacements.clear()


# --- pip ---

exit_is_watched = False


def update_at_exit():
    """All that is needed then is imported now: pip may forbid it later, or uninstall it."""
    global exit_is_watched
    if exit_is_watched:
        return
    exit_is_watched = True
    try:
        submodule("_accelerated")  # pip may ask, too
        update = submodule("_hook").update
    except Exception as error:
        tell_if_verbose(f"entrydb: no database will be updated: {error}")
    else:
        atexit.register(update, tell_if_verbose)


def tell_if_verbose(message):
    """pip's own work is done, and its messages are read by programs."""
    if environ.get("PIP_VERBOSE", "0") != "0" or any(
            each == "--verbose" or each.startswith("-v") for each in sys.argv):
        print(message, file=sys.stderr)
