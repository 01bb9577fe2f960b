"""Whose rights something is done with: those of the user whom it belongs to.

Root works as the owner of what it changes, in a child process that gives its own rights
up for good; anybody else changes only what is theirs.
"""

import os
import pwd
import sys

from . import _files

COULD_NOT = 3


class Refused(Exception):
    """This process is not to do it; the message says why."""


def name(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def act(status, work):
    """work() as the owner that a stat result names; returns what that does, an exit status."""
    if status.st_uid == os.geteuid():
        return work()
    if os.geteuid() != 0:
        raise Refused(f"left alone, as it belongs to {name(status.st_uid)}")
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _end(status, work)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return ended if ended >= 0 else COULD_NOT


def _end(status, work):
    """This process, as its owner; it never returns."""
    code = COULD_NOT
    try:
        _become(status.st_uid, status.st_gid)
        code = work()
    except Exception as error:  # the caller's copy of the stack must not be unwound
        print(f"entrydb: as {name(status.st_uid)}: {_files.printable(str(error))}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _become(uid, gid):
    """A user without an entry in passwd has the group of the directory, and no other."""
    groups, home = [], "/"
    try:
        user = pwd.getpwuid(uid)
    except KeyError:
        pass
    else:
        gid, home = user.pw_gid, user.pw_dir
        groups = os.getgrouplist(user.pw_name, gid)
    os.chdir("/")
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    for key in [key for key in os.environ if key.startswith("XDG_")]:
        del os.environ[key]
    os.environ.update(HOME=home, USER=name(uid), LOGNAME=name(uid))
