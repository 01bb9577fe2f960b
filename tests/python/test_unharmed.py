"""Changes that programs make to the modules, functions and signals around entrydb have the same effect as
without it.
"""

import package
import support
from scripts import ScriptTest
from test_behaviour import WALKING

STARTED = """
import os, sys
sys.path.insert(0, os.environ["SITE"])
import _entrydb_site
_entrydb_site.start()
_entrydb_site.part("_entrydb_replacement").worth = 0
import importlib.metadata as metadata

def names():
    import importlib.metadata as found
    return sorted(each.name for each in found.entry_points(group="demo"))

expected = names()
assert len(expected) == 12
"""

setUpModule = package.require


class UnharmedTest(ScriptTest):
    def test_removed_modules(self):
        """Modules are removed from sys.modules and imported again."""
        self.each_python("""
            ours = [name for name in sys.modules if name.startswith(("_entrydb", "entrydb"))]
            for drop in (["_entrydb_site"], ["_entrydb_replacement"], ours,
                         ["_entrydb_site", "_entrydb_replacement"]):
                for again in False, True:
                    for name in drop:
                        sys.modules.pop(name, None)
                    if again:
                        import _entrydb_site
                        _entrydb_site.start()
                    del sys.modules["importlib.metadata"]
                    assert names() == expected
            import entrydb
            entrydb.decelerate()
            """, prelude=STARTED)

    def test_reloaded_module(self):
        self.each_python("""
            import importlib
            for name in "_entrydb_site", "_entrydb_replacement", "_entrydb_site":
                importlib.reload(sys.modules[name])
                sys.modules["_entrydb_site"].start()
                del sys.modules["importlib.metadata"]
                assert names() == expected
            assert "entrydb_loader" in str(sys.path_importer_cache[_entrydb_site.LIBRARY]._loaders)
            """, prelude=STARTED)

    def test_sys_modules_emptied(self):
        """Tests that import modules anew do this; errors that Python itself then has are the same."""
        self.each_python("""
            from importlib.machinery import SourceFileLoader
            from unittest import mock

            def import_anew(kept):
                with mock.patch.dict(sys.modules, {key: sys.modules[key] for key in kept}, clear=True):
                    try:
                        import importlib.metadata
                    except Exception as error:
                        return type(error)

            for kept in set(sys.modules) - {"importlib.metadata", "_entrydb_site"}, ["sys", "os"], []:
                finder = sys.path_importer_cache[_entrydb_site.LIBRARY]
                found = import_anew(kept)
                assert names() == expected
                watching = finder._loaders[-2]
                finder._loaders[-2] = ".py", SourceFileLoader
                assert import_anew(kept) == found, found
                finder._loaders[-2] = watching
            """, prelude=STARTED)

    def test_raising_finder(self):
        self.each_python("""
            class Finder:
                @staticmethod
                def find_spec(*arguments):
                    raise LookupError("mine")

            del sys.modules["importlib.metadata"]
            sys.meta_path.insert(1, Finder)
            try:
                import importlib.metadata
            except LookupError:
                pass
            else:
                raise AssertionError("swallowed")
            sys.meta_path.remove(Finder)

            class OfAnEntry(Finder):
                @property
                def _path_cache(self):
                    raise LookupError("nobody else's")

            import importlib.metadata
            sys.path.append("/nowhere")
            sys.path_importer_cache["/nowhere"] = OfAnEntry()
            assert names() == expected
            """, prelude=STARTED)

    def test_exceptions_of_signal_handlers(self):
        """They reach the program whenever they are raised."""
        self.each_python("""
            import signal, time
            for number in range(300):
                os.mkdir(f"{os.environ['SITE']}/more{number}-1.dist-info")

            class Alarm(OSError):
                pass

            def raise_alarm(*unused):
                global raised
                raised = True
                raise Alarm

            def walk():
                '''Each directory is listed anew.'''
                global done
                os.utime(os.environ["SITE"])
                done = False
                len(list(metadata.distributions()))
                done = True

            walk()
            began = time.perf_counter()
            walk()
            took = time.perf_counter() - began
            signal.signal(signal.SIGALRM, raise_alarm)
            sys.unraisablehook = lambda unraisable: None  # in a destructor of Python's
            swallowed = 0
            for number in range(200):
                raised = done = False
                try:
                    signal.setitimer(signal.ITIMER_REAL, took * (number + 1) / 220)
                    walk()
                    swallowed += raised
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Alarm:
                    pass
            assert swallowed <= 40, swallowed  # Python swallows some 10 %, in Lookup.children()
            """, prelude=STARTED)

    def test_functions_of_os_replaced(self):
        self.each_python(WALKING + """
            from unittest import mock
            fails = mock.Mock(side_effect=AssertionError("asked"))
            for name in ("os.path.isdir", "os.path.dirname", "os.path.isfile", "os.path.exists",
                         "os.path.abspath", "os.getcwd", "os.access"):
                with mock.patch(name, fails):
                    _accelerated.walks.clear()
                    for each in metadata.distributions():
                        each.entry_points
                    metadata.entry_points(group="demo")
            """)

    def test_signatures(self):
        self.each_python("""
            import inspect
            ours = {}
            for key in "ours", "theirs":
                found = vars(metadata.Distribution)["entry_points"].fget
                ours[key] = [inspect.signature(metadata.PathDistribution),
                             inspect.signature(metadata.Distribution),
                             inspect.getfullargspec(metadata.entry_points),
                             inspect.getfullargspec(metadata.Lookup.__init__),
                             inspect.signature(found), found.__qualname__, found.__module__,
                             found.__doc__, found.__annotations__, found.__name__]
                entrydb.decelerate()
            assert ours["ours"] == ours["theirs"], ours
            """)

    def test_pickles(self):
        """The pickled bytes are equal: shared objects are written once."""
        self.each_python("""
            import pickle
            add("more", "a:b\\nsecond = b:c\\n[other]\\nthird = c:d\\n[demo2]\\nx = x:x")
            update()
            for params in {"group": "demo"}, {"name": "second"}, {"group": "other"}, {}:
                answered.clear()
                got = pickle.dumps(metadata.entry_points(**params))
                assert answered == [True]
                assert got == pickle.dumps(_own_function(**params)), params
            """)


if __name__ == "__main__":
    support.main()
