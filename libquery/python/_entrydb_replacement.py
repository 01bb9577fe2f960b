"""What stands in a metadata module, as its own function and property, while entrydb is on.

Loaded by _entrydb_site when the program imports such a module, which may never be asked
anything: so this module, too, is small. It asks the package, and loads that when it is
worth it.
"""

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import _thread
import os
import posix
import sys
from time import perf_counter

worth = 70                   # distributions that Python reads as fast as entrydb is loaded
WORTH_FAR_AWAY = 10          # the same where each file takes some time to come
FAR_AWAY = 0.0005            # seconds; a look for the files of rules takes a tenth of that at home
HOME = os.path.dirname(__file__) + "/entrydb"
itself = sys.modules[__name__]  # whatever a program drops from there
environ, stat = os.environ, posix.stat
counted = {}                 # of a path entry: its number and time, and how many it had then
METADATA = ("importlib.metadata", "importlib_metadata")
QUESTIONS_WAITED_MAX = 1023  # between two attempts to connect
NAME, VERSION = 0, 1         # what is read of a distribution's METADATA
VARIABLE = 4 | 8             # of a code object: inspect.CO_VARARGS, CO_VARKEYWORDS
RETRY = 3600                 # seconds
ONE_BY_ONE = 32              # that somebody asks for, before it looks as if he walked over all


class Replacement:
    """A metadata module's own function and property, and those put in their place.

    Both stay ordinary attributes, which may be replaced once more and put back. The
    real work is in entrydb._accelerated.
    """

    def __init__(self, module):
        self.module = module
        self.active = True
        self.ask = self.ask_distribution = self.ask_name = self.ask_header = None
        self.wait = self.pause = 0
        self.read = self.count = 0  # distributions: by Python so far, and for one question
        self.asking = None          # the thread in which Python answers
        self.parts = {}             # by (class or "", name): its owner, what stood there, and ours
        self.function = self.add("", "entry_points", make_function)
        self.property = self.add("Distribution", "entry_points", make_entry_points)
        self.add("", "distribution", make_distribution)
        self.add("Distribution", "name", make_header, NAME)
        self.add("Distribution", "version", make_header, VERSION)
        self.own_new = make_new(module)

    def add(self, place, name, make, *more):
        owner = getattr(self.module, place) if place else self.module
        theirs = vars(owner)[name]
        self.parts[place, name] = owner, theirs, make(self, theirs, *more)
        return theirs

    def put(self):
        for (_, name), (owner, _, ours) in self.parts.items():
            setattr(owner, name, ours)
        if self.own_new:
            self.module.PathDistribution.__new__ = self.own_new

    def take_away(self):
        """What somebody else has put there meanwhile stays, with the module's own behind it."""
        self.active = False
        for (_, name), (owner, theirs, ours) in self.parts.items():
            if vars(owner).get(name) is ours:
                setattr(owner, name, theirs)
        if self.own_new and vars(self.module.PathDistribution).get("__new__") is self.own_new:
            del self.module.PathDistribution.__new__

    def is_question_worth_it(self):
        """Would Python, to answer, read more distributions than it takes to load entrydb? Where
        there may be rules about what may be loaded, only entrydb knows what they are; and how long
        it takes to look for them tells how far away the environment is."""
        self.count = count_distributions(worth - self.read)
        many, began = self.read + self.count, perf_counter()
        return many >= worth or may_have_rules() \
            or many >= WORTH_FAR_AWAY and perf_counter() - began > FAR_AWAY

    def is_reading_worth_it(self):
        """The same where somebody asks for one distribution; maybe he walks over all of them."""
        if self.asking == _thread.get_ident():
            return False
        self.read += 1
        return self.read >= worth or self.read == ONE_BY_ONE and self.is_question_worth_it() \
            or self.read < ONE_BY_ONE and may_have_rules()

    def can_find(self):
        """To find one by its name Python lists all directories, and takes every name in them apart."""
        if not self.ask and count_distributions(2 * worth) >= 2 * worth:
            self.connect()
        return self.ask and self.ask_name

    def can_read(self):
        """To read a name or version Python imports a parser of e-mail, from 3.13 on only then: that
        takes longer than to load entrydb."""
        if not self.ask and (not worth or "email.message" not in sys.modules):
            self.connect()
        return self.ask and self.ask_header

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
            if self.ask is None and not self.connect_now():
                self.wait = self.pause = min(2 * self.pause + 1, QUESTIONS_WAITED_MAX)
        finally:
            connecting.release()
        return self.ask is not None

    def connect_now(self):
        try:
            return submodule("_accelerated").connect(self)
        except Exception:  # half uninstalled, say: the program must not suffer
            return False


def make_function(replacement, own):
    def entry_points(**params):
        if not replacement.active:
            return own(**params)
        if not replacement.ask and replacement.is_question_worth_it():
            replacement.connect()
        return (replacement.ask or replacement.ask_python)(params)

    def with_any_arguments(*arguments, **params):
        return own(*arguments, **params) if arguments else entry_points(**params)

    return looking_like(own, entry_points if takes_the_same(own, entry_points) else with_any_arguments)


def takes_the_same(own, function):
    """By number, kinds and names of parameters."""
    ours, theirs = function.__code__, own.__code__
    taken = ours.co_argcount
    return taken == theirs.co_argcount and ours.co_kwonlyargcount == theirs.co_kwonlyargcount \
        and (ours.co_flags ^ theirs.co_flags) & VARIABLE == 0 \
        and ours.co_varnames[:taken] == theirs.co_varnames[:taken]


def looking_like(own, function):
    """Also to those who do not follow __wrapped__."""
    annotations = "__annotate__" if hasattr(own, "__annotate__") else "__annotations__"
    for name in ("__module__", "__name__", "__qualname__", "__doc__", annotations):
        setattr(function, name, getattr(own, name))
    function.__wrapped__ = own
    return function


def getter_of(found):
    own = getattr(found, "fget", None)
    if type(found) is not property or type(own) is not type(getter_of):
        def own(self):  # of a wrapper, which may have the fget of what it wraps
            return found.__get__(self, type(self))
    return own


def make_entry_points(replacement, found):
    own = getter_of(found)

    def entry_points(self):
        if replacement.active and (replacement.ask or replacement.is_reading_worth_it()
                                   and replacement.connect()):
            return replacement.ask_distribution(self)
        return own(self)

    return property(looking_like(own, entry_points), doc=found.__doc__)


def make_distribution(replacement, own):
    def distribution(distribution_name):
        ask = replacement.active and replacement.can_find()
        found = ask and ask(distribution_name)
        return found or own(distribution_name)

    return looking_like(own, distribution) if takes_the_same(own, distribution) else own


def make_header(replacement, found, which):
    own = getter_of(found)

    def header(self):
        ask = replacement.active and replacement.can_read()
        value = ask and ask(self, which)
        return value or own(self)

    return property(looking_like(own, header), doc=found.__doc__)


def make_new(module):
    """Some versions look through all attributes of a class for abstract ones, each time that
    one of its distributions is made. Of PathDistribution it is known: it has none."""
    kind = module.PathDistribution
    checking = getattr(module, "DeprecatedNonAbstract", None)
    own = checking and vars(checking).get("__new__")
    own = getattr(own, "__func__", None)
    if getattr(own, "__globals__", None) is not vars(module) or "__new__" in vars(kind):
        return None
    inspect = sys.modules.get("inspect")  # of the module, it may be a program's by now

    def __new__(cls, *arguments, **keywords):
        if cls is kind and checking.__new__ is own and module.inspect is inspect:
            return object.__new__(cls)
        return checking.__new__(cls, *arguments, **keywords)

    looking_like(own, __new__).__wrapped__ = kind.__init__  # the signature of the class
    return staticmethod(__new__)


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


# --- the package ---

def package():
    """The name, in sys.modules, of the package beside this file. What else is named entrydb, in
    the directory of a script, say, is not run; nor is the package's own __init__.py."""
    for name in ("entrydb", "_entrydb"):
        if getattr(sys.modules.get(name), "__path__", None) == [HOME]:
            return name
    spec = external.spec_from_file_location(name, f"{HOME}/__init__.py",
                                            submodule_search_locations=[HOME])
    sys.modules[name] = bootstrap.module_from_spec(spec)
    return name


def submodule(name):
    """One of its modules, whatever finds modules by now, or nothing."""
    full = f"{package()}.{name}"
    sys.modules.setdefault(__name__, itself)
    with bootstrap._ModuleLockManager(full):  # another thread may be in the middle of it
        if full not in sys.modules:
            try:
                bootstrap._load_unlocked(
                    external.spec_from_file_location(full, f"{HOME}/{name}.py"))
            except (FileNotFoundError, NotADirectoryError):  # frozen, or in a zip
                __import__(full)
        return sys.modules[full]


# --- a database that is found stale: see entrydb/_refresh.py ---

refreshes = False


def refresh_at_exit(find):
    """find: a function that lists (path entry, its database)."""
    if refreshes and environ.get("ENTRYDB_REFRESH") != "0" and environ.get("ENTRYDB_FRESH") != "exact":
        import atexit
        atexit.unregister(refresh)
        atexit.register(refresh, find, posix.getpid())


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
    site = os.path.dirname(__file__)
    changed, database = stat(site).st_mtime, f"{place}/entry_points.db"
    if stat(database).st_mtime >= changed:
        return []
    if exists(f"{place}/.refresh"):
        import time
        if stat(f"{place}/.refresh").st_mtime >= max(changed, time.time() - RETRY):
            return []
    return [(site, database)]


# --- imports ---

class Execution:
    """Stands in for a loader's method exec_module() until a metadata module is loaded, and puts
    the replacements in. The loader itself stays what whoever looks at a spec expects."""

    def __init__(self, loader):
        self.loader = loader

    def __eq__(self, other):
        return True if type(other) is Execution else NotImplemented

    __hash__ = None

    def __call__(self, module):
        if module.__name__ in METADATA:
            vars(self.loader).pop("exec_module", None)
        type(self.loader).exec_module(self.loader, module)
        if module.__name__ in METADATA:
            replace_in(module)


def find_spec(name, path, target, is_watcher):
    """For the watcher: what the finders after it find, with a loader that is watched."""
    if name not in METADATA:
        update_at_exit()
        return None
    for finder in sys.meta_path:
        find_spec = None if is_watcher(finder) else getattr(finder, "find_spec", None)
        spec = find_spec and find_spec(name, path, target)
        if spec is None:
            continue
        try:
            watch_loader(spec.loader)
        except Exception:  # what it shows as its __dict__ may be another loader's
            pass
        return spec
    return None


def watch_loader(loader):
    """One that takes no attribute, or has its own exec_module() already, is left alone."""
    if not isinstance(loader, type) and hasattr(type(loader), "exec_module") \
            and "exec_module" not in getattr(loader, "__dict__", ("exec_module",)):
        loader.exec_module = Execution(loader)


connecting = _thread.allocate_lock()
replacements = {}  # by the name of the metadata module


def replace_in(module):
    """A module that does not look like the ones known is left as it is."""
    try:
        replacement = Replacement(module)
    except (AttributeError, KeyError, TypeError):
        return
    replacements[module.__name__] = replacement
    replacement.put()
    refresh_at_exit(behind)


def replace_in_loaded():
    for name in METADATA:
        if name in sys.modules:
            replace_in(sys.modules[name])


def take_all_away():
    for replacement in replacements.values():
        replacement.take_away()
    replacements.clear()


# --- pip ---

exit_is_watched = False


def update_at_exit():
    """All that is needed then is imported now: pip may forbid it later, or uninstall it."""
    global exit_is_watched
    if exit_is_watched:
        return
    exit_is_watched = True
    try:
        import atexit
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
