#!/usr/bin/env python3
""".ci/release: complete, and the same bytes from another place, at another time, by another user.

What is released here is the working tree, committed to a repository of the test's own.
"""

import email
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import unittest
import zipfile

import support
from support import TOP, make_directory
from target_root import UPSTREAM

NO_PART = shutil.ignore_patterns("build*", ".git", "__pycache__", "*.pyc")
COMMITTED = 1700000000
LATER = COMMITTED + 86400
SECONDS_ALLOWED = 3600  # of a machine that is busy; the long form allows four hours for all
NO_INDEX = "pip cannot get"
# Of whom, beside us, something is in the wheels.
CARRIED = {"bzip2", "elfutils", "libarchive", "libzstd", "lz4", "sqlite3", "tomlplusplus", "xz-utils", "zlib"}
NOT_TOLD = {"ENTRYDB_HOMEPAGE": "", "ENTRYDB_MAINTAINER": "", "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null"}
OLDEST = (2, 28)  # the GNU C library of RHEL 8; Debian 11 and Ubuntu 20.04 have 2.31


def run(*command, check=True, **how):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=SECONDS_ALLOWED, **how)
    if check and done.returncode:
        raise AssertionError(f"{command}: {done.stdout[-4000:]}")
    return done


def git(repository, *words):
    when = f"{COMMITTED} +0000"
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null",
           "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    return run("git", "-C", repository, "-c", "user.name=Ann", "-c", "user.email=ann@example.org",
               *words, env=env).stdout


def repository(test):
    """A copy of the sources, and nothing else, committed."""
    place = f"{make_directory(test)}/entrydb"
    shutil.copytree(TOP, place, ignore=NO_PART, symlinks=True)
    git(place, "init", "--quiet")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message=all")
    return place


def release(test, place, *words, check=True, **environment):
    """The directory that it filled, or what was said instead."""
    target = f"{make_directory(test)}/out"
    done = run(f"{place}/.ci/release", "--directory", target, *words, check=False,
               env={**os.environ, **UPSTREAM, **environment})
    if NO_INDEX in done.stdout:
        raise unittest.SkipTest(done.stdout.strip().splitlines()[0])
    test.assertEqual(done.returncode == 0, check, done.stdout[-4000:])
    return target if check else done.stdout


def sums(directory):
    with open(f"{directory}/SHA256SUMS", encoding="utf-8") as stream:
        return {name: digest for digest, name in (line.split() for line in stream)}


def write_archives(top):
    """Of each compression that Python's tarfile writes, and a .deb of each that dpkg-deb does."""
    paths = [f"{top}/spam{number}-1.tar.{kind}" for number, kind in enumerate(("gz", "bz2", "xz"))]
    for number, path in enumerate(paths):
        with tarfile.open(path, f"w:{path.rpartition('.')[2]}") as archive:
            archive.add(distribution(f"{top}/{number}", number), "")
    for kind in ("xz", "zstd") if shutil.which("dpkg-deb") else ():
        number = len(paths)
        tree = distribution(f"{top}/{number}", number)
        os.mkdir(f"{tree}/DEBIAN")
        with open(f"{tree}/DEBIAN/control", "w", encoding="ascii") as stream:
            stream.write("Package: spam\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.c>\n"
                         "Description: x\n")
        paths.append(f"{top}/spam{number}.deb")
        run("dpkg-deb", f"-Z{kind}", "--build", tree, paths[-1])
    return paths


def distribution(tree, number):
    """A directory with one distribution, and one entry point of the same name."""
    info = f"{tree}/usr/lib/python3/dist-packages/spam{number}-1.dist-info"
    os.makedirs(info)
    support.write(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: spam{number}\nVersion: 1\n")
    support.write(f"{info}/entry_points.txt", f"[demo]\nspam{number} = spam:main\n")
    return tree


class ReleaseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        missing = [name for name in ("git", "xz") if not shutil.which(name)]
        if missing:
            raise unittest.SkipTest(f"no {' and no '.join(missing)}")
        cls.place = repository(cls)
        cls.assertEqual = unittest.TestCase().assertEqual
        cls.version = re.search(r"project\(entrydb VERSION ([0-9.]+)", support.read(f"{TOP}/CMakeLists.txt"))[1]


class Sources(ReleaseTest):
    """Of what needs no compiler."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.first = release(cls, cls.place, "--sources")

    def test_times_and_owners(self):
        with tarfile.open(f"{self.first}/entrydb-{self.version}.tar.xz") as archive:
            members = archive.getmembers()
        self.assertEqual({(each.mtime, each.uname, each.gname) for each in members},
                         {(COMMITTED, "root", "root")})
        self.assertEqual({each.name.split("/")[0] for each in members}, {f"entrydb-{self.version}"})
        self.assertFalse([each.name for each in members if each.mode & 0o022])

    def test_elsewhere_and_later(self):
        """Another copy, with other times; another user's settings."""
        other = repository(type(self))
        for directory, _, files in os.walk(other):
            for name in files:
                os.utime(f"{directory}/{name}", (LATER, LATER), follow_symlinks=False)
        second = release(type(self), other, "--sources", TMPDIR=make_directory(type(self)), TZ="Asia/Tokyo",
                         LC_ALL="C.UTF-8", XZ_OPT="-9", CFLAGS="-O0")
        self.assertEqual(sums(self.first), sums(second))

    def test_only_committed_files(self):
        with open(f"{self.place}/README.md", "a", encoding="utf-8") as stream:
            stream.write("not committed\n")
        second = release(type(self), self.place, "--sources")
        git(self.place, "checkout", "--quiet", ".")
        self.assertEqual(sums(self.first), sums(second))

    def test_another_commit_differs(self):
        """What the comparisons rest on."""
        other = repository(type(self))
        with open(f"{other}/README.md", "a", encoding="utf-8") as stream:
            stream.write("one line more\n")
        git(other, "commit", "--quiet", "--all", "--message=more")
        self.assertNotEqual(sums(self.first), sums(release(type(self), other, "--sources")))

    def test_for_own_use(self):
        """In a clone without a remote, by a user whom git does not know."""
        with open(f"{release(type(self), self.place, '--sources', **NOT_TOLD)}/entrydb.spec", encoding="utf-8") as stream:
            self.assertIn("https://entrydb.invalid/entrydb/entrydb\n", stream.read())

    @unittest.skipUnless(shutil.which("dpkg-source"), "no dpkg-source: no source package of Debian")
    def test_the_copyright_format_is_not_known(self):
        """What is not the project's to say comes from the machine; where it cannot, that is said."""
        said = release(type(self), self.place, "--sources", check=False,
                       ENTRYDB_DPKG_COPYRIGHT="/dev/null")
        self.assertIn('/dev/null has no line "Format:", which Debian\'s source package needs', said)

    def test_a_full_directory_is_left_alone(self):
        said = run(f"{self.place}/.ci/release", "--directory", self.first, check=False,
                   env={**os.environ, **UPSTREAM})
        self.assertEqual((said.returncode, said.stdout),
                         (1, f".ci/release: {self.first} is not empty\n"))


class Tags(ReleaseTest):
    def test_needs_a_homepage(self):
        git(self.place, "tag", f"v{self.version}")
        said = release(type(self), self.place, "--sources", check=False, **NOT_TOLD)
        git(self.place, "tag", "--delete", f"v{self.version}")
        self.assertIn("set ENTRYDB_HOMEPAGE: HEAD is a release", said)

    def test_of_another_version(self):
        git(self.place, "tag", "v99.0")
        said = release(type(self), self.place, "--sources", check=False)
        git(self.place, "tag", "--delete", "v99.0")
        self.assertIn(f"the tag is v99.0, but the version is {self.version}", said)

    def test_wants_its_changes_told(self):
        other = repository(type(self))
        tag = f"v{self.version}"
        text = support.read(f"{other}/CHANGELOG.md")
        for heading, right in (("Unreleased", False), (f"{self.version}] - 2026-12-01", True)):
            with open(f"{other}/CHANGELOG.md", "w", encoding="utf-8") as stream:
                stream.write(text.replace("## [Unreleased]",
                                          f"## [{heading}{'' if right else ']'}"))
            git(other, "commit", "--quiet", "--allow-empty", "--all", "--message=told")
            git(other, "tag", "--force", tag)
            found = release(type(self), other, "--sources", tag, check=right)
            if not right:
                self.assertIn(f"CHANGELOG.md has no section [{self.version}] with a date", found)


class Carried(unittest.TestCase):
    def test_unreviewed_licence(self):
        """A wheel does not go out with such."""
        directory = make_directory(type(self))
        os.mkdir(f"{directory}/libnew")
        support.write(f"{directory}/libnew/version", "1.0-1")
        done = run(sys.executable, f"{TOP}/.ci/carried.py", directory, directory, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the wheel carries libnew; under which licence has to be said", done.stdout)


@unittest.skipUnless("ENTRYDB_TEST_LONG" in os.environ, "builds the wheels twice: only with --long")
class Whole(ReleaseTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.built_in = make_directory(cls)
        cls.first = release(cls, cls.place, TMPDIR=cls.built_in)
        cls.wheel, cls.musl_wheel = sorted(name for name in sums(cls.first) if name.endswith(".whl"))

    def test_reproducible(self):
        second = release(type(self), repository(type(self)), TMPDIR=make_directory(type(self)),
                         TZ="Asia/Tokyo")
        self.assertEqual(sums(self.first), sums(second))

    def test_sums(self):
        self.assertEqual(set(sums(self.first)), set(os.listdir(self.first)) - {"SHA256SUMS"})
        run("sha256sum", "--strict", "--check", "SHA256SUMS", cwd=self.first)

    def unpacked(self, wheel):
        place = make_directory(type(self))
        with zipfile.ZipFile(f"{self.first}/{wheel}") as archive:
            archive.extractall(place)
        return place

    def test_wheels(self):
        for wheel, platform in ((self.wheel, "manylinux_2_28"), (self.musl_wheel, "musllinux_1_2")):
            self.assertRegex(wheel, rf"^entrydb-{self.version}-cp310-abi3-{platform}_\w+\.whl$")
            place = self.unpacked(wheel)
            self.assertEqual(glob.glob(f"{place}/*.libs"), [])
            for path in filter(os.path.isfile, glob.glob(f"{place}/**", recursive=True)):
                self.assertNotIn(self.built_in.encode(), support.read_bytes(path), path)
            metadata = support.read(f"{place}/entrydb-{self.version}.dist-info/METADATA")
            self.assertIn(f"\nVersion: {self.version}\n", metadata)

    def test_system_requirements_of_the_wheels(self):
        """The C library, of the age that the name says, and nothing else."""
        of_the_system = r"(lib(c|m|dl|pthread)|ld-linux-[\w-]+)\.so\.\d"
        for wheel, libraries in ((self.wheel, of_the_system), (self.musl_wheel, r"libc\.so")):
            place = self.unpacked(wheel)
            files = [f"{place}/entrydb/{name}" for name in ("_native.abi3.so", "bin/entrydb", "bin/entrydb-archive.so")]
            for name in re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-dW", *files).stdout):
                self.assertRegex(name, rf"\A{libraries}\Z")
            versions = set(re.findall(r"GLIBC_(\d+)\.(\d+)", run("readelf", "-VW", *files).stdout))
            self.assertLessEqual(max((tuple(map(int, each)) for each in versions), default=(0,)), OLDEST)
            self.assertEqual(bool(versions), wheel == self.wheel)
            exported = run("nm", "-D", "--defined-only", "--format=posix", files[0], files[2]).stdout
            self.assertEqual(re.findall(r"(?m)^(\w+) ", exported), ["PyInit__native", "entrydb_archive_module"])

    @unittest.skipUnless(glob.glob("/lib/ld-musl-*.so.1"), "no musl here")
    def test_the_program_runs_with_musl(self):
        place = self.unpacked(self.musl_wheel)
        os.chmod(f"{place}/entrydb/bin/entrydb", 0o755)
        [path, *_] = write_archives(place)
        run(f"{place}/entrydb/bin/entrydb", "add", "--db", f"{place}/db", path)
        self.assertIn("spam0", run(f"{place}/entrydb/bin/entrydb", "list", "--db", f"{place}/db").stdout)

    def test_wheel_reads_all_archives(self):
        top = make_directory(type(self))
        run(sys.executable, "-m", "venv", f"{top}/venv")
        run(f"{top}/venv/bin/pip", "install", "--quiet", "--no-index", f"{self.first}/{self.wheel}")
        files = write_archives(top)
        env = {"HOME": top, "PATH": "/usr/bin:/bin"}
        said = run(f"{top}/venv/bin/entrydb", "add", "--db", f"{top}/db", *files,
                   f"{self.first}/entrydb-{self.version}.tar.gz", env=env).stdout
        self.assertNotIn("without a TOML parser", said)
        rows = run(f"{top}/venv/bin/entrydb", "list", "--db", f"{top}/db", env=env).stdout.splitlines()
        self.assertEqual({row.split("\t")[1] for row in rows},
                         {"entrydb", *(f"spam{number}" for number in range(len(files)))})

    def test_licences_of_bundled_libraries(self):
        with zipfile.ZipFile(f"{self.first}/{self.wheel}") as archive:
            content = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
        info = f"entrydb-{self.version}.dist-info"
        metadata = email.message_from_bytes(content[f"{info}/METADATA"])
        stated = metadata.get_all("License-File")
        self.assertEqual(sorted(f"{info}/licenses/{name}" for name in stated),
                         sorted(name for name in content if name.startswith(f"{info}/licenses/")))
        self.assertTrue(metadata["License-Expression"].startswith("MIT AND "))
        self.assertEqual({name.split("/")[0] for name in stated if name.endswith("/copyright")}, CARRIED)
        [listed] = [json.loads(data) for name, data in content.items() if "/sboms/carried" in name]
        self.assertEqual({each["name"] for each in listed["components"]}, CARRIED)
        for each in CARRIED:  # what Debian's file refers to is there, too
            said = content[f"{info}/licenses/{each}/copyright"].decode()
            for name in re.findall(r"/usr/share/common-licenses/(\S*-[\d.]*\d)", said):
                self.assertIn(f"common/{name}", stated)

    def test_sdist(self):
        with tarfile.open(f"{self.first}/entrydb-{self.version}.tar.gz") as archive:
            names = set(archive.getnames())
        for name in ("pyproject.toml", "PKG-INFO", "CMakeLists.txt", "LICENSE", "db/schema.sql",
                     "libquery/python/entrydb/__init__.py"):
            self.assertIn(f"entrydb-{self.version}/{name}", names)

    def test_bill_of_materials(self):
        with open(f"{self.first}/entrydb-{self.version}.spdx.json", encoding="utf-8") as stream:
            document = json.load(stream)
        packages = {each["SPDXID"]: each for each in document["packages"]}
        self.assertEqual(len(packages), len(document["packages"]))
        for each in document["relationships"]:
            self.assertIn(each["relatedSpdxElement"], packages)
        listed = {each["packageFileName"]: each["checksums"][0]["checksumValue"]
                  for each in packages.values() if "packageFileName" in each}
        expected = sums(self.first)
        del expected[f"entrydb-{self.version}.spdx.json"]
        self.assertEqual(listed, expected)
        self.assertTrue([each for each in packages.values() if "sqlite" in each["name"]
                         and "externalRefs" in each])


if __name__ == "__main__":
    support.main()
