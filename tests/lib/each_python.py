#!/usr/bin/env python3
"""Runs a script by a CPython of each minor version at hand, with the same arguments: each_python.py SCRIPT [ARGUMENT...]"""

import subprocess
import sys

import reference


def main():
    found = reference.one_per_minor(reference.interpreters())
    reference.announce(found)
    failed = [each.version for each in found if subprocess.run([each.executable, *sys.argv[1:]]).returncode]
    if failed:
        sys.exit(f"failed by Python {', '.join(failed)}")


if __name__ == "__main__":
    main()
