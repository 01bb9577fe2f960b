"""What a program may do around the acceleration: threads, forks, interpreters in one
process, patches, reloads, and databases that vanish beneath it.

Each test is a script; see scripts.py.
"""

import glob
import os
import unittest

import package
import package_cache
import support
from scripts import DISTRIBUTIONS, ScriptTest

setUpModule = package.require
LONG = bool(os.environ.get("ENTRYDB_TEST_LONG"))

# Nothing of entrydb but what an interpreter starts with.
FIRST_QUESTION = """
import os, sys
sys.path.insert(0, os.environ["SITE"])
import _entrydb_site
_entrydb_site.start()
_entrydb_site.part("_entrydb_replacement").worth = 0
import importlib.metadata as metadata
"""

# Of walks over distributions: Python's own property, asked at the same moment.
WALKING = """
            import shutil, subprocess, time
            own = original("entry_points_of")
            begins, _accelerated.WALK_BEGINS = _accelerated.WALK_BEGINS, 4  # here are few
            files = []
            sys.addaudithook(lambda event, arguments: files.append(str(arguments[0]))
                             if event == "open" and hasattr(arguments[0], "__str__") else None)

            def plain(found):
                return [(type(found), each.name, each.value, each.group, str(each.dist._path))
                        for each in found]

            def compare(made):
                for each in made:
                    assert plain(each.entry_points) == plain(own(each)), each._path

            def opened(made):
                files.clear()
                for each in made:
                    each.entry_points
                return [each for each in files
                        if each.endswith("entry_points.txt") and
                        not each.startswith(sys.base_prefix)]
"""


class BehaviourTest(ScriptTest):
    # --- walks ---

    def test_changes_during_a_walk(self):
        """Distributions that were made before something changed; each is asked afterwards."""
        self.each_python(WALKING + """
            made = list(metadata.distributions())
            compare(made)
            assert not opened(made)
            shutil.rmtree(f"{SITE}/d3-1.0.dist-info")
            compare(made)
            add("d3", "again:main")
            compare(made)
            add("late")
            begun = metadata.distributions()
            first = [next(begun) for _ in range(5)]
            compare(first)
            shutil.rmtree(f"{SITE}/d7-1.0.dist-info")
            sys.path.insert(0, SITE + "/")
            compare(first + list(begun) + list(metadata.distributions()))
            update()
            compare(made + list(metadata.distributions()))

            # Two trees behind one name: a link that is switched, a working directory.
            version = os.path.basename(os.path.dirname(SITE))
            for tree, value in ("a", "a:main"), ("b", "b:main"):
                SITE = f"{os.environ['TOP']}/{tree}/lib/{version}/site-packages"
                for number in range(20):
                    add(f"twin{number}", value)
            os.chdir(f"{os.environ['TOP']}/a")
            subprocess.run([PROGRAM, "--quiet", "update", ".", "../b"], check=True)
            time.sleep(2.2)
            subprocess.run([PROGRAM, "--quiet", "update", ".", "../b"], check=True)
            os.symlink("a", "../link")
            sys.path[:] = [f"{os.environ['TOP']}/link/lib/{version}/site-packages",
                           f"lib/{version}/site-packages", *sys.path]
            made = [each for each in metadata.distributions() if each._path.name.startswith("twin")]
            assert len(made) == 40
            compare(made)
            assert {each.value for one in made for each in one.entry_points} == {"a:main"}
            for half in range(2):
                os.symlink("b" if not half else "a", "../other")
                os.rename("../other", "../link")
                os.chdir("../b" if not half else "../a")
                compare(made)
                assert {each.value for one in made for each in one.entry_points} == \
                    {"b:main" if not half else "a:main"}
            """)

    def test_some_of_many(self):
        """Queries of eight distributions do not read all; later queries of a process with many do."""
        self.each_python(WALKING + """
            _accelerated.WALK_BEGINS = begins
            made = [metadata.distribution(f"d{number}") for number in range(8)]
            assert len(opened(made)) == 8
            metadata._entrydb.read = begins
            _accelerated.walks.clear()
            assert not opened(made)
            """)

    def test_walks_of_threads_and_children(self):
        self.each_python(WALKING + """
            import threading, warnings
            warnings.simplefilter("ignore")  # 3.12 and later: about a fork among threads
            made = list(metadata.distributions())
            expected = list(map(plain, map(own, made)))
            wrong, children = [], []

            def walk():
                for _ in range(200):
                    if list(map(plain, (each.entry_points for each in made))) != expected:
                        wrong.append("a walk")

            walk()
            threads = [threading.Thread(target=walk) for _ in range(6)]
            for each in threads:
                each.start()
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    walk()
                    add("child")
                    compare([*made, *metadata.distributions()])
                    shutil.rmtree(f"{SITE}/child-1.0.dist-info")
                    os._exit(len(wrong))
                assert os.waitpid(child, 0)[1] == 0
            for each in threads:
                each.join()
            assert not wrong, wrong
            """, newest=True)

    def test_a_patch_in_the_middle_of_a_walk(self):
        self.each_python(WALKING + """
            import io, pathlib
            made = list(metadata.distributions())
            compare(made)
            text = "[demo]\\nnew = new:main\\n"
            code = metadata.PathDistribution.read_text.__code__

            def patch(owner, name, value):
                kept = getattr(owner, name)
                setattr(owner, name, value)
                return lambda: setattr(owner, name, kept)

            def base():
                class Base:
                    pass
                kept = metadata.PathDistribution.__bases__
                metadata.PathDistribution.__bases__ = *kept, Base
                metadata.Distribution.read_text, mine = lambda *_: text, metadata.Distribution.read_text
                return lambda: (setattr(metadata.PathDistribution, "__bases__", kept),
                                setattr(metadata.Distribution, "read_text", mine))

            patches = {
                "a method": lambda: patch(metadata.PathDistribution, "read_text", lambda *_: text),
                "code": lambda: patch(metadata.PathDistribution.read_text, "__code__",
                                      (lambda self, filename: "[demo]\\nnew = new:main\\n").__code__),
                "pathlib": lambda: patch(pathlib.Path, "read_text", lambda *_, **__: text),
                "io": lambda: patch(io, "open", lambda *_, **__: io.StringIO(text)),
                "bases": base,
            }
            for name, begin in patches.items():
                for each in made:
                    assert plain(each.entry_points) == plain(own(each)), name
                    end = begin()
                    try:
                        assert plain(each.entry_points) == plain(own(each)), name
                    finally:
                        end()
                compare(made)
            """)

    def test_a_distribution_with_a_method_of_its_own(self):
        self.each_python(WALKING + """
            from unittest import mock
            made = list(metadata.distributions())
            compare(made)
            for each in made:
                with mock.patch.object(each, "read_text", return_value="[demo]\\nnew = new:main\\n"):
                    compare([each])
                    assert [found.name for found in each.entry_points] == ["new"]
            assert not opened(made)
            """)

    # --- threads and processes ---

    def test_threads(self):
        self.each_python("""
            import threading
            check()
            stop, wrong = threading.Event(), []

            def ask():
                while not stop.is_set():
                    names = [each.name for each in metadata.entry_points(group="demo")]
                    if len(set(names)) != len(names) or "d1" not in names or "d11" not in names:
                        wrong.append(names)
                    if not list(metadata.entry_points(group="console_scripts", name="d1-cmd")):
                        wrong.append("d1-cmd")
                    if len(list(metadata.distributions())) < 12:
                        wrong.append("distributions")

            threads = [threading.Thread(target=ask, daemon=True) for _ in range(6)]
            for each in threads:
                each.start()
            import shutil
            for number in range(5):
                add(f"new{number}")
                if number % 2:
                    update()
                check(database=False)
                shutil.rmtree(f"{SITE}/new{number}-1.0.dist-info")
            stop.set()
            for each in threads:
                each.join()
            assert not wrong, wrong[:3]
            update()
            check()
            """)

    def test_threads_that_patch(self):
        """Whoever has patched a part, or changed sys.path, is answered so at once, whatever part other
        threads exchange meanwhile, and back, by one that does the same."""
        self.each_python("""
            import functools, importlib, threading, time
            check()
            expected = plain(metadata.entry_points(group="demo"))
            walked = [[plain(each.entry_points), str(each._path)] for each in metadata.distributions()]
            until, wrong, rounds = time.monotonic() + SECONDS, [], dict.fromkeys(
                ("ask", "walk", "patch", "path", "flap", "forget"), 0)

            def during(work):
                def run():
                    try:
                        while time.monotonic() < until and not wrong:
                            work()
                            rounds[work.__name__] += 1
                    except BaseException as error:
                        wrong.append(f"{work.__name__}: {error!r}")
                return threading.Thread(target=run)

            def hold(what, found, wanted):
                if found != wanted:
                    wrong.append((what, found, wanted))

            mine = threading.local()     # what only the thread itself may see of its patch
            prefer = metadata.EntryPoints.select

            def patched(self, **params):
                found = prefer(self, **params)
                return type(found)(list(found)[::-1]) if getattr(mine, "patching", False) else found

            def ask():
                hold("ask", [each[:3] for each in plain(metadata.entry_points(group="demo"))
                             if each[0] != "extra"], [each[:3] for each in expected])

            def walk():
                hold("walk", [[plain(each.entry_points), str(each._path)]
                              for each in metadata.distributions(path=[SITE])], walked[:DEMOS])

            def patch():
                mine.patching = True
                metadata.EntryPoints.select = patched
                try:
                    hold("patched", [each.name for each in metadata.entry_points(group="demo")
                                     if each.name != "extra"], [each[0] for each in expected[::-1]])
                finally:
                    metadata.EntryPoints.select = prefer
                hold("taken back", [each.name for each in metadata.entry_points(group="demo")
                                    if each.name != "extra"], [each[0] for each in expected])

            def path():
                sys.path.append(EXTRA)
                hold("longer", plain(metadata.entry_points(group="demo"))[-1][0], "extra")
                sys.path.remove(EXTRA)
                hold("shorter", plain(metadata.entry_points(group="demo"))[-1][0], expected[-1][0])

            def flap():
                own = metadata.EntryPoint.matches
                metadata.EntryPoint.matches = functools.wraps(own)(lambda *rest, **more: own(*rest, **more))
                metadata.EntryPoint.matches = own

            def forget():
                importlib.invalidate_caches()
                sys.modules.pop("colorsys", None)
                importlib.import_module("colorsys")
                ask()

            site, SITE = SITE, f"{os.environ['TOP']}/extra"
            add("extra")
            EXTRA, SITE, DEMOS = SITE, site, len(expected)
            threads = [during(each) for each in (ask, ask, walk, walk, patch, path, flap, forget)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            assert not wrong, wrong[:2]
            assert all(rounds.values()), rounds
            check(database=False)
            for _ in range(1024):  # what was not recognized is looked at again, ever more rarely
                metadata.entry_points(group="demo")
            check()
            """.replace("SECONDS", "30" if LONG else "1.5"))

    def test_fork(self):
        self.each_python("""
            before = check()
            for change in (False, True):
                child = os.fork()
                if child == 0:
                    if change:
                        add("forked")
                    assert len(check()) == len(before) + change
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
            assert len(check()) == len(before) + 1
            """)

    def test_fork_while_threads_ask(self):
        self.each_python("""
            import signal, threading, warnings
            warnings.simplefilter("ignore")
            stop = threading.Event()
            # Python 3.15 imports in the middle of its first answer; a child waits for ever for
            # what a thread of its parent was importing: 5 of 25 of Python's own did.
            _own_function(group="demo")

            def ask():
                while not stop.is_set():
                    metadata.entry_points(group="demo")

            threads = [threading.Thread(target=ask, daemon=True) for _ in range(3)]
            for each in threads:
                each.start()
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    signal.alarm(20)  # a lock that another thread held would be held for ever
                    os._exit(0 if len(list(metadata.entry_points(group="demo"))) == 12 else 1)
                assert os.waitpid(child, 0)[1] == 0
            stop.set()
            for each in threads:
                each.join()
            check()
            """)

    def test_multiprocessing(self):
        self.each_python("""
            import multiprocessing
            check()

            def ask(_):
                return len(metadata.entry_points(group="demo"))

            with multiprocessing.get_context("fork").Pool(2) as pool:
                assert pool.map(ask, range(8)) == [12] * 8
            check()
            """)

    def test_subinterpreters(self):
        self.each_python("""
            check()
            try:
                import _interpreters as interpreters
            except ImportError:
                import _xxsubinterpreters as interpreters
            text = f'''
            import sys
            sys.path[:0] = {[SITE, os.path.dirname(os.path.dirname(entrydb.__file__))]!r}
            import entrydb
            entrydb.accelerate()
            import importlib.metadata as metadata
            got = [each.name for each in metadata.entry_points(group="demo")]
            expected = [each.name for each in metadata._entrydb.own["entry_points"](group="demo")]
            assert got == expected and len(got) == 12, (got, expected)
            '''
            import textwrap
            for _ in range(3):
                inner = interpreters.create()
                failure = interpreters.run_string(inner, textwrap.dedent(text))
                assert not failure, failure
                interpreters.destroy(inner)
                check()
            """)

    # --- where it looks ---

    def test_path_changes(self):
        self.each_python("""
            check()
            other = os.environ["TOP"] + "/other"
            os.makedirs(other)
            sys.path.append(other)
            check()
            os.makedirs(f"{other}/late-1.dist-info")
            with open(f"{other}/late-1.dist-info/entry_points.txt", "w") as file:
                file.write("[demo]\\nlate = late:main\\n")
            assert any(each[0] == "late" for each in check())
            sys.path.remove(other)
            assert not any(each[0] == "late" for each in check())
            sys.path.insert(0, other)

            def outcome(function):
                try:
                    return plain(function(group="demo"))
                except Exception as error:
                    return type(error)

            sys.path.insert(0, other)
            for odd in None, 5, b"/nowhere", "a\\0b", "\\udcff/none", "\\ud800":
                sys.path[0] = odd
                got, expected = outcome(metadata.entry_points), outcome(_own_function)
                assert got == expected, (odd, got, expected)
            del sys.path[0]
            check()
            """)

    def test_working_directory(self):
        self.each_python("""
            sys.path[:0] = ["", ".", "x/.."]
            check()
            for name in "one", "two":
                os.makedirs(f"{name}/{name}-1.dist-info")
                with open(f"{name}/{name}-1.dist-info/entry_points.txt", "w") as file:
                    file.write(f"[demo]\\n{name} = {name}:main\\n")
            top = os.getcwd()
            for name in "one", "two", "one":
                os.chdir(f"{top}/{name}")
                assert name in [each[0] for each in check()], name
            os.chdir(top)
            check()
            """)

    # --- databases ---

    def test_database_goes(self):
        self.each_python("""
            import shutil
            check()
            copy = DATABASE + ".copy"
            shutil.copy2(DATABASE, copy)
            os.remove(DATABASE)
            check()
            add("unseen")
            check()
            os.rename(copy, DATABASE)
            check()
            update()
            check()
            for text in b"", b"SQLite format 3\\0" + bytes(100), os.urandom(5000):
                with open(DATABASE + ".new", "wb") as file:
                    file.write(text)
                os.rename(DATABASE + ".new", DATABASE)
                check()
            os.remove(DATABASE)
            os.mkdir(DATABASE)
            check()
            os.rmdir(DATABASE)
            update()
            os.chmod(DATABASE, 0)
            check()
            os.chmod(DATABASE, 0o666)
            check()
            """)

    def test_database_truncated_in_place(self):
        """Programs should not do this."""
        self.each_python("""
            check()
            size = os.path.getsize(DATABASE)
            for left in size // 2, 4096, 100, 0:
                with open(DATABASE, "r+b") as file:
                    file.truncate(left)
                check()
                check(group="console_scripts")
            """)

    # --- files closed behind its back ---

    def test_closed_files(self):
        """As daemons do: all that is open is closed, and other files get its numbers."""
        self.each_python("""
            import gc, shutil
            from entrydb import _databases
            for number in range(200):
                add(f"big{number}")
                with open(f"{SITE}/big{number}-1.0.dist-info/entry_points.txt", "w") as file:
                    file.write(f"[group{number}]\\nbig{number} = first:main\\n")
            update()
            # One of the same form, that says otherwise.
            shutil.copytree(os.environ["PREFIX"], "other")
            with open("other" + DATABASE.removeprefix(os.environ["PREFIX"]), "r+b") as file:
                text = file.read().replace(b"first:main", b"other:main")
                file.seek(0)
                file.write(text)
            check()
            os.closerange(3, 256)
            opened = [os.open(file.name, os.O_RDONLY) for _ in range(8)]
            for number in range(0, 200, 20):
                check(database=False, group=f"group{number}")
            _databases._kept.clear()
            gc.collect()
            for each in opened:
                os.fstat(each)  # still open
            """)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_metadata_that_the_asker_may_not_read(self):
        """Root's database has it; what another user is told is what they could read."""
        self.each_python("""
            os.chmod(os.environ["TOP"], 0o755)
            os.chmod(f"{SITE}/d3-1.0.dist-info/entry_points.txt", 0o600)
            os.chmod(f"{SITE}/d4-1.0.dist-info", 0o700)
            update()
            own_property = original("entry_points_of")

            def walk():
                for _ in range(3):
                    for each in metadata.distributions():
                        assert list(each.entry_points) == list(own_property(each))

            assert len(check(database=False)) == 12
            walk()
            child = os.fork()
            if child == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
                names = [each[0] for each in check(database=False)]
                assert "d2" in names and "d3" not in names and "d4" not in names, names
                walk()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            """)

    # --- switching it ---

    def test_on_and_off(self):
        self.each_python("""
            function, getter, path = metadata.entry_points, metadata.Distribution.entry_points.fget, sys.path[:]
            code, own, own_getter = function.__code__, _own_function.__code__, original("entry_points_of").__code__
            entrydb.accelerate()
            assert metadata.entry_points is function and function.__code__ is code and sys.path == path
            import _entrydb_site as site
            assert (".py", site.entrydb_loader) in sys.path_importer_cache[site.LIBRARY]._loaders
            check()
            entrydb.decelerate()
            entrydb.decelerate()
            assert metadata.entry_points is function and function.__code__ is own
            assert metadata.Distribution.entry_points.fget is getter and getter.__code__ is own_getter
            assert (".py", site.entrydb_loader) not in sys.path_importer_cache[site.LIBRARY]._loaders
            assert "entrydb_loader" not in str([getattr(each, "_loaders", 0) for each in sys.path_importer_cache.values()])
            assert len(list(function(group="demo"))) == 12
            entrydb.accelerate()
            assert metadata.entry_points is function and function.__code__ is code
            check()
            """)

    def test_forbidden(self):
        self.each_python("""
            import os, sys
            sys.path.insert(0, os.environ["SITE"])
            import entrydb
            entrydb.accelerate()
            import importlib.metadata as metadata
            assert "entrydb_loader" not in str([getattr(each, "_loaders", 0) for each in sys.path_importer_cache.values()])
            assert metadata.entry_points.__module__ == "importlib.metadata"
            assert not hasattr(metadata, "_entrydb")
            assert len(list(metadata.entry_points(group="demo"))) == 12
            assert "entrydb._native" not in sys.modules
            """, prelude="", ENTRYDB="0")

    def test_patched(self):
        self.each_python("""
            from unittest import mock
            check()
            with mock.patch("importlib.metadata.entry_points", return_value=["patched"]):
                assert metadata.entry_points(group="demo") == ["patched"]
            check()
            with mock.patch("importlib.metadata.distributions", return_value=iter([])):
                assert list(metadata.entry_points(group="demo")) == []
            check()
            with mock.patch.object(metadata.Distribution, "discover", return_value=iter([])):
                assert list(metadata.entry_points(group="demo")) == []
            check()
            with mock.patch.object(metadata.PathDistribution, "read_text", return_value=""):
                assert list(metadata.entry_points(group="demo")) == []
                assert not any(len(each.entry_points) for each in metadata.distributions())
            check()
            with mock.patch.object(metadata.Distribution, "entry_points", ()):
                assert list(metadata.entry_points(group="demo")) == []
            check()
            with mock.patch.object(metadata.MetadataPathFinder, "find_distributions",
                                   return_value=iter([])):
                check(database=False)
            with mock.patch("os.listdir", return_value=[]):
                check(database=False)
            with mock.patch.object(sys, "meta_path", []):
                assert list(metadata.entry_points(group="demo")) == []
            with mock.patch.object(sys, "path", []):
                assert list(metadata.entry_points(group="demo")) == []
            check()
            """)

    def test_patched_before(self):
        self.each_python("""
            import os, sys
            sys.path.insert(0, os.environ["SITE"])
            from unittest import mock
            import importlib.metadata as metadata
            import entrydb
            own = metadata.entry_points
            with mock.patch("importlib.metadata.entry_points", return_value=["patched"]) as fake:
                entrydb.accelerate()
                assert metadata.entry_points(group="demo") == ["patched"]
            assert metadata.entry_points is own
            assert len(list(metadata.entry_points(group="demo"))) == 12
            entrydb.decelerate()
            assert metadata.entry_points is own
            """, prelude="")

    def test_reload(self):
        self.each_python("""
            import importlib
            check()
            importlib.reload(metadata)
            got = metadata.entry_points(group="demo")
            assert len(list(got)) == 12 and all(type(each) is metadata.EntryPoint for each in got)
            assert [type(each) for each in got] == [metadata.EntryPoint] * 12
            for _ in range(2):  # also if the module before was never queried
                before = sys.modules.pop("importlib.metadata")
                again = importlib.import_module("importlib.metadata")
            for each in again, before:
                got = each.entry_points(group="demo")
                assert len(list(got)) == 12 and type(got) is each.EntryPoints, each
            """)

    def test_wrong_call_reaches_the_original(self):
        """A function of the program's, there before entrydb was: it sees what it would see."""
        self.each_python("""
            entrydb.decelerate()
            own, calls = metadata.entry_points, []

            def theirs(*arguments, **params):
                calls.append(arguments)
                return own(*arguments, **params)

            metadata.entry_points = theirs
            entrydb.accelerate()
            try:
                metadata.entry_points("demo")
            except TypeError as error:
                assert "takes 0 positional arguments" in str(error), error
            assert calls == [("demo",)], calls
            """)

    def test_signature(self):
        self.each_python("""
            import pickle
            for wrong in ({"nonsense": 1},):
                failures = []
                for function in metadata.entry_points, _own_function:
                    try:
                        failures.append(list(function(**wrong)))
                    except Exception as error:
                        failures.append((type(error), str(error)))
                assert failures[0] == failures[1], failures
            try:
                metadata.entry_points("demo")
            except TypeError:
                pass
            else:
                raise AssertionError("positional")
            assert pickle.loads(pickle.dumps(metadata.entry_points)) is metadata.entry_points
            """)

    def test_patched_before_the_first_question(self):
        """A wrapper is noticed whatever it says that it wraps; once it has gone, the database
        answers, and a patch that comes and goes costs nothing for ever."""
        self.each_python("""
            import functools
            own = metadata.distributions

            @functools.wraps(own)
            def half(**context):
                return list(own(**context))[:6]

            metadata.distributions = half
            for _ in range(20):
                assert len(list(metadata.entry_points(group="demo"))) == 6
            metadata.distributions = own
            for _ in range(100):
                assert len(list(metadata.entry_points(group="demo"))) == 12
            check()
            for _ in range(3):
                metadata.distributions = half
                assert len(list(metadata.entry_points(group="demo"))) == 6
                metadata.distributions = own
                check()
            del metadata.distributions  # and another order in the namespace
            metadata.distributions = own
            for _ in range(20):
                metadata.entry_points(group="demo")
            check()
            """)

    def test_a_note_in_the_module(self):
        """As ddtrace leaves one, of a type of its own, in each module that is imported."""
        self.each_python("""
            import pathlib
            for module in metadata, metadata._itertools:
                module.__dd_origin__ = pathlib.Path(module.__file__)
            check()
            metadata.__dd_origin__ = object()
            check()
            metadata.len = lambda each: len(each)
            check(database=False)
            del metadata.len
            check()
            """)

    def test_patches_that_no_question_meets(self):
        self.each_python("""
            check()
            for patch in "version", "files", "requires", "__doc__":
                setattr(metadata, patch, lambda name: "1")
                check(database=False)
                check()
            """)

    def test_code_and_bases_exchanged(self):
        """What is still the same object need not do the same."""
        self.each_python("""
            check()
            code = metadata.distributions.__code__
            metadata.distributions.__code__ = (lambda **keywords: iter(())).__code__
            assert len(list(metadata.entry_points(group="demo"))) == 0
            metadata.distributions.__code__ = code
            check()
            """)

    # --- questions within the first question ---

    def test_a_finder_that_asks(self):
        self.each_python("""
            import signal
            signal.alarm(60)
            asked = []

            class Finder:
                def find_spec(self, name, path=None, target=None):
                    if not asked and "_metadata_module" in name:
                        asked.append(len(list(metadata.entry_points(group="demo"))))

            sys.meta_path.insert(0, Finder())
            assert len(list(metadata.entry_points(group="demo"))) == 12
            assert asked == [12], asked
            """, prelude=FIRST_QUESTION)

    def test_nothing_finds_modules(self):
        """Nor does an answer, with a sys.path that no database is asked about, import any."""
        self.each_python("""
            assert len(list(metadata.entry_points(group="demo"))) == 12
            finders, path = sys.meta_path[:], sys.path[:]
            sys.meta_path.clear()
            sys.path = tuple(path)
            assert len(list(metadata.entry_points(group="demo"))) == 0
            sys.path = [*path, "a" + chr(0)]
            assert len(list(metadata.entry_points(group="demo"))) == 0
            sys.meta_path[:], sys.path = finders, path
            assert len(list(metadata.entry_points(group="demo"))) == 12
            """, prelude=FIRST_QUESTION)

    def test_a_finder_that_forks_and_threads(self):
        self.each_python("""
            import signal, threading, warnings
            warnings.simplefilter("ignore")
            signal.alarm(60)
            # What Python imports late it cannot import in a thread while a finder is asked.
            for each in metadata.distributions():
                metadata.EntryPoints._from_text_for(each.read_text("entry_points.txt"), each)
            seen = []

            def count():
                return len(list(metadata.entry_points(group="demo")))

            class Finder:
                def find_spec(self, name, path=None, target=None):
                    if seen or "_metadata_module" not in name:
                        return
                    thread = threading.Thread(target=lambda: seen.append(count()))
                    thread.start()
                    thread.join()
                    child = os.fork()
                    if child == 0:
                        signal.alarm(60)
                        os._exit(0 if count() == 12 else 1)
                    seen.append(os.waitpid(child, 0)[1])
                    signal.signal(signal.SIGUSR1, lambda *_: seen.append(count()))
                    os.kill(os.getpid(), signal.SIGUSR1)

            sys.meta_path.insert(0, Finder())
            assert count() == 12
            assert seen == [12, 0, 12], seen
            """, prelude=FIRST_QUESTION)

    def test_a_fork_while_another_thread_connects(self):
        """The child cannot wait for a thread that it does not have."""
        self.each_python("""
            import signal, threading, warnings
            warnings.simplefilter("ignore")
            signal.alarm(60)
            import importlib.machinery
            inside, go_on = threading.Event(), threading.Event()

            class Finder:  # Python itself lets no fork happen while a finder is asked
                def find_spec(self, name, path=None, target=None):
                    if "_metadata_module" not in name:
                        return
                    spec = importlib.machinery.PathFinder.find_spec(name, path)
                    execute = spec.loader.exec_module
                    def slowly(module):
                        inside.set()
                        go_on.wait()
                        execute(module)
                    spec.loader.exec_module = slowly
                    return spec

            sys.meta_path.insert(0, Finder())
            thread = threading.Thread(target=lambda: metadata.entry_points(group="demo"))
            thread.start()
            inside.wait()
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                os._exit(0 if len(list(metadata.entry_points(group="demo"))) == 12 else 1)
            assert os.waitpid(child, 0)[1] == 0
            go_on.set()
            thread.join()
            assert len(list(metadata.entry_points(group="demo"))) == 12
            """, prelude=FIRST_QUESTION)

    # --- what is imported ---

    def test_the_loader_before_the_import(self):
        self.each_python("""
            import os, sys
            import _entrydb_site
            _entrydb_site.start()
            import copy, importlib.machinery, importlib.util, pickle
            spec = importlib.util.find_spec("importlib.metadata")
            assert type(spec.loader) is importlib.machinery.SourceFileLoader
            for loader in spec.loader, copy.copy(spec.loader), copy.deepcopy(spec.loader), \\
                    pickle.loads(pickle.dumps(spec.loader)):
                assert loader.get_filename() == spec.origin
                assert loader == spec.loader
            assert importlib.util.find_spec("importlib.metadata") == spec
            sys.path.insert(0, os.environ["SITE"])
            import importlib.metadata as metadata
            assert "exec_module" not in vars(metadata.__loader__)
            assert metadata._entrydb
            assert len(list(metadata.entry_points(group="demo"))) == 12
            for name in "importlib.metadata", "another":
                loader = importlib.machinery.PathFinder.find_spec("importlib.metadata", importlib.__path__).loader
                bare = type(sys)(name)
                bare.__path__, bare.__file__ = metadata.__path__, metadata.__file__
                try:
                    loader.exec_module(bare)
                    assert name != "another" and bare._entrydb
                except ImportError as error:
                    assert name == "another" and error.name == name, error
            """, prelude="")

    def test_another_module_of_that_name(self):
        """An entrydb.py beside a script is the script's, and is not run by a question."""
        self.each_python("""
            import os, sys
            import _entrydb_site
            _entrydb_site.start()
            _entrydb_site.part("_entrydb_replacement").worth = 0
            beside = f"{os.environ['TOP']}/beside"
            os.mkdir(beside)
            with open(f"{beside}/entrydb.py", "w") as stream:
                stream.write("mine = True\\n")
            sys.path[:0] = [beside, os.environ["SITE"]]
            import importlib.metadata as metadata
            assert len(list(metadata.entry_points(group="demo"))) == 12
            assert "entrydb" not in sys.modules
            assert metadata._entrydb.connected
            import entrydb
            assert entrydb.mine
            """, prelude="")

    def test_no_file_of_its_own(self):
        """As in a program that is a zip, or frozen: the extension cannot be loaded."""
        self.each_python("""
            import glob, os, sys, zipfile
            [home] = [each for each in sys.path if os.path.exists(f"{each}/_entrydb_site.py")]
            with zipfile.ZipFile("program.zip", "w") as archive:
                for file in glob.glob(f"{home}/*.py") + glob.glob(f"{home}/entrydb/*.py"):
                    archive.write(file, os.path.relpath(file, home))
            sys.path.remove(home)
            sys.path[:0] = [os.environ["SITE"], os.path.abspath("program.zip")]
            import entrydb
            assert "program.zip" in entrydb.__file__
            for _ in range(2):
                entrydb.accelerate()
                import importlib.metadata as metadata
                for _ in range(3):
                    found = tuple(metadata.entry_points(group="demo"))
                    assert found and found == tuple(metadata._entrydb.own["entry_points"](group="demo"))
                assert "_entrydb._accelerated" not in sys.modules
                entrydb.decelerate()
            """, prelude="")

    def test_connecting_fails(self):
        """Whatever it is, the program has importlib.metadata's answer; and later entrydb's."""
        self.each_python("""
            import os, sys
            sys.path.insert(0, os.environ["SITE"])
            import entrydb._accelerated, _entrydb_site
            own = entrydb._accelerated.connect
            def fails(replacement):
                raise OSError("no")
            entrydb._accelerated.connect = fails
            _entrydb_site.start()
            _entrydb_site.part("_entrydb_replacement").worth = 0
            import importlib.metadata as metadata
            for _ in range(10):
                assert len(list(metadata.entry_points(group="demo"))) == 12
            entrydb._accelerated.connect = own
            for _ in range(20):
                assert len(list(metadata.entry_points(group="demo"))) == 12
            assert metadata._entrydb.connected
            """, prelude="")

    def test_a_value_that_cannot_be_parsed(self):
        """Python 3.15 parses all values whatever is asked for, and fails for one of them."""
        self.each_python("""
            import warnings
            warnings.simplefilter("ignore")

            def outcome(ask, params):
                try:
                    return plain(ask(**params))
                except Exception as error:
                    return type(error), str(error)

            def same():
                found = []
                for group in "demo", "console_scripts", "nobody":
                    for params in {"group": group}, {"group": group, "name": "odd"}:
                        ours, own = (outcome(each, params)
                                     for each in (metadata.entry_points, _own_function))
                        assert ours == own, (params, ours, own)
                        found.append(type(ours))
                return set(found)

            assert same() == {list}
            for value in "m:", "a-b:c", "m:f [x":
                add("odd", value=value)
                update()
                metadata.FastPath.__new__.cache_clear()
                expected = {tuple if sys.version_info >= (3, 15) else list}
                for _ in range(3):
                    assert same() == expected, (value, same())
                for file in os.listdir(f"{SITE}/odd-1.0.dist-info"):
                    os.remove(f"{SITE}/odd-1.0.dist-info/{file}")
                os.rmdir(f"{SITE}/odd-1.0.dist-info")
                metadata.FastPath.__new__.cache_clear()
                assert same() == {list}
            """)

    def test_just_installed_settles(self):
        """What was young when the database was updated is looked at once more by each process
        that finds it old, and then no more: so it does not see an edit in place. Nor does one
        that has to read the directory, because its row proves nothing."""
        for settled in 1, 0:
            with self.subTest(settled=settled):
                self.check_just_installed(settled)

    def check_just_installed(self, settled):
        self.each_python("""
            import contextlib, sqlite3, time, warnings
            warnings.simplefilter("ignore")
            is_young = False
            while not is_young:  # a busy machine may take over two seconds from one to the other
                young = f"young{time.time_ns()}"
                add(young)
                update()
                with contextlib.closing(sqlite3.connect(DATABASE)) as database, database:
                    assert database.execute("SELECT min(settled) FROM root").fetchone() == (1,)
                    is_young = database.execute("SELECT max(watched) FROM root").fetchone() > (0,)
                    database.execute("UPDATE root SET settled = " + os.environ["SETTLED"])
            time.sleep(4.2)  # WATCHED_FOR, and CLOCK_SKEW
            before = check()
            with open(f"{SITE}/{young}-1.0.dist-info/entry_points.txt", "a") as stream:
                stream.write("late = young:late\\n")
            assert plain(metadata.entry_points(group="demo")) == before
            child = os.fork()
            if child == 0:
                os._exit(0 if len(plain(metadata.entry_points(group="demo"))) > len(before) else 1)
            assert os.waitpid(child, 0)[1] == 0
            """, newest=True, SETTLED=str(settled))

    def test_update_detects_edits_in_place(self):
        """Also to a directory that no database describes, and that was read by the process."""
        self.each_python("""
            import time
            own_site, SITE = SITE, os.environ["TOP"] + "/extra"
            add("extra")
            sys.path.insert(0, SITE)
            time.sleep(2.2)  # what is young is not kept
            before = check()
            with open(f"{SITE}/extra-1.0.dist-info/entry_points.txt", "a") as stream:
                stream.write("late = extra:late\\n")
            SITE = own_site
            add("new")
            update()
            assert len(check()) == len(before) + 2
            """, newest=True)

    def test_few_distributions(self):
        """Python reads them itself, until that has cost as much as loading entrydb would have."""
        self.each_python("""
            import os, sys
            sys.path[:] = [os.environ["SITE"], *(each for each in sys.path if "-packages" not in each)]
            import _entrydb_site
            _entrydb_site.start()
            import importlib.metadata as metadata
            replacing = _entrydb_site.part("_entrydb_replacement")
            metadata.distribution("d1")
            replacement = metadata._entrydb
            import _entrydb_connecting as _connecting
            _connecting.FAR_AWAY = 3600  # this machine may be busy
            stat, list_directory = _connecting.count_metadata.__defaults__
            listed = []
            _connecting.count_metadata.__defaults__ = stat, lambda entry: listed.append(entry) or list_directory(entry)
            asked = 0
            while not replacement.connected:
                assert "_entrydb._accelerated" not in sys.modules
                assert len(list(metadata.entry_points(group="demo"))) == 12
                asked += 1
                assert asked < 10
            assert asked > 1 and replacement.read < replacing.worth + 2 * 12, asked
            assert len(listed) == len(set(listed)), listed
            """, prelude="")

    def test_around_the_number_where_a_name_is_found_by_the_database(self):
        """Equal answers below and above the limit; above it, no email parser is imported."""
        for worth in DISTRIBUTIONS // 8 + 1, DISTRIBUTIONS // 8:
            self.each_python("""
                import os, sys
                sys.path[:] = [os.environ["SITE"], *(each for each in sys.path if "-packages" not in each)]
                import _entrydb_site
                _entrydb_site.start()
                replacing = _entrydb_site.part("_entrydb_replacement")
                replacing.worth, many = int(os.environ["WORTH"]), int(os.environ["WORTH"]) * 8 <= 12
                import importlib.metadata as metadata

                def told(find, look, name):
                    try:
                        found = find(name)
                        return type(found), vars(found), [look(found, each) for each in ("name", "version")]
                    except Exception as error:
                        return type(error), error.args

                def by_python(found, which):
                    return own[f"{which}_of"](found)

                metadata.distribution("d3")
                own = metadata._entrydb.own
                assert metadata._entrydb.connected == many
                names = "d1", "D1", "d2-", "nobody", "d1 ", "", None, 1
                answers = [told(metadata.distribution, getattr, each) for each in names]
                assert not (many and "email.feedparser" in sys.modules)
                assert answers == [told(own["distribution"], by_python, each) for each in names]
                """, prelude="", WORTH=str(worth))

    def test_a_finder_whose_method_is_wrapped(self):
        self.each_python("""
            from importlib.machinery import PathFinder
            check()
            calls = []

            class Wrapper:
                '''As wrapt's: in all else it looks like what it wraps.'''

                def __init__(self, wrapped):
                    self.wrapped = wrapped

                def __getattr__(self, name):
                    return getattr(self.wrapped, name)

                def __get__(self, instance, owner):
                    calls.append(owner)
                    return self.wrapped.__get__(instance, owner)

            own = vars(PathFinder)["find_distributions"]
            PathFinder.find_distributions = Wrapper(own)
            check(database=False)
            assert answered == [False] and calls.count(PathFinder) >= 2, (answered, calls)
            PathFinder.find_distributions = own
            check()
            """)

    def test_patched_before_it_is_switched_on(self):
        self.each_python("""
            import os, sys
            sys.path.insert(0, os.environ["SITE"])
            import importlib.metadata as metadata
            calls = []

            class Wrapper:
                '''As wrapt's: in all else it looks like what it wraps.'''

                def __init__(self, wrapped):
                    self.wrapped = wrapped

                def __getattr__(self, name):
                    calls.append(name)
                    return getattr(self.wrapped, name)

                def __get__(self, instance, owner):
                    calls.append("entry_points" if instance else "of the class")
                    return self.wrapped.__get__(instance, owner)

            def seen():
                calls.clear()
                found = [each.name for made in metadata.distributions() for each in made.entry_points]
                return sorted(found), [each for each in calls if each != "of the class"]

            if hasattr(metadata, "inspect"):
                metadata.inspect = Wrapper(metadata.inspect)
            metadata.Distribution.entry_points = Wrapper(vars(metadata.Distribution)["entry_points"])
            expected = seen()
            assert "entry_points" in expected[1]
            import entrydb
            entrydb.accelerate()
            for _ in range(3):
                assert seen() == expected, (seen(), expected)
            """, prelude="")

    def test_nothing_can_be_imported(self):
        self.each_python("""
            check()
            assert entrydb.entry_points(group="demo")
            finders = list(sys.meta_path)
            sys.meta_path[:] = [each for each in finders if not hasattr(each, "find_distributions")]
            sys.path.append("a\\0b")  # which is not for a database
            assert list(entrydb.entry_points(group="demo")) == []
            assert check(database=False) == []
            sys.meta_path[:] = finders
            sys.path.pop()
            check()
            """)

    def test_path_entries_of_other_types(self):
        """Also before entrydb is connected, what they lead to is for Python to say."""
        self.each_python("""
            import os, sys
            import _entrydb_site
            _entrydb_site.start()
            import importlib.metadata as metadata

            own = sys.path[:]
            found = metadata.Distribution.at(f"{os.environ['SITE']}/d1-1.0.dist-info")
            for odd in os.fsencode(os.environ["SITE"]), 0, None, 1.5, [], {}:
                sys.path[:] = [os.environ["SITE"], odd, *own]
                if "_entrydb_connecting" in sys.modules:
                    metadata._entrydb.read = 0
                for _ in range(12):
                    assert len(list(found.entry_points)) == 2
            """, prelude="")

    def test_one_distribution_among_many(self):
        """A query of one distribution does not read all."""
        self.each_python("""
            import os, sys
            sys.path[:] = [os.environ["SITE"], *(each for each in sys.path if "-packages" not in each)]
            import _entrydb_site
            _entrydb_site.start()
            import importlib.metadata as metadata
            replacing = _entrydb_site.part("_entrydb_replacement")
            metadata.distribution("d1")
            replacement = metadata._entrydb
            import _entrydb_connecting as _connecting
            replacing.worth, _connecting.ONE_BY_ONE = 3, 8
            found = list(metadata.distributions())
            for number, each in enumerate(found[:12]):
                assert each.entry_points
                assert replacement.connected == (number + 1 >= _connecting.ONE_BY_ONE), number
            """, prelude="")

    def test_compared_with_others(self):
        self.each_python("""
            light = entrydb.entry_points(group="demo")["d1"]
            for other in None, 1, "d1", ("d1", light.value, "demo"):
                assert light != other and not light == other
                try:
                    light < other
                except TypeError:
                    continue
                raise AssertionError(other)

            class Equal:
                def __eq__(self, other):
                    return True

            assert light == Equal()
            """)

    def test_nothing_is_imported(self):
        self.each_python("""
            import sys
            before = set(sys.modules)
            import entrydb
            entrydb.accelerate()
            more = set(sys.modules) - before
            assert more <= {"entrydb", "_entrydb_connecting", "_entrydb_site", "_entrydb_replacement"}, more
            import os
            sys.path.insert(0, os.environ["SITE"])
            assert len(entrydb.entry_points(group="demo")) == 12
            more = {each.partition(".")[0] for each in set(sys.modules) - before}
            assert not more & {"importlib", "re", "pathlib", "zipfile", "email", "csv", "json",
                               "inspect", "typing"}, more
            import entrydb._hook
            assert "subprocess" not in set(sys.modules) - before
            """, prelude="")

    def test_names_and_versions(self):
        """Read from the database and from METADATA, without an email parser."""
        self.each_python("""
            import entrydb
            parser = "email.feedparser" in sys.modules
            own, calls = vars(metadata.Distribution)["metadata"], []
            for name in "d1", "D1":
                dist = metadata.distribution(name)
                assert (dist.version, dist.name, metadata.version(name)) == ("1.0", "d1", "1.0")
                assert entrydb.version(name) == "1.0"
                assert metadata._entrydb.distribution.__self__.find_distribution(name)._path == dist._path
            assert all(each.version == "1.0" for each in metadata.distributions(path=[SITE]))
            assert ("email.feedparser" in sys.modules) == parser
            for name in "d1", "D1":  # 3.15 parses the e-mail for that
                assert vars(metadata.distribution(name)) == vars(metadata.Distribution.from_name(name))
            for ask in metadata.version, metadata.distribution, entrydb.version:
                try:
                    ask("nobody")
                except metadata.PackageNotFoundError as error:
                    assert error.args == ("nobody",)
                else:
                    raise AssertionError("found")
            with open(f"{SITE}/d1-1.0.dist-info/METADATA", "w") as stream:
                stream.write("Name: d1\\nVersion: 2.0\\n")  # in place
            assert metadata.version("d1") == entrydb.version("d1") == "2.0"
            metadata.Distribution.metadata = property(lambda self: {"Version": "mine"})
            assert metadata.version("d1") == "mine"
            metadata.Distribution.metadata = own
            assert metadata.version("d1") == "2.0"
            """)

    def test_light_objects(self):
        self.each_python("""
            import pickle
            light = entrydb.entry_points(group="demo")
            assert [(e.name, e.value, e.group) for e in light] == [each[:3] for each in check()]
            assert [str(each.dist._path) for each in light] == [each[3] for each in check()]
            each = light["d3"]
            assert (each.module, each.attr, list(each.extras)) == ("d3.plugin", "main", ["x", "y"])
            assert each.dist.metadata["Name"] == "d3" and each.dist is each.dist
            fresh = entrydb.entry_points(group="demo")
            for some in fresh, fresh["d3"], light["d3"]:
                assert pickle.loads(pickle.dumps(some)) == some
            assert pickle.loads(pickle.dumps(fresh))["d4"].dist.version == "1.0"
            """)

    def test_light_alone(self):
        self.each_python("""
            import os, sys
            sys.path.insert(0, os.environ["SITE"])
            import entrydb
            found = entrydb.entry_points(group="demo")
            assert len(found) == 12 and "importlib.metadata" not in sys.modules
            assert found["d1"].dist.version == "1.0" and "importlib.metadata" in sys.modules
            """, prelude="")

    def test_typed(self):
        for file in ("py.typed", "__init__.pyi"):
            self.assertTrue(os.path.exists(f"{package.directory()}/entrydb/{file}"), file)

    def test_backports(self):
        """importlib_metadata of all versions in the cache."""
        cache = glob.escape(package_cache.cache_directory())
        found = glob.glob(f"{cache}/importlib_metadata-[0-9]*")
        if not found:
            self.skipTest("no importlib_metadata in the cache")
        for place in found:
            self.each_python("""
                sys.path.insert(0, os.environ["BACKPORT"])
                import importlib_metadata
                function = importlib_metadata.entry_points
                replaced = sys.modules["_entrydb_replacement"].replacements.get("importlib_metadata")
                own = original("entry_points", importlib_metadata) if replaced else function
                for ask in {"group": "demo"}, {"group": "demo", "name": "d1"}, {"name": "d2"}:
                    assert plain(function(**ask)) == plain(own(**ask))
                    got, mine = metadata.entry_points(**ask), _own_function(**ask)
                    assert plain(got) == plain(mine)
                    assert list(map(type, got)) == list(map(type, mine))
                assert [sorted(plain(each.entry_points)) for each in
                        importlib_metadata.distributions()]
                [finder] = [each for each in sys.meta_path
                            if type(each).__module__ == "importlib_metadata"]
                finder.find_distributions = lambda *_, **__: iter(())
                for module in metadata, importlib_metadata:
                    assert not module.entry_points(group="demo")
                del finder.find_distributions
                assert check(database=False)
                """, newest=True, BACKPORT=place)

    def test_database(self):
        """What a database says of its path entries, and of policy."""
        self.each_python("""
            from entrydb._native import Database
            database = Database((SITE, "/nowhere"))
            entries = database.path_entries()
            assert [entry[0] for entry in entries] == [SITE, "/nowhere"], entries
            assert [entry[1] for entry in entries] == [os.environ["DATABASE"], None], entries
            assert [entry[2] for entry in entries] == ["fresh", "absent"], entries
            assert database.allowed("demo", "d1") == (True, None)
            os.environ["ENTRYDB_DISABLE"] = "other,demo/d1"
            refused = (False, "ENTRYDB_DISABLE names demo/d1")
            assert database.allowed("demo", "d1", "d1") == refused
            assert database.allowed("demo", "d2", None) == (True, None)
            assert not metadata.entry_points(group="demo", name="d1")
            assert len(metadata.entry_points(group="demo", name="d2")) == 1
            """, newest=True)

    def test_no_extension(self):
        """A package without what it needs must not harm."""
        self.each_python("""
            import os, sys
            sys.path.insert(0, os.environ["SITE"])
            sys.modules["entrydb._native"] = None
            import entrydb
            entrydb.accelerate()
            import importlib.metadata as metadata
            assert len(list(metadata.entry_points(group="demo"))) == 12
            assert sum(len(each.entry_points) for each in metadata.distributions()) >= 24
            """, prelude="")


if __name__ == "__main__":
    support.main()
