#!/usr/bin/env python3
"""Native plugins: whether they would load, their kinds, and where their hosts find them.

The shared objects are those of tests/fixtures, built in ENTRYDB_TEST_PLUGINS.
"""

import hashlib
import importlib.util
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import unittest

import support
from archives import described, write_conda, write_tar, write_zip
from support import (COULD_NOT, DONE, NOT_FOUND, STRANGER, USAGE, CommandTest, add_distribution,
                     needs_root, query, write)

FIXTURES = os.environ.get("ENTRYDB_TEST_PLUGINS") or f"{support.TOP}/build/tests/fixtures"
MACHINE_AT = 18   # e_machine in an ELF header
WHOLE = 64 << 20  # bytes of an object: the limit for unpacking it into memory, or for keeping it of a tarball
AARCH64, X86_64 = 183, 62
TOWEL = "[towel]\nsymbol = towel_*_entry towel_plugin_version\nname = kind_*\n"


def fixture(name):
    return support.read_bytes(f"{FIXTURES}/{name}")


def of_another_machine(image):
    machine = X86_64 if image[MACHINE_AT] == AARCH64 else AARCH64
    return image[:MACHINE_AT] + machine.to_bytes(2, "little") + image[MACHINE_AT + 2:]


def of_a_later_libc(image):
    """It requires a version of the C library that does not exist."""
    version = re.search(rb"\0GLIBC_2\.(\d+(\.\d+)?)\0", image)[0]
    return image.replace(version, version.replace(b"_2.", b"_9."))


class PluginTest(CommandTest):
    def install(self, name, files, text=""):
        """Install a distribution with these files (path -> bytes), all listed in its RECORD."""
        info = add_distribution(self.site, name, text=text)
        for path, content in files.items():
            os.makedirs(os.path.dirname(os.path.normpath(f"{self.site}/{path}")), exist_ok=True)
            write(os.path.normpath(f"{self.site}/{path}"), content)
        write(f"{info}/RECORD", "".join(f"{path},,\n" for path in files))

    def plugins(self, *arguments, status=DONE, path=None):
        return self.run_program("plugins", "--json", "--path", path or self.site, *arguments, status=status).objects

    def both_ways(self, *arguments):
        """The answer from the disk, which must equal the one from the database."""
        found = self.plugins(*arguments)
        self.index()
        self.assertEqual(self.plugins(*arguments), found)
        return found


class WouldItLoad(PluginTest):
    """The targets of entry points are judged together with the libraries that they need."""

    def judge(self, files, module="pkg.outer", attr="AdbcDriverInit"):
        self.install("pkg", files, text=f"[g]\nn = {module}:{attr}\n")
        first = self.list("--json", "g", status=DONE).objects[0]
        self.index()
        self.assertEqual(self.list("--json", "g", status=DONE).objects[0], first)
        return first

    def test_library_beside_it(self):
        found = self.judge({"pkg/outer.so": fixture("outer.so"), "pkg/deps/libinner.so": fixture("libinner.so")})
        self.assertEqual((found["kind"], found["state"], found["missing"]), ("native", "ok", None))
        self.assertRegex(found["build_id"], r"\A[0-9a-f]{40}\Z")
        self.assertRegex(found["glibc"], r"\A2\.\d+")
        self.assertEqual(found["size"], len(fixture("outer.so")))

    def test_library_is_missing(self):
        found = self.judge({"pkg/outer.so": fixture("outer.so")})
        self.assertEqual((found["kind"], found["state"]), ("native", "missing-dependency"))
        self.assertEqual(found["missing"], "libinner.so")
        self.assertIn("missing      libinner.so", self.run_program("why", "g", "n", "--path", self.site).out)
        self.assertIn(("missing-dependency",), query(self.database, "SELECT state FROM target"))
        # The library may be installed later, without a change to this package.
        os.makedirs(f"{self.site}/pkg/deps")
        write(f"{self.site}/pkg/deps/libinner.so", fixture("libinner.so"))
        self.assertEqual(self.list("--json", "g").objects[0]["state"], "ok")

    def test_verify_checks_libraries_again(self):
        self.judge({"pkg/outer.so": fixture("outer.so"), "pkg/deps/libinner.so": fixture("libinner.so")})
        self.run_program("verify", self.prefix, status=DONE)
        os.unlink(f"{self.site}/pkg/deps/libinner.so")
        reply = self.run_program("verify", self.prefix, status=NOT_FOUND)
        self.assertIn("pkg-1.0.dist-info: the targets of its entry points have changed", reply.out)
        self.assertIn("pkg-1.0.dist-info: its plugins have changed", reply.out)

    def test_python_by_a_library(self):
        found = self.judge({"pkg/outer.so": fixture("outer_python.so"),
                            "pkg/deps/libinner_python.so": fixture("libinner_python.so")})
        self.assertEqual((found["kind"], found["state"], found["python_by"]),
                         ("extension", "ok", "libinner_python.so"))

    def test_symbols_of_a_host(self):
        found = self.judge({"pkg/outer.so": fixture("undefined.so")}, attr="entry")
        self.assertEqual((found["kind"], found["state"], found["undefined"]),
                         ("native", "needs-host", "missing_from_everywhere"))

    def test_another_machine(self):
        found = self.judge({"pkg/outer.so": of_another_machine(fixture("native.so"))}, attr="entry")
        self.assertEqual((found["kind"], found["state"]), ("unresolved", "wrong-architecture"))
        self.assertRegex(self.run_program("why", "g", "n", "--path", self.site).out, "made for +(aarch64|x86-64)")

    def test_later_libc(self):
        found = self.judge({"pkg/outer.so": of_a_later_libc(fixture("outer.so")),
                            "pkg/deps/libinner.so": fixture("libinner.so")})
        self.assertEqual(found["state"], "missing-dependency")
        self.assertRegex(found["missing"], r"\AGLIBC_9\.")
        self.assertRegex(found["glibc"], r"\A9\.")

    def test_wheel_that_is_not_installed(self):
        wheel = f"{self.top}/pkg-1.0-py3-none-any.whl"
        for files, expected in (
                ({"pkg/deps/libinner.so": fixture("libinner.so")}, ("native", "ok", None)),
                ({}, ("native", "missing-dependency", "libinner.so"))):
            tree = {"pkg/outer.so": fixture("outer.so"),
                    "pkg-1.0.dist-info/METADATA": support.metadata("pkg", "1.0"),
                    "pkg-1.0.dist-info/entry_points.txt": "[g]\nn = pkg.outer:AdbcDriverInit\n"} | files
            tree["pkg-1.0.dist-info/RECORD"] = "".join(f"{path},,\n" for path in tree)
            write_zip(wheel, tree)
            self.run_program("add", "--db", f"{self.top}/wheels.db", wheel, status=DONE)
            found = self.run_program("list", "--json", "--db", f"{self.top}/wheels.db", status=DONE).objects[0]
            self.assertEqual((found["kind"], found["state"], found["missing"]), expected)


class AgainstTheLinker(PluginTest):
    """Three libraries, each needing the next, in different directories: the verdict is the dynamic linker's."""
    TAGS = {"rpath": "--disable-new-dtags", "runpath": "--enable-new-dtags"}
    PATHS = (None, "$ORIGIN", "$ORIGIN/../b", "$ORIGIN/../b:${ORIGIN}/../c")

    def build(self, path, needs, tag, run_path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        name = os.path.basename(path).removesuffix(".so")
        options = [f"-Wl,{self.TAGS[tag]}", f"-Wl,-rpath,{run_path}"] if run_path else []
        source = f"{self.top}/{name}.c"
        write(source, f"int {name}(void) {{ return 0; }}\n")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined",
                        f"-Wl,-soname,{name}.so", "-o", path, source, *needs, *options], check=True)

    def ask_the_linker(self, path):
        """The library that the dynamic linker does not find; None if it finds all."""
        done = subprocess.run([sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", path],
                              env=support.environment(self.home), capture_output=True, text=True, check=False)
        return re.search(r"OSError: (\S+): cannot open shared object", done.stderr)[1] if done.returncode else None

    def test_run_paths(self):
        first, second, third = (f"{self.site}/pkg/{place}/{place}.so" for place in "abc")
        self.build(third, [], "runpath", None)
        self.install("pkg", {}, text="[g]\nn = pkg.a.a:a\n")
        answers = set()
        for tag in self.TAGS:
            for others in self.PATHS:
                self.build(second, [third], tag, others)
                for own in self.PATHS:
                    self.build(first, [second], tag, own)
                    row = self.run_program("list", "--json", "g", "--path", self.site, status=DONE).objects[0]
                    expected = self.ask_the_linker(first)
                    self.assertEqual(row["missing"], expected, f"{tag} {own} {others}")
                    self.assertEqual(row["state"], "missing-dependency" if expected else "ok")
                    answers.add((tag, expected))
        self.assertEqual(len(answers), 6)  # the first, the second or no library is missing, with each of two tags


class LargeObjects(PluginTest):
    """Archives are judged by the objects that pip would install, however large these are."""
    FACTS = ("kind", "state", "symbol", "build_id", "size", "glibc", "missing")

    def facts(self, *arguments):
        found = self.run_program("list", "--json", *arguments, status=DONE).objects[0]
        return {key: found[key] for key in self.FACTS}

    def check(self, image, state="ok"):
        files = {"pkg/outer.so": image, "pkg/deps/libinner.so": fixture("libinner.so")}
        tree = described(files, "pkg", entry_points="[g]\nn = pkg.outer:AdbcDriverInit\n")
        wheel = write_zip(f"{self.top}/pkg-1.0-py3-none-any.whl", tree)
        self.install("pkg", files, text="[g]\nn = pkg.outer:AdbcDriverInit\n")
        self.run_program("add", "--db", f"{self.top}/wheels.db", wheel, status=DONE)
        found = self.facts("--db", f"{self.top}/wheels.db")
        self.assertEqual(found, self.facts("--path", self.site))
        self.assertEqual((found["state"], found["size"]), (state, len(image) if state == "ok" else None))

    def test_a_plugin(self):
        self.check(fixture("outer.so") + bytes(WHOLE))

    def test_other_large_files(self):
        self.check(bytes(WHOLE + 1), "no-symbol")

    def test_no_disk_space(self):
        def bounded():
            resource.setrlimit(resource.RLIMIT_FSIZE, (WHOLE // 2, WHOLE // 2))
        for size in (WHOLE // 2, WHOLE):
            tree = described({"pkg/outer.so": fixture("outer.so") + bytes(size)}, "pkg",
                             entry_points="[g]\nn = pkg.outer:AdbcDriverInit\n")
            wheel = write_zip(f"{self.top}/pkg-1.0-py3-none-any.whl", tree)
            self.run_program("add", "--db", f"{self.top}/wheels.db", wheel, preexec_fn=bounded, status=DONE)
            self.assertEqual(self.facts("--db", f"{self.top}/wheels.db")["state"], "not-examined")

    def test_tarballs(self):
        """Such large objects are not kept of tarballs: they and their dependencies are reported as unknown."""
        small, large = fixture("outer.so"), fixture("outer.so") + bytes(WHOLE)
        inner = fixture("libinner.so")
        for name, write_archive in (("pkg.tar", write_tar), ("pkg-1.0-0.conda", write_conda)):
            for outer, inner_library, state in ((large, inner, "not-examined"),
                                                (small, inner + bytes(WHOLE), "not-examined"), (small, inner, "ok")):
                tree = described({"pkg/outer.so": outer, "pkg/deps/libinner.so": inner_library}, "pkg",
                                 entry_points="[g]\nn = pkg.outer:AdbcDriverInit\nm = pkg.absent:f\n")
                archive = write_archive(f"{self.top}/{name}",
                                        {f"lib/python3.12/site-packages/{path}": data for path, data in tree.items()})
                self.run_program("add", "--db", f"{self.top}/{name}.db", archive, status=DONE)
                rows = {row["name"]: row["state"] for row in
                        self.run_program("list", "--json", "--db", f"{self.top}/{name}.db", status=DONE).objects}
                self.assertEqual(rows, {"n": state, "m": "missing"})


class Kinds(PluginTest):
    def test_each(self):
        for kind in ("vulkan", "gstreamer", "ladspa", "vamp", "opencl"):
            self.install(kind, {f"{kind}/kind_{kind}.so": fixture(f"kind_{kind}.so")})
        found = self.both_ways()
        self.assertEqual([(row["kind"], row["distribution"], row["state"]) for row in found],
                         [(kind, kind, "ok") for kind in sorted(("vulkan", "gstreamer", "ladspa", "vamp", "opencl"))])
        self.assertEqual(self.plugins("vamp", "kind_vamp")[0]["symbol"], "vampGetPluginDescriptor")
        self.assertEqual(self.plugins("vamp", "other", status=NOT_FOUND), [])

    def test_objects_that_are_not_plugins(self):
        native = fixture("kind_vamp.so")
        self.install("none", {
            "none/sqlite.so": fixture("kind_sqlite.so"), "none/libOpenCL.so.1": fixture("kind_opencl.so"),
            "none/_m.cpython-311-x86_64-linux-gnu.so": native, "none/_m.abi3.so": native, "none/x.py": native,
            "none/needs_python.so": fixture("needs_python.so"), "none/text.so": b"vampGetPluginDescriptor",
            "../../../../outside.so": native})
        self.assertEqual(self.plugins(status=NOT_FOUND), [])
        self.index()
        self.assertEqual(self.plugins(status=NOT_FOUND), [])

    def test_data_of_a_wheel(self):
        self.install("data", {"../../libtowel.so.1": fixture("kind_vamp.so")})
        found = self.both_ways("vamp")
        self.assertEqual((found[0]["name"], os.path.realpath(found[0]["object"])),
                         ("towel", f"{self.prefix}/lib/libtowel.so.1"))

    def test_no_entry_points(self):
        self.install("quiet", {"quiet/kind_vamp.so": fixture("kind_vamp.so")})
        self.index()
        self.assertEqual(self.list("--json", status=NOT_FOUND).out, "")
        self.assertEqual(query(self.database, "SELECT count(*) FROM entry_points"), [(0,)])
        self.assertEqual(query(self.database, "SELECT kind, name, object_kind, state FROM plugins"),
                         [("vamp", "kind_vamp", "native", "ok")])
        self.assertEqual(self.run_program("verify", self.prefix).status, DONE)

    def test_list_follows_the_installed_files(self):
        self.install("one", {"one/kind_vamp.so": fixture("kind_vamp.so")})
        self.index()
        self.install("two", {"two/kind_ladspa.so": fixture("kind_ladspa.so")})
        self.assertEqual([row["kind"] for row in self.plugins()], ["ladspa", "vamp"])  # the database is stale: read from the disk
        self.update()
        self.assertEqual([row["kind"] for row in self.plugins()], ["ladspa", "vamp"])
        shutil.rmtree(f"{self.site}/one-1.0.dist-info")
        self.update()
        self.assertEqual([row["kind"] for row in self.plugins()], ["ladspa"])
        self.assertTrue(support.is_sound(self.database))

    def test_shadowed(self):
        self.install("twice", {"twice/kind_vamp.so": fixture("kind_vamp.so")})
        first = f"{self.top}/first"
        os.makedirs(first)
        add_distribution(first, "twice", "2.0", text="")
        found = self.run_program("plugins", "--path", first, "--path", self.site)
        self.assertEqual(found.status, NOT_FOUND, str(found))

    def test_kinds_defined_by_the_site(self):
        self.install("own", {"own/kind_site.so": fixture("kind_site.so")})
        root = os.path.dirname(self.prefix)
        inside = self.prefix[len(root):]
        ask = ("plugins", "--root", root, "--path", f"{inside}/{support.SITE}")
        self.assertEqual(self.run_program(*ask).status, NOT_FOUND)
        self.run_program("update", "--root", root, inside, status=DONE)
        os.makedirs(f"{root}/etc/entrydb")
        write(f"{root}/etc/entrydb/plugin-kinds.conf", TOWEL)
        expected = ["towel", "site", "ok"]
        self.assertEqual(self.run_program(*ask, status=DONE).fields[0][:3], expected)  # the additional kind was not searched for
        self.run_program("update", "--root", root, inside, status=DONE)
        self.assertEqual(query(self.database, "SELECT kind, name FROM plugins"), [("towel", "site")])
        self.assertEqual(self.run_program(*ask, status=DONE).fields[0][:3], expected)
        write(f"{root}/etc/entrydb/plugin-kinds.conf", "[towel]\ncolour = red\n")
        reply = self.run_program("update", "--root", root, inside, status=DONE)
        self.assertIn("plugin-kinds.conf: line 2: 'colour'", reply.err)
        self.assertEqual(query(self.database, "SELECT kind, name FROM plugins"), [])
        for place, mode in (("plugin-kinds.conf", 0o666), ("", 0o757)):
            os.chmod(f"{root}/etc/entrydb/{place}", mode)
            self.assertIn("not trusted", self.run_program("update", "--root", root, inside, "--fresh", "exact").err)
            os.chmod(f"{root}/etc/entrydb/{place}", 0o755)


class Archives(PluginTest):
    """`add` lists the plugins of an archive that pip would install from it."""
    # The first file is two plugins, the last is none.
    FILES = {"pkg/libadbc_driver_outer.so": "outer.so", "pkg/deps/libinner.so": "libinner.so",
             "pkg/kind_vamp.so.0.9.0": "kind_vamp.so", "pkg/libOpenCL.so.1": "kind_opencl.so"}
    LATE = "pkg-1.0.data/platlib/pkg/kind_ladspa.so"  # pip installs it beside the others
    FACTS = ("kind", "name", "distribution", "symbol", "object_kind", "state", "size", "build_id", "sha256", "missing")

    def setUp(self):
        super().setUp()
        self.files = {path: fixture(name) for path, name in self.FILES.items()}
        self.tree = described(self.files | {self.LATE: fixture("kind_ladspa.so")}, "pkg")
        self.wheel = write_zip(f"{self.top}/pkg-1.0-py3-none-any.whl", self.tree)
        self.catalogue = f"{self.top}/archives.db"

    def facts(self, *arguments):
        found = self.run_program("plugins", "--json", *arguments, status=DONE).objects
        return [{key: row[key] for key in self.FACTS} for row in found]

    def add(self, archive, *options):
        self.run_program("add", *options, "--db", self.catalogue, archive, status=DONE)
        return self.facts("--db", self.catalogue)

    @unittest.skipUnless(importlib.util.find_spec("pip"), "there is no pip")
    def test_wheel(self):
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile",
                        "--disable-pip-version-check", "--target", self.site, self.wheel], check=True,
                       env=support.environment(self.home), capture_output=True)
        installed = self.facts("--path", self.site)
        self.assertEqual([row["kind"] for row in installed], ["adbc", "ladspa", "sqlite", "vamp"])
        self.assertEqual(self.add(self.wheel), installed)
        self.index()
        self.assertEqual(self.facts("--path", self.site), installed)
        self.run_program("verify", "--db", self.catalogue, status=DONE)

    def test_on_the_path(self):
        """A zip or an egg on the path, from the disk and from the database."""
        found = self.facts("--path", self.wheel)
        self.assertEqual(len(found), 4)
        self.assertEqual(self.add(self.wheel), found)
        self.assertEqual(self.facts("--db", self.catalogue, "--path", self.wheel), found)
        row = self.run_program("plugins", "--json", "--path", self.wheel, "ladspa", status=DONE).objects[0]
        self.assertEqual(row["object"], f"{self.wheel}/pkg/kind_ladspa.so")

    def test_tarballs(self):
        tree = {f"lib/python3.12/site-packages/{path}": data for path, data in described(self.files, "pkg").items()}
        for archive in (write_tar(f"{self.top}/pkg.tar", tree), write_conda(f"{self.top}/pkg-1.0-0.conda", tree)):
            self.catalogue = f"{archive}.db"
            self.assertEqual([(row["kind"], row["state"]) for row in self.add(archive)],
                             [("adbc", "ok"), ("sqlite", "ok"), ("vamp", "ok")])

    def test_grafted(self):
        """auditwheel puts libraries beside the package, at a path with "..": they are found."""
        files = {"jax_plugins/grafted.so": fixture("pjrt_grafted.so"),
                 "grafted.libs/libpjrt_helper.so": fixture("libpjrt_helper.so")}
        for tree, state in ((files, "ok"), (dict(list(files.items())[:1]), "missing-dependency")):
            os.unlink(self.wheel)
            write_zip(self.wheel, described(tree, "pkg"))
            self.assertEqual([(row["kind"], row["state"]) for row in self.add(self.wheel)], [("pjrt", state)])

    def test_no_record(self):
        """Without a RECORD the owner of the files is unknown, as in a directory."""
        os.unlink(self.wheel)
        write_zip(self.wheel, {path: data for path, data in self.tree.items() if not path.endswith("/RECORD")})
        self.run_program("add", "--db", self.catalogue, self.wheel, status=DONE)
        self.run_program("plugins", "--db", self.catalogue, status=NOT_FOUND)

    def test_damaged(self):
        """A false local header and an invalid member do not affect the others."""
        image = bytearray(support.read_bytes(self.wheel))
        at = image.index(b"pkg/libadbc_driver_outer.so")
        image[at:at + 3] = b"gpk"
        write(self.wheel, bytes(image))
        self.assertEqual([row["kind"] for row in self.add(self.wheel)], ["ladspa", "vamp"])


class Export(PluginTest):
    def setUp(self):
        super().setUp()
        self.install("adbc-driver-outer", {"pkg/libadbc_driver_outer.so": fixture("outer.so"),
                                           "pkg/deps/libinner.so": fixture("libinner.so")})
        self.drivers = f"{self.prefix}/etc/adbc/drivers"
        self.manifest = f"{self.drivers}/outer.toml"

    def read(self, path=None):
        return support.read(path or self.manifest)

    def test_written_and_removed(self):
        self.run_program("export", "adbc", self.prefix, status=DONE)
        self.assertIn(f'shared = "{self.site}/pkg/libadbc_driver_outer.so"\n', self.read())
        self.assertIn('entrypoint = "AdbcDriverInit"\nshared', self.read())
        self.assertEqual(os.stat(self.manifest).st_mode & 0o7777, 0o644)
        before = support.stamp(self.manifest)
        self.run_program("export", "adbc", self.prefix, status=DONE)
        self.assertEqual(support.stamp(self.manifest), before)
        shutil.rmtree(f"{self.site}/adbc_driver_outer-1.0.dist-info", ignore_errors=True)
        shutil.rmtree(f"{self.site}/adbc-driver-outer-1.0.dist-info", ignore_errors=True)
        self.update()
        self.assertEqual(os.listdir(self.drivers), [".entrydb"])

    def test_only_after_export(self):
        self.update()
        self.assertFalse(os.path.exists(f"{self.prefix}/etc"))

    def test_hooks_keep_it_current(self):
        self.run_program("export", "opencl", self.prefix, status=DONE)
        self.install("icd", {"icd/libtowel.so": fixture("kind_opencl.so")})
        self.run_program("update", "--hook", "pip", self.prefix, status=DONE)
        self.assertEqual(self.read(f"{self.prefix}/etc/OpenCL/vendors/towel.icd"), f"{self.site}/icd/libtowel.so\n")

    def test_files_of_others_are_kept(self):
        os.makedirs(self.drivers)
        write(self.manifest, "mine\n")
        reply = self.run_program("export", "adbc", self.prefix, status=COULD_NOT)
        self.assertIn("outer.toml: left alone", reply.err)
        self.assertEqual(self.read(), "mine\n")
        os.unlink(self.manifest)
        self.run_program("export", "adbc", self.prefix, status=DONE)
        write(self.manifest, self.read() + "# and mine\n")  # no longer the exported content
        shutil.rmtree(f"{self.site}/adbc-driver-outer-1.0.dist-info")
        self.update()
        self.assertTrue(self.read().endswith("# and mine\n"))

    def test_no_link_is_followed(self):
        os.makedirs(self.drivers)
        write(f"{self.top}/precious", "precious\n")
        os.symlink(f"{self.top}/precious", self.manifest)
        self.run_program("export", "adbc", self.prefix, status=COULD_NOT)
        self.assertEqual(self.read(f"{self.top}/precious"), "precious\n")
        self.assertTrue(os.path.islink(self.manifest))

    @needs_root
    def test_a_prefix_of_another_user(self):
        os.chown(self.prefix, STRANGER, STRANGER)
        reply = self.run_program("export", "adbc", self.prefix, status=COULD_NOT)
        self.assertIn(f"belongs to user {STRANGER}; run: setpriv", reply.err)
        self.assertFalse(os.path.exists(self.drivers))

    def check_refused(self, reason):
        """A manifest makes other programs load the plugin: none is written, and an old one is removed."""
        reply = self.run_program("export", "adbc", self.prefix, status=DONE)
        self.assertIn("no manifest for 'outer': ", reply.err)
        self.assertIn(reason, reply.err)
        self.assertEqual(os.listdir(self.drivers), [".entrydb"])

    def test_plugin_writable_by_others(self):
        self.run_program("export", "adbc", self.prefix, status=DONE)
        for path in (f"{self.site}/pkg/libadbc_driver_outer.so", f"{self.site}/pkg"):
            os.chmod(path, 0o777)
            self.check_refused(f"others may write to {path}")
            os.chmod(path, 0o755)
        self.run_program("export", "adbc", self.prefix, status=DONE)
        self.assertTrue(self.read())

    def test_permissions_follow_the_files(self):
        """The object, and those of the distribution, from which its name and version are."""
        info = f"{self.site}/adbc-driver-outer-1.0.dist-info"
        write(f"{info}/entry_points.txt", "[g]\nx = pkg:x\n")
        for name in ("METADATA", "RECORD"):
            for mode in (0o600, 0o644):
                os.chmod(f"{info}/{name}", mode)
                self.run_program("export", "adbc", self.prefix, status=DONE)
                self.assertEqual(os.stat(self.manifest).st_mode & 0o777, mode, name)
        os.unlink(f"{info}/entry_points.txt")
        for place, mode, expected in ((f"{self.site}/pkg", 0o700, None), (f"{self.site}/pkg", 0o755, 0o644), (self.site, 0o700, 0o600)):
            os.chmod(place, mode)
            self.run_program("export", "adbc", self.prefix, status=DONE)
            self.assertEqual(os.path.exists(self.manifest) and os.stat(self.manifest).st_mode & 0o777, expected or False)

    def test_manifest_outside_of_a_private_prefix(self):
        """Its readers may be unable to reach the prefix, which is above the database as well."""
        os.chmod(self.top, 0o755)
        os.mkdir(f"{self.top}/etc")
        os.symlink(f"{self.top}/etc", f"{self.prefix}/etc")
        for mode, expected in ((0o755, 0o644), (0o700, 0o600)):
            os.chmod(self.prefix, mode)
            self.run_program("export", "adbc", self.prefix, status=DONE)
            self.assertEqual(os.stat(self.manifest).st_mode & 0o777, expected)

    def test_hook_removes_manifest_of_refused_plugin(self):
        """And no other, whichever comes first."""
        icds, objects = f"{self.prefix}/etc/OpenCL/vendors", {name: f"{self.site}/{name}/lib{name}.so" for name in ("coat", "towel")}
        for name in objects:
            self.install(name, {f"{name}/lib{name}.so": fixture("kind_opencl.so")})
        for refused, kept in (objects, reversed(objects)):
            self.run_program("export", "opencl", self.prefix, status=DONE)
            self.assertEqual(sorted(os.listdir(icds)), [".entrydb", "coat.icd", "towel.icd"])
            os.chmod(objects[refused], 0o777)
            reply = self.run_program("update", "--hook", "pip", self.prefix, status=DONE)
            self.assertEqual((reply.err, sorted(os.listdir(icds))), ("", [".entrydb", f"{kept}.icd"]))
            os.chmod(objects[refused], 0o755)

    @needs_root
    def test_plugin_of_another_user(self):
        self.run_program("export", "adbc", self.prefix, status=DONE)
        for path in (f"{self.site}/pkg/libadbc_driver_outer.so", f"{self.site}/pkg"):
            os.chown(path, STRANGER, STRANGER)
            self.check_refused(f"{path} belongs to user {STRANGER}")
            os.chown(path, 0, 0)

    @needs_root
    def test_link_to_a_file_of_another_user(self):
        """root owns the link in the package, but another user can replace its target."""
        theirs = f"{self.top}/theirs"
        os.rename(f"{self.site}/pkg", theirs)
        os.symlink(theirs, f"{self.site}/pkg")
        os.chown(theirs, STRANGER, STRANGER)
        self.run_program("export", "adbc", self.prefix)
        self.assertEqual([name for name in os.listdir(self.drivers) if name != ".entrydb"], [])

    @needs_root
    def test_list_of_another_user(self):
        """Root would remove its own files on behalf of that user."""
        icds = f"{self.prefix}/etc/OpenCL/vendors"
        os.makedirs(icds)
        os.chmod(icds, 0o1777)
        write(f"{icds}/vendor.icd", "libvendor.so\n")
        write(f"{icds}/.entrydb", f"{hashlib.sha256(b'libvendor.so' + bytes([10])).hexdigest()} vendor.icd\n")
        os.chown(f"{icds}/.entrydb", STRANGER, STRANGER)
        self.install("icd", {"icd/libtowel.so": fixture("kind_opencl.so")})
        self.run_program("update", "--hook", "pip", self.prefix, status=DONE)
        self.assertEqual(sorted(os.listdir(icds)), [".entrydb", "vendor.icd"])
        self.run_program("export", "opencl", self.prefix, status=DONE)
        self.assertEqual(sorted(os.listdir(icds)), [".entrydb", "towel.icd", "vendor.icd"])

    def test_sysroot(self):
        """The object, its libraries and the policy are those of the sysroot."""
        top = self.top
        words = ("export", "adbc", "--root", top, self.prefix[len(top):])
        os.rename(f"{self.site}/pkg", f"{top}/elsewhere")
        os.symlink("/elsewhere", f"{self.site}/pkg")
        self.run_program(*words, status=DONE)
        self.assertIn(f'shared = "{self.site[len(top):]}/pkg/libadbc_driver_outer.so"\n', self.read())
        os.chmod(f"{top}/elsewhere/deps/libinner.so", 0o666)
        self.assertIn("others may write to", self.run_program(*words, status=DONE).err)
        self.assertEqual(os.listdir(self.drivers), [".entrydb"])
        os.chmod(f"{top}/elsewhere/deps/libinner.so", 0o644)
        self.run_program("disable", "--root", top, "adbc/outer", status=DONE)
        self.assertIn("is disabled", self.run_program(*words, status=DONE).err)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_what_others_can_create_later(self):
        """A manifest is used in any directory, and when what was in a sticky directory may be gone."""
        top, icd = self.top, f"{self.prefix}/etc/OpenCL/vendors/towel.icd"
        os.makedirs(f"{top}/sticky/lib")
        os.chmod(f"{top}/sticky", 0o1777)
        self.install("icd", {"icd/libtowel.so": b""})
        for run_path, reason in (("/none", ""), ("/sticky/lib", f"others can create files in {top}/sticky"), ("$ORIGIN", ""), ("", "relative"),
                                 ("/none", ""), ("sub", "relative"), ("/none", ""), (None, f"others can create files in {top}/sticky")):
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", f"{self.site}/icd/libtowel.so",
                            "-Wl,--enable-new-dtags", f"-Wl,-rpath,/none:{run_path or ''}" if run_path is not None else "-s"],
                           input=b"int clGetExtensionFunctionAddress(void) { return 1; }", check=True)
            if run_path is None:
                os.rename(f"{self.site}/icd", f"{top}/sticky/icd")
                os.symlink("/sticky/icd", f"{self.site}/icd")
            reply = self.run_program("export", "opencl", "--root", top, self.prefix[len(top):], status=DONE)
            self.assertEqual(os.path.exists(icd), not reason, (run_path, reply.err))
            self.assertIn(reason, reply.err)

    def test_disabled_plugin(self):
        self.run_program("disable", "--prefix", self.prefix, "adbc/outer", status=DONE)
        self.check_refused("is disabled")
        self.run_program("enable", "--prefix", self.prefix, "adbc/outer", status=DONE)
        self.run_program("export", "adbc", self.prefix, status=DONE)
        self.assertTrue(self.read())
        self.run_program("disable", "--user", "adbc/outer", status=DONE)
        self.check_refused("is disabled")

    def test_hooks_ignore_the_user_s_policy(self):
        """The hooks of a system's package managers, with --root /: a file of the user who called sudo, for instance."""
        self.run_program("export", "adbc", self.prefix, status=DONE)
        self.run_program("disable", "--user", "adbc/outer", status=DONE)
        self.install("icd", {"icd/libtowel.so": fixture("kind_opencl.so")})
        self.run_program("update", "--hook", "dpkg", "--root", "/", self.prefix, status=DONE)
        self.assertTrue(self.read())

    def test_usage(self):
        self.assertIn("expected adbc or opencl", self.run_program("export", "odbc", status=USAGE).err)

    def test_no_prefix(self):
        bare = f"{self.top}/bare"
        os.makedirs(bare)
        self.assertIn("does not belong to a prefix", self.run_program("export", "adbc", bare, status=COULD_NOT).err)


class Database(PluginTest):
    def test_contract(self):
        self.install("p", {"p/kind_vamp.so": fixture("kind_vamp.so")})
        self.index()
        with sqlite3.connect(f"file:{self.database}?mode=ro&immutable=1", uri=True) as connection:
            columns = [row[1] for row in connection.execute("PRAGMA table_info(plugins)")]
        self.assertEqual(columns, ["root", "distribution", "version", "kind", "name", "object_kind", "object",
                                   "symbol", "state", "build_id", "size", "glibc", "glibcxx", "missing",
                                   "undefined", "python_by"])


if __name__ == "__main__":
    support.main()
