"""Runs the program with one failing allocation or system call.

failing_memory.c is preloaded to fail an allocation; strace injects a failing system call. Calls before
the program's main() are left alone, since they belong to the dynamic linker.
"""

import dataclasses
import os
import random
import re
import shutil
import subprocess
import unittest

import support

WANTED = os.environ.get("ENTRYDB_TEST_FAULTS") or ("all" if support.LONG else "60")
SEED = int(os.environ.get("ENTRYDB_TEST_SEED") or random.randrange(1 << 32))
DYNAMIC_LINKER_GAVE_UP = (127, "out of memory\n")

HERE = os.path.dirname(os.path.abspath(__file__))

# Calls that can fail, and their errors. EINTR is no failure: the call must be repeated.
ERRORS = {
    "openat": ("EIO", "ENFILE", "EMFILE", "ENOMEM", "EINTR"),
    "openat2": ("EIO", "ENFILE", "EMFILE", "ENOMEM", "EINTR"),
    "open": ("EIO", "ENFILE", "EMFILE", "ENOMEM", "EINTR"),
    "read": ("EIO", "EINTR"),
    "pread64": ("EIO", "EINTR"),
    "getdents64": ("EIO", "ENOMEM"),
    "stat": ("EIO", "ENOMEM"),
    "lstat": ("EIO", "ENOMEM"),
    "fstat": ("EIO", "ENOMEM"),
    "newfstatat": ("EIO", "ENOMEM"),
    "statx": ("EIO", "ENOMEM"),
    "access": ("EIO", "ENOMEM"),
    "faccessat": ("EIO", "ENOMEM"),
    "faccessat2": ("EIO", "ENOMEM"),
    "readlink": ("EIO", "ENOMEM"),
    "readlinkat": ("EIO", "ENOMEM"),
    "getcwd": ("ENOMEM",),
    "lseek": ("EIO",),
    "mmap": ("ENOMEM",),
    "write": ("ENOSPC", "EIO"),  # by stdio; EINTR occurs only after a stop request
    "pwrite64": ("ENOSPC", "EIO", "EINTR"),
    "copy_file_range": ("ENOSPC", "EIO"),
    "ftruncate": ("EIO",),
    "fsync": ("EIO",),
    "fdatasync": ("EIO",),
    "fchmod": ("EIO",),
    "fchown": ("EIO",),
    "mkdir": ("ENOSPC", "EIO"),
    "mkdirat": ("ENOSPC", "EIO"),
    "rename": ("EIO", "ENOSPC"),
    "renameat": ("EIO", "ENOSPC"),
    "renameat2": ("EIO", "ENOSPC"),
    "link": ("EIO",),
    "linkat": ("EIO",),
    "unlink": ("EIO",),
    "unlinkat": ("EIO",),
    "utimensat": ("EIO",),
    "flock": ("ENOLCK", "EINTR"),
    "fcntl": ("ENOLCK",),
    "ioctl": ("EIO",),
    "dup": ("EMFILE",),
    "socketpair": ("EMFILE",),
    "pipe2": ("EMFILE", "ENFILE"),
}

MAIN_BEGINS = '"/dev/null"'  # the first file that main() opens
STRACE = shutil.which("strace")
CALL = re.compile(r"^(\d+) +(\w+)\(")


@dataclasses.dataclass(frozen=True)
class Fault:
    """A failure of allocation number `at`, or of that call of `name` with `error`."""
    at: int
    name: str = ""
    error: str = ""
    stays: bool = False

    def __str__(self):
        if self.name:
            return f"{self.name} number {self.at} fails with {self.error}"
        return f"allocation {self.at} fails" + (", and all that follow" if self.stays else "")

    @property
    def means_nothing(self):
        return self.error == "EINTR"


def build_preload(directory):
    """Compile failing_memory.c; returns the path."""
    path = f"{directory}/failing_memory.so"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-fno-builtin",
                    "-o", path, f"{HERE}/failing_memory.c"], check=True)
    return path


def run(command, env, wrapper=()):
    """The exit status, stdout and stderr, as bytes."""
    return subprocess.run([*wrapper, *command], env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=support.SECONDS_ALLOWED)


def run_with(fault, command, env, preload):
    if fault.name:
        rule = f"inject={fault.name}:error={fault.error}:when={fault.at}"
        wrapper = (STRACE, "-f", "-qq", "-o", "/dev/null", "-e", f"trace={fault.name}", "-e", rule, "--")
        return run(command, env, wrapper)
    env = {**env, "LD_PRELOAD": preload, "FAULT_AT": str(fault.at)}
    if fault.stays:
        env["FAULT_STAYS"] = "1"
    return run(command, env)


def count_allocations(command, env, preload, scratch):
    file = f"{scratch}/allocations"
    run(command, {**env, "LD_PRELOAD": preload, "FAULT_COUNT": file})
    return int(support.read(file))


def calls_of(command, env, scratch):
    """(name, number) of each system call of the program proper, in order. The number counts calls of that
    name in each process, children separately, as strace does; therefore the calls of the dynamic linker
    are skipped in children, too."""
    file = f"{scratch}/calls"
    run(command, env, (STRACE, "-f", "-qq", "-o", file, "--"))
    counts, linking, found, begun = {}, set(), {}, False
    with open(file, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            match = CALL.match(line)
            if not match:
                continue
            process, name = match.groups()
            counts[match.groups()] = number = counts.get((process, name), 0) + 1
            if not begun:
                linking.add((name, number))
            elif name in ERRORS and (name, number) not in linking:
                found[name, number] = None
            begun = begun or (name.startswith("open") and MAIN_BEGINS in line)
    return found


def faults_of(kind, command, env, preload, scratch):
    """A random choice of the failures. memory: each allocation, alone and with all later ones; calls."""
    if kind == "memory":
        count = count_allocations(command, env, preload, scratch)
        every = [Fault(at, stays=stays) for at in range(1, count + 1) for stays in (False, True)]
    else:
        every = [Fault(number, name, error) for name, number in calls_of(command, env, scratch)
                 for error in ERRORS[name]]
    if WANTED == "all" or len(every) <= int(WANTED):
        return every
    return random.Random(f"{SEED} {kind} {len(every)}").sample(every, int(WANTED))


class EachKind:
    """A test for each kind of failure, which calls sweep(kind); mixed into a TestCase."""

    @unittest.skipIf(support.build_type_is_sanitized(), "a sanitizer has its own allocator")
    def test_each_allocation(self):
        self.sweep("memory")

    @unittest.skipUnless(STRACE, "strace is not installed")
    @unittest.skipIf(support.build_type_is_sanitized(), "a sanitizer makes calls of its own")
    def test_each_system_call(self):
        self.sweep("calls")
