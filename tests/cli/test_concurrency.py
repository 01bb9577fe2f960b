"""Killed, interrupted and concurrent writers: readers always get complete answers.

ENTRYDB_TEST_ROUNDS: how often a writer is killed (default 200, and 5,000 in a long run).
ENTRYDB_TEST_SEED: repeats a run.
"""

import collections
import os
import random
import shutil
import signal
import subprocess
import threading
import time
import unittest

import stress
import support
from support import (COULD_NOT, DATABASE, DONE, LONG, NOT_FOUND, SITE, STRANGER, CommandTest, add_distribution,
                     entry_points, has_open, held_lock, is_sound, leftovers, listens, needs_root, query,
                     rows, until, write)
from stress import SEED

ANSWERS = 10  # with fewer, the test would prove nothing
ROUNDS = int(os.environ.get("ENTRYDB_TEST_ROUNDS") or (5000 if LONG else 200))
FACTS = "SELECT distribution, version, group_name, name, value FROM entry_points ORDER BY 1, 2, 3, 4, 5"


def facts(database):
    """The rows of the database in the form of Tree.facts(); None without a database."""
    return query(database, FACTS) if os.path.exists(database) else None


class Tree:
    """A site directory that changes step by step, and the rows expected after each step."""

    def __init__(self, site, choose):
        self.site, self.choose = site, choose
        self.versions = {}

    def step(self):
        name = f"package{self.choose.randrange(25)}"
        old = self.versions.pop(name, None)
        if old:
            shutil.rmtree(f"{self.site}/{name}-{old}.dist-info")
        if not old or self.choose.random() < 0.6:
            self.versions[name] = f"{self.choose.randrange(400)}"
            self.add(name, self.versions[name])

    def add(self, name, version):
        """Created elsewhere and moved in, so that a scan sees all of it or nothing."""
        aside = f"{self.site}/../aside"
        add_distribution(aside, name, version, text=self.text(name, version))
        os.rename(f"{aside}/{name}-{version}.dist-info", f"{self.site}/{name}-{version}.dist-info")

    def text(self, name, version):
        return "[demo]\n" + "".join(f"{name}.{number} = v{version}:f\n" for number in range(20))

    def facts(self):
        return sorted((name, version, "demo", f"{name}.{number}", f"v{version}:f")
                      for name, version in self.versions.items() for number in range(20))


class Killed(CommandTest):
    def setUp(self):
        super().setUp()
        self.choose = random.Random(SEED)
        self.tree = Tree(self.site, self.choose)

    def typical_seconds(self):
        times = []
        for _ in range(5):
            self.tree.step()
            began = time.monotonic()
            self.update()
            times.append(time.monotonic() - began)
        return sorted(times)[2]

    def test_at_any_moment(self):
        for _ in range(15):
            self.tree.step()
        typical = self.typical_seconds()
        ends = collections.Counter()
        for number in range(ROUNDS):
            with self.subTest(seed=SEED, number=number):
                ends[self.kill_one(typical)] += 1
        print(f"\n{ROUNDS} writers killed (seed {SEED}): {dict(ends)}", flush=True)
        self.finish()

    def kill_one(self, typical):
        before = facts(self.database)
        for _ in range(self.choose.choice((1, 1, 1, 5))):
            self.tree.step()
        child = subprocess.Popen([support.PROGRAM, "update", self.prefix, "--quiet"], env=self.environment(),
                                 stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.choose.uniform(0, 1.1 * typical))
        child.kill()
        killed = child.wait() == -signal.SIGKILL
        now = facts(self.database)
        self.assertIn(now, (before, self.tree.facts()), "neither the old rows nor the new ones")
        self.assertTrue(now is None or is_sound(self.database))
        self.assertEqual(self.answer(), self.tree.facts())
        how = "new" if now == self.tree.facts() else "old"
        return f"{how}, {'with' if leftovers(self.database) else 'without'} leftovers" if killed else "finished before"

    def answer(self):
        """Whatever the state of the database, a reader's answer matches the disk."""
        reply = self.list("demo")
        return sorted((row[3], row[4], *row[:3]) for row in reply.fields)

    def finish(self):
        self.update()
        self.assertEqual(leftovers(self.database), [])
        self.assertEqual(facts(self.database), self.tree.facts())
        self.assertEqual(set(os.listdir(os.path.dirname(self.database))),
                         {os.path.basename(self.database), f"{os.path.basename(self.database)}.lock"})

    def test_leftovers(self):
        self.tree.step()
        self.update()
        for suffix in (".new", ".new-journal", ".new-wal", ".new-shm"):
            write(f"{self.database}{suffix}", os.urandom(5000))
        self.tree.step()
        self.finish()

    def test_while_a_damaged_database_is_replaced(self):
        for number in range(max(10, ROUNDS // 10)):
            with self.subTest(seed=SEED, number=number):
                self.tree.step()
                self.update()
                with open(self.database, "r+b") as file:
                    file.seek(60)
                    file.write(b"\0\0\0\x63")
                child = subprocess.Popen([support.PROGRAM, "update", self.prefix, "--quiet"], env=self.environment(),
                                         stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(self.choose.uniform(0, 0.02))
                child.kill()
                child.wait()
                self.assertTrue(os.path.exists(self.database))
                self.assertEqual(self.answer(), self.tree.facts())
                self.update()
                self.assertLessEqual(set(leftovers(self.database)), {"entry_points.db.damaged"})
                self.assertEqual(facts(self.database), self.tree.facts())


class Interrupted(CommandTest):
    """Ctrl-C ends an update cleanly: nothing is published and no file is left."""

    def setUp(self):
        super().setUp()
        add_distribution(self.site, "alpha")
        self.update()
        for number in range(400):
            os.mkdir(f"{self.site}/many{number}-1.dist-info")
            write(f"{self.site}/many{number}-1.dist-info/entry_points.txt", entry_points(f"many{number}"))

    def test_signals(self):
        before = support.read_bytes(self.database)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for after in (0, 0.005, 0.01, 0.02, 0.04):
                child = self.start("update", self.prefix)
                until(lambda: listens(child, number))
                time.sleep(after)
                status, err = interrupt(child, number)
                self.assertIn(status, (DONE, COULD_NOT), err)
                if status == COULD_NOT:
                    self.assertIn("interrupted", err)
                    self.assertEqual(len(err.splitlines()), 1, err)
                if status != DONE:
                    self.assertEqual(support.read_bytes(self.database), before)
                self.assertEqual(leftovers(self.database), [])
                if status == DONE:
                    write(self.database, before)
        self.update()
        self.assertEqual(len(rows(self.database)["distribution"]), 401)


def interrupt(child, number):
    child.send_signal(number)
    _, err = child.communicate(timeout=support.SECONDS_ALLOWED)
    return child.returncode, err.decode()


class Many(CommandTest):
    def test_ten_updates_at_once(self):
        for _ in range(5):
            name = f"package{_}"
            add_distribution(self.site, name)
            self.finish(*[self.start("update", self.prefix) for _ in range(10)])
            self.assertEqual(self.found(), sorted(self.names_on_disk()))
        self.assertEqual(leftovers(self.database), [])
        installs = query(self.database, "SELECT distribution, count(*) FROM event WHERE action = 'install' GROUP BY 1")
        self.assertEqual({count for _, count in installs}, {1}, "each change is seen once")

    def found(self):
        return [row[0] for row in query(self.database, "SELECT name FROM distribution ORDER BY name")]

    def names_on_disk(self):
        return [name.split("-")[0] for name in os.listdir(self.site)]

    def test_ten_first_updates_of_different_sites_into_one_file(self):
        file = f"{self.top}/new/one.db"
        sites = [f"{self.top}/site{number}" for number in range(10)]
        for number, site in enumerate(sites):
            add_distribution(site, f"package{number}")
        self.finish(*[self.start("update", site, "--db", file) for site in sites])
        self.assertEqual(sorted(row[0] for row in query(file, "SELECT path FROM root")), sites)
        self.assertEqual(len(facts(file)), 20)
        self.assertTrue(is_sound(file))

    def test_updates_while_the_tree_changes(self):
        stop = threading.Event()
        tree = Tree(self.site, random.Random(SEED))

        def change():
            while not stop.is_set():
                tree.step()

        worker = threading.Thread(target=change)
        worker.start()
        try:
            for _ in range(10):
                self.finish(*[self.start("update", self.prefix) for _ in range(3)])
        finally:
            stop.set()
            worker.join()
        reply = self.list("demo")
        self.assertEqual(sorted((row[3], row[4], *row[:3]) for row in reply.fields), tree.facts())
        self.update()
        self.assertEqual(facts(self.database), tree.facts())

    def test_waits_for_the_lock(self):
        add_distribution(self.site, "alpha")
        self.update()
        add_distribution(self.site, "beta")
        with held_lock(self.database):
            child = self.start("update", self.prefix)
            until(lambda: has_open(child, f"{self.database}.lock"))
            time.sleep(0.5)
            self.assertIsNone(child.poll(), "it did not wait")
            self.assertEqual(self.found(), ["alpha"])
            self.assertEqual(len(self.list("demo").names), 2, "readers must not wait")
        self.finish(child)
        self.assertEqual(self.found(), ["alpha", "beta"])

    def test_interrupted_while_waiting_for_the_lock(self):
        add_distribution(self.site, "alpha")
        self.update()
        with held_lock(self.database):
            child = self.start("update", self.prefix)
            until(lambda: has_open(child, f"{self.database}.lock"))
            status, err = interrupt(child, signal.SIGINT)
        self.assertEqual(status, COULD_NOT, err)
        self.assertIn("interrupted while another writer held the lock", err)

    @unittest.skipUnless(LONG, "half a minute; tests/run --long has it done")
    def test_wait_for_the_lock_ends(self):
        add_distribution(self.site, "alpha")
        self.update()
        add_distribution(self.site, "beta")
        with held_lock(self.database):
            began = time.monotonic()
            reply = self.update(status=COULD_NOT)
            self.assertIn("another writer", reply.err)
            self.assertGreater(time.monotonic() - began, 25)
        self.assertEqual(self.found(), ["alpha"])


class Readers(CommandTest):
    """Readers neither delay writers nor see errors or partial states."""

    def check_answers(self, user, seconds=3, updates=True):
        choose = random.Random(SEED)
        tree = Tree(self.site, choose)
        for _ in range(10):
            tree.step()
        self.update()
        support.public_program()  # forks: must come before any thread
        self.states, self.wrong, stop = [tree.facts()], [], threading.Event()
        readers = [threading.Thread(target=self.read, args=(user, level, stop)) for level in ("roots", "exact")]
        for reader in readers:
            reader.start()
        began = time.monotonic()
        while time.monotonic() - began < seconds or self.count <= ANSWERS:
            self.assertLess(time.monotonic() - began, support.SECONDS_ALLOWED, "no answers")
            self.change(tree)
            if updates:
                self.update()
        stop.set()
        for reader in readers:
            reader.join()
        self.assertFalse(self.wrong, self.wrong[:1])

    def change(self, tree):
        """Announce each state before it is created. A directory is removed by a rename, as by installers."""
        name = f"package{tree.choose.randrange(25)}"
        old = tree.versions.pop(name, None)
        if not old:
            tree.versions[name] = f"{tree.choose.randrange(400)}"
        self.states.append(tree.facts())
        if old:
            os.rename(f"{self.site}/{name}-{old}.dist-info", f"{self.top}/gone{len(self.states)}")
        else:
            tree.add(name, tree.versions[name])

    count = 0

    def read(self, user, level, stop):
        while not stop.is_set():
            first = max(0, len(self.states) - 2)  # the newest may not exist yet
            reply = self.list("demo", "--fresh", level, user=user)
            # Names and values suffice; METADATA may vanish between the reads of two files.
            answer = sorted((row[1], row[2]) for row in reply.fields)
            possible = [sorted(fact[3:] for fact in state) for state in self.states[first:]]
            if reply.status not in (DONE, NOT_FOUND) or reply.err or answer not in possible:
                self.wrong.append((level, str(reply), sorted(set(answer) ^ set(possible[-1]))[:5]))
            self.count += 1

    @needs_root
    def test_by_another_user(self):
        self.check_answers(STRANGER)

    def test_by_the_owner(self):
        self.check_answers(None, seconds=2)

    @needs_root
    def test_while_the_disk_is_full(self):
        disk = self.mount("size=2m")
        self.prefix, self.site, self.database = f"{disk}/venv", f"{disk}/venv/{SITE}", f"{disk}/venv/{DATABASE}"
        for number in range(40):
            add_distribution(self.site, f"package{number}")
        self.update()
        expected = sorted(self.list("demo", user=STRANGER).names)
        add_distribution(self.site, "package40")
        expected.append(("package40", "1.0"))
        support.fill(disk)
        for _ in range(5):
            self.update(status=COULD_NOT)
            reply = self.list("demo", user=STRANGER, status=DONE)
            self.assertEqual(sorted(reply.names), sorted(expected))
            self.assertEqual(leftovers(self.database), [])


class States(stress.Stress):
    """Threads of C programs query while writers run, some of which are killed."""


if __name__ == "__main__":
    support.main()
