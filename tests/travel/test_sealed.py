#!/usr/bin/env python3
"""A sealed database is reproducible, and one listing of the directory validates it anywhere."""

import os
import shutil
import subprocess

import support
from support import COULD_NOT, DONE, USAGE
from travel import CLAMP, TravelTest, clamp, copy, run, tool


class SealedTest(TravelTest):
    def setUp(self):
        super().setUp()
        self.seal(self.prefix)

    def seal(self, prefix, status=DONE):
        return self.update("--sealed", "--quiet", prefix, status=status)

    def bytes_of(self, prefix):
        return support.read_bytes(f"{prefix}/{support.DATABASE}")


class Bytes(SealedTest):
    def test_sealed_twice(self):
        first = self.bytes_of(self.prefix)
        self.seal(self.prefix)
        self.assertEqual(self.bytes_of(self.prefix), first)

    def test_of_copies(self):
        """The order of the directory, inodes, paths and an earlier database have no influence."""
        first = self.bytes_of(self.prefix)
        there, other = self.place(), f"{self.place()}/with/a/longer/name"
        copy(self.prefix, there)
        shutil.rmtree(f"{there}/var")
        os.makedirs(self.site_of(other))
        for name in sorted(os.listdir(self.site), reverse=True):
            run("cp", "-r", f"{self.site}/{name}", self.site_of(other))  # with new times, too
        self.update("--quiet", other)
        for prefix in (there, other):
            self.seal(prefix)
            self.assertEqual(self.bytes_of(prefix), first)

    def test_new_distributions(self):
        """Young rows are not watched, or an image would never be reproducible."""
        there, other = self.place(), self.place()
        self.fill(self.site_of(there))
        self.seal(there)
        copy(there, other)
        support.settle()
        self.seal(other)
        self.assertEqual(self.bytes_of(there), self.bytes_of(other))

    def test_verified(self):
        """The stored order is that of no directory; this is not reported as a difference."""
        there = self.place()
        copy(self.prefix, there)
        self.assertEqual(self.run_program("verify", there, status=DONE).out, "")
        support.write(f"{self.info(there)}/entry_points.txt", "")
        self.assertIn("dist3", self.run_program("verify", there, status=1).out)

    def test_without_times_and_events(self):
        database = f"{self.prefix}/{support.DATABASE}"
        self.assertEqual(support.query(database, "SELECT count(*) FROM event"), [(0,)])
        self.assertEqual(support.query(database, "SELECT inode, time, sealed FROM publication"), [(0, 0, 1)])
        self.assertEqual(support.query(database, "SELECT DISTINCT mtime, ctime, inode FROM root"), [(0, 0, 0)])
        self.assertEqual(support.query(database, "SELECT DISTINCT directory_stamp, max(entry_points_mtime), "
                                                 "max(metadata_mtime) FROM distribution"), [(0, 0, 0)])
        self.assertTrue(support.is_sound(database))


class Proof(SealedTest):
    """One listing validates the database, in whatever way it was copied."""

    def looked_at(self, prefix):
        """The distributions whose metadata a query accesses."""
        strace = tool(self, "strace")
        trace = f"{self.top}/trace"
        done = subprocess.run([strace, "-f", "-o", trace, "-e", "trace=file", support.PROGRAM, "list", "--path",
                               self.site_of(prefix)], env=self.environment(ASAN_OPTIONS="detect_leaks=0"),
                              capture_output=True, check=False)
        if done.returncode != DONE:
            self.skipTest("strace cannot trace here")
        with open(trace, errors="replace", encoding="utf-8") as file:
            return [line for line in file if "-info" in line]

    def check_proven(self, prefix):
        self.check_known(prefix)
        # Distributions without metadata, and editable ones, are checked on each query.
        self.assertEqual(self.looked_at(prefix), [])
        self.assertEqual(self.freshness(self.site_of(prefix), name="dist3"), "checked")

    def test_in_place(self):
        self.check_proven(self.prefix)

    def test_copied(self):
        there = self.place()
        copy(self.prefix, there)
        self.check_proven(there)

    def test_of_one_time(self):
        for seconds in (0, 1, CLAMP):
            there = self.place()
            copy(self.prefix, there)
            clamp(there, seconds)
            self.check_proven(there)

    def test_checked_out(self):
        """Git does not store times: checked-out files are as old as the check-out."""
        git = tool(self, "git")
        env = dict(os.environ, HOME=self.home, GIT_CONFIG_NOSYSTEM="1")
        there = self.place()
        commands = (["init", "-q", self.prefix], ["-C", self.prefix, "add", "-A", "-f"],
                    ["-C", self.prefix, "-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "-qm", "m"],
                    ["clone", "-q", self.prefix, there])
        for words in commands:
            run(git, *words, env=env)
        # Files of the same clock tick may be slightly younger than the database.
        self.check_right(there)
        for path in (f"{there}/{support.DATABASE}", self.site_of(there)):
            os.utime(path)
        os.utime(f"{there}/{support.DATABASE}")
        self.check_proven(there)

    def test_updated(self):
        """An update adapts the database to the tree: from then on one stat suffices."""
        there = self.place()
        copy(self.prefix, there)
        self.check_anchored(there)
        self.assertEqual(support.query(f"{there}/{support.DATABASE}", "SELECT sealed FROM publication"), [(0,)])


class Changed(SealedTest):
    """Changes in a later layer or in place: everything younger than the database is checked."""

    def test_added_removed_upgraded(self):
        there = self.place()
        copy(self.prefix, there)
        site = self.site_of(there)
        support.add_distribution(site, "added")
        shutil.rmtree(self.info(there, "dist1"))
        shutil.rmtree(self.info(there, "dist2"))
        support.add_distribution(site, "dist2", "2.0")
        self.check_anchored(there, ["added-1.0.dist-info", "dist2-2.0.dist-info"])

    def test_replaced(self):
        shutil.rmtree(self.info(self.prefix))
        support.add_distribution(self.site, "dist3", text=support.entry_points("dist3").replace("main", "niam"))
        self.check_anchored(self.prefix, ["dist3-1.0.dist-info"])

    def test_edited(self):
        """The directory's time is unchanged: only level exact notices it, as always."""
        support.write(f"{self.info(self.prefix)}/entry_points.txt", "[demo]\nother = o:main\n")
        self.assertTrue(self.is_wrong(self.prefix))
        self.check_right(self.prefix, "--fresh", "exact")
        self.update("--quiet", self.prefix)
        self.check_right(self.prefix)

    def test_editable(self):
        info = support.add_distribution(self.site, "editable", **{
            "direct_url.json": '{"url": "file:///src", "dir_info": {"editable": true}}'})
        self.seal(self.prefix)
        self.check_known(self.prefix)
        support.write(f"{info}/entry_points.txt", "[demo]\nother = o:main\n")
        self.check_right(self.prefix)


class Refused(SealedTest):
    def test_hook(self):
        reply = self.run_program("update", "--sealed", "--hook", "pip", self.prefix)
        self.assertIn(reply.status, (DONE, USAGE))  # a hook never fails
        self.assertIn("--sealed", reply.err)

    def test_unreadable_files(self):
        """A sealed database must be complete."""
        first = self.bytes_of(self.prefix)
        reply = self.run_program("update", "--sealed", "--db", f"{self.prefix}/{support.DATABASE}", self.site,
                                 f"{self.top}/lib/python3.11/site-packages", status=COULD_NOT)
        self.assertIn("not sealed", reply.err)
        self.assertEqual(self.bytes_of(self.prefix), first)


if __name__ == "__main__":
    support.main()
