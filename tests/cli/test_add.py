#!/usr/bin/env python3
"""entrydb add: good and bad archives of every kind.

usage: test_add.py [unittest options]

The program is $ENTRYDB, default build/indexer/entrydb. Tests whose tools are missing (rpmbuild,
dpkg-deb, zstd, a compiler, a package index) are skipped with a message.
"""

import gzip
import json
import lzma
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import zipfile

import archives
import support
from archives import ENTRY_POINTS, ROWS, below, installed, source, write_tar, write_zip
from program import Program
from support import SECONDS_ALLOWED, has_open, processor_seconds, until

DYNAMIC = "dynamic, not knowable without a build"
SITE = "usr/lib/python3/dist-packages"
def needs(command):
    return unittest.skipUnless(shutil.which(command), f"{command} is not installed")


class Case(unittest.TestCase):
    """Each test has its own directory, home and database."""

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="entrydb-add-")
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.program = Program(f"{self.top}/home")
        self.database = f"{self.top}/home/state/entrydb/entry_points.db"

    def path(self, name):
        return f"{self.top}/{name}"

    def run_program(self, *arguments, status=0):
        done = self.program.run(arguments, cwd=self.top)
        self.stderr = done.stderr.decode("utf-8", "surrogateescape")
        self.stdout = done.stdout.decode("utf-8", "surrogateescape")
        self.assertEqual(done.returncode, status, self.stderr)
        return self.stdout

    def add(self, *arguments, status=0):
        return self.run_program("add", *arguments, status=status)

    def settle(self, *paths):
        """Set times that are old enough to be trusted; the change time cannot be set."""
        for path in paths:
            os.utime(path, (1_700_000_000, 1_700_000_000))
        time.sleep(2.1)

    def query(self, text, *values, database=None):
        connection = sqlite3.connect(f"file:{database or self.database}?mode=ro", uri=True)
        try:
            return connection.execute(text, values).fetchall()
        finally:
            connection.close()

    def rows(self, path):
        return self.query("SELECT group_name, name, value FROM entry_points WHERE root = ?", path)

    def distributions(self, path):
        return self.query("SELECT d.name, d.version, d.directory, d.error FROM distribution d "
                          "JOIN root r ON r.id = d.root WHERE r.path = ? ORDER BY position", path)

    def kind(self, path):
        return self.query("SELECT kind FROM root WHERE path = ?", path)[0][0]

    def check(self, path, rows=ROWS, kind="archive", name="spam", version="1.0"):
        self.add(path)
        self.assertEqual(self.rows(path), rows)
        self.assertEqual(self.kind(path), kind)
        self.assertEqual([row[:2] for row in self.distributions(path)], [(name, version)])


class Kinds(Case):
    def test_wheel(self):
        path = write_zip(self.path("spam-1.0-py3-none-any.whl"), installed())
        self.check(path, kind="zip")
        self.assertIn("1 archives, 1 distributions, 2 entry points", self.stderr)
        self.assertRegex(self.query("SELECT record_sha256 FROM distribution")[0][0], "^sha256=.{43}$")

    def test_egg(self):
        path = write_zip(self.path("spam-1.0-py3.egg"), {
            "EGG-INFO/PKG-INFO": archives.metadata(), "EGG-INFO/entry_points.txt": ENTRY_POINTS,
            "spam/__init__.py": "", "spam/cli.py": "", "spam/one.py": ""})
        self.check(path, kind="zip")

    def test_zip_of_another_name(self):
        for name in ("libraries.zip", "application.pyz"):
            self.check(write_zip(self.path(name), installed()), kind="zip")

    def test_zip_without_distributions(self):
        path = write_zip(self.path("photos.zip"), {"a.jpg": b"x"})
        self.add(path)
        self.assertEqual((self.kind(path), self.distributions(path)), ("zip", []))

    def test_tarballs(self):
        for ending in ("tar", "tar.gz", "tgz", "tar.bz2", "tar.xz"):
            with self.subTest(ending):
                self.check(write_tar(self.path(f"tree.{ending}"), installed()))

    @needs("zstd")
    def test_tar_zst(self):
        self.check(write_tar(self.path("tree.tar.zst"), installed()))

    def test_tarball_formats(self):
        for number, tar_format in enumerate((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT,
                                             tarfile.PAX_FORMAT)):
            deep = "d" * 60
            tree = below(f"{deep}/{deep}/ünï/site-packages", installed())
            with self.subTest(tar_format):
                self.check(write_tar(self.path(f"{number}.tar.gz"), tree, tar_format=tar_format))

    def test_member_names_with_leading_dot(self):
        self.check(write_tar(self.path("tree.tar.gz"), below(".", installed())))

    def test_egg_info_file(self):
        path = write_tar(self.path("tree.tar.gz"),
                         {f"{SITE}/spam-1.0.egg-info": archives.metadata().encode()})
        self.check(path, rows=[])

    def test_vendored_copies_are_not_distributions(self):
        tree = below("lib/python3.12/site-packages", installed())
        tree |= below("lib/python3.12/site-packages/spam/_vendor", installed("other", "2"))
        self.check(write_tar(self.path("tree.tar.gz"), tree))

    def test_two_distributions(self):
        tree = below("v/lib/python3.12/site-packages", installed() | installed("other", "2"))
        path = write_tar(self.path("venv.tar.gz"), tree)
        self.add(path)
        self.assertEqual([row[0] for row in self.distributions(path)], ["spam", "other"])
        self.assertEqual(self.rows(path), ROWS + ROWS)

    @needs("zstd")
    def test_conda(self):
        tree = below("site-packages", installed())
        self.check(archives.write_conda(self.path("spam-1.0-py_0.conda"), tree))

    def test_conda_tar_bz2(self):
        tree = {"info/index.json": b"{}"} | below("lib/python3.12/site-packages", installed())
        self.check(write_tar(self.path("spam-1.0-py_0.tar.bz2"), tree))

    @needs("dpkg-deb")
    def test_deb(self):
        for compression in ("gzip", "xz", "zstd", "none"):
            path = archives.write_deb(self.path(f"{compression}.deb"), below(SITE, installed()),
                                      compression)
            if path:
                with self.subTest(compression):
                    self.check(path)

    def test_system_packages_do_not_shadow_one_another(self):
        """Their directories have a '-' in the name."""
        for name in ("spam", "eggs"):
            write_tar(self.path(f"{name}.tar.gz"), below(SITE, {
                f"{name}-1.0.dist-info/METADATA": archives.metadata(name, "1.0").encode(),
                f"{name}-1.0.dist-info/entry_points.txt": f"[demo]\n{name} = {name}:main\n".encode()}))
            self.add(self.path(f"{name}.tar.gz"))
        listed = self.run_program("list", "--db", self.database, "demo").splitlines()
        self.assertEqual(sorted(row.split("\t")[1] for row in listed), ["eggs", "spam"])

    @needs("rpmbuild")
    def test_rpm(self):
        tree = below("usr/lib/python3.12/site-packages", installed())
        self.check(archives.write_rpm(self.path("spam-1-1.noarch.rpm"), tree))

    @needs("zstd")
    def test_pacman(self):
        tree = {".PKGINFO": b"pkgname = spam\n", ".MTREE": b""}
        tree |= below("usr/lib/python3.12/site-packages", installed())
        self.check(write_tar(self.path("spam-1-1-any.pkg.tar.zst"), tree))


class Sources(Case):
    def source(self, files, **options):
        return write_tar(self.path("spam-1.0.tar.gz"), source(files=files, **options))

    def error(self, files):
        path = self.source(files)
        self.add(path)
        self.assertEqual(self.rows(path), [])
        return self.distributions(path)[0][3]

    def test_egg_info(self):
        for where in ("", "src/"):
            with self.subTest(where):
                self.check(self.source({
                    f"{where}spam.egg-info/PKG-INFO": archives.metadata(),
                    f"{where}spam.egg-info/entry_points.txt": ENTRY_POINTS,
                    "pyproject.toml": "[project]\nname = 'spam'\n[project.scripts]\nno = 'no:no'\n",
                    "tests/a/other.egg-info/PKG-INFO": archives.metadata("other"),
                    "tests/a/other.egg-info/entry_points.txt": "[no]\nno = no\n"}))
                os.unlink(self.path("spam-1.0.tar.gz"))

    def test_egg_info_without_entry_points(self):
        self.check(self.source({"spam.egg-info/PKG-INFO": archives.metadata(),
                                "setup.py": "", "setup.cfg": ""}), rows=[])

    def test_zip(self):
        path = write_zip(self.path("spam-1.0.zip"), source(files={
            "spam.egg-info/PKG-INFO": archives.metadata(),
            "spam.egg-info/entry_points.txt": ENTRY_POINTS}))
        self.check(path)

    def test_zip_with_pyproject(self):
        path = write_zip(self.path("spam-1.0.zip"), source(files={
            "pyproject.toml": "[project]\nname = 'spam'\n[project.scripts]\nx = 'y:z'\n"}))
        self.check(path, rows=[("console_scripts", "x", "y:z")])

    def test_pyproject(self):
        text = ("[project]\nname = 'spam'\nversion = '1.0'\n[project.scripts]\nb = 'm:b'\n"
                "a = 'm:a [x]'\n[project.gui-scripts]\ng = 'm:g'\n"
                "[project.entry-points.'z.y']\nk = 'm'\n")
        self.check(self.source({"pyproject.toml": text}), rows=[
            ("console_scripts", "a", "m:a [x]"), ("console_scripts", "b", "m:b"),
            ("gui_scripts", "g", "m:g"), ("z.y", "k", "m")])

    def test_pyproject_precedes_setup_cfg(self):
        self.check(self.source({
            "pyproject.toml": "[project]\nname = 'spam'\n[project.scripts]\na = 'm:a'\n",
            "setup.cfg": "[options.entry_points]\nconsole_scripts =\n  b = m:b\n"}),
            rows=[("console_scripts", "a", "m:a")])

    def test_dynamic(self):
        project = "[project]\nname = 'spam'\n[project.scripts]\na = 'm:a'\n"
        for text in (*(f"[project]\nname = 'spam'\ndynamic = ['version', '{field}']\n"
                       for field in ("entry-points", "scripts", "gui-scripts")),
                     project + "[tool.poetry.scripts]\nb = 'm:b'\n",
                     project + "[tool.poetry.plugins.c]\nd = 'm:d'\n",
                     "[tool.poetry.scripts]\nb = 'm:b'\n"):
            with self.subTest(text):
                self.assertEqual(self.error({"pyproject.toml": text}), DYNAMIC)
                self.assertIn("1 not knowable without a build", self.stderr)
                self.assertEqual(len(self.stderr.splitlines()), 1)
                os.unlink(self.path("spam-1.0.tar.gz"))

    def test_other_dynamic_fields(self):
        text = "[project]\nname = 'spam'\ndynamic = ['version']\n[project.scripts]\na = 'm:a'\n"
        self.check(self.source({"pyproject.toml": text}), rows=[("console_scripts", "a", "m:a")])

    def test_entry_points_only_known_after_a_build(self):
        backend = "[build-system]\nrequires = []\nbuild-backend = '%s'\n"
        setup_cfg = "[options.entry_points]\nconsole_scripts =\n  a = b:c\n"
        for files, who in (({"setup.py": ""}, "setup.py"),
                           ({"setup.cfg": setup_cfg, "setup.py": ""}, "setup.py"),
                           ({"setup.cfg": setup_cfg}, "setup.cfg"),
                           ({"setup.cfg": setup_cfg, "pyproject.toml": backend % "setuptools.build_meta"}, "setup.cfg"),
                           ({"pyproject.toml": backend % "maker.api"}, "the build backend")):
            with self.subTest(files):
                self.assertEqual(self.error(files), f"{who} decides, not knowable without a build")
                os.unlink(self.path("spam-1.0.tar.gz"))

    def test_errors_in_pyproject(self):
        for text, reason in (
                ("[project.entry-points.console_scripts]\na = 'b'\n", "project.scripts"),
                ("[project.entry-points.gui_scripts]\na = 'b'\n", "project.gui-scripts"),
                ("[project.entry-points.a.b]\nc = 'd'\n", "not a string"),
                ("[project.entry-points]\na = 'b'\n", "project.entry-points.a is not a table"),
                ("[project.scripts]\na = 1\n", "not a string"),
                ("[project]\nscripts = 1\n", "not a table"),
                ("project = 1\n", "project is not a table"),
                ("build-system = 1\n", "build-system is not a table"),
                ("[project]\ndynamic = 1\n", "project.dynamic is not an array"),
                ("[project]\ndynamic = [1]\n", "other than strings"),
                ("[project\n", "line 1"),
                ("[project]\nname = 'a'\nname = 'b'\n", "line 3"),
                ("[project.scripts]\n\"a\\nb\" = 'c:d'\n", "cannot express"),
                ("[project.scripts]\n\"a=b\" = 'c:d'\n", "cannot express"),
                ("[project.scripts]\n\"#a\" = 'c:d'\n", "cannot express")):
            with self.subTest(text):
                path = self.source({"pyproject.toml": text})
                self.add(path, status=3)
                error = self.distributions(path)[0][3]
                self.assertTrue(error.startswith("pyproject.toml: "), error)
                self.assertIn(reason, error)
                shown = error.replace("\\", "\\\\")  # messages escape backslashes
                self.assertIn(f"entrydb: {path}: spam-1.0: {shown}", self.stderr)
                os.unlink(path)

    def test_names_without_pkg_info(self):
        tree = {"my-spam-2.1/pyproject.toml": b"[project]\n[project.entry-points.a]\nb = 'c'\n"}
        path = write_tar(self.path("my-spam-2.1.tar.gz"), tree)
        self.check(path, rows=[("a", "b", "c")], name="my-spam", version="2.1")


class Differential(Case):
    """Entry points declared in a source distribution are read as Python's own parsers read them."""

    PYPROJECT = (
        "[project]\nname = 'x'\n",
        "[project]\nname = 'x'\n[project.scripts]\n",
        "[project]\nname = 'x'\nscripts = {b = 'c:d', a = \"e:f\"}\n",
        "project.name = 'x'\nproject.scripts.a = 'b:c'\nproject.gui-scripts.d = 'e:f'\n",
        "[project.entry-points.a]\nb = 'c'\n[project.entry-points]\nd.e = 'f:g'\n",
        "[project]\n[project.entry-points.\"a.b.c\"]\n\"d e\" = '''f:g [h]'''\n",
        "[project.scripts]\n'ü' = \"\\u00fc:main\"\n",
        "[project.scripts]\na = \"\"\"\\\n   b:\\\n   c\"\"\"\n",
        "[project.scripts]\na = ' b:c '\n",
        "# [project.scripts]\n[project]\nname = 'x'\n[tool.x.scripts]\na = 'b'\n",
        "[project.scripts]\na = 'b:c'\n[project.entry-points.z]\nb = 'c'\n[project.gui-scripts]\nq='r'\n",
        "[project.scripts]\r\na = 'b:c'\r\n",
        "[project.entry-points.console]\na = 'b'\n[project.entry-points.console_scripts2]\na = 'b'\n",
    )
    def answer(self, files):
        path = write_tar(self.path("x-1.0.tar.gz"), source("x", files=files))
        self.add(path)
        rows = self.rows(path)
        os.unlink(path)
        return rows

    def test_pyproject(self):
        try:
            import tomllib
        except ImportError:
            self.skipTest("this Python has no tomllib")
        for text in self.PYPROJECT:
            project = tomllib.loads(text).get("project", {})
            groups = dict(project.get("entry-points", {}))
            groups["console_scripts"] = project.get("scripts", {})
            groups["gui_scripts"] = project.get("gui-scripts", {})
            expected = sorted((group, name, value.strip()) for group, points in groups.items()
                              for name, value in points.items())
            with self.subTest(text):
                self.assertEqual(self.answer({"pyproject.toml": text}), expected)


class Catalogue(Case):
    def wheel(self, name, version="1.0", **options):
        return write_zip(self.path(f"{name}-{version}-py3-none-any.whl"),
                         installed(name, version, **options))

    def test_wheel_on_the_path_is_answered_from_the_database(self):
        path = self.wheel("spam")
        self.settle(path)
        self.add(path)
        self.run_program("why", "console_scripts", "spam", "--path", path)
        self.assertIn("not changed since the database", self.stdout)
        self.run_program("list", "--path", path)
        self.assertEqual([line.split("\t")[:3] for line in self.stdout.splitlines()],
                         [list(row) for row in ROWS])

    def test_unchanged_archives_are_skipped(self):
        paths = [self.wheel("spam"), write_tar(self.path("tree.tar.gz"), installed())]
        self.settle(*paths)
        self.add(*paths)
        before = os.stat(self.database).st_ino
        self.add(*paths)
        self.assertIn("2 archives (2 unchanged), 2 distributions", self.stderr)
        self.assertEqual(os.stat(self.database).st_ino, before, "published without a change")

    def test_archive_added_again_is_replaced(self):
        path = self.path("tree.tar.gz")
        write_tar(path, installed("spam", "1.0"))
        self.add(path)
        write_tar(path, installed("spam", "2.0", entry_points="[a]\nb = c\n"))
        self.add(path)
        self.assertEqual(self.rows(path), [("a", "b", "c")])
        self.assertEqual([row[1] for row in self.distributions(path)], ["2.0"])
        self.assertEqual(self.query("SELECT action, old_version, version FROM event ORDER BY id"),
                         [("index", None, None), ("upgrade", "1.0", "2.0"), ("entry-point", None, None),
                          ("entry-point-gone", None, None), ("entry-point-gone", None, None)])

    def test_archive_named_twice_is_read_once(self):
        path = self.wheel("spam")
        self.add(path, f"{self.top}/../{os.path.basename(self.top)}/./spam-1.0-py3-none-any.whl", ".")
        self.assertIn("1 archives,", self.stderr)

    def test_a_directory_is_searched(self):
        os.makedirs(self.path("a/b/c"))
        write_zip(self.path("a/b/c/x-1-py3-none-any.whl"), installed("x", "1"))
        write_tar(self.path("a/y-1.tar.gz"), source("y", "1"))
        os.symlink("b/c/x-1-py3-none-any.whl", self.path("a/link.whl"))
        os.symlink("..", self.path("a/b/up"))
        with open(self.path("a/readme.txt"), "w", encoding="utf-8"):
            pass
        self.add(self.path("a"))
        self.assertIn("3 archives, 3 distributions, 4 entry points", self.stderr)

    def test_bad_archive_does_not_stop_the_others(self):
        os.mkdir(self.path("a"))
        for i in range(5):
            write_zip(self.path(f"a/x{i}-1-py3-none-any.whl"), installed(f"x{i}", "1"))
        support.write(self.path("a/x2-2.tar.gz"), b"garbage")
        self.add(self.path("a"), status=3)
        self.assertEqual(self.stderr.splitlines(), [
            f"entrydb: {self.path('a/x2-2.tar.gz')}: Unrecognized archive format",
            "entrydb: 6 archives, 5 distributions, 10 entry points; 1 could not be read"])

    def test_quiet(self):
        self.add(self.wheel("spam"), "--quiet")
        self.assertEqual(self.stderr, "")
        self.add("nothing.whl", "--quiet", status=3)
        self.assertEqual(self.stderr.count("\n"), 1)

    def test_json(self):
        path = self.wheel("spam")
        lines = self.add(path, "nothing.whl", "--json", status=3).splitlines()
        self.assertEqual([json.loads(line) for line in lines], [
            {"archive": path, "state": "added", "kind": "zip", "distributions": 1,
             "entry_points": 2, "error": None},
            {"archive": "nothing.whl", "state": "failed", "kind": None, "distributions": None,
             "entry_points": None, "error": "No such file or directory"}])

    def test_another_database(self):
        path = self.wheel("spam")
        self.add(path, "--db", "other.db")
        self.assertFalse(os.path.exists(self.database))
        self.run_program("list", "--db", "other.db", "--path", path)
        self.assertEqual(len(self.stdout.splitlines()), 2)

    def test_relative_names_are_stored_absolute(self):
        self.wheel("spam")
        self.add("./spam-1.0-py3-none-any.whl")
        self.assertEqual(self.query("SELECT path FROM root"),
                         [(os.path.realpath(self.path("spam-1.0-py3-none-any.whl")),)])

    def test_forget(self):
        path = self.wheel("spam")
        self.add(path)
        os.chmod(path, 0o600)
        self.run_program("forget", path)
        self.assertEqual(self.query("SELECT * FROM root"), [])
        self.assertEqual(os.stat(self.database).st_mode & 0o777, 0o600)

    def test_usage(self):
        self.add(status=2)
        self.add("x.whl", "--root", "/", status=2)

    def test_interruption(self):
        """Ctrl-C keeps the rows that were published before."""
        path = self.wheel("spam")
        self.add(path)
        bomb = archives.write_huge_tar(self.path("large.tar.gz"), 300_000, installed())
        child = subprocess.Popen([self.program.executable, "add", bomb], env=self.program.env,
                                 stderr=subprocess.PIPE)
        until(lambda: has_open(child, os.path.realpath(bomb)))
        child.send_signal(signal.SIGINT)
        _, stderr = child.communicate(timeout=SECONDS_ALLOWED)
        if child.returncode == 3:
            self.assertIn(b"interrupted", stderr)
            self.assertEqual(self.query("SELECT path FROM root"), [(path,)])
        self.assertEqual(sorted(os.listdir(os.path.dirname(self.database))),
                         ["entry_points.db", "entry_points.db.lock"])


class BadInput(Case):
    def refuse(self, path, reason, status=3):
        """The archive causes one line of error, no row and no crash."""
        self.add(path, status=status)
        lines = self.stderr.splitlines()
        self.assertTrue(lines[0].startswith(f"entrydb: {path}: "), lines)
        self.assertRegex(lines[0], reason)
        self.assertEqual(len(lines), 2, lines)
        self.assertIn("could not be read", lines[1])

    def refuse_archive(self, path, reason):
        self.refuse(path, reason)
        self.assertEqual(self.query("SELECT path FROM root") if os.path.exists(self.database)
                         else [], [])

    def write(self, name, data):
        support.write(self.path(name), data)
        return self.path(name)

    def test_no_such_file(self):
        self.refuse_archive(self.path("x.whl"), "No such file")

    def test_not_a_file(self):
        os.mkfifo(self.path("x.tar.gz"))
        self.refuse_archive(self.path("x.tar.gz"), "not a file")

    def test_empty_and_garbage(self):
        for name in ("a.whl", "a.tar.gz", "a.conda", "a.deb", "a.rpm", "a.egg"):
            for data in (b"", b"x", b"PK", b"!<arch>\n", b"\x1f\x8b", b"\xed\xab\xee\xdb" + bytes(92),
                         b"x" * 4096):
                with self.subTest((name, data[:4])):
                    self.add(self.write(name, data), status=None or self.status_of(name, data))

    def status_of(self, name, data):
        """An ar archive without members is valid and empty."""
        return 0 if data == b"!<arch>\n" and name in ("a.tar.gz", "a.deb", "a.rpm") else 3

    def test_truncated_tarballs(self):
        files = installed(files={"spam/data": os.urandom(300_000)})
        for ending in ("gz", "xz", "bz2", "tar"):
            whole = archives.compressed(archives.tar_bytes(files), ending)
            for length in (len(whole) // 3, len(whole) // 2, 200_000):
                with self.subTest((ending, length)):
                    self.refuse_archive(self.write(f"t.tar.{ending}", whole[:length]),
                                        "(?i)trunc|premature|unexpected|damaged|input|needed")

    @needs("zstd")
    def test_truncated_zst(self):
        whole = archives.compressed(archives.tar_bytes(
            installed(files={"spam/data": os.urandom(300_000)})), "zst")
        self.refuse_archive(self.write("t.tar.zst", whole[:200_000]), "(?i)trunc")

    @needs("dpkg-deb")
    def test_truncated_deb(self):
        path = archives.write_deb(self.path("a.deb"), below(SITE, installed(
            files={"spam/data": os.urandom(300_000)})), "xz")
        whole = support.read_bytes(path)
        self.refuse_archive(self.write("b.deb", whole[:150_000]), "(?i)trunc")

    @needs("zstd")
    def test_truncated_conda(self):
        tree = below("site-packages", installed(files={"spam/data": os.urandom(300_000)}))
        whole = support.read_bytes(archives.write_conda(self.path("a.conda"), tree))
        self.refuse_archive(self.write("b.conda", whole[:150_000]), "Unrecognized archive format")
        pkg = archives.compressed(archives.tar_bytes(tree), "zst")[:150_000]
        self.refuse_archive(write_zip(self.path("c.conda"), {"pkg-c.tar.zst": pkg}), "(?i)trunc")
        self.refuse_archive(write_zip(self.path("d.conda"), {"x": b""}), "no pkg-")

    def test_truncated_wheel(self):
        whole = support.read_bytes(write_zip(self.path("a.whl"), installed()))
        for length in (10, len(whole) // 2, len(whole) - 10):
            with self.subTest(length):
                self.refuse_archive(self.write("b.whl", whole[:length]), "not a zip")

    def encrypt(self, path, member):
        """Set the encryption flag of the member; its content is never read."""
        data = bytearray(support.read_bytes(path))
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(member)
        data[info.header_offset + 6] |= 1
        place = data.index(b"PK\1\2")
        while data[place + 46:place + 46 + len(member)] != member.encode():
            place = data.index(b"PK\1\2", place + 4)
        data[place + 8] |= 1
        return self.write(path[len(self.top) + 1:], bytes(data))

    def test_encrypted_source(self):
        path = write_zip(self.path("a.zip"), source(files={"pyproject.toml": "[project]\n"}))
        self.encrypt(path, "spam-1.0/pyproject.toml")
        self.refuse_archive(path, "encrypted")

    def test_bomb_in_a_tarball(self):
        """16 GiB of zeros compressed to 2 MB, in a member that is not needed."""
        member = tarfile.TarInfo("zeros")
        member.size = 16 << 30
        zeros = lzma.compress(bytes(64 << 20), preset=0)
        path = self.write("bomb.tar.xz", lzma.compress(member.tobuf()) + zeros * 256)
        used = processor_seconds()
        self.refuse_archive(path, "bomb")
        self.assertLess(processor_seconds() - used, 60)

    def test_bomb_packed_twice(self):
        """A bomb inside a bomb is not unpacked to count its bytes."""
        data = gzip.compress(gzip.compress(archives.tar_bytes(below(SITE, installed()))))
        self.refuse_archive(self.write("a.tar.gz", data), "packed more than once")
        header = f"{'data.tar.gz':<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode()
        self.refuse_archive(self.write("a.deb", b"!<arch>\n" + header + data + b"\n"), "packed more than once")

    def test_bomb_declared(self):
        member = tarfile.TarInfo("spam-1.0.dist-info/entry_points.txt")
        member.size = 8 << 30
        data = archives.compressed(member.tobuf() + bytes(10240), "gz")
        self.refuse_archive(self.write("a.tar.gz", data), "larger than 16777216 bytes")

    def test_bomb_in_a_zip(self):
        tree = installed(entry_points=b"[a]\n" + b"\n" * (30 << 20))
        path = write_zip(self.path("a.whl"), tree)
        self.refuse(path, "larger than")

    def test_entry_points_of_100_megabytes(self):
        text = b"[a]\n" + b"".join(b"n%08d = m:a\n" % i for i in range(6_500_000))
        self.assertGreater(len(text), 100_000_000)
        path = write_zip(self.path("a.whl"), installed(entry_points=text), zipfile.ZIP_STORED)
        self.refuse(path, "larger than")
        self.refuse_archive_of(write_tar(self.path("a.tar"), installed(entry_points=text)))

    def refuse_archive_of(self, path):
        self.refuse(path, "larger than")
        self.assertEqual(self.distributions(path), [])

    def test_paths_that_lead_outside(self):
        tree = {"../evil-1.dist-info/METADATA": b"Name: evil\n",
                "/abs-1.dist-info/METADATA": b"Name: evil\n",
                "a/../../x-1.dist-info/METADATA": b"Name: evil\n"} | installed()
        path = write_tar(self.path("a.tar.gz"), tree)
        self.add(path)
        self.assertEqual([row[0] for row in self.distributions(path)], ["spam"])
        self.assertIn("ignored 3 members that are links or lead outside it, such as ../evil",
                      self.stderr)
        self.assertEqual(len(self.stderr.splitlines()), 2)

    def test_paths_that_lead_outside_of_a_zip(self):
        tree = {"../evil-1.dist-info/METADATA": b"Name: evil\n",
                "/abs-1.dist-info/METADATA": b"Name: evil\n"} | installed()
        self.check(write_zip(self.path("a.whl"), tree), kind="zip")

    def test_links_and_devices(self):
        links = []
        for number, (kind, target) in enumerate((
                (tarfile.SYMTYPE, "/etc/passwd"), (tarfile.LNKTYPE, "spam-1.0.dist-info/METADATA"),
                (tarfile.CHRTYPE, ""), (tarfile.FIFOTYPE, ""), (tarfile.DIRTYPE, ""))):
            member = tarfile.TarInfo(f"x{number}-1.0.dist-info/entry_points.txt")
            member.type, member.linkname = kind, target
            links.append(member)
        path = write_tar(self.path("a.tar.gz"), installed(), links=links)
        self.check(path)
        self.assertIn("ignored 2 members that are links", self.stderr)

    @needs("tar")
    def test_links_that_replace_files(self):
        """A hard link to a file in the archive is that file, as in two environments of uv; others are no file."""
        first, second = f"{self.top}/first/{SITE}", f"{self.top}/second/{SITE}"
        archives.write_files(first, installed())
        os.makedirs(f"{second}/spam-1.0.dist-info")
        for name in os.listdir(f"{first}/spam-1.0.dist-info"):
            os.link(f"{first}/spam-1.0.dist-info/{name}", f"{second}/spam-1.0.dist-info/{name}")
        path = self.path("two.tar")
        subprocess.run(["tar", "-cf", path, "-C", self.top, "first", "second"], check=True)
        self.add(path)
        self.assertEqual(sorted(self.rows(path)), sorted(ROWS * 2))
        os.unlink(f"{first}/spam-1.0.dist-info/entry_points.txt")
        os.symlink("/etc/passwd", f"{first}/spam-1.0.dist-info/entry_points.txt")
        subprocess.run(["tar", "-rf", path, "-C", self.top, "first"], check=True)
        self.add(path)
        self.assertEqual(self.rows(path), ROWS)

    @needs("cpio")
    def test_hard_links_in_an_rpm(self):
        """Of two names of a file, the second one has the content."""
        first = f"{self.top}/files/{SITE}"
        archives.write_files(first, installed())
        shutil.copytree(first, f"{self.top}/files/usr/lib/python3.9/site-packages", copy_function=os.link)
        path = self.path("a.cpio")
        with open(path, "wb") as stream:
            subprocess.run("find . -type f | cpio -o -H newc --quiet", shell=True, cwd=f"{self.top}/files", stdout=stream, check=True)
        self.add(path)
        self.assertEqual(sorted(self.rows(path)), sorted(ROWS * 2))

    def test_large_tarball_is_no_image(self):
        tree = below(SITE, installed()) | {f"usr/share/{number}": b"" for number in range(100_001)}
        self.check(write_tar(self.path("root.tar"), tree, tar_format=tarfile.GNU_FORMAT))

    def test_two_payloads(self):
        """dpkg installs the first."""
        members = {"debian-binary": b"2.0\n", "data.tar": archives.tar_bytes(below(SITE, installed())),
                   "data.tar.": archives.tar_bytes(below(SITE, installed(entry_points="[other]\nx = y\n")))}
        content = b"".join(f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode() + data for name, data in members.items())
        self.check(self.write("a.deb", b"!<arch>\n" + content))

    def test_not_utf8(self):
        for name, write in (("a.whl", write_zip), ("a.tar.gz", write_tar)):
            with self.subTest(name):
                path = write(self.path(name), installed(entry_points=b"[a]\nb = \xff\n"))
                self.refuse(path, "not valid UTF-8")
                self.assertEqual(self.rows(path), [])

    def test_names_not_utf8(self):
        member = tarfile.TarInfo("caf\udce9/spam-1.0.dist-info/METADATA")
        raw = archives.tar_bytes({}, tar_format=tarfile.USTAR_FORMAT)
        header = member.tobuf(tarfile.USTAR_FORMAT, "utf-8", "surrogateescape")
        path = self.write("a.tar", header + raw)
        self.add(path)
        self.assertEqual(self.query("SELECT count(*), hex(substr(directory, 4, 1)) "
                                    "FROM distribution")[0][0], 1)

    def test_nul(self):
        path = write_zip(self.path("a.whl"), installed(entry_points=b"[a]\nb = c\0d\n"))
        self.add(path)
        self.assertEqual(len(self.rows(path)), 1)
        path = write_tar(self.path("a-1.tar.gz"), source("a", "1", files={
            "pyproject.toml": b"[project]\nname = 'a\0'\n"}))
        self.add(path, status=3)
        path = write_tar(self.path("b-1.tar.gz"), source("b", "1", files={
            "setup.cfg": b"[options.entry_points]\na\0 = b\0=c\0\n"}))
        self.add(path)

    def test_a_million_members(self):
        for path in (archives.write_huge_zip(self.path("a.whl"), 1_000_000, installed()),
                     archives.write_huge_tar(self.path("a.tar.gz"), 1_000_000, installed())):
            with self.subTest(path):
                began = time.monotonic()
                self.check(path, kind="zip" if path.endswith("whl") else "archive")
                print(f"{os.path.basename(path)}, 1,000,000 members: "
                      f"{time.monotonic() - began:.2f} s", file=sys.stderr)

    def test_too_many_members(self):
        some = gzip.compress(tarfile.TarInfo("a.py").tobuf() * 100_000, 1)
        path = self.write("a.tar.gz", some * 42)
        self.refuse_archive(path, "more than 4,194,304 members")

    def test_last_of_duplicate_members_counts(self):
        first, second = installed(entry_points="[a]\nb = c\n"), installed()
        whole = archives.tar_bytes(first)
        end = whole.rstrip(b"\0")
        padded = end + bytes(-len(end) % 512)
        path = self.write("a.tar", padded + archives.tar_bytes(second))
        self.check(path)

    def test_a_member_replaced_by_a_directory(self):
        self.check(write_tar(self.path("a.tar.gz"), {"spam-1.0.dist-info": b""} | installed()))


if __name__ == "__main__":
    support.main()
