"""Every command and option of the program: its output and exit status."""

import base64
import hashlib
import os
import re
import shutil
import stat
import subprocess
import unittest
import zipfile

import support
from support import (COULD_NOT, DATABASE, DONE, NOT_FOUND, SITE, USAGE, CommandTest,
                     add_distribution, entry_points, events, is_sound, leftovers, metadata, query, rows,
                     settle, stamp, write)

OBJECT_KEYS = ["size", "machine", "build_id", "sha256", "glibc", "glibcxx", "missing", "undefined", "python_by"]
LIST_KEYS = ["group", "name", "value", "module", "attr", "extras", "distribution", "version",
             "path", "file", "kind", "object", "symbol", "state"] + OBJECT_KEYS
WHY_KEYS = ["group", "name", "value", "distribution", "version", "path", "file", "shadowed_by",
            "kind", "state", "object", "symbol", "database", "freshness", "reason", "allowed",
            "problem"] + OBJECT_KEYS
LOG_KEYS = ["time", "action", "root", "distribution", "old_version", "version", "detail",
            "command", "uid", "database"]
VERIFY_KEYS = ["database", "path", "distribution", "difference"]


class CommandLine(CommandTest):
    def test_version(self):
        self.assertRegex(self.run_program("--version", status=DONE).out, r"\Aentrydb \d+\.\d+\.\d+\n\Z")

    def test_usage_errors(self):
        for words in (["--wrong"], ["nonsense"], ["list", "--wrong"], ["list", "--db"], ["list", "a", "b", "c"],
                      ["groups", "a"], ["why", "a"], ["why", "a", "b", "c"], ["forget"], ["log", "a"],
                      ["list", "--fresh", "perhaps"], ["list", "--python", "2.7"],
                      ["list", "--python", "3.9"], ["list", "--python", "3.x"], ["list", "-x"]):
            reply = self.run_program(*words, status=USAGE)
            self.assertEqual(reply.out, "")
            self.assertRegex(reply.err, r"\Aentrydb: .*see 'entrydb (\w+ )?--help'\n\Z", str(reply))

    def test_known_rules_and_levels(self):
        add_distribution(self.site, "alpha")
        for rules in ("3.10", "3.11", "3.12", "3.14", "im10"):
            self.list("demo", "--python", rules, status=DONE)
        for level in ("trust", "roots", "exact"):
            self.list("demo", "--fresh", level, status=DONE)

    def test_arguments_that_look_like_options(self):
        add_distribution(self.site, "odd", text="[-g]\n--name = m:f\n")
        reply = self.list("--", "-g", "--name", status=DONE)
        self.assertEqual(reply.fields, [["-g", "--name", "m:f", "odd", "1.0"]])


class Listing(CommandTest):
    def setUp(self):
        super().setUp()
        add_distribution(self.site, "alpha")
        self.expected = [["demo", "alpha", "alpha.plugin:main [x,y]", "alpha", "1.0"],
                         ["console_scripts", "alpha-cmd", "alpha.cli:run", "alpha", "1.0"]]

    def test_text(self):
        reply = self.list(status=DONE)
        self.assertEqual((reply.fields, reply.err), (self.expected, ""))
        self.assertEqual(self.list("demo").fields, self.expected[:1])
        self.assertEqual(self.list("console_scripts", "alpha-cmd").fields, self.expected[1:])

    def test_same_answer_from_the_database(self):
        before = self.list("--json").objects
        self.update()
        self.assertEqual(self.list("--json").objects, before)
        self.index()
        self.assertEqual(self.freshness(), "fresh")
        for level in ("trust", "roots", "exact"):
            self.assertEqual(self.list("--json", "--fresh", level).objects, before)

    def test_json(self):
        first = self.list("--json", "demo", status=DONE).objects[0]
        self.assertEqual(list(first), LIST_KEYS)
        info = f"{self.site}/alpha-1.0.dist-info"
        self.assertEqual(first, {
            "group": "demo", "name": "alpha", "value": "alpha.plugin:main [x,y]", "module": "alpha.plugin",
            "attr": "main", "extras": ["x", "y"], "distribution": "alpha", "version": "1.0",
            "path": self.site, "file": info, "kind": "unresolved", "object": None, "symbol": None,
            "state": "missing"} | dict.fromkeys(OBJECT_KEYS))

    def test_kind_of_an_existing_module(self):
        os.mkdir(f"{self.site}/alpha")
        write(f"{self.site}/alpha/__init__.py", "")
        write(f"{self.site}/alpha/plugin.py", "")
        found = self.list("--json", "demo").objects[0]
        self.assertEqual((found["kind"], found["state"]), ("python", "ok"))

    def test_unparsable_value(self):
        add_distribution(self.site, "odd", text="[g]\nn = not a value\n")
        found = self.list("--json", "g", status=DONE).objects[0]
        self.assertEqual((found["value"], found["module"], found["attr"], found["extras"]),
                         ("not a value", None, None, []))

    def test_nothing_found(self):
        for words in (["nowhere"], ["demo", "nobody"], ["alpha"]):
            reply = self.list(*words, status=NOT_FOUND)
            self.assertEqual((reply.out, reply.err), ("", ""))
        self.assertEqual(self.list(path=f"{self.top}/absent", status=NOT_FOUND).out, "")

    def test_several_path_entries_and_shadowing(self):
        other = f"{self.top}/other"
        add_distribution(other, "alpha", "2.0")
        add_distribution(other, "beta")
        for first, second, version in ((self.site, other, "1.0"), (other, self.site, "2.0")):
            reply = self.list("demo", path=[first, second])
            self.assertEqual(sorted(reply.names), [("alpha", version), ("beta", "1.0")])

    def test_repeated_and_relative_path_entries(self):
        twice = self.list("demo", path=[self.site, self.site])
        self.assertEqual(twice.names, [("alpha", "1.0")])
        for spelled in ("", ".", "../site-packages"):
            found = self.list("--json", "demo", path=[spelled], cwd=self.site, status=DONE).objects[0]
            self.assertEqual((found["name"], found["path"]), ("alpha", spelled))

    def test_order_by_version_of_the_rules(self):
        add_distribution(self.site, "gamma", text="[zz]\na = m\n[aa]\nb = m\n")
        discovery = [row[:2] for row in self.list().fields if row[3] == "gamma"]
        self.assertEqual(discovery, [["zz", "a"], ["aa", "b"]])
        by_group = [row[0] for row in self.list("--python", "3.11").fields]
        self.assertEqual(by_group, sorted(by_group))
        self.assertEqual(self.list("--python", "3.12").out, self.list().out)

    def test_broken_distributions_are_reported_and_the_rest_is_listed(self):
        add_distribution(self.site, "broken", text="[demo]\nno equals sign\n")
        for indexed in (False, True):
            reply = self.list("demo", status=DONE)
            self.assertEqual(reply.names, [("alpha", "1.0")])
            self.assertRegex(reply.err, r"\Aentrydb: .*/broken-1.0.dist-info: .+\n\Z")
            if not indexed:
                self.assertIn("broken-1.0.dist-info", self.index().err)
                self.assertEqual(self.freshness(), "fresh")

    def test_groups(self):
        add_distribution(self.site, "beta")
        reply = self.run_program("groups", "--path", self.site, status=DONE)
        self.assertEqual(reply.fields, [["console_scripts", "2"], ["demo", "2"]])
        reply = self.run_program("groups", "--json", "--path", self.site, status=DONE)
        self.assertEqual([list(row) for row in reply.objects], [["group", "count"]] * 2)
        self.assertEqual(reply.objects[0], {"group": "console_scripts", "count": 2})
        self.run_program("groups", "--path", f"{self.top}/absent", status=NOT_FOUND)


class Explaining(CommandTest):
    def setUp(self):
        super().setUp()
        self.info = add_distribution(self.site, "alpha")

    def why(self, *words, **how):
        return self.run_program("why", "demo", "alpha", "--path", self.site, *words, **how)

    def test_text(self):
        reply = self.why(status=DONE)
        self.assertEqual(reply.lines[0], "alpha = alpha.plugin:main [x,y] [demo]")
        for line in (r"  provided by +alpha 1\.0", rf"  file +{re.escape(self.info)}/entry_points\.txt",
                     r"  leads to +unresolved, missing", r"  known from +the disk: scanned\n +\(.+\)",
                     r"  allowed +yes"):
            self.assertRegex(reply.out, f"(?m)^{line}$")

    def test_json_of_fresh_and_scanned(self):
        found = self.why("--json", status=DONE).objects[0]
        self.assertEqual(list(found), WHY_KEYS)
        self.assertEqual((found["database"], found["freshness"], found["shadowed_by"]), (None, "scanned", None))
        self.index()
        found = self.why("--json", status=DONE).objects[0]
        self.assertEqual((found["database"], found["freshness"]), (self.database, "fresh"))
        found = self.why("--json", "--fresh", "exact", status=DONE).objects[0]
        self.assertEqual(found["freshness"], "scanned")

    def test_shadowing(self):
        other = f"{self.top}/other"
        hidden = add_distribution(other, "Alpha", "0.5", text=entry_points("alpha"))
        reply = self.why("--json", "--path", other, status=DONE)
        self.assertEqual([(row["version"], row["shadowed_by"]) for row in reply.objects],
                         [("1.0", None), ("0.5", self.info)])
        self.assertEqual(reply.objects[1]["file"], hidden)
        text = self.why("--path", other)
        self.assertRegex(text.out, rf"(?m)^  shadowed by +{re.escape(self.info)}, which comes first$")

    def test_not_found_names_the_searched_path(self):
        reply = self.run_program("why", "demo", "nobody", "--path", self.site, "--path", f"{self.top}/absent",
                                 status=NOT_FOUND)
        self.assertEqual(reply.out, "")
        self.assertEqual(reply.err.splitlines()[0], "entrydb: there is no 'nobody' in group 'demo'")
        self.assertRegex(reply.err, rf"(?m)^entrydb: searched {self.site}: scanned \(.+\)$")
        self.assertRegex(reply.err, rf"(?m)^entrydb: searched {self.top}/absent: absent \(.+\)$")

    def test_disabled(self):
        for value, allowed in (("x,demo/alpha,y", "no"), ("demo/alph", "yes")):
            reply = self.why("--json", env=self.environment(ENTRYDB_DISABLE=value), status=DONE)
            self.assertEqual(reply.objects[0]["allowed"], allowed, value)
        text = self.why(env=self.environment(ENTRYDB_DISABLE="demo")).out
        self.assertRegex(text, r"(?m)^  allowed +no: ENTRYDB_DISABLE names demo$")


class DefaultPath(CommandTest):
    def setUp(self):
        super().setUp()
        add_distribution(self.site, "inside")

    def names(self, **variables):
        return sorted(name for name, _ in self.run_program("list", "demo", env=self.environment(**variables)).names)

    def test_virtual_environment_with_system_packages(self):
        """The user's site directory stands in for the system's, whose contents vary with the machine."""
        version = self.system_version()
        if not version:
            self.skipTest("this machine has no Python in /usr")
        add_distribution(f"{self.home}/.local/lib/python{version}/site-packages", "users-own")
        for text, included in (("include-system-site-packages = false\n", False),
                               ("home = /usr/bin\ninclude-system-site-packages = true\n", True),
                               ("include-system-site-packages = TRUE\n", True), ("", False),
                               ("include-system-site-packages = true\nInclude-System-Site-Packages=false\n", False),
                               ("include-system-site-packages = no\n=\ninclude-system-site-packages =true\n", True)):
            write(f"{self.prefix}/pyvenv.cfg", text)
            names = self.names(VIRTUAL_ENV=self.prefix)
            self.assertIn("inside", names)
            self.assertEqual("users-own" in names, included, text)
        self.assertIn("users-own", self.names())
        self.assertNotIn("inside", self.names())

    def system_version(self):
        target = os.readlink("/usr/bin/python3") if os.path.islink("/usr/bin/python3") else ""
        found = re.fullmatch(r"python(3\.\d+)", target)
        return found and found.group(1)

    @unittest.skipUnless(os.path.exists("/usr/bin/python3"), "the system has no Python")
    def test_order_of_sys_path(self):
        """The user's .pth files come before the system's site directories."""
        version = subprocess.run(["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                                 stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        user = f"{self.home}/.local/lib/python{version}/site-packages"
        for path in (user, f"{self.home}/co", f"{self.home}/other"):
            os.makedirs(path)
        write(f"{user}/dev.pth", f"{self.home}/co\n../../../../other\n/usr/lib/python3/dist-packages\n")
        env = {**self.environment(), "PATH": "/usr/bin"}
        path = subprocess.run(["/usr/bin/python3", "-c", "import sys; print('\\n'.join(sys.path))"], env=env,
                              stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        reply = self.run_program("why", "no-such-group", "x", status=NOT_FOUND, env=env)
        searched = re.findall(r"searched (.*?): \w+ \(", reply.err)
        self.assertIn(f"{self.home}/co", searched)
        self.assertEqual([each for each in path if "-packages" in each or each.startswith(self.home)], searched)

    def test_level_by_variable(self):
        self.index()
        path = ["--path", self.site]
        for value, state in (("trust", "fresh"), ("roots", "fresh"), ("exact", "scanned"), ("nonsense", "fresh")):
            reply = self.run_program("why", "--json", "demo", "inside", *path,
                                     env=self.environment(ENTRYDB_FRESH=value))
            self.assertEqual(reply.objects[0]["freshness"], state, value)
        reply = self.run_program("why", "--json", "demo", "inside", *path, "--fresh", "roots",
                                 env=self.environment(ENTRYDB_FRESH="exact"))
        self.assertEqual(reply.objects[0]["freshness"], "fresh")


class Updating(CommandTest):
    def test_prefix(self):
        add_distribution(self.site, "alpha")
        reply = self.update()
        self.assertEqual(reply.out, "")
        self.assertIn("2 site directories, 1 distributions: 1 added, 0 changed, 0 removed, 0 broken", reply.err)
        self.assertEqual([row[0] for row in query(self.database, "SELECT path FROM root WHERE distributions > 0")],
                         [SITE])
        self.assertEqual(leftovers(self.database), [])
        self.assertEqual(stat.S_IMODE(os.stat(self.database).st_mode) & 0o022, 0)

    def test_quiet(self):
        add_distribution(self.site, "alpha")
        reply = self.update(self.prefix, "--quiet")
        self.assertEqual((reply.out, reply.err), ("", ""))

    def test_spellings_of_a_site_directory(self):
        add_distribution(self.site, "alpha")
        for spelled in (self.site, f"{self.site}/", f"{self.prefix}//./{SITE}", f"{self.site}/../site-packages"):
            self.update(spelled)
        self.update(SITE, cwd=self.prefix)
        self.assertEqual(query(self.database, "SELECT path FROM root"), [(SITE,)])

    def test_unchanged_database_is_not_written(self):
        add_distribution(self.site, "alpha")
        settle()
        self.update()
        before = stamp(self.database)
        for level in ("roots", "exact"):
            self.update(self.prefix, "--fresh", level)
        self.assertEqual(stamp(self.database), before)

    def test_archives_on_the_path(self):
        for name in ("thing.zip", "thing-1.0-py3.egg"):
            self.make_zip(f"{self.site}/{name}")
            before = self.list("--json", path=f"{self.site}/{name}", status=DONE).objects
            self.update(f"{self.site}/{name}")
            self.assertEqual(self.list("--json", path=f"{self.site}/{name}").objects, before)
            self.assertEqual(before[0]["name"], "zipped")
        self.assertEqual(query(self.database, "SELECT path, kind, distributions FROM root ORDER BY 1"),
                         [(f"{SITE}/thing-1.0-py3.egg", "zip", 1), (f"{SITE}/thing.zip", "zip", 1)])

    def make_zip(self, path):
        info = "EGG-INFO" if path.endswith(".egg") else "zipped-1.0.dist-info"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{info}/PKG-INFO", metadata("zipped", "1.0"))
            archive.writestr(f"{info}/entry_points.txt", entry_points("zipped"))

    def test_directory_of_unknown_layout_uses_the_user_database(self):
        plain = f"{self.top}/plain"
        add_distribution(plain, "alpha")
        self.index(plain, database=self.user_database)
        self.assertEqual(query(self.user_database, "SELECT path FROM root"), [(plain,)])
        self.assertEqual(self.freshness(plain), "fresh")

    def test_user_site_directory_uses_the_user_database(self):
        site = f"{self.home}/.local/{SITE}"
        add_distribution(site, "alpha")
        self.update(f"{self.home}/.local")
        self.assertFalse(os.path.exists(f"{self.home}/.local/{DATABASE}"))
        self.assertEqual(query(self.user_database, "SELECT path FROM root WHERE distributions"), [(site,)])

    def test_named_database(self):
        file = f"{self.top}/deep/er/named.db"
        add_distribution(self.site, "alpha")
        self.update(self.prefix, "--db", file)
        self.assertFalse(os.path.exists(self.database))
        self.assertEqual(self.run_program("list", "demo", "--db", file).names, [("alpha", "1.0")])
        self.assertEqual(self.list("demo", "--db", file).names, [("alpha", "1.0")])

    def test_named_database_by_relative_path(self):
        add_distribution(self.site, "alpha")
        self.update()
        self.update("venv", "--db", f"venv/{DATABASE}", cwd=self.top)
        self.assertEqual({row[0] for row in query(self.database, "SELECT path FROM root")},
                         {SITE, "lib/python3.11"})

    def test_missing_named_database(self):
        for verb in (["list"], ["groups"], ["why", "a", "b"], ["verify"], ["log"]):
            reply = self.run_program(*verb, "--db", f"{self.top}/absent.db", status=COULD_NOT)
            self.assertEqual(len(reply.err.splitlines()), 1)
        self.assertFalse(os.path.exists(f"{self.top}/absent.db"))

    def test_missing_path(self):
        for path in (f"{self.top}/absent", f"{self.prefix}/lib/python3.9/site-packages"):
            reply = self.update(path, status=COULD_NOT)
            self.assertIn(f"{path}: No such file or directory", reply.err)
        self.assertFalse(os.path.exists(self.user_database), "created in vain")

    def test_failing_path_does_not_stop_the_others(self):
        add_distribution(self.site, "alpha")
        self.update(f"{self.prefix}/lib/python3.9/site-packages", self.site, status=COULD_NOT)
        self.assertEqual(len(rows(self.database)["distribution"]), 1)

    def test_removed_path(self):
        add_distribution(self.site, "alpha")
        add_distribution(self.site, "beta")
        self.update()
        shutil.rmtree(self.site)
        self.assertEqual(self.list("demo", status=NOT_FOUND).out, "")
        self.update(self.site)
        self.assertEqual(rows(self.database)["distribution"], [])
        self.assertEqual(sorted(events(self.database)[-2:]),
                         [("remove", "alpha", "1.0", None), ("remove", "beta", "1.0", None)])

    def test_prefix_without_its_site_directories(self):
        add_distribution(self.site, "alpha")
        self.update()
        shutil.rmtree(f"{self.prefix}/lib")
        self.update()
        self.assertEqual(rows(self.database)["root"], [])
        self.assertEqual(events(self.database)[-1], ("remove", "alpha", "1.0", None))
        self.assertFalse(os.path.exists(self.user_database), "the prefix is no site directory")

    def test_update_of_another_path_drops_removed_paths(self):
        second = f"{self.prefix}/lib/python3.12/site-packages"
        add_distribution(self.site, "alpha")
        add_distribution(second, "beta")
        self.update()
        shutil.rmtree(second)
        self.update(self.site)
        self.assertEqual(events(self.database)[-1], ("remove", "beta", "1.0", None))

    @support.needs_root
    def test_without_arguments_updates_this_machine(self):
        """The user cannot write the machine's databases: all rows go to the user database."""
        shutil.rmtree(self.prefix)
        os.makedirs(self.site)
        add_distribution(self.site, "alpha")
        env = self.environment(VIRTUAL_ENV=self.prefix)
        reply = self.run_program("update", user=support.STRANGER, env=env, status=DONE)
        found = query(self.user_database, "SELECT path FROM root WHERE path = ?", self.site)
        self.assertEqual(found, [(self.site,)], str(reply))


class Roots(CommandTest):
    """--root names another file-system root, such as an image under construction."""

    def setUp(self):
        super().setUp()
        self.root = f"{self.top}/image"
        self.debian = f"{self.root}/usr/lib/python3/dist-packages"
        self.local = f"{self.root}/usr/local/lib/python3.11/dist-packages"
        add_distribution(self.debian, "debian")
        add_distribution(self.local, "local")
        os.makedirs(f"{self.root}/usr/bin")
        os.symlink("python3.11", f"{self.root}/usr/bin/python3")
        self.database = f"{self.root}/{DATABASE}"

    def test_update_without_arguments_finds_its_directories(self):
        self.run_program("update", "--root", self.root, status=DONE)
        found = query(self.database, "SELECT path FROM root WHERE distributions ORDER BY 1")
        self.assertEqual(found, [("usr/lib/python3/dist-packages",), ("usr/local/lib/python3.11/dist-packages",)])
        self.assertFalse(os.path.exists(self.user_database))

    def test_list(self):
        expected = ["local", "debian"]
        for _ in range(2):
            reply = self.run_program("list", "demo", "--root", self.root, status=DONE)
            self.assertEqual([name for name, _ in reply.names], expected)
            self.run_program("update", "--root", self.root, status=DONE)
        self.index("--root", self.root)
        reply = self.run_program("why", "--json", "demo", "debian", "--root", self.root)
        self.assertEqual((reply.objects[0]["freshness"], reply.objects[0]["database"]), ("fresh", self.database))
        self.assertEqual(reply.objects[0]["file"], f"{self.debian}/debian-1.0.dist-info")

    def test_paths_are_relative_to_the_root(self):
        inside = "/usr/lib/python3/dist-packages"
        self.run_program("update", inside, "--root", self.root, status=DONE)
        self.assertEqual(query(self.database, "SELECT path FROM root"), [(inside[1:],)])
        reply = self.run_program("list", "demo", "--path", inside, "--root", self.root, status=DONE)
        self.assertEqual(reply.names, [("debian", "1.0")])

    def test_environment_of_the_caller_is_ignored(self):
        add_distribution(self.site, "outside")
        env = self.environment(VIRTUAL_ENV=self.prefix, ENTRYDB_PATH=self.site)
        reply = self.run_program("list", "demo", "--root", self.root, env=env)
        self.assertEqual(len(reply.names), 2)

    def test_verify_log_and_forget(self):
        self.run_program("update", "--root", self.root, status=DONE)
        self.run_program("verify", "--root", self.root, status=DONE)
        self.assertIn("usr/lib/python3/dist-packages", self.run_program("log", "--root", self.root, status=DONE).out)
        self.run_program("forget", "/usr/lib/python3/dist-packages", "--root", self.root, status=DONE)
        self.assertNotIn(("usr/lib/python3/dist-packages",), query(self.database, "SELECT path FROM root"))

    def test_image_at_run_time(self):
        """Paths are stored relative to the root: a database built outside is valid inside."""
        self.run_program("update", "--root", self.root, status=DONE)
        os.rename(self.root, f"{self.top}/moved")
        reply = self.run_program("list", "demo", "--root", f"{self.top}/moved", "--fresh", "trust", status=DONE)
        self.assertEqual(len(reply.names), 2)


class Forgetting(CommandTest):
    def test_site_directory(self):
        add_distribution(self.site, "alpha")
        self.update()
        url = "https://index.example/t/s3cret/simple/"
        self.assertIn("1 forgotten", self.run_program("forget", self.site, url, status=DONE).err)
        self.assertNotIn((SITE,), query(self.database, "SELECT path FROM root"))
        trail = self.run_program("log", status=DONE, env=self.environment(ENTRYDB_PATH=self.site)).out
        self.assertIn("\tentrydb forget\t", trail)
        self.assertNotIn("s3cret", trail)
        self.assertEqual(events(self.database)[-1][0], "forget")
        self.assertIn("not in any database", self.run_program("forget", self.site, status=NOT_FOUND).err)
        self.assertEqual(self.list("demo").names, [("alpha", "1.0")], "the disk is read instead")

    def test_in_the_user_database(self):
        plain = f"{self.top}/plain"
        add_distribution(plain, "alpha")
        self.update(plain)
        self.run_program("forget", plain, status=DONE)
        self.assertEqual(rows(self.user_database)["root"], [])

    def test_removed_directory(self):
        add_distribution(self.site, "alpha")
        self.update()
        shutil.rmtree(self.site)
        self.run_program("forget", self.site, status=DONE)
        self.assertEqual(rows(self.database)["distribution"], [])

    def test_unknown_path_writes_nothing(self):
        self.run_program("forget", self.site, status=NOT_FOUND)
        self.assertFalse(os.path.exists(self.database))

    def forget_one_of_two(self):
        self.run_program("forget", self.site, status=DONE)
        self.assertEqual([path for (path,) in query(self.database, "SELECT path FROM root")],
                         ["lib/python3.12/site-packages"])
        return stat.S_IMODE(os.stat(self.database).st_mode)

    def make_two(self, mode):
        add_distribution(self.site, "alpha")
        add_distribution(f"{self.prefix}/lib/python3.12/site-packages", "beta")
        os.chmod(self.site, mode)
        self.update(self.site, f"{self.prefix}/lib/python3.12/site-packages")

    def test_permissions_of_the_site_directory(self):
        self.make_two(0o755)
        self.assertEqual(self.forget_one_of_two(), 0o644)

    def test_group_permissions_are_removed(self):
        self.make_two(0o750)
        self.assertEqual(self.forget_one_of_two(), 0o600)

    def test_permissions_are_kept_without_the_site_directory(self):
        self.make_two(0o700)
        shutil.rmtree(self.site)
        self.assertEqual(self.forget_one_of_two(), 0o600)

    def test_a_damaged_database(self):
        """As with update: it is reported, set aside and rebuilt, without the forgotten site directory."""
        add_distribution(self.site, "alpha")
        self.update()
        write(self.database, b"garbage" * 5000)
        reply = self.run_program("forget", self.site, status=NOT_FOUND)
        self.assertIn(f"set aside as {self.database}.damaged and rebuilt", reply.err)
        self.assertEqual(leftovers(self.database), ["entry_points.db.damaged"])
        self.assertTrue(is_sound(self.database))
        self.assertNotIn("set aside", self.run_program("forget", self.site, status=NOT_FOUND).err)


class Verifying(CommandTest):
    def setUp(self):
        super().setUp()
        self.info = add_distribution(self.site, "alpha", RECORD=self.record(entry_points("alpha")))
        self.index()

    def record(self, text):
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        return f"alpha-1.0.dist-info/entry_points.txt,sha256={digest},{len(text)}\n"

    def verify(self, *words, **how):
        return self.run_program("verify", *(words or [self.prefix]), **how)

    def edit_keeping_times(self, old, new):
        path = f"{self.info}/entry_points.txt"
        times = os.stat(path)
        with open(path, "r+") as file:
            text = file.read().replace(old, new)
            file.seek(0)
            file.write(text)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def test_no_difference(self):
        reply = self.verify(status=DONE)
        self.assertEqual(reply.out, "")
        self.assertIn("1 distributions compared, 1 files hashed, 0 differences", reply.err)
        self.assertEqual(self.verify("--db", self.database, status=DONE).out, "")
        self.assertEqual(self.verify(self.prefix, "--quiet", status=DONE).err, "")

    def test_edit_that_keeps_all_times(self):
        self.edit_keeping_times("alpha.plugin:main", "alpha.plugin:evil")
        self.assertEqual(self.freshness(), "fresh")
        reply = self.verify(status=NOT_FOUND)
        self.assertIn(f"{self.info}: entry points differ from those on disk", reply.lines)
        self.assertRegex(reply.out, "(?m)entry_points.txt: .*RECORD has another hash$")

    def test_only_the_hash_differs(self):
        self.edit_keeping_times("[console_scripts]\n", "[console_scripts]\n# note\n")
        reply = self.verify(status=NOT_FOUND)
        self.assertEqual(len(reply.lines), 1, str(reply))
        self.assertIn("RECORD has another hash", reply.out)
        found = self.verify(self.prefix, "--json", status=NOT_FOUND).objects
        self.assertEqual(list(found[0]), VERIFY_KEYS)
        self.assertEqual((found[0]["database"], found[0]["path"], found[0]["distribution"]),
                         (self.database, self.site, "alpha-1.0.dist-info"))

    def test_a_large_hole_is_not_hashed(self):
        os.truncate(f"{self.info}/entry_points.txt", 1 << 42)
        self.assertIn("too large holes", self.verify(status=NOT_FOUND).out)

    def test_other_spellings_of_a_hash(self):
        """Debian's RECORD has hexadecimal digits; hashes other than SHA-256 are not checked."""
        text = entry_points("beta").encode()
        spellings = {"hex": f"sha256={hashlib.sha256(text).hexdigest()}",
                     "padded": f"sha256={base64.urlsafe_b64encode(hashlib.sha256(text).digest()).decode()}",
                     "other": f"sha512={hashlib.sha512(text).hexdigest()}"}
        for name, digest in spellings.items():
            add_distribution(self.site, name, text=text.decode(),
                             RECORD=f"{name}-1.0.dist-info/entry_points.txt,{digest},{len(text)}\n")
        self.index()
        self.assertIn("3 files hashed, 0 differences", self.verify(status=DONE).err)
        for name in spellings:
            self.info = f"{self.site}/{name}-1.0.dist-info"
            self.edit_keeping_times("[console_scripts]\n", "[console_scripts]\n# note\n")
        changed = [line.split(": ")[0] for line in self.verify(status=NOT_FOUND).lines]
        self.assertEqual(sorted(changed), [f"{self.site}/{name}-1.0.dist-info" for name in ("hex", "padded")])

    def test_added_removed_and_renamed(self):
        add_distribution(self.site, "beta")
        reply = self.verify(status=NOT_FOUND)
        self.assertIn(f"{self.site}/beta-1.0.dist-info: not in the database", reply.lines)
        shutil.rmtree(self.info)
        self.assertIn(f"{self.info}: not on the disk", self.verify(status=NOT_FOUND).lines)

    def test_metadata_and_broken(self):
        write(f"{self.info}/METADATA", metadata("alpha", "7"))
        self.assertIn("name or version", self.verify(status=NOT_FOUND).out)
        write(f"{self.info}/entry_points.txt", "[g]\nno equals sign\n")
        self.assertIn("it cannot be read now", self.verify(status=NOT_FOUND).out)

    def test_path_entry_missing_from_the_database(self):
        self.run_program("forget", self.site, status=DONE)
        self.assertEqual(self.verify(self.site, status=NOT_FOUND).lines, [f"{self.site}: not in the database"])

    def test_no_database(self):
        os.unlink(self.database)
        self.verify(status=COULD_NOT)

    def test_update_removes_the_difference(self):
        self.edit_keeping_times("alpha.plugin:main", "alpha.plugin:evil")
        self.update()
        self.assertNotIn("entry points differ", self.verify(status=NOT_FOUND).out)


class Status(CommandTest):
    """The directories searched, their entry points, their database and its age, and whether Python uses it."""

    def rows(self, *words, status=DONE):
        return self.run_program("status", "--path", self.site, *words, status=status)

    def test_stages_of_an_installation(self):
        add_distribution(self.site, "alpha")
        self.assertEqual(self.rows().fields, [[self.site, "scanned", "2", "off", "", "", ""]])
        self.run_program("update", self.site, status=DONE)
        write(f"{self.site}/entrydb.pth", "")
        path, state, _, python, since, command, database = self.rows().fields[0]
        self.assertEqual((path, state, python, database), (self.site, "scanned", "on", self.database))
        self.assertRegex(since, r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")
        self.assertEqual(command, "entrydb update")
        os.unlink(f"{self.site}/entrydb.pth")
        write(f"{self.site}/sitecustomize.py", "# Written by 'python -m entrydb on'\n")
        self.assertEqual(self.rows("--json").objects[0]["python"], "on")
        write(f"{self.site}/sitecustomize.py", "import this\n")
        self.assertEqual(self.rows().fields[0][3], "off")

    def test_entry_points_of_each_path_entry(self):
        """One that a distribution in front shadows is not counted."""
        second = f"{self.top}/second"
        for site, name in ((self.site, "alpha"), (second, "alpha"), (second, "beta"), (second, "gamma")):
            add_distribution(site, name)
        counts = [row["entry_points"] for row in self.rows("--path", second, "--json").objects]
        self.assertEqual(counts, [2, 4])

    def test_status_of_one_path(self):
        environment = {"ENTRYDB_PATH": self.site}
        alone = self.run_program(env=environment, status=DONE)
        self.assertEqual(alone.out, self.run_program("status", env=environment, status=DONE).out)
        self.assertEqual(alone.fields[0][0], self.site)
        self.assertTrue(self.on_terminal(**environment).endswith("entrydb: 'entrydb help' lists the commands\n"))


class Trail(CommandTest):
    def log(self, *words, **how):
        return self.run_program("log", *(words or ["--path", self.site]), **how)

    def test_install_upgrade_change_remove(self):
        add_distribution(self.site, "stays")
        self.update()
        info = add_distribution(self.site, "alpha")
        self.update()
        write(f"{info}/entry_points.txt", "[demo]\nother = m:f\n")
        self.update()
        shutil.rmtree(info)
        info = add_distribution(self.site, "alpha", "2.0")
        self.update()
        shutil.rmtree(info)
        self.update(self.site)
        found = [event for event in events(self.database) if event[0] != "index"]
        self.assertEqual([event for event in found if not event[0].startswith("entry-point")],
                         [("install", "alpha", None, "1.0"), ("change", "alpha", "1.0", "1.0"),
                          ("upgrade", "alpha", "1.0", "2.0"), ("remove", "alpha", "2.0", None)])
        last = self.log("--json", "--path", self.site, status=DONE).objects[-1]
        self.assertEqual(list(last), LOG_KEYS)
        self.assertEqual((last["uid"], last["command"], last["root"], last["database"]),
                         (os.getuid(), "entrydb update", SITE, self.database))
        self.assertRegex(last["time"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")
        text = [row for row in self.log(status=DONE).fields if not row[1].startswith("entry-point")]
        self.assertEqual([row[2] for row in text[-4:]],
                         ["alpha 1.0", "alpha 1.0", "alpha 1.0 -> 2.0", "alpha 2.0"])
        self.assertEqual(text[-1][-2:], ["entrydb update", f"uid {os.getuid()}"])

    def test_changed_entry_points_of_a_distribution(self):
        """Each one that is added, removed or changed is recorded, even among duplicates; the order is not."""
        texts = ["[g]\na = m:a\nb = m:b\n[h]\na = m:a\na = m:twice\n",
                 "[h]\na = m:twice\na = m:a\n[g]\nb = m:other\nc = m:c\n", ""]
        for number, text in enumerate(texts):
            info = add_distribution(self.site, "alpha", str(number), text)
            self.update()
            shutil.rmtree(info)
        found = query(self.database, "SELECT action, distribution, detail FROM event WHERE action GLOB 'entry-point*'")
        self.assertEqual(found, [("entry-point-gone", "alpha", "g/a: m:a"),
                                 ("entry-point-changed", "alpha", "g/b: m:b -> m:other"),
                                 ("entry-point", "alpha", "g/c: m:c"),
                                 ("entry-point-gone", "alpha", "g/b: m:other"), ("entry-point-gone", "alpha", "g/c: m:c"),
                                 ("entry-point-gone", "alpha", "h/a: m:a"), ("entry-point-gone", "alpha", "h/a: m:twice")])
        self.assertIn("alpha g/b: m:b -> m:other", [row[2] for row in self.log(status=DONE).fields])

    def test_large_change_is_recorded_in_part(self):
        info = add_distribution(self.site, "alpha", "1", "[g]\n" + "".join(f"n{i} = m:f\n" for i in range(500)))
        self.update()
        shutil.rmtree(info)
        add_distribution(self.site, "alpha", "2", "[g]\n" + "".join(f"n{i} = m:{'f' * 999}\n" for i in range(500)))
        self.update()
        sizes = query(self.database, "SELECT length(detail) FROM event WHERE action = 'entry-point-changed'")
        self.assertEqual(len(sizes), 100)
        self.assertLess(max(sizes)[0], 300)

    def test_downgrade(self):
        versions = ["1.10", "1.9", "1.9.post1", "unknown", "1.0"]
        for version in versions:
            info = add_distribution(self.site, "alpha", version)
            self.update()
            shutil.rmtree(info)
        found = [event[0] for event in events(self.database) if event[0] != "index" and event[2]]
        self.assertEqual(found, ["downgrade", "upgrade", "change", "change"])

    def test_reinstallation_is_a_change(self):
        info = add_distribution(self.site, "alpha")
        self.update()
        shutil.rmtree(info)
        add_distribution(self.site, "alpha")
        self.update()
        self.assertEqual(events(self.database)[-1], ("change", "alpha", "1.0", "1.0"))

    def test_empty_log(self):
        self.assertEqual(self.log(status=NOT_FOUND).out, "")

    def test_of_one_file(self):
        add_distribution(self.site, "alpha")
        self.update()
        self.assertEqual(self.log("--db", self.database).out, self.log().out)


class Tables(CommandTest):
    """The SQL schema of the published file is a supported interface."""

    def setUp(self):
        super().setUp()
        add_distribution(self.site, "alpha")
        add_distribution(self.site, "beta", text="[demo]\nalpha = beta:x\nbad value = ?\n")
        add_distribution(self.site, "broken", text="[demo]\nno equals sign\n")
        self.update()

    def columns(self, view):
        with support.connect(self.database) as connection:
            return [column[0] for column in connection.execute(f"SELECT * FROM {view}").description]

    def test_columns_of_the_views(self):
        self.assertEqual(self.columns("entry_points"),
                         ["root", "distribution", "version", "group_name", "name", "value", "module", "attr",
                          "extras", "kind", "object", "symbol", "state"])
        for view in ("conflicts", "broken", "startup_code", "history"):
            self.assertTrue(self.columns(view))

    def test_tables(self):
        with support.connect(self.database) as connection:
            names = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            strict = connection.execute("SELECT min(strict) FROM pragma_table_list WHERE schema = 'main' "
                                        "AND type = 'table' AND name NOT LIKE 'sqlite%'").fetchone()
        self.assertEqual(names, {"root", "distribution", "entry_point", "plugin", "target", "publication",
                                 "startup", "event"})
        self.assertEqual(strict, (1,))
        self.assertEqual(query(self.database, "PRAGMA application_id"), [(0x45504449,)])

    def test_contents_of_the_views(self):
        found = query(self.database, "SELECT root, distribution, version, group_name, name, value, module, attr, "
                      "extras, kind FROM entry_points WHERE distribution = 'alpha' AND group_name = 'demo'")
        self.assertEqual(found, [(SITE, "alpha", "1.0", "demo", "alpha", "alpha.plugin:main [x,y]", "alpha.plugin",
                                  "main", "x,y", "unresolved")])
        conflict = query(self.database, "SELECT root, group_name, name, claims FROM conflicts")
        self.assertEqual(conflict, [(SITE, "demo", "alpha", 2)])
        self.assertIn("broken-1.0.dist-info", [row[0] for row in query(
            self.database, "SELECT directory FROM broken WHERE group_name IS NULL")])
        self.assertEqual(query(self.database, "SELECT action, root FROM history WHERE root = ?", SITE),
                         [("index", SITE)])

    def test_equal_trees_have_equal_rows(self):
        first = rows(self.database)
        os.rename(self.database, f"{self.top}/first.db")
        self.update()
        self.assertEqual(rows(self.database), first)

    def test_incremental_update_equals_rebuild(self):
        for step in range(6):
            with self.subTest(step=step):
                self.change(step)
                self.update()
                kept = self.views()
                os.rename(self.database, f"{self.top}/kept.db")
                self.update()
                self.assertEqual(self.views(), kept)
                os.rename(f"{self.top}/kept.db", self.database)

    def change(self, step):
        info = f"{self.site}/alpha-1.0.dist-info"
        if step == 0:
            add_distribution(self.site, "gamma")
        elif step == 1:
            shutil.rmtree(f"{self.site}/beta-1.0.dist-info")
        elif step == 2:
            write(f"{info}/entry_points.txt", "[demo]\nfirst = m:f\nsecond = m:g\n")
        elif step == 3:
            os.rename(info, f"{self.site}/Alpha-1.1.dist-info")
        elif step == 4:
            write(f"{self.site}/broken-1.0.dist-info/entry_points.txt", entry_points("mended"))
        else:
            for number in range(40):
                add_distribution(self.site, f"many{number}", "1")

    def views(self):
        """The contents of the views, and the distributions in order; identifiers and positions may differ."""
        return [query(self.database, f"SELECT * FROM {view}") for view in ("entry_points", "conflicts", "broken")] + [
            query(self.database, "SELECT directory, normalized_name, contested, name, version, has_metadata, error, "
                  "directory_stamp, files_stamp, record_sha256 FROM distribution ORDER BY root, position")]


class Moving(CommandTest):
    """Paths in the database are relative: a moved environment keeps a valid index."""

    def setUp(self):
        super().setUp()
        add_distribution(self.site, "alpha")
        write(f"{self.prefix}/pyvenv.cfg", "home = /usr/bin\n")
        self.index()
        self.moved = f"{self.top}/elsewhere/env"
        os.makedirs(f"{self.top}/elsewhere")

    def answer(self, *options):
        return self.list("--json", "demo", *options, path=f"{self.moved}/{SITE}", status=DONE).objects

    def check(self):
        expected = self.list("--json", "demo", "--db", f"{self.top}/none.db", path=f"{self.moved}/{SITE}").objects
        for level in ("trust", "roots", "exact"):
            self.assertEqual(self.answer("--fresh", level), expected)
        self.assertEqual(expected[0]["file"], f"{self.moved}/{SITE}/alpha-1.0.dist-info")

    def test_copied(self):
        subprocess.run(["/bin/cp", "-a", self.prefix, self.moved], check=True)
        self.check()
        add_distribution(f"{self.moved}/{SITE}", "beta")
        self.assertEqual(sorted(self.list("demo", path=f"{self.moved}/{SITE}").names),
                         [("alpha", "1.0"), ("beta", "1.0")])
        self.assertEqual(self.list("demo").names, [("alpha", "1.0")])
        self.update(self.moved)
        self.check_roots(self.moved)

    def check_roots(self, prefix):
        found = query(f"{prefix}/{DATABASE}", "SELECT path FROM root WHERE distributions")
        self.assertEqual(found, [(SITE,)])

    def test_path_through_a_link(self):
        os.symlink(self.prefix, self.moved)
        self.assertEqual(self.freshness(f"{self.moved}/{SITE}"), "fresh")
        self.check()


class Trusting(CommandTest):
    """Level trust, for sealed images: the rows are used without any check of the disk."""

    def setUp(self):
        super().setUp()
        add_distribution(self.site, "alpha")
        self.update()

    def test_rows_are_used_without_the_disk(self):
        shutil.rmtree(self.site)
        self.assertEqual(self.list("demo", "--fresh", "trust", status=DONE).names, [("alpha", "1.0")])
        self.assertEqual(self.list("demo", "--fresh", "roots", status=NOT_FOUND).names, [])

    def test_unindexed_directory_is_scanned(self):
        plain = f"{self.top}/plain"
        add_distribution(plain, "beta")
        reply = self.list("demo", "--fresh", "trust", path=[self.site, plain])
        self.assertEqual([name for name, _ in reply.names], ["alpha", "beta"])

    def test_no_system_call_on_the_directory(self):
        """Verified with strace, by the kernel's account."""
        strace = shutil.which("strace")
        if not strace:
            self.skipTest("there is no strace")
        trace = f"{self.top}/trace"
        done = subprocess.run([strace, "-f", "-o", trace, support.PROGRAM, "list", "demo", "--path", self.site,
                               "--fresh", "trust"], env=self.environment(ASAN_OPTIONS="detect_leaks=0"),
                              capture_output=True)
        if done.returncode != DONE:
            self.skipTest("strace cannot trace here")
        with open(trace, errors="replace") as file:
            calls = [line for line in file if f'"{self.site}' in line and "execve" not in line]
        self.assertEqual(calls, [])


if __name__ == "__main__":
    support.main()
