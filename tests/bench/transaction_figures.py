"""What a hook adds to a transaction of a package manager.

The real managers (tests/lib/managers.py), each with an environment of its own in which
hundreds of distributions stand already, install and remove a tiny package, with the
line that is their hook after it, and without. dpkg works without syncing the disk, which
makes its transactions shorter than they are, and the hook's share larger.
"""

import glob
import os
import random
import subprocess
import sys
import time

import environments
import managers
import reference
import tiny_packages
from figures import Difference, DifferenceReach

DISTRIBUTIONS = 500
SETTLE_SECONDS = 3
PROMISED = 50, 0.05  # milliseconds, or this part of the transaction: whichever is larger
NAMES = ("pip", "dpkg", "rpm", "pacman")


class LargerOf(DifferenceReach):
    """So many milliseconds, or a part of the whole."""

    def __init__(self, baseline):
        limit, part = PROMISED
        super().__init__(max(limit, part * baseline), "ms")


class Transactions:
    def __init__(self, bench, name):
        python = reference.interpreters()[-1]
        place = f"{bench.scratch}/transactions"
        os.makedirs(place, exist_ok=True)
        self.bench, self.choose = bench, random.Random(1)
        self.manager = managers.MANAGERS[name](place, python, self.choose)
        self.packages = [tiny_packages.Package("alpha", version, 1) for version in ("1.0", "1.1")]
        self.fill(bench.size(DISTRIBUTIONS, 50))
        for package in self.packages:  # made before any is timed
            self.manager.install(package)
        self.turn = 0

    def fill(self, count):
        """Distributions installed before, as if by another installer."""
        made = f"{self.manager.top}/made"
        source = environments.make_environment(made, count)
        os.makedirs(self.manager.site, exist_ok=True)
        for each in glob.glob(f"{source}/*"):
            os.rename(each, f"{self.manager.site}/{os.path.basename(each)}")
        time.sleep(SETTLE_SECONDS)
        self.hook()

    def hook(self):
        return self.timed([self.bench.entrydb, "update", "--hook", self.manager.hook,
                           *self.manager.update_arguments])

    def timed(self, command):
        """Milliseconds; its output is of no interest unless it fails."""
        began = time.perf_counter()
        done = subprocess.run(command, env=self.manager.env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            raise RuntimeError(f"{command[0]}: status {done.returncode}: {done.stdout[-500:]}")
        return (time.perf_counter() - began) * 1e3

    def transaction(self):
        """Now one version, now the other: always an upgrade or a downgrade."""
        self.turn += 1
        command = self.manager.install(self.packages[self.turn % 2])
        return self.timed(command)

    def pair(self):
        """Milliseconds with the hook, and without."""
        alone = self.transaction()
        self.hook()
        announced = self.transaction() + self.hook()
        return announced, alone


def transactions(bench):
    for name in NAMES:
        try:
            managers.MANAGERS[name].check()
        except managers.Unavailable as problem:
            print(f"transactions: {name} is left out: {problem}", file=sys.stderr)
            continue
        bench.note(name)
        each = Transactions(bench, name)
        each.pair()
        pairs = [each.pair() for _ in range(bench.rounds)]
        row = Difference(f"one transaction of {name}, {bench.size(DISTRIBUTIONS, 50)} distributions, and "
                         "its hook", "the same without", pairs, unit="ms")
        row.reach = LargerOf(row.baseline)
        yield row


FIGURES = {"transactions": transactions}
