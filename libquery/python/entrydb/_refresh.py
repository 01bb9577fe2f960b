"""Updates stale databases at the end of a process, for installers without a hook, such as uv.

When an accelerated process ends in an environment that is switched on, it starts `entrydb update`
detached: at most once a minute for each database, and only if its user owns it.
ENTRYDB_REFRESH=0 and `on --no-refresh` disable it.
"""

import os
import time

from . import _program

_PAUSE = 60          # seconds
_LONG_AGO = 10 ** 9  # 0 becomes the year 1980 on some file systems


def start(found):
    """Start the update; found: stale (path entry, database) pairs. The program judges whether others can write there."""
    claimed = set(filter(_claim, {file for _, file in found}))
    places = [path for path, file in found if file in claimed]
    if places:
        _program.start_detached("update", "--quiet", "--", *places)


def _claim(file):
    """Return True for the first process of the database's owner in a while.

    Nothing is created and nothing written: the directory may be another user's, and the file anything. Only the
    times of the lock file change; its time of access, 0, shows that the other one is that of a claim.
    """
    directory = None
    try:
        place, name = os.path.split(file)
        directory = os.open(place, os.O_PATH | os.O_DIRECTORY)  # links on the way may be switched meanwhile
        if _program.stranger_above(directory) or os.fstat(directory).st_uid not in (0, os.geteuid()):
            return False
        lock = os.open(f"{name}.lock", os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
        try:
            os.lockf(lock, os.F_TLOCK, 0)  # not flock(), as the writer does
            status, now = os.fstat(lock), time.time()
            if status.st_nlink != 1 or {status.st_uid, os.stat(name, dir_fd=directory).st_uid} != {os.geteuid()} \
                    or status.st_atime < _LONG_AGO and abs(now - status.st_mtime) < _PAUSE:
                return False
            os.utime(lock, (0, now))
            return True
        finally:
            os.close(lock)
    except OSError:  # the system's lock, for instance; or another process claims it
        return False
    finally:
        if directory is not None:
            os.close(directory)
