"""Copies of the measured Python package in site directories.

A copy has its own .pyc files, and nothing is written into a source tree or build directory.
"""

import glob
import os
import shutil
import subprocess

MODULES = ("_entrydb_site.py", "_entrydb_replacement.py", "_entrydb_connecting.py")  # beside the package


def extension(build):
    """The extension in a build directory; None if there is none."""
    return next(iter(glob.glob(f"{glob.escape(build)}/libquery/python/entrydb/_native.*.so")), None)


def assemble(build, directory):
    """Assemble the complete package from a build directory, which contains links."""
    shutil.copytree(f"{build}/libquery/python/entrydb", f"{directory}/entrydb",
                    ignore=shutil.ignore_patterns("__pycache__"))
    for name in MODULES:
        shutil.copy(f"{build}/libquery/python/{name}", directory)


def place(package, site, python):
    """Copy the package into a site directory, unless it is there, and compile it as pip would: creating
    __pycache__ later would change the site directory."""
    if os.path.exists(f"{site}/{MODULES[0]}"):
        return
    shutil.copytree(f"{package}/entrydb", f"{site}/entrydb",
                    ignore=shutil.ignore_patterns("__pycache__"))
    for name in MODULES:
        shutil.copy(f"{package}/{name}", site)
    subprocess.run([python, "-I", "-m", "compileall", "-q", f"{site}/entrydb",
                    *(f"{site}/{name}" for name in MODULES)], check=True)


def switch_on(python):
    done = subprocess.run([python, "-I", "-m", "entrydb", "on"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
