"""The Python package that is measured, laid into site directories.

It is copied: so its .pyc files are its own, and nothing is written into a source tree
or a build directory.
"""

import glob
import os
import shutil
import subprocess

MODULES = ("_entrydb_site.py", "_entrydb_replacement.py")  # beside the package


def extension(build):
    """The extension of a build directory; None where there is none."""
    return next(iter(glob.glob(f"{glob.escape(build)}/libquery/python/entrydb/_native.*.so")), None)


def assemble(build, directory):
    """A whole package, of the links that a build directory has."""
    shutil.copytree(f"{build}/libquery/python/entrydb", f"{directory}/entrydb",
                    ignore=shutil.ignore_patterns("__pycache__"))
    for name in MODULES:
        shutil.copy(f"{build}/libquery/python/{name}", directory)


def place(package, site, python):
    """Copy a package into a site directory, if it is not there yet, and compile it as pip
    would: a __pycache__ that comes later makes the site directory another one."""
    if os.path.exists(f"{site}/{MODULES[0]}"):
        return
    shutil.copytree(f"{package}/entrydb", f"{site}/entrydb",
                    ignore=shutil.ignore_patterns("__pycache__"))
    for name in MODULES:
        shutil.copy(f"{package}/{name}", site)
    subprocess.run([python, "-I", "-m", "compileall", "-q", f"{site}/entrydb",
                    *(f"{site}/{name}" for name in MODULES)], check=True)


def switch_on(python):
    subprocess.run([python, "-I", "-m", "entrydb", "on"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
