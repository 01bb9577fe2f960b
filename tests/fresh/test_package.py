#!/usr/bin/env python3
"""Debian's packages as hooks/README.md says, on a fresh machine: of a release, with their tests.

What lintian judges is what is released, and installed together with others the first question
finds a database that is fresh.
"""

import glob
import json
import re
import shutil
import unittest

import debian_root
import support
import target_root
from fresh_machine import SOURCES, FreshTest

# As on the publisher's machine.
REPOSITORY = f"""
cd {SOURCES} && hooks/install.sh --packages deb && git init --quiet && git add --all &&
git -c user.name=Ann -c user.email=ann@example.org commit --quiet --message=all
"""
NOT_JUDGED = "newer-standards-version"  # than that which this lintian knows


class Packages(FreshTest):
    def run_script(self, script):
        settings = target_root.UPSTREAM | {"ENTRYDB_DPKG_COPYRIGHT": self.copyright} | debian_root.BUILD
        del settings["SOURCE_DATE_EPOCH"]
        words = [f"{name}={value}" for name, value in settings.items()]
        return self.run_there("env", *words, "sh", "-ec", f"cd {SOURCES}\n{script}")

    def test_as_documented(self):
        """Each part begins with what the one before it has left."""
        self.copyright = self.root.put("/usr/share/doc/dpkg/copyright")
        support.write(self.root.on_disk("/etc/apt/apt.conf.d/yes"), 'APT::Get::Assume-Yes "true";\n')
        with open(f"{support.TOP}/hooks/README.md", encoding="utf-8") as stream:
            documented = re.search(r"## dpkg, .*\n\n```sh\n((?:.*\n)*?)```", stream.read())[1]
        self.run_script(REPOSITORY)
        more = f"entrydb_*.deb ../libentrydb0_*.deb ../python3-entrydb_*.deb {' '.join(debian_root.PACKAGES)}"
        built = documented.replace("entrydb_*.deb", more)
        self.assertNotEqual(built, documented)
        said = self.run_script(built)
        self.assertRegex(said, r"\n100% tests passed, 0 tests failed out of \d\d")
        debian_root.build_packages(copy_of=self.root.on_disk(f"{SOURCES}/build-release"))
        self.check_fresh()
        self.check_lintian()
        self.run_script("apt-get install ./build-release/libentrydb-dev_*.deb && hooks/dpkg/tests/development")

    def check_fresh(self):
        rows = self.run_there("entrydb", "status", "--json", "--path", debian_root.SITE).splitlines()
        self.assertEqual([json.loads(row)["state"] for row in rows], ["fresh"])
        self.assertRegex(self.run_there("entrydb", "why", "markdown.extensions", "toc"), r": fresh\n +\(")

    def check_lintian(self):
        if not shutil.which("lintian"):
            raise unittest.SkipTest("lintian is not installed")
        place = self.root.on_disk(f"{SOURCES}/build-release")
        files = [path for kind in ("dsc", "changes") for path in glob.glob(f"{place}/*.{kind}")]
        self.assertEqual(len(files), 2)
        done = debian_root.run(["lintian", "--allow-root", "--info", "--pedantic", "--suppress-tags", NOT_JUDGED,
                                *files])
        complaints = re.findall(r"^[A-MO-Z]: .*", debian_root.text_of(done), re.MULTILINE)
        self.assertEqual(complaints, [], debian_root.text_of(done))


if __name__ == "__main__":
    support.main()
