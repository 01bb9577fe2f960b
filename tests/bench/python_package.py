"""The Python package that is measured, laid into site directories.

It is copied: so its .pyc files are its own, and nothing is written into a source tree
or a build directory.
"""

import glob
import os
import shutil
import subprocess

TEXT_OF_PTH = ("import sys; sys.path.append(sys.argv[1]); import entrydb.__main__; "
               "print(entrydb.__main__.PTH_TEXT, end='')")


def extension(build):
    """The extension of a build directory; None where there is none."""
    return next(iter(glob.glob(f"{glob.escape(build)}/libquery/python/entrydb/_native.*.so")), None)


def assemble(build, directory):
    """A whole package, of the links that a build directory has."""
    shutil.copytree(f"{build}/libquery/python/entrydb", f"{directory}/entrydb",
                    ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(f"{build}/libquery/python/_entrydb_site.py", directory)


def place(package, site, python):
    """Copy a package into a site directory, if it is not there yet, and compile it as pip
    would: a __pycache__ that comes later makes the site directory another one."""
    if os.path.exists(f"{site}/_entrydb_site.py"):
        return
    shutil.copytree(f"{package}/entrydb", f"{site}/entrydb",
                    ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(f"{package}/_entrydb_site.py", site)
    subprocess.run([python, "-I", "-m", "compileall", "-q", f"{site}/entrydb",
                    f"{site}/_entrydb_site.py"], check=True)


def enable(python, site):
    """What `python -m entrydb enable` writes, and no more."""
    text = subprocess.run([python, "-I", "-S", "-c", TEXT_OF_PTH, site], check=True,
                          text=True, stdout=subprocess.PIPE).stdout
    with open(f"{site}/entrydb.pth", "w", encoding="utf-8") as stream:
        stream.write(text)
