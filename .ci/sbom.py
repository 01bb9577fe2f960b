#!/usr/bin/env python3
"""Prints the bill of materials of a release, in SPDX 2.3.

    sbom.py DIRECTORY VERSION

Each file of the release is a package with its checksum; a wheel contains the libraries in its own list
(CycloneDX), with their licences. The build dependencies are the pkg-config modules of CMakeLists.txt.
The output depends only on the release.

    SOURCE_DATE_EPOCH   the commit's time
    ENTRYDB_HOMEPAGE    the project's URL
    ENTRYDB_MAINTAINER  the publisher
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
    """Return the build dependencies with their minimal versions."""
    with open(f"{TOP}/CMakeLists.txt", encoding="utf-8") as stream:
        rows = re.findall(r"pkg_check_modules\(\w+ (?:REQUIRED )?IMPORTED_TARGET ([\w-]+)(?:>=([\d.]+))?",
                          stream.read())
    return [package("Package", name, oldest or UNKNOWN,
                    comment=f"{name} {oldest} or later" if oldest else "any version")
            for name, oldest in rows]


def bundled(path):
    """Return the bundled libraries listed by carried.py in a wheel."""
    if not path.endswith(".whl"):
        return []
    with zipfile.ZipFile(path) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/sboms/carried.cdx.json")]
        components = json.loads(archive.read(name))["components"]
    return [package("Bundled", each["name"], each["version"], licenseDeclared=each["licenses"][0]["expression"],
                    externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                   "referenceLocator": each["purl"]}]) for each in components]


def published(path, version, carried):
    """Return the package of one file of the release."""
    terms = " AND ".join(["MIT", *sorted({f"({each['licenseDeclared']})" for each in carried})])
    name = os.path.basename(path)
    with open(path, "rb") as stream:
        checksum = hashlib.sha256(stream.read()).hexdigest()
    return package("Package", name, version, packageFileName=name, downloadLocation=os.environ["ENTRYDB_HOMEPAGE"],
                   licenseConcluded=terms, licenseDeclared=terms, copyrightText="Copyright (c) the entrydb authors",
                   checksums=[{"algorithm": "SHA256", "checksumValue": checksum}])


def document(directory, version):
    """Return the packages and their relationships."""
    needs = required()
    artifacts, libraries, links = [], [], []

    def link(source, kind, targets):
        links.extend({"spdxElementId": source, "relationshipType": kind, "relatedSpdxElement": each["SPDXID"]}
                     for each in targets)

    for name in sorted(os.listdir(directory)):
        carried = bundled(f"{directory}/{name}")
        artifacts.append(published(f"{directory}/{name}", version, carried))
        libraries += [each for each in carried if each not in libraries]  # both wheels bundle them
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
    own_terms = sorted(set(re.findall(r"LicenseRef-[\w.-]+", text)))  # licences without a name in SPDX's list
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
