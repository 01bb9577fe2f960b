"""The rules of `entrydb audit`: each finds an attack and ignores the most similar honest case."""

import json
import os
import py_compile
import re
import shutil
import sqlite3
import stat
import subprocess
import time
import unittest
from html.parser import HTMLParser

import package_cache
import support
from audit_site import Site
from support import COULD_NOT, DONE, NOT_FOUND, SITE, STRANGER, TOP, USAGE, digest, metadata, needs_root, write

PLUGINS = os.environ.get("ENTRYDB_TEST_PLUGINS")
MANUAL = f"{TOP}/indexer/man/entrydb-audit.1"
KEYS = ["rule", "level", "distribution", "version", "group", "name", "file", "message", "fingerprint"]
CYRILLIC_A, OVERRIDE = "\u0430", "\u202e"


class Rules(Site):
    """`bad` creates the example from the manual; `good` is the most similar case in an honest package."""

    def check(self, rule, bad, good=None, others=()):
        """`others`: rules that also find the attack, correctly."""
        if good:
            good()
            self.assertNotIn(rule, self.rules())
        bad()
        found = self.rules()
        self.assertIn(rule, found)
        self.assertEqual(sorted(set(found) - {rule} - set(others)), [])

    def test_an_honest_environment(self):
        self.install("alpha", "[console_scripts]\nalpha = alpha:main\n[alpha.plugins]\na = alpha.sub:C\n",
                     modules=["alpha", "alpha/sub"])
        self.install("beta", "[alpha.plugins]\nb = alpha:D\n", requires=["Alpha >= 1"])
        self.assertEqual(self.audit(status=DONE).objects, [])

    def test_command_hijack(self):
        self.check("command-hijack",
                   lambda: self.install("cloud-tools", "[console_scripts]\naws = cloud_tools:main\n", modules=["cloud_tools"]),
                   lambda: self.install("awscli", "[console_scripts]\naws = awscli:main\n"),
                   ["command-conflict", "file-changed"])

    def test_command_lookalike(self):
        self.check("command-lookalike",
                   lambda: self.install("speed", "[console_scripts]\ndokcer = speed:main\n"),
                   lambda: self.install("pip", "[console_scripts]\npip3.12 = pip:main\npip3 = pip:main\n"))

    def test_command_lookalike_of_three_letters(self):
        """For short names, swapped and doubled letters count: `gti` and `gitt` for git, but not `gip` or `gita`, nor `vm`."""
        self.install("short", "[console_scripts]\ngip = short:main\ngita = short:main\ncpp = short:main\nvm = short:main\n")
        self.assertEqual(self.rules(), [])
        self.install("slips", "[console_scripts]\ngti = slips:main\ngitt = slips:main\nppip = slips:main\n")
        self.assertEqual(self.found(), [("command-lookalike", "slips")] * 3)

    def test_command_lookalike_by_capitals(self):
        """On a case-insensitive file system it is the same file."""
        self.install("capitals", "[console_scripts]\nGit = capitals:main\nPIP = capitals:main\n")
        self.assertEqual(self.found(), [("command-lookalike", "capitals")] * 2)

    def test_command_hijack_of_the_environment(self):
        for name in ("python3.12", "activate"):
            self.install("evil", f"[console_scripts]\n{name} = evil:main\n")
            self.assertEqual(self.found(), [("command-hijack", "evil")])

    def test_command_near(self):
        """A difference at the end makes another word, as in httpie's own commands; within a word it is a typo."""
        def good():
            self.install("httpie", "[console_scripts]\nhttp = httpie:main\nhttps = httpie:main\n")
            self.install("words", "[console_scripts]\npytest7 = words:main\nflake80 = words:main\nhttpunit = words:main\n")
        self.check("command-near", lambda: self.install("evil", "[console_scripts]\npytes = evil:main\nslack = evil:main\nhttpc = evil:main\n"),
                   good)
        self.assertEqual({one["level"] for one in self.audit(status=DONE).objects}, {"note"})
        self.install("worse", "[console_scripts]\npyest = worse:main\npytesst = worse:main\npytestt = worse:main\nptyest = worse:main\n"
                     "pytets = worse:main\nblaock = worse:main\nb1ack = worse:main\nbleck = worse:main\n")
        self.assertEqual(self.found()[:8], [("command-lookalike", "worse")] * 8)

    def test_command_near_spares_words(self):
        """Words, older programs and names of distributions are not typos, except with swapped letters."""
        self.install("scapy", "[console_scripts]\nscapy = scapy:main\n")
        self.install("openapix", "[console_scripts]\nhg = openapix:main\nblock = openapix:main\nseed = openapix:main\n")
        self.install("linter", "[console_scripts]\nmypyp = linter:main\n")
        self.assertEqual(set(self.rules()), {"command-near"})
        self.install("pytset", "[console_scripts]\npytset = pytset:main\n")
        self.install("other", "[console_scripts]\npythn = other:main\n")
        self.assertEqual(self.found()[:2], [("command-lookalike", "other"), ("command-lookalike", "pytset")])

    def test_command_shadows(self):
        self.executable("frobnicate")
        self.executable("sphinx", "#!/usr/bin/python3\nfrom alpha.other import x\n")
        self.executable("shim", '#!/usr/bin/env bash\nexec "/opt/pyenv/libexec/pyenv" exec "$program" "$@"\n')
        self.executable("old", "#!/usr/bin/python3\n# EASY-INSTALL-ENTRY-SCRIPT: 'Alpha==0.1','console_scripts','old'\n")
        self.executable("listed", "#!/usr/bin/python3\nimport os, alpha, sys\n")
        write(f"{self.system}/text", "not a program")
        self.check("command-shadows",
                   lambda: self.install("beta", "[console_scripts]\nfrobnicate = beta:main\n"),
                   lambda: self.install("alpha", "[console_scripts]\nsphinx = alpha:main\nshim = alpha:main\n"
                                        "old = alpha:main\ntext = alpha:main\nlisted = alpha:main\n"))
        self.executable("words", "#!/usr/bin/python3\nimport os # unlike alpha, \nalphabet = 'from alpha'\nimport alphabet\n")
        self.install("gamma", "[console_scripts]\nwords = gamma:main\n")
        self.assertEqual([one["name"] for one in self.audit().objects], ["frobnicate", "words"])

    def test_path_order_is_reported(self):
        self.executable("frobnicate")
        self.install("beta", "[console_scripts]\nfrobnicate = beta:main\n")
        for path, words in ((f"{self.bin}:{self.system}", "is hidden by"), (f"{self.system}:{self.bin}", "comes first"),
                            (self.system, "if this environment were active")):
            self.assertIn(words, self.audit(path=path).objects[0]["message"])

    def test_command_builtin(self):
        self.check("command-builtin", lambda: self.install("quick", "[console_scripts]\ntest = quick:main\n"),
                   lambda: self.install("tests", "[console_scripts]\ntests = tests:main\n[quick]\ntest = tests:x\n"))

    def test_command_conflict(self):
        self.check("command-conflict",
                   lambda: self.install("second", "[console_scripts]\nserve = second:main\n"),
                   lambda: self.install("first", "[console_scripts]\nserve = first:main\n"), ["file-changed"])
        told = {one["distribution"]: one["message"] for one in self.audit().objects if one["rule"] == "command-conflict"}
        self.assertIn("does not run this one", told["first"])
        self.assertIn("runs this one", told["second"])

    def test_name_control(self):
        self.check("name-control",
                   lambda: self.install("evil", f"[pytest{OVERRIDE}]\nplug = evil:x\n[g]\nesc\x1b[2J = evil:x\n"),
                   lambda: self.install("fine", "[g]\nгруппа = fine:x\n日本 = fine:x\n"))

    def test_name_with_invisible_characters(self):
        for char in ("\u00ad", "\u034f", "\u200b", "\u2060", "\u2800", "\u3164", "\ufe0f", "\U000e0101"):
            self.install("evil", f"[g]\ngi{char}t = evil:x\n")
            self.assertEqual(self.rules(), ["name-control"], ascii(char))

    def test_name_with_strokes(self):
        self.install("evil", "[g]\nfine = evil:x\nc\u0327 = evil:x\ngi\u0335t = evil:x\n")
        self.assertEqual([one["name"] for one in self.audit().objects], ["gi\u0335t"])

    def test_name_confusable(self):
        self.check("name-confusable",
                   lambda: self.install("evil", f"[g]\np{CYRILLIC_A}th = evil:x\n"),
                   lambda: self.install("fine", "[g]\nгруппа = fine:x\nnaïve = fine:x\n"))
        self.assertIn("looks like 'path'", self.audit().objects[0]["message"])

    def test_name_path(self):
        self.check("name-path",
                   lambda: self.install("evil", "[console_scripts]\n../../.bashrc = evil:main\n-rf = evil:main\n"),
                   lambda: self.install("fine", "[envs]\nns/Game-v1 = fine:x\n"))

    def test_name_mismatch(self):
        def plant():
            write(f"{self.install('evil')}/METADATA", metadata("pip", "99.0"))

        def good():
            write(f"{self.install('name_of_it')}/METADATA", metadata("Name.of-it", "1.0"))
        self.check("name-mismatch", plant, good)
        self.assertIn("evil-1.0.dist-info says that it is pip", self.audit().objects[0]["message"])

    def test_metadata_foreign(self):
        def plant():
            self.install("evil", files={"pip-99.0.dist-info/METADATA": metadata("pip", "99.0"), "pip-99.0.dist-info/RECORD": "",
                                        "pip-99.0.dist-info/INSTALLER": "pip"})
        self.check("metadata-foreign", plant,
                   lambda: self.install("fine", files={"fine/_vendor/x-1.0.dist-info/METADATA": metadata("x", "1.0")}))

    def test_unread(self):
        """A sparse file costs its owner nothing and its reader hours."""
        def plant():
            with open(f"{self.site}/alpha.py", "wb") as file:
                file.truncate(1 << 42)
        self.check("unread", plant, lambda: self.install("alpha", "[g]\nx = alpha:y\n"))
        self.assertIn("too large", self.audit().objects[0]["message"])
        os.truncate(f"{self.site}/alpha.py", 1 << 31)
        self.assertIn("too large holes", self.audit().objects[0]["message"])
        os.truncate(f"{self.site}/alpha.py", 1 << 20)
        self.assertEqual(self.rules(), ["file-changed"])

    @unittest.skipUnless(support.LONG, "reads 16 GiB")
    def test_many_names_of_one_file(self):
        """Neither do its further names."""
        names = [f"m{number}" for number in range(300)]
        info = self.install("alpha", "[g]\n" + "".join(f"{name} = {name}:x\n" for name in names))
        with open(f"{self.site}/alpha.py", "wb") as file:
            file.truncate(60 << 20)
        for name in names:
            os.link(f"{self.site}/alpha.py", f"{self.site}/{name}.py")
        write(f"{info}/RECORD", "".join(f"{name}.py,sha256=AAAA,1\n" for name in names))
        reply = subprocess.run([support.PROGRAM, "audit", "--json", self.prefix], env=self.environment(), capture_output=True, text=True, check=False)
        self.assertEqual([reply.stdout.count(f'"{rule}"') for rule in ("file-changed", "unread")], [273, 27])

    def test_module_foreign(self):
        self.install("victim", "[g]\nv = victim:x\n")
        self.check("module-foreign", lambda: self.install("evil", "[g]\nx = victim:y\n"),
                   lambda: self.install("extension", "[g]\ny = victim:y\n", requires=["victim[all]>=1; extra == 'x'"]))

    def test_namespace_turned_into_a_package(self):
        self.install("one", "[g]\nx = space.one:y\n", modules=["space/one"])
        self.install("two", "[g]\nx = space.two:y\n", modules=["space/two"])
        self.assertEqual(self.rules(), [])
        self.install("evil", modules=["space/__init__"])
        self.assertEqual(self.found(), [("module-foreign", "one"), ("module-foreign", "two")])
        self.assertIn("space belongs to evil", self.audit().objects[0]["message"])

    def test_file_imported_instead_of_a_listed_module(self):
        """A package precedes a module, an extension a .py file, and __init__ everything in its package."""
        self.install("alpha", "[g]\nx = alpha.sub:y\n", modules=["alpha/__init__", "alpha/sub"])
        self.install("beta", "[g]\nx = space.beta:y\n", modules=["space/beta"])
        for file, module in (("alpha/sub/__init__.py", "alpha.sub"), ("alpha/sub.abi3.so", "alpha.sub"),
                             ("alpha/__init__.cpython-311-x86_64-linux-gnu.so", "alpha"), ("space/__init__.py", "space")):
            self.assertEqual(self.rules(), [])
            os.makedirs(os.path.dirname(f"{self.site}/{file}"), exist_ok=True)
            write(f"{self.site}/{file}", "")
            [found] = self.audit().objects
            self.assertEqual((found["rule"], found["message"]), ("module-unlisted", f"{module} is {file}, which no RECORD lists"))
            os.remove(f"{self.site}/{file}")
            if file == "alpha/sub/__init__.py":
                os.rmdir(f"{self.site}/alpha/sub")

    def test_module_unlisted(self):
        def plant():
            self.install("evil", "[g]\nx = dropped.plugin:y\n")
            os.mkdir(f"{self.site}/dropped")
            write(f"{self.site}/dropped/plugin.py", "")
        self.check("module-unlisted", plant)

    def test_module_outside(self):
        elsewhere = f"{self.top}/elsewhere.py"
        write(elsewhere, "# linked\n")

        def plant():
            self.install("linked", "[g]\nx = linked:y\n")
            os.remove(f"{self.site}/linked.py")
            os.symlink(elsewhere, f"{self.site}/linked.py")
            self.install("system", "[g]\ncall = os:system\n")

        def inside():
            self.install("fine", "[g]\nz = fine:y\n")
            os.rename(f"{self.site}/fine.py", f"{self.prefix}/fine.py")
            os.symlink(f"{self.prefix}/fine.py", f"{self.site}/fine.py")
        self.check("module-outside", plant, inside)
        self.assertEqual(self.found(), [("module-outside", "linked"), ("module-outside", "system")])

    def test_target_missing(self):
        self.check("target-missing", lambda: self.install("hollow", "[g]\nx = not_there.at_all:y\n"),
                   lambda: self.install("full", "[g]\nx = full:not_there\nwithout_colon = full.NotThere\n"))
        self.install("other", "[g]\nx = full.NotThere\nz = other.sub.NotThere\n")
        self.assertEqual([one["name"] for one in self.audit().objects if one["rule"] == "target-missing"], ["x", "x", "z"])

    def test_target_broken(self):
        text = b"\x7fELF" + b"no library"

        def plant():
            self.install("native", "[g]\nx = native_plugin:entry\n")
            write(f"{self.site}/native_plugin.so", text)
            with open(f"{self.site}/native-1.0.dist-info/RECORD", "a", encoding="utf-8") as record:
                record.write(f"native_plugin.so,{digest(text)},{len(text)}\n")
        self.check("target-broken", plant)

    def test_target_quarantined(self):
        """A plugin that aborts when probed is found, also as a copy elsewhere; another build is not."""
        if not PLUGINS or not os.path.exists(f"{PLUGINS}/pjrt_aborting.so"):
            self.skipTest("no plugins are built; ENTRYDB_TEST_PLUGINS names their directory")

        def good():
            self.install_object("good", "pjrt_good.so")
            self.run_program("probe", "--path", self.site, "jax_plugins", "good", status=DONE)

        def plant():
            self.install_object("aborting", "pjrt_aborting.so")
            self.run_program("probe", "--path", self.site, "jax_plugins", "aborting", status=COULD_NOT)
        self.check("target-quarantined", plant, good, ["runs-unasked"])
        self.install_object("copied", "pjrt_aborting.so")
        found = [one for one in self.audit().objects if one["rule"] == "target-quarantined"]
        self.assertEqual([one["name"] for one in found], ["aborting", "copied"])
        self.assertIn("it crashed (signal 6, Aborted) when it was probed", found[0]["message"])
        self.run_program("quarantine", "--clear", status=DONE)
        self.assertEqual(self.rules(), ["runs-unasked"])

    def install_object(self, name, plugin):
        """A JAX plugin with a shared object, NAME_plugin.so."""
        info = self.install(name, f"[jax_plugins]\n{name} = {name}_plugin:GetPjrtApi\n", modules=[])
        shutil.copy(f"{PLUGINS}/{plugin}", f"{self.site}/{name}_plugin.so")
        with open(f"{self.site}/{name}_plugin.so", "rb") as file, open(f"{info}/RECORD", "a", encoding="utf-8") as record:
            record.write(f"{name}_plugin.so,{digest(file.read())},1\n")

    def test_distribution_broken(self):
        self.check("distribution-broken", lambda: self.install("broken", "[g]\nno equals sign\n"),
                   lambda: self.install("fine", "[g]\na = b = c\n"), ["target-missing"])

    def test_file_changed(self):
        self.install("alpha", "[console_scripts]\nalpha = alpha:main\n", files={"other.py": ""})

        def plant():
            write(f"{self.site}/alpha.py", "import evil\n")
            write(f"{self.bin}/alpha", "#!/bin/sh\n")
        self.check("file-changed", plant, lambda: write(f"{self.site}/other.py", "changed, and no entry point's"))
        self.assertEqual([os.path.normpath(one["file"]) for one in self.audit().objects],
                         [f"{self.bin}/alpha", f"{self.site}/alpha.py"])
        for path in (f"{self.bin}/alpha", f"{self.site}/alpha.py"):  # a script that is missing does not run
            os.unlink(path)
            self.assertEqual([one["file"] for one in self.audit().objects], [f"{self.site}/alpha.py"])

    def test_changed_package_above_the_module(self):
        self.install("alpha", "[g]\nx = alpha.sub.deep:y\n", modules=["alpha/__init__", "alpha/sub/__init__", "alpha/sub/deep"])
        write(f"{self.site}/alpha/__init__.py", "import evil\n")
        self.assertEqual([one["file"] for one in self.audit().objects], [f"{self.site}/alpha/__init__.py"])

    def test_a_line_added_to_entry_points_txt(self):
        info = self.install("alpha", "[g]\na = alpha:x\n")
        with open(f"{info}/entry_points.txt", "a", encoding="utf-8") as text:
            text.write("[pytest11]\nspy = alpha:spy\n")
        self.assertEqual(self.rules(), ["file-changed", "runs-unasked"])

    def test_bytecode_unchecked(self):
        """It keeps running, even after the source has changed."""
        def plant():
            self.compile("alpha", mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)

        def good():
            self.install("alpha", "[g]\nx = alpha:y\n")
            self.compile("alpha", mode=py_compile.PycInvalidationMode.CHECKED_HASH)
        self.check("bytecode-unchecked", plant, good)
        self.assertIn("alpha.cpython-", self.audit().objects[0]["message"])
        for number in range(9):
            self.install(f"more{number}", f"[g]\nx = more{number}:y\n")
            self.compile(f"more{number}", mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        [found] = self.audit().objects
        self.assertIn("10 files such as __pycache__/alpha.cpython-", found["message"])

    @needs_root
    def test_bytecode_writable_by_others(self):
        """Bytecode writable by others than the owner of the source, or in a directory where it can be replaced."""
        self.install("alpha", "[g]\nx = alpha:y\n")
        self.compile("alpha")
        file = f"{self.site}/{self.bytecode('alpha')}"
        for path, change, back in ((file, lambda path: os.chown(path, STRANGER, STRANGER), lambda path: os.chown(path, 0, 0)),
                                   (file, lambda path: os.chmod(path, 0o666), lambda path: os.chmod(path, 0o644)),
                                   (os.path.dirname(file), lambda path: os.chmod(path, 0o777), lambda path: os.chmod(path, 0o755))):
            self.assertEqual(self.rules(), [])
            change(path)
            self.assertEqual([(one["rule"], one["distribution"], one["file"].rstrip("/")) for one in self.audit().objects],
                             [("writable-by-others", "alpha", path)])
            back(path)
        os.rename(file, file.replace(".pyc", "-pytest-9.0.pyc"))  # no interpreter looks for this name
        os.chmod(file.replace(".pyc", "-pytest-9.0.pyc"), 0o666)
        self.assertEqual(self.rules(), [])

    def test_environment_replaced(self):
        def plant():
            self.install("evil", files={"../../../pyvenv.cfg": "home = /usr/bin\n", "../os.py": "", "../../python311.zip": ""})

        def good():
            self.install("fine", files={"../../../share/man/man1/fine.1": "", "../../../etc/fine/pyvenv.cfg": ""})
            write(f"{self.prefix}/pyvenv.cfg", f"home = /usr/bin\nprompt = {self.prefix}\n")
        self.check("environment-replaced", plant, good, ["startup-code"])
        self.assertEqual(self.found(), [("environment-replaced", "evil")] * 3 + [("startup-code", "evil")])
        write(f"{self.prefix}/pyvenv.cfg", f"include-system-site-packages = false\nHome={self.prefix}/evil\n")
        self.assertIn(f"takes Python from {self.prefix}/evil, in the environment itself", str(self.audit().objects))

    def test_record_missing(self):
        def plant():
            os.remove(f"{self.install('bare', '[g]' + chr(10) + 'x = bare:y' + chr(10))}/RECORD")
        self.check("record-missing", plant, lambda: self.install("fine"))

    def test_hash_missing(self):
        self.check("hash-missing", lambda: self.install("loose", "[g]\nx = loose:y\n", hashes=False),
                   lambda: self.install("data", "[h]\nx = data:y\n"))

    def test_installer_missing(self):
        self.check("installer-missing", lambda: self.install("copied", installer=None), lambda: self.install("fine"))

    def test_installed_from_url(self):
        self.check("installed-from-url",
                   lambda: self.install("fork", files={"fork-1.0.dist-info/direct_url.json":
                                                       '{"url": "https://example.org/fork.zip?key=s3cret", "archive_info": {}}'}),
                   lambda: self.install("fine"))
        self.assertRegex(self.audit().objects[0]["message"], r"https://example.org/fork.zip\b(?!\?)")
        for text in ('{"url": [}', json.dumps({"padding": "x" * 70000, "url": "https://example.org/fork.zip"})):
            write(f"{self.site}/fork-1.0.dist-info/direct_url.json", text)
            self.assertIn("where direct_url.json does not tell", self.audit().objects[0]["message"])
        for url, shown in (("https://ann:s3cret@example.org/a@b?c=@d", "https://example.org/a@b"), ("git+ssh://t0k3n@host", "git+ssh://host"),
                           ("https://ann:p@ss@host:8080/x", "https://host:8080/x"), ("https://host?k=@x", "https://host"),
                           ("file:///home/a@b", "file:///home/a@b"), ("nothing", "nothing"), ("https://host/x#t0k3n", "https://host/x"), ("https://@", "https://")):
            write(f"{self.site}/fork-1.0.dist-info/direct_url.json", json.dumps({"url": url, "archive_info": {}}))
            self.assertRegex(self.audit().objects[0]["message"], f"from {re.escape(shown)}($|[ ,;])")

    def test_writable_by_others(self):
        self.install("alpha", "[g]\nx = alpha.sub:y\n", modules=["alpha/sub"])
        self.check("writable-by-others", lambda: os.chmod(f"{self.site}/alpha", 0o777),
                   lambda: os.chmod(f"{self.site}/alpha/sub.py", 0o600))
        self.assertIn("everybody may write it", self.audit().objects[0]["message"])

    def test_script_and_parent_directories_writable_by_others(self):
        self.install("alpha", "[console_scripts]\nalpha = alpha:main\n")
        for path in (f"{self.bin}/alpha", f"{self.prefix}/lib", self.prefix):
            self.assertEqual(self.rules(), [])
            os.chmod(path, 0o777)
            self.assertEqual([(one["rule"], one["file"]) for one in self.audit().objects], [("writable-by-others", path)])
            os.chmod(path, 0o755)

    @needs_root
    def test_file_of_another_user(self):
        self.install("alpha", "[g]\nx = alpha:y\n")
        os.chown(f"{self.site}/alpha.py", STRANGER, STRANGER)
        self.assertEqual(self.rules(), ["writable-by-others"])

    def test_startup_unlisted(self):
        self.check("startup-unlisted", lambda: write(f"{self.site}/zz.pth", "import os; os.system('x')\n"),
                   lambda: write(f"{self.site}/paths.pth", "/some/where\n# import nothing\n"))
        write(f"{self.site}/tool.start", "tool.start:begin\n")
        write(f"{self.site}/sitecustomize.py", "")
        self.assertEqual(len(self.audit().objects), 3)

    def test_startup_code(self):
        self.check("startup-code", lambda: self.install("alpha", files={"alpha.pth": "import alpha\n"}))
        write(f"{self.site}/alpha.pth", "import alpha, evil\n")
        self.assertEqual(self.rules(), ["file-changed", "startup-code"])

    def test_path_added(self):
        place = f"{self.top}/opt"

        def good():
            os.mkdir(place)
            write(f"{self.site}/a.pth", f"{place}\n")

        def plant():
            support.add_distribution(place, "evil", text="[console_scripts]\naws = evil:main\n")
        self.check("path-added", plant, good)
        self.assertIn("opt has 1 distribution of its own", self.audit().objects[0]["message"])
        found = self.found(place)
        self.assertIn(("command-hijack", "evil"), found)
        self.assertNotIn(("path-added", None), found)

    def test_runs_unasked(self):
        self.check("runs-unasked", lambda: self.install("spy", "[pytest11]\nspy = spy:plugin\n"),
                   lambda: self.install("fine", "[pytest]\nfine = fine:plugin\n"))

    def test_forbidden(self):
        self.install("alpha", "[g]\nx = alpha:y\nz = alpha:y\n")
        self.assertEqual(self.rules(), [])
        self.run_program("disable", "--prefix", self.prefix, "g/x", status=DONE)
        self.assertEqual(self.found(), [("forbidden", "alpha")])

    def test_unreadable_policy(self):
        """The other environments are audited nevertheless."""
        self.install("alpha", "[console_scripts]\npyhton = alpha:y\n")
        other = f"{self.top}/other"
        support.add_distribution(f"{other}/{support.SITE}", "beta")
        os.makedirs(f"{other}/etc/entrydb")
        os.mkfifo(f"{other}/etc/entrydb/policy.conf")
        reply = self.run_program("audit", other, self.prefix, status=COULD_NOT)
        self.assertIn("command-lookalike", reply.out)
        self.assertIn("policy.conf: not a regular file", reply.err)

    def test_missing_path(self):
        reply = self.run_program("audit", self.prefix, f"{self.top}/misspelt", status=COULD_NOT)
        self.assertIn(f"{self.top}/misspelt: No such file or directory", reply.err)

    def test_news(self):
        self.install("alpha", "[g]\nx = alpha:y\n")
        self.update()
        self.install("beta", "[g]\nx = beta:y\n")
        self.update()
        self.assertEqual(self.rules(), [])
        now = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 60))
        for since in ("1 hour", f"2020-01-01..{now}"):
            found = [one for one in self.audit("--since", since).objects if one["distribution"]]
            self.assertEqual([(one["rule"], one["distribution"]) for one in found], [("news", "beta")])
            self.assertIn("install beta 1.0, by 'entrydb update", found[0]["message"])
        self.assertEqual(self.rules("--since", "2020-01-01..2020-02-01"), [])

    def test_target_changed(self):
        """An upgrade that keeps one target, changes one, removes one and adds one."""
        old = self.install("beta", "[g]\nstays = beta:a\nmoved = beta:b\ngone = beta:c\n")
        self.install("alpha", "[g]\nmoved = alpha:b\n")
        self.update()
        shutil.rmtree(old)
        self.install("beta", "[g]\nstays = beta:a\nmoved = beta:elsewhere\ncome = beta:d\n", version="2.0")
        self.update()
        self.assertEqual(self.rules(), [])
        found = [one for one in self.audit("--since", "1 hour").objects if one["distribution"] == "beta"]
        for rule, name, words in (("news", None, "entry-point-gone beta: g/gone: beta:c, by"),
                                  ("news", None, "upgrade beta 1.0 -> 2.0, by"),
                                  ("news", "come", "entry-point beta: g/come: beta:d, by"),
                                  ("target-changed", "moved", "g/moved: beta:b -> beta:elsewhere, by 'entrydb update")):
            one = found.pop(0)
            self.assertEqual((one["rule"], one["name"]), (rule, name))
            self.assertIn(words, one["message"])
        self.assertEqual(found, [])
        self.assertEqual(self.rules("--since", "2020-01-01..2020-02-01"), [])

    def test_time_and_command_of_a_change(self):
        self.update()
        self.install("spy", "[pytest11]\nspy = spy:plugin\n")
        self.update()
        self.assertRegex(self.audit().objects[0]["message"],
                         r"spy:plugin runs in each run of pytest, since 20\d\d-\d\d-\d\d \d\d:\d\d by 'entrydb update'")


class Manual(Site):
    def test_every_rule_is_explained_and_planted(self):
        sections = re.split(r"^\.It Sy ([a-z-]+) Pq (error|warning|note)\n", support.read(MANUAL), flags=re.M)
        explained = list(zip(sections[1::3], sections[2::3]))
        known = [(one["rule"], one["level"]) for one in
                 self.run_program("audit", "--rules", "--json", status=DONE).objects]
        self.assertEqual(sorted(explained), sorted(known))
        tests = support.read(__file__)
        for rule, text in zip(sections[1::3], sections[3::3]):
            self.assertIn(f"def test_{rule.replace('-', '_')}(", tests)
            example = re.search(r"^\.Dl (.*)\n", text, re.M)
            self.assertTrue(example, rule)
            words = example.group(1).replace("\\e", "\\").split(": ")[-1]
            self.assertIn(words, tests, rule)

    def test_text(self):
        reply = self.run_program("audit", "--rules", status=DONE)
        self.assertIn("command-hijack (error)", reply.lines)


class Output(Site):
    def setUp(self):
        super().setUp()
        self.install("cloud-tools", "[console_scripts]\naws = cloud_tools:main\n[pytest11]\n"
                     + "".join(f"p{i} = cloud_tools:p\n" for i in range(9)), modules=["cloud_tools"])

    def test_text(self):
        reply = self.run_program("audit", self.prefix, status=NOT_FOUND)
        self.assertEqual([line.split("\t")[:4] for line in reply.lines],
                         [["error", "command-hijack", "cloud-tools 1.0", "console_scripts/aws"],
                          ["note", "runs-unasked", "1 distribution", "pytest11 (9)"]])
        self.assertIn("1 error, 0 warnings, 9 notes", reply.err)

    def test_json(self):
        first = self.audit().objects[0]
        self.assertEqual(list(first), KEYS)
        self.assertEqual(first["file"], f"{self.site}/cloud-tools-1.0.dist-info/entry_points.txt")
        self.assertEqual((first["group"], first["name"]), ("console_scripts", "aws"))

    def test_fail_on(self):
        for level, status in (("error", NOT_FOUND), ("warning", NOT_FOUND), ("none", DONE)):
            self.audit("--fail-on", level, status=status)
        self.install("other", "[pytest11]\nx = other:y\n")
        os.remove(f"{self.site}/cloud-tools-1.0.dist-info/entry_points.txt")
        self.run_program("forget", self.site)

    def test_notes_alone(self):
        prefix = f"{self.top}/notes"
        self.site, self.prefix = f"{prefix}/{SITE}", prefix
        self.bin = f"{prefix}/bin"
        os.makedirs(self.site)
        self.install("spy", "[pytest11]\nx = spy:y\n")
        self.audit(status=DONE)
        self.audit("--fail-on", "note", status=NOT_FOUND)

    def test_baseline(self):
        known = f"{self.top}/known"
        write(known, self.audit().out)
        self.assertEqual(self.audit("--baseline", known, status=DONE).objects, [])
        self.install("evil", "[console_scripts]\ngit = evil:main\n")
        self.assertEqual(self.found("--baseline", known, status=NOT_FOUND), [("command-hijack", "evil")])

    def test_a_baseline_in_another_root(self):
        """A relative path to it does not lead out either."""
        write(f"{self.top}/outside", self.audit().out)
        write(f"{self.prefix}/known", "")
        for target, status in ((f"{self.top}/outside", COULD_NOT), ("/known", NOT_FOUND)):
            os.symlink(target, f"{self.prefix}/link")
            for path in (f"{self.prefix}/link", os.path.relpath(f"{self.prefix}/link", self.top)):
                self.run_program("audit", "--root", self.prefix, "--path", self.site[len(self.prefix):],
                                 "--baseline", path, "--fail-on", "note", cwd=self.top, status=status)
            os.unlink(f"{self.prefix}/link")

    def test_baseline_remains_valid_when_the_environment_moves(self):
        known = f"{self.top}/known"
        write(known, self.audit().out)
        os.rename(self.prefix, f"{self.top}/moved")
        self.prefix, self.bin = f"{self.top}/moved", f"{self.top}/moved/bin"
        self.assertEqual(self.audit("--baseline", known, status=DONE).objects, [])

    def test_another_target_is_another_finding(self):
        known = f"{self.top}/known"
        write(known, self.audit().out)
        self.install("cloud-tools", "[console_scripts]\naws = worse:main\n", modules=["worse"])
        self.assertEqual(self.rules("--baseline", known), ["command-hijack"])

    def test_bad_baselines(self):
        """Each kind costs one line within seconds, and nothing is audited: no finding is hidden or lost."""
        bad = f"{self.top}/bad"
        first = self.audit().lines[0]
        for content, words in (("nonsense\n", "line 1 is not a finding"), ("[]\n", "line 1"), ("{}\n", "line 1"),
                               (self.audit().out + '{"fingerprint": 5}\n', "line 11"), ('{"fingerprint": "short"}', "line 1"),
                               ('{"fingerprint": null}', "line 1"), ('{"fingerprint": ["%s"]}' % ("0" * 32), "line 1"),
                               ('{"fingerprint": "%s"}' % ("0" * 5000000), "line 1"), (f"{first}{first}\n", "line 1"),
                               (f"{first}\n\xff\xfe{first}\n", "line 2"), (first.encode("utf-16"), "line 1"),
                               ("[" * 100000, "line 1"), ('{"a":' * 3000000, "line 1"), ("\0\n", "line 1"),
                               (bytes(range(255, -1, -1)) * 4096, "line 1"), (b"\x7fELF" + b"\0" * 5000, "line 1")):
            write(bad, content)
            self.check_refused(bad, words)
        with open(bad, "wb") as file:
            file.truncate(65 << 20)
        self.check_refused(bad, "larger than")
        os.remove(bad)
        os.mkfifo(bad)
        for path in (f"{self.top}/absent", self.top, bad, "/dev/zero"):
            self.check_refused(path, "")

    def check_refused(self, baseline, words):
        reply = self.audit("--baseline", baseline, "--sarif", f"{self.top}/refused.sarif", status=COULD_NOT)
        self.assertEqual((reply.out, reply.err.count("\n")), ("", 1), str(reply))
        self.assertIn(words, reply.err)
        self.assertFalse(os.path.exists(f"{self.top}/refused.sarif"))

    def test_a_baseline_of_many_lines(self):
        """Known findings are recognized among a hundred thousand unrelated lines."""
        known = f"{self.top}/known"
        write(known, "".join('{"fingerprint": "%032x"}\n' % number for number in range(100000)) + self.audit().out)
        self.assertEqual(self.audit("--baseline", known, status=DONE).objects, [])

    def test_usage(self):
        for words in (["--fail-on", "fatal"], ["--since", "yesteryear"], ["--since", "2020..never"], ["--since", ""]):
            self.assertRegex(self.audit(*words, status=USAGE).err, r"\Aentrydb: .*--help'\n\Z")
        self.assertIn("did you mean 'audit'", self.run_program("audti", status=USAGE).err)

    def test_facts(self):
        facts = f"{self.top}/facts.db"
        self.audit("--facts", facts)
        with sqlite3.connect(facts) as connection:
            self.assertEqual(connection.execute('SELECT count(*) FROM finding').fetchone(), (10,))
            self.assertEqual(connection.execute('SELECT evidence FROM "command-hijack"').fetchall(),
                             [("cloud_tools:main",)])
            for name, in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'view'").fetchall():
                connection.execute(f'SELECT count(*) FROM "{name}"')
        connection.close()
        self.audit("--facts", f"{self.top}/no/such/place", status=COULD_NOT)

    @needs_root
    def test_a_full_disk(self):
        """The old file stays, no other remains, and the error is reported; likewise for standard output."""
        disk = self.mount("size=4k")
        write(f"{disk}/results", "of before\n")
        for option in ("--sarif", "--facts"):
            reply = self.audit(option, f"{disk}/results", status=COULD_NOT)
            self.assertRegex(reply.err, r"\Aentrydb: cannot write [^\n]*: No space left on device\n\Z")
            self.assertEqual(support.read(f"{disk}/results"), "of before\n")
            self.assertEqual(os.listdir(disk), ["results"])
        for words in (["--sarif", "-"], []):
            with open("/dev/full", "wb") as full:
                reply = self.audit(*words, status=COULD_NOT, stdout=full)
            self.assertRegex(reply.err.splitlines()[-1], r"No space left on device\Z")

    def test_output_file_is_a_link(self):
        target, link = f"{self.top}/precious", f"{self.top}/out.sarif"
        write(target, "precious")
        os.symlink(target, link)
        self.audit("--sarif", link)
        self.assertEqual(support.read(target), "precious")
        self.assertTrue(stat.S_ISREG(os.lstat(link).st_mode))


class Page(HTMLParser):
    """The elements by name: (attributes, text) of each."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.inside = {}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.inside = [dict(attrs), ""]
        self.elements.setdefault(tag, []).append(self.inside)

    def handle_data(self, data):
        if self.inside:
            self.inside[1] += data


class Html(Site):
    def page(self, *words, status=None):
        reply = self.run_program("audit", "--html", f"{self.top}/page.html", *words, self.prefix, status=status)
        with open(f"{self.top}/page.html", encoding="utf-8") as stream:
            return Page(stream.read()), reply

    def test_the_same_findings(self):
        self.install("alpha", "[console_scripts]\npyhton = alpha:y\n[pytest11]\na = alpha:y\n")
        page, reply = self.page("--json")
        (_, data), (_, script) = page.elements["script"]
        shown = json.loads(data)
        self.assertEqual([{key: each[key] for key in KEYS if key != "fingerprint"} for each in map(json.loads, reply.lines)],
                         [{key: each[key] for key in KEYS if key != "fingerprint"} for each in shown["findings"]])
        self.assertLessEqual({each["rule"] for each in shown["findings"]}, set(shown["rules"]))
        self.assertNotIn("innerHTML", script)
        self.assertEqual([attributes for each in page.elements.values() for attributes, _ in each
                          if {"src", "href"} & set(attributes)], [])

    def test_names_with_markup(self):
        name = "</script><script>alert(1)</script><!--"
        self.install("alpha", f"[console_scripts]\n{name} = alpha:y\n[g]\n@ = beta\n")
        page, _ = self.page()
        self.assertEqual(len(page.elements["script"]), 2)
        self.assertIn(name, {each["name"] for each in json.loads(page.elements["script"][0][1])["findings"]})


class Sarif(Site):
    """SARIF logs are valid by OASIS's schema, if available, and meet the requirements of GitHub's code scanning."""

    @classmethod
    def setUpClass(cls):
        cls.complaints = package_cache.sarif_validator()

    def sarif(self, *options):
        path = f"{self.top}/out.sarif"
        self.audit("--sarif", path, *options)
        with open(path, encoding="utf-8") as file:
            log = json.load(file)
        if Sarif.complaints:
            self.assertEqual(Sarif.complaints(log), [])
        return log

    def test_the_schema_of_oasis(self):
        """A log with every kind of content is valid; a falsified one is not."""
        if not Sarif.complaints:
            self.skipTest("pip cannot get the schema (package_cache.py)")
        self.assertEqual(self.sarif()["runs"][0]["results"], [])
        self.install("evil", f"[console_scripts]\naws = evil:main\n-x/y = evil:main\n\x1b = evil:x\n[g\u202e]\nä = no:x\n"
                             "[pytest11]\nspy = evil:p\n", installer=None)
        write(f"{self.site}/odd name%.pth", "import \udcff\x00".encode("utf-8", "surrogateescape"))
        os.makedirs(f"{self.site}/\udcfe-1.0.dist-info")
        self.update()
        known = f"{self.top}/known"
        write(known, self.audit().out.encode("utf-8", "surrogateescape"))
        self.install("worse", "[console_scripts]\ngit = worse:main\n")
        self.update()
        log = self.sarif("--since", "1 hour", "--baseline", known)
        results = log["runs"][0]["results"]
        self.assertGreater(len({result["ruleId"] for result in results}), 8)
        self.assertEqual({result["baselineState"] for result in results}, {"new", "unchanged"})
        for spoil in (lambda: results[0].update(level="fatal"), lambda: results[0].update(surplus=1),
                      lambda: results[0].pop("message"), lambda: log.update(version="2.0.0")):
            before = json.dumps(log)
            spoil()
            self.assertNotEqual(Sarif.complaints(log), [])
            log = json.loads(before)
            results = log["runs"][0]["results"]

    def test_structure(self):
        self.install("evil", "[console_scripts]\naws = evil:main\n-x/y = evil:main\n[g\x9b]\nä = evil:main\n")
        write(f"{self.site}/odd name%.pth", "import \udcff".encode("utf-8", "surrogateescape"))
        log = self.sarif()
        self.assertEqual(log["version"], "2.1.0")
        self.assertIn("2.1.0", log["$schema"])
        [run] = log["runs"]
        driver = run["tool"]["driver"]
        self.assertEqual(driver["name"], "entrydb audit")
        rules = [rule["id"] for rule in driver["rules"]]
        self.assertEqual(len(rules), len(set(rules)))
        for rule in driver["rules"]:
            self.assertTrue(rule["shortDescription"]["text"] and rule["help"]["text"])
            self.assertIn(rule["defaultConfiguration"]["level"], ("error", "warning", "note"))
        for base in run["originalUriBaseIds"].values():
            self.assertRegex(base["uri"], r"\Afile:///[!-~]*/\Z")
        self.assertGreater(len(run["results"]), 3)
        for result in run["results"]:
            self.assertEqual(rules[result["ruleIndex"]], result["ruleId"])
            self.assertTrue(result["message"]["text"])
            self.assertNotIn("baselineState", result)
            self.assertRegex(result["partialFingerprints"]["entrydb/v1"], r"\A[0-9a-f]{32}\Z")
            [location] = result["locations"]
            artifact = location["physicalLocation"]["artifactLocation"]
            self.assertIn(artifact["uriBaseId"], run["originalUriBaseIds"])
            self.assertRegex(artifact["uri"], r"\A([A-Za-z0-9._~/-]|%[0-9A-F]{2})+\Z")
            self.assertFalse(artifact["uri"].startswith("/"))
        self.assertIn("lib/python3.11/site-packages/odd%20name%25.pth",
                      [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]])

    # The properties of the objects that are written, and of no others; those marked "!" are required
    # by the schema.
    SHAPES = {
        "log": {"$schema": None, "version!": None, "runs!": ["run"]},
        "run": {"tool!": "tool", "originalUriBaseIds": {"*": "artifactLocation"}, "results": ["result"]},
        "tool": {"driver!": "driver"},
        "driver": {"name!": None, "version": None, "rules": ["rule"]},
        "rule": {"id!": None, "shortDescription": "text", "help": "text", "defaultConfiguration": {"level": None}},
        "text": {"text!": None},
        "artifactLocation": {"uri": None, "uriBaseId": None},
        "result": {"ruleId": None, "ruleIndex": None, "level": None, "message!": "text", "locations": ["location"],
                   "partialFingerprints": {"*": None}, "baselineState": None, "properties": {"*": None}},
        "location": {"physicalLocation": {"artifactLocation": "artifactLocation"},
                     "logicalLocations": [{"name": None, "fullyQualifiedName": None}]},
    }

    def check_shape(self, value, shape):
        if isinstance(shape, list):
            for item in value:
                self.check_shape(item, shape[0])
        elif isinstance(shape, str):
            self.check_shape(value, self.SHAPES[shape])
        elif shape is None:
            self.assertNotIsInstance(value, (dict, list))
        else:
            known = {key.rstrip("!"): inner for key, inner in shape.items()}
            for key in shape:
                if key.endswith("!"):
                    self.assertIn(key[:-1], value)
            for key, inner in value.items():
                self.assertTrue(key in known or "*" in known, key)
                self.check_shape(inner, known.get(key, known.get("*")))

    def test_no_other_properties(self):
        self.install("evil", "[console_scripts]\naws = evil:main\n[pytest11]\nx = evil:p\n")
        write(f"{self.site}/x.pth", "import x\n")
        known = f"{self.top}/known"
        write(known, self.audit().out)
        self.check_shape(self.sarif("--baseline", known), "log")

    def test_baseline_state(self):
        self.install("evil", "[console_scripts]\naws = evil:main\n")
        known = f"{self.top}/known"
        write(known, self.audit().out)
        self.install("worse", "[console_scripts]\ngit = worse:main\n")
        states = {result["properties"]["distribution"]: result["baselineState"]
                  for result in self.sarif("--baseline", known)["runs"][0]["results"]}
        self.assertEqual(states, {"evil": "unchanged", "worse": "new"})

    def test_on_standard_output(self):
        self.assertEqual(json.loads(self.audit("--sarif", "-").out)["runs"][0]["results"], [])


class Lists(Site):
    def configure(self, text):
        path = f"{self.home}/.config/entrydb/audit.conf"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, text)
        return path

    def test_groups_and_commands_added_by_the_site(self):
        self.install("ours", "[ours.hooks.deploy]\nx = ours:y\n[console_scripts]\ndeploy = ours:main\n")
        self.install("theirs", "[console_scripts]\ndeploy2 = theirs:main\n")
        self.assertEqual(self.rules(), [])
        self.configure("# ours\ngroup ours.hooks.* when we deploy\ncommand deploy Our-S ours\n\ncommand deploy2\n")
        self.assertEqual(self.found(), [("command-hijack", "theirs"), ("runs-unasked", "ours")])
        self.assertIn("when we deploy", self.audit().objects[1]["message"])

    def test_provider_is_a_permission(self):
        self.install("ours", "[console_scripts]\naws = ours:main\n")
        path = self.configure("command aws ours\n")
        self.assertEqual(self.rules(), [])
        for place, mode in ((path, 0o644), (os.path.dirname(path), 0o755)):
            os.chmod(place, mode | 0o022)
            self.assertIn(f"others may write to {place}", self.audit(status=COULD_NOT).err)
            os.chmod(place, mode)

    def test_invalid_lists(self):
        for text in ("grupo x\n", "group\n", "command\n", "\0\n"):
            self.configure("\n" + text)
            reply = self.audit(status=COULD_NOT)
            self.assertIn("line 2: expected", reply.err)


class Hostile(Site):
    def test_text_is_escaped(self):
        self.install("evil", "[console_scripts]\n\x1b[2J\x07 = evil:main\n")
        write(f"{self.site}/\x1b]0;x.pth", "import x; '\x1b[31m'\n")
        for words in ([], ["--json"]):
            out = self.run_program("audit", *words, self.prefix, status=NOT_FOUND).out
            self.assertNotRegex(out, r"[\x00-\x08\x0b-\x1f\x7f]")

    def test_records(self):
        info = self.install("evil", "[g]\nx = evil:y\n")
        for record in (b"", b'"', b"\0" * 100, b"evil.py,sha256=,\n", b"evil.py,sha256=!!!,1\n", b"," * 1000 + b"\n",
                       b"/dev/zero,sha256=AAAA,1\nevil.py,md5=00,\n", b"../" * 500 + b"etc/shadow,sha256=x,1\n",
                       b"\xff\xfe.py,sha256=x,1\n"):
            write(f"{info}/RECORD", record)
            self.audit()

    def test_endless_files(self):
        info = self.install("evil", "[g]\nx = evil:y\n")
        for name in ("INSTALLER", "direct_url.json", "RECORD"):
            if os.path.exists(f"{info}/{name}"):
                os.remove(f"{info}/{name}")
            os.mkfifo(f"{info}/{name}")
        self.assertEqual(self.rules(), ["installer-missing", "record-missing"])

    def test_direct_urls(self):
        info = self.install("evil")
        for text in ("[]", "5", '"x"', '{"url": {"a": 1}}', '{"url": 5, "dir_info": []}', "\xff", "{" * 5000):
            write(f"{info}/direct_url.json", text.encode("latin-1"))
            self.audit(status=DONE)

    def test_one_large_file_in_many_records(self):
        """A file is hashed a few times at most, even if many RECORDs list it with different hashes."""
        self.install("large", "[g]\nx = large:y\n")
        with open(f"{self.site}/large.py", "wb") as file:
            file.truncate(64 << 20)
        for number in range(60):
            info = self.install(f"claims{number}", modules=[])
            write(f"{info}/RECORD", f"large.py,{digest(str(number).encode())},1\n")
        self.assertEqual([one for one in self.found() if one[0] == "file-changed"][4:], [])

    def test_invalid_database(self):
        os.makedirs(os.path.dirname(self.database))
        write(self.database, "nonsense")
        self.install("evil", "[console_scripts]\naws = evil:main\n")
        self.assertEqual(self.found(status=NOT_FOUND), [("command-hijack", "evil")])

    def test_edit_missed_by_the_database(self):
        """The audit examines the disk instead of the rows in the database."""
        info = self.install("alpha", "[g]\nx = alpha:y\n")
        self.index()
        with open(f"{info}/entry_points.txt", "a", encoding="utf-8") as text:
            text.write("[console_scripts]\naws = alpha:main\n")
        self.assertEqual(self.rules(), ["command-hijack", "file-changed"])


if __name__ == "__main__":
    support.main()
