#!/usr/bin/env python3
"""Adds the licences and a list of the bundled libraries to a wheel.

    carried.py DIRECTORY LICENSES

DIRECTORY is a wheel unpacked by "wheel unpack", LICENSES the directory licenses/ made by
.ci/libraries, with the version and copyright file of each source package. The formats are those of
PEP 639 (licences) and PEP 770 (a list in CycloneDX).
"""

import glob
import json
import os
import re
import shutil
import sys

OWN = "MIT"
# For each source package, the licence of the library, without its tools and tests. To add a library,
# read its licence and enter it here.
EXPRESSIONS = {
    "bzip2": "bzip2-1.0.6",
    "elfutils": "GPL-2.0-or-later OR LGPL-3.0-or-later",
    "libarchive": "BSD-2-Clause",
    "lz4": "BSD-2-Clause",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "sqlite3": "blessing",
    "tomlplusplus": "MIT",
    "xz-utils": "LicenseRef-Public-Domain",
    "zlib": "Zlib",
}
COMMON = "/usr/share/common-licenses"


def components(licenses):
    """Return the name and version of each package."""
    found = {os.path.basename(path): open(f"{path}/version", encoding="utf-8").read().strip()
             for path in sorted(glob.glob(f"{licenses}/*"))}
    unknown = set(found) - set(EXPRESSIONS)
    if unknown:
        raise SystemExit(f"carried.py: the wheel carries {', '.join(sorted(unknown))}; "
                         "under which licence has to be said in .ci/carried.py")
    return found


# --- the licences ---

def write_licenses(found, licenses, place):
    """Copy each package's copyright file, and the common licences that it refers to."""
    os.makedirs(f"{place}/common")
    for each in found:
        os.mkdir(f"{place}/{each}")
        path = shutil.copyfile(f"{licenses}/{each}/copyright", f"{place}/{each}/copyright")
        with open(path, encoding="utf-8") as stream:
            for name in re.findall(rf"{COMMON}/([\w.-]*\w)", stream.read()):
                text = os.path.realpath(f"{COMMON}/{name}")
                shutil.copyfile(text, f"{place}/common/{os.path.basename(text)}")


def expression(found):
    """Return the licence expression of the wheel."""
    wanted = {EXPRESSIONS[each] for each in found} - {OWN}
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
    listed = [{"type": "library", "name": name, "version": version,
               "purl": f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}?arch=source",
               "licenses": [{"expression": EXPRESSIONS[name]}]} for name, version in found.items()]
    os.makedirs(f"{info}/sboms", exist_ok=True)
    with open(f"{info}/sboms/carried.cdx.json", "w", encoding="utf-8") as stream:
        json.dump({"bomFormat": "CycloneDX", "specVersion": "1.4", "version": 1, "components": listed},
                  stream, indent=1, sort_keys=True)
        stream.write("\n")


def main():
    directory, licenses = sys.argv[1:]
    found = components(licenses)
    [info] = glob.glob(f"{directory}/*.dist-info")
    write_licenses(found, licenses, f"{info}/licenses")
    write_metadata(found, info)
    write_list(found, info)


if __name__ == "__main__":
    main()
