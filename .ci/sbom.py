#!/usr/bin/env python3
"""What a release is made of, in SPDX 2.3, on standard output.

    sbom.py DIRECTORY VERSION

Each file of the release is a package with its checksum; the wheel contains what its own list
names (CycloneDX), with its licences. What the sources need at build time is what CMakeLists.txt
asks pkg-config for. Time and names follow from the release alone.

    SOURCE_DATE_EPOCH   of the commit
    ENTRYDB_HOMEPAGE    where the project lives
    ENTRYDB_MAINTAINER  who publishes it
"""

import datetime
import hashlib
import json
import os
import re
import sys
import zipfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
UNKNOWN = "NOASSERTION"


def package(kind, name, version, **more):
    return {"SPDXID": f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.]+", "-", name), "name": name,
            "versionInfo": version, "downloadLocation": UNKNOWN, "filesAnalyzed": False,
            "licenseConcluded": UNKNOWN, "licenseDeclared": UNKNOWN, "copyrightText": UNKNOWN} | more


def required():
    """What the sources are built with, and its oldest version."""
    with open(f"{TOP}/CMakeLists.txt", encoding="utf-8") as stream:
        rows = re.findall(r"pkg_check_modules\(\w+ (?:REQUIRED )?IMPORTED_TARGET ([\w-]+)(?:>=([\d.]+))?",
                          stream.read())
    return [package("Package", name, oldest or UNKNOWN,
                    comment=f"{name} {oldest} or later" if oldest else "any version")
            for name, oldest in rows]


def bundled(path):
    """What carried.py found in it, if it is a wheel."""
    if not path.endswith(".whl"):
        return []
    with zipfile.ZipFile(path) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/sboms/carried.cdx.json")]
        components = json.loads(archive.read(name))["components"]
    return [package("Bundled", each["name"], each["version"], licenseDeclared=each["licenses"][0]["expression"],
                    externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                   "referenceLocator": each["purl"]}]) for each in components]


def published(path, version, carried):
    """One file of the release."""
    terms = " AND ".join(["MIT", *sorted({f"({each['licenseDeclared']})" for each in carried})])
    name = os.path.basename(path)
    with open(path, "rb") as stream:
        checksum = hashlib.sha256(stream.read()).hexdigest()
    return package("Package", name, version, packageFileName=name, downloadLocation=os.environ["ENTRYDB_HOMEPAGE"],
                   licenseConcluded=terms, licenseDeclared=terms, copyrightText="Copyright (c) the entrydb authors",
                   checksums=[{"algorithm": "SHA256", "checksumValue": checksum}])


def document(directory, version):
    """The packages, and what they have to do with each other."""
    needs = required()
    artifacts, libraries, links = [], [], []

    def link(source, kind, targets):
        links.extend({"spdxElementId": source, "relationshipType": kind, "relatedSpdxElement": each["SPDXID"]}
                     for each in targets)

    for name in sorted(os.listdir(directory)):
        carried = bundled(f"{directory}/{name}")
        artifacts.append(published(f"{directory}/{name}", version, carried))
        libraries += [each for each in carried if each not in libraries]  # both wheels carry them
        link("SPDXRef-DOCUMENT", "DESCRIBES", artifacts[-1:])
        link(artifacts[-1]["SPDXID"], "CONTAINS", carried)
        link(artifacts[-1]["SPDXID"], "DEPENDS_ON", needs if name == f"entrydb-{version}.tar.xz" else [])
    return artifacts + needs + libraries, links


def main():
    directory, version = sys.argv[1:]
    packages, links = document(directory, version)
    text = json.dumps(packages, sort_keys=True)
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    publisher = re.sub(r" *<.*", "", os.environ["ENTRYDB_MAINTAINER"])
    own_terms = sorted(set(re.findall(r"LicenseRef-[\w.-]+", text)))  # what has no name in SPDX's list
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"entrydb-{version}",
        "documentNamespace": f"{os.environ['ENTRYDB_HOMEPAGE']}/spdx/entrydb-{version}-"
                             f"{hashlib.sha256(text.encode()).hexdigest()[:16]}",
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: entrydb-release", f"Organization: {publisher}"]},
        "packages": packages, "relationships": links,
        "hasExtractedLicensingInfos": [{"licenseId": name, "extractedText": "See licenses/ in the wheel's dist-info."}
                                       for name in own_terms]}, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
