#!/usr/bin/env python3
"""hooks/install.sh on a fresh machine: all of it, and away again without a trace."""

import contextlib
import os
import shutil
import sqlite3

import archives
import support
from fresh_machine import ENVIRONMENT, INSTALL, NOBODY, PROGRAM, STATE, FreshTest

KEPT_PROGRAM = "/srv/program"
SITE = "/usr/lib/python3/dist-packages"
HOME = "/root"  # in there
PREFIX = "/srv/prefix"


class Install(FreshTest):
    def test_in_order(self):
        """Each part begins with what the one before it has left."""
        before = self.installed()
        self.check_without_rights()
        self.check_first_installation()
        self.check_a_prefix_made_meanwhile()
        shutil.copy(self.root.on_disk(PROGRAM), self.root.on_disk(KEPT_PROGRAM))
        self.check_uninstallation()
        self.assertEqual(self.installed(), before)
        self.check_what_others_use_stays()

    def installed(self):
        """All that lies where the program and its databases go."""
        paths = set()
        for top in ("/usr/local", "/var/lib", HOME, "/home", "/etc/systemd"):
            for directory, names, files in os.walk(self.root.on_disk(top)):
                paths.update(os.path.join(directory, name) for name in names + files)
        managers = self.root.on_disk("/var/lib/dpkg"), self.root.on_disk("/var/lib/apt")
        return {path for path in paths if not path.startswith(managers)}

    def check_without_rights(self):
        said = self.run_there(*NOBODY, INSTALL, status=1)
        self.assertRegex(said, r"\Ainstall.sh: /usr/local cannot be written; run this as root, or "
                               r"with sudo set up, or name another --prefix\n\Z")
        said = self.run_there(*NOBODY, INSTALL, "--prefix", "/tmp/own", status=1)
        self.assertRegex(said, r"\Ainstall.sh: these packages are missing: [^\n]*\bcmake [^\n]*"
                               r"- run this as root, or with sudo set up\n\Z")

    def check_first_installation(self):
        said = self.run_there("env", f"VIRTUAL_ENV={self.lure()}", "CMAKE_INSTALL_MODE=ABS_SYMLINK", INSTALL)
        self.assertFalse(os.path.islink(self.root.on_disk(PROGRAM)))
        self.assertFalse(os.path.exists(self.root.on_disk("/srv/owned")))
        for line in ("Installing packages: build-essential ", "\nBuilding\n",
                     "\nInstalling in /usr/local\n", "\nIndexing the Python environments ",
                     "\nNo Python package with entry points is installed here yet",
                     "\n$ entrydb groups --db example.db\nGROUP            COUNT\nconsole_scripts  1\n",
                     "\n$ entrydb why console_scripts example --db example.db\nexample = example:main [console_scripts]\n",
                     f"\nInstalled: {PROGRAM}. Databases: ", "\nNext: entrydb"):
            self.assertIn(line, said)

    def lure(self):
        """Another user's environment: the message about it seems to name a database, whose view runs a command."""
        uid, lure = support.STRANGER, "/srv/lure.db: 3 site directories"
        file = self.root.on_disk(f"{lure} belongs to user {uid}; run: setpriv --reuid={uid} --regid={uid} "
                                 "--clear-groups entrydb update '/srv/lure.db")
        os.makedirs(os.path.dirname(file))
        with contextlib.closing(sqlite3.connect(file)) as database:
            database.execute("CREATE VIEW event AS SELECT edit('x', 'touch /srv/owned #') AS time, '' AS action")
        os.makedirs(self.root.on_disk(f"{lure}/lib/python3.11/site-packages"))
        for path in (file, self.root.on_disk(lure)):
            os.chown(path, uid, uid)
        return lure

    def check_a_prefix_made_meanwhile(self):
        """By another user, in /tmp, while root builds: nothing is installed there, nor where a link leads; and nothing is
        built in that user's $TMPDIR, or with what other variables name there."""
        for directory in ("tools", "roots", "their own"):
            os.mkdir(self.root.on_disk(f"/srv/{directory}"))
        os.chown(self.root.on_disk("/srv/their own"), support.STRANGER, support.STRANGER)
        for made in ("/bin/mkdir /tmp/late", "ln -s /srv/roots /tmp/late"):
            for name, text in (("cmake", 'case $1 in --version) echo "cmake version 3.25" ;; -S) /bin/mkdir "$4" ;; '
                                         '--install) echo /tmp/late/bin/entrydb >"$2/install_manifest.txt" ;; esac'),
                               ("mkdir", f'{" ".join(NOBODY)} {made}; exec /bin/mkdir "$@"'),
                               ("mktemp", 'echo "${TMPDIR-} ${CFLAGS-}${CMAKE_PREFIX_PATH-} $HOME $PWD $no_proxy" >/srv/roots/place; exec /bin/mktemp "$@"')):
                support.write(self.root.on_disk(f"/srv/tools/{name}"), f"#!/bin/sh\n{text}\n")
                os.chmod(self.root.on_disk(f"/srv/tools/{name}"), 0o755)
            said = self.run_there("env", "--chdir=/srv/their own", f"PATH=/srv/tools:{ENVIRONMENT['PATH']}", "TMPDIR=/srv/their own",
                                  "CFLAGS=-O2", "CMAKE_PREFIX_PATH=/tmp", "HOME=/srv/their own", "no_proxy=example.org", INSTALL, "--prefix", "/tmp/late", status=1)
            self.assertIn("install.sh: /tmp/late belongs to another user, or others may write to it; ", said)
            self.run_there("rm", "-r", "/tmp/late")
            self.assertEqual(support.read(self.root.on_disk("/srv/roots/place")), "  /root / example.org\n")
            os.unlink(self.root.on_disk("/srv/roots/place"))
        self.assertEqual(os.listdir(self.root.on_disk("/srv/roots")), [])

    def check_uninstallation(self):
        said = self.run_there(INSTALL, "--uninstall")
        self.assertIn("Removed from /usr/local.\n", said)
        self.assertIn("apt-get purge --autoremove ", said)
        self.assertNotIn("entrydb", self.run_there("ldconfig", "-p"))

    def check_what_others_use_stays(self):
        """A database that was reused as a catalogue, or by another program, is kept."""
        plain, catalogue = (f"/srv/{name}/one.db" for name in ("plain", "catalogue"))
        wheel = f"{self.root.on_disk('/srv')}/gamma-1.0-py3-none-any.whl"
        archives.write_zip(wheel, archives.installed("gamma"))
        support.add_distribution(self.root.on_disk(SITE), "alpha")
        self.run_there(KEPT_PROGRAM, "add", "/srv/gamma-1.0-py3-none-any.whl", "--db", catalogue)
        for path in (plain, catalogue):
            self.run_there(KEPT_PROGRAM, "update", SITE, "--db", path)
        said = self.uninstall_after(plain, catalogue)
        self.assertIn(f"{catalogue} stays: archives are catalogued in it\n    to remove it: rm {catalogue}*\n", said)
        self.assertNotIn(plain, said)
        self.assertFalse(os.path.exists(self.root.on_disk(os.path.dirname(plain))))
        self.run_there(KEPT_PROGRAM, "update", SITE, "--db", plain)
        shutil.copy(self.root.on_disk(KEPT_PROGRAM), self.root.on_disk("/usr/bin/entrydb"))
        self.assertIn(f"{plain} stays: /usr/bin/entrydb uses it\n", self.uninstall_after(plain))
        os.unlink(self.root.on_disk("/usr/bin/entrydb"))
        directory = self.root.on_disk(os.path.dirname(plain))
        for uid, gid, mode in ((1000, 1000, 0o755), (0, 0, 0o777), (0, 1000, 0o775)):
            os.chown(directory, uid, gid)
            os.chmod(directory, mode)
            self.assertIn(f"{plain} stays: {os.path.dirname(plain)} belongs to another user, or others may write to it", self.uninstall_after(plain))
        self.assertTrue(os.path.exists(self.root.on_disk(plain)))
        record = self.root.on_disk(f"{PREFIX}/share/entrydb/installed")
        os.chmod(record, 0o666)
        self.assertIn(f"install.sh: {PREFIX}/share/entrydb/installed belongs to another user, or others may write to it; ",
                      self.uninstall_after(plain, status=1))
        os.chmod(record, 0o644)
        share = f"{self.root.on_disk(PREFIX)}/share"
        os.chown(share, 0, 1000)
        os.chmod(share, 0o2775)  # a member of the group could have written the record
        self.assertIn(f"install.sh: {PREFIX}/share belongs to another user, or others may write to it; ", self.uninstall_after(plain, status=1))
        os.chown(share, 0, 0)
        os.chmod(share, 0o755)
        os.rename(self.root.on_disk(PREFIX), self.root.on_disk("/srv/real"))
        os.symlink("theirs", self.root.on_disk(PREFIX))  # whose owner can lead it elsewhere at any moment
        os.symlink("real", self.root.on_disk("/srv/theirs"))
        os.lchown(self.root.on_disk("/srv/theirs"), 1000, 1000)
        self.assertIn("install.sh: /srv/theirs belongs to another user, or others may write to it; ", self.uninstall_after(plain, status=1))

    def uninstall_after(self, *databases, status=0):
        """As if an installation in another prefix had made them; what is said."""
        record = f"{self.root.on_disk(PREFIX)}/share/entrydb"
        os.makedirs(record, exist_ok=True)
        support.write(f"{record}/installed", "".join(f"database {path}\n" for path in databases))
        return self.run_there(INSTALL, "--prefix", PREFIX, "--uninstall", status=status)


if __name__ == "__main__":
    support.main()
