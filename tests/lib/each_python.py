#!/usr/bin/env python3
"""Run a script with every available minor version of CPython: each_python.py SCRIPT [ARGUMENT...]"""

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
