#!/usr/bin/env python3
"""What a wheel carries that others have written: their licences, and a list.

    carried.py DIRECTORY TRACE

DIRECTORY is a wheel as "wheel unpack" leaves it, TRACE the output of a linker that was told
--trace. Carried are the libraries that auditwheel put in, the static ones of the trace, and
what is headers only. Whose they are, and what their authors want to be handed on with them,
is known to the packages of the machine that builds (Debian's): both go into the wheel, as
PEP 639 (licences) and PEP 770 (a list in CycloneDX) have it.
"""

import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys

OWN = "MIT"
# Of each source package what holds for the library, not for its tools and tests. Whoever adds a
# library reads its licence, and says here what it is.
EXPRESSIONS = {
    "bzip2": "bzip2-1.0.6",
    "elfutils": "GPL-2.0-or-later OR LGPL-3.0-or-later",
    "libarchive": "BSD-2-Clause",
    "lz4": "BSD-2-Clause",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "nettle": "GPL-2.0-or-later OR LGPL-3.0-or-later",
    "sqlite3": "blessing",
    "tomlplusplus": "MIT",
    "xz-utils": "LicenseRef-Public-Domain",
}
HEADERS_ONLY = ("*/tomlplusplus.pc",)
# The compiler and the C library: their licences except what every program has of them.
EVERYWHERE = re.compile(r"glibc|gcc-\d+.*")
DIGEST = re.compile(r"-[0-9a-f]{8}(?=[.-])")  # that auditwheel puts into a name
COMMON = "/usr/share/common-licenses"

Component = collections.namedtuple("Component", "source version package package_version")


def output(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


# --- what there is ---

def files_carried(directory, trace):
    """By patterns, as dpkg-query takes them."""
    shared = [os.path.basename(path) for path in glob.glob(f"{directory}/*.libs/*")]
    with open(trace, encoding="utf-8", errors="replace") as stream:
        static = {os.path.realpath(path) for path in
                  re.findall(r"^\(?(/usr/lib/[^\s()]+\.a)\b", stream.read(), re.MULTILINE)}
    return {*(f"*/{DIGEST.sub('', name)}" for name in shared), *HEADERS_ONLY,
            *(f"*{path.removeprefix('/usr')}" for path in static)}


def owner(pattern):
    """The package that has such a file."""
    found = re.search(r"^([^,\s]+): /", output("dpkg-query", "--search", pattern), re.MULTILINE)
    if not found:
        raise SystemExit(f"carried.py: no package of this machine has {pattern[2:]}, "
                         "so whose it is is not known")
    form = r"${source:Package}\n${source:Version}\n${Package}\n${Version}\n"
    return Component(*output("dpkg-query", "--show", "--showformat", form, found[1]).split()[:4])


def components(directory, trace):
    """One of each source package: SQLite is in twice, as a library and linked in."""
    owners = {each.source: each for each in sorted(map(owner, files_carried(directory, trace)))}
    found = [each for name, each in owners.items() if not EVERYWHERE.fullmatch(name)]
    unknown = {each.source for each in found} - set(EXPRESSIONS)
    if unknown:
        raise SystemExit(f"carried.py: the wheel carries {', '.join(sorted(unknown))}; "
                         "under which licence has to be said in .ci/carried.py")
    return found


# --- the licences ---

def write_licenses(found, place):
    """Into that directory: of each what Debian says, and the texts that it refers to."""
    os.makedirs(f"{place}/common")
    for each in found:
        os.mkdir(f"{place}/{each.source}")
        path = shutil.copyfile(f"/usr/share/doc/{each.package}/copyright", f"{place}/{each.source}/copyright")
        with open(path, encoding="utf-8") as stream:
            for name in re.findall(rf"{COMMON}/([\w.-]*\w)", stream.read()):
                text = os.path.realpath(f"{COMMON}/{name}")
                shutil.copyfile(text, f"{place}/common/{os.path.basename(text)}")


def expression(found):
    """Of the whole."""
    wanted = {EXPRESSIONS[each.source] for each in found} - {OWN}
    return " AND ".join([OWN, *(f"({each})" if " OR " in each else each for each in sorted(wanted))])


def write_metadata(found, info):
    with open(f"{info}/METADATA", encoding="utf-8") as stream:
        head, blank, text = stream.read().partition("\n\n")
    head = re.sub(r"(?m)^(License|License-Expression|License-File|Metadata-Version):.*\n?", "", head).rstrip()
    files = sorted(os.path.relpath(path, f"{info}/licenses")
                   for path in glob.glob(f"{info}/licenses/**", recursive=True) if os.path.isfile(path))
    lines = ["Metadata-Version: 2.4", head, f"License-Expression: {expression(found)}",
             *(f"License-File: {name}" for name in files)]
    with open(f"{info}/METADATA", "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines) + blank + text)


# --- the list ---

def write_list(found, info):
    """In place of auditwheel's, which has neither what is static nor all that it has put in."""
    listed = [{"type": "library", "name": each.source, "version": each.version,
               "purl": f"pkg:deb/debian/{each.package}@{each.package_version.replace('+', '%2B')}",
               "licenses": [{"expression": EXPRESSIONS[each.source]}]} for each in found]
    shutil.rmtree(f"{info}/sboms", ignore_errors=True)
    os.mkdir(f"{info}/sboms")
    with open(f"{info}/sboms/carried.cdx.json", "w", encoding="utf-8") as stream:
        json.dump({"bomFormat": "CycloneDX", "specVersion": "1.4", "version": 1, "components": listed},
                  stream, indent=1, sort_keys=True)
        stream.write("\n")


def main():
    directory, trace = sys.argv[1:]
    found = components(directory, trace)
    [info] = glob.glob(f"{directory}/*.dist-info")
    write_licenses(found, f"{info}/licenses")
    write_metadata(found, info)
    write_list(found, info)


if __name__ == "__main__":
    main()
