"""A free-threaded CPython for the tests: an installed one, or one built from Debian's source package.

Linux distributions do not package one yet. The sources of Debian unstable are fetched from the mirror
of this machine's apt, with separate lists and cache, and built without Debian's patches; the result
is kept in the tests' cache. To get a newer one, delete it there.
"""

import glob
import os
import shutil
import tarfile
import tempfile

import debian_root
import package_cache
import reference

HERE = os.path.dirname(os.path.abspath(__file__))
SUITE = "unstable"
PACKAGES = ("python3.14", "python3.13")  # the first one available on the mirror
TOOLS = ("apt-get", "make", "cc")
SECONDS_ALLOWED = 3600


def interpreter(build):
    """The newest free-threaded interpreter; skips the test if there is none and it cannot be built."""
    place = f"{package_cache.cache_directory()}/python-free-threaded"
    at_hand = reference.free_threaded()
    if not at_hand and build:
        with debian_root.locked(place):
            package_cache.publish(lambda scratch: make(scratch, place), place)
    built = [reference.probe(each) for each in glob.glob(f"{place}/bin/python3.*[0-9]t")]
    found = [*filter(None, built), *at_hand]
    if not found:
        debian_root.skip("no free-threaded CPython is at hand; the long form builds one")
    return found[-1]


def make(scratch, place):
    missing = [each for each in TOOLS if not shutil.which(each)]
    if missing:
        debian_root.skip(f"not installed: {' '.join(missing)}")
    with tempfile.TemporaryDirectory() as work:
        unpack(source(work), work)
        [sources] = glob.glob(f"{work}/Python-*")
        debian_root.must(["./configure", "--quiet", f"--prefix={place}", "--disable-gil",
                          "--without-static-libpython", "--disable-test-modules",
                          "OPT=-O1 -DNDEBUG"], cwd=sources)
        # The tests of the standard library are needed, but not their C extensions.
        for target in ([], ["install", "TEST_MODULES=yes", f"DESTDIR={work}/installed"]):
            debian_root.must(["nice", "make", "--silent", f"-j{os.cpu_count()}", *target],
                             cwd=sources, timeout=SECONDS_ALLOWED)
        for name in os.listdir(f"{work}/installed{place}"):
            shutil.move(f"{work}/installed{place}/{name}", scratch)
    return True


def unpack(archive, work):
    with tarfile.open(archive) as stream:
        stream.extractall(work, filter="data")


# --- the source package ---

def source(work):
    """The archive of the newest available release."""
    apt = debian_root.source_apt(f"{work}/apt", SUITE)
    done = debian_root.run(["apt-get", *apt, "update"])
    if done.returncode:
        debian_root.skip(f"apt-get update: {debian_root.last_line(done)}")
    for package in PACKAGES:
        for version in versions(apt, package):
            done = debian_root.run(["apt-get", *apt, "source", "--download-only",
                                    f"{package}={version}"], cwd=work)
            if done.returncode == 0:
                [archive] = glob.glob(f"{work}/{package}_*.orig.tar.*z")
                return archive
    return debian_root.skip(f"the mirror has none of the sources of {' '.join(PACKAGES)}: "
                            + debian_root.last_line(done))


def versions(apt, package):
    """The versions, newest first."""
    said = debian_root.text_of(debian_root.run(["apt-cache", *apt, "showsrc", "--only-source",
                                                package]))
    found = {line.split()[1] for line in said.splitlines() if line.startswith("Version: ")}
    return sorted(found, key=upstream, reverse=True)


def upstream(version):
    return [int(part) for part in version.partition("-")[0].split(".") if part.isdigit()]
