"""The libraries that the project needs, built for musl, with a compiler for them.

Debian packages musl and its compiler, but no library for it. .ci/libraries builds static ones, as for
wheels, so that programs need only musl at run time. They are kept in the tests' cache. There is no C++
library: a C++ file that needs only headers is compiled with those of g++.
"""

import glob
import hashlib
import os
import shutil
import stat
import subprocess

import debian_root
import package_cache
import support

TOOLS = {"musl-gcc": "musl-tools", "g++": "g++", "cmake": "cmake", "ninja": "ninja-build", "tclsh": "tcl",
         "dpkg-source": "dpkg-dev"}
KERNEL = ("asm", "asm-generic", "linux")  # kernel headers, the same for all C libraries
PACKAGES = ("zlib", "cmocka", "sqlite3", "libarchive", "elfutils")
SCRIPT = f"{support.TOP}/.ci/libraries"
# gcc rather than g++, so that no C++ library is linked; the g++ headers are for the GNU C library.
COMPILER = """#!/bin/sh
exec musl-gcc "-D__GLIBC_PREREQ(a,b)=0" -fno-exceptions "$@" {headers}
"""
TOOLCHAIN = """
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_CXX_COMPILER {place}/bin/musl-g++)
set(CMAKE_C_FLAGS_INIT "-isystem {place}/include")
set(CMAKE_FIND_ROOT_PATH {place})
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{{PKG_CONFIG_LIBDIR}} {place}/lib/pkgconfig)
"""
SECONDS_ALLOWED = 3600


def reason_to_skip():
    missing = {package for tool, package in TOOLS.items() if not shutil.which(tool)}
    return f"not installed: {' '.join(sorted(missing))}" if missing else None


def place():
    """The directory with all of it, created if missing."""
    key = hashlib.sha256(support.read_bytes(__file__) + support.read_bytes(SCRIPT)).hexdigest()[:8]
    kept = f"{package_cache.cache_directory()}/musl-{debian_root.release()}-{key}"
    with debian_root.locked(kept):
        package_cache.publish(make, kept)
    return kept


def make(prefix):
    for name in ("bin", "include"):
        os.mkdir(f"{prefix}/{name}")
    for name in KERNEL:
        [found] = [path for path in glob.glob(f"/usr/include/{name}") +
                   glob.glob(f"/usr/include/*-linux-gnu/{name}") if os.path.isdir(path)][:1]
        os.symlink(found, f"{prefix}/include/{name}")
    write_compiler(prefix)
    debian_root.must([SCRIPT, prefix, *PACKAGES], env={**os.environ, "CC": "musl-gcc"}, timeout=SECONDS_ALLOWED)
    return True


def write_compiler(prefix):
    version = debian_root.text_of(debian_root.must(["g++", "-dumpversion"])).strip()
    headers = [f"/usr/include/c++/{version}", *glob.glob(f"/usr/include/*-linux-gnu/c++/{version}")]
    path = f"{prefix}/bin/musl-g++"
    support.write(path, COMPILER.format(headers=" ".join(f"-isystem {each}" for each in headers)))
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def configure(directory):
    """Configure a build of this project in that directory."""
    os.makedirs(directory, exist_ok=True)
    support.write(f"{directory}/toolchain.cmake", TOOLCHAIN.format(place=place()))
    debian_root.must(["cmake", "-S", support.TOP, "-B", directory, "-G", "Ninja", "-DENTRYDB_FLEET=OFF",
                      "-DENTRYDB_WERROR=ON", f"-DCMAKE_TOOLCHAIN_FILE={directory}/toolchain.cmake"],
                     stderr=subprocess.STDOUT)
