"""Who finds a database stale has it brought up to date: uv, say, has no hook.

At the end of a process that is accelerated, in an environment that is switched on: `entrydb
update` is started, detached, and nobody waits for it; once a minute and database, where the
process's user owns it and can write it. ENTRYDB_REFRESH=0 and `on --no-refresh` forbid it.
"""

import fcntl
import os
import time

from . import _program

_PAUSE = 60  # seconds


def start(found):
    """found: (path entry, its database) of those that are stale."""
    places = {file: path for path, file in found if _may(file) and _claim(os.path.dirname(os.path.realpath(file)))}
    if places:
        _program.start_detached("update", "--quiet", "--", *places.values())


def _may(file):
    """Its owner alone, who has no more rights than usual, in no place of somebody else's."""
    user, names = os.geteuid(), os.path.realpath(file).split("/")
    owners = {os.stat("/".join(names[:at]) or "/").st_uid for at in range(1, len(names))}
    return os.stat(file).st_uid == user == os.getuid() and owners <= {0, user}


def _claim(directory):
    """Whoever is first, once in a while. What cannot be written raises OSError."""
    mark = os.open(f"{directory}/.refresh", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK,
                   0o600)
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(mark)
        if status.st_size and abs(time.time() - status.st_mtime) < _PAUSE:
            return False
        if status.st_nlink != 1 or status.st_uid != os.geteuid():  # a link that somebody else made
            return False
        os.pwrite(mark, b"\n", 0)
        return True
    finally:
        os.close(mark)
