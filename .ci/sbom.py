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


def sha256(path):
    with open(path, "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()


def identifier(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(words))


def package(name, version, **more):
    return {"SPDXID": identifier("Package", name), "name": name, "versionInfo": version,
            "downloadLocation": UNKNOWN, "filesAnalyzed": False, "licenseConcluded": UNKNOWN,
            "licenseDeclared": UNKNOWN, "copyrightText": UNKNOWN} | more


def published(path, version):
    """One file of the release."""
    terms = " AND ".join(["MIT", *sorted({f"({each['licenseDeclared']})" for each in bundled(path)})])
    return package(os.path.basename(path), version, packageFileName=os.path.basename(path),
                   downloadLocation=os.environ["ENTRYDB_HOMEPAGE"], licenseConcluded=terms,
                   licenseDeclared=terms, copyrightText="Copyright (c) the entrydb authors",
                   checksums=[{"algorithm": "SHA256", "checksumValue": sha256(path)}])


def required():
    """name, oldest version; what the sources are built with."""
    with open(f"{TOP}/CMakeLists.txt", encoding="utf-8") as stream:
        rows = re.findall(r"pkg_check_modules\(\w+ (?:REQUIRED )?IMPORTED_TARGET ([\w-]+)(?:>=([\d.]+))?",
                          stream.read())
    return [package(name, oldest or UNKNOWN,
                    comment=f"{name} {oldest} or later" if oldest else "any version")
            for name, oldest in rows]


def bundled(path):
    """What carried.py found in it, if it is a wheel."""
    if not path.endswith(".whl"):
        return []
    with zipfile.ZipFile(path) as archive:
        lists = [name for name in archive.namelist() if name.endswith(".dist-info/sboms/carried.cdx.json")]
        components = [each for name in lists for each in json.loads(archive.read(name))["components"]]
    return [package(each["name"], each["version"], externalRefs=[
                {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                 "referenceLocator": each["purl"]}],
                licenseDeclared=each["licenses"][0]["expression"])
            | {"SPDXID": identifier("Bundled", each["name"])} for each in components]


def own_terms(packages):
    """Of what has no name in SPDX's list."""
    names = {name for each in packages
             for name in re.findall(r"LicenseRef-[\w.-]+", each["licenseDeclared"])}
    return [{"licenseId": name, "extractedText": "See licenses/ in the wheel's dist-info."}
            for name in sorted(names)]


def relations(source, kind, targets):
    return [{"spdxElementId": source, "relationshipType": kind, "relatedSpdxElement": each["SPDXID"]}
            for each in targets]


def document(directory, version):
    artifacts = [published(f"{directory}/{name}", version) for name in sorted(os.listdir(directory))]
    needs = required()
    libraries, links = [], relations("SPDXRef-DOCUMENT", "DESCRIBES", artifacts)
    for artifact in artifacts:
        name = artifact["name"]
        carried = bundled(f"{directory}/{name}")
        if carried:
            libraries = carried
            links += relations(artifact["SPDXID"], "CONTAINS", carried)
        elif name == f"entrydb-{version}.tar.xz":
            links += relations(artifact["SPDXID"], "DEPENDS_ON", needs)
    return artifacts + needs + libraries, links


def main():
    directory, version = sys.argv[1:]
    packages, links = document(directory, version)
    key = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"entrydb-{version}",
        "documentNamespace": f"{os.environ['ENTRYDB_HOMEPAGE']}/spdx/entrydb-{version}-{key[:16]}",
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: entrydb-release", "Organization: "
                                      + re.sub(r" *<.*", "", os.environ["ENTRYDB_MAINTAINER"])]},
        "packages": packages, "relationships": links,
        "hasExtractedLicensingInfos": own_terms(packages)}, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
