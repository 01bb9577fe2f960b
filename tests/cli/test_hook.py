"""update --hook, as package managers call it: it never fails or delays them, and never repeats work."""

import contextlib
import glob
import os
import pty
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
import unittest

import support
from support import (DATABASE, DONE, PROGRAM, SITE, STRANGER, CommandTest, add_distribution, entry_points,
                     events, held_lock, is_sound, leftovers, needs_root, query, replace, settle, stamp,
                     until, write)

TIMEOUT = 10  # seconds, the program's limit for a lock and for a pipe
SEED = int(os.environ.get("ENTRYDB_TEST_SEED", time.time_ns() % 1_000_000))


class HookTest(CommandTest):
    def setUp(self):
        super().setUp()
        add_distribution(self.site, "alpha")

    def hook(self, *words, name="rpm", **how):
        """A hook always exits with 0 and prints nothing on stdout."""
        reply = self.run_program("update", "--hook", name, *(words or [self.prefix]), status=DONE, **how)
        self.assertEqual(reply.out, "", str(reply))
        return reply

    def silent_hook(self, *words, **how):
        self.assertEqual(self.hook(*words, **how).err, "")

    def hook_with_one_line(self, *words, **how):
        err = self.hook(*words, **how).err
        self.assertRegex(err, r"\Aentrydb: [^\n]+\n\Z")
        return err

    def start_hook(self, *words, name="rpm", **how):
        return self.start("update", "--hook", name, *(words or [self.prefix]), **how)

    def commands(self, database=None):
        return [
            row[0]
            for row in query(database or self.database, "SELECT command FROM event ORDER BY id")
        ]

    def names(self, database=None):
        return [
            row[0]
            for row in query(database or self.database, "SELECT name FROM distribution ORDER BY name")
        ]


class Work(HookTest):
    def test_first_and_later(self):
        self.silent_hook()
        self.assertEqual(self.names(), ["alpha"])
        add_distribution(self.site, "beta")
        self.silent_hook(name="conda")
        self.assertEqual(self.names(), ["alpha", "beta"])
        self.assertEqual(self.commands()[-1].split(":")[0], "conda")
        self.assertEqual(leftovers(self.database), [])

    def test_unchanged_time_of_the_site_directory(self):
        """Even after a reinstallation of the same version a hook never skips the update."""
        self.index()
        for number, (words, level) in enumerate(
            ((["--fresh", "roots"], None), (["--fresh", "trust"], None), ([], "roots"), ([], "trust"))
        ):
            replace(f"{self.site}/alpha-1.0.dist-info/entry_points.txt", entry_points(f"other{number}"))
            self.silent_hook(self.prefix, *words, env=self.environment(ENTRYDB_FRESH=level))
            found = query(self.database, "SELECT name FROM entry_points WHERE group_name = 'demo'")
            self.assertEqual(found, [(f"other{number}",)])

    def test_nothing_to_do_writes_nothing(self):
        self.index()
        before = stamp(self.database)
        self.silent_hook()
        self.assertEqual(stamp(self.database), before)
        with held_lock(self.database):  # asking for the lock would print that another process holds it
            self.silent_hook()

    def test_root(self):
        add_distribution(f"{self.top}/image/usr/lib/python3/dist-packages", "gamma")
        self.silent_hook("--root", f"{self.top}/image")
        self.assertEqual(self.names(f"{self.top}/image/{DATABASE}"), ["gamma"])

    def test_broken_distributions_are_not_reported_again(self):
        add_distribution(self.site, "odd", text=b"[demo\n")
        self.silent_hook()
        self.assertEqual(len(self.names()), 2)

    def test_removed_environment_is_not_recreated(self):
        self.silent_hook()
        shutil.rmtree(self.prefix)
        for path in (self.prefix, self.site):
            self.silent_hook(path)
            self.assertFalse(os.path.exists(self.prefix))

    def test_removed_site_directory(self):
        self.silent_hook()
        shutil.rmtree(f"{self.prefix}/lib")
        self.silent_hook()
        self.assertEqual(self.names(), [])
        self.assertEqual(events(self.database)[-1][:2], ("remove", "alpha"))


class Input(HookTest):
    def test_a_list_of_files(self):
        child = self.start_hook(stdin=subprocess.PIPE)
        child.stdin.write(b"/usr/lib/python3.11/site-packages/some/file.py\n" * 100_000)  # BrokenPipeError if it is not read to the end
        child.stdin.close()
        self.assertEqual(child.wait(support.SECONDS_ALLOWED), DONE)
        self.assertEqual(self.names(), ["alpha"])

    def test_input_is_read_despite_a_usage_error(self):
        child = self.start("update", "--hook", "pacman", "--wrong", stdin=subprocess.PIPE)
        child.stdin.write(b"usr/lib/file\n" * 100_000)
        child.stdin.close()
        self.assertEqual(child.wait(support.SECONDS_ALLOWED), DONE)

    def test_input_of_another_program(self):
        """stdin may be a script piped into a shell that runs apt-get: the rest of it must run, too."""
        for name, source in (("dpkg", "pipe"), ("pip", "pipe"), ("rpm", "file")):
            with self.subTest(name=name, source=source):
                script = (
                    f"{PROGRAM} update --hook {name} {self.prefix}\necho the rest\n"
                    + "true\n" * 5000
                )
                write(f"{self.top}/script", script)
                with open(f"{self.top}/script", "rb") as file:
                    how = {"stdin": file} if source == "file" else {"input": script.encode()}
                    done = subprocess.run(["/bin/sh"], capture_output=True, env=self.environment(), **how)
                self.assertEqual((done.stdout, done.stderr), (b"the rest\n", b""))

    def test_a_terminal(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        began = time.monotonic()
        self.silent_hook(stdin=slave)
        os.close(slave)
        self.assertLess(time.monotonic() - began, TIMEOUT)

    def test_closed(self):
        self.silent_hook(stdin=None, preexec_fn=lambda: os.close(0))


class BadCases(HookTest):
    def test_command_lines(self):
        for words in (["update", "--hook"], ["update", "--hook", ""], ["update", "--hook", "a b"],
                      ["update", "--hook", "--quiet"], ["update", "--hook", "x" * 50], ["--hook", "rpm"],
                      ["update", "--hook=rpm", "--wrong"], ["list", "--hook", "rpm"],
                      ["nonsense", "--hook=rpm"], ["update", "--hook", "rpm", "--python", "2.7"]):
            reply = self.run_program(*words, status=DONE)
            self.assertRegex(reply.err, r"\Aentrydb: [^\n]+\n\Z", str(reply))

    def test_without_home(self):
        self.hook_with_one_line(
            f"{self.top}/nowhere-known", env=self.environment(HOME=None, XDG_STATE_HOME=None)
        )

    def test_invalid_database(self):
        write(f"{self.top}/text", "not a database\n" * 100)
        os.mkdir(f"{self.top}/directory")
        for file in ("text", "directory"):
            self.hook_with_one_line("--db", f"{self.top}/{file}", self.prefix)
        self.assertEqual(support.read(f"{self.top}/text"), "not a database\n" * 100)

    @needs_root
    def test_a_database_of_another_owner(self):
        file = f"{self.top}/roots/one.db"
        self.hook("--db", file, self.prefix)
        add_distribution(self.site, "beta")
        err = self.hook_with_one_line("--db", file, self.prefix, user=STRANGER)
        self.assertIn("Permission denied", err)
        self.assertEqual(self.names(file), ["alpha"])

    @needs_root
    def test_a_read_only_file_system(self):
        self.mount("size=8m")
        add_distribution(f"{self.top}/disk/{SITE}", "alpha")
        env = self.environment(XDG_STATE_HOME=f"{self.top}/disk/state")
        mounted, file = f"{self.top}/disk", f"{self.top}/disk/{DATABASE}"
        self.silent_hook(mounted)
        self.remount("ro")
        self.silent_hook(mounted, env=env)
        settle()  # an update would now mark the rows as trusted
        self.silent_hook(mounted, env=env)
        self.silent_hook("--db", file, mounted, env=env)
        self.remount("rw")
        add_distribution(f"{mounted}/{SITE}", "beta")
        self.remount("ro")
        self.assertIn("Read-only", self.hook_with_one_line(mounted, env=env))
        self.assertIn("Read-only", self.hook_with_one_line("--db", file, mounted, env=env))
        self.assertEqual(self.names(file), ["alpha"])

    @needs_root
    def test_a_full_disk(self):
        self.mount("size=512k")
        file = f"{self.top}/disk/one.db"
        self.silent_hook("--db", file, self.prefix)
        support.fill(f"{self.top}/disk")
        self.silent_hook("--db", file, self.prefix)  # nothing needs to be written
        add_distribution(self.site, "beta")
        self.assertIn("No space left", self.hook_with_one_line("--db", file, self.prefix))
        self.assertTrue(is_sound(file))
        self.assertEqual(self.names(file), ["alpha"])
        os.unlink(f"{self.top}/disk/filler")
        self.silent_hook("--db", file, self.prefix)
        self.assertEqual((self.names(file), leftovers(file)), (["alpha", "beta"], []))
        support.fill(f"{self.top}/disk")
        os.chmod(self.site, 0o700)  # nothing new, but the file may no longer be read by everybody
        self.assertIn("No space left", self.hook_with_one_line("--db", file, self.prefix))
        os.unlink(f"{self.top}/disk/filler")
        self.silent_hook("--db", file, self.prefix)
        self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), 0o600)

    def remount(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", f"{self.top}/disk"], check=True)

    def test_a_file_too_large(self):
        self.silent_hook()
        for number in range(50):
            add_distribution(self.site, f"more{number}")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        self.hook_with_one_line(preexec_fn=limit)
        self.assertEqual((self.names(), leftovers(self.database)), (["alpha"], []))

    def test_closed_stderr_pipe(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.hook("--db", self.prefix, self.prefix, stderr=writer)
        os.close(writer)
        self.hook("--db", self.prefix, self.prefix, stderr=None, preexec_fn=lambda: os.close(2))

    def test_signals(self):
        self.silent_hook()
        for number in range(300):
            add_distribution(self.site, f"more{number}")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            for after in (0.005, 0.01, 0.02):
                child = self.start_hook()
                # Signals before the handler is installed cannot be handled.
                until(lambda: "entrydb" in comm(child.pid))
                time.sleep(after)
                child.send_signal(number)
                child.send_signal(number)
                _, err = child.communicate(timeout=support.SECONDS_ALLOWED)
                self.assertIn(child.returncode, (DONE, -number), err)
                self.assertLessEqual(len(err.splitlines()), 1, err)
                self.assertTrue(is_sound(self.database))
                self.assertIn(len(self.names()), (1, 301))
                self.assertEqual(leftovers(self.database), [])

    def test_signals_while_waiting(self):
        self.silent_hook()
        add_distribution(self.site, "beta")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with held_lock(self.database):
                child = self.start_hook()
                until(lambda: is_waiting(child))
                child.send_signal(number)
                _, err = child.communicate(timeout=support.SECONDS_ALLOWED)
            self.assertEqual(child.returncode, DONE, err)
            self.assertRegex(err, rb"\A[^\n]*: interrupted while [^\n]*\n\Z")
        self.assertEqual(self.names(), ["alpha"])


class Waits(HookTest):
    """Waits are limited, also for both a lock and a pipe together."""

    def test_waits_end(self):
        other = f"{self.top}/other"
        add_distribution(f"{other}/{SITE}", "alpha")
        self.silent_hook(other)
        add_distribution(f"{other}/{SITE}", "beta")
        reader, writer = os.pipe()
        with held_lock(f"{other}/{DATABASE}"):
            began = time.monotonic()
            children = [self.start_hook(stdin=reader), self.start_hook(other)]
            errors = [child.communicate(timeout=support.SECONDS_ALLOWED)[1] for child in children]
            took = time.monotonic() - began
        os.close(reader)
        os.close(writer)
        self.assertEqual([child.returncode for child in children], [DONE, DONE])
        self.assertTrue(TIMEOUT - 1 < took < 6 * TIMEOUT, took)
        self.assertEqual((errors[0], self.names()), (b"", ["alpha"]), "a pipe that is never closed")
        self.assertRegex(errors[1], rb"\Aentrydb: [^\n]*another writer[^\n]*\n\Z")
        self.assertEqual(self.names(f"{other}/{DATABASE}"), ["alpha"], "a lock that is never released")


class Together(HookTest):
    """Concurrent hooks with the same work are merged."""

    def setUp(self):
        super().setUp()
        self.silent_hook()

    def test_five_waiting_hooks_with_the_same_work(self):
        with held_lock(self.database):
            add_distribution(self.site, "beta")
            children = [self.start_hook(name=f"h{number}") for number in range(5)]
            until(lambda: sum(child.poll() is None for child in children) == 1)
            time.sleep(0.2)
            waiting = [child for child in children if child.poll() is None]
            self.assertEqual(len(waiting), 1, "one stays")
            add_distribution(self.site, "gamma")
            late = self.start_hook(name="late")
            self.assertEqual(late.wait(support.SECONDS_ALLOWED), DONE)
            self.assertEqual(self.names(), ["alpha"], "while the lock is held")
        self.finish(children + [late])
        self.assertEqual(self.names(), ["alpha", "beta", "gamma"], "including the last change")
        self.assertEqual({command.split(":")[0] for command in self.commands()[-2:]},
                         {f"h{children.index(waiting[0])}"})
        self.assertEqual(sorted(events(self.database)[-2:]),
                         [("install", "beta", None, "1.0"), ("install", "gamma", None, "1.0")])
        self.assertEqual(leftovers(self.database), [])

    def finish(self, children):
        for child in children:
            out, err = child.communicate(timeout=support.SECONDS_ALLOWED)
            self.assertEqual((child.returncode, out, err), (DONE, b"", b""))

    def test_other_work_is_not_merged(self):
        other = f"{self.prefix}/lib/python3.12/site-packages"
        add_distribution(other, "other")
        add_distribution(self.site, "beta")
        with held_lock(self.database):
            children = [self.start_hook(path) for path in (self.site, other, self.site, other)]
            until(lambda: sum(child.poll() is None for child in children) == 2)
            time.sleep(0.2)
            self.assertEqual(sum(child.poll() is None for child in children), 2)
        self.finish(children)
        self.assertEqual(self.names(), ["alpha", "beta", "other"])

    def test_update_without_hook_is_not_merged(self):
        add_distribution(self.site, "beta")
        with held_lock(self.database):
            hook = self.start_hook()
            until(lambda: is_waiting(hook))
            plain = self.start("update", self.prefix, "--quiet")
            time.sleep(0.3)
            self.assertIsNone(plain.poll())
        self.finish([hook, plain])
        self.assertEqual(self.names(), ["alpha", "beta"])

    def test_waiting_hook_is_killed(self):
        add_distribution(self.site, "beta")
        with held_lock(self.database):
            first = self.start_hook()
            until(lambda: is_waiting(first))
            first.kill()
            first.wait()
            second = self.start_hook()
            time.sleep(0.3)
            self.assertIsNone(second.poll(), "it replaces the killed one in the queue")
        self.finish([second])
        self.assertEqual(self.names(), ["alpha", "beta"])

    def test_many_hooks_miss_no_change(self):
        """Each process changes the tree and then runs a hook: in the end all changes are in the database."""
        choose = random.Random(SEED)
        waits = [[choose.uniform(0, 0.03) for _ in range(6)] for _ in range(8)]
        threads = [
            threading.Thread(target=self.install_some, args=(number, each))
            for number, each in enumerate(waits)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = sorted(["alpha"] + [f"p{number}x{step}" for number in range(8) for step in range(6)])
        self.assertEqual(self.names(), expected, f"seed {SEED}")
        installs = query(self.database, "SELECT distribution FROM event WHERE action = 'install'")
        # A distribution that is read before its METADATA exists is named after its directory.
        installed = sorted(row[0].partition("-")[0] for row in installs)
        self.assertEqual(installed, expected[1:], "each is seen once")
        self.assertEqual(leftovers(self.database), [])

    def install_some(self, number, waits):
        for step, wait in enumerate(waits):
            time.sleep(wait)
            add_distribution(self.site, f"p{number}x{step}")
            subprocess.run([PROGRAM, "update", "--hook", "rpm", self.prefix], env=self.environment(),
                           stdin=subprocess.DEVNULL, check=True)


class Caller(HookTest):
    """The command behind a change, which ran the hook."""

    def setUp(self):
        super().setUp()
        self.bin = f"{self.top}/bin"
        os.mkdir(self.bin)

    def run_script(self, name, *words, below="", by=""):
        """Run the hook from a script of that name, @below from another; returns the recorded command."""
        hook = f"{by}{PROGRAM} update --hook test {self.prefix}\n:\n"
        inner = f"subprocess.run(['/bin/sh', '-c', {hook!r}], check=True)"
        if below:
            write(f"{self.bin}/{below}", f"import subprocess\n{inner}\n")
            inner = f"subprocess.run([{sys.executable!r}, '{self.bin}/{below}', '--configure', 'x'], check=True)"
        write(f"{self.bin}/{name}", f"import subprocess\n{inner}\n")
        add_distribution(self.site, f"d{time.time_ns()}")
        subprocess.run([sys.executable, f"{self.bin}/{name}", *words], env=self.environment(), check=True,
                       stdin=subprocess.DEVNULL, timeout=support.SECONDS_ALLOWED)
        return self.commands()[-1]

    def test_first_ancestor_that_is_not_a_shell(self):
        self.assertEqual(self.run_script("pip3.11", "install", "some-thing"), "test: pip install some-thing")
        self.assertEqual(self.run_script("cook", "stew"), "test: cook")

    def test_its_parent(self):
        self.assertEqual(self.run_script("apt-get", "install", "x", below="dpkg"), "test: apt-get install x")
        self.assertEqual(self.run_script("cook", "stew", below="dpkg"), "test: dpkg --configure x")

    @needs_root
    @unittest.skipUnless(shutil.which("setpriv"), "no setpriv")
    def test_programs_of_another_user(self):
        """Their command lines are in their memory, which is not read."""
        os.chmod(self.top, 0o755)
        for path, _, _ in os.walk(self.prefix):
            os.chown(path, STRANGER, STRANGER)
        self.assertEqual(self.run_script("pip", "install", "a", by=f"{shutil.which('setpriv')} --reuid={STRANGER} "
                                         f"--regid={STRANGER} --clear-groups "), "test")

    @needs_root
    def test_an_undumpable_program_of_another_user(self):
        """The files of such a process in /proc are root's; its directory there is not."""
        script = (f"import ctypes, os, subprocess; os.setresuid({STRANGER}, {STRANGER}, 0); ctypes.CDLL(None).prctl(4, 0)\n"
                  f"assert os.stat('/proc/self/stat').st_uid == 0\n"
                  f"subprocess.run([{PROGRAM!r}, 'update', '--hook', 'test', {self.prefix!r}], preexec_fn=lambda: os.setresuid(0, 0, 0), check=True)\n")
        write(f"{self.bin}/pip", script)
        add_distribution(self.site, "new")
        subprocess.run([sys.executable, f"{self.bin}/pip", "install", "a"], env=self.environment(), check=True, stdin=subprocess.DEVNULL)
        self.assertEqual(self.commands()[-1], "test")

    def test_secrets_and_long_commands(self):
        found = self.run_script("pip", "install", "--index-url", "https://me:secret@host.example/t/TOKEN/simple/",
                                "--token", "hunter2", "a")
        self.assertEqual(found, "test: pip install a")
        found = self.run_script("pip", "install", *["seven77"] * 200)
        self.assertTrue(found.endswith("..."), found)
        self.assertLessEqual(len(found.encode()), 320)

    def test_pip(self):
        """The real pip builds a project whose back end runs the hook."""
        python = next(
            (
                each
                for each in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))
                + ["/usr/bin/python3"]
                if has_pip(each)
            ),
            None,
        )
        if not python:
            self.skipTest("no Python with pip")
        project = f"{self.top}/project"
        os.mkdir(project)
        write(f"{project}/pyproject.toml",
              '[build-system]\nrequires = []\nbuild-backend = "back"\nbackend-path = ["."]\n')
        write(f"{project}/back.py", BACK_END.format(program=PROGRAM, prefix=self.prefix))
        command = [python, "-m", "pip", "install", "--no-index", "--no-deps", "--target", f"{self.top}/target",
                   project]
        subprocess.run(command, env=self.environment(PATH=os.environ["PATH"]), check=True, capture_output=True,
                       stdin=subprocess.DEVNULL, timeout=support.SECONDS_ALLOWED)
        self.assertEqual(set(self.commands()), {"pip: pip install project"})

    @needs_root
    @unittest.skipUnless(shutil.which("apt-get"), "no apt-get")
    def test_apt_get(self):
        """The real apt-get without sources, with the hook after its update."""
        for directory in ("lists/partial", "cache"):
            os.makedirs(f"{self.top}/{directory}")
        command = ["apt-get", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", "Dir::Etc::sourceparts=/dev/null",
                   "-o", f"Dir::State::lists={self.top}/lists", "-o", f"Dir::Cache={self.top}/cache", "-o",
                   f"APT::Update::Pre-Invoke::={PROGRAM} update --hook dpkg {self.prefix}", "update"]
        subprocess.run(command, env=self.environment(PATH=os.environ["PATH"]), check=True, capture_output=True,
                       stdin=subprocess.DEVNULL, timeout=support.SECONDS_ALLOWED)
        found = self.commands()[-1]
        self.assertEqual(found, "dpkg: apt-get update")
        reply = self.run_program("log", "--db", self.database, status=DONE)
        self.assertIn("\tdpkg: apt-get update", reply.out)


BACK_END = """
import base64, hashlib, subprocess, zipfile

def build_wheel(directory, config_settings=None, metadata_directory=None):
    subprocess.run(["{program}", "update", "--hook", "pip", "{prefix}"], check=True)
    with zipfile.ZipFile(directory + "/made-1.0-py3-none-any.whl", "w") as wheel:
        info = "made-1.0.dist-info"
        wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: made\\nVersion: 1.0\\n")
        wheel.writestr(info + "/WHEEL",
                       "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "/RECORD", "".join(
            info + name + ",,\\n" for name in ("/METADATA", "/WHEEL", "/RECORD")))
    return "made-1.0-py3-none-any.whl"
"""


def has_pip(python):
    with contextlib.suppress(OSError):
        return subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0
    return False


def comm(pid):
    return support.read(f"/proc/{pid}/comm")


def is_waiting(child):
    """Does it wait for the lock, and so hold a byte of the lock file?"""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        for name in os.listdir(f"/proc/{child.pid}/fdinfo"):
            with open(f"/proc/{child.pid}/fdinfo/{name}", encoding="utf-8") as file:
                if "OFDLCK" in file.read():
                    return True
    return False


if __name__ == "__main__":
    support.main()
