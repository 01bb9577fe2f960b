"""Debian roots for other processors, and builds of this project for them.

debootstrap gets the packages from the mirror of this machine's apt. They are unpacked but not
configured, which would take many minutes in an emulator and is not needed. The roots are kept in the
tests' cache. The project is cross-compiled here with Debian's compilers, and runs inside the root:
natively if the processor can, otherwise with qemu, which is registered in a user namespace only
(Linux 6.7 and later), so that the machine is not modified.
"""

import collections
import ctypes
import os
import platform
import shutil
import subprocess

import debian_root
import package_cache
import support

# Debian's architecture, the compiler's triplet, the library directory, the emulator.
Machine = collections.namedtuple("Machine", "name processor libraries emulator")
MACHINES = (Machine("i386", "i686", "i386-linux-gnu", None),
            Machine("arm64", "aarch64", "aarch64-linux-gnu", "aarch64"),
            Machine("s390x", "s390x", "s390x-linux-gnu", "s390x"))
PACKAGES = ("libarchive-dev", "libc6-dev", "libcmocka-dev", "libelf-dev", "libsqlite3-dev",
            "libtomlplusplus-dev", "python3", "zlib1g-dev")
REGISTRATION = "/usr/lib/binfmt.d/qemu-{}.conf"
BINFMT = "/proc/sys/fs/binfmt_misc"
TOOLCHAIN = """
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {processor})
set(CMAKE_SYSROOT {root})
set(CMAKE_C_COMPILER {processor}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER {processor}-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH {root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR chroot {root})
set(ENV{{PKG_CONFIG_SYSROOT_DIR}} {root})
set(ENV{{PKG_CONFIG_LIBDIR}} {root}/usr/lib/{libraries}/pkgconfig:{root}/usr/share/pkgconfig)
"""
ENTER = """
root=$1 registration=$2 shared=$3
shift 3
if [ -n "$registration" ]; then
    mount -t binfmt_misc none {binfmt} && cat "$registration" >{binfmt}/register || exit
fi
for place in /dev /proc $shared; do
    mkdir -p "$root$place" && mount --rbind "$place" "$root$place" || exit
done
exec "$@"
""".format(binfmt=BINFMT)
CLONE_NEWUSER = 0x10000000
BUILD_SECONDS = 3600
EVERYBODY = "0 0 4294967295"


def reason_to_skip(machine):
    if platform.machine() != "x86_64":
        return "which machines are others is known for x86-64 only"
    missing = {f"{tool}-{machine.processor}-linux-gnu" for tool in ("gcc", "g++")
               if not shutil.which(f"{machine.processor}-linux-gnu-{tool}")}
    if machine.emulator and not os.path.exists(REGISTRATION.format(machine.emulator)):
        missing.add("qemu-user-static")
    if missing:
        return f"not installed: {' '.join(sorted(missing))}"
    done = Place(machine, "/").run("true")
    return f"{machine.name}: {debian_root.last_line(done)}" if done.returncode else None


# --- the root ---

def root_of(machine):
    """The directory of the Debian root, created if missing."""
    codename = debian_root.release()
    place = f"{package_cache.cache_directory()}/debian-{codename}-{machine.name}-devel"
    with debian_root.locked(place):
        package_cache.publish(lambda scratch: make_root(machine, codename, f"{scratch}/root"), place)
    return f"{place}/root"


def make_root(machine, codename, root):
    done = debian_root.run(["debootstrap", "--foreign", f"--arch={machine.name}", "--variant=minbase",
                            f"--include={','.join(PACKAGES)}", codename, root,
                            *debian_root.mirrors(codename)])
    if done.returncode:
        debian_root.skip(f"debootstrap for {machine.name}: {debian_root.last_line(done)}")
    unpack_all(root)
    for name in ("passwd", "group"):
        shutil.copy(f"{root}/usr/share/base-passwd/{name}.master", f"{root}/etc/{name}")
    if os.path.islink(f"{root}/proc"):  # debootstrap may leave a link to this machine's /proc
        os.unlink(f"{root}/proc")
        os.mkdir(f"{root}/proc")
    emulator = [f"qemu-{machine.emulator}-static"] if machine.emulator else []
    debian_root.must([*emulator, f"{root}/sbin/ldconfig", "-r", root])
    return True


def unpack_all(root):
    archives = f"{root}{debian_root.ARCHIVES}"
    for name in sorted(os.listdir(archives)):
        if name.endswith(".deb"):
            content = debian_root.must(["dpkg-deb", "--fsys-tarfile", f"{archives}/{name}"],
                                       stderr=subprocess.DEVNULL).stdout
            debian_root.must(["tar", "-C", root, "--keep-directory-symlink", "-xf", "-"], stdin=None,
                             input=content)
    shutil.rmtree(archives)


# --- running programs ---

class Place:
    """A root of another machine, in which some directories of this one are mounted."""

    def __init__(self, machine, root, shared=()):
        self.machine, self.root, self.shared = machine, root, shared

    def run(self, *words, **how):
        """Run a command of this machine, which may start programs of the other."""
        emulator = self.machine.emulator
        registration = REGISTRATION.format(emulator) if emulator else ""
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "sh", self.root,
                   registration, " ".join(sorted(set(self.shared))), *words]
        return debian_root.run(command, preexec_fn=own_users if emulator else None, **how)

    def run_inside(self, *words, **how):
        return self.run("chroot", self.root, *words, **how)


def own_users():
    """A command prefix that creates a user namespace with unchanged users."""
    ready, tell = os.pipe()
    process = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.read(ready, 1)
        for name in ("uid_map", "gid_map"):
            support.write(f"/proc/{process}/{name}", EVERYBODY)
        os._exit(0)
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    os.write(tell, b"x")
    os.waitpid(helper, 0)


def build(machine, root):
    """The build directory, updated to the current sources."""
    place = f"{support.TOP}/build-tests/{machine.name}"
    os.makedirs(place, exist_ok=True)
    toolchain = TOOLCHAIN.format(root=root, **machine._asdict())
    support.write(f"{place}/toolchain.cmake", toolchain)
    cmake = os.environ.get("CMAKE") or "cmake"
    debian_root.must([cmake, "-S", support.TOP, "-B", place, "-G", "Ninja", "-DENTRYDB_WERROR=ON",
                      f"-DCMAKE_TOOLCHAIN_FILE={place}/toolchain.cmake"])
    debian_root.must([cmake, "--build", place], timeout=BUILD_SECONDS)
    return place
