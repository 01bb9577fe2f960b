#!/usr/bin/env python3
"""Checks the binary interface of the built libraries.

    check_abi.py libentrydb.so [libentrydb.a]

The shared library exports exactly the symbols in exports.txt, each with its version. They are the
functions that the header declares and libentrydb(3) documents, with every enumerator. The soname, the
needed libraries and the absence of writable global data are checked, too. In the static library only
these symbols are visible.
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HEADER = os.path.join(HERE, "..", "..", "libquery", "entrydb.h")
MANUAL = os.path.join(HERE, "..", "..", "libquery", "man", "libentrydb.3")
# Enumerators that mean "no option".
NOT_IN_MANUAL = {"ENTRYDB_OK", "ENTRYDB_RULES_DEFAULT", "ENTRYDB_FRESH_DEFAULT"}
SONAME = "libentrydb.so.0"
ALLOWED = re.compile(r"lib(sqlite3|z|elf|c|dl|pthread)\.so\.\d+|ld-linux.*\.so\.\d+"
                     r"|lib(asan|gcc_s|tsan|ubsan)\.so\.\d+")
# Symbols of the C run-time in every shared library; with -fexceptions also one for unwinding. And the
# sysroot of a thread, which is set only during a call.
RUNTIME = re.compile(r"completed\.\d+|__dso_handle|_DYNAMIC|_GLOBAL_OFFSET_TABLE_|DW\.ref\.__gcc_personality_v0"
                     r"|file_sysroot_of_thread(\.lto_priv\.\d+)?")
WRITABLE = {".data", ".bss", ".tdata", ".tbss"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def expected_exports():
    with open(os.path.join(HERE, "exports.txt"), encoding="ascii") as file:
        return set(file.read().split())


def compare(what, expected, found):
    return ([f"{what}: {name} is missing" for name in sorted(expected - found)]
            + [f"{what}: {name} should not be there" for name in sorted(found - expected)])


def check_exports(library):
    lines = output("nm", "-D", "--defined-only", "--with-symbol-versions", library).splitlines()
    found = {line.split()[-1] for line in lines}
    nodes = {name.split("@@")[1] for name in expected_exports()}
    return compare("exports", expected_exports(), found - nodes)


def check_header():
    with open(HEADER, encoding="utf-8") as file:
        declared = set(re.findall(r"^ENTRYDB_API [^;(]*?(\w+)\(", file.read(), re.M))
    return compare("header", {name.split("@@")[0] for name in expected_exports()}, declared)


def declared_constants():
    with open(HEADER, encoding="utf-8") as file:
        return set(re.findall(r"^\t(ENTRYDB_[A-Z0-9_]+) = ", file.read(), re.M))


def check_manual():
    """The synopsis lists all functions, and the text describes each function and constant."""
    with open(MANUAL, encoding="utf-8") as file:
        head, synopsis, text = re.split(r"^\.Sh (?:SYNOPSIS|DESCRIPTION)\n", file.read(), flags=re.M)
    functions = {name.split("@@")[0] for name in expected_exports()}
    wanted = declared_constants() - NOT_IN_MANUAL
    return (compare("manual, NAME", functions, set(re.findall(r"^\.Nm (entrydb_\w+)", head, re.M)))
            + compare("manual, SYNOPSIS", functions, set(re.findall(r"^\.F[no] (\w+)", synopsis, re.M)))
            + compare("manual, text", functions, functions & set(re.findall(r"entrydb_\w+", text)))
            + compare("manual, text", wanted, wanted & set(re.findall(r"ENTRYDB_\w+", text))))


def declarations():
    """The parameters of each function, by name."""
    with open(HEADER, encoding="utf-8") as file:
        return dict(re.findall(r"^ENTRYDB_API [^;(]*?(\w+)\(([^;]*)\)[^;)]*;", file.read(), re.M))


def section(name):
    with open(MANUAL, encoding="utf-8") as file:
        return re.search(rf"(?ms)^\.Sh {name}$(.*?)(?=^\.Sh )", file.read())[1]


def check_manual_sections():
    """ERRORS names each function that reports an error, OWNERSHIP each that frees, THREADS each object."""
    functions = declarations()
    can_fail = {name for name, parameters in functions.items() if "entrydb_error *error" in parameters}
    can_fail -= {"entrydb_error_clear", "entrydb_error_message"}
    release = {name for name in functions if name.endswith(("_free", "_close"))}
    objects = {"handle", "registry", "sets", "lists of names", "targets", "verdicts", "descriptions of path entries",
               "error structure"}
    named = {name: set(re.findall(r"entrydb_\w+", section(name))) for name in ("ERRORS", "OWNERSHIP")}
    threads = " ".join(section("THREADS").lower().split())
    return (compare("manual, ERRORS", can_fail, named["ERRORS"] & can_fail)
            + compare("manual, OWNERSHIP", release, named["OWNERSHIP"] & release)
            + [f"manual, THREADS: nothing about {each}" for each in sorted(objects) if each not in threads])


def check_dynamic(library):
    tags = re.findall(r"\((\w+)\)\s+.*\[(.*)\]", output("readelf", "-dW", library))
    wrong = [f"needs {name}" for tag, name in tags if tag == "NEEDED" and not ALLOWED.fullmatch(name)]
    sonames = [name for tag, name in tags if tag == "SONAME"]
    if sonames != [SONAME]:
        wrong.append(f"soname {sonames}")
    return wrong + [f"has a {tag}" for tag, _ in tags if tag in ("RPATH", "RUNPATH", "TEXTREL")]


def sections(library):
    rows = re.findall(r"^\s*\[\s*(\d+)\]\s+(\S+)", output("readelf", "-SW", library), re.M)
    return {number: name for number, name in rows}


def check_data(library):
    """No object is in a writable section, so there is no global state (.data.rel.ro is constant)."""
    names = sections(library)
    wrong = []
    for line in output("readelf", "-sW", library).splitlines():
        words = line.split()
        if len(words) < 8 or words[3] not in ("OBJECT", "TLS") or words[2] == "0":
            continue
        if names.get(words[6]) in WRITABLE and not RUNTIME.fullmatch(words[7]):
            wrong.append(f"writable data: {words[7]}, {words[2]} bytes in {names[words[6]]}")
    return sorted(set(wrong))


def check_archive(archive):
    found = set()
    for line in output("nm", "-g", "--defined-only", archive).splitlines():
        words = line.split()
        if len(words) == 3:
            found.add(words[2])
    return compare("archive", {name.split("@@")[0] for name in expected_exports()}, found)


def is_sanitized(library):
    return "__asan_init" in output("nm", "-D", library) or "__tsan_init" in output("nm", "-D", library)


def main():
    library, *archives = sys.argv[1:]
    wrong = check_header() + check_manual() + check_manual_sections() + check_exports(library) + check_dynamic(library)
    if not is_sanitized(library):  # sanitizers add data and symbols
        wrong += check_data(library) + [line for each in archives for line in check_archive(each)]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
