"""Hosts in C and C++ load plugins installed by pip and uv, without a Python on PATH.

The plugins are modelled on PJRT's (fixtures/pjrt): good ones, one of another major version, ones that
lack a library or need Python, and ones that cannot be loaded at all.
"""

import ctypes
import os
import platform
import shutil
import subprocess
import sys
import unittest

import archives
import managers
import package_cache
import support
from support import COULD_NOT, DONE, NOT_FOUND, PROGRAM, CommandTest

FIXTURES = os.environ.get("ENTRYDB_TEST_PLUGINS")
MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
(EPYTHON, EDEPENDENCY, EREFUSED, ESETASIDE, EPERMISSION) = (-8, -14, -17, -18, -5)
HELPERS = {"grafted": "libpjrt_helper.so", "through": "libpjrt_python_helper.so"}


def setUpModule():
    if not FIXTURES or not os.path.exists(f"{FIXTURES}/pjrt_host_c"):
        raise unittest.SkipTest("no plugins are built; ENTRYDB_TEST_PLUGINS names their directory")


def fixture(name):
    return support.read_bytes(f"{FIXTURES}/{name}")


def plugin_wheel(place, name, helper=None):
    """A wheel with jax_plugins/NAME.so and its bundled libraries, as created by auditwheel."""
    files = {f"jax_plugins/{name}.so": fixture(f"pjrt_{name}.so")}
    if helper:
        files[f"{name}.libs/{helper}"] = fixture(helper)
    return archives.write_wheel(place, f"pjrt-{name}", files, f"[jax_plugins]\n{name} = jax_plugins.{name}:GetPjrtApi\n")


def split_wheel(place):
    """Wheels like IREE's: the entry point in one package, the library in another."""
    files = {"jax_plugins/iree_cpu/__init__.py": "def initialize(): pass\n",
             "iree/_runtime_libs/split.so": fixture("pjrt_split.so")}
    return archives.write_wheel(place, "pjrt-split", files, "[jax_plugins]\nsplit = jax_plugins.iree_cpu\n")


def python_wheel(place):
    return archives.write_wheel(place, "pjrt-extension", {"extension.so": fixture("needs_python.so")},
                                "[jax_plugins]\nextension = extension:entry\n")


class HostTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.site = f"{self.prefix}/lib/python{MINOR}/site-packages"
        shutil.rmtree(self.prefix)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.prefix], check=True)
        self.wheels = f"{self.top}/wheels"
        os.makedirs(self.wheels)

    def environment(self, **variables):
        """An environment without an interpreter on PATH."""
        variables.setdefault("PATH", "/nowhere")
        return super().environment(VIRTUAL_ENV=self.prefix, XDG_CONFIG_HOME="", **variables)

    def install(self, *wheels):
        done = subprocess.run(
            [sys.executable, "-m", "pip", "--python", f"{self.prefix}/bin/python", "install", "--quiet",
             "--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check", *wheels],
            env=support.environment(self.home), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def run_host(self, language, *arguments, **how):
        return subprocess.run([f"{FIXTURES}/pjrt_host_{language}", *arguments], env=how.pop("env", self.environment()),
                              capture_output=True, text=True, timeout=support.SECONDS_ALLOWED, check=False, **how)

    def load(self, language, *arguments, **how):
        """{name: (code, text)} as printed by the host."""
        done = self.run_host(language, *arguments, **how)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        return {name: (int(code), text) for name, code, text in rows}

    def both_levels(self):
        """Before and after the database is created."""
        yield
        self.update()
        yield


class Hosts(HostTest):
    EXPECTED = {
        "good": (0, "good 42"),
        "split": (0, "split 42"),
        "grafted": (0, "grafted 42"),
        "old": (EREFUSED, "{site}/jax_plugins/old.so (of pjrt-old) is not accepted: its major version is another one"),
        "lacking": (EDEPENDENCY, "cannot load {site}/jax_plugins/lacking.so (of pjrt-lacking): libpjrt_helper.so: "
                                 "cannot open shared object file: No such file or directory"),
        "extension": (EPYTHON, "extension"),
        "through": (EPYTHON, "extension"),  # one of its libraries needs Python
    }

    def make_wheels(self):
        made = [plugin_wheel(self.wheels, name, HELPERS.get(name))
                for name in ("good", "grafted", "old", "lacking", "through")]
        return [*made, split_wheel(self.wheels), python_wheel(self.wheels)]

    def check(self):
        for _ in self.both_levels():
            for language in ("c", "cxx"):
                found = self.load(language)
                for name, (code, text) in self.EXPECTED.items():
                    self.assertEqual(found[name][0], code, found[name])
                    self.assertIn(text.format(site=self.site), found[name][1])

    def test_installed_by_pip(self):
        self.install(*self.make_wheels())
        self.check()

    def test_installed_by_uv(self):
        uv = managers.uv_program()
        if not uv:
            self.skipTest("there is no uv, and pip cannot get it")
        done = subprocess.run([uv, "pip", "install", "--python", f"{self.prefix}/bin/python", "--no-index",
                               "--no-deps", "--offline", *self.make_wheels()],
                              env=support.environment(self.home, **managers.uv_environment(self.top)),
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check()

    def test_names_of_libraries(self):
        """Files that import would not take for modules are libraries, under any name that hosts use."""
        files = {"versioned": "versioned.so.0.9.0", "prefixed": "libprefixed.so", "both": "libboth.so.2",
                 "suffixed": "suffixed.duckdb_extension"}
        self.install(archives.write_wheel(
            self.wheels, "pjrt-named", {f"jax_plugins/{file}": fixture("pjrt_good.so") for file in files.values()},
            "[jax_plugins]\n" + "".join(f"{name} = jax_plugins.{name}:GetPjrtApi\n" for name in files)
            + "absent = jax_plugins.absent:GetPjrtApi\nunknown = jax_plugins.versioned:GetNothing\n"))
        for _ in self.both_levels():
            found = self.load("c")
            self.assertEqual({name: found[name] for name in files}, dict.fromkeys(files, (0, "good 42")))
            self.assertLess(found["absent"][0], 0)
            self.assertLess(found["unknown"][0], 0)

    def test_uninstalled(self):
        self.install(plugin_wheel(self.wheels, "good"))
        self.update()
        self.assertEqual(self.load("c"), {"good": (0, "good 42")})
        subprocess.run([sys.executable, "-m", "pip", "--python", f"{self.prefix}/bin/python", "uninstall", "--quiet",
                        "--yes", "pjrt-good"], env=support.environment(self.home), check=True, capture_output=True)
        self.assertEqual(self.load("c"), {})

    def test_replaced_after_indexing(self):
        """A replaced plugin is loaded, with its own version."""
        self.install(plugin_wheel(self.wheels, "good"))
        self.update()
        support.replace(f"{self.site}/jax_plugins/good.so", fixture("pjrt_old.so"))
        self.assertEqual(self.load("c")["good"][0], EREFUSED)

    def test_plugin_writable_by_others(self):
        self.install(plugin_wheel(self.wheels, "good"))
        os.chmod(f"{self.site}/jax_plugins", 0o777)
        for _ in self.both_levels():
            code, text = self.load("cxx")["good"]
            self.assertEqual(code, EPERMISSION)
            self.assertIn(f"others may write to {self.site}/jax_plugins; chmod go-w it", text)


class Crashes(HostTest):
    def setUp(self):
        super().setUp()
        self.install(*(plugin_wheel(self.wheels, name) for name in ("good", "aborting", "hanging")))

    def probe(self, name, *options, **how):
        return self.run_program("probe", *options, "jax_plugins", name, **how)

    def quarantine(self):
        return self.run_program("quarantine", status=DONE).fields

    def check_quarantined(self, name, reason):
        code, text = self.load("c", "jax_plugins", name)[name]
        self.assertEqual(code, ESETASIDE)
        self.assertIn(f"is in quarantine: {reason}", text)
        (identity, told, path), = self.quarantine()
        self.assertRegex(identity, r"\Abuild-id-[0-9a-f]{40}\Z")
        self.assertEqual((told, path), (reason, f"{self.site}/jax_plugins/{name}.so"))
        self.assertIn(f"quarantine --clear {identity}", text)
        return identity

    def test_probe(self):
        reply = self.probe("good", status=DONE)
        self.assertEqual(reply.fields, [["jax_plugins", "good", "pjrt-good", "1.0",
                                         f"{self.site}/jax_plugins/good.so", "loaded", ""]])
        self.assertEqual(self.probe("good", "--json", status=DONE).objects[0]["outcome"], "loaded")
        self.assertEqual(self.quarantine(), [])
        self.assertIn("did you mean 'good'?", self.probe("god", status=NOT_FOUND).err)

    def test_aborting_plugin(self):
        reason = "it crashed (signal 6, Aborted) when it was probed"
        reply = self.probe("aborting", status=COULD_NOT)
        self.assertEqual(reply.fields[0][5:], ["crashed", reason])
        identity = self.check_quarantined("aborting", reason)
        self.assertEqual(self.probe("aborting", status=COULD_NOT).fields[0][5], "failed")
        self.assertEqual(self.load("c", "jax_plugins", "good")["good"][0], 0)
        self.run_program("quarantine", "--clear", "build-id-00", status=NOT_FOUND)
        self.run_program("quarantine", "--clear", identity, status=DONE)
        self.assertEqual(self.quarantine(), [])

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_a_quarantine_that_cannot_be_read(self):
        """It is not taken for an empty one."""
        self.probe("aborting", status=COULD_NOT)
        calls = "trace=?access,?faccessat,?faccessat2,?stat,?newfstatat,?statx"
        done = subprocess.run([shutil.which("strace"), "-f", "-qq", "-o", "/dev/null", "-P", f"{os.path.dirname(self.user_database)}/quarantine",
                               "-e", calls, "-e", calls.replace("trace", "inject") + ":error=EIO", PROGRAM, "probe", "jax_plugins", "aborting"],
                              env=self.environment(ASAN_OPTIONS="detect_leaks=0"), capture_output=True, text=True, check=False)
        self.assertIn("\tfailed\t", done.stdout, done.stderr)
        self.assertIn("Input/output error", done.stdout)

    def test_hanging_plugin(self):
        reason = "it did not return within 1 s when it was probed"
        reply = self.probe("hanging", "--timeout", "1", status=COULD_NOT)
        self.assertEqual(reply.fields[0][5:], ["hung", reason])
        self.check_quarantined("hanging", reason)

    def test_changed_plugin_leaves_quarantine(self):
        self.probe("aborting", status=COULD_NOT)
        support.replace(f"{self.site}/jax_plugins/aborting.so", fixture("pjrt_good.so"))
        self.assertEqual(self.load("c", "jax_plugins", "aborting")["aborting"], (0, "good 42"))

    def test_guarded_host(self):
        """The host crashes the first time; then it is told why the plugin is not loaded."""
        for language in ("c", "cxx"):
            done = self.run_host(language, "jax_plugins", "aborting")
            self.assertLess(done.returncode, 0, done.stdout)
            self.check_quarantined("aborting", "a process ended while it was being loaded")
            self.run_program("quarantine", "--clear", status=DONE)
            self.assertEqual(self.quarantine(), [])

    def test_two_hosts_at_once(self):
        """A host killed while another one loads the same plugin does not affect the other."""
        first = subprocess.Popen([f"{FIXTURES}/pjrt_host_c", "jax_plugins", "hanging"], env=self.environment(),
                                 stdout=subprocess.DEVNULL)
        self.addCleanup(support.end, first)
        directory = f"{self.home}/state/entrydb/quarantine"
        support.until(lambda: os.path.isdir(directory) and
                           any(os.path.getsize(f"{directory}/{name}") for name in os.listdir(directory)))
        self.assertEqual(self.quarantine(), [])
        first.kill()
        first.wait()
        self.assertEqual(self.load("c", "jax_plugins", "hanging")["hanging"][0], ESETASIDE)

    def test_python_code(self):
        files = {"fine.py": "def hook(): raise SystemExit(9)\n", "torn.py": "import absent_module\n",
                 "ending.py": "import os\nos.abort()\n"}
        self.install(archives.write_wheel(self.wheels, "hooks", files, "[hooks]\nfine = fine:hook\ntorn = torn\n"
                                                                       "lacking = fine:absent\nending = ending\n"))
        expected = {"fine": ["loaded", ""], "torn": ["failed", "ModuleNotFoundError: No module named 'absent_module'"],
                    "lacking": ["failed", "AttributeError: module 'fine' has no attribute 'absent'"],
                    "ending": ["crashed", "it crashed (signal 6, Aborted) when it was probed"]}
        for name, told in expected.items():
            reply = self.run_program("probe", "hooks", name, status=DONE if name == "fine" else COULD_NOT)
            self.assertEqual(reply.fields[0][5:], told)
        self.assertEqual(self.quarantine(), [])


class Sqlite(HostTest):
    def download(self, *options):
        """Download sqlite-vec; returns the paths of the wheels."""
        if not package_cache.pip_ran(sys.executable, "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                                     *options, "--dest", self.wheels, "sqlite-vec==0.1.6"):
            self.skipTest("pip cannot get sqlite-vec")
        return [f"{self.wheels}/{name}" for name in os.listdir(self.wheels)]

    def test_wheel_for_another_machine(self):
        """It is reported for the wheel and for its unpacked files, and not loaded."""
        other, name = ("x86_64", "x86-64") if platform.machine() == "aarch64" else ("aarch64", "aarch64")
        wheel, = self.download("--platform", f"manylinux_2_17_{other}")
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile",
                        "--platform", f"manylinux_2_17_{other}", "--only-binary", ":all:", "--upgrade",
                        "--target", self.site, wheel], env=support.environment(self.home), check=True)
        self.run_program("add", "--db", f"{self.top}/wheels.db", wheel, status=DONE)
        for source in (("--db", f"{self.top}/wheels.db"), ()):
            row, = self.run_program("plugins", *source, "--json", "sqlite", status=DONE).objects
            self.assertEqual((row["object_kind"], row["state"]), ("unresolved", "wrong-architecture"), name)
        for _ in self.both_levels():
            self.assertIn("wrong-architecture", self.run_program("plugins", "sqlite", "vec0", status=DONE).out)
        with self.assertRaises(OSError):
            ctypes.CDLL(row["object"])

    def test_shell_loads_an_extension(self):
        """sqlite-vec has no entry point: its library is found by the symbol that it exports."""
        shell = shutil.which("sqlite3")
        if not shell:
            self.skipTest("there is no sqlite3")
        self.install(*self.download())
        self.update()
        row, = self.run_program("plugins", "--json", "sqlite", status=DONE).objects
        done = subprocess.run([shell, ":memory:", f".load {row['object']}", "SELECT vec_version()"],
                              capture_output=True, text=True, check=True)
        self.assertRegex(done.stdout, r"\Av0\.")


if __name__ == "__main__":
    support.main()
