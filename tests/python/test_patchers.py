#!/usr/bin/env python3
"""Real packages that fake, wrap or trace the functions that importlib.metadata uses.

Each test is a script; see scripts.py. It runs with the newest interpreter, in the long form with all.
"""

import os

import package
import reference
import support
from package_cache import fixture_key, requirements
from scripts import PRELUDE, ScriptTest

setUpModule = package.require
FIXTURE = "patchers-requirements.txt"
LONG = bool(os.environ.get("ENTRYDB_TEST_LONG"))

START = PRELUDE + """
sys.path.append(os.environ["PATCHERS"])

def names():
    '''Of both ways to ask, which must agree.'''
    walked = [each.name for dist in metadata.distributions() for each in dist.entry_points
              if each.group == "demo"]
    found = [each.name for each in metadata.entry_points(group="demo")]
    assert sorted(found) == sorted(walked), (found, walked)
    return found
"""


class PatchersTest(ScriptTest):
    def each_python(self, script):
        for interpreter in reference.one_per_minor(reference.interpreters())[0 if LONG else -1:]:
            place = package.downloaded("patchers", f"{interpreter.library}-{fixture_key(FIXTURE)}",
                                       interpreter, *requirements(FIXTURE))
            with self.subTest(python=interpreter.version):
                if place is None:
                    self.skipTest(f"pip cannot get the packages for {interpreter.version}")
                self.run_script(interpreter, script, {"PATCHERS": place})

    def test_fake_file_system(self):
        """Faked before the first query, or later, and temporarily real again."""
        script = """
from pyfakefs.fake_filesystem_unittest import Patcher, Pause
for _ in range(QUESTIONS):
    check()
sys.path.insert(0, "/fake")
for _ in range(2):
    with Patcher() as patcher:
        assert check(database=False) == []
        for file, text in ("METADATA", "Name: fake\\nVersion: 1\\n"), \\
                ("entry_points.txt", "[demo]\\nfake = fake:main\\n"):
            patcher.fs.create_file(f"/fake/fake-1.dist-info/{file}", contents=text)
        assert names() == ["fake"]
        assert [row[0] for row in check(database=False)] == ["fake"]
        with Pause(patcher):
            assert check(database=False)
        assert [row[0] for row in check(database=False)] == ["fake"]
    for _ in range(4):  # a look in vain is not repeated at once
        found = check(database=False)
    assert found == check() and "fake" not in names()
"""
        for questions in 0, 1:
            self.each_python(START + script.replace("QUESTIONS", str(questions)))

    def test_greenlets_as_threads(self):
        self.each_python(START + """
import gevent, threading
from gevent import monkey, threadpool
check()
monkey.patch_all()
check()
expected = names()
asking = [gevent.spawn(names) for _ in range(5)]
asking += [threadpool.ThreadPool(2).spawn(names) for _ in range(3)]
assert [each.get() for each in asking] == [expected] * 8
seen = []
threads = [threading.Thread(target=lambda: seen.append(names())) for _ in range(3)]
for each in threads:
    each.start()
for each in threads:
    each.join()
assert seen == [expected] * 3
check()
""")

    def test_fake_clocks(self):
        self.each_python(START + """
import freezegun, time_machine
for begin in freezegun.freeze_time, lambda when: time_machine.travel(when, tick=False):
    for when in "1970-01-01", "2101-01-01":
        with begin(when):
            check()
            add(f"year{when[:4]}x{len(names())}")
            check()
        check()
""")

    def test_wrapped(self):
        """By functions and methods, and in a module that is imported later."""
        self.each_python(START + """
import wrapt
calls = []

def wrapper(wrapped, instance, arguments, keywords):
    calls.append(wrapped)
    return wrapped(*arguments, **keywords)

for part in ("distributions", "Distribution.discover", "MetadataPathFinder.find_distributions",
             "FastPath.search", "PathDistribution.read_text", "EntryPoints.select"):
    wrapt.wrap_function_wrapper("importlib.metadata", part, wrapper)
    calls.clear()
    check(database=False)
    *homes, name = part.split(".")
    home = metadata
    for each in homes:
        home = getattr(home, each)
    assert calls, part
    own = vars(home)[name].__wrapped__
    setattr(home, name, own)
    for _ in range(3):
        check(database=False)
    check()
""")

    def test_custom_loader(self):
        """The loader forwards the attributes of the usual one, and cannot be assigned to."""
        self.each_python("""
import os, sys
sys.path[:0] = [os.environ["SITE"], os.environ["PATCHERS"]]
import deal, entrydb
for name in [each for each in sys.modules if each.startswith("importlib.metadata")]:
    del sys.modules[name]
entrydb.accelerate()
deal.activate()
import importlib.metadata as metadata
assert type(metadata.__spec__.loader).__name__ == "DealLoader"
assert len(metadata.entry_points(group="demo")) == len(list(metadata.distributions(path=[os.environ["SITE"]])))
""")

    def test_measured(self):
        self.each_python(START + """
import coverage
check()
for core in "ctrace", "pytrace", "sysmon":
    os.environ["COVERAGE_CORE"] = core
    measured = coverage.Coverage(data_file=None, source=["importlib.metadata", "entrydb"])
    measured.start()
    check()
    names()
    measured.stop()
check()
""")


if __name__ == "__main__":
    support.main()
