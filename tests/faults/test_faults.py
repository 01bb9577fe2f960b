"""Every command with one failure at a time: no loss, no false rows, and the next run recovers.

Each command is run repeatedly, with another failing allocation or system call each time. Afterwards:
- it has ended with one of its exit statuses: either the result is the same as without the failure, or the
  status is 3 and a line names the failure (a hook's status is always 0);
- every row of the database was there before or belongs there now, and rows of unchanged distributions
  are still there;
- `list` answers like importlib.metadata, or reports that it cannot;
- running the command again without failure brings everything up to date.

ENTRYDB_TEST_FAULTS: the number of failures of each kind tried per command, or "all" (default 60, chosen
with a seed that is printed, and can be set with ENTRYDB_TEST_SEED).
"""

import concurrent.futures
import io
import os
import queue
import shutil
import signal
import sys
import tarfile
import unittest
import zipfile

sys.dont_write_bytecode = True
import failing
import support
from failing import DYNAMIC_LINKER_GAVE_UP, SEED

WORKERS = 2
# Failures that end the process; nothing is published then.
LIBARCHIVE_GAVE_UP = "Fatal Internal Error in libarchive: "
LOADER_FAILED = "that cannot be loaded: "  # the dynamic linker does not retry
HISTORY = "entrydb update before all this"

ROWS = """SELECT r.path, r.kind, d.directory, d.name, d.version, d.error, d.has_metadata,
                 (SELECT group_concat(e.group_name || '|' || e.name || '|' || e.value || '|'
                                      || coalesce(t.kind || t.state || t.object, '-'), char(10))
                    FROM entry_point e LEFT JOIN target t ON t.entry_point = e.id
                   WHERE e.distribution = d.id)
            FROM root r LEFT JOIN distribution d ON d.root = r.id ORDER BY r.path, d.position"""


def rows_of(database):
    return support.query(database, ROWS) if os.path.exists(database) else []


def events_of(database):
    return support.query(database, "SELECT count(*) FROM event")[0][0] if os.path.exists(database) else 0


class Place:
    """An environment and a home for the commands. Two places are independent."""

    def __init__(self, top):
        self.top = top
        self.home = f"{top}/home"
        self.prefix = f"{top}/venv"
        self.site = f"{self.prefix}/{support.SITE}"
        self.database = f"{self.prefix}/{support.DATABASE}"
        self.catalogue = f"{top}/catalogue/entry_points.db"
        self.wheels = f"{top}/wheels"
        for path in (self.home, self.site, self.wheels, f"{top}/catalogue", f"{top}/kept"):
            os.makedirs(path)
        self.env = support.environment(self.home)

    def run(self, *words):
        return failing.run([support.PROGRAM, *words], self.env)

    def keep(self, name, database):
        shutil.copy(database, f"{self.top}/kept/{name}")

    def put_back(self, name, database):
        """Restore the database saved under that name; None: remove it."""
        shutil.rmtree(os.path.dirname(database), ignore_errors=True)
        os.makedirs(os.path.dirname(database))
        if name:
            shutil.copy(f"{self.top}/kept/{name}", database)


def make_wheel(path, name, version):
    with zipfile.ZipFile(path, "w") as wheel:
        info = f"{name}-{version}.dist-info"
        wheel.writestr(f"{name}/__init__.py", "")
        wheel.writestr(f"{info}/METADATA", support.metadata(name, version))
        wheel.writestr(f"{info}/entry_points.txt", support.entry_points(name))
        wheel.writestr(f"{info}/RECORD", f"{name}/__init__.py,,\n{info}/METADATA,,\n"
                                         f"{info}/entry_points.txt,,\n{info}/RECORD,,\n")


def make_source(path, name, version):
    """A source distribution in the most common format."""
    files = {"PKG-INFO": support.metadata(name, version),
             "setup.cfg": f"[options.entry_points]\ndemo =\n    {name} = {name}:main\n"}
    with tarfile.open(path, "w:gz") as archive:
        for file, text in files.items():
            member = tarfile.TarInfo(f"{name}-{version}/{file}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))


def make_egg(path, name):
    """A zip on the path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as egg:
        egg.writestr("EGG-INFO/PKG-INFO", support.metadata(name, "1.0"))
        egg.writestr("EGG-INFO/entry_points.txt", support.entry_points(name))
        egg.writestr(f"{name}/__init__.py", "")


def add_native(site):
    """Add a distribution whose entry point names a shared object."""
    plugins = os.environ.get("ENTRYDB_TEST_PLUGINS", "")
    source = f"{plugins}/native.so"
    if not os.path.exists(source):
        return
    os.makedirs(f"{site}/accelerator")
    shutil.copy(source, f"{site}/accelerator/plugin.so")
    support.add_distribution(site, "accelerator", text="[demo]\nnative = accelerator.plugin:plugin_init\n",
                             RECORD="accelerator/plugin.so,,\naccelerator-1.0.dist-info/RECORD,,\n")


def make_before(place):
    """The state when the database was created."""
    for name in ("alpha", "beta", "gamma", "steady"):
        support.add_distribution(place.site, name)
    support.add_distribution(place.site, "broken", text=b"[demo]\nb = \xff\xfe\n".decode("latin-1"))
    support.write(f"{place.site}/broken-1.0.dist-info/entry_points.txt", b"[demo]\nb = \xff\xfe\n")
    support.write(f"{place.site}/old.egg-info", support.metadata("old", "0.1"))
    support.write(f"{place.site}/more.pth", "../more\n")
    os.makedirs(f"{place.prefix}/lib/python3.11/more")
    support.add_distribution(f"{place.prefix}/lib/python3.11/more", "extra")
    add_native(place.site)
    for name, version in (("box", "1.0"), ("crate", "2.0")):
        make_wheel(f"{place.wheels}/{name}-{version}-py3-none-any.whl", name, version)
    make_source(f"{place.top}/source-1.0.tar.gz", "source", "1.0")
    make_egg(f"{place.top}/zipped-1.0.egg", "zipped")


def make_after(place):
    """The changes of a package manager since: one upgraded, one removed, one added."""
    shutil.rmtree(f"{place.site}/alpha-1.0.dist-info")
    support.add_distribution(place.site, "alpha", "2.0")
    shutil.rmtree(f"{place.site}/beta-1.0.dist-info")
    support.add_distribution(place.site, "delta")


def own(top, uid):
    """Give the directory and everything in it to the user."""
    os.chown(top, uid, uid)
    for directory, names, files in os.walk(top):
        for name in names + files:
            os.chown(f"{directory}/{name}", uid, uid, follow_symlinks=False)


def settle_rows(database):
    support.change_database(
        database, "UPDATE distribution SET settled = 1, watched = 0",
        "UPDATE root SET settled = 1, watched = 0",
        f"INSERT INTO event (time, action, root, command, uid) VALUES (1, 'index', 'x', '{HISTORY}', 0)")


def make_place(top):
    place = Place(top)
    make_before(place)
    wheels = sorted(f"{place.wheels}/{name}" for name in os.listdir(place.wheels))
    place.run("update", place.prefix)
    settle_rows(place.database)
    place.keep("before", place.database)
    place.run("add", "--db", place.catalogue, wheels[0])
    settle_rows(place.catalogue)
    place.keep("catalogue", place.catalogue)
    place.run("add", "--db", place.catalogue, f"{place.top}/source-1.0.tar.gz")
    settle_rows(place.catalogue)
    place.keep("archives", place.catalogue)
    make_after(place)
    support.settle()
    place.put_back("before", place.database)
    place.run("update", place.prefix)
    place.keep("after", place.database)
    return place


class Case:
    """A command, the database that it finds, and the expected result."""

    def __init__(self, name, words, start, catalogue=False, hook=False, libarchive=False, owner=0):
        self.name, self.start, self.catalogue, self.hook = name, start, catalogue, hook
        self.words, self.libarchive, self.owner = words, libarchive, owner

    def command(self, place):
        return [support.PROGRAM, *(word.format(place=place) for word in self.words)]

    def database(self, place):
        return place.catalogue if self.catalogue else place.database

    def prepare(self, place):
        place.put_back(self.start, self.database(place))
        if self.owner:
            own(place.prefix, self.owner)


CASES = [
    Case("update", ["update", "{place.prefix}"], "before"),
    Case("first update", ["update", "{place.prefix}"], None),
    Case("update with nothing to do", ["update", "{place.prefix}"], "after"),
    Case("hook", ["update", "--hook", "pip", "{place.prefix}"], "before", hook=True),
    Case("add", ["add", "--db", "{place.catalogue}", "{place.wheels}/box-1.0-py3-none-any.whl",
                 "{place.wheels}/crate-2.0-py3-none-any.whl"], "catalogue", catalogue=True),
    Case("add of a source distribution", ["add", "--db", "{place.catalogue}", "{place.top}/source-1.0.tar.gz"],
         "catalogue", catalogue=True, libarchive=True),
    Case("add of a directory", ["add", "--json", "--db", "{place.catalogue}", "{place.wheels}"],
         "catalogue", catalogue=True),
    Case("forget", ["forget", "--db", "{place.catalogue}", "{place.wheels}/box-1.0-py3-none-any.whl"],
         "catalogue", catalogue=True),
    Case("list, fresh", ["list", "--path", "{place.site}"], "after"),
    Case("list, stale", ["list", "--json", "--path", "{place.site}"], "before"),
    Case("list, without a database", ["list", "--path", "{place.site}"], None),
    Case("list, exact", ["list", "--fresh", "exact", "--path", "{place.site}"], "after"),
    Case("list of the environment", ["list"], "after"),
    Case("list, trusted", ["list", "--fresh", "trust", "--path", "{place.site}"], "after"),
    Case("list of a zip", ["list", "--json", "--path", "{place.top}/zipped-1.0.egg"], None),
    Case("list of a file", ["list", "--db", "{place.catalogue}"], "archives", catalogue=True),
    Case("list of two", ["list", "--path", "{place.top}/zipped-1.0.egg", "--path", "{place.site}", "demo"], "before"),
    Case("groups", ["groups", "--path", "{place.site}"], "after"),
    Case("why", ["why", "demo", "alpha", "--path", "{place.site}"], "after"),
    Case("why, stale", ["why", "demo", "native", "--path", "{place.site}"], "before"),
    Case("why, of nothing", ["why", "demo", "nothing", "--path", "{place.site}"], "after"),
    Case("verify", ["verify", "{place.prefix}"], "after"),
    Case("verify, stale", ["verify", "--json", "{place.prefix}"], "before"),
    Case("log", ["log", "--path", "{place.site}"], "after"),
    Case("log as JSON", ["log", "--json", "--path", "{place.site}"], "after"),
]


# Root works in a child process with the owner's privileges; calls in either process may fail.
OWNERS_CASES = [
    Case("update as the owner", ["update", "{place.prefix}"], "before", owner=support.STRANGER),
    Case("first update as the owner", ["update", "{place.prefix}"], None, owner=support.STRANGER),
    Case("hook as the owner", ["update", "--hook", "pip", "{place.prefix}"], "before", hook=True,
         owner=support.STRANGER),
]


class Expected:
    """The result of the command without failure."""

    def __init__(self, case, place):
        case.prepare(place)
        self.rows_before = rows_of(case.database(place))
        self.events_before = events_of(case.database(place))
        done = failing.run(case.command(place), place.env)
        self.status, self.out = done.returncode, done.stdout
        self.rows = rows_of(case.database(place))
        self.list = place.run("list", "--path", place.site).stdout

    @property
    def untouched(self):
        return [row for row in self.rows_before if row in self.rows]


def answer_of(out):
    """A failing database may change how the answer was obtained, but not the answer."""
    return [line for line in out.split(b"\n") if not line.startswith((b"  known from", b"               ("))]


def gave_up(status, err):
    """libarchive checks some of its allocations and crashes after others."""
    return ((status, err) == DYNAMIC_LINKER_GAVE_UP or err.startswith(LIBARCHIVE_GAVE_UP)
            or status == -signal.SIGSEGV)


def wrong_end(case, expected, fault, done):
    """The error in how the program ended, or None."""
    err = done.stderr.decode("utf-8", "replace")
    if case.libarchive and gave_up(done.returncode, err):
        return None
    if done.returncode not in (0, 1, 3) or "Sanitizer" in err or "runtime error:" in err:
        return f"ended with {done.returncode}"
    if fault.name != "write" and any(line and not line.startswith("entrydb: ") for line in err.split("\n")):
        return "a line on stderr that does not begin with 'entrydb: '"
    if case.hook:
        return None if done.returncode == 0 else "a hook failed"
    if done.returncode == expected.status:
        return None if answer_of(done.stdout) == answer_of(expected.out) else "another answer, and no word about it"
    if done.returncode != 3:
        return f"status {done.returncode} instead of {expected.status} or 3"
    if fault.means_nothing and not fault.name.startswith("flock") and LOADER_FAILED not in err:
        return "an interrupted call was not repeated"
    return None if err else "status 3, and not a word"


def wrong_rows(case, expected, place, done):
    database = case.database(place)
    rows, events = rows_of(database), events_of(database)
    strange = [row for row in rows if row not in expected.rows_before and row not in expected.rows]
    if strange:
        return f"a row that is neither the old nor the new one: {strange[0]}"
    lost = [row for row in expected.untouched if row not in rows]
    if lost:
        return f"lost: {lost[0]}"
    if events < expected.events_before:
        return "events were lost"
    if not case.hook and done.returncode == expected.status and rows != expected.rows:
        return "it says that all went well, but the rows are not those that belong there"
    return None


def wrong_afterwards(case, expected, place):
    """Check the next reader and the next writer."""
    if not case.catalogue:
        answer = place.run("list", "--path", place.site)
        if answer.stdout != expected.list:
            return f"a reader then gets another answer: {answer.stdout[:200]} {answer.stderr[:200]}"
    if rows_of(case.database(place)) == expected.rows:
        return None
    again = failing.run(case.command(place), place.env)
    if not case.hook and again.returncode not in (expected.status, 1 if case.name == "forget" else 0):
        return f"the next run ends with {again.returncode}: {again.stderr[:300]}"
    return None if rows_of(case.database(place)) == expected.rows else "the next run does not heal it"


class FaultTest(failing.EachKind, unittest.TestCase):
    cases = CASES

    @classmethod
    def setUpClass(cls):
        cls.top = support.make_directory(cls)
        cls.preload = failing.build_preload(cls.top)
        cls.places = queue.SimpleQueue()
        for number in range(WORKERS):
            cls.places.put(make_place(f"{cls.top}/{number}"))
        print(f"seed {SEED}", file=sys.stderr)

    def try_one(self, case, expecteds, fault):
        place = self.places.get()
        try:
            case.prepare(place)
            done = failing.run_with(fault, case.command(place), place.env, self.preload)
            expected = expecteds[place.top]
            wrong = (wrong_end(case, expected, fault, done) or wrong_rows(case, expected, place, done)
                     or wrong_afterwards(case, expected, place))
            return wrong and f"{case.name}: {fault}: {wrong}\n    {done.stderr.decode(errors='replace')[:400]}"
        finally:
            self.places.put(place)

    def expect(self, case):
        """The result for each place, twice: results that vary by themselves cannot be compared."""
        found = {}
        for _ in range(WORKERS):
            place = self.places.get()
            found[place.top] = Expected(case, place)
            self.places.put(place)
        return found

    def faults_of(self, case, kind):
        place = self.places.get()
        try:
            case.prepare(place)
            return failing.faults_of(kind, case.command(place), place.env, self.preload, place.top)
        finally:
            self.places.put(place)

    def sweep(self, kind):
        tried = 0
        for case in self.cases:
            expecteds = self.expect(case)
            faults = self.faults_of(case, kind)
            with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
                wrong = list(filter(None, pool.map(lambda fault: self.try_one(case, expecteds, fault), faults)))
            tried += len(faults)
            with self.subTest(case.name):
                self.assertFalse(wrong, f"{len(wrong)} of {len(faults)} (seed {SEED})\n" + "\n".join(wrong[:8]))
        print(f"{tried} failures tried ({kind})", file=sys.stderr)


@support.needs_root
class OwnersFaultTest(FaultTest):
    """A separate class: files with a new owner are not those that were indexed."""
    cases = OWNERS_CASES


if __name__ == "__main__":
    support.main()
