"""Runs at the start of each interpreter of an environment that entrydb is enabled in.

entrydb.pth imports this module; from Python 3.15 on entrydb.start calls start(). It
sees to it that importlib.metadata and importlib_metadata, whenever the program imports
them, answer through entrydb, and that the database is brought up to date when pip
leaves. A start pays for this one small module: nothing else is imported until it is
needed, and nothing at all of what the program does not import itself.
"""

import _thread
import os
import sys

METADATA = frozenset(("importlib.metadata", "importlib_metadata"))
INSTALLERS = frozenset(("pip._internal.commands.install", "pip._internal.commands.uninstall"))


class Replacement:
    """Stock's function and property in a metadata module, and those put in their place.

    Both stay ordinary attributes, which may be replaced once more and put back. The
    real work is in entrydb._accelerated, imported at the first question.
    """

    def __init__(self, module):
        self.module = module
        self.function = module.entry_points
        self.property = vars(module.Distribution)["entry_points"]
        self.active = True
        self.ask = self.ask_distribution = None
        self.own_function = make_function(self)
        self.own_property = property(make_getter(self), doc=self.property.__doc__)
        self.own_new = make_new(module)

    def put(self):
        self.module.entry_points = self.own_function
        self.module.Distribution.entry_points = self.own_property
        if self.own_new:
            self.module.PathDistribution.__new__ = self.own_new

    def take_away(self):
        """What somebody else has put there meanwhile stays, and finds stock behind it."""
        self.active = False
        if self.module.entry_points is self.own_function:
            self.module.entry_points = self.function
        if vars(self.module.Distribution)["entry_points"] is self.own_property:
            self.module.Distribution.entry_points = self.property
        if self.own_new and vars(self.module.PathDistribution).get("__new__") is self.own_new:
            del self.module.PathDistribution.__new__

    def connect(self):
        with connecting:
            if self.active and self.ask is None:
                self.connect_now()
        return self.active

    def connect_now(self):
        try:
            from entrydb import _accelerated
        except Exception:  # half uninstalled, say: the program must not suffer
            self.active = False
        else:
            _accelerated.connect(self)


def make_function(replacement):
    stock = replacement.function

    def entry_points(**params):
        if not replacement.active or not (replacement.ask or replacement.connect()):
            return stock(**params)
        return replacement.ask(params)

    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(entry_points, name, getattr(stock, name))
    entry_points.__wrapped__ = stock
    return entry_points


def make_getter(replacement):
    stock = replacement.property.fget

    def entry_points(self):
        if not replacement.active or not (replacement.ask or replacement.connect()):
            return stock(self)
        return replacement.ask_distribution(self)

    entry_points.__wrapped__ = stock
    return entry_points


def make_new(module):
    """Some versions look through all attributes of a class for abstract ones, each time that
    one of its distributions is made. Of PathDistribution it is known: it has none."""
    kind = module.PathDistribution
    stock = getattr(module, "DeprecatedNonAbstract", None)
    if stock is None or "__new__" in vars(kind):
        return None

    def __new__(cls, *arguments, **keywords):
        if cls is kind:
            return object.__new__(cls)
        return stock.__new__(cls, *arguments, **keywords)

    return staticmethod(__new__)


class Loader:
    """Loads a metadata module as its own loader would, and puts the replacements in."""

    def __init__(self, loader):
        self.loader = loader

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        replace_in(module)


class Watcher:
    """A finder that finds nothing of its own: it sees what is being imported."""

    def find_spec(self, name, path=None, target=None):
        if name in METADATA:
            return self.find_metadata(name, path, target)
        if name in INSTALLERS:
            update_at_exit()
        return None

    def find_metadata(self, name, path, target):
        for finder in sys.meta_path:
            find_spec = None if finder is self else getattr(finder, "find_spec", None)
            spec = find_spec and find_spec(name, path, target)
            if spec is None:
                continue
            if hasattr(spec.loader, "exec_module"):
                spec.loader = Loader(spec.loader)
            return spec
        return None


watcher = Watcher()
connecting = _thread.allocate_lock()
replacements = {}
exit_is_watched = forks_are_watched = False


def replace_in(module):
    """A module that does not look like the ones known is left as it is."""
    try:
        replacement = Replacement(module)
    except (AttributeError, KeyError):
        return
    replacements[module.__name__] = replacement
    replacement.put()


def update_at_exit():
    global exit_is_watched
    if exit_is_watched:
        return
    exit_is_watched = True
    import atexit
    atexit.register(update_after_pip)


def update_after_pip():
    try:
        from entrydb import _hook
    except Exception:  # it was entrydb that pip has just uninstalled
        return
    _hook.update()


def watch_forks():
    """A child would wait for ever for a module that another thread was just importing."""
    global forks_are_watched
    if not forks_are_watched:
        forks_are_watched = True
        os.register_at_fork(before=connecting.acquire, after_in_parent=connecting.release,
                            after_in_child=connecting.release)


def start():
    """Begin; once begun, nothing more happens. ENTRYDB=0 in the environment forbids it."""
    if watcher in sys.meta_path or os.environ.get("ENTRYDB") == "0":
        return
    sys.meta_path.insert(0, watcher)
    watch_forks()
    for name in METADATA:
        if name in sys.modules:
            replace_in(sys.modules[name])


def stop():
    """Take back all that start() did."""
    if watcher in sys.meta_path:
        sys.meta_path.remove(watcher)
    for replacement in replacements.values():
        replacement.take_away()
    replacements.clear()
