#!/usr/bin/env python3
"""Random histories of real package managers, compared with importlib.metadata: no answer may be stale.

usage: never_stale.py [--steps N] [--pip-steps N] [--seed S] [--managers A,B...] [--hooks PART]
                      [--keep DIRECTORY] [--verbose]

Each manager (managers.py) has its own environment, and all run concurrently. A step installs, upgrades,
downgrades, reinstalls, rebuilds or removes a tiny package (tiny_packages.py), or edits an
entry_points.txt. At random, meanwhile: nothing happens; the manager is killed after some milliseconds;
entrydb updates and lists while the manager works; or the manager is stopped just after the site
directory has changed, and continued after an update. Then the hook runs, is killed, or does not run at
all. Some steps begin after a pause, so that no row in the database is watched.

After each step the answers at both levels of freshness are compared with those of importlib.metadata:

    exact   must be equal, always
    roots   must be equal, except for changes that the times of a directory cannot show: those of a
            step that left the site directory's times alone, until a hook has completed

The program is $ENTRYDB, default build/indexer/entrydb. Exit status: 0 never stale, 1 stale, 77 no manager is
installed. Timing is random in spite of the seed: two runs differ.
"""

import argparse
import collections
import contextlib
import glob
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import managers
import tiny_packages
from managers import Unavailable

import carry
import program
import reference
import support

REST_SECONDS = 2.2        # files younger than 2 seconds are watched
HOOK_SECONDS = 0.02       # a hook is killed after a fraction of this
LEVELS = ("exact", "roots")
LONGER = 2                # times as many steps at most, if by chance few of a short history change anything
HISTORY = 6               # steps to print with a discrepancy
SHARES = {"calm": 0.45, "killed": 0.2, "watched": 0.15, "stopped": 0.2}
STOPS = 5                 # at most, during one run
POLL_SECONDS = 0.0002
STALLED_SECONDS = 1.5     # too close to the 2 seconds during which files are watched
HOOK_KILLED = 0.15        # fraction of the hooks
RESTED = 0.15
CARRIED = 0.15            # fraction of the steps after which the database is up to date
ACTIONS = ("other", "other", "rebuild", "rebuild", "same", "remove", "edit")
SECONDS_ALLOWED = 120


class Broken(Exception):
    """An error unrelated to freshness."""


class History:
    """One manager in one environment, step by step."""

    def __init__(self, kind, options, interpreters, scratch):
        self.name = kind.__name__.lower()
        self.options = options
        self.random = random.Random(f"{options.seed}-{self.name}")
        home = f"{scratch}/home-{self.name}"
        os.makedirs(home)
        self.entrydb = program.Program(home)
        self.manager = kind(scratch, interpreters[-1], self.random)
        self.workers = reference.start_workers(interpreters)
        self.installed = {}      # name -> package, as far as is known
        self.typical = 0.3       # seconds that the manager usually takes
        self.owed = False        # the database may be out of date
        self.carried = False     # since then the tree has been replaced by a copy, with its database
        self.unread = False      # it was updated in a copied tree and had no reason to read the files
        self.in_place = False    # a file was edited, which the times of directories never show
        self.uncertain = False   # the manager was killed and may refuse to work
        self.answers = {}        # the last answers of importlib.metadata
        self.counts = collections.Counter()
        self.events = collections.deque(maxlen=HISTORY)
        self.findings = []

    def run(self):
        try:
            self.update()
            for number in range(1, LONGER * self.steps() + 1):
                if number > self.steps() and self.counts["changes"] > self.counts["steps"] // 4:
                    break
                self.step(number)
        finally:
            for worker in self.workers:
                worker.close()

    def steps(self):
        of_pip = self.options.pip_steps if self.name == "pip" else None
        return of_pip or self.options.steps

    def step(self, number):
        if self.random.random() < RESTED:
            self.rest()
        self.stalled = False
        self.event = [f"step {number}:"]
        self.events.append(self.event)
        if not self.owed and self.random.random() < CARRIED:
            self.carry()
        self.before, self.outlined = self.stamp_on_disk(), self.outlines()
        self.owed = True
        self.change()
        self.hook()
        self.counts["steps"] += 1
        self.compare()
        if self.options.verbose:
            print(self.name, *self.event, flush=True)

    def say(self, *words):
        self.event.extend(words)
        self.counts.update(word for word in words if word.islower() and word.isalpha())

    # -- steps -------------------------------------------------------------

    def change(self):
        name = self.random.choice(tiny_packages.NAMES)
        present = self.installed.get(name)
        if not present:
            return self.install("install", tiny_packages.any_package(self.random, name))
        action = self.random.choice(ACTIONS)
        if action == "edit":
            return self.edit(present)
        if action == "remove":
            return self.remove(present)
        if action == "same":
            return self.install("reinstall", present)
        if action == "rebuild":
            others = [build for build in tiny_packages.BUILDS if build != present.build]
            return self.install("rebuild", present._replace(build=self.random.choice(others)))
        package = tiny_packages.any_package(self.random, name)
        return self.install("upgrade" if package.version > present.version else "downgrade"
                            if package.version < present.version else "rebuild", package)

    def install(self, action, package):
        self.say(action, f"{package.stem} build {package.build},")
        self.installed[package.name] = package
        self.manage(self.manager.install(package), package)

    def remove(self, package):
        self.say("remove", f"{package.stem},")
        if self.manage(self.manager.remove(package), package) != "killed":
            self.installed.pop(package.name, None)

    def edit(self, package):
        path = f"{self.manager.site}/{package.stem}.dist-info/entry_points.txt"
        how = self.random.choice((edit_in_place, edit_by_rename, os.unlink))
        try:
            how(path)
            self.in_place |= how is edit_in_place
            self.say("edit", f"{package.stem} by {how.__name__},")
        except FileNotFoundError:
            self.say("nothing to edit,")

    def manage(self, command, package):
        """Run the manager; the remains of a killed run are removed as users would do it."""
        self.manager.recover()
        way = self.random.choices(list(SHARES), SHARES.values())[0]
        began = time.monotonic()
        # Surviving child processes hold the pipe open.
        child = subprocess.Popen(command, env=self.manager.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        if way == "killed":
            self.kill(child)
        elif way == "watched":
            self.watch(child)
        elif way == "stopped":
            self.stop(child)
        output = child.communicate(timeout=SECONDS_ALLOWED)[0]
        self.say(way)
        if way == "calm":
            self.typical = (self.typical + time.monotonic() - began) / 2
        if way != "killed" and child.returncode:
            self.refused(package, output)
        return way

    def kill(self, child):
        """Kill the process at a random moment of its usual run time."""
        time.sleep(self.random.uniform(0, self.typical))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        self.uncertain = True

    def refused(self, package, output):
        if not self.uncertain:
            raise Broken(f"{self.name} failed:\n{output.decode(errors='replace')[-2000:]}")
        self.say("refused")
        self.manager.cure(package)
        self.installed.pop(package.name, None)

    def watch(self, child):
        """Run updates and queries at random moments while the manager works."""
        while child.poll() is None:
            time.sleep(self.random.uniform(0, self.typical / 4))
            if self.random.random() < 0.5:
                self.update()
            else:
                self.ask(self.random.choice(LEVELS), "3.12")

    def stop(self, child):
        """Run an update between the creation of a distribution's directory and of its files."""
        for _ in range(STOPS):
            before = self.stamp_on_disk()
            while child.poll() is None and self.stamp_on_disk() == before:
                time.sleep(POLL_SECONDS)
            if child.poll() is not None:
                return
            began = time.monotonic()
            os.killpg(child.pid, signal.SIGSTOP)
            try:
                self.update()
            finally:
                os.killpg(child.pid, signal.SIGCONT)
            self.stalled |= time.monotonic() - began > STALLED_SECONDS

    def carry(self):
        how = self.random.choice((carry.as_it_is, carry.in_whole_seconds))
        how(self.manager.tree)
        self.carried = True
        self.say("carried", how.__name__)

    # -- the hook ---------------------------------------------------------

    def hook(self):
        share = self.options.hooks if self.manager.hook else self.options.hooks / 4
        if self.random.random() >= share:
            return self.say("unannounced")
        if self.random.random() >= HOOK_KILLED:
            self.say("announced")
            return self.announce()
        self.say("halfway")
        child = subprocess.Popen(self.hook_command(), env=self.entrydb.env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        time.sleep(self.random.uniform(0, HOOK_SECONDS))
        child.kill()
        child.wait()

    def announce(self):
        done = subprocess.run(self.hook_command(), env=self.entrydb.env, input=b"usr/lib\n" * 20000,
                              capture_output=True, timeout=SECONDS_ALLOWED)
        if done.returncode or b"entrydb:" in done.stderr:
            raise Broken(f"the hook failed: {done.stderr.decode(errors='replace')}")
        self.unread = self.owed = self.looks_the_same()
        self.carried = False

    def hook_command(self):
        name = ["--hook", self.manager.hook or "uv"] if has_hooks() else ["--quiet"]
        return [self.entrydb.executable, "update", *name, *self.manager.update_arguments]

    def update(self, *options):
        done = self.entrydb.run(["update", "--quiet", *options, *self.manager.update_arguments])
        # A directory may vanish while it is read: this is reported, and the next update is right.
        if done.returncode not in (0, 3):
            raise Broken(f"update: {done.returncode}: {done.stderr.decode(errors='replace')}")

    def rest(self):
        """Update after a pause, so that no row is watched. In a copied tree all files must be read again, since
        sizes and times prove little there."""
        self.counts["rested"] += 1
        self.clear_away()
        time.sleep(REST_SECONDS)
        self.update(*(["--fresh", "exact"] if self.is_hidden() else []))
        self.owed = self.carried = self.unread = self.in_place = False

    def clear_away(self):
        """Remove the remains of killed runs, which would hide all later changes."""
        present = {f"{package.stem}.dist-info" for package in self.installed.values()}
        for path in glob.glob(f"{self.manager.site}/*.dist-info"):
            if os.path.basename(path) not in present:
                shutil.rmtree(path)

    # -- the comparison ---------------------------------------------------

    def ask(self, level, rules):
        options = [*self.manager.list_options, "--fresh", level]
        command, reply = self.entrydb.list([self.manager.path_entry], {}, rules, options)
        if reply.status not in (0, 1) or reply.trouble:
            raise Broken(f"{command}: {reply.status} {reply.stderr} {reply.trouble}")
        return reply

    def compare(self):
        changed = False
        excused = 0
        for worker in self.workers:
            answer = worker.ask("/", [self.manager.site], [{}])[0]
            changed |= answer["rows"] != self.answers.get(worker.label)
            self.answers[worker.label] = answer["rows"]
            for level in LEVELS:
                self.counts["comparisons"] += 1
                wrong = program.difference(answer, self.ask(level, worker.rules))
                if not wrong:
                    continue
                if level == "roots" and self.owed and self.cannot_show():
                    excused += 1
                    continue
                self.report(level, worker.label, wrong)
        self.counts["changes"] += changed
        if excused:
            self.say("missed")
        if excused and self.is_hidden():
            self.rest()
        elif not excused:
            self.owed = self.unread = self.in_place = False

    def is_hidden(self):
        """No later change of the site directory would reveal the missed change."""
        return self.carried or self.unread or self.in_place

    def cannot_show(self):
        return (self.stalled or self.unread or self.stamp_on_disk() == self.before
                or self.looks_the_same())

    def looks_the_same(self):
        """The copied tree looks the same as before the step."""
        return self.carried and self.outlines() == self.outlined

    def outlines(self):
        """The sizes and times by which distributions in a copied tree are recognized."""
        found = {}
        for path in glob.glob(f"{self.manager.site}/*.dist-info/*"):
            if os.path.basename(path) in ("METADATA", "entry_points.txt"):
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(path)
                    found[path] = status.st_size, status.st_mtime_ns
        return found

    def stamp_on_disk(self):
        try:
            status = os.stat(self.manager.site)
        except FileNotFoundError:
            return None
        return status.st_mtime_ns, status.st_ctime_ns, status.st_ino

    def stamp_in_database(self):
        """The times of the site directory in the published database."""
        site = self.manager.site
        wanted = "SELECT path, mtime, ctime, inode FROM root WHERE settled"
        with contextlib.suppress(sqlite3.Error):
            for path, *stamp in support.query(self.manager.database, wanted):
                if site.endswith(f"/{path.lstrip('/')}"):
                    return tuple(stamp)
        return None

    def report(self, level, label, wrong):
        lines = [f"{self.name}: stale at {level}, rules of Python {label}: {wrong}"]
        lines += ["  " + " ".join(event) for event in self.events]
        lines.append(f"  on the disk {self.stamp_on_disk()}, before the step {self.before}, "
                     f"in the database {self.stamp_in_database()}, owed: {self.owed}")
        for directory, _, files in os.walk(self.manager.site):
            if "-info" in directory:
                lines.append(f"  {os.path.basename(directory)}: {sorted(files)}")
        self.findings.append("\n".join(lines))
        print(self.findings[-1], flush=True)
        if self.options.keep:
            target = f"{self.options.keep}/{self.name}-{len(self.findings)}"
            subprocess.run(["cp", "-a", self.manager.top, target], check=False)

    def summary(self):
        counts = ", ".join(f"{count} {word}" for word, count in sorted(self.counts.items()))
        return f"{self.name}: {counts}, {len(self.findings)} discrepancies"


def edit_in_place(path):
    """Write in place with the same size, so that only the times of the file change."""
    with open(path, "r+b") as stream:
        text = stream.read()
        stream.seek(0)
        stream.write(edited(text))


def edit_by_rename(path):
    text = support.read_bytes(path)
    support.write(f"{path}.part", edited(text))
    os.rename(f"{path}.part", path)


def edited(text):
    return text.replace(b":v", b":w") if b":v" in text else text.replace(b":w", b":v")


_has_hooks = None


def has_hooks():
    """Does entrydb support --hook? Otherwise plain updates are run."""
    global _has_hooks
    if _has_hooks is None:
        done = subprocess.run([program.default_program(), "--help"], capture_output=True,
                              check=False)
        _has_hooks = b"--hook" in done.stdout
    return _has_hooks


class Result:
    """The result of one manager's history."""

    def __init__(self, name):
        self.name = name
        self.skipped = self.failure = self.history = None

    @property
    def findings(self):
        return self.history.findings if self.history else []

    def run(self, options, interpreters, scratch):
        try:
            managers.MANAGERS[self.name].check()
            self.history = History(managers.MANAGERS[self.name], options, interpreters, scratch)
            self.history.run()
        except Unavailable as reason:
            self.skipped = str(reason)
        except Exception:
            self.failure = traceback.format_exc()

    def __str__(self):
        if self.skipped:
            return f"{self.name}: skipped: {self.skipped}"
        failure = f"\n{self.failure}" if self.failure else ""
        return (self.history.summary() if self.history else self.name) + failure


def run_all(options):
    """Run all managers concurrently; returns name -> Result."""
    interpreters = reference.one_per_minor(reference.interpreters())
    # The oldest and the newest, whose rules differ.
    interpreters = interpreters[:-1][:1] + interpreters[-1:]
    results = {name: Result(name) for name in options.managers}
    if not interpreters:
        for result in results.values():
            result.skipped = "no CPython 3.10 or later runs here"
        return results
    scratch = tempfile.mkdtemp(prefix="entrydb-never-stale-")
    try:
        threads = [threading.Thread(target=result.run, args=(options, interpreters, scratch))
                   for result in results.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return results


def total(options, results, seconds):
    ran = [result.history for result in results.values() if result.history]
    steps, comparisons = (sum(each.counts[what] for each in ran)
                          for what in ("steps", "comparisons"))
    return (f"{steps} steps, {comparisons} comparisons, "
            f"{sum(len(each.findings) for each in ran)} discrepancies, "
            f"seed {options.seed}, {seconds:.0f} s")


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40, help="of each manager")
    parser.add_argument("--pip-steps", type=int, help="of pip, which is slow; default: as others")
    parser.add_argument("--seed", type=int, default=None, help="default: from the clock")
    parser.add_argument("--managers", default=",".join(managers.MANAGERS), help="A,B,...")
    parser.add_argument("--hooks", type=float, default=0.6, help="part of the hooks that run")
    parser.add_argument("--keep", help="where to copy an environment that differs")
    parser.add_argument("--verbose", action="store_true", help="tell each step")
    options = parser.parse_args(arguments)
    options.managers = options.managers.split(",")
    options.seed = int(time.time()) if options.seed is None else options.seed
    return options


def main():
    options = parse()
    print(f"seed {options.seed}; hooks are {'run' if has_hooks() else 'plain updates'}", flush=True)
    began = time.monotonic()
    results = run_all(options)
    for result in results.values():
        print(result)
    print(total(options, results, time.monotonic() - began))
    if any(result.failure or result.findings for result in results.values()):
        return 1
    return 0 if any(result.history for result in results.values()) else 77


if __name__ == "__main__":
    sys.exit(main())
