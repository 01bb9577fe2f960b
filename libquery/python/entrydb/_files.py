"""Files in directories that other users may write to as well.

A directory is opened once and used by its descriptor, so that replacing it, for instance by a
symbolic link, has no effect.
"""

import os
import re
import stat

# Characters that are escaped for terminals, as in db/base/escape.h.
_CONTROLS = re.compile("[\\\\\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
                       "\ud800-\udfff]")


def printable(name):
    """Return an untrusted name, escaped for terminals like in the program."""
    return _CONTROLS.sub(_escaped, name)


def _escaped(found):
    code = ord(found[0])
    if code == ord("\\"):
        return r"\\"
    is_byte = 0xdc80 <= code <= 0xdcff  # a byte that is not valid UTF-8
    return f"\\x{code & 0xff:02x}" if code < 0x80 or is_byte else f"\\u{code:04x}"


def open_directory(name, parent=None):
    """Return a descriptor of a directory; OSError for a symbolic link."""
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)


def exists(directory, name):
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def rights(directory, name):
    """Return the permissions of a file, without those to execute and those of others to write, and its group."""
    status = os.stat(name, dir_fd=directory)
    return stat.S_IMODE(status.st_mode) & 0o644, status.st_gid


def read(directory, name):
    """Return the text of a regular file; FileNotFoundError for other types."""
    file = os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=directory)
    with open(file, encoding="utf-8", errors="surrogateescape", newline="") as stream:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise FileNotFoundError(name)
        return stream.read()


def replace(directory, name, text, like=(0o644, 0)):
    """Replace a file atomically, since an interpreter may start at any time. like: its rights()."""
    temporary = f".{name}.{os.urandom(6).hex()}"
    try:
        _create(directory, temporary, text, *like)
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException as error:
        remove(directory, temporary)
        if isinstance(error, OSError):
            error.filename = name  # not the temporary one
        raise
    os.fsync(directory)


def _create(directory, name, text, permissions, group):
    """Create a file for the users whom its permissions and group mean, also in a set-group-ID directory."""
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600,
                   dir_fd=directory)
    with open(file, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
        stream.write(text)
        stream.flush()
        if os.fstat(file).st_gid != group and permissions & 0o044 in (0o040, 0o004):
            try:
                os.fchown(file, -1, group)
            except PermissionError:
                permissions &= ~0o044
        os.fchmod(file, permissions)
        os.fsync(file)


def remove(directory, name):
    """Remove a file, or a symbolic link itself, if it exists."""
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        pass
