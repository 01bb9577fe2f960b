"""The systemd units are valid and watch the directories that the program indexes.

They are only analyzed by systemd-analyze; no unit is started.
"""

import glob
import os
import re
import shlex
import shutil
import subprocess
import unittest

import support
from support import TOP, COULD_NOT, DATABASE, DONE, PROGRAM, CommandTest, add_distribution, query, write

UNITS = sorted(glob.glob(f"{TOP}/hooks/systemd/*"))
INSTALLED = "/usr/bin/entrydb"
# As recommended by systemd.special(7).
WANTED_BY = {"entrydb.path": "paths.target", "entrydb.timer": "timers.target"}
EXPOSURE_ALLOWED = 50  # tenths, by systemd-analyze; a service without hardening has 96

needs_systemd = unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")


def values(unit, key):
    """All values of the key in the unit."""
    with open(f"{TOP}/hooks/systemd/{unit}", encoding="utf-8") as file:
        return [line.strip().partition("=")[2] for line in file if line.startswith(f"{key}=")]


class Units(CommandTest):
    def setUp(self):
        super().setUp()
        self.units = f"{self.top}/units"
        os.mkdir(self.units)
        for unit in UNITS:
            text = support.read(unit).replace(INSTALLED, PROGRAM)
            write(f"{self.units}/{os.path.basename(unit)}", text)

    def analyze(self, *words):
        return subprocess.run(
            ["systemd-analyze", *words],
            capture_output=True,
            text=True,
            env={**os.environ, "SYSTEMD_UNIT_PATH": f"{self.units}:"},
            check=False,
        )

    @needs_systemd
    def test_sound(self):
        self.assertEqual(len(UNITS), 3)
        for unit in UNITS:
            name = os.path.basename(unit)
            done = self.analyze("verify", "--man=no", f"{self.units}/{name}")
            ours = [line for line in done.stderr.splitlines() if "entrydb" in line]
            self.assertEqual((done.returncode, ours), (0, []), name)

    def push_settings(self):
        """The drop-in for entrydb.service from entrydb-push(1)."""
        with open(f"{TOP}/indexer/man/entrydb-push.1", encoding="utf-8") as file:
            text = re.search(r"^\[Service\]\n.*?(?=^\.Ed)", file.read(), re.M | re.S)[0]
        os.mkdir(f"{self.units}/entrydb.service.d")
        write(f"{self.units}/entrydb.service.d/push.conf", text.replace(INSTALLED, PROGRAM))
        return text

    @needs_systemd
    def test_with_a_push(self):
        """The unit is valid and hardened with the drop-in, whose command the program accepts."""
        text = self.push_settings()
        for name in ("entrydb.service", "entrydb.timer"):
            done = self.analyze("verify", "--man=no", f"{self.units}/{name}")
            ours = [line for line in done.stderr.splitlines() if "entrydb" in line or "push" in line]
            self.assertEqual((done.returncode, ours), (0, []), name)
        words = shlex.split(re.search(r"^ExecStartPost=-(.*)$", text, re.M)[1])
        self.assertEqual(words[0], INSTALLED)
        reply = self.run_program(*words[1:], self.prefix, status=COULD_NOT, env=self.environment(PGSERVICEFILE="/no/such/file"))
        self.assertRegex(reply.err, r"\Aentrydb: [^\n]*(service|fleets)[^\n]*\n\Z")
        write(f"{self.units}/entrydb.service.d/push.conf", text.replace("PrivateNetwork", "PrivateNetworks").replace(INSTALLED, PROGRAM))
        self.assertIn("PrivateNetworks", self.analyze("verify", "--man=no", f"{self.units}/entrydb.service").stderr)

    @needs_systemd
    def test_mistake_is_detected(self):
        path = f"{self.units}/entrydb.service"
        text = support.read(path)
        write(path, text.replace("NoNewPrivileges=", "NoNewPriviledges="))
        self.assertIn("NoNewPriviledges", self.analyze("verify", "--man=no", path).stderr)

    @needs_systemd
    def test_hardened(self):
        done = self.analyze("security", "--offline=yes", f"--threshold={EXPOSURE_ALLOWED}",
                            f"{self.units}/entrydb.service")
        if "unrecognized option" in done.stderr:
            self.skipTest("this systemd-analyze cannot look at units that are not loaded")
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)

    def words(self, unit):
        (command,) = values(unit, "ExecStart")
        words = shlex.split(command)
        self.assertEqual(words[0], INSTALLED)
        self.assertEqual(values(unit, "StateDirectory"), ["entrydb"])
        return words[1:]

    def test_command_of_the_service(self):
        reply = self.run_program(*self.words("entrydb.service"), self.prefix, status=DONE)
        self.assertEqual(reply.out + reply.err, "")
        self.assertTrue(os.path.exists(self.database))

    def test_manifests_can_be_written(self):
        hosts = re.findall(r'"(etc/[^"]+)", "', support.read(f"{TOP}/indexer/manifests.c"))
        self.assertEqual(values("entrydb.service", "ReadWritePaths"), [" ".join(f"-/{each}" for each in hosts)])

    def test_no_start_limit(self):
        self.assertEqual(values("entrydb.path", "TriggerLimitIntervalSec"), ["0"])
        self.assertEqual(values("entrydb.service", "StartLimitIntervalSec"), ["0"])

    def test_watched_paths_are_indexed(self):
        paths = values("entrydb.path", "PathChanged")
        self.assertGreater(len(paths), 20)
        image = f"{self.top}/image"
        for path in paths:
            add_distribution(f"{image}{path}", "alpha")
        self.run_program("update", "--hook", "systemd", "--root", image, status=DONE)
        known = query(
            f"{image}/{DATABASE}",
            "SELECT '/' || path FROM root r WHERE EXISTS "
            "(SELECT 1 FROM distribution d WHERE d.root = r.id)",
        )
        self.assertEqual(sorted(row[0] for row in known), sorted(paths))

class Installed(CommandTest):
    """Installed units are found by name."""

    @unittest.skipUnless(shutil.which("systemctl"), "no systemctl")
    def test_each_can_be_enabled(self):
        build = os.environ.get("ENTRYDB_BUILD") or f"{TOP}/build"
        subprocess.run(["cmake", "--install", f"{build}/hooks", "--prefix", f"{self.top}/usr"],
                       stdout=subprocess.DEVNULL, check=True)
        for unit, target in WANTED_BY.items():
            done = subprocess.run(["systemctl", f"--root={self.top}", "enable", unit],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            links = glob.glob(f"{self.top}/etc/systemd/system/*.wants/{unit}")
            self.assertEqual([(link.split("/")[-2], os.readlink(link)) for link in links],
                             [(f"{target}.wants", f"/usr/lib/systemd/system/{unit}")])


if __name__ == "__main__":
    support.main()
