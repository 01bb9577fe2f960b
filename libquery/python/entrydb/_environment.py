"""Switches the acceleration of an environment on and off.

While it is on, the site directory contains sitecustomize.py, which Python imports at each start.
Python imports only one module of that name: if there is another one, the site directory contains
entrydb.pth instead, which is slower, and entrydb.start, which Python 3.15 and later use in its place.
All are listed in the distribution's RECORD, so that uninstalling entrydb removes them.
"""

import base64
import hashlib
import os
import pwd
import py_compile
import shlex
import site
import stat
import sys
from importlib.machinery import PathFinder

from . import _files, _program

MODULE = "_entrydb_site.py"
# Modules that an accelerated process, or pip, imports.
LOADED = (MODULE, "_entrydb_replacement.py", "_entrydb_connecting.py", *(f"entrydb/{name}.py" for name in (
    "_accelerated", "_databases", "_metadata_module", "_hook", "_program", "_refresh")))

# site runs it twice in a virtual environment: the second time only the first condition is evaluated.
# Exceptions are caught, since site would print six lines at each start if the module is missing.
PTH_TEXT = ('import sys; "_entrydb_site" in sys.modules or exec("try: __import__'
            '(\'_entrydb_site\').{}()\\nexcept Exception: pass")\n')
START_TEXT = "_entrydb_site:{}\n"
FILES = {"entrydb.start": START_TEXT, "entrydb.pth": PTH_TEXT}

# The same in a single file that begins with the module's source, which saves an import.
SITECUSTOMIZE = "sitecustomize.py"
SITECUSTOMIZE_PARTS = (MODULE, "entrydb/_sitecustomize.py")
SITECUSTOMIZE_SIGN = "# Written by 'python -m entrydb on'; 'off' takes it away.\n"


COULD_NOT = 3


def _group_of(uid):
    """Return the group of a user's account, as group_of() in indexer/databases.c."""
    try:
        return pwd.getpwuid(uid).pw_gid or uid
    except KeyError:
        return uid


class Refused(Exception):
    """The process must not change the environment; the message says why."""


class Environment:
    """The site directory that this package is installed in. on(), off() and status() print their
    result or the reason of a failure, and return an exit status."""

    def __init__(self):
        """Set place: the prefix or site directory to be updated; directory: a descriptor; is_read:
        whether Python runs .pth files of the site directory."""
        package = os.path.dirname(os.path.abspath(__file__))  # its files may be links: uv links them to a cache
        self.path = os.path.realpath(os.path.dirname(package))
        prefix = os.path.realpath(sys.prefix)
        inside = os.path.commonpath([self.path, prefix]) == prefix
        self.place = sys.prefix if inside else self.path
        self.label = _files.printable(self.place)
        self.directory = _files.open_directory(self.path)
        known = map(os.path.realpath, [*site.getsitepackages(), site.getusersitepackages()])
        self.is_read = self.path in known

    def is_on(self):
        return _files.exists(self.directory, "entrydb.pth") or self.has_sitecustomize()

    def has_sitecustomize(self):
        """Return True if sitecustomize.py was written by entrydb."""
        try:
            text = _files.read(self.directory, SITECUSTOMIZE)
        except OSError:
            return False
        return text.startswith(SITECUSTOMIZE_SIGN)

    def on(self, refreshes=True):
        return self._change("on", lambda: self._on(self._files_of_start("start_refreshing" if refreshes else "start")))

    def off(self):
        return self._change("off", self._off)

    def status(self):
        print(f"{self.label}: {'on' if self.is_on() else 'off'}")
        return 0 if self.is_on() else 1

    def _change(self, verb, work):
        try:
            self._check_owner(verb)
            return work()
        except Refused as refusal:
            return self._could_not(refusal)
        except OSError as error:
            return self._could_not(f"{error.filename or 'a file'}: {error.strerror}")

    def _could_not(self, why):
        print(f"entrydb: {self.label}: {_files.printable(str(why))}", file=sys.stderr)
        return COULD_NOT

    def _check_owner(self, verb):
        """Raise Refused unless the effective user owns the site directory, and no third one a directory above."""
        owner = _program.stranger_above(self.directory) or os.fstat(self.directory)
        uid = owner.st_uid
        if uid == os.geteuid():
            return
        command = f"; run: setpriv --reuid={uid} --regid={_group_of(uid)} --clear-groups " \
            f"{shlex.quote(sys.executable)} -m entrydb {verb}"
        raise Refused(f"left alone, as it belongs to user {uid}"
                      + (command if os.geteuid() == 0 else ""))

    def _on(self, files):
        self._record(files)
        for name, text in files.items():
            _files.replace(self.directory, name, text, _files.rights(self.directory, MODULE))
        self._remove_but(files)
        self._compile(name for name in (*LOADED, *files) if name.endswith(".py"))
        print(f"{self.label}: on ({_files.printable(self.path)}/{list(files)[-1]})", flush=True)
        return self._update()

    def _files_of_start(self, function):
        """Return the files, name to text, that switch it on."""
        if not self.is_read:
            raise Refused("Python runs no .pth file of this directory; a program can call "
                          "entrydb.accelerate() itself")
        if self._has_other_sitecustomize():
            return {name: text.format(function) for name, text in FILES.items()}
        parts = [_files.read(self.directory, name) for name in SITECUSTOMIZE_PARTS]
        text = "\n\n".join([SITECUSTOMIZE_SIGN, *parts])
        return {SITECUSTOMIZE: text.replace(".start_refreshing()", f".{function}()")}

    def _has_other_sitecustomize(self):
        """Return True if Python would find another sitecustomize.py, in front of ours or behind it."""
        found = PathFinder.find_spec("sitecustomize")
        if found and os.path.realpath(os.path.dirname(found.origin or "")) != self.path:
            return True
        return _files.exists(self.directory, SITECUSTOMIZE) and not self.has_sitecustomize()

    def _off(self):
        self._remove_but(())
        self._record({})
        print(f"{self.label}: off")
        return 0

    def _remove_but(self, files):
        """Remove the other files that switch it on."""
        ours = [*FILES, *([SITECUSTOMIZE] if self.has_sitecustomize() else [])]
        for name in ours:
            if name not in files:
                _files.remove(self.directory, name)

    def _update(self):
        try:
            return _program.run_beside("update", self.place)
        except OSError as error:
            return self._could_not(f"{_program.PATH}: {error.strerror}; without a database, "
                                   "directories are read for each answer")

    def _compile(self, names):
        """Compile modules. Otherwise the first start would, and change the times of the site directory.
        Skipped if that is of another version of Python, or another user owns the place of the result."""
        free_threaded = "t" if "t" in sys.abiflags else ""
        if f"/python{_program.rules()}{free_threaded}/" not in f"{self.path}/":
            return
        here = f"/proc/self/fd/{self.directory}"
        for name in names:
            directory, _, stem = name.removesuffix(".py").rpartition("/")
            cache = f"{directory}/__pycache__".lstrip("/")
            compiled = f"{here}/{cache}/{stem}.{sys.implementation.cache_tag}.pyc"
            try:
                if all(os.lstat(f"{here}/{each}").st_uid == os.geteuid()
                       for each in (directory, cache) if _files.exists(self.directory, each)):
                    py_compile.compile(f"{here}/{name}", compiled, f"{self.path}/{name}", quiet=2)
            except OSError:
                pass  # only slower

    def _record(self, files):
        """Make RECORD list exactly these of the files that switch it on."""
        for name in os.listdir(self.directory):
            if not (name.startswith("entrydb-") and name.endswith(".dist-info")
                    and stat.S_ISDIR(os.lstat(name, dir_fd=self.directory).st_mode)):
                continue
            info = _files.open_directory(name, self.directory)
            try:
                _list_in_record(info, files)
            except FileNotFoundError:
                pass  # no RECORD, as in packages of Linux distributions
            finally:
                os.close(info)


def _list_in_record(info, files):
    """Update RECORD, unless another user has replaced the directory or RECORD is not a regular file."""
    if os.fstat(info).st_uid != os.geteuid() \
            or not stat.S_ISREG(os.lstat("RECORD", dir_fd=info).st_mode):
        return
    text = _files.read(info, "RECORD")
    ours = {*FILES, SITECUSTOMIZE}
    lines = [line for line in text.split("\n") if line and line.partition(",")[0] not in ours]
    changed = "\n".join([*lines, *(_record_line(*each) for each in files.items()), ""])
    if changed != text:
        _files.replace(info, "RECORD", changed, _files.rights(info, "RECORD"))


def _record_line(name, text):
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"{name},sha256={digest.rstrip('=')},{len(text)}"
