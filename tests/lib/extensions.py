"""Shared objects that look like Python extensions to the dynamic linker."""

import os
import subprocess

from support import write, read_bytes


def compile_object(place, name, source, *options):
    """Compile place/name; returns its path."""
    os.makedirs(place, exist_ok=True)
    write(f"{place}/{name}.c", source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", f"{place}/{name}", f"{place}/{name}.c", *options],
                   check=True)
    return f"{place}/{name}"


def make_extension(place, symbol, library=None):
    """The bytes of an extension that needs the symbol, from the library if given; the library stays
    in place."""
    options = []
    if library:
        compile_object(place, library, f"void {symbol}(void) {{}}\n")
        options = [f"-L{place}", f"-l:{library}"]
    source = f"void {symbol}(void);\nvoid *PyInit__C(void) {{ return {symbol}; }}\n"
    return read_bytes(compile_object(place, "_C.so", source, *options))
