"""After every run of pip the database is up to date, without another command.

A real pip runs in a virtual environment in which entrydb is installed and switched on. After each step
the rows of the database alone (--fresh trust) must agree with importlib.metadata.
"""

import functools
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
import unittest.mock

import package_cache
import reference
import support
import tiny_packages
import wheels
from program import Program, difference
from tiny_packages import Package

setUpModule = wheels.set_up
OLD_PIP = "pip==23.1.2"  # the first version that runs on Python 3.12 and later
ALPHA = [Package("alpha", version, 1) for version in ("1.0", "1.1", "2.0")]
BETA = Package("Beta.tools", "1.0", 2)

# A build back end without requirements (PEP 517 and 660).
BACKEND = '''
import os, sys
sys.path[:0] = {code!r}
import archives
HERE = os.path.dirname(os.path.abspath(__file__))

def build_editable(directory, settings=None, metadata=None):
    tree = archives.installed("project", "0.1", "[demo]\\nedited = project:run\\n",
                              {{"project.pth": HERE}})
    name = "project-0.1-py3-none-any.whl"
    archives.write_zip(f"{{directory}}/{{name}}", tree)
    return name

def build_wheel(directory, settings=None, metadata=None):
    open({flag!r}, "w").close()
    {what}
'''


class Environment:
    """A virtual environment that sees the user's site directory, for pip install --user."""

    def __init__(self, place, interpreter):
        self.place, self.interpreter = place, interpreter
        self.prefix, self.home = f"{place}/venv", f"{place}/home"
        os.makedirs(self.home)
        self.site = f"{self.prefix}/lib/python{interpreter.rules}/site-packages"
        self.python = f"{self.prefix}/bin/python"
        self.maker = tiny_packages.Maker(f"{place}/packages", self.site)
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith(("ENTRYDB", "PIP_", "PYTHON", "XDG_"))
                    and key not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
        self.env.update(HOME=self.home, PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1",
                        PIP_CONFIG_FILE=os.devnull, PIP_ROOT_USER_ACTION="ignore")
        self.run(interpreter.executable, "-I", "-m", "venv", "--system-site-packages", self.prefix)
        self.pip("install", wheels.wheel())
        self.run(self.python, "-m", "entrydb", "on")
        self.entrydb = Program(self.home, f"{self.site}/entrydb/bin/entrydb")
        self.entrydb.env = self.env

    def run(self, *command, check=True):
        done = subprocess.run(command, env=self.env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        if check and done.returncode:
            raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout[-3000:]}")
        return done

    def pip(self, *arguments, check=True):
        return self.run(self.python, "-m", "pip", *arguments, check=check)

    def user_site(self):
        return f"{self.home}/.local/lib/python{self.interpreter.rules}/site-packages"

    def log(self):
        return self.run(self.entrydb.executable, "log", "--path", self.site).stdout

    def project(self, name, what="pass"):
        """A source tree; what: a statement that is executed when its wheel is built."""
        place, flag = f"{self.place}/{name}", f"{self.place}/{name}.begun"
        os.makedirs(place, exist_ok=True)
        with open(f"{place}/pyproject.toml", "w", encoding="utf-8") as stream:
            stream.write('[build-system]\nrequires = []\nbuild-backend = "backend"\n'
                         'backend-path = ["."]\n')
        code = [support.LIB]
        support.write(f"{place}/backend.py", BACKEND.format(code=code, flag=flag, what=what))
        return place, flag


@functools.cache
def environment():
    """The environment of this module, shared since creating one takes longer than most tests."""
    place = tempfile.mkdtemp(prefix="entrydb-pip-")
    unittest.addModuleCleanup(shutil.rmtree, place, ignore_errors=True)
    return Environment(place, reference.one_per_minor(reference.interpreters())[-1])


class PipTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.environment = environment()
        cls.scratch, cls.interpreter = cls.environment.place, cls.environment.interpreter
        cls.worker = reference.Worker(cls.interpreter)
        cls.addClassCleanup(cls.worker.close)

    def setUp(self):
        """Remove installations of other tests, directly, since pip is slow."""
        for pattern in ("alpha*", "[Bb]eta*", "*project*"):
            for path in glob.glob(f"{self.environment.site}/{pattern}"):
                (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)
        self.environment.entrydb.run(["update", self.environment.prefix], "/")

    def check(self, *entries):
        """Compare the database alone with importlib.metadata; returns the names in the group demo."""
        path = list(entries) or [self.environment.site]
        answer = self.worker.ask("/", path, [{}])[0]
        _, reply = self.environment.entrydb.list(path, {}, self.worker.rules, ["--fresh", "trust"])
        self.assertIsNone(difference(answer, reply))
        return sorted(row[1] for row in answer["rows"] if row[0] == "demo")

    def install(self, package, *options):
        return self.environment.pip("install", *options, self.environment.maker.wheel(package))


class Steps(PipTest):
    def test_install_upgrade_downgrade_uninstall(self):
        for package in (ALPHA[0], ALPHA[2], ALPHA[1]):
            self.install(package)
            self.assertEqual(self.check(), ["alpha", "shared"])
        self.environment.pip("uninstall", "-y", "alpha")
        self.assertEqual(self.check(), [])

    def test_reinstallation_with_other_entry_points(self):
        self.install(ALPHA[0])
        self.install(ALPHA[0]._replace(build=2), "--force-reinstall")
        self.check()

    def test_other_ways_to_start_pip(self):
        for command in ([f"{self.environment.prefix}/bin/pip"],
                        [self.environment.python, "-I", "-E", "-s", "-m", "pip"]):
            self.environment.run(*command, "install", self.environment.maker.wheel(BETA))
            self.assertEqual(self.check(), ["Beta.tools", "shared"])
            self.environment.run(*command, "uninstall", "-y", "Beta.tools")
            self.assertEqual(self.check(), [])

    def test_editable(self):
        place, _ = self.environment.project("project")
        self.environment.pip("install", "--no-build-isolation", "-e", place)
        self.assertEqual(self.check(), ["edited"])

    def test_user(self):
        """pip in a virtual environment removes no file of the user; the next update notices other changes."""
        site = self.environment.user_site()
        self.install(ALPHA[0], "--user")
        self.assertEqual(self.check(site), ["alpha", "shared"])
        shutil.rmtree(site)
        self.install(ALPHA[1], "--user")
        self.assertEqual(self.check(site), ["alpha", "shared"])
        shutil.rmtree(site)

    def test_target_and_prefix(self):
        target, prefix = f"{self.scratch}/target", f"{self.scratch}/prefix"
        self.install(ALPHA[0], "--target", target)
        self.assertEqual(self.check(target), ["alpha", "shared"])
        self.install(ALPHA[1], f"--prefix={prefix}")
        self.assertNotIn("var", os.listdir(prefix), "a staging tree has no database")
        self.environment.entrydb.run(["update", prefix], "/")
        self.install(ALPHA[2], "--ignore-installed", f"--prefix={prefix}")
        site = f"{prefix}/lib/python{self.interpreter.rules}/site-packages"
        self.assertEqual(self.check(site), ["alpha", "shared"])

    def test_audit_trail(self):
        self.install(BETA)
        last = [line for line in self.environment.log().splitlines() if "Beta" in line][-1]
        self.assertIn("install", last)
        self.assertRegex(last, r"pip: .*pip install ")


class Versions(PipTest):
    """The other tests use the pip of the interpreter's ensurepip module; these use an old version and the
    newest, which from 26.3 on refuses late imports."""

    def use_pip(self, requirement):
        place = tempfile.mkdtemp(dir=self.scratch)
        if not package_cache.pip_ran(self.interpreter.executable, "download", "--no-deps",
                                     "--only-binary", ":all:", "--dest", place, requirement,
                                     quiet=True):
            self.skipTest(f"pip cannot get {requirement}")
        self.environment.pip("install", "--no-compile", "--force-reinstall", *glob.glob(f"{place}/pip-*.whl"))

    def test_versions(self):
        for requirement in OLD_PIP, "pip<26.3", "pip":
            with self.subTest(requirement):
                self.use_pip(requirement)
                said = self.install(ALPHA[0]).stdout
                self.assertEqual(self.check(), ["alpha", "shared"])
                said += self.install(ALPHA[2]).stdout
                self.assertEqual(self.check(), ["alpha", "shared"])
                said += self.environment.pip("uninstall", "-y", "alpha").stdout
                self.assertEqual(self.check(), [])
                for word in "entrydb:", "_entrydb", "nsafe import", "DEPRECATION":
                    self.assertNotIn(word, said)

    def test_unrunnable_hook_is_reported(self):
        hook = f"{self.environment.site}/entrydb/_hook.py"
        os.rename(hook, f"{hook}.kept")
        try:
            self.assertNotIn("entrydb:", self.install(ALPHA[0]).stdout)
            said = self.install(ALPHA[1], "--verbose").stdout
            self.assertIn("entrydb: no database will be updated: ", said)
        finally:
            os.rename(f"{hook}.kept", hook)


class Failures(PipTest):
    def test_a_failing_install(self):
        place, _ = self.environment.project("failing", "raise SystemExit(3)")
        done = self.environment.pip("install", "--no-build-isolation",
                                    self.environment.maker.wheel(ALPHA[0]), place, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.check()

    def test_interrupted(self):
        place, flag = self.environment.project("slow", "import time; time.sleep(1000)")
        child = subprocess.Popen([self.environment.python, "-m", "pip", "install",
                                  "--no-build-isolation", place], env=self.environment.env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
        support.until(lambda: os.path.exists(flag))
        os.killpg(child.pid, signal.SIGINT)
        child.wait(timeout=support.SECONDS_ALLOWED)
        self.check()

    def test_broken_or_missing_program(self):
        """pip's exit status and output are unaffected. The program is started once, although pip itself finds the
        database stale."""
        program = f"{self.environment.site}/entrydb/bin/entrydb"
        os.rename(program, f"{program}.kept")
        try:
            done = self.install(ALPHA[0])
            self.assertNotIn("Traceback", done.stdout)
            support.write(program, '#!/bin/sh\necho "$1 $2" >>"$0.calls"\nexit 1\n')
            os.chmod(program, 0o755)
            os.utime(f"{self.environment.prefix}/var/lib/entrydb/entry_points.db.lock", (1, 1))
            self.assertNotIn("Traceback", self.install(ALPHA[1]).stdout)
            self.assertEqual(support.read(f"{program}.calls"), "update --hook\n")
        finally:
            os.replace(f"{program}.kept", program)
        self.install(ALPHA[2])
        self.check()

    def test_other_commands_do_not_update(self):
        database = f"{self.environment.prefix}/var/lib/entrydb/entry_points.db"
        before = os.stat(database)
        os.utime(self.environment.site)  # or there would be nothing to write
        with unittest.mock.patch.dict(self.environment.env, ENTRYDB_REFRESH="0"):
            for command in (["list"], ["--version"], ["show", "entrydb"]):
                self.environment.pip(*command)
        self.assertEqual(os.stat(database).st_mtime_ns, before.st_mtime_ns)

    def test_switched_off(self):
        database = f"{self.environment.prefix}/var/lib/entrydb/entry_points.db"
        before = os.stat(database).st_mtime_ns
        with unittest.mock.patch.dict(self.environment.env, ENTRYDB="0"):
            self.install(ALPHA[0])
        self.assertEqual(os.stat(database).st_mtime_ns, before)

    def test_uninstalling_entrydb(self):
        done = self.environment.pip("uninstall", "-y", "entrydb")
        self.assertNotIn("Traceback", done.stdout)
        self.assertNotIn("rror", done.stdout)
        state = f"{self.environment.prefix}/var/lib/entrydb"
        self.assertIn(f"entrydb: {state}/entry_points.db stays, and nothing updates it any more; "
                      f"to remove it: rm -r {state}\n", done.stdout)
        self.assertEqual(glob.glob(f"{self.environment.site}/entrydb.*"), [])
        self.environment.pip("install", wheels.wheel())
        self.assertEqual(glob.glob(f"{self.environment.site}/entrydb.*"), [])
        self.environment.run(self.environment.python, "-m", "entrydb", "on")
        self.check()


if __name__ == "__main__":
    support.main()
