"""uv has no hook and needs none: all its changes show in the times of the site directory.

A database is created once. Then uv installs, upgrades, downgrades, reinstalls, syncs and removes, in
each of its link modes. After every step the program, at "roots" and at "exact", must agree with
importlib.metadata, using that old database. The last tests query and update while uv works: no stale
row may remain.
"""

import itertools
import os
import random
import subprocess
import threading
import time
import unittest

import archives
import managers
import program
import reference
import support
import tiny_packages
from tiny_packages import Package

SEED = int(os.environ.get("ENTRYDB_TEST_SEED") or time.time())
INTERPRETERS = reference.one_per_minor(reference.interpreters())
NONE = tiny_packages.WITHOUT_ENTRY_POINTS
BULK = 8            # packages installed at once during queries
BULK_FILES = 60     # files in each, so that it takes some time
RACES = 8

# A build back end without requirements (PEP 517 and 660).
BACKEND = '''
import os, sys
HERE = os.path.dirname(os.path.abspath(__file__))
with open(f"{HERE}/packaging-code") as stream:
    sys.path[:0] = stream.read().splitlines()
import archives

def build_editable(directory, settings=None, metadata=None):
    with open(f"{HERE}/entry_points.txt") as stream:
        tree = archives.installed("project", "0.1", stream.read(), {"project.pth": HERE})
    name = "project-0.1-py3-none-any.whl"
    archives.write_zip(f"{directory}/{name}", tree)
    return name

build_wheel = build_editable
'''


class Environment:
    """A venv created by uv, with the answers of entrydb and importlib.metadata about it."""

    def __init__(self, test, place, interpreter, mode):
        self.test, self.place, self.mode = test, place, mode
        self.interpreter = interpreter
        self.prefix = f"{place}/venv"
        os.makedirs(f"{place}/home")
        self.site = f"{self.prefix}/lib/python{interpreter.rules}/site-packages"
        self.database = f"{self.prefix}/{support.DATABASE}"
        self.entrydb = program.Program(f"{place}/home")
        self.env = {key: value for key, value in self.entrydb.env.items()
                    if not key.startswith("UV_")}
        self.env.update(managers.uv_environment(place), UV_LINK_MODE=mode)
        self.uv("venv", "--no-project", "--python", interpreter.executable, self.prefix)

    def start(self, *words, cwd=None):
        return subprocess.Popen([managers.uv_program(), "--quiet", *words], env=self.env, cwd=cwd,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def uv(self, *words, cwd=None):
        child = self.start(*words, cwd=cwd)
        output = child.communicate(timeout=support.SECONDS_ALLOWED)[0]
        self.test.assertEqual(child.returncode, 0, f"uv {words}: {output}")

    def pip(self, verb, *words):
        self.uv("pip", verb, *self.pip_options(verb), *words)

    def pip_options(self, verb):
        sources = ["--no-index", "--find-links", self.test.wheels] if verb != "uninstall" else []
        return ["--python", f"{self.prefix}/bin/python", *sources]

    def update(self):
        done = self.entrydb.run(["update", "--quiet", self.prefix])
        self.test.assertEqual(done.returncode, 0, done.stderr)

    def check(self, step):
        """Compare both levels with the venv's own Python; returns the entry points."""
        worker = self.test.worker(self.interpreter)
        answer = worker.ask("/", [self.site], [{}])[0]
        for level in ("roots", "exact"):
            _, reply = self.entrydb.list([self.site], {}, worker.rules, ["--fresh", level])
            wrong = program.difference(answer, reply)
            self.test.assertIsNone(wrong, f"{step}, {self.mode}, {level}, Python {worker.label}, "
                                          f"seed {SEED}: {wrong}")
        return {(row[6], row[7], row[2]) for row in answer["rows"]}

    def database_stamp(self):
        status = os.stat(self.database)
        return status.st_ino, status.st_mtime_ns, status.st_size


@unittest.skipUnless(INTERPRETERS, "no CPython 3.10 or later runs here")
class UvTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not managers.uv_program():
            raise unittest.SkipTest("there is no uv, and pip cannot get it")
        cls.top = support.make_directory(cls)
        cls.maker = tiny_packages.Maker(f"{cls.top}/wheels", "")
        cls.wheels = cls.maker.place
        cls.workers = {}
        cls.addClassCleanup(lambda: [worker.close() for worker in cls.workers.values()])
        for name, version in itertools.product(tiny_packages.NAMES, tiny_packages.VERSIONS):
            cls.maker.wheel(Package(name, version, 1))

    def worker(self, interpreter):
        if interpreter.version not in self.workers:
            self.workers[interpreter.version] = reference.Worker(interpreter)
        return self.workers[interpreter.version]

    def environment(self, name, interpreter=None, mode="hardlink"):
        return Environment(self, f"{self.top}/{name}", interpreter or INTERPRETERS[-1], mode)

    def indexed(self, environments):
        """Create up-to-date databases without watched rows."""
        support.settle()
        for each in environments:
            each.update()
        return environments


class Steps(UvTest):
    def pairs(self):
        """Each link mode with the newest Python, each other Python with the default mode."""
        return ([(INTERPRETERS[-1], mode) for mode in managers.LINK_MODES]
                + [(each, "hardlink") for each in INTERPRETERS[:-1]])

    def test_uv_pip(self):
        places = [self.environment(f"steps-{each.version}-{mode}", each, mode)
                  for each, mode in self.pairs()]
        for each in places:
            each.pip("install", "alpha==1.0", "Beta.tools==1.0")
        for each in self.indexed(places):
            with self.subTest(mode=each.mode, python=each.interpreter.version):
                self.check_steps(each)

    def check_steps(self, venv):
        other = self.maker.wheel(Package("alpha", "1.1", 2))
        empty = self.maker.wheel(Package("alpha", "1.1", NONE))
        others = ["Beta.tools", "gamma_delta"]
        steps = (("nothing", None), ("install", ["install", "gamma_delta==1.0"]),
                 ("upgrade", ["install", "alpha==2.0"]), ("downgrade", ["install", "alpha==1.1"]),
                 ("reinstall", ["install", "--reinstall", "alpha==1.1"]),
                 ("reinstall all", ["install", "--reinstall", "alpha==1.1", *others]),
                 ("rebuild", ["install", "--reinstall", other]),
                 ("rebuild without entry points", ["install", "--reinstall", empty]),
                 ("rebuild with them again", ["install", "--reinstall", other]),
                 ("uninstall", ["uninstall", "alpha"]), ("uninstall all", ["uninstall", *others]),
                 ("install again", ["install", "alpha==1.0"]))
        stamp, seen = venv.database_stamp(), []
        for step, words in steps:
            if words:
                venv.pip(*words)
            seen.append(venv.check(step))
        self.assertEqual(venv.database_stamp(), stamp, "the database must not change")
        self.assertGreater(len({frozenset(each) for each in seen}), 7, "too few changes to prove anything")

    def test_pip_sync(self):
        places = [self.environment(f"sync-{mode}", mode=mode) for mode in managers.LINK_MODES]
        for each in places:
            each.pip("install", "alpha==1.0")
        for venv in self.indexed(places):
            stamp = venv.database_stamp()
            for wanted in ("alpha==2.0", "Beta.tools==1.1\ngamma_delta==1.0",
                           "alpha==1.0\ngamma_delta==2.0"):
                support.write(f"{venv.place}/requirements.txt", wanted + "\n")
                venv.pip("sync", f"{venv.place}/requirements.txt")
                found = {f"{name}=={version}" for name, version, _ in venv.check(wanted)}
                self.assertEqual(found, set(wanted.split()))
            self.assertEqual(venv.database_stamp(), stamp)

    def test_uv_sync(self):
        venv = self.environment("project")
        self.sync(venv, "alpha==1.0")
        self.indexed([venv])
        stamp = venv.database_stamp()
        for wanted in (["alpha==2.0", "Beta.tools"], ["gamma_delta==1.1"], []):
            self.sync(venv, *wanted)
            self.assertEqual(len({each[0] for each in venv.check(wanted)}), len(wanted))
        self.assertEqual(venv.database_stamp(), stamp)

    def sync(self, venv, *wanted):
        project = f"{venv.place}/project"
        os.makedirs(project, exist_ok=True)
        support.write(f"{project}/pyproject.toml",
                      f'[project]\nname = "project"\nversion = "0.1"\nrequires-python = ">=3.10"\n'
                      f"dependencies = {list(wanted)}\n[tool.uv]\npackage = false\n")
        venv.env["UV_PROJECT_ENVIRONMENT"] = venv.prefix
        venv.uv("sync", "--no-index", "--find-links", self.wheels, cwd=project)


class Editable(UvTest):
    def setUp(self):
        self.venv = self.environment("editable-" + self.id().rpartition(".")[2])
        self.project = f"{self.venv.place}/source"
        os.mkdir(self.project)
        support.write(f"{self.project}/pyproject.toml",
                      '[project]\nname = "project"\nversion = "0.1"\n[build-system]\n'
                      'requires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n')
        support.write(f"{self.project}/backend.py", BACKEND)
        support.write(f"{self.project}/packaging-code", f"{support.LIB}\n")
        self.edit_project("one")

    def edit_project(self, value):
        support.write(f"{self.project}/entry_points.txt", f"[demo]\nproject = project:{value}\n")

    def install(self):
        self.venv.pip("install", "--reinstall", "--no-cache", "--editable", self.project)

    def values(self, step):
        return sorted(value for _, _, value in self.venv.check(step))

    def test_not_indexed(self):
        self.venv.pip("install", "alpha==1.0")
        self.indexed([self.venv])
        for value in ("one", "two"):
            self.edit_project(value)
            self.install()
            self.assertIn(f"project:{value}", self.values("editable"))
        self.venv.pip("uninstall", "project")
        self.assertNotIn("project:two", self.values("uninstalled"))

    def test_indexed(self):
        """An editable distribution is checked on each query, since it is meant to be edited."""
        self.install()
        self.indexed([self.venv])
        installed = f"{self.venv.site}/project-0.1.dist-info/entry_points.txt"
        for change in (support.write, support.replace):
            change(installed, f"[demo]\nproject = project:{change.__name__}\n")
            self.assertEqual(self.values(change.__name__), [f"project:{change.__name__}"])
        self.edit_project("again")
        self.install()
        self.assertEqual(self.values("again"), ["project:again"])


class Races(UvTest):
    """Queries and updates while uv works."""

    def setUp(self):
        self.random = random.Random(SEED)
        for number, version in itertools.product(range(BULK), ("1.0", "2.0")):
            self.make_bulk(f"bulk{number}", version)

    def make_bulk(self, name, version):
        path = f"{self.wheels}/{name}-{version}-py3-none-any.whl"
        if not os.path.exists(path):
            files = {f"{name}/m{number}.py": "" for number in range(BULK_FILES)}
            text = f"[demo]\n{name} = {name}:v{version.replace('.', '_')}\n"
            tree = {f"{name}/{path}" if path.startswith("spam/") else path: data
                    for path, data in archives.installed(name, version, text, files).items()}
            archives.write_zip(path, tree)

    def operations(self):
        """Install a random version of some of the packages or remove them, repeatedly."""
        while True:
            some = [f"bulk{number}" for number in range(BULK) if self.random.random() < 0.7]
            some = some or ["bulk0"]
            version = self.random.choice(("1.0", "2.0"))
            if self.random.random() < 0.25:
                yield ["uninstall", *some]
            else:
                yield ["install", "--reinstall", *(f"{name}=={version}" for name in some)]

    def race(self, venv, action):
        """Run uv while action() runs repeatedly, until it has run often enough."""
        count = 0
        for number, words in enumerate(self.operations()):
            if number >= RACES and count > RACES:
                return
            self.assertLess(number, 20 * RACES, "uv is always faster")
            child = venv.start("pip", words[0], *venv.pip_options(words[0]), *words[1:])
            while child.poll() is None:
                time.sleep(self.random.uniform(0, 0.02))
                action()
                count += 1
            output = child.communicate()[0]
            self.assertEqual(child.returncode, 0, output)
            venv.check(f"after {words[0]} of {len(words) - 1}")

    def environments(self):
        return self.indexed([self.environment(f"{self.id().rpartition('.')[2]}-{mode}", mode=mode)
                             for mode in ("clone", "symlink")])

    def ask(self, venv):
        level = self.random.choice(("roots", "exact"))
        _, reply = venv.entrydb.list([venv.site], {}, "3.12", ["--fresh", level])
        self.assertIn(reply.status, (0, 1), reply.stderr)
        self.assertIsNone(reply.trouble)

    def test_queries(self):
        for venv in self.environments():
            self.race(venv, lambda: self.ask(venv))

    def test_updates(self):
        for venv in self.environments():
            self.race(venv, venv.update)

    def test_concurrent_updates_and_queries(self):
        venv = self.environments()[0]
        stop = threading.Event()
        failures = []

        def work():
            while not stop.is_set():
                done = venv.entrydb.run(["update", "--quiet", venv.prefix])
                if done.returncode:
                    failures.append(done.stderr)

        updater = threading.Thread(target=work)
        updater.start()
        try:
            self.race(venv, lambda: self.ask(venv))
        finally:
            stop.set()
            updater.join()
        self.assertEqual(failures, [])
        venv.check("in the end")


if __name__ == "__main__":
    support.main()
