"""Carry a tree away and back: what stands at its place afterwards is another one that looks like it.

What has no name on the disk is left alone. The times of what is copied are kept as it is
(cp -a, rsync -a), to whole seconds (most archives), or are one and the same for all (images
that are built reproducibly).
"""

import os
import subprocess

SECOND = 10 ** 9  # nanoseconds
ONE_TIME = 1      # seconds since 1970, as in the stores of Nix and Guix


def as_it_is(path):
    if not os.path.lexists(path):
        return
    subprocess.run(["cp", "-a", "--", path, f"{path}.carried"], check=True)
    os.rename(path, f"{path}.before")
    os.rename(f"{path}.carried", path)
    subprocess.run(["rm", "-rf", "--", f"{path}.before"], check=True)


def in_whole_seconds(path):
    as_it_is(path)
    set_times(path, lambda status: status.st_mtime_ns // SECOND * SECOND)


def at_one_time(path):
    as_it_is(path)
    set_times(path, lambda status: min(status.st_mtime_ns, ONE_TIME * SECOND))


def set_times(top, time_of):
    """Of files before those of the directories that hold them."""
    for path in every(top):
        time = time_of(os.lstat(path))
        os.utime(path, ns=(time, time), follow_symlinks=False)


def every(top):
    for directory, _, files in os.walk(os.fsencode(top), topdown=False):
        yield from (os.path.join(directory, name) for name in files)
        yield directory
    if os.path.lexists(top) and not os.path.isdir(top):
        yield os.fsencode(top)
