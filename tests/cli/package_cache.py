"""What the tests download, kept between runs.

The place is ENTRYDB_TEST_CACHE, default ~/.cache/entrydb-tests. Where pip
cannot reach a package index, a test that needs one is skipped (status 77).
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

from program import TOP

FIXTURES = f"{TOP}/tests/fixtures"
PYTEST = "pytest>=7"
PROBE = "six"             # small, pure, and always there
IMPORTLIB_METADATA = ["importlib_metadata==10.2.0", "zipp==3.23.0", "lazy-importer==0.1.0"]


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


def cache_directory():
    place = os.environ.get("ENTRYDB_TEST_CACHE") or os.path.expanduser("~/.cache/entrydb-tests")
    os.makedirs(place, exist_ok=True)
    return os.path.abspath(place)


def give_up(python, failure):
    """Skips where there is no package index; with one, the failure counts."""
    with tempfile.TemporaryDirectory() as scratch:
        reachable = pip_ran(python, "download", "--no-cache-dir", "--no-deps", "--dest", scratch, PROBE, quiet=True)
    if not reachable:
        skip(f"{failure}: pip reaches no package index")
    print(f"{failure}, though pip reaches a package index")
    sys.exit(1)


def fixture_key(*names):
    """Changes with the fixtures, so that an old cache is not taken for a new one."""
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
    """Run build(scratch) and rename: an interrupted run leaves no half cache."""
    if os.path.isdir(place):
        return True
    scratch = tempfile.mkdtemp(prefix=".new-", dir=os.path.dirname(place))
    try:
        if not build(scratch):
            return False
        os.chmod(scratch, 0o755)
        os.rename(scratch, place)
        return True
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def importlib_metadata(found):
    """A directory with importlib_metadata 10.1 or later, None where it cannot be had."""
    if os.environ.get("ENTRYDB_TEST_IMPORTLIB_METADATA"):
        return os.environ["ENTRYDB_TEST_IMPORTLIB_METADATA"]
    place = f"{cache_directory()}/{IMPORTLIB_METADATA[0].replace('==', '-')}"

    def build(scratch):
        return pip_ran(found[-1].executable, "install", "--no-deps", "--only-binary", ":all:",
                       "--target", scratch, *IMPORTLIB_METADATA)

    return place if publish(build, place) else None


def pytest_directory(python):
    """A directory with pytest, None where it cannot be had."""
    place = f"{cache_directory()}/pytest"

    def build(scratch):
        return pip_ran(python, "install", "--target", scratch, PYTEST)

    return place if publish(build, place) else None
