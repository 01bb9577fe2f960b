"""An environment for C applications: entrydb installed in a prefix, and a wheel with a plugin.

    ENTRYDB_BUILD          the build directory, from which entrydb is installed
    ENTRYDB_TEST_PLUGINS   the compiled plugins of tests/fixtures/plugins
    CC, CXX, CMAKE         default: cc, c++, cmake
"""

import base64
import glob
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CC = shlex.split(os.environ.get("CC", "cc"))
CXX = shlex.split(os.environ.get("CXX", "c++"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

ENTRY_POINTS = """\
[example.plugins]
deep-thought = deep_thought.plugin:entry
pure = deep_thought:main

[console_scripts]
deep-thought = deep_thought:main
"""


def record_line(path, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}\n"


def build_wheel(directory):
    """Write a wheel with a compiled plugin, with hashes in its RECORD like build tools; returns its path."""
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    info = "deep_thought-4.2.dist-info"
    with open(f"{os.environ['ENTRYDB_TEST_PLUGINS']}/native.so", "rb") as file:
        files = {"deep_thought/plugin.so": file.read()}
    files["deep_thought/__init__.py"] = b"def main():\n    print(42)\n"
    files[f"{info}/METADATA"] = b"Metadata-Version: 2.1\nName: Deep.Thought\nVersion: 4.2\n"
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: false\n"
                              f"Tag: {tag}\n").encode()
    files[f"{info}/entry_points.txt"] = ENTRY_POINTS.encode()
    record = "".join(record_line(*item) for item in files.items()) + f"{info}/RECORD,,\n"
    wheel = f"{directory}/deep_thought-4.2-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in [*files.items(), (f"{info}/RECORD", record.encode())]:
            archive.writestr(path, content)
    return wheel


def run(*command, **how):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **how)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


class Installation:
    """entrydb installed in a prefix of its own, for the lifetime of a test class."""

    def __init__(self, test_class):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="entrydb_application_"))
        test_class.addClassCleanup(shutil.rmtree, self.top)
        self.prefix = f"{self.top}/prefix"
        run(os.environ.get("CMAKE", "cmake"), "--install", os.environ["ENTRYDB_BUILD"],
            "--prefix", self.prefix)
        self.library = os.path.dirname(glob.glob(f"{self.prefix}/lib*/**/libentrydb.so",
                                                 recursive=True)[0])
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("ENTRYDB", "PYTHON", "PIP_"))
                            and key not in ("CONDA_PREFIX", "VIRTUAL_ENV")}
        self.environment.update(HOME=self.top, XDG_STATE_HOME=f"{self.top}/state",
                                LD_LIBRARY_PATH=self.library,
                                PKG_CONFIG_PATH=f"{self.library}/pkgconfig")
        self.relocate_pkg_config()

    def relocate_pkg_config(self):
        """Replace the configured prefix in entrydb.pc."""
        file = f"{self.library}/pkgconfig/entrydb.pc"
        with open(file, encoding="utf-8") as stream:
            text = stream.read()
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(re.sub(r"(?m)^prefix=.*$", f"prefix={self.prefix}", text))

    def pkg_config(self, *options):
        return run("pkg-config", *options, "entrydb", env=self.environment).split()
