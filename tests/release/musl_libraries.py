"""The libraries that this project needs, for musl, and what compiles and links with them.

Debian has musl and its compiler, and no library for it. These are built of the sources of
Debian's own packages, which apt gets from the mirror that this machine uses: static ones, so
that what is linked needs nothing but musl at run time. They are kept in the cache of the tests.
There is no C++ library: a file that needs no more than headers is compiled with those of g++.
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
KERNEL = ("asm", "asm-generic", "linux")  # headers, which are there for all C libraries

# In the sources of each, $P is where its header and library go, $FLAGS what they are compiled with.
BUILDS = {
    "zlib": """
./configure --static && make libz.a
cp libz.a $P/lib && cp zlib.h zconf.h $P/include
""",
    "cmocka": """
musl-gcc $FLAGS -Iinclude -DHAVE_SIGNAL_H -DHAVE_STRINGS_H -DHAVE_UNISTD_H -DHAVE_INTTYPES_H \\
    -DHAVE_STRUCT_TIMESPEC -DHAVE_CLOCK_GETTIME_REALTIME -DHAVE_GCC_THREAD_LOCAL_STORAGE \\
    -c src/cmocka.c
ar rcs $P/lib/libcmocka.a cmocka.o && cp include/*.h $P/include
""",
    "sqlite3": """
./configure --disable-shared --disable-readline --disable-tcl && make sqlite3.c sqlite3.h
musl-gcc $FLAGS -DSQLITE_THREADSAFE=1 -c sqlite3.c
ar rcs $P/lib/libsqlite3.a sqlite3.o && cp sqlite3.h $P/include
""",
    "libarchive": """
off=$(for each in TEST TAR CPIO CAT OPENSSL NETTLE LIBXML2 EXPAT LZMA ZSTD LZ4 BZip2 ICONV ACL XATTR LIBB2 \\
    WERROR; do printf ' -DENABLE_%s=OFF' $each; done)
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \\
    -DCMAKE_FIND_ROOT_PATH=$P -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY \\
    -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY $off
cmake --build build --target archive_static
cp build/libarchive/libarchive.a $P/lib && cp libarchive/archive.h libarchive/archive_entry.h $P/include
""",
    # Of elfutils the one library. Its configure asks for what only its programs need, and musl lacks.
    "elfutils": """
CC=gcc CFLAGS=-O2 ./configure --disable-debuginfod --disable-libdebuginfod
sed -i 's/.*HAVE_ERROR_H.*//' config.h
mkdir objects && cd objects
musl-gcc $FLAGS -std=gnu99 -D_GNU_SOURCE -DHAVE_CONFIG_H -DHAVE_ERR_H "-Drawmemchr(s,c)=memchr(s,c,-1)" \\
    -I.. -I../lib -I../libelf -c ../libelf/*.c ../lib/next_prime.c
ar rcs $P/lib/libelf.a *.o && cp ../libelf/libelf.h ../libelf/gelf.h ../libelf/elf.h $P/include
""",
}
# What each is called by pkg-config, with what it needs in turn.
MODULES = {"sqlite3": "-lsqlite3", "zlib": "-lz", "libelf": "-lelf -lz",
           "libarchive": "-larchive -lz", "cmocka": "-lcmocka"}
VERSIONS = {"sqlite3": "sqlite3", "zlib": "zlib", "libelf": "elfutils",
            "libarchive": "libarchive", "cmocka": "cmocka"}
MODULE = """prefix=${{pcfiledir}}/../..
Name: {name}
Description: for musl
Version: {version}
Libs: -L${{prefix}}/lib {libraries}
Cflags: -I${{prefix}}/include
"""
# gcc, not g++, so that no C++ library is linked; its headers are made for the GNU C library.
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
    """The directory with all of it, made if it is not there."""
    key = hashlib.sha256(support.read_bytes(__file__)).hexdigest()[:8]
    kept = f"{package_cache.cache_directory()}/musl-{debian_root.release()}-{key}"
    with debian_root.locked(kept):
        package_cache.publish(make, kept)
    return kept


def make(prefix):
    for name in ("bin", "include", "lib/pkgconfig", "sources"):
        os.makedirs(f"{prefix}/{name}")
    for name in KERNEL:
        [found] = [path for path in glob.glob(f"/usr/include/{name}") +
                   glob.glob(f"/usr/include/*-linux-gnu/{name}") if os.path.isdir(path)][:1]
        os.symlink(found, f"{prefix}/include/{name}")
    write_compiler(prefix)
    versions = get_sources(f"{prefix}/sources")
    for name, script in BUILDS.items():
        build(prefix, f"{prefix}/sources/{name}", script)
    for name, libraries in MODULES.items():
        support.write(f"{prefix}/lib/pkgconfig/{name}.pc", MODULE.format(
            name=name, version=versions[VERSIONS[name]], libraries=libraries))
    shutil.rmtree(f"{prefix}/sources")
    return True


def write_compiler(prefix):
    version = debian_root.text_of(debian_root.must(["g++", "-dumpversion"])).strip()
    headers = [f"/usr/include/c++/{version}", *glob.glob(f"/usr/include/*-linux-gnu/c++/{version}")]
    path = f"{prefix}/bin/musl-g++"
    support.write(path, COMPILER.format(headers=" ".join(f"-isystem {each}" for each in headers)))
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def get_sources(directory):
    """Unpacked, each below its name; returns their versions."""
    options = debian_root.source_apt(f"{directory}/apt", debian_root.release())
    apt = ["apt-get", "--quiet", *options]
    for words in (["update"], ["source", "--download-only", *BUILDS]):
        done = debian_root.run([*apt, *words], cwd=directory)
        if done.returncode:
            debian_root.skip(f"apt-get {words[0]} of sources: {debian_root.last_line(done)}")
    versions = {}
    for name in BUILDS:
        [file] = glob.glob(f"{directory}/{name}_*.dsc")
        debian_root.must(["dpkg-source", "--no-check", "--extract", file, name], cwd=directory)
        versions[name] = os.path.basename(file).split("_")[1].split("-")[0].split(".dfsg")[0]
    return versions


def build(prefix, sources, script):
    flags = f"-O2 -g -fPIC -isystem {prefix}/include"
    environment = {**debian_root.ENVIRONMENT, "P": prefix, "FLAGS": flags, "CC": "musl-gcc", "CFLAGS": flags,
                   "LDFLAGS": f"-L{prefix}/lib", "PATH": os.environ["PATH"]}
    debian_root.must(["sh", "-ec", script], cwd=sources, env=environment, timeout=SECONDS_ALLOWED)


def configure(directory):
    """This project, to be built in that directory."""
    os.makedirs(directory, exist_ok=True)
    support.write(f"{directory}/toolchain.cmake", TOOLCHAIN.format(place=place()))
    debian_root.must(["cmake", "-S", support.TOP, "-B", directory, "-G", "Ninja", "-DENTRYDB_FLEET=OFF",
                      "-DENTRYDB_WERROR=ON", f"-DCMAKE_TOOLCHAIN_FILE={directory}/toolchain.cmake"],
                     stderr=subprocess.STDOUT)
