"""Long-running programs that patch parts of importlib.metadata while their environment changes.

usage: session_worker.py JSON

JSON: {"package": directory of entrydb, "helpers": directories on sys.path for the other modules of the
test, "importlib_metadata" and "wrapt": directories or null, "mutant": name or null}. Each environment
of a request gets a session, a child process that lives until the end of the batch. It imports a
metadata module, switches entrydb on before or after that, and makes queries; in between it wraps parts
of the module, of pathlib and of os, adds finders, and undoes all that, as the seed determines. Writes
one JSON list per line: the moves and observations of each environment. They must be the same with
ENTRYDB=0 and without: sessions.py compares them.
"""

import faulthandler
import importlib
import json
import marshal
import os
import random
import re
import signal
import sys
import threading
import warnings

OPTIONS = json.loads(sys.argv[1])
sys.path[:0] = OPTIONS["helpers"]

import calls  # noqa: E402
import observation  # noqa: E402
import reference_worker  # noqa: E402 - imports what importlib.metadata imports lazily
import wrappers  # noqa: E402
from facts import Facts  # noqa: E402

SECONDS_ALLOWED = 120
HELD_MAX = 3              # patches at a time
BURSTS = (3, 8, 20)       # queries: a failed recognition is retried after some of them
PATIENCES = (0, 0, 3, 20)  # moves before the first change
LATE = 4                  # moves before entrydb is switched on late
NOTABLE = frozenset((     # parts that real programs wrap
    ".distributions", ".distribution", ".entry_points", ".version", ".files", ".metadata",
    "Distribution.discover", "Distribution.from_name", "Distribution.version", "Distribution.files",
    "Distribution.entry_points", "Distribution.metadata", "Distribution.name",
    "PathDistribution.read_text", "MetadataPathFinder.find_distributions",
    "MetadataPathFinder._search_paths", "FastPath.children", "PathFinder.find_distributions",
    "os.listdir", "os.stat", "io.open", "Path.read_text", "Path.open", "Path.stat"))


def without_addresses(text):
    return re.sub("0x[0-9a-f]+", "", text)


def in_child(function):
    """The result of the function, called in a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as stream:
            marshal.dump(function(), stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    return marshal.loads(data)


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


# --- finders ---

class Asking(calls.Silent):
    """A finder that makes a query itself while it is asked for distributions."""

    def __init__(self, module, heard):
        self.module, self.heard = module, heard
        self.asking = False

    def find_distributions(self, context=None):
        if not self.asking:
            self.asking = True
            try:
                self.heard.append(repr(list(self.module.entry_points(group="g"))))
            except Exception as error:
                self.heard.append(repr(error))
            finally:
                self.asking = False
        return []


class AskingOnImport(calls.NotOne):
    """A finder that makes a query during imports, for example of entrydb at the first query. The number of
    imports, and so of calls of the wrappers, depends on entrydb.
    """

    def __init__(self, module, recorder):
        self.module, self.recorder = module, recorder

    def find_spec(self, name, path=None, target=None):
        before = self.recorder.calls
        try:
            list(self.module.distributions())
            self.module.entry_points(group="g")
        except Exception:
            pass
        finally:
            self.recorder.calls = before


def is_there_always(part, owner, name):
    """False for parts that acceleration adds, or whose module it avoids importing."""
    package = getattr(vars(owner)[name], "__package__", None)
    return part != "PathDistribution.__new__" and not (package and package == owner.__name__)


@calls.contextlib.contextmanager
def finder_on_meta_path(finder, first):
    sys.meta_path.insert(0 if first else len(sys.meta_path), finder)
    try:
        yield
    finally:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)


@calls.contextlib.contextmanager
def importing():
    """Ensure that modules can be imported whatever finders exist."""
    finder = importlib.machinery.PathFinder
    missing = finder not in sys.meta_path
    if missing:
        sys.meta_path.append(finder)
    try:
        yield
    finally:
        if missing:
            sys.meta_path.remove(finder)


# --- a session ---

class Session:
    def __init__(self, request, facts):
        self.path = request["path"]
        self.random = random.Random(request["seed"])
        self.recorder = wrappers.Recorder()
        self.held, self.heard = [], []
        self.counts = {"asked": 0, "asked_native": 0, "read": 0, "read_native": 0}
        self.counted = None
        self.done = 0
        self.patience = self.pick(PATIENCES)
        self.on = False
        self.begin(facts)

    def pick(self, pool):
        return self.random.choice(pool)

    def chance(self, probability):
        return self.random.random() < probability

    def begin(self, facts):
        self.late = self.chance(0.2)
        before = self.chance(0.5)
        if OPTIONS["importlib_metadata"]:  # whose directory is looked at as entrydb begins
            sys.path.insert(0, OPTIONS["importlib_metadata"])
        if before and not self.late:
            self.switch_on()
        modules = [reference_worker.load_module(None)]
        if OPTIONS["importlib_metadata"]:
            modules.append(reference_worker.load_module(OPTIONS["importlib_metadata"]))
        self.caches = [each.FastPath.__new__ for each in modules]
        self.maker = calls.Maker(self.random, modules, facts)
        if not before and not self.late:
            self.switch_on()

    def switch_on(self):
        """Switch on like entrydb.pth, or like a program; with ENTRYDB=0 it does nothing."""
        self.on = True
        sys.path.insert(0, OPTIONS["package"])
        with importing():
            import _entrydb_site
            _entrydb_site.part("_entrydb_replacement").worth = self.pick([0, 0, 0, 0, 4, 70])
            if self.chance(0.5):
                _entrydb_site.start()
            else:
                import entrydb
                entrydb.accelerate()
            if OPTIONS["mutant"]:
                import spoilt
                spoilt.spoil(OPTIONS["mutant"])
        sys.path.remove(OPTIONS["package"])

    def switch_off(self):
        rest = sys.modules["_entrydb_site"].part("_entrydb_replacement")
        rest.part("_entrydb_connecting").stop(rest)
        self.on, self.late, self.done = False, True, 0
        return ["entrydb is switched off", ""]

    # -- moves -------------------------------------------------------------

    def move(self):
        """One random move: [what was done, what was observed]."""
        self.done += 1
        if self.late and not self.on and self.done >= LATE:
            self.switch_on()
            return ["entrydb is switched on", ""]
        if self.held and self.chance(0.25):
            return self.take_back()
        if len(self.held) < HELD_MAX and self.done > self.patience and self.chance(0.15):
            return self.put()
        if self.chance(0.01):
            return self.import_again()
        if self.on and self.chance(0.01):
            return self.switch_off()
        return self.ask()

    def put(self):
        self.forget_listings()
        change = self.pick([self.maker.patch, self.wrapper, self.wrapper, self.finder])()
        manager = change()
        try:
            manager.__enter__()
        except (AttributeError, TypeError) as error:
            return [change.text, repr(error)]
        self.held.append((change.text, manager))
        return [change.text, ""]

    def take_back(self):
        self.forget_listings()
        at = -1 if self.chance(0.9) else self.random.randrange(len(self.held))
        text, manager = self.held.pop(at)
        manager.__exit__(None, None, None)
        return [f"taken back: {text}", ""]

    def wrapper(self):
        module = self.pick(self.maker.modules)
        parts = [each for each in wrappers.parts(module) if is_there_always(*each)]
        parts.sort(key=lambda each: each[0])
        if self.chance(0.6):
            parts = [each for each in parts if each[0] in NOTABLE]
        part, owner, name = self.pick(parts)
        how = self.pick(["plain", "wraps", "wraps", *(["wrapt"] if OPTIONS["wrapt"] else [])])
        return calls.With(f"{module.__name__}: {part} wrapped, {how}", self.recorder.replacing, owner,
                          name, how)

    def finder(self):
        module = self.pick(self.maker.modules)
        is_whole = isinstance(module.Distribution, type)  # a wrapper cannot be subclassed
        finder = self.pick([calls.Silent(), calls.Speaking(module) if is_whole else calls.Silent(),
                            calls.Broken(), calls.NotOne(), Asking(module, self.heard), Asking(module, self.heard),
                            AskingOnImport(module, self.recorder), None])
        if finder is None:
            return calls.With("no finder of distributions", calls.no_finder)
        first = self.chance(0.5)
        return calls.With(f"{finder!r} {'first' if first else 'last'} on sys.meta_path",
                          finder_on_meta_path, finder, first)

    def import_again(self):
        """Import importlib.metadata anew, or reload it in place."""
        self.forget_listings()
        module = self.maker.modules[0]
        with importing():
            if self.chance(0.5):
                del sys.modules["importlib.metadata"]
                text = "imported again"
            else:
                importlib.reload(module)
                text = "reloaded"
            self.maker.modules[0] = importlib.import_module("importlib.metadata")
        self.caches.append(self.maker.modules[0].FastPath.__new__)
        return [f"importlib.metadata {text}", ""]

    # -- queries -----------------------------------------------------------

    def ask(self):
        try:
            call = self.question()
        except Exception as error:  # creating a path may fail, since its parts are patched
            return [f"no question: {error!r}", ""]
        seed = self.random.random()
        number = self.random.random()
        look = lambda: self.look(call, seed)  # noqa: E731
        if number < 0.05:
            return [f"in a child: {call}", in_child(look)]
        if number < 0.10:
            return [f"in a thread: {call}", in_thread(look)]
        if number < 0.15:
            times = self.pick(BURSTS)
            return [f"{times} times: {call}", repr([look() for _ in range(times)])]
        return [str(call), look()]

    def question(self):
        call = self.pick([self.maker.ask] * 6 + [self.maker.walk] * 2
                         + [self.maker.ask_distribution, self.maker.ask_metadata])()
        if self.chance(0.06):
            call.circumstances = self.maker.odd_path()
        return call

    def look(self, call, seed):
        """All observable properties of an answer, including the calls of the wrappers."""
        if self.held or call.circumstances.text:
            self.forget_listings()
        self.count()
        observed = observation.Observation(seed)
        before = self.recorder.calls
        del self.heard[:]
        with calls.sys_path(list(self.path)), call.circumstances(), observed.recording():
            try:
                found = call.ask(observed)
                view = found if call.walks else observed.answer(found)
            except Exception as error:
                view = ["raised", type(error), str(error)]
        if call.circumstances.text:
            self.forget_listings()
        return repr([view, observed.warnings, self.heard, self.recorder.calls - before])

    def forget_listings(self):
        """Clear importlib.metadata's caches of listings, also those of replaced functions."""
        for cached in self.caches:
            cached.cache_clear()

    def count(self):
        """Count the queries that entrydb answers, once it is loaded."""
        module = sys.modules.get("entrydb._accelerated") or sys.modules.get("_entrydb._accelerated")
        if module is None or self.counted is module:
            return
        self.counted = module
        for owner, what in (module.Answer, "asked"), (module.Walk, "read"):
            owner.find = wrappers.counted(owner.find, self.counts, what)


# --- processes ---

class Child:
    """A session in its own process."""

    def __init__(self, request, others):
        facts = in_child(lambda: gather(request))
        self.reading, reply = os.pipe()
        order, self.writing = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            for each in (self, *others):
                os.close(each.reading)
                os.close(each.writing)
            serve(request, facts, order, reply)
        os.close(reply)
        os.close(order)
        self.stream = os.fdopen(self.reading, "rb", closefd=False)

    def send(self, number):
        with calls.contextlib.suppress(BrokenPipeError):  # receive() notices that it has ended
            os.write(self.writing, f"{number}\n".encode())

    def receive(self):
        line = self.stream.readline()
        return json.loads(line) if line else {"ended": True, "moves": [], "counts": {}}

    def end(self):
        os.close(self.writing)
        os.close(self.reading)
        return os.waitpid(self.process, 0)[1]


def gather(request):
    """Gather the facts in a process that no session has modified."""
    module = reference_worker.load_module(OPTIONS["importlib_metadata"])
    with calls.sys_path(list(request["path"])):
        facts = Facts(module, request["path"])
    facts.a_dist = None
    return vars(facts)


def serve(request, facts, order, reply):
    status = 1
    try:
        os.chdir(request["root"])
        found = object.__new__(Facts)
        vars(found).update(facts)
        session = Session(request, found)
        replies = os.fdopen(reply, "w", encoding="ascii")
        for line in os.fdopen(order, "rb"):
            signal.alarm(SECONDS_ALLOWED)
            session.forget_listings()  # the files have changed
            moves = [[without_addresses(each) for each in session.move()] for _ in range(int(line))]
            print(json.dumps({"moves": moves, "counts": session.counts}), file=replies, flush=True)
            session.counts.update(dict.fromkeys(session.counts, 0))
            signal.alarm(0)
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def answer(children, request):
    if request["end"]:
        statuses = [each.end() for each in children.values()]
        children.clear()
        return statuses
    os.environ.update(HOME=request["home"], XDG_STATE_HOME=f"{request['home']}/state")
    replies = []
    for each in request["environments"]:
        child = children.get(each["root"])
        if child is None:
            child = children[each["root"]] = Child(each, list(children.values()))
        child.send(request["calls"])
        replies.append(child.receive())
    return replies


def main():
    warnings.filterwarnings("ignore", "This process .* is multi-threaded")  # the thread has ended
    faulthandler.enable()
    faulthandler.register(signal.SIGALRM, chain=True)
    if OPTIONS["wrapt"]:
        sys.path.insert(0, OPTIONS["wrapt"])
        import wrapt  # noqa: F401
        sys.path.remove(OPTIONS["wrapt"])
    print(json.dumps({}), flush=True)
    children = {}
    for line in sys.stdin:
        print(json.dumps(answer(children, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
