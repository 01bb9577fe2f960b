#!/usr/bin/env python3
"""Inputs that are refused because they are too large, endless or not regular files; and Ctrl-C during long work.

The limits are documented in entrydb(1), LIMITS. An archive or distribution beyond one costs a single
line and its own rows, nothing else.
"""

import os
import resource
import signal
import subprocess
import time
import zipfile

from archives import write_zip
from support import COULD_NOT, DONE, CommandTest, SECONDS_ALLOWED, add_distribution, build_type_is_sanitized, main, metadata, query, write

MEGABYTE = 1 << 20
TERABYTE = 1 << 40
MEMORY = 1600 * MEGABYTE  # bytes of address space; each of 16 read-ahead threads reserves 64 MiB
PATIENCE = 3             # seconds from Ctrl-C until it exits
FILES = ("METADATA", "entry_points.txt", "RECORD", "direct_url.json")


def bounded():
    """Limit the memory of the child."""
    if not build_type_is_sanitized():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def make_sparse(path):
    with open(path, "wb") as file:
        file.truncate(TERABYTE)


class OddFiles(CommandTest):
    """A FIFO, an endless device or a sparse terabyte instead of a file."""

    kinds = {
        "fifo": os.mkfifo,
        "device": lambda path: os.symlink("/dev/zero", path),
        "sparse": make_sparse,
    }

    def each_kind(self):
        for kind, make in self.kinds.items():
            with self.subTest(kind):
                yield make

    def put(self, make, path):
        if os.path.lexists(path):
            os.unlink(path)
        make(path)

    def test_metadata_files(self):
        """The other files are read, and the program ends soon."""
        for file in FILES:
            info = add_distribution(self.site, f"odd-{file.partition('.')[0]}")
            add_distribution(self.site, f"sound-{file.partition('.')[0]}")
            for make in self.each_kind():
                self.put(make, f"{info}/{file}")
                self.update(preexec_fn=bounded, status=DONE)
                names = [row[0] for row in query(self.database, "SELECT DISTINCT distribution FROM entry_points")]
                self.assertIn(f"sound-{file.partition('.')[0]}", names)
                self.list(preexec_fn=bounded, status=DONE)

    def test_pth_and_pyvenv_cfg(self):
        add_distribution(self.site, "alpha")
        env = self.environment(VIRTUAL_ENV=self.prefix)
        for path in (f"{self.site}/a.pth", f"{self.prefix}/pyvenv.cfg"):
            for make in self.each_kind():
                self.put(make, path)
                reply = self.run_program("list", "demo", env=env, preexec_fn=bounded, status=DONE)
                self.assertIn("alpha", reply.out)
            os.unlink(path)

    def test_archives(self):
        """A tarball may be preceded or followed by endless zeros."""
        for name in ("a.whl", "a.tar.gz", "a.conda"):
            for make in self.each_kind():
                self.put(make, f"{self.top}/{name}")
                reply = self.run_program("add", "--db", f"{self.top}/db", f"{self.top}/{name}",
                                         preexec_fn=bounded)
                self.assertIn(reply.status, (DONE, COULD_NOT), str(reply))
                self.assertEqual(" 0 distributions" in reply.err, True, str(reply))


class TooMuch(CommandTest):
    def refuse(self, reason):
        reply = self.update(preexec_fn=bounded, status=DONE)
        self.assertRegex(reply.err, reason)
        self.assertLess(len(reply.err.splitlines()), 5, str(reply))
        self.assertEqual(query(self.database, "SELECT DISTINCT distribution FROM entry_points"), [("sound",)])

    def setUp(self):
        super().setUp()
        add_distribution(self.site, "sound")

    def test_entry_points_of_one_distribution(self):
        add_distribution(self.site, "odd", text="[g]\n" + "a=\n" * (4 << 20))
        self.refuse("more than 262144 entry points")

    def test_a_long_group_with_many_entry_points(self):
        add_distribution(self.site, "odd", text="[" + "g" * MEGABYTE + "]\n" + "a=b\n" * 1000)
        self.refuse("too many entry points for a group or distribution of so long a name")

    def test_a_long_name_of_a_distribution_with_many_entry_points(self):
        info = add_distribution(self.site, "odd", text="[g]\n" + "a=b\n" * 10000)
        write(f"{info}/METADATA", metadata("odd" + "d" * 100000, "1"))
        self.refuse("too many entry points for a group or distribution of so long a name")

    def test_long_groups_of_many_distributions(self):
        """What repeats a group is limited in proportion to the file, for each of them."""
        for i in range(100):
            add_distribution(self.site, f"odd{i}", text="[" + "g" * 50000 + "]\n" + "a=b\n" * 1000)
        reply = self.list("g", preexec_fn=bounded)
        self.assertIn("too many entry points for a group", reply.err)

    def test_many_entry_points_of_one_name(self):
        add_distribution(self.site, "odd", text="[g]\n" + "n = m:f\n" * 5000)
        reply = self.run_program("why", "g", "n", "--path", self.site, status=DONE)
        self.assertEqual(reply.out.count("provided by"), 4096)
        self.assertIn("904 more of that name are not explained", reply.err)

    def test_many_links_to_one_file(self):
        """Each is below the limit, their sum is not."""
        write(f"{self.top}/large", "[g]\n" + "".join(f"e{i} = {'m' * 1000}\n" for i in range(14000)))
        for i in range(50):
            info = add_distribution(self.site, f"odd{i}")
            os.unlink(f"{info}/entry_points.txt")
            os.symlink(f"{self.top}/large", f"{info}/entry_points.txt")
        reply = self.list(preexec_fn=bounded)
        self.assertIn("more than 268435456 bytes of entry points", reply.err)
        self.assertIn(reply.status, (DONE, COULD_NOT))

    def test_large_tarball_inside_a_conda_package(self):
        """It is never held in memory as a whole."""
        with zipfile.ZipFile(f"{self.top}/a.conda", "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("pkg-a.tar.zst", "w") as member:
                for _ in range(200):
                    member.write(bytes(MEGABYTE))
        add = ("add", "--db", f"{self.top}/db", f"{self.top}/a.conda")
        reply = self.run_program(*add, preexec_fn=bounded, status=DONE)
        self.assertIn(" 0 distributions", reply.err)


class Interruption(CommandTest):
    """Ctrl-C ends the program soon and leaves the published data unchanged."""

    def interrupt(self, *arguments, makes=None):
        """Interrupt a command half-way, after measuring how long it takes. makes: the path that it creates."""
        began = time.monotonic()
        self.start(*arguments, stdout=subprocess.DEVNULL).wait(timeout=SECONDS_ALLOWED)
        took = time.monotonic() - began
        if makes:
            os.unlink(makes)
        child = self.start(*arguments, stdout=subprocess.DEVNULL)
        time.sleep(took / 4)
        self.assertIsNone(child.poll(), f"it was over before it could be interrupted: {took} s before")
        child.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, err = child.communicate(timeout=SECONDS_ALLOWED)
        ended = time.monotonic() - began
        self.assertLess(ended, max(PATIENCE, took / 2), f"{arguments[:3]}: {took} s before")
        self.assertIn(child.returncode, (COULD_NOT, -signal.SIGINT), err)
        self.assertFalse(makes and os.path.exists(makes))

    def make_site(self, count, points):
        text = "[g]\n" + "".join(f"e{i} = m{i}:f\n" for i in range(points))
        for i in range(count):
            add_distribution(self.site, f"d{i}", text=text)

    def test_update_and_verify(self):
        self.make_site(60, 5000)
        self.interrupt("update", self.prefix, makes=self.database)
        self.update()
        self.interrupt("verify", self.prefix)
        self.interrupt("list", "--path", self.site)

    def test_add(self):
        text = "[g]\n" + "".join(f"e{i} = m{i}:f\n" for i in range(5000))
        tree = {}
        for i in range(60):
            tree |= {f"d{i}-1.dist-info/METADATA": metadata(f"d{i}", "1"), f"d{i}-1.dist-info/entry_points.txt": text}
        path = write_zip(f"{self.top}/a.whl", tree)
        self.interrupt("add", "--db", f"{self.top}/db", path, makes=f"{self.top}/db")


if __name__ == "__main__":
    main()
