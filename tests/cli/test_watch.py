"""watch: the databases follow the disk by themselves, whatever happens to either."""

import contextlib
import fcntl
import glob
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
import zipfile

import support
from support import (DATABASE, DONE, SITE, CommandTest, add_distribution, entry_points, events,
                     leftovers, metadata, needs_root, query, replace, stamp, until,
                     write)

POLL = 5  # seconds, as the program has it: between two looks without inotify
RESTS = 3  # seconds: longer than it waits between two looks
ASK_PYTHON = (
    "import importlib.metadata as m, json, sys\n"
    "print(json.dumps(sorted([e.group, e.name, e.value, d.metadata['Name'], d.version]\n"
    "    for d in m.distributions(path=sys.argv[1:]) for e in d.entry_points)))"
)
PYTHONS = [sys.executable] + sorted(
    glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))
)


class WatchTest(CommandTest):
    def setUp(self):
        super().setUp()
        add_distribution(self.site, "alpha")

    def watch(self, *paths, env=None, **how):
        """A running watch that has taken its first look."""
        child = self.start("watch", *(paths or [self.prefix]), env=env, **how)
        line = child.stderr.readline().decode()
        while "directories" not in line:
            self.assertTrue(line, "it has ended")
            self.said = line
            line = child.stderr.readline().decode()
        return child

    def stop(self, child, number=signal.SIGTERM):
        child.send_signal(number)
        out, err = child.communicate(timeout=support.SECONDS_ALLOWED)
        self.assertEqual((child.returncode, out), (DONE, b""), err)
        self.assertEqual(leftovers(self.database) if os.path.exists(self.database) else [], [])
        return err.decode()

    def python_answer(self, *paths):
        done = subprocess.run(
            [sys.executable, "-I", "-c", ASK_PYTHON, *(paths or [self.site])],
            capture_output=True,
            check=True,
        )
        return json.loads(done.stdout)

    def known(self, *paths):
        """What the database alone says."""
        reply = self.list("--fresh", "trust", path=list(paths) or [self.site])
        return sorted(reply.fields)

    def check(self, *paths):
        """Soon, what the database alone says is what importlib.metadata finds."""
        expected = self.python_answer(*paths)
        try:
            until(lambda: self.known(*paths) == expected and self.is_read_from_database(paths))
        except AssertionError:
            self.assertEqual(self.known(*paths), expected)
            self.fail("not from the database")

    def rest(self, child):
        """Until it has done all that it wants to: then it sleeps."""
        busy = [processor_time(child), read_calls(child)]

        def is_at_rest():
            time.sleep(RESTS)
            before, busy[:] = list(busy), [processor_time(child), read_calls(child)]
            return before == busy

        until(is_at_rest, "it does not come to rest")

    def is_read_from_database(self, paths):
        """At level trust only a path entry that has no rows is read from the disk."""
        rows = (
            query(self.database, "SELECT path FROM root") if os.path.exists(self.database) else []
        )
        known = {row[0] for row in rows}
        return all(
            os.path.relpath(path, self.prefix) in known
            for path in paths or [self.site]
            if os.path.isdir(path)
        )


class Changes(WatchTest):
    def test_installations(self):
        child = self.watch()
        self.check()
        info = add_distribution(self.site, "beta")
        self.check()
        # no time of the site directory changes
        replace(f"{info}/entry_points.txt", entry_points("other"))
        self.check()
        with open(f"{info}/entry_points.txt", "a", encoding="utf-8") as file:
            file.write("[more]\nlast = m:f\n")  # nor any of this directory
        self.check()
        os.rename(info, f"{self.site}/beta-2.0.dist-info")
        write(f"{self.site}/beta-2.0.dist-info/METADATA", metadata("beta", "2.0"))
        self.check()
        shutil.rmtree(f"{self.site}/alpha-1.0.dist-info")
        self.check()
        write(f"{self.site}/old-1.0.egg-info", metadata("old", "1.0"))
        os.makedirs(f"{self.site}/egg-1.0-py3.11.egg/EGG-INFO")
        self.check()
        self.stop(child)
        self.assertEqual(
            {row[0] for row in query(self.database, "SELECT command FROM event")}, {"watch"}
        )

    def test_slow_installation(self):
        """Made file by file, with more time in between than it takes for quiet."""
        child = self.watch()
        info = f"{self.site}/slow-1.0.dist-info"
        os.mkdir(info)
        time.sleep(0.8)
        write(f"{info}/METADATA", metadata("slow", "1.0"))
        time.sleep(0.8)
        write(f"{info}/entry_points.txt", entry_points("slow"))
        self.check()
        self.stop(child)

    def test_pip(self):
        """The real one, with wheels made by hand, into a real environment."""
        python = next(filter(has_pip, PYTHONS), None)
        if not python:
            self.skipTest("no Python with a pip that knows --python (22.3)")
        self.prefix = f"{self.top}/environment"
        subprocess.run([python, "-m", "venv", "--without-pip", self.prefix], check=True)
        (self.site,) = glob.glob(f"{self.prefix}/lib/python3.*/site-packages")
        self.database = f"{self.prefix}/{DATABASE}"
        child = self.watch()
        for version in ("1.0", "2.0"):
            self.pip(python, "install", "--no-index", make_wheel(self.top, "made", version))
            self.check()
            self.assertEqual(
                self.known(), [["demo", "made", f"made:v{version[0]}", "made", version]]
            )
        self.pip(python, "uninstall", "-y", "made")
        self.check()
        self.stop(child)
        self.assertEqual(
            events(self.database)[-4:],
            [
                ("install", "made", None, "1.0"),
                ("upgrade", "made", "1.0", "2.0"),
                ("entry-point-changed", "made", None, None),
                ("remove", "made", "2.0", None),
            ],
        )

    def pip(self, python, *words):
        command = [
            python,
            "-m",
            "pip",
            "--python",
            f"{self.prefix}/bin/python",
            "--disable-pip-version-check",
            *words,
        ]
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=self.environment(PATH=os.environ["PATH"]),
        )

    def test_it_becomes_settled_and_rests(self):
        child = self.watch()
        add_distribution(self.site, "beta")
        self.check()
        until(
            lambda: query(self.database, "SELECT sum(watched), min(settled) FROM distribution")
            == [(0, 1)],
            "what is no longer new is not believed",
        )
        self.rest(child)
        self.stop(child)

    def test_what_is_no_concern(self):
        child = self.watch()
        self.check()
        self.rest(child)
        reads = read_calls(child)
        for name in ("bin", "var", "share"):
            os.makedirs(f"{self.prefix}/{name}/x", exist_ok=True)
        time.sleep(1.5)
        self.assertLess(read_calls(child) - reads, 10, "no look at anything")
        self.stop(child)

    def test_without_end(self):
        """Changes that leave no moment of quiet do not keep it from looking."""
        child = self.watch()
        numbers = itertools.count()

        def one_more():
            add_distribution(self.site, f"more{next(numbers)}")
            time.sleep(0.1)
            return query(self.database, "SELECT count(*) FROM distribution")[0][0] > 10

        until(one_more, "it has not looked")
        self.check()
        self.stop(child)

    def test_a_database_in_the_site_directory(self):
        """Its own writing is no change."""
        file = f"{self.site}/own.db"
        child = self.watch(self.prefix, "--db", file)
        self.rest(child)
        before = stamp(file)
        self.rest(child)
        self.assertEqual(stamp(file), before)
        self.stop(child)


class Directories(WatchTest):
    def test_vanish_and_come_back(self):
        child = self.watch()
        for path in (f"{self.prefix}/lib/python3.11", f"{self.prefix}/lib", self.prefix):
            with self.subTest(path=path):
                self.check()
                shutil.rmtree(path)
                time.sleep(1)
                self.assertEqual(os.path.exists(path), False)
                add_distribution(self.site, "back")
                self.check()
                os.rename(path, f"{self.top}/away")
                time.sleep(1)
                os.rename(f"{self.top}/away", path)
                self.check()
                replace(f"{self.site}/back-1.0.dist-info/entry_points.txt", entry_points("changed"))
                self.check()
        self.stop(child)

    def test_a_new_site_directory(self):
        child = self.watch()
        other = f"{self.prefix}/lib/python3.12/site-packages"
        os.makedirs(other)
        time.sleep(0.8)
        add_distribution(other, "newer")
        self.check(self.site, other)
        self.stop(child)

    def test_named_before_it_is_there(self):
        prefix = f"{self.top}/a/b/later"
        child = self.watch(prefix, f"{prefix}2/{SITE}")
        self.assertFalse(os.path.exists(f"{self.top}/a"))
        for path in (prefix, f"{prefix}2"):
            self.prefix, self.site = path, f"{path}/{SITE}"
            self.database = f"{path}/{DATABASE}"
            add_distribution(self.site, "gamma")
            self.check()
        self.stop(child)

    def test_a_relative_path(self):
        child = self.watch("venv", cwd=self.top)
        shutil.rmtree(self.prefix)
        time.sleep(0.8)
        add_distribution(self.site, "gamma")
        self.check()
        self.stop(child)


class Trouble(WatchTest):
    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            child = self.watch()
            self.assertEqual(self.stop(child, number), "")
        add_distribution(self.site, "beta")
        for after in (0, 0.002, 0.005, 0.01, 0.02):  # in its first look, or before
            child = self.start("watch", self.prefix)
            time.sleep(after)
            child.terminate()
            _, err = child.communicate(timeout=support.SECONDS_ALLOWED)
            self.assertIn(child.returncode, (DONE, -signal.SIGTERM), err)

    def test_overflow(self):
        """More changes, of no concern, than the kernel keeps while the program reads none."""
        with open("/proc/sys/fs/inotify/max_queued_events", encoding="utf-8") as file:
            limit = int(file.read())
        if limit > 50_000:
            self.skipTest(f"{limit} events are kept: too many to provoke more")
        child = self.watch()
        self.check()
        self.rest(child)  # or the second look would see all
        child.send_signal(signal.SIGSTOP)
        write(f"{self.prefix}/one", "")
        for _ in range(limit // 4 + 100):  # two events each, one after another
            os.rename(f"{self.prefix}/one", f"{self.prefix}/two")
            os.rename(f"{self.prefix}/two", f"{self.prefix}/one")
        add_distribution(self.site, "lost")  # no event tells of it
        os.makedirs(f"{self.prefix}/lib/python3.12/site-packages")
        child.send_signal(signal.SIGCONT)
        self.check()
        replace(
            f"{self.site}/lost-1.0.dist-info/entry_points.txt", entry_points("seen")
        )  # by a new watch
        self.check()
        add_distribution(f"{self.prefix}/lib/python3.12/site-packages", "other")
        self.check(self.site, f"{self.prefix}/lib/python3.12/site-packages")
        self.stop(child)

    @needs_root
    def test_no_more_watches(self):
        with limited("max_user_watches", 3):
            self.look_now_and_then("No space left")

    @needs_root
    def test_no_inotify(self):
        with limited("max_user_instances", 0):
            self.look_now_and_then("Too many open files")

    def look_now_and_then(self, reason):
        child = self.watch()
        self.assertIn(reason, self.said)
        self.assertIn(f"every {POLL} seconds", self.said)
        self.check()
        replace(f"{self.site}/alpha-1.0.dist-info/entry_points.txt", entry_points("changed"))
        add_distribution(self.site, "beta")
        self.check()
        self.assertEqual(self.stop(child), "", "said once")

    def test_a_lock_that_is_held(self):
        child = self.watch()
        self.check()
        with open(f"{self.database}.lock", "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            add_distribution(self.site, "beta")
            time.sleep(2)
        self.check()
        self.assertEqual(self.stop(child), "")

    def test_a_database_that_cannot_be_written(self):
        """It says so, and goes on once it can."""
        file = f"{self.top}/one.db"
        os.mkdir(file)
        child = self.watch(self.prefix, "--db", file)
        self.assertIn(file, self.said)
        os.rmdir(file)
        add_distribution(self.site, "beta")
        until(
            lambda: os.path.isfile(file) and len(query(file, "SELECT 1 FROM distribution")) == 2
        )
        self.stop(child)


@contextlib.contextmanager
def limited(name, value):
    """Fewer of them, for a short time and for all processes of root."""
    path = f"/proc/sys/fs/inotify/{name}"
    with open(path, encoding="utf-8") as file:
        before = file.read()
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(str(value))
    except OSError as error:
        raise unittest.SkipTest(f"{path} cannot be set: {error.strerror}")
    try:
        yield
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(before)


def processor_time(child):
    with open(f"/proc/{child.pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[11:13]


def read_calls(child):
    with open(f"/proc/{child.pid}/io", encoding="utf-8") as file:
        return int(dict(line.split(": ") for line in file)["syscr"])


def has_pip(python):
    with contextlib.suppress(OSError):
        return (
            subprocess.run(
                [python, "-m", "pip", "--python", python, "--version"], capture_output=True
            ).returncode
            == 0
        )
    return False


def make_wheel(directory, name, version):
    path, info = f"{directory}/{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": metadata(name, version),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[demo]\n{name} = {name}:v{version[0]}\n",
    }
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
        wheel.writestr(
            f"{info}/RECORD", "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
        )
    return path


if __name__ == "__main__":
    support.main()
