"""Updates stale databases at the end of a process, for installers without a hook, such as uv.

When an accelerated process ends in an environment that is switched on, it starts `entrydb update`
detached: at most once a minute for each database, and only if its user owns it and can write it.
ENTRYDB_REFRESH=0 and `on --no-refresh` disable it.
"""

import fcntl
import os
import time

from . import _program

_PAUSE = 60  # seconds


def start(found):
    """Start the update; found: stale (path entry, database) pairs."""
    places = {file: path for path, file in found if _may(file) and _claim(os.path.dirname(os.path.realpath(file)))}
    if places:
        _program.start_detached("update", "--quiet", "--", *places.values())


def _may(file):
    """Return True if the user owns the file, the process is not set-uid, and all directories above belong
    to the user or root."""
    user, names = os.geteuid(), os.path.realpath(file).split("/")
    owners = {os.stat("/".join(names[:at]) or "/").st_uid for at in range(1, len(names))}
    return os.stat(file).st_uid == user == os.getuid() and owners <= {0, user}


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
