"""Move a tree away and replace it by a copy, as a restored backup or an unpacked archive would.

Files without a name on the disk are skipped. The times of the copy are unchanged (cp -a, rsync -a),
rounded to whole seconds (most archives), or the same for all files (reproducible images).
"""

import os
import subprocess

SECOND = 10 ** 9  # nanoseconds
ONE_TIME = 1      # seconds since 1970, as in Nix and Guix stores


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
    """Set the times of files before those of their directories."""
    for path in every(top):
        time = time_of(os.lstat(path))
        os.utime(path, ns=(time, time), follow_symlinks=False)


def every(top):
    for directory, _, files in os.walk(os.fsencode(top), topdown=False):
        yield from (os.path.join(directory, name) for name in files)
        yield directory
    if os.path.lexists(top) and not os.path.isdir(top):
        yield os.fsencode(top)
