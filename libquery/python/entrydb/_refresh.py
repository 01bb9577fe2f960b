"""Updates stale databases at the end of a process, for installers without a hook, such as uv.

When an accelerated process ends in an environment that is switched on, it starts `entrydb update`
detached: at most once a minute for each database, and only if its user owns it and can write it.
ENTRYDB_REFRESH=0 and `on --no-refresh` disable it.
"""

import fcntl
import os
import stat
import time

from . import _program

_PAUSE = 60  # seconds


def start(found):
    """Start the update; found: stale (path entry, database) pairs."""
    real = ((path, os.path.realpath(file)) for path, file in found)  # once: another user's link may change
    places = {file: path for path, file in real if _may(file) and _claim(os.path.dirname(file))}
    if places:
        _program.start_detached("update", "--quiet", "--", *places.values())


def _may(file):
    """Return True if the user owns the file, and only the user and root can write to the directories above."""
    user = os.geteuid()
    return os.stat(file).st_uid == user and all(_is_safe(each, user) for each in _program.directories_above(file))


def _is_safe(directory, user):
    """As in db/base/trust.c."""
    status = os.stat(directory)
    group = status.st_mode & stat.S_IWGRP and (
        status.st_gid != status.st_uid or "system.posix_acl_access" in os.listxattr(directory))
    return status.st_uid in (0, user) and (
        status.st_mode & stat.S_ISVTX or not (group or status.st_mode & stat.S_IWOTH))


def _claim(directory):
    """Return True for the first process in a while. OSError if the mark cannot be written."""
    mark = os.open(f"{directory}/.refresh", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK,
                   0o600)
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(mark)
        if status.st_size and abs(time.time() - status.st_mtime) < _PAUSE:
            return False
        if status.st_nlink != 1 or status.st_uid != os.geteuid():  # a hard link made by another user
            return False
        os.pwrite(mark, b"\n", 0)
        return True
    finally:
        os.close(mark)
