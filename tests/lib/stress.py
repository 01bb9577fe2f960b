"""Many readers and writers of one database, some of which are killed: every answer is a state of the disk.

Readers are threads of C programs, half of which share a handle. ENTRYDB_TEST_LONG: 200 readers and
20 writers for a minute. ENTRYDB_TEST_SEED: repeats a run, except for the scheduling of processes.
"""

import bisect
import os
import random
import signal
import subprocess
import threading
import time
import unittest

import support
from support import LONG, CommandTest, add_distribution, is_sound, leftovers, query

READER_PROCESSES, READER_THREADS, WRITERS, SECONDS = (10, 20, 20, 60) if LONG else (4, 5, 4, 4)
SEED = int(os.environ.get("ENTRYDB_TEST_SEED", time.time_ns() % 1_000_000))
NAMES = 25
READER = f"{os.environ.get('ENTRYDB_BUILD') or f'{support.TOP}/build'}/tests/stress_reader"


class History:
    """The states of the disk: each is valid from the begin of its change to the end of the next."""

    def __init__(self):
        self.begins, self.ends, self.states = [], [], []

    def begin(self, versions):
        self.begins.append(time.monotonic_ns())
        self.states.append(frozenset(f"{name}=v{version}:f" for name, version in versions.items()))

    def end(self):
        self.ends.append(time.monotonic_ns())

    def has(self, begin, end, answer):
        """Was it a valid answer at some time from begin to end?"""
        first = max(0, bisect.bisect_left(self.ends, begin) - 1)
        last = bisect.bisect_right(self.begins, end)
        return answer in self.states[first:last]


@unittest.skipUnless(os.access(READER, os.X_OK), "the readers were not built")
class Stress(CommandTest):
    """A site in which distributions come and go one at a time while updates run."""

    def setUp(self):
        super().setUp()
        self.choose = random.Random(SEED)
        self.versions, self.history, self.steps = {}, History(), 0
        self.stop = threading.Event()
        self.failures, self.ends = [], {"killed": 0, "done": 0}
        os.makedirs(f"{self.top}/gone")
        for _ in range(NAMES):
            self.step()
        self.update()

    def step(self):
        """One rename, which adds or removes a distribution."""
        name = f"d{self.choose.randrange(NAMES)}"
        self.steps += 1
        old = self.versions.pop(name, None)
        if old is None:
            self.versions[name] = self.steps
            add_distribution(f"{self.top}/aside", name, str(self.steps), text=f"[demo]\n{name} = v{self.steps}:f\n")
            source, target = f"{self.top}/aside/{name}-{self.steps}", f"{self.site}/{name}-{self.steps}"
        else:
            source, target = f"{self.site}/{name}-{old}", f"{self.top}/gone/{name}-{old}"
        self.history.begin(self.versions)
        os.rename(f"{source}.dist-info", f"{target}.dist-info")
        self.history.end()

    def write(self, number):
        choose = random.Random(SEED + number)
        while not self.stop.is_set():
            child = subprocess.Popen([support.PROGRAM, "update", "--quiet", self.prefix], env=self.environment(),
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if choose.random() < 0.5:
                time.sleep(choose.uniform(0, 0.2))
                child.kill()
            err = child.communicate(timeout=support.SECONDS_ALLOWED)[1].decode()
            killed = child.returncode == -signal.SIGKILL  # AddressSanitizer may report it
            self.ends["killed" if killed else "done"] += 1
            if not killed and (child.returncode != 0 or err):
                self.failures.append(f"update: {child.returncode} {err}")

    def start_readers(self):
        return [subprocess.Popen([READER, self.site, str(READER_THREADS), str(SECONDS)], env=self.environment(),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for _ in range(READER_PROCESSES)]

    def finish_reader(self, reader):
        out, err = reader.communicate(timeout=SECONDS + support.SECONDS_ALLOWED)
        if reader.returncode != 0:
            self.failures.append(f"reader: {reader.returncode} {err.decode()}")
        self.answers += [line.split() for line in out.decode().splitlines()]

    def test_every_answer_is_a_state_of_the_disk(self):
        self.answers = []
        writers = [threading.Thread(target=self.write, args=(number,)) for number in range(WRITERS)]
        readers = [threading.Thread(target=self.finish_reader, args=(each,)) for each in self.start_readers()]
        for thread in writers + readers:
            thread.start()
        while any(thread.is_alive() for thread in readers):
            self.step()
            time.sleep(0.01)
        self.stop.set()
        for thread in writers + readers:
            thread.join()
        self.assertFalse(self.failures, f"seed {SEED}: {self.failures[:3]}")
        self.check_answers()
        self.check_end()

    def check_answers(self):
        print(f"\n{self.steps} changes, {len(self.answers)} different answers, writers: {self.ends} (seed {SEED})",
              flush=True)
        self.assertGreaterEqual(len(self.answers), READER_PROCESSES * READER_THREADS)
        self.assertGreater(min(self.ends.values()), 0, "writers were not killed, or did nothing")
        for begin, end, *names in self.answers:
            self.assertEqual(len(names), len(set(names)))
            if not self.history.has(int(begin), int(end), frozenset(names)):
                self.fail(f"seed {SEED}: never on the disk then: {names}")

    def check_end(self):
        self.update()
        self.assertEqual(leftovers(self.database), [])
        self.assertTrue(is_sound(self.database))
        rows = query(self.database, "SELECT name, value FROM entry_point WHERE group_name = 'demo' ORDER BY name")
        self.assertEqual(rows, sorted((name, f"v{version}:f") for name, version in self.versions.items()))
