"""A directory as another host sees it over a slow network: a mount of far.c."""

import ctypes
import os
import shlex
import struct
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REQUESTS = ("look", "link", "list", "open", "read")
COUNTS = struct.Struct(f"{len(REQUESTS)}Q")
MNT_DETACH = 2
PATIENCE = 60  # seconds


def why_not():
    """The reason why FUSE mounts are impossible here; None if they work."""
    if os.geteuid() != 0:
        return "only root can mount"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"no FUSE: {error}"
    return None


def build(directory):
    """Compile far.c in the directory; returns the program."""
    target = f"{directory}/far"
    if not os.path.exists(target):
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-pthread",
                        f"{HERE}/far.c", "-o", target], check=True)
    return target


def nfs4_list(*entries):
    """RFC 7530, 6.2.1. @entries: (type, rights, who)."""
    return struct.pack(">L", len(entries)) + b"".join(
        struct.pack(">4L", kind, 0, rights, len(who)) + who.encode() + bytes(-len(who) % 4)
        for kind, rights, who in entries)


class CannotMount(Exception):
    pass


class Far:
    """Mounts @directory at @point: each request takes @delay seconds, and the kernel caches answers for
    @memory seconds. @user: as whose mount it counts. @closed: others may not enter it."""

    def __init__(self, program, directory, point, delay=0.0, memory=1.0, user=None, lists=False,
                 closed=False):
        os.makedirs(point, exist_ok=True)
        self.point, self.counts = point, f"{point}.counts"
        self.process = subprocess.Popen([program, directory, point, str(int(delay * 1e6)), str(memory), self.counts],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        env={**os.environ, **({} if user is None else {"FAR_USER": str(user)}),
                                             **({"FAR_LISTS": "1"} if lists else {}),
                                             **({"FAR_CLOSED": "1"} if closed else {})})
        end = time.monotonic() + PATIENCE
        while not os.path.ismount(point):
            if self.process.poll() is not None or time.monotonic() > end:
                self.unmount()
                raise CannotMount(f"no FUSE: {self.why}")
            time.sleep(0.002)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.unmount()

    def requests(self):
        with open(self.counts, "rb") as file:
            return dict(zip(REQUESTS, COUNTS.unpack(file.read())))

    def unmount(self):
        if ctypes.CDLL(None).umount2(os.fsencode(self.point), MNT_DETACH) != 0:
            self.process.kill()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:  # a file of it is still open
            self.process.kill()
            self.process.wait()
        with self.process.stderr as stream:
            self.why = stream.read().decode(errors="replace").strip()
