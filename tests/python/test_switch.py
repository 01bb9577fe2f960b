"""python -m entrydb on, off and status, and the script entrydb, in environments of a wheel.

What is written there is written by its owner, through no link, and gone when entrydb is
uninstalled. The tests with a second user make and remove one: root runs them.
"""

import fcntl
import functools
import glob
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

import reference
import support
import wheels
from wheels import FILES, Environment, clean_environment, read, run, scratch, write

setUpModule = wheels.set_up
VICTIM = "what nobody may change\n"
SITECUSTOMIZE = "sitecustomize.py"
PTH = ["entrydb.pth", "entrydb.start"]

# A line of a .pth file that puts a finder of distributions beside Python's own.
IS_STARTED = "'entrydb_loader' in str(sys.path_importer_cache[s.LIBRARY]._loaders)"
FINDER = ("import sys; exec('class Other:\\n def find_spec(*a): return None\\n"
          " def find_distributions(*a): return ()\\nsys.meta_path.append(Other())')\n")
PATCHES = {
    "import importlib.metadata as m; m.distributions = lambda: ()\n":
        "importlib.metadata.distributions",
    "import importlib.metadata as m, functools as f; own = m.distributions; m.distributions = "
    "f.wraps(own)(lambda **k: own(**k))\n": "importlib.metadata.distributions",
    "import importlib.metadata as m; m.PathDistribution.read_text = lambda *a: None\n":
        "importlib.metadata.PathDistribution.read_text",
    "import os; os.listdir = lambda *a, own=os.listdir: own(*a)\n": "os.listdir",
    "import pathlib; pathlib.Path.read_text = lambda *a: ''\n": "pathlib",
}


@functools.cache
def template():
    return Environment(reference.interpreters()[-1], wheels.wheel())


def copy(environment, prefix):
    """An environment moves, but for the first lines of its scripts."""
    shutil.copytree(environment.prefix, prefix, symlinks=True)
    script = read(f"{prefix}/bin/entrydb")
    write(f"{prefix}/bin/entrydb", script.replace(environment.prefix, prefix))
    return environment.at(prefix)


def files(top):
    """And directories."""
    return {f"{place}/{name}" for place, directories, names in os.walk(top)
            for name in directories + names}


class SwitchTest(unittest.TestCase):
    """Each test has an environment of its own, all below one directory."""

    def setUp(self):
        self.place = f"{scratch()}/{'-'.join(self.id().split('.')[-2:])}"
        os.mkdir(self.place)
        self.environment = self.make(f"{self.place}/venv")

    def make(self, prefix):
        return copy(template(), prefix)

    def entrydb(self, *arguments, status=0, **keywords):
        """What it says."""
        done = self.environment.entrydb(*arguments, check=False, **keywords)
        self.assertEqual(done.returncode, status, done.stdout)
        self.assertNotIn("Traceback", done.stdout)
        return done.stdout

    def check_silent(self):
        said = run(self.environment.python, "-c", "import importlib.metadata as m; "
                   "m.entry_points(group='x'); print(1)").stdout
        self.assertEqual(said, "1\n")

    def behind(self, text):
        """A sitecustomize.py further back on sys.path."""
        directory = f"{self.place}/behind"
        os.mkdir(directory)
        write(f"{directory}/{SITECUSTOMIZE}", text)
        write(f"{self.environment.site}/behind.pth", f"{directory}\n")

    def victim(self):
        file = f"{self.place}/victim"
        write(file, VICTIM)
        return file


class Verbs(SwitchTest):
    def test_on_and_off(self):
        record = read(self.environment.record())
        for _ in range(2):
            self.assertIn(f"{self.environment.prefix}: on ", self.entrydb("on"))
            self.assertEqual(self.environment.written(), [SITECUSTOMIZE])
            self.assertEqual(read(self.environment.record()).count(f"\n{SITECUSTOMIZE},sha256="), 1)
        for _ in range(2):
            self.assertEqual(self.entrydb("off"), f"{self.environment.prefix}: off\n")
            self.assertEqual(self.environment.written(), [])
        self.assertEqual(read(self.environment.record()), record)

    def test_uninstalled(self):
        """No interpreter is told of what is gone, and a new installation begins anew."""
        self.entrydb("on")
        self.environment.pip("uninstall", "-y", "entrydb")
        self.assertEqual(self.environment.written(), [])
        self.assertEqual(run(self.environment.python, "-c", "print(1)").stdout, "1\n")
        self.environment.pip("install", "--no-deps", "--no-index", wheels.wheel())
        self.assertEqual(self.environment.written(), [])
        self.assertIn(": off\n", self.entrydb("status", status=1))

    def test_uninstalled_without_a_trace(self):
        """From a fresh environment; what is left is data, where README says that it is."""
        environment = self.environment.at(f"{self.place}/fresh")
        run(environment.interpreter.executable, "-m", "venv", "--without-pip", environment.prefix)
        before = files(environment.prefix)
        environment.pip("install", "--no-deps", "--no-index", wheels.wheel())
        for verb in ("on", "status", "update", "list"):
            environment.entrydb(verb)
        self.assertIn(f"{environment.site}/{SITECUSTOMIZE}", files(environment.prefix) - before)
        environment.pip("uninstall", "-y", "entrydb")
        left = files(environment.prefix) - before
        self.assertEqual({each for each in left if "/var/lib/entrydb/" not in each},
                         {f"{environment.prefix}/{each}" for each in ("var", "var/lib", "var/lib/entrydb")})

    def test_silent_when_the_rest_is_damaged_or_gone(self):
        self.entrydb("on")
        for name in ("_entrydb_connecting.py", "_entrydb_replacement.py", "_entrydb_site.py"):
            for text in ("", "nonsense nonsense\n", None):
                file = f"{self.environment.site}/{name}"
                os.remove(file)
                if text is not None:
                    write(file, text)
                self.check_silent()

    def test_files_that_are_links_to_a_cache(self):
        """As uv places them in one of its modes."""
        cache = f"{self.place}/cache"
        os.mkdir(cache)
        for directory in (self.environment.site, f"{self.environment.site}/entrydb"):
            for name in os.listdir(directory):
                if name.endswith((".py", ".so")):
                    os.rename(f"{directory}/{name}", f"{cache}/{name}")
                    os.symlink(f"{cache}/{name}", f"{directory}/{name}")
        self.assertIn(f"{self.environment.prefix}: on ", self.entrydb("on"))
        self.assertEqual(self.environment.written(), [SITECUSTOMIZE])
        self.assertIn("importlib.metadata is accelerated", self.entrydb("status"))

    def test_a_directory_whose_pth_files_are_not_run(self):
        target = f"{self.place}/target"
        shutil.copytree(self.environment.site, target)
        self.environment.pip("uninstall", "-y", "entrydb")
        for verb, status in (("on", 3), ("status", 1)):
            said = self.entrydb(verb, status=status, PYTHONPATH=target)
            self.assertIn(target, said)
        self.assertFalse([name for name in FILES if os.path.exists(f"{target}/{name}")])

    def test_modules_in_the_current_directory(self):
        for name in set(sys.stdlib_module_names) - {"importlib", "pkgutil", "types", "warnings"}:  # of Python's runpy
            write(f"{self.place}/{name}.py", f"print({name!r})\n")
        for verb in ("on", "status", "off"):
            said = run("sh", "-c", 'cd "$0" && exec "$@"', self.place, self.environment.python, "-m", "entrydb", verb, check=False).stdout
            self.assertRegex(said, rf"\A{self.environment.prefix}: (on|off)\b")

    def test_wrong_usage(self):
        for wrong in ((), ("on", "--all"), ("off", "x"), ("status", "x", "y"), ("list", "--no-such")):
            with self.subTest(wrong):
                self.entrydb(*wrong, status=2)
        self.assertEqual(self.environment.written(), [])

    def test_words_that_were(self):
        for old, new in (("enable", "on"), ("disable", "off")):
            for rest in ((), ("pytest11",)):
                said = self.entrydb(old, *rest, status=2)
                self.assertIn(f"'python -m entrydb {new}'", said)
                self.assertEqual(said.count("\n"), 1)

    def test_help(self):
        for arguments in (("--help",), ("-h",), ("on", "--help"), ("status", "-h")):
            said = self.entrydb(*arguments)
            self.assertTrue(said.startswith("usage: python -m entrydb on "))


class Refresh(SwitchTest):
    """A change of a site directory without a hook, as by uv."""

    ASK = "import importlib.metadata as m; print([e.name for e in m.entry_points(group='demo')])"

    def in_a_large_environment(self):
        """The database is asked whatever there is."""
        text = support.read(f"{self.environment.site}/_entrydb_replacement.py")
        write(f"{self.environment.site}/_entrydb_replacement.py", text.replace("worth = 30 ", "worth = 0 "))

    def ask(self, **variables):
        return run(self.environment.python, "-c", self.ASK, **variables).stdout

    def state(self):
        said = run(f"{self.environment.prefix}/bin/entrydb", "log").stdout
        return said.count("omega")

    def wait_for(self, count):
        until = time.monotonic() + 20
        while self.state() != count and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(self.state(), count)

    def test_a_stale_database(self):
        self.in_a_large_environment()
        self.check_stale_database()

    def test_a_stale_database_of_few_distributions(self):
        """Python reads those itself. An update that was started and did not end is not the last."""
        self.check_stale_database()
        database = f"{self.environment.prefix}/{support.DATABASE}"
        support.add_distribution(self.environment.site, "omega2")
        for age, file in enumerate((f"{database}.lock", self.environment.site, database)):
            os.utime(file, (time.time() - (age + 1) * 4000,) * 2)
        self.ask()
        self.wait_for(2)
        support.add_distribution(self.environment.site, "omega3")
        for file in f"{database}.lock", database:  # the clock was wrong
            os.utime(file, (time.time() + 4000,) * 2)
        self.ask()
        self.wait_for(3)

    def check_stale_database(self):
        self.entrydb("on")
        support.add_distribution(self.environment.site, "omega")
        self.assertIn("omega", self.ask(ENTRYDB_REFRESH="0"))
        time.sleep(1)
        self.assertEqual(self.state(), 0)
        for _ in range(5):
            self.assertIn("omega", self.ask())
        self.wait_for(1)
        self.assertIn("starts its update", self.entrydb("status"))

    def test_fifty_at_once_start_one(self):
        self.entrydb("on")
        program, log = f"{self.environment.site}/entrydb/bin/entrydb", f"{self.place}/log"
        os.rename(program, f"{program}-itself")
        write(program, f"#!/bin/sh\necho \"$@\" >>{log}\nexec {program}-itself \"$@\"\n")
        os.chmod(program, 0o755)
        support.add_distribution(self.environment.site, "omega")
        asking = [subprocess.Popen([self.environment.python, "-c", self.ASK], env=clean_environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(50)]
        for each in asking:
            self.assertEqual(each.communicate(timeout=support.SECONDS_ALLOWED), (b"['omega']\n", None))
        until = time.monotonic() + 20
        while not os.path.exists(log) and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(read(log).count("update"), 1)

    def test_lock_file_is_a_link(self):
        """Another user with write access to the directory cannot redirect changes to the user's files."""
        self.entrydb("on")
        precious = f"{self.place}/precious"
        write(precious, "as it was")
        os.utime(precious, (1, 1))
        lock = f"{self.environment.prefix}/{support.DATABASE}.lock"
        support.add_distribution(self.environment.site, "omega")
        for make in (os.link, os.symlink):
            os.remove(lock)
            make(precious, lock)
            self.assertIn("omega", self.ask())
            self.assertEqual((read(precious), os.stat(precious).st_mtime), ("as it was", 1))

    @unittest.skipIf(os.geteuid() != 0, "only root can give a directory away")
    def test_prefix_given_away(self):
        """Root's files may remain in a prefix that is another user's now: not even their times change."""
        self.entrydb("on")
        other, own, link = f"{self.place}/other", f"{self.place}/own", f"{self.place}/link"
        for place in f"{other}/lib", f"{other}/by-link", own:
            os.makedirs(place)
            for name in "entry_points.db", "entry_points.db.lock":
                write(f"{place}/{name}", "")
                os.utime(f"{place}/{name}", (1, 1))
        os.unlink(f"{other}/by-link/entry_points.db")
        os.symlink(f"{own}/entry_points.db", f"{other}/by-link/entry_points.db")
        os.symlink(own, link)
        os.chown(other, support.STRANGER, support.STRANGER)
        os.chown(f"{other}/by-link", support.STRANGER, support.STRANGER)
        for place in f"{other}/lib", f"{other}/by-link":
            run(self.environment.python, "-c", "from entrydb import _refresh; "
                f"_refresh.start([({self.environment.site!r}, {place!r} + '/entry_points.db')])")
            self.assertEqual(os.stat(f"{place}/entry_points.db.lock").st_mtime, 1)
        run(self.environment.python, "-c", f"""if True:
            import os
            from entrydb import _program, _refresh
            judge = _program.stranger_above
            def judge_and_switch(path):
                found = judge(path)
                os.unlink({link!r})
                os.symlink({other!r} + '/lib', {link!r})
                return found
            _program.stranger_above = judge_and_switch
            _refresh.start([({self.environment.site!r}, {link!r} + '/entry_points.db')])""")
        self.assertEqual(os.readlink(link), f"{other}/lib")
        self.assertEqual(os.stat(f"{other}/lib/entry_points.db.lock").st_mtime, 1)

    def test_no_lock_file(self):
        """Where a link to the database's directory may lead to after it was switched: nothing is created."""
        self.entrydb("on")
        other = f"{self.place}/other"
        os.mkdir(other)
        write(f"{other}/entry_points.db", "")
        run(self.environment.python, "-c", "from entrydb import _refresh; "
            f"_refresh.start([({self.environment.site!r}, {other!r} + '/entry_points.db')])", check=False)
        self.assertEqual(os.listdir(other), ["entry_points.db"])

    def test_beside_one_that_cannot_be_claimed(self):
        """The system's, which its users cannot update, has a lock that they cannot open. All directories of
        the user's own are updated."""
        self.entrydb("on")
        second = f"{self.environment.prefix}/lib/python3/dist-packages"
        other, program = f"{self.place}/other", f"{self.environment.prefix}/bin/entrydb"
        support.add_distribution(f"{other}/lib/python3/dist-packages", "omega2")
        support.add_distribution(second, "zeta")
        run(program, "update", other, self.environment.prefix)
        os.remove(f"{other}/{support.DATABASE}.lock")
        for site in self.environment.site, second:
            support.add_distribution(site, "omega")
        pairs = [(site, f"{place}/{support.DATABASE}") for place, site in (
            (other, f"{other}/lib/python3/dist-packages"), (self.environment.prefix, self.environment.site), (self.environment.prefix, second))]
        run(self.environment.python, "-c", f"from entrydb import _refresh; _refresh.start({pairs})")
        self.wait_for(2)

    def test_what_the_process_holds_open(self):
        """A pipe, or a lock, ends with the process, though the update waits for another writer."""
        self.entrydb("on")
        support.add_distribution(self.environment.site, "omega")
        ours, theirs = os.pipe()
        with open(f"{self.environment.prefix}/{support.DATABASE}.lock", "ab") as lock, open(ours, "rb") as pipe:
            fcntl.flock(lock, fcntl.LOCK_EX)
            subprocess.run([self.environment.python, "-c", self.ASK], env=clean_environment(), stdout=subprocess.DEVNULL,
                           pass_fds=[theirs], check=True)
            os.close(theirs)
            self.assertTrue(select.select([pipe], [], [], 5)[0])
        self.wait_for(1)

    def test_the_current_directory_of_another_user(self):
        """sys.path begins with it where Python runs -c: no module is imported from it that Python would not import."""
        self.entrydb("on")
        theirs = f"{self.place}/theirs"
        os.mkdir(theirs)
        for name in sys.stdlib_module_names:
            write(f"{theirs}/{name}.py", f"print({name!r})\n")
        code = f"import os; import importlib.metadata; os.chdir({theirs!r}); os.rename({{0!r}}, {{1!r}}); {self.ASK}; os.rename({{1!r}}, {{0!r}})"
        for name in glob.glob(f"{self.environment.site}/_entrydb_*.py"):  # uninstalled meanwhile
            write(f"{theirs}/{os.path.basename(name)}", "print('other')\n")
            self.assertEqual(run(self.environment.python, "-c", code.format(name, f"{name}-gone"), ENTRYDB_REFRESH="0").stdout, self.ask(ENTRYDB="0"))
        code = f"import os; {self.ASK}; os.chdir({theirs!r})"
        hidden = ("unshare", "--mount", "/bin/sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh")
        for number, how in enumerate((hidden, ()) if support.IS_ROOT else ((),)):
            support.add_distribution(self.environment.site, f"omega{number}")
            self.assertEqual(run(*how, self.environment.python, "-c", code).stdout, self.ask(ENTRYDB="0"))
        self.wait_for(number + 1)

    def test_where_nothing_can_be_written(self):
        self.entrydb("on")
        self.in_a_large_environment()
        support.add_distribution(self.environment.site, "omega")
        place = os.path.dirname(f"{self.environment.prefix}/{support.DATABASE}")
        os.rename(place, f"{place}-before")
        support.CommandTest.mount(self, "size=1m", place=place)
        shutil.copytree(f"{place}-before", place, dirs_exist_ok=True)
        with self.assertRaisesRegex(OSError, "No space left"), open(f"{place}/rest", "wb") as rest:
            rest.write(bytes(1 << 21))
        for how in ("", "ro"):
            with self.subTest(how):
                if how:
                    subprocess.run(["mount", "-o", f"remount,{how}", place], check=True)
                self.assertEqual(self.ask(), "['omega']\n")
                time.sleep(1)
                self.assertEqual(self.state(), 0)
        self.assertEqual(sorted(os.listdir(place)), sorted([*os.listdir(f"{place}-before"), "rest"]))

    def test_forbidden(self):
        self.in_a_large_environment()
        self.entrydb("on", "--no-refresh")
        support.add_distribution(self.environment.site, "omega")
        self.assertIn("omega", self.ask())
        self.assertNotIn("starts its update", self.entrydb("status"))
        if support.IS_ROOT:  # with more rights than its user: the child would have that user's variables
            self.entrydb("on")
            support.add_distribution(self.environment.site, "omega2")
            run(self.environment.python, "-c", f"import os; os.setresgid(0, 0, 1); {self.ASK}")
            # a user that it has become: likewise
            subprocess.run(["chown", "-R", str(support.STRANGER), self.environment.prefix], check=True)
            run(self.environment.python, "-c", f"import ctypes, fcntl, os, stat, time\n{self.ASK}\n"
                f"os.setresuid(*[{support.STRANGER}] * 3); ctypes.CDLL(None).prctl(4, 1)")  # its /proc is readable
            self.assertNotEqual(os.stat(f"{self.environment.prefix}/{support.DATABASE}.lock").st_atime, 0)
            subprocess.run(["chown", "-R", "0", self.environment.prefix], check=True)
        before = self.state()
        time.sleep(1)
        self.assertEqual(self.state(), before)

    @unittest.skipUnless(support.IS_ROOT, "only root can change its root directory")
    def test_in_another_root(self):
        """Its files may be another user's: none of them is run."""
        self.entrydb("on")
        support.add_distribution(self.environment.site, "omega")
        other = f"{self.place}/root"
        site = f"{other}{self.environment.site}"
        shutil.copytree(self.environment.prefix, f"{other}{self.environment.prefix}", symlinks=True)
        for name in ("_entrydb_connecting", "entrydb/_accelerated", "entrydb/_policy", "entrydb/_refresh"):
            write(f"{site}/{name}.py", f"import posix\nposix.mkdir('/{os.path.basename(name)}')\n")
        os.makedirs(f"{other}/etc/entrydb")
        write(f"{other}/etc/entrydb/policy.conf", "[demo]\nalpha = disable\n")
        os.makedirs(f"{other}/proc/self")
        shutil.copyfile("/proc/self/auxv", f"{other}/proc/self/auxv")
        before = os.listdir(other)
        there = f"import os; os.chroot({other!r}); os.chdir('/')"
        large = "import importlib.metadata, sys; sys.modules['_entrydb_replacement'].worth = 0"
        later = "import time; time.sleep(1.5)"  # than the rules are looked for again
        for order in ([large, self.ASK, there], [large, self.ASK, there, later, "m.entry_points(value='x')"],
                      [self.ASK, there, large, self.ASK], [large, there, self.ASK]):
            with self.subTest(order):
                run(self.environment.python, "-c", "\n".join(order))
                self.assertEqual(os.listdir(other), before)


class Sitecustomize(SwitchTest):
    """By sitecustomize.py where there is no other one, else by entrydb.pth."""

    def setUp(self):
        super().setUp()
        self.file = f"{self.environment.site}/{SITECUSTOMIZE}"

    def check_accelerated(self):
        self.assertIn("importlib.metadata is accelerated", self.entrydb("status"))

    def test_instead_of_the_pth_file_and_back(self):
        record = read(self.environment.record())
        for name in "sitecustomize", "another":
            write(f"{self.environment.site}/{name}.py", "other = True\n")
            for _ in range(2):
                self.entrydb("on")
                self.assertEqual([each for each in self.environment.written() if each != SITECUSTOMIZE],
                                 PTH if name == "sitecustomize" else [])
                self.check_accelerated()
            self.assertEqual(read(f"{self.environment.site}/{name}.py"), "other = True\n")
            os.remove(f"{self.environment.site}/{name}.py")
        self.assertEqual(self.environment.written(), [SITECUSTOMIZE])
        self.entrydb("off")
        self.assertEqual((self.environment.written(), read(self.environment.record())), ([], record))

    def test_it_begins_once(self):
        self.entrydb("on")
        said = run(self.environment.python, "-c", "import sys, sitecustomize, _entrydb_site as s; "
                   "print(s is sitecustomize, "
                   f"{IS_STARTED})").stdout
        self.assertEqual(said, "True True\n")

    def test_nothing_is_compiled_at_the_next_start(self):
        self.entrydb("on")
        before = os.stat(f"{self.environment.site}/__pycache__").st_mtime_ns
        run(self.environment.python, "-c", "import importlib.metadata")
        self.assertEqual(os.stat(f"{self.environment.site}/__pycache__").st_mtime_ns, before)

    def test_uninstalled_with_the_package(self):
        self.entrydb("on")
        self.environment.pip("uninstall", "-y", "entrydb")
        self.assertFalse(os.path.exists(self.file))

    def test_another_one_in_another_directory(self):
        """Behind or before: it is run as if entrydb were not on."""
        self.behind("import sys; sys.hidden = 'run'\n")
        self.entrydb("on")
        self.assertEqual(self.environment.written(), PTH)
        self.check_accelerated()
        self.assertEqual(run(self.environment.python, "-c", "import sys; print(sys.hidden)").stdout, "run\n")
        os.remove(f"{self.environment.site}/behind.pth")
        self.entrydb("on", PYTHONPATH=f"{self.place}/behind")
        self.assertEqual(self.environment.written(), PTH)

    def test_one_that_came_later_and_is_hidden(self):
        self.entrydb("on")
        self.behind("import sys; sys.hidden = 'run'\n")
        said = run(self.environment.python, "-c", "import sys, sitecustomize, _entrydb_site as s; print("
                   f"sys.hidden, {IS_STARTED}, 'behind' in sitecustomize.__file__)").stdout
        self.assertEqual(said, "run True True\n")
        self.check_accelerated()

    def test_one_that_came_later_and_hides_it(self):
        self.entrydb("on")
        other = f"{self.place}/before"
        os.mkdir(other)
        write(f"{other}/sitecustomize.py", "")
        said = self.entrydb("status", status=1, PYTHONPATH=other)
        self.assertIn(f"{other}/sitecustomize.py is run instead", said)

    def test_one_that_was_put_in_its_place(self):
        self.entrydb("on")
        write(self.file, "other = True\n")
        self.assertIn(": off\n", self.entrydb("status", status=1))
        self.entrydb("off")
        self.assertEqual(read(self.file), "other = True\n")
        self.assertNotIn("\nsitecustomize.py", read(self.environment.record()))

    def test_silent_when_the_rest_is_gone(self):
        """As while an upgrade removes one file after the other."""
        self.entrydb("on")
        for name in ("_entrydb_connecting.py", "_entrydb_replacement.py", "_entrydb_site.py"):
            os.remove(f"{self.environment.site}/{name}")
            self.check_silent()

    def test_a_link(self):
        victim = self.victim()
        self.entrydb("on")
        os.remove(self.file)
        os.symlink(victim, self.file)
        self.entrydb("on")
        self.entrydb("off")
        self.assertEqual(read(victim), VICTIM)


class Status(SwitchTest):
    def reason(self, *options, status=1, **variables):
        """Why this interpreter is not accelerated."""
        done = run(self.environment.python, *options, "-m", "entrydb", "status", check=False,
                   **variables)
        self.assertEqual(done.returncode, status, done.stdout)
        [line] = [line for line in done.stdout.splitlines() if line.startswith("this interpreter")]
        return line.partition("importlib.metadata is ")[2]

    def test_accelerated(self):
        self.entrydb("on")
        said = self.reason(status=0)
        self.assertRegex(said, "^accelerated, once it has read 30 distributions .*: there are [0-9]+,")
        for number in range(30):
            os.mkdir(f"{self.environment.site}/many{number}-1.0.dist-info")
        self.assertEqual(self.reason(status=0), "accelerated")

    def test_off(self):
        self.assertIn("off here; 'python -m entrydb on'", self.reason())

    def test_switched_off_for_a_process(self):
        self.entrydb("on")
        self.assertIn("ENTRYDB=0", self.reason(ENTRYDB="0"))

    def test_without_site(self):
        self.entrydb("on")
        self.assertIn("-S", self.reason("-S", PYTHONPATH=self.environment.site))

    def test_a_start_that_failed(self):
        self.behind("")
        self.entrydb("on")
        write(f"{self.environment.site}/entrydb.pth", "# nothing\n")
        os.remove(f"{self.environment.site}/entrydb.start")
        self.assertIn("entrydb.pth has not been run", self.reason())

    def test_output_without_reader(self):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([self.environment.python, "-m", "entrydb", "status"], stdout=writing,
                              stderr=subprocess.PIPE, env=clean_environment())
        os.close(writing)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""))

    def test_a_caller_that_ignores_the_end_of_children(self):
        for verb in "on", "status":
            done = subprocess.run([self.environment.python, "-m", "entrydb", verb], env=clean_environment(), capture_output=True,
                                  preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
            self.assertEqual((done.returncode, b"No child" in done.stderr), (0, False), done.stderr)

    def test_another_finder(self):
        self.entrydb("on")
        write(f"{self.environment.site}/finder.pth", FINDER)
        self.assertIn("also come from site.Other on sys.meta_path", self.reason())

    def test_no_finder_and_two(self):
        self.entrydb("on")
        for text, said in (("sys.meta_path.pop()", "nothing on sys.meta_path finds"),
                           ("sys.meta_path.append(sys.meta_path[-1])", "more than one finder is on")):
            program = ("import sys, importlib.metadata; from entrydb import _databases, _status, "
                       f"_metadata_module; {text}; print(_status.others_asked())")
            self.assertIn(said, run(self.environment.python, "-c", program).stdout)

    def test_a_patch(self):
        self.entrydb("on")
        for text, name in PATCHES.items():
            write(f"{self.environment.site}/patch.pth", text)
            self.assertIn(f"replaced by other code: {name}", self.reason())

    def test_a_damaged_extension(self):
        [extension] = glob.glob(f"{self.environment.site}/entrydb/_native.*.so")
        data = support.read_bytes(extension)
        self.entrydb("on")
        for left in (0, 100, 4096, len(data) // 2):
            with self.subTest(left):
                os.remove(extension)
                support.write(extension, data[:left])
                said = self.entrydb("status", status=1)
                self.assertIn("not accelerated: the extension cannot be loaded: ", said)
                self.assertEqual(said.count("\n"), 2)
        os.remove(extension)
        self.assertIn("the extension cannot be loaded", self.entrydb("status", status=1))


class Script(SwitchTest):
    """The script of the environment is the program."""

    def script(self, *arguments, check=True, **variables):
        return run(f"{self.environment.prefix}/bin/entrydb", *arguments, check=check, **variables)

    def test_the_programs_verbs(self):
        self.script("update", "--quiet", self.environment.prefix)
        self.assertEqual(sorted(line.split("\t")[1] for line in
                                self.script("list", "pytest11").stdout.splitlines()),
                         list(wheels.PLUGINS))
        self.assertIn("pytest11", self.script("groups").stdout)
        self.assertEqual(self.script("list", "nobody", check=False).returncode, 1)
        self.assertEqual(self.script("nonsense", check=False).returncode, 2)

    def test_arguments_environment_and_status(self):
        program = f"{self.environment.site}/entrydb/bin/entrydb"
        os.remove(program)
        write(program, '#!/bin/sh\necho "$VIRTUAL_ENV|$*"\nexit 5\n')
        os.chmod(program, 0o755)
        for arguments in (("enable", "pytest11"), ("disable", "x/y"), ("--version",), ()):
            done = self.script(*arguments, check=False, VIRTUAL_ENV="/another")
            self.assertEqual((done.returncode, done.stdout),
                             (5, f"{self.environment.prefix}|{' '.join(arguments)}\n"))
        for options in ([], ["--quiet", "--fresh", "exact"], ["--fresh=exact"]):
            said = self.entrydb("update", *options, status=5, VIRTUAL_ENV="")
            self.assertEqual(said, f"|{' '.join(['update', *options, self.environment.prefix])}\n")

    def test_a_broken_pipe_ends_it(self):
        program = f"{self.environment.site}/entrydb/bin/entrydb"
        os.remove(program)
        write(program, "#!/bin/sh\nkill -PIPE $$\n")
        os.chmod(program, 0o755)
        self.assertEqual(self.script(check=False).returncode, -signal.SIGPIPE)

    def test_confused_with_the_module(self):
        for verb in ("on", "off"):
            done = self.script(verb, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"'python -m entrydb {verb}'", done.stdout)

    def test_without_the_program(self):
        os.remove(f"{self.environment.site}/entrydb/bin/entrydb")
        done = self.script("list", check=False)
        self.assertEqual((done.returncode, done.stdout.count("\n")), (3, 1))
        self.assertIn("install the package again", done.stdout)
        self.assertIn("without a database", self.entrydb("on", status=3))


class Planted(SwitchTest):
    """Links left by another user at the paths of files to be written."""

    def test_links(self):
        victim = self.victim()
        for name in [*PTH, *(f"{each}.new" for each in FILES)]:
            os.symlink(victim, f"{self.environment.site}/{name}")
        self.behind("")
        self.entrydb("on")
        self.assertEqual(read(victim), VICTIM)
        self.assertFalse(os.path.islink(f"{self.environment.site}/entrydb.pth"))
        self.entrydb("off")
        self.assertEqual(read(victim), VICTIM)

    def test_record_is_a_link(self):
        victim = self.victim()
        os.remove(self.environment.record())
        os.symlink(victim, f"{self.environment.site}/entrydb-0.1.0.dist-info/RECORD")
        self.entrydb("on")
        self.assertEqual(read(victim), VICTIM)

    def test_a_directory_of_that_name(self):
        os.mkdir(f"{self.environment.site}/entrydb.pth")
        said = self.entrydb("on", status=3)
        self.assertRegex(said, ": entrydb.pth: Is a directory")
        self.assertNotIn(".entrydb", " ".join(os.listdir(self.environment.site)))


class User:
    """A real user, made for one test."""

    def __init__(self, test):
        if os.geteuid() != 0:
            test.skipTest("only root can make a second user")
        if not shutil.which("useradd") or not shutil.which("userdel"):
            test.skipTest("no useradd and userdel")
        self.name = f"entrydb{os.getpid()}"
        run("userdel", "--force", self.name, check=False)  # of a test that was killed
        run("useradd", "--no-create-home", "--shell", "/bin/false", self.name)
        test.addCleanup(run, "userdel", "--force", self.name)  # a chroot's processes may have the same number
        found = pwd.getpwnam(self.name)
        self.uid, self.gid = found.pw_uid, found.pw_gid
        self.rights = {"user": self.uid, "group": self.gid, "extra_groups": []}

    def take(self, top):
        """All of it belongs to this user from now on."""
        for place, directories, files in os.walk(top):
            for name in (".", *directories, *files):
                os.chown(f"{place}/{name}", self.uid, self.gid, follow_symlinks=False)


class Users(SwitchTest):
    """Root and another user."""

    def setUp(self):
        self.user = User(self)
        super().setUp()

    def theirs(self):
        """An environment of the second user's, in a directory of theirs."""
        found = self.make(f"{self.place}/home/venv")
        self.user.take(f"{self.place}/home")
        return found

    def test_root_leaves_it_alone(self):
        """And says whose it is, and a command that does it with that user's rights."""
        theirs = self.theirs()
        os.chown(f"{self.place}/home", self.user.uid, 4711)  # as in a directory that hands down its group
        for verb in "on", "off":
            done = theirs.entrydb(verb, check=False)
            self.assertEqual(done.returncode, 3, done.stdout)
            said, _, command = done.stdout.strip().partition("; run: ")
            self.assertEqual(said, f"entrydb: {theirs.prefix}: left alone, as it belongs to user {self.user.uid}")
            self.assertEqual(command, f"setpriv --reuid={self.user.uid} --regid={self.user.gid} --clear-groups "
                             f"{theirs.python} -m entrydb {verb}")
            self.assertEqual(theirs.written(), [])
        os.chown(theirs.site, 0, 0)  # as after "sudo pip install": a directory above is still the user's
        self.assertIn(said, theirs.entrydb("on", check=False).stdout)
        self.assertEqual(theirs.written(), [])

    def test_files_of_root_stay_for_other_users(self):
        """Also where the permissions would let them."""
        python = self.reachable_python()
        os.chmod(self.environment.site, 0o777)
        done = run(python, "-m", "entrydb", "on", check=False, rights=self.user.rights,
                   PYTHONPATH=self.environment.site)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(f"{self.environment.site}: left alone, as it belongs to user 0", done.stdout)
        self.assertEqual(self.environment.written(), [])

    def test_the_group_of_a_directory(self):
        """New files may belong to it; what the group of the others may do, it may not."""
        site = self.environment.site
        os.chown(site, 0, self.user.gid)
        os.chmod(site, 0o2755)
        for mode in 0o664, 0o640, 0o604:
            os.chmod(f"{site}/_entrydb_site.py", mode)
            self.entrydb("on")
            for name in self.environment.written():
                status = os.stat(f"{site}/{name}")
                self.assertEqual(status.st_mode & 0o777, mode & 0o644, name)
                if mode != 0o664:
                    self.assertEqual(status.st_gid, os.stat(f"{site}/_entrydb_site.py").st_gid, name)
            self.entrydb("off")

    def test_record_of_another_user(self):
        """Who may write to root's site directory has nothing copied that only root may read, and nothing compiled."""
        theirs = f"{self.environment.site}/entrydb-9.dist-info"
        secret = self.victim()
        os.chmod(secret, 0o640)
        os.mkdir(theirs)
        os.symlink(secret, f"{theirs}/RECORD")
        os.chown(theirs, self.user.uid, self.user.gid)
        os.chmod(theirs, 0o2755)
        os.symlink("/", f"{self.environment.site}/entrydb-8.dist-info")
        os.mkdir(f"{self.place}/pyc")
        for cache in ("__pycache__", "entrydb/__pycache__"):
            shutil.rmtree(f"{self.environment.site}/{cache}", ignore_errors=True)
            os.symlink(f"{self.place}/pyc", f"{self.environment.site}/{cache}")
            os.chown(f"{self.environment.site}/{cache}", self.user.uid, self.user.gid, follow_symlinks=False)
        self.entrydb("on", PYTHONDONTWRITEBYTECODE="1")
        self.assertTrue(os.path.islink(f"{theirs}/RECORD"))
        self.assertEqual(os.listdir(f"{self.place}/pyc"), [])

    def test_no_update_in_another_users_prefix(self):
        """Root's own database lies there."""
        self.entrydb("on")
        Refresh.in_a_large_environment(self)
        home = f"{self.place}/home"
        site = f"{home}/lib/python3/dist-packages"
        support.add_distribution(site, "omega")
        run(f"{self.environment.prefix}/bin/entrydb", "update", home)
        support.add_distribution(site, "last")
        os.chown(home, self.user.uid, self.user.gid)
        place = f"{home}/var/lib/entrydb"
        before = {each: os.stat(f"{place}/{each}").st_ino for each in os.listdir(place)}
        run(self.environment.python, "-c", f"import sys; sys.path.append({site!r}); {Refresh.ASK}")
        time.sleep(1)
        self.assertEqual({each: os.stat(f"{place}/{each}").st_ino for each in os.listdir(place)}, before)

    def reachable_python(self):
        """One that the second user may run, too."""
        for each in reference.interpreters():
            for name in (each.executable, f"/usr/bin/python{each.rules}"):
                try:
                    if not subprocess.run([name, "-c", ""], env=clean_environment(), cwd="/",
                                          **self.user.rights).returncode:
                        return name
                except OSError:
                    continue
        self.skipTest("no Python that another user may run")

    def test_names_with_control_characters(self):
        theirs = self.make(f"{self.place}/home/a\x1b[2Jb")
        self.user.take(f"{self.place}/home")
        said = theirs.entrydb("on", check=False).stdout
        self.assertIn(r"a\x1b[2Jb: left alone", said)
        self.assertEqual(theirs.written(), [])


if __name__ == "__main__":
    support.main()
