"""What hostile authors of packages have thought of, beyond the examples of the rules, and what honest ones do that looks like it."""

import importlib.util
import json
import os
import py_compile
import shutil
import subprocess
import sys
import threading
import zipfile

import support
from audit_site import Site
from support import COULD_NOT, DONE, NOT_FOUND, SITE, STRANGER, add_distribution, metadata, needs_root, write


class Attacks(Site):
    def wipe(self):
        shutil.rmtree(self.prefix)
        for path in (self.site, self.bin):
            os.makedirs(path)

    def told(self, rule, *options, **how):
        """The messages of that rule."""
        return [one["message"] for one in self.audit(*options, **how).objects if one["rule"] == rule]

    def python(self, text):
        """What a real Python does with the site directory."""
        code = f"import site; site.addsitedir({self.site!r}); {text}"
        return subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False,
                              env={"PATH": "/usr/bin:/bin"}).stdout


class Commands(Attacks):
    def test_names(self):
        """Of commands that are drawn like, or typed for, another."""
        for rule, names in (
                ("name-control", ("gi\u00a0t", "g\u2062it", "gi\u2009t", "git\u206f", "\ufff9git", "gi\u3000t")),
                ("name-confusable", ("\U0001d420\U0001d422\U0001d42d", "\uff47\uff49\uff54", "\u0262\u026a\u1d1b", "\u24d6\u24d8\u24e3",
                                     "\u0261it", "\u217cs")),
                ("command-lookalike", ("g1t", "1s", "n0de", "git.", "pip-", "pip_", "py-thon", "AWS", "c0nda"))):
            for name in names:
                self.install("evil", f"[console_scripts]\n{name} = evil:main\n")
                self.assertEqual(self.rules(), [rule], ascii(name))
                self.wipe()
        self.install("fine", "[console_scripts]\nf1 = fine:main\nm4 = fine:main\nl0g = fine:main\nx-y = fine:main\n"
                     "[demo]\nna\u00efve = fine:main\n\u00e9t\u00e9 = fine:main\n")
        self.assertEqual(self.rules(), [])

    def test_a_command_of_a_window(self):
        self.install("evil", "[gui_scripts]\ngit = evil:main\n")
        self.assertEqual(self.rules(), ["command-hijack"])

    def test_undeclared_script(self):
        self.install("ruff", modules=[], files={"../../../bin/ruff": "#!/bin/sh\n", "../../../bin/own": "#!/bin/sh\n"})
        self.assertEqual(self.rules(), [])
        for name, rule in (("aws", "command-hijack"), ("gti", "command-lookalike"), ("python", "command-hijack"),
                           ("activate", "command-hijack"), ("ruff", "command-hijack")):
            self.install("evil", files={f"../../../bin/{name}": "#!/bin/sh\n"})
            self.assertEqual(self.found(), [(rule, "evil")], name)

    def test_a_script_that_leads_out(self):
        """Today it is the same."""
        self.install("evil", "[console_scripts]\ncmd = evil:main\n")
        shutil.move(f"{self.bin}/cmd", f"{self.top}/cmd")
        os.symlink(f"{self.top}/cmd", f"{self.bin}/cmd")
        self.assertEqual(self.rules(), ["module-outside"])

    def test_who_says_that_he_is_conda(self):
        """Only scripts that differ from their RECORD are reported."""
        self.install("evil", "[console_scripts]\ncmd = evil:main\n", installer="conda",
                     files={"../../../etc/conda/activate.d/cmd.sh": ""})
        write(f"{self.bin}/cmd", "#!/bin/sh\nevil\n")
        self.assertEqual(self.rules(), ["environment-replaced", "file-changed"])
        os.mkdir(f"{self.prefix}/conda-meta")
        self.assertEqual(self.rules(), [])


    def test_scripts_in_a_directory_of_its_own(self):
        """`pip install --target`: RECORD leads to where they would be elsewhere."""
        target = f"{self.top}/target"
        os.makedirs(f"{target}/inner")
        self.site, self.prefix, self.bin = f"{target}/inner/more", target, f"{target}/inner/more/bin"
        self.install("alpha", "[console_scripts]\ncmd = alpha:main\n")
        info = f"{self.site}/alpha-1.0.dist-info"
        text = support.read(f"{info}/RECORD").replace("../../../bin/", "../../bin/")
        write(f"{info}/RECORD", text)
        self.prefix = self.site
        self.assertEqual(self.rules(), [])
        os.makedirs(self.bin)
        shutil.copy(f"{self.top}/bin/cmd", self.bin)
        self.assertEqual(self.rules(), [])
        write(f"{self.bin}/cmd", "#!/bin/sh\n")
        self.assertEqual(self.told("file-changed"), ["bin/cmd: it is not the file that RECORD describes"])


class Modules(Attacks):
    def test_bytecode_without_a_source(self):
        """What import takes: beside a source not, in place of one."""
        self.install("evil", "[g]\nx = dropped:y\n[h]\nx = evil:y\n")
        source = f"{self.site}/dropped.py"
        write(source, "print('dropped runs')\n")
        py_compile.compile(source, cfile=f"{source}c", doraise=True)
        os.remove(source)
        self.assertIn("dropped runs", self.python("import dropped"))
        self.assertEqual(self.told("module-unlisted"), ["dropped is dropped.pyc, which no RECORD lists"])
        self.assertEqual(self.rules(), ["module-unlisted"])
        shutil.move(f"{source}c", f"{self.site}/evil.pyc")
        self.assertEqual(self.rules(), ["target-missing"])

    def test_an_honest_distribution_without_sources(self):
        with open(py_compile.compile(self.source("x = 1\n"), cfile=f"{self.top}/x.pyc", doraise=True), "rb") as file:
            code = file.read().decode("latin-1")
        info = self.install("closed", "[g]\nx = closed:x\n", modules=[])
        write(f"{self.site}/closed.pyc", code.encode("latin-1"))
        with open(f"{info}/RECORD", "a", encoding="utf-8") as record:
            record.write(f"closed.pyc,{support.digest(code.encode('latin-1'))},1\n")
        self.assertEqual(self.rules(), [])
        write(f"{self.site}/closed.pyc", b"other")
        self.assertEqual(self.rules(), ["file-changed"])

    def source(self, text):
        write(f"{self.top}/source.py", text)
        return f"{self.top}/source.py"

    def test_who_says_that_he_is_editable(self):
        info = self.install("evil", "[g]\nx = dropped:y\n",
                            files={"evil-1.0.dist-info/direct_url.json": '{"url": "file:///x", "dir_info": {"editable": true}}'})
        self.assertEqual(self.rules(), ["installed-from-url"])
        write(f"{self.site}/dropped.py", "")
        self.assertEqual(self.rules(), ["installed-from-url", "module-unlisted"])
        self.assertTrue(os.path.exists(info))

    def test_metadata_of_another_age(self):
        """Metadata of eggs, which lists no files."""
        info = f"{self.site}/evil.egg-info"
        os.mkdir(info)
        write(f"{info}/PKG-INFO", metadata("evil", "1.0"))
        write(f"{self.site}/evil.py", "")
        self.assertEqual(self.rules(), [])
        write(f"{info}/entry_points.txt", "[g]\nx = evil:y\n")
        self.assertEqual(self.rules(), ["record-missing"])

    def test_a_namespace_by_bytecode(self):
        self.install("one", "[g]\nx = space.one:y\n", modules=["space/one"])
        write(f"{self.site}/space/__init__.pyc", "")
        self.assertEqual(self.rules(), ["module-unlisted"])

    def test_an_initializer_by_name(self):
        """Python imports the file once more."""
        self.install("fine", "[g]\nx = fine.__init__:y\n", modules=["fine/__init__"])
        self.assertEqual(self.rules(), [])
        write(f"{self.site}/fine/__init__.py", "evil\n")
        self.assertEqual(self.rules(), ["file-changed"])

    def test_a_decoy_under_the_name_of_a_module_of_python(self):
        """Import takes Python's own, whatever lies in the site directory."""
        self.install("evil", "[g]\nx = subprocess:call\n", modules=["subprocess"])
        self.assertEqual(self.rules(), ["module-outside"])
        self.wipe()
        self.install("legacy_cgi", "[g]\nx = cgi:parse\n", modules=["cgi"])
        self.assertEqual(self.rules(), [])


class Bytecode(Attacks):
    def test_anything_at_all(self):
        """What is in a header is read, and nothing else comes of it than what Python would make of it."""
        self.install("alpha", "[g]\nx = alpha:y\n", files={"alpha.py": "x = 1\n"})
        self.compile("alpha", "print('forged')\n", py_compile.PycInvalidationMode.UNCHECKED_HASH)
        file = f"{self.site}/{self.bytecode('alpha')}"
        self.assertEqual((self.rules(), self.python("import alpha")), (["bytecode-unchecked"], "forged\n"))
        for level in ("opt-1", "opt-2"):
            shutil.move(file, file := file.replace(".opt-1", "").replace(".pyc", f".{level}.pyc"))
            self.assertEqual(self.rules(), ["bytecode-unchecked"])
        for header in (b"", b"\0" * 16, b"\xff" * 16, b"\xa7\r\r\n\1\0\0\0"):
            write(file, header)
            self.assertEqual((self.rules(), self.python("import alpha")), ([], ""))

    def test_of_a_package_above_and_of_start_up_code(self):
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        self.install("alpha", "[g]\nx = alpha.sub:y\n", modules=["alpha/__init__", "alpha/sub", "alpha/other"])
        self.compile("alpha.other", mode=unchecked)
        self.assertEqual(self.rules(), [])
        self.compile("alpha.__init__", mode=unchecked)
        self.assertEqual(self.rules(), ["bytecode-unchecked"])
        self.install("start", files={"start.pth": "import hook; hook.run()\n", "hook.py": "def run(): pass\n"})
        self.compile("hook", mode=unchecked)
        self.assertEqual(len(self.told("bytecode-unchecked")), 2)


class Start(Attacks):
    def test_directories_added_by_pth_files(self):
        """Each is a place from which Python, started in earnest, takes it."""
        more = f"{self.prefix}/more"
        write(f"{self.site}/a.pth", "../../../more\n")
        os.mkdir(more)
        self.assertEqual(self.rules(), [])
        # Debian's Python has the first one itself, in front of what is added.
        name = "usercustomize" if importlib.util.find_spec("sitecustomize") else "sitecustomize"
        write(f"{more}/{name}.py", "print('custom')\n")
        self.assertEqual(self.python(f"import {name}"), "custom\n")
        self.assertEqual(self.told("startup-unlisted"), [f"../../../more/{name}.py runs at each start of Python"])
        os.remove(f"{more}/{name}.py")
        with zipfile.ZipFile(f"{self.site}/x.egg", "w") as archive:
            archive.writestr("usercustomize.py", "print('zipped')\n")
        write(f"{self.site}/a.pth", "./x.egg\n")
        self.assertEqual(self.python("import usercustomize"), "zipped\n")
        self.assertEqual(self.told("startup-unlisted"), ["x.egg/usercustomize.py runs at each start of Python"])

    def test_a_distribution_that_lists_it(self):
        self.install("alpha", files={"a.pth": "inner\n", "inner/sitecustomize.py": "", "inner/usercustomize/__init__.py": ""})
        self.assertEqual(self.found(), [("startup-code", "alpha")] * 2)

    def test_places_that_others_can_make(self):
        fine, open_ = f"{self.top}/fine", f"{self.top}/open"
        for path in (fine, open_):
            os.mkdir(path)
        os.chmod(open_, 0o777)
        for path, rules in ((fine, []), (f"{fine}/absent", []), ("/no/such/place", []), (open_, ["writable-by-others"]),
                            (f"{open_}/absent", ["writable-by-others"])):
            write(f"{self.site}/a.pth", f"{path}\n")
            self.assertEqual(self.rules(), rules, path)

    @needs_root
    def test_private_places_that_others_name(self):
        """Root lists only directories that the owners of the .pth file and its directories can list."""
        outer = f"{self.top}/outer"
        os.makedirs(f"{outer}/inner/x-1.0.dist-info")
        write(f"{self.site}/a.pth", f"{outer}/inner\n")
        for owner, top, inner, rules in ((0, 0o700, 0o700, ["path-added"]), (STRANGER, 0o755, 0o755, ["path-added"]),
                                         (STRANGER, 0o755, 0o700, []), (STRANGER, 0o700, 0o755, [])):
            os.chown(self.site, owner, owner)
            os.chmod(outer, top)
            os.chmod(f"{outer}/inner", inner)
            self.assertEqual(self.rules(), rules, (owner, top, inner))

    def test_the_standard_library_of_an_installation(self):
        library = f"{self.prefix}/lib/python3.11"
        for path in (f"{library}/sitecustomize.py", f"{library}/lib-dynload/usercustomize.abi3.so", f"{self.prefix}/lib/python311.zip"):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write(f"{library}/os.py", "")
            self.assertEqual(self.rules(), [])
            write(path, "")
            self.assertEqual([os.path.normpath(one["file"]) for one in self.audit().objects], [path])
            os.remove(f"{library}/os.py")
            self.assertEqual(self.rules(), [] if path.endswith(".zip") else ["startup-unlisted"])
            os.remove(path)

    def test_code_whose_module_has_changed(self):
        self.install("alpha", files={"alpha.pth": "import sys; sys.x = __import__('alpha_hook')\n", "alpha_hook.py": "honest\n"})
        self.assertEqual(self.rules(), ["startup-code"])
        write(f"{self.site}/alpha_hook.py", "evil\n")
        self.assertEqual(self.rules(), ["file-changed", "startup-code"])

    def test_code_without_a_hash(self):
        self.install("alpha", files={"alpha.pth": "import alpha\n"}, hashes=False)
        self.assertEqual(self.rules(), ["hash-missing", "startup-code"])

    def test_paths_without_end(self):
        """Many, and the same one by many names."""
        for lines in ("".join(f"/usr/lib/{number}\n" for number in range(40000)), "".join(f"/usr/bin/{'../bin/' * (n % 9)}\n" for n in range(20000)),
                      "".join("/usr/bin\n" for _ in range(90000)), "\n" * 900000, "/" * 900000):
            write(f"{self.site}/a.pth", lines)
            before = support.processor_seconds()
            self.audit()
            self.assertLess(support.processor_seconds() - before, 20)


class Files(Attacks):
    """Anything may stand in the place of a file: none is waited for, and each is told or harmless."""

    def variants(self, path):
        """What may stand there, one after the other; then the file as it was."""
        honest = None
        if os.path.exists(path):
            honest = support.read_bytes(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        for kind, make in (("fifo", lambda: os.mkfifo(path)), ("directory", lambda: os.mkdir(path)), ("loop", lambda: os.symlink(path, path)),
                           ("endless", lambda: os.symlink("/dev/zero", path)), ("terminal", lambda: os.symlink("/dev/tty", path)),
                           ("nowhere", lambda: os.symlink("/no/such/file", path)), ("hole", lambda: self.hole(path))):
            self.remove(path)
            make()
            yield kind
        self.remove(path)
        if honest is not None:
            write(path, honest)

    def remove(self, path):
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        elif os.path.lexists(path):
            os.remove(path)

    def hole(self, path):
        with open(path, "wb") as file:
            file.truncate(1 << 40)

    def test_in_place_of_each_file(self):
        info = self.install("evil", "[console_scripts]\ncmd = evil:main\n[g]\nx = evil:y\n", files={"own.pth": "import evil\n"})
        self.compile("evil")
        self.assertEqual(self.rules(), ["startup-code"])
        for path, rules in ((f"{info}/entry_points.txt", {"file-changed", "unread", "distribution-broken"}), (f"{info}/RECORD", {"record-missing", "startup-unlisted"}),
                            (f"{info}/INSTALLER", {"installer-missing"}), (f"{self.site}/evil.py", {"file-changed", "unread"}),
                            (f"{self.bin}/cmd", {"file-changed", "unread"}), (f"{self.site}/own.pth", {"file-changed", "unread"}),
                            (f"{self.site}/sitecustomize.py", {"startup-unlisted"})):
            for kind in self.variants(path):
                if (kind, os.path.basename(path)) in (("hole", "INSTALLER"), ("directory", "own.pth"), ("nowhere", "own.pth"), ("loop", "own.pth")):
                    continue  # the name of an installer as good as any; and Python finds no code there, either
                found = set(self.rules())
                self.assertTrue(found & rules, f"{path}: {kind}: {found}")
            self.remove(f"{self.site}/sitecustomize.py")
            self.assertEqual(self.rules(), ["startup-code"])
        for path in (f"{info}/METADATA", f"{info}/direct_url.json", f"{self.site}/{self.bytecode('evil')}", f"{self.prefix}/pyvenv.cfg",
                     f"{self.site}/__pycache__/other.cpython-311.pyc", f"{self.site}/more.pth", f"{self.system}/cmd"):
            for _ in self.variants(path):
                self.audit()

    @needs_root
    def test_unreadable_places(self):
        """By a user: it is said, and nothing is made up."""
        info = self.install("evil", "[console_scripts]\ncmd = evil:main\n[g]\nx = evil:y\n")
        for path in (f"{info}/RECORD", f"{self.site}/evil.py", f"{self.bin}/cmd", f"{info}/entry_points.txt"):
            mode = os.stat(path).st_mode
            os.chmod(path, 0o600)
            self.assertEqual(self.rules(user=STRANGER), ["unread"], path)
            os.chmod(path, mode)
        for path, mode in ((self.site, 0o700), (self.site, 0o711), (info, 0o700)):
            os.chmod(path, mode)
            found = self.rules(user=STRANGER, status=NOT_FOUND)
            self.assertEqual(found, ["unread"], path)
            os.chmod(path, 0o755)

    def test_files_that_vanish_meanwhile(self):
        for number in range(30):
            self.install(f"d{number}", f"[console_scripts]\nc{number} = d{number}:main\n", files={f"d{number}.pth": f"import d{number}\n"})
        stop = threading.Event()

        def churn():
            while not stop.is_set():
                for number in range(30):
                    shutil.rmtree(f"{self.site}/d{number}-1.0.dist-info", ignore_errors=True)
                    for path in (f"{self.site}/d{number}.py", f"{self.site}/d{number}.pth", f"{self.bin}/c{number}"):
                        if os.path.exists(path):
                            os.remove(path)
                    self.install(f"d{number}", f"[console_scripts]\nc{number} = d{number}:main\n", files={f"d{number}.pth": f"import d{number}\n"})
        thread = threading.Thread(target=churn)
        thread.start()
        try:
            for _ in range(15):
                reply = self.audit()
                self.assertIn(reply.status, (DONE, NOT_FOUND), str(reply))
        finally:
            stop.set()
            thread.join()
        self.assertEqual(self.rules(), ["startup-code"])

    def test_a_hard_link(self):
        """As uv makes them: no attack by itself; written to from elsewhere, it is seen."""
        self.install("alpha", "[g]\nx = alpha:y\n")
        os.link(f"{self.site}/alpha.py", f"{self.top}/alpha.py")
        self.assertEqual(self.rules(), [])
        write(f"{self.top}/alpha.py", "evil\n")
        self.assertEqual(self.rules(), ["file-changed"])


class Metadata(Attacks):
    def test_urls(self):
        info = self.install("evil")
        write(f"{info}/direct_url.json", json.dumps({"url": "https://evil/\x1b]0;x\x07\x1b[2J\u202e\n"}))
        for words in ([], ["--json"]):
            out = self.run_program("audit", *words, self.prefix, status=DONE).out
            self.assertNotRegex(out, r"[\x00-\x08\x0b-\x1f\x7f\u202e]" if not words else r"[\x00-\x08\x0b-\x1f\x7f]")
            self.assertEqual(out.count("\n"), 1)

    def test_records(self):
        """Unusual paths, and unusually many of them."""
        info = self.install("evil", "[g]\nx = evil:y\n")
        self.install("victim", "[g]\nx = victim:y\n")
        good = support.digest(b"# evil\n")
        for record in (f"./evil.py,{good},7\n", f"a/../evil.py,{good},7\n", f"{self.site}/evil.py,{good},7\n", f"evil.py/,{good},7\n",
                       f"EVIL.py,{good},7\n", f"\"ev\"\"il.py\",{good},7\n", f"evil.py\0,{good},7\n", "../" * 4000 + f"evil.py,{good},7\n"):
            write(f"{info}/RECORD", record)
            self.assertIn("module-unlisted", self.rules(), record[:50])
        write(f"{info}/RECORD", f"evil.py,sha256={'A' * 43},7\nevil.py,{good},7\n")
        self.assertEqual(self.rules(), ["file-changed"])
        write(f"{info}/RECORD", "evil.py,sha512=AAAA,7\n")
        self.assertEqual(self.rules(), ["hash-missing"])
        write(f"{info}/RECORD", f"evil.py,{good},7\n" + f"victim.py,{good},7\n")
        self.assertEqual(self.found(), [("file-changed", "evil")])
        write(f"{info}/RECORD", f"evil.py,{good},7\n" + "".join(f"../../../bin/{'x' * 50}{n},,\n" for n in range(50000)))
        self.assertEqual(self.rules(), [])

    def test_names_that_are_not_text(self):
        name = os.fsdecode(b"ev\xff\xfeil")
        os.rename(add_distribution(self.site, "evil", text="[console_scripts]\ngit = x:y\n"), f"{self.site}/{name}-1.0.dist-info")
        write(f"{self.site}/{name}.pth", "import x\n")
        out, sarif = self.audit(status=NOT_FOUND).out, f"{self.top}/out.sarif"
        out.encode()  # no byte that is no UTF-8
        self.audit("--sarif", sarif)
        with open(sarif, encoding="utf-8") as file:
            results = json.load(file)["runs"][0]["results"]
        self.assertIn(f"{SITE}/ev%FF%FEil-1.0.dist-info", str(results))
        self.assertIn("name-control", self.rules())
        self.run_program("audit", self.prefix, status=NOT_FOUND).out.encode()

    def test_commands_without_end(self):
        """Work in proportion to what there is."""
        info = self.install("evil", "[g]\nx = evil:y\n")
        took = []
        for count in (50000, 200000):
            with open(f"{info}/RECORD", "a", encoding="utf-8") as record:
                record.writelines(f"../../../bin/{number:07d},,\n" for number in range(count))
            before = support.processor_seconds()
            self.assertEqual(self.rules(), [])
            took.append(support.processor_seconds() - before)
        self.assertLess(took[1], 8 * max(took[0], 0.1))

    def test_scripts_of_one_line(self):
        """Each word of it may be a module."""
        text = "[console_scripts]\n" + "".join(f"c{n} = a:b\n" for n in range(50))
        for name in ("evil", "twin"):
            self.install(name, text)
        for number in range(50):
            write(f"{self.prefix}/bin/c{number}", "#!/bin/sh\n" + " a" * 32000)
            os.chmod(f"{self.prefix}/bin/c{number}", 0o755)
        before = support.processor_seconds()
        self.assertIn("command-conflict", self.rules())
        self.assertLess(support.processor_seconds() - before, 10)

    def test_oversized_input(self):
        for text in ("[console_scripts]\n" + "".join(f"c{n} = evil:main\n" for n in range(4000)),
                     "[g]\n" + "".join(f"c{n} = evil.m{n}:main\n" for n in range(4000)), "[g]\nx = " + ".".join("a" * 20000) + ":y\n",
                     f"[{'g' * 100000}]\n{'n' * 100000} = evil:main\n", "[g]\nx = " + ".".join("a" * 1000000) + ":y\n",
                     f"[g]\nx = {'a' * 1000000}.{'a' * 1000000}{'b' * 1000000}\n"):
            info = self.install("evil", text)
            self.audit()
        for number in range(1, 65):  # of each length
            write(f"{self.site}/{'p' * number}.pth", "import os\n")
        write(f"{info}/RECORD", f"../../python{'A' * 1000000}.zip,,\n{'a/' * 2000000}x.py,,\n../../python{'A' * 200}.zip,,\n")
        self.assertEqual(self.audit("--sarif", f"{self.top}/out.sarif", "--json", status=NOT_FOUND).out.count("environment-replaced"), 1)


class Results(Attacks):
    def setUp(self):
        super().setUp()
        self.install("evil", "[console_scripts]\naws = evil:main\n")

    @needs_root
    def test_links_of_others(self):
        """In a world-writable directory: no write to a device behind a link, or to another user's FIFO."""
        shared, disk = f"{self.top}/shared", f"{self.top}/disk"
        os.mkdir(shared)
        os.chmod(shared, 0o1777)
        os.mkfifo(disk)
        for number, make in enumerate((lambda path: os.symlink(disk, path), os.mkfifo)):
            path = f"{shared}/{number}.sarif"
            make(path)
            os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
            self.audit("--sarif", path, status=NOT_FOUND)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["version"], "2.1.0")

    def test_devices(self):
        for option in ("--sarif", "--html", "--facts"):
            self.audit(option, "/dev/null", status=NOT_FOUND)
            self.assertTrue(os.path.exists("/dev/null") and not os.path.isfile("/dev/null"))
        out = self.audit("--sarif", "/dev/stdout", status=NOT_FOUND).out
        self.assertIn('"version":"2.1.0"', out)
        for name in ("/dev/fd/1", "/proc/self/fd/1"):  # what was given is written, whatever it is
            with open(f"{self.top}/out", "wb") as out:
                self.audit("--sarif", name, status=NOT_FOUND, stdout=out)
            self.assertIn('"version":"2.1.0"', support.read(f"{self.top}/out"))

    def test_baselines(self):
        for make in (os.mkfifo, os.mkdir, lambda path: os.symlink(path, path), lambda path: os.symlink("/dev/zero", path)):
            path = f"{self.top}/baseline"
            make(path)
            reply = self.audit("--baseline", path, status=COULD_NOT)
            self.assertEqual((reply.out, reply.err.count("\n")), ("", 1))
            os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)


if __name__ == "__main__":
    support.main()
