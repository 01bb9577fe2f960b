"""Many readers and many writers of one database, some of which are killed: each answer is a state of the disk.

Readers are threads of C programs, half of them with a handle that they share. ENTRYDB_TEST_LONG: 200 readers and
20 writers for a minute. ENTRYDB_TEST_SEED: repeat a run (but for what the processes make of it).
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
from support import LONG, CommandTest, add_distribution

READER_PROCESSES, READER_THREADS, WRITERS, SECONDS = (10, 20, 20, 60) if LONG else (4, 5, 4, 4)
SEED = int(os.environ.get("ENTRYDB_TEST_SEED", time.time_ns() % 1_000_000))
NAMES = 25
READER = f"{os.environ.get('ENTRYDB_BUILD') or f'{support.TOP}/build'}/tests/stress_reader"


class History:
    """What was on the disk, and when: a state may be seen from before its change begins until the next has ended."""

    def __init__(self):
        self.begins, self.ends, self.states = [], [], []

    def begin(self, versions):
        self.begins.append(time.monotonic_ns())
        self.states.append(frozenset(f"{name}=v{version}:f" for name, version in versions.items()))

    def end(self):
        self.ends.append(time.monotonic_ns())

    def has(self, begin, end, answer):
        """Was it on the disk at some time from begin to end?"""
        first = max(0, bisect.bisect_left(self.ends, begin) - 1)
        last = bisect.bisect_right(self.begins, end)
        return answer in self.states[first:last]


@unittest.skipUnless(os.access(READER, os.X_OK), "the readers were not built")
class Stress(CommandTest):
    """A site in which one distribution after another comes or goes, and updates meanwhile."""

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
        """One rename: a distribution comes, or goes."""
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
            killed = child.returncode == -signal.SIGKILL  # and AddressSanitizer may say that it was
            self.ends["killed" if killed else "done"] += 1
            if not killed and (child.returncode != 0 or err):
                self.failures.append(f"update: {child.returncode} {err}")
