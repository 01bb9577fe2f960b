"""Bad files, directories, databases and disks do no harm."""

import contextlib
import os
import random
import resource
import shutil
import socket
import sqlite3
import stat
import subprocess
import tempfile
import threading

import support
from support import (COULD_NOT, DATABASE, DONE, NOT_FOUND, SITE, STRANGER, CommandTest, add_distribution,
                     change_database, entry_points, events, is_sound, leftovers, metadata, needs_root, processor_seconds, query,
                     rows,
                     write)

MANY = int(os.environ.get("ENTRYDB_TEST_MANY", "100000"))
QUICK_DISK = "/dev/shm"  # a file system on which many files are created in seconds
MEGABYTE = 1 << 20


class BadTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.info = add_distribution(self.site, "alpha")

    def check_answers(self, names=("alpha",), problems=0, status=DONE, **how):
        """Check the answer from the disk, and from the database after an update."""
        for _ in range(2):
            reply = self.list("demo", status=status, **how)
            self.assertEqual(sorted(name for name, _ in reply.names), sorted(names), str(reply))
            self.assertEqual(len(reply.err.splitlines()), problems, str(reply))
            self.update(self.site)
        self.assertTrue(is_sound(self.database))
        return reply


class BadFiles(BadTest):
    def test_entry_points_of_100_megabytes(self):
        os.mkdir(f"{self.site}/huge-1.dist-info")
        with open(f"{self.site}/huge-1.dist-info/entry_points.txt", "w") as file:
            line = f"[demo]\n{'x' * 1000} = m:f\n"
            for _ in range(100):
                file.write(line * (MEGABYTE // len(line) + 1))
        used = processor_seconds()
        reply = self.check_answers(problems=1)
        self.assertIn("the limit is", reply.err)
        self.assertLess(processor_seconds() - used, 10)

    def test_entry_points_just_below_the_limit(self):
        text = "[demo]\n" + "".join(f"n{i:06} = some.module:some.attribute_{i}\n" for i in range(100_000))
        add_distribution(self.site, "large", text=text)
        for _ in range(2):
            reply = self.list("demo", "n099999", status=DONE)
            self.assertEqual(reply.fields[0][2], "some.module:some.attribute_99999")
            self.update(self.site)
        self.assertEqual(len(rows(self.database, ["entry_point"])["entry_point"]), 100_002)

    def test_fifo_socket_and_device(self):
        for name, make in (("fifo", os.mkfifo), ("socket", self.make_socket)):
            os.makedirs(f"{self.site}/{name}-1.dist-info")
            make(f"{self.site}/{name}-1.dist-info/entry_points.txt")
            os.mkfifo(f"{self.site}/{name}-1.dist-info/METADATA")
        os.makedirs(f"{self.site}/device-1.dist-info")
        os.symlink("/dev/zero", f"{self.site}/device-1.dist-info/entry_points.txt")
        os.mkfifo(f"{self.site}/pipe-1.egg-info")
        self.check_answers(problems=3)

    def make_socket(self, path):
        place = os.getcwd()
        os.chdir(os.path.dirname(path))
        try:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(os.path.basename(path))
        finally:
            os.chdir(place)

    def test_looping_and_dangling_links(self):
        for name, target in (("loop", "entry_points.txt"), ("nowhere", "absent")):
            os.makedirs(f"{self.site}/{name}-1.dist-info")
            os.symlink(target, f"{self.site}/{name}-1.dist-info/entry_points.txt")
        os.symlink("self-1.dist-info", f"{self.site}/self-1.dist-info")
        os.symlink("absent", f"{self.site}/gone-1.dist-info")
        reply = self.check_answers(problems=2)
        self.assertIn("loop-1.dist-info", reply.err)
        self.assertIn("self-1.dist-info", reply.err)

    def test_huge_metadata(self):
        write(f"{self.info}/METADATA", metadata("alpha", "1.0") + "\n" + "text\n" * (100 * MEGABYTE // 5))
        self.check_answers()
        write(f"{self.info}/METADATA", "X-Long: " + "x" * (64 * MEGABYTE))
        self.check_answers()

    def test_invalid_metadata(self):
        for content in (b"\xff\xfe\0", b"Name: \xff\nVersion: \0\n", b"", b"\n" * 1000, b": \n:\n", b"Name:" * 1000):
            write(f"{self.info}/METADATA", content)
            for _ in range(2):
                reply = self.list("--json", "demo", status=DONE)
                self.assertEqual([row["name"] for row in reply.objects], ["alpha"])
                self.update(self.site)

    def test_very_long_names(self):
        long = "l" * (255 - len("-1.dist-info"))
        os.mkdir(f"{self.site}/{long}-1.dist-info")
        write(f"{self.site}/{long}-1.dist-info/entry_points.txt", f"[demo]\n{'n' * MEGABYTE} = {'v' * MEGABYTE}:f\n")
        self.check_answers(names=["alpha", "n" * MEGABYTE])

    def test_names_of_any_bytes(self):
        odd = [stem + b"-1.dist-info" for stem in (b"a\nb", b"\xff\xfe", b" ", b"\x1b[2J", b"%s%n")]
        for name in odd:
            os.mkdir(self.site.encode() + b"/" + name)
            write(self.site.encode() + b"/" + name + b"/entry_points.txt", "[demo]\nodd = m:f\n")
        self.check_answers(names=["alpha"] + ["odd"] * len(odd))
        self.run_program("verify", self.site)

    def test_bad_archives_on_the_path(self):
        contents = (b"", b"PK", b"PK\x05\x06" + b"\xff" * 18, os.urandom(5000), b"PK\x03\x04" * 900)
        for number, content in enumerate(contents):
            path = f"{self.site}/bad{number}.egg"
            write(path, content)
            for _ in range(2):
                self.list("demo", path=path, status=NOT_FOUND)
                self.run_program("update", path)


class BadDirectories(BadTest):
    def test_too_long_or_impossible_names(self):
        for path in ("x" * 5000, "/" + "y/" * 3000, f"{self.site}/" + "z" * 300, "/dev/null", "/dev/zero",
                     f"{self.info}/METADATA/"):
            self.list("demo", path=path, status=NOT_FOUND)
            self.list("demo", path=[path, self.site], status=DONE)

    @needs_root
    def test_unreadable_directory(self):
        """A user without access sees nothing, as in Python, neither in the directory nor in its index."""
        self.index()
        self.list("demo", user=STRANGER, status=DONE)
        os.chmod(self.site, 0o700)
        for _ in range(2):
            for level in ("roots", "exact"):
                self.list("demo", "--fresh", level, user=STRANGER, status=NOT_FOUND)
                self.list("demo", "--fresh", level, status=DONE)
            self.index()
        self.assertEqual(stat.S_IMODE(os.stat(self.database).st_mode), 0o600)

    @needs_root
    def test_update_of_an_unreadable_directory(self):
        plain = f"{self.top}/plain"
        add_distribution(plain, "beta")
        os.chown(plain, STRANGER, STRANGER)
        self.update(plain, user=STRANGER)
        before = rows(self.user_database)["distribution"]
        self.assertEqual(len(before), 1)
        os.chmod(plain, 0)
        reply = self.update(plain, user=STRANGER, status=COULD_NOT)
        self.assertIn(f"{plain}: Permission denied", reply.err)
        self.assertEqual(rows(self.user_database)["distribution"], before)

    @needs_root
    def test_prefix_without_search_permission(self):
        """It is not taken for an empty prefix if no database covers it."""
        for place, mode in (("lib", 0o700), ("lib", 0o711), ("lib", 0o744)):
            os.chmod(f"{self.prefix}/{place}", mode)
            for command in "audit", "verify", "update":
                reply = self.run_program(command, self.prefix, user=STRANGER, status=COULD_NOT)
                self.assertIn(f"{self.prefix}/{place}: Permission denied", reply.err, (command, oct(mode)))
            os.chmod(f"{self.prefix}/{place}", 0o755)

    @needs_root
    def test_unreadable_files(self):
        write(f"{self.info}/entry_points.txt", entry_points("hidden"))
        os.chmod(f"{self.info}/entry_points.txt", 0)
        add_distribution(self.site, "closed")
        os.chmod(f"{self.site}/closed-1.0.dist-info", 0)
        reply = self.list("demo", user=STRANGER, status=NOT_FOUND)
        self.assertEqual((reply.out, reply.err), ("", ""))

    def test_directory_that_changes_during_the_scan(self):
        stop = threading.Event()
        workers = [threading.Thread(target=self.disturb, args=(number, stop)) for number in range(3)]
        for worker in workers:
            worker.start()
        try:
            for _ in range(15):
                for level in ("roots", "exact"):
                    reply = self.list("demo", "alpha", "--fresh", level)
                    self.assertEqual(reply.names, [("alpha", "1.0")], str(reply))
                self.update(self.site)
                self.assertTrue(is_sound(self.database))
        finally:
            stop.set()
            for worker in workers:
                worker.join()
        self.check_answers(names=self.names_on_disk())

    def disturb(self, number, stop):
        choose = random.Random(number)
        while not stop.is_set():
            version = f"{choose.randrange(30)}"
            name = f"come{number}x{version}"
            with contextlib.suppress(FileExistsError):
                add_distribution(self.site, name, version)
            if choose.random() < 0.5:
                shutil.rmtree(f"{self.site}/{name}-{version}.dist-info")

    def names_on_disk(self):
        return [name.split("-")[0] for name in os.listdir(self.site) if name.endswith(".dist-info")]

    def test_very_many_distributions(self):
        many = MANY
        if os.access(QUICK_DISK, os.W_OK):
            self.move_to(QUICK_DISK)
        else:
            many = min(many, 5000)
        for number in range(many):
            # Most are files: they take a scan as long, and are created and removed much faster.
            path = f"{self.site}/many{number}-1.dist-info"
            os.mkdir(path) if number % 50 == 0 else os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        write(f"{self.site}/many0-1.dist-info/entry_points.txt", entry_points("zero"))
        self.assertEqual(sorted(self.list("demo").names), [("alpha", "1.0"), ("zero", "")])
        self.update(self.site)
        self.assertEqual(query(self.database, "SELECT distributions FROM root"), [(many + 1,)])
        os.mkdir(f"{self.site}/another-1.dist-info")
        self.update(self.site)
        self.assertEqual(sorted(self.list("demo").names), [("alpha", "1.0"), ("zero", "")])
        self.assertEqual(events(self.database)[-1][:2], ("install", "another-1.dist-info"))
        self.assertTrue(is_sound(self.database))

    def move_to(self, disk):
        top = tempfile.mkdtemp(prefix="entrydb-test-", dir=disk)
        self.addCleanup(support.remove_tree, top)
        shutil.copytree(self.prefix, f"{top}/venv")
        self.prefix, self.site, self.database = f"{top}/venv", f"{top}/venv/{SITE}", f"{top}/venv/{DATABASE}"


class BadDatabases(BadTest):
    """A file that is not an entrydb database is refused if it was named, and left alone."""

    def check_refused(self, file, text):
        before = support.read_bytes(file)
        for words in (["update", self.prefix], ["list"], ["list", "--path", self.site], ["groups"],
                      ["why", "demo", "alpha"], ["verify"], ["log"], ["forget", self.site]):
            reply = self.run_program(*words, "--db", file, status=COULD_NOT)
            self.assertEqual(reply.out, "")
            self.assertEqual(len(reply.err.splitlines()), 1, str(reply))
            self.assertRegex(reply.err, text)
        self.assertEqual(support.read_bytes(file), before)
        self.assertEqual(leftovers(file), [name for name in leftovers(file) if name in ("home", "venv")])

    def test_foreign_sqlite_file(self):
        file = f"{self.top}/foreign.db"
        change_database(file, "CREATE TABLE letters (text)", "INSERT INTO letters VALUES ('dear diary')")
        self.check_refused(file, "not one of entrydb")

    def test_text_file(self):
        file = f"{self.top}/letter.txt"
        write(file, "Dear diary,\n" * 1000)
        self.check_refused(file, "not a (SQLite )?database")

    def test_directory_fifo_and_nonsense(self):
        os.mkdir(f"{self.top}/directory")
        os.mkfifo(f"{self.top}/fifo")
        for name in ("directory", "fifo", f"home/{'x' * 300}"):
            for words in (["update", self.prefix], ["list"], ["verify"], ["log"]):
                reply = self.run_program(*words, "--db", f"{self.top}/{name}", status=COULD_NOT)
                self.assertEqual(len(reply.err.splitlines()), 1, str(reply))
        self.assertTrue(stat.S_ISFIFO(os.stat(f"{self.top}/fifo").st_mode))

    def test_empty_file_becomes_a_database(self):
        file = f"{self.top}/empty.db"
        write(file, "")
        self.run_program("list", "--db", file, status=COULD_NOT)
        self.update(self.prefix, "--db", file)
        self.assertEqual(self.run_program("list", "demo", "--db", file).names, [("alpha", "1.0")])


class DamagedDatabases(BadTest):
    """A damaged database in its own place is set aside and rebuilt; until then the disk is read."""

    def setUp(self):
        super().setUp()
        for number in range(60):
            add_distribution(self.site, f"more{number}", text=f"[other]\nname{number} = m:f\n")
        self.update()
        add_distribution(self.site, "late", text="[other]\nx = m:f\n")
        self.index()
        self.trail = events(self.database)
        self.size = os.path.getsize(self.database)

    def check_rebuilt(self, with_events):
        reply = self.list("demo", status=DONE)
        self.assertEqual((reply.names, reply.err), ([("alpha", "1.0")], ""))
        reply = self.update()
        self.assertIn("set aside", reply.err)
        self.assertEqual(leftovers(self.database), ["entry_points.db.damaged"])
        self.assertTrue(is_sound(self.database))
        self.assertEqual(self.list("demo").names, [("alpha", "1.0")])
        after = events(self.database)
        self.assertIn("repair", [event[0] for event in after])
        if with_events:
            self.assertEqual(after[:len(self.trail)], self.trail)
        self.update()
        self.assertEqual(events(self.database), after)

    def test_truncated(self):
        good = support.read_bytes(self.database)
        for size in (1, 99, 100, 4096, self.size // 2, self.size - 4096):
            with self.subTest(size=size):
                write(self.database, good[:size])
                self.check_rebuilt(with_events=False)

    def test_zero_length(self):
        os.truncate(self.database, 0)
        self.assertEqual(self.list("demo").names, [("alpha", "1.0")])
        self.update()
        self.assertEqual(leftovers(self.database), [])
        self.assertEqual(self.list("demo").names, [("alpha", "1.0")])

    def test_garbage(self):
        for content in (b"garbage" * 5000, bytes(8192), b"S"):
            write(self.database, content)
            self.check_rebuilt(with_events=False)

    def test_newer_version_of_a_named_file(self):
        file = f"{self.top}/named.db"
        self.update(self.prefix, "--db", file)
        change_database(file, "PRAGMA user_version = 1000")
        self.run_program("list", "--db", file, status=COULD_NOT)
        self.assertIn("set aside", self.update(self.prefix, "--db", file).err)
        self.assertTrue(os.path.exists(f"{file}.damaged"))

    def share_pages(self, name):
        """Append four pages to a table or an index, each a hundred times the parent of the next one; in a file with a hole."""
        [[root]] = query(self.database, f"SELECT rootpage FROM sqlite_schema WHERE name = '{name}'")
        [[last]] = query(self.database, "SELECT max(id) FROM entry_point WHERE group_name = 'other'")
        data = support.read_bytes(self.database)
        size = int.from_bytes(data[16:18], "big")
        pages = [data[at:at + size] for at in range(0, len(data), size)]
        is_index, is_leaf = pages[root - 1][0] in (2, 10), pages[root - 1][0] in (10, 13)
        child = len(pages) + 1 if is_leaf else int.from_bytes(pages[root - 1][8:12], "big")
        key = b"\x14\x04\x17\x13\x06otherzzz" + last.to_bytes(8, "big") if is_index else b"\xbf" + 8 * b"\xff"
        for _ in range(4):
            pages.append(pages[root - 1])  # below it, the leaf; replaced by the next one
            cell = child.to_bytes(4, "big") + key
            pointers = b"".join((size - (at + 1) * len(cell)).to_bytes(2, "big") for at in range(100))
            head = bytes([2 if is_index else 5, 0, 0, 0, 100]) + pointers[-2:] + b"\0" + child.to_bytes(4, "big") + pointers
            pages.append(head + bytes(size - len(head) - 100 * len(cell)) + 100 * cell)
            child = len(pages)
        pages[root - 1] = pages.pop()
        pages[0] = pages[0][:28] + (4 * MEGABYTE // size).to_bytes(4, "big") + pages[0][32:]
        write(self.database, b"".join(pages))
        os.truncate(self.database, 4 * MEGABYTE)

    def test_shared_pages(self):
        """A few pages can stand for millions of rows: these are not read into memory."""
        good = support.read_bytes(self.database)
        for name in ("entry_point_name", "distribution", "entry_point"):  # the tables are read when the directory has changed
            with self.subTest(name):
                write(self.database, good)
                self.share_pages(name)
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
                reply = self.list("other", status=DONE)
                self.assertEqual(len(reply.names), len(os.listdir(self.site)) - 1)
                if not support.build_type_is_sanitized():
                    self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, max(before + 1, 400 << 10))
                add_distribution(self.site, f"after_{name}", text="[other]\ny = m:f\n")

    def test_table_missing(self):
        change_database(self.database, "DROP TABLE target")
        self.assertEqual(self.list("demo").names, [("alpha", "1.0")])
        self.run_program("why", "demo", "alpha", "--path", self.site, status=DONE)
        self.update()
        self.update(self.prefix, "--fresh", "exact")
        self.assertEqual(self.list("demo", status=DONE).names, [("alpha", "1.0")])

    def test_events_before_a_damaged_page_are_kept(self):
        with contextlib.closing(sqlite3.connect(self.database)) as connection:
            connection.executemany("INSERT INTO event (time, action, root, detail, uid) VALUES (?, 'index', 'x', ?, 0)",
                                   [(number, "d" * 200) for number in range(1000)])
            connection.commit()
        self.damage_last_page_of("event")
        self.check_rebuilt(with_events=True)
        self.assertGreater(len(events(self.database)), 100)

    def damage_last_page_of(self, table):
        try:
            page, = query(self.database, "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' "
                          "ORDER BY path DESC LIMIT 1", table)
        except sqlite3.OperationalError:
            self.skipTest("this SQLite has no dbstat table")
        with open(self.database, "r+b") as file:
            file.seek((page[0] - 1) * 4096)
            file.write(b"\xff" * 4096)

    def test_index_without_a_row(self):
        """quick_check does not compare an index with its table: the answer still contains consistent rows only."""
        change_database(self.database, "PRAGMA writable_schema = 1",
                        "DELETE FROM sqlite_schema WHERE name = 'entry_point_name'")
        self.assertEqual(self.list("demo").names, [("alpha", "1.0")])


class Trust(BadTest):
    """A reader trusts databases of root, itself and the owner of the site directory, and no others."""

    def setUp(self):
        super().setUp()
        self.index()
        # A false row reveals whether the database was trusted.
        change_database(self.database, "UPDATE entry_point SET value = 'lie:main' WHERE name = 'alpha'")
        os.chmod(self.database, 0o644)

    def is_trusted(self, **how):
        reply = self.list("demo", status=DONE, **how)
        return reply.fields[0][2] == "lie:main"

    @needs_root
    def test_owners(self):
        other = STRANGER - 1
        for owner, site_owner, reader, believed in ((0, 0, STRANGER, True), (STRANGER, 0, STRANGER, True),
                                                    (other, 0, STRANGER, False), (other, 0, None, False),
                                                    (other, other, STRANGER, True), (STRANGER, 0, None, False)):
            with self.subTest(owner=owner, site_owner=site_owner, reader=reader):
                os.chown(self.site, site_owner, -1)
                os.chown(self.database, owner, -1)
                self.index_again()
                self.assertEqual(self.is_trusted(user=reader), believed)

    def index_again(self):
        """chown changes the ctime of the site directory: pretend that it was indexed with this one."""
        status = os.stat(self.site)
        change_database(self.database, f"UPDATE root SET ctime = {status.st_ctime_ns} WHERE path = '{SITE}'")

    @needs_root
    def test_unreadable_database(self):
        os.chmod(self.database, 0o600)
        self.assertFalse(self.is_trusted(user=STRANGER))


class NoPermission(BadTest):
    @needs_root
    def test_user_database_is_used(self):
        self.update(user=STRANGER)
        self.assertFalse(os.path.exists(self.database))
        self.assertEqual(query(self.user_database, "SELECT path FROM root WHERE distributions"), [(self.site,)])
        self.assertEqual(os.stat(self.user_database).st_uid, STRANGER)
        change_database(self.user_database, "UPDATE root SET settled = 1", "UPDATE distribution SET settled = 1")
        os.chown(self.user_database, STRANGER, STRANGER)
        self.assertEqual(self.freshness(user=STRANGER), "fresh")

    @needs_root
    def test_no_writable_place(self):
        self.home_is_lent = False
        reply = self.update(self.site, user=STRANGER, status=COULD_NOT)
        self.assertIn("Permission denied", reply.err)
        env = self.environment(HOME=None, XDG_STATE_HOME=None)
        reply = self.update(self.site, user=STRANGER, env=env, status=COULD_NOT)
        self.assertIn("--db", reply.err)
        self.assertEqual(self.list("demo", user=STRANGER, env=env).names, [("alpha", "1.0")])

    @needs_root
    def test_unwritable_named_database(self):
        self.update(self.prefix, "--db", f"{self.prefix}/x.db", user=STRANGER, status=COULD_NOT)
        self.assertEqual(os.listdir(self.prefix), ["lib"])

    @needs_root
    def test_planted_links(self):
        """A writer follows no planted link in a directory that others can write."""
        shared = f"{self.top}/shared"
        os.mkdir(shared)
        victim = f"{self.top}/victim"
        write(victim, "precious")
        for name in ("x.db.lock", "x.db.new", "x.db.damaged"):
            os.symlink(victim, f"{shared}/{name}")
            self.run_program("update", self.prefix, "--db", f"{shared}/x.db",
                             status=COULD_NOT if name.endswith(".lock") else DONE)
            self.assertEqual(support.read(victim), "precious", name)
            for left in os.listdir(shared):
                os.unlink(f"{shared}/{left}")


class Disks(BadTest):
    @needs_root
    def test_read_only(self):
        disk = self.mount()
        shutil.copytree(self.prefix, f"{disk}/venv")
        site = f"{disk}/venv/{SITE}"
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        self.assertEqual(self.list("demo", path=site, status=DONE).names, [("alpha", "1.0")])
        os.chown(self.home, 0, 0)  # in another user's home nothing is written
        self.update(site)
        self.assertEqual(query(self.user_database, "SELECT path FROM root"), [(site,)])
        for words in (["--db", f"{disk}/x.db"], ["--root", "/"]):  # as hooks call it
            reply = self.update(site, *words, status=COULD_NOT)
            self.assertIn("Read-only file system", reply.err)
        self.assertEqual(os.listdir(disk), ["venv"])

    @needs_root
    def test_full(self):
        disk = self.mount("size=1m")
        os.rename(self.prefix, f"{self.top}/kept")
        shutil.copytree(f"{self.top}/kept", f"{disk}/venv")
        prefix, site, database = f"{disk}/venv", f"{disk}/venv/{SITE}", f"{disk}/venv/{DATABASE}"
        self.update(prefix)
        before = support.read_bytes(database)
        add_distribution(site, "beta")
        pages = os.path.getsize(database) // 4096
        for room in (0, 1, pages // 2, pages - 1):
            with self.subTest(pages=room):
                support.fill(disk, room * 4096)
                reply = self.update(prefix, status=COULD_NOT)
                self.assertEqual(len(reply.err.splitlines()), 1, str(reply))
                self.assertEqual(leftovers(database), [])
                self.assertEqual(support.read_bytes(database), before)
                names = [name for name, _ in self.list("demo", path=site, status=DONE).names]
                self.assertEqual(sorted(names), ["alpha", "beta"])
        os.unlink(f"{disk}/filler")
        self.update(prefix)
        self.assertEqual(len(rows(database)["distribution"]), 2)

    @needs_root
    def test_full_from_the_start(self):
        disk = self.mount("size=256k")
        support.fill(disk, 3 * 4096)
        self.update(self.prefix, "--db", f"{disk}/x.db", status=COULD_NOT)
        self.assertEqual([name for name in os.listdir(disk) if name not in ("filler", "x.db.lock")], [])

    @needs_root
    def test_full_while_a_damaged_one_is_replaced(self):
        disk = self.mount("size=1m")
        shutil.copytree(self.prefix, f"{disk}/venv")
        database = f"{disk}/venv/{DATABASE}"
        self.update(f"{disk}/venv")
        with open(database, "r+b") as file:
            file.seek(60)
            file.write(b"\0\0\0\x63")
        support.fill(disk, 2 * 4096)
        self.update(f"{disk}/venv", status=COULD_NOT)
        self.assertTrue(os.path.exists(database), "the file must stay, damaged or not")
        self.assertEqual([name for name in leftovers(database) if not name.endswith(".damaged")], [])
        os.unlink(f"{disk}/filler")
        self.update(f"{disk}/venv")
        self.assertTrue(is_sound(database))


class BadOutput(BadTest):
    """Failing to write the results is an error."""

    def commands(self):
        return (["list"], ["list", "--json"], ["groups"], ["why", "demo", "alpha"], ["why", "--json", "demo", "alpha"],
                ["log"], ["--help"], ["--version"])

    def setUp(self):
        super().setUp()
        self.update()

    def check(self, redirection):
        for words in self.commands():
            with self.subTest(words=words):
                command = [support.PROGRAM, *words, "--path", self.site]
                done = subprocess.run(["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", *command],
                                      env=self.environment(), capture_output=True, text=True)
                self.assertEqual(done.returncode, COULD_NOT, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_closed(self):
        self.check(">&-")

    def test_full(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        self.check(">/dev/full")

    def test_full_in_the_middle(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        add_distribution(self.site, "long", text="[demo]\n" + "".join(f"n{i} = {'m' * 100}:f\n" for i in range(2000)))
        self.check(">/dev/full")

    def test_closed_pipe(self):
        add_distribution(self.site, "long", text="[demo]\n" + "".join(f"n{i} = {'m' * 100}:f\n" for i in range(5000)))
        child = self.start("list", "--path", self.site)
        child.stdout.read(10)
        child.stdout.close()
        self.assertIn(child.wait(support.SECONDS_ALLOWED), (COULD_NOT, -13))

    def test_closed_streams(self):
        """A free standard descriptor is never taken by a file, into which messages would then be written."""
        for closed in (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            write(f"{self.info}/entry_points.txt", "[demo]\nno equals sign\n")
            command = [support.PROGRAM, "update", self.prefix, f"{self.top}/absent"]
            subprocess.run(["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *command], env=self.environment(),
                           capture_output=True)
            for file in (self.database, f"{self.database}.lock"):
                self.assertNotIn(b"entrydb: ", support.read_bytes(file), closed)
            self.assertTrue(is_sound(self.database))
            write(f"{self.info}/entry_points.txt", entry_points("alpha"))


if __name__ == "__main__":
    support.main()
