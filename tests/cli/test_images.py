#!/usr/bin/env python3
"""entrydb add IMAGE, --root IMAGE: images by real tools and by hand, compared with the tree that umoci unpacks.

usage: test_images.py [unittest options]

As root, each test also runs as an ordinary user. Tests that need skopeo or umoci are skipped without them.
"""

import glob
import gzip
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import unittest

import support
from program import Program

SITE = "usr/lib/python3/dist-packages"
VENV = "opt/venv/lib/python3.11/site-packages"
QUESTIONS = (["list"], ["list", "--json"], ["list", "--json", "--path", "/" + VENV], ["groups", "--json"],
             ["groups", "--json", "--path", "/lib/python3/dist-packages"], ["plugins", "--json"],
             ["plugins", "--json", "--path", "/" + VENV], ["why", "--json", "console_scripts", "up"],
             ["why", "--json", "--path", "/" + VENV, "g", "gone"], ["audit", "--json"], ["audit", "--json", "/opt/venv"],
             ["audit", "--sarif", "-"], ["list", "--json", "--path", "/srv/other"], ["list", "--fresh", "exact"])


def distribution(name, version, entry_points, site=SITE, code="def main(): pass\n"):
    """The files of a distribution, by path, with a correct RECORD."""
    info = f"{site}/{name}-{version}.dist-info"
    files = {f"{site}/{name}.py": code, f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
             f"{info}/entry_points.txt": entry_points}
    files[f"{info}/RECORD"] = "".join(f"{path[len(site) + 1:]},,\n" for path in files)
    return files


def member(name, data=None, **facts):
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE if data is None else tarfile.REGTYPE, 0o755 if data is None else 0o644
    for key, value in facts.items():
        setattr(info, key, value)
    data = (data or "").encode()
    info.size = len(data) if info.isreg() else 0
    return info, data


def layer(files, *more):
    """The bytes of a tarball with these files, then the members @more."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in [*(member(*item) for item in files.items()), *more]:
            tar.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return stream.getvalue()


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Layout:
    """An OCI image layout, made by hand."""

    def __init__(self, path):
        self.path, self.manifests = path, []
        os.makedirs(f"{path}/blobs/sha256")
        self.write("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')

    def write(self, name, data):
        with open(f"{self.path}/{name}", "wb") as file:
            file.write(data)

    def blob(self, data, kind="layer.v1.tar"):
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.write("blobs/sha256/" + digest(data)[7:], data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": digest(data), "size": len(data)}

    def add(self, *layers, platform=("linux", "amd64"), pack=lambda data: data, change=lambda manifest: manifest):
        config = self.blob({"os": platform[0], "architecture": platform[1],
                            "rootfs": {"type": "layers", "diff_ids": [digest(data) for data in layers]}}, "config.v1+json")
        kind = "layer.v1.tar+gzip" if pack is gzip.compress else "layer.v1.tar"
        manifest = self.blob(change({"schemaVersion": 2, "config": config,
                                     "layers": [self.blob(pack(data), kind) for data in layers]}),
                             "manifest.v1+json")
        manifest["platform"] = {"os": platform[0], "architecture": platform[1]}
        self.manifests.append(manifest)
        self.write("index.json", json.dumps({"schemaVersion": 2, "manifests": self.manifests}).encode())
        return self.path


class Case(unittest.TestCase):
    """Runs as the current user, or as @user."""

    user = None

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="entrydb-images-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        os.chmod(self.top, 0o755)
        self.work = f"{self.top}/work"
        os.makedirs(f"{self.work}/house")
        os.symlink("house", f"{self.work}/home")  # the trees are found by two paths
        self.program = Program(f"{self.work}/home", self.reachable() if self.user else None)
        self.other = support.as_user(self.user)
        self.keep = f"{self.work}/home/state/entrydb/images"

    def reachable(self):
        program = support.public_program()
        shutil.copy(f"{os.path.dirname(support.PROGRAM)}/entrydb-archive.so", os.path.dirname(program))
        return program

    def run_program(self, *arguments, status=0):
        if self.user and os.geteuid() == 0:
            subprocess.run(["chown", "-R", "--from=0", f"{self.user}:{self.user}", self.work], check=True)
        done = subprocess.run([self.program.executable, *arguments], cwd=self.work, env=self.program.env, **self.other,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, errors="surrogateescape")
        self.stderr = done.stderr
        if status is not None:
            self.assertEqual(done.returncode, status, (arguments, done.stderr))
        return done.stdout

    def tool(self, *words):
        if not shutil.which(words[0]):
            self.skipTest(f"{words[0]} is not installed")
        done = subprocess.run(words, cwd=self.work, env=self.program.env, capture_output=True, text=True, check=False)
        if done.returncode:
            self.skipTest(f"{' '.join(words)}: {done.stderr.strip()[-300:]}")

    def layout(self, name="image"):
        return Layout(f"{self.work}/{name}")

    def tree_of(self, image):
        """The directory into which it was unpacked."""
        return next(f"{place}/root" for place, _, files in os.walk(self.keep)
                    if "image" in files and support.read(f"{place}/image").splitlines()[1] == image)

    def compare(self, image, tree, *options):
        """Answers and messages are the same for the image and for the tree."""
        for question in QUESTIONS:
            with self.subTest(" ".join(question)):
                answers = []
                # A sealed database has its rows by name; a tree gives them the order of its directories.
                sealed = question[0] in ("list", "groups", "plugins", "why") and "exact" not in question
                for root, more in ((image, options), (tree, ["--fresh", "trust"] if sealed else [])):
                    out = self.run_program(*question, "--root", root, *more, status=None)
                    shown = tree if root == tree else self.tree_of(image)
                    answers.append([text.replace(shown, "ROOT") for text in (out, self.stderr)])
                self.assertEqual(*answers)


class Trees(Case):
    def make(self, **how):
        """Layers that add, upgrade and remove; whiteouts, an opaque directory, links."""
        old = distribution("up", "1.0", "[console_scripts]\nup = up:main\nold = up:main\n")
        lower = layer({"usr/lib/": None, SITE + "/": None, **old, "opt/venv/": None,
                       **distribution("away", "1.0", "[g]\naway = away:main\n"),
                       **distribution("below", "1.0", "[g]\nbelow = below:main\n", VENV)},
                      member("lib", "", type=tarfile.SYMTYPE, linkname="usr/lib"),
                      member("opt/venv/pyvenv.cfg", "home = /usr/bin\n"),
                      member(f"{SITE}/loose.pth", "# all may write it", mode=0o666, uid=1234, gid=1234),
                      member("var/", None), member("var/run", "", type=tarfile.SYMTYPE, linkname="/run"),
                      member("var/run/user/x", "made where the link leads"),
                      member("usr/bin/up", "#!/bin/sh\n", mode=0o4777),
                      member("usr/bin/again", "", type=tarfile.LNKTYPE, linkname="usr/bin/up"))
        upper = layer({f"{SITE}/.wh.{name}": "" for name in ("away.py", "away-1.0.dist-info", "up-1.0.dist-info")} |
                      {path.replace("usr/lib", "lib", 1): text for path, text in
                       distribution("up", "2.0", "[console_scripts]\nup = up:main\n").items()} |
                      distribution("ahead", "1.0", "[g]\nahead = ahead:main\n", VENV) | {VENV + "/.wh..wh..opq": ""} |
                      distribution("gone", "1.0", "[g]\ngone = gone:main\n", VENV) |
                      {"srv/other/x-1.0.dist-info/METADATA": "Name: x\nVersion: 1.0\n",
                       "srv/other/x-1.0.dist-info/entry_points.txt": "[g]\nx = x\n"})
        return self.layout().add(lower, upper, layer({VENV + "/.wh.gone.py": ""}), **how)

    def unpacked(self, layout, tag="t"):
        index = json.loads(support.read(f"{layout}/index.json"))
        index["manifests"][0]["annotations"] = {"org.opencontainers.image.ref.name": tag}
        with open(f"{layout}/index.json", "w", encoding="utf-8") as file:
            json.dump(index, file)
        rootless = ["--rootless"] if self.user or os.geteuid() else []
        self.tool("umoci", "unpack", *rootless, "--image", f"{layout}:{tag}", f"{self.work}/bundle")
        tree = f"{self.work}/bundle/rootfs"
        for words in ((), ("/opt/venv",)):
            self.run_program("update", "--quiet", "--sealed", "--root", tree, *words)
        return tree

    def test_equal(self):
        layout = self.make(pack=gzip.compress)
        tree = self.unpacked(layout)
        self.tool("skopeo", "copy", "-q", f"oci:{layout}:t", f"oci-archive:{self.work}/oci.tar")
        self.tool("skopeo", "copy", "-q", f"oci:{layout}:t", f"docker-archive:{self.work}/docker.tar")
        self.tool("skopeo", "copy", "-q", "--dest-compress-format=zstd", "--dest-compress", f"oci:{layout}:t",
                  f"oci:{self.work}/zstd:t")
        for image in (layout, f"{self.work}/oci.tar", f"{self.work}/docker.tar", f"{self.work}/zstd"):
            with self.subTest(image):
                self.run_program("add", image)
                self.compare(image, tree)
                self.run_program("verify", "--root", image)
                self.assertIn("1 distributions compared", self.stderr)
                self.run_program("add", image)
                self.assertIn("(1 unchanged)", self.stderr)

    def test_path_file(self):
        """A .pth file leads to a directory without a database, which is read in the image."""
        layout = self.layout().add(layer({SITE + "/": None, SITE + "/a.pth": "/srv/src\n"} |
                                         distribution("src", "1.0", "[g]\nsrc = src:main\n", "srv/src")))
        self.run_program("add", layout)
        self.assertIn("src\t1.0", self.run_program("list", "--root", layout, "g"))

    def test_policy(self):
        layout = self.layout().add(layer(distribution("a", "1.0", "[g]\na = a:main\n") |
                                         {"etc/entrydb/policy.conf": "[g]\na = disable\n"}))
        self.run_program("add", layout)
        self.run_program("list", "--allowed", "--root", layout, status=1)

    def test_platforms(self):
        layout = self.layout()
        for name, platform in (("one", ("linux", "amd64")), ("two", ("linux", "arm64")), ("no", ("unknown", "unknown"))):
            layout.add(layer(distribution(name, "1.0", f"[g]\n{name} = {name}:main\n")), platform=platform)
        for name, platform in (("one", "linux/amd64"), ("two", "linux/arm64"), ("two", "linux/arm64/v8")):
            self.run_program("add", layout.path, "--platform", platform)
            self.assertIn(f"\t{name}\t1.0", self.run_program("list", "--root", layout.path, "--platform", platform))
        self.run_program("add", layout.path, "--platform", "linux/s390x", status=3)
        self.assertIn("choose one with --platform: linux/amd64,linux/arm64", self.stderr)
        self.run_program("list", "--root", layout.path, "--platform", "linux/s390x", status=3)
        self.assertRegex(self.stderr, "run: entrydb add --platform linux/s390x /.*/image\n$")
        self.run_program("add", layout.path, "--platform", "amd64", status=3)
        self.run_program("forget", layout.path, "--platform", "linux/arm64")
        self.run_program("forget", layout.path)
        self.assertEqual(os.listdir(self.keep), [])
        self.run_program("forget", layout.path, status=1)

    def test_life(self):
        """An image that changes, is added again, is forgotten; commands that take none."""
        layout = self.layout()
        self.run_program("list", "--root", layout.add(layer(distribution("a", "1.0", "[g]\na = a:main\n"))), status=3)
        self.assertIn("was not added", self.stderr)
        self.run_program("add", layout.path)
        layout.manifests.clear()
        layout.add(layer(distribution("a", "2.0", "[g]\na = a:main\n")))
        self.run_program("list", "--root", layout.path, status=3)
        self.assertIn("has changed since it was added; run: entrydb add /", self.stderr)
        self.run_program("add", layout.path)
        self.assertIn("\t2.0", self.run_program("list", "--root", layout.path))
        self.assertEqual(len(os.listdir(self.keep)), 1)
        for command in (["update"], ["enable", "g"], ["export", "adbc"], ["log"]):
            self.run_program(*command, "--root", layout.path, status=2)
        self.run_program("list", "--root", layout.path, "--db", "x.db", status=3)
        self.run_program("add", "--db", "x.db", layout.path, status=3)

    def test_killed_while_the_old_tree_was_removed(self):
        layout = self.layout().add(layer(distribution("a", "1.0", "[g]\na = a:main\n")))
        self.run_program("add", layout)
        kept = glob.glob(f"{self.keep}/*")[0]
        shutil.copytree(glob.glob(f"{kept}/*")[0], f"{kept}/new")
        self.run_program("add", layout)
        self.assertIn("(1 unchanged)", self.stderr)
        self.assertFalse(os.path.exists(f"{kept}/new"))

    def test_damaged_layer(self):
        data = layer(distribution("a", "1.0", "[g]\na = a:main\n"))
        layout = self.layout().add(data, pack=gzip.compress)
        self.run_program("add", layout)
        path = max((f"{layout}/blobs/sha256/{name}" for name in os.listdir(f"{layout}/blobs/sha256")),
                   key=lambda path: support.read_bytes(path)[:2] == b"\x1f\x8b")
        with open(path, "r+b") as file:
            file.seek(40)
            file.write(b"damage")
        self.run_program("verify", "--root", layout, status=1)
        self.assertIn("not those that the image names", self.stderr)
        self.assertIn("\ta\t1.0", self.run_program("list", "--root", layout))


class Hostile(Case):
    def refuse(self, expected, *layers, **how):
        """One line; the image that was added before stays; nothing is written elsewhere."""
        good = layer(distribution("a", "1.0", "[g]\na = a:main\n"))
        layout = self.layout()
        self.run_program("add", layout.add(good))
        kept = sorted(glob.glob(f"{self.keep}/*/*"))
        layout.manifests.clear()
        layout.add(good, *layers, **how)
        before = sorted(os.listdir(self.work))
        self.run_program("add", layout.path, status=3)
        self.assertRegex(self.stderr.splitlines()[0], expected)
        self.assertEqual(len(self.stderr.splitlines()), 2, self.stderr)  # and the summary
        self.assertEqual((sorted(glob.glob(f"{self.keep}/*/*")), sorted(os.listdir(self.work))), (kept, before))
        self.assertFalse(os.path.exists("/tmp/entrydb-escaped"))

    def bad(self, expected, *members):
        self.refuse(expected, layer({}, *members))

    def test_up(self):
        self.bad(r"\.\./\.\./tmp/entrydb-escaped: a path that leads out", member("../../tmp/entrydb-escaped", "x"))

    def test_absolute(self):
        self.bad("/tmp/entrydb-escaped: a path that leads out", member("/tmp/entrydb-escaped", "x"))

    def test_link_out(self):
        layout = self.layout().add(layer({}, member("out", "", type=tarfile.SYMTYPE, linkname="/tmp"),
                                         member("up", "", type=tarfile.SYMTYPE, linkname="../../../../../tmp"),
                                         member("out/entrydb-escaped", "x"), member("up/entrydb-escaped", "x")))
        self.run_program("add", layout)
        self.assertFalse(os.path.exists("/tmp/entrydb-escaped"))
        layout = self.layout("loop").add(layer({}, member("a", "", type=tarfile.SYMTYPE, linkname="/b"),
                                               member("b", "", type=tarfile.SYMTYPE, linkname="a"), member("a/x", "x")))
        self.run_program("add", layout, status=3)
        self.assertIn("a/x: its directory: Too many levels of symbolic links", self.stderr)
        self.assertFalse(os.path.exists("/tmp/entrydb-escaped"))

    def test_secret_by_link(self):
        """A link to a path of the host leads to that path in the image."""
        with open(f"{self.work}/secret", "w", encoding="ascii") as file:
            file.write("[g]\nsecret = secret\n")
        files = distribution("a", "1.0", "")
        del files[f"{SITE}/a-1.0.dist-info/entry_points.txt"]
        layout = self.layout().add(layer(files, member(f"{SITE}/a-1.0.dist-info/entry_points.txt", "",
                                                       type=tarfile.SYMTYPE, linkname=f"{self.work}/secret")))
        self.run_program("add", layout)
        self.run_program("list", "--root", layout, "g", status=1)

    def test_hard_link_out(self):
        self.bad("hard: (a path that leads out|.*hard link)", member("hard", "", type=tarfile.LNKTYPE, linkname="../../etc/passwd"))

    def test_hard_link_to_host(self):
        self.bad("hard: a hard link to", member("etc/"), member("hard", "", type=tarfile.LNKTYPE, linkname="/etc/passwd"))

    def test_whiteout_of_up(self):
        self.bad(r"\.wh\.\.\.: a whiteout", member("usr/.wh...", ""))

    def test_file_for_directory(self):
        self.bad("opt/file/x: .*Not a directory", member("opt/file", "x"), member("opt/file/x", "x"))

    def test_directory_for_file_and_back(self):
        layout = self.layout().add(layer({"a": "x", "b/": None, "b/c": "x"}), layer({"a/": None, "a/d": "x", "b": "x"}))
        self.run_program("add", layout)

    def test_device_and_twice(self):
        same = layer({"a": "x"}, member("dev/null", "", type=tarfile.CHRTYPE), member("fifo", "", type=tarfile.FIFOTYPE))
        self.run_program("add", self.layout().add(same, same, same))

    def test_deep(self):
        """Many directories, or long paths, also by way of a link; what was unpacked can be removed again."""
        long = "/".join(["n" * 250] * 10)
        for members in ([member("/".join(["d"] * 300) + "/x", "x")], [member("/".join(["d"] * 2000) + "/x", "x")],
                        [member("l", "", type=tarfile.SYMTYPE, linkname=long), member(f"l/{long}/x", "x")]):
            shutil.rmtree(f"{self.work}/image", ignore_errors=True)
            self.bad("File name too long", *members)

    def test_many_layers(self):
        self.refuse("more than 1,000 layers", *[layer({})] * 1000)

    def test_bomb(self):
        """A sparse file counts with the size that it declares."""
        info = member("bomb", "x" * 512)[0]
        info.size, info.pax_headers = 512, {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "bomb",
                                            "GNU.sparse.realsize": str(1 << 40)}
        self.bad("this may be a bomb|more than 4,194,304 members or 64 GiB|parse", (info, b"1\n1099511627775\n1\n".ljust(512, b"\0")))

    def test_holes(self):
        """A file of 4 GiB in a layer of 10 kB: those who read it get its zeros."""
        with open(f"{self.work}/hole", "wb") as file:
            file.truncate(4 << 30)
        packed = subprocess.run(["tar", "--sparse", "-C", self.work, "-cf", "-", "hole"], capture_output=True, check=True)
        self.refuse("1,000 times its size", packed.stdout)

    def test_many_whiteouts(self):
        """Whiteouts of a directory that the layer itself has filled: each meets all files."""
        for name in ("d/.wh..wh..opq", ".wh.d"):
            shutil.rmtree(f"{self.work}/image", ignore_errors=True)
            files = {f"d/{i}": "" for i in range(2100)}
            self.refuse("more than 4,194,304 members", layer(files, *[member(name, "")] * 2100))

    @unittest.skipUnless(shutil.which("unshare"), "unshare is not installed")
    def test_user_namespace(self):
        """Owners without a number there are not set. (Without privileges, "/" itself belongs to one of them.)"""
        if self.user or os.geteuid() != 0:
            self.skipTest("needs root")
        layout = self.layout().add(layer(distribution("a", "1.0", "[g]\na = a:main\n"), member("b", "x", uid=12345, gid=54321)))
        done = subprocess.run(["unshare", "-r", self.program.executable, "add", layout], cwd=self.work, env=self.program.env,
                              **self.other, capture_output=True, text=True, check=False)
        if done.stderr.startswith("unshare:"):
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_missing_layer(self):
        self.refuse("cannot|No such file|not in it", change=lambda m: {**m, "layers": [{"digest": "sha256:" + "0" * 64}]})

    def test_names(self):
        for name in ("sha256:../../etc/passwd", "md5:1", "", None, 7, {"a": 1}):
            with self.subTest(name):
                shutil.rmtree(f"{self.work}/image", ignore_errors=True)
                self.refuse("not a digest|without a digest", change=lambda m, name=name: {**m, "layers": [{"digest": name}]})

    def test_size(self):
        self.refuse("not those that the image names",
                    change=lambda m: {**m, "layers": [{**m["layers"][0], "size": 7}]})

    def test_json(self):
        layout = self.layout()
        layout.add(layer({}))
        for text, expected in ((b"{", "not valid JSON"), (b"[" * 5000, "not valid JSON"), (b" " * (5 << 20), "larger than 4 MiB"),
                               (b"{}", "no image"), (b'{"manifests": 1}', "no image"), (b'{"manifests": [1, {}]}', "no image"),
                               (b'{"manifests": [{"digest": "../../../etc/passwd"}]}', "not a digest"), (b"\xff\0", "not valid JSON"),
                               (json.dumps({"manifests": [*layout.manifests, {"digest": digest(b"x")}]}).encode(), "No such file"),
                               (json.dumps({"manifests": 2 * layout.manifests}).encode(), None)):
            layout.write("index.json", text)
            self.run_program("add", layout.path, status=3 if expected else 0)
            self.assertIn(expected or "", self.stderr)
            if expected:
                self.assertEqual(len(self.stderr.splitlines()), 2, self.stderr)

    def test_each_document_is_read_once(self):
        layout = self.layout()
        layout.add(layer({}))
        named = [*layout.manifests, *({"digest": layout.blob({"n": number})["digest"]} for number in range(900))]
        layout.write("index.json", json.dumps({"manifests": named + 60000 * [{"digest": "x", "platform": {"architecture": "x"}}]}).encode())
        before = support.processor_seconds()
        self.run_program("add", layout.path, status=0)
        self.assertLess(support.processor_seconds() - before, 20)

    def test_packed_tarball_and_others(self):
        """A tarball without an image is an ordinary archive."""
        with open(f"{self.work}/a.tar", "wb") as file:
            file.write(layer(distribution("a", "1.0", "[g]\na = a:main\n")))
        self.run_program("add", "a.tar")
        self.assertIn("1 archives, 1 distributions", self.stderr)
        self.run_program("list", "--root", "a.tar", status=3)
        with open(f"{self.work}/cut.tar", "wb") as file:
            file.write(layer({"manifest.json": "[]", "x": "x"})[:1600])
        self.run_program("add", "cut.tar", status=3)

    @support.needs_root
    def test_where_a_group_may_write(self):
        """Its members could replace the directory by a link to "/" before the image is unpacked."""
        image, state = self.layout().add(layer({})), os.path.dirname(os.path.dirname(self.keep))
        self.run_program("add", image)
        self.assertEqual({os.stat(path).st_mode & 0o777 for path in glob.glob(f"{self.keep}/*")}, {0o700})  # it is the lock, too
        os.chown(state, self.user or 0, 4321)
        os.chmod(state, 0o775)
        for command in ("add", "forget"):
            os.utime(f"{image}/index.json")
            self.run_program(command, image, status=3)
            self.assertIn(f"others may write to {os.path.realpath(state)}", self.stderr)

    def test_interrupted(self):
        big = layer({f"usr/share/{i}": "x" * 20000 for i in range(3000)})
        layout = self.layout().add(big, layer(distribution("a", "1.0", "[g]\na = a:main\n")))
        with subprocess.Popen([self.program.executable, "add", layout], cwd=self.work, env=self.program.env,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            support.until(lambda: os.path.exists(self.keep) and os.listdir(self.keep))
            process.send_signal(signal.SIGINT)
            stderr = process.communicate()[1]
        if process.returncode != 0:  # else it was the faster one
            self.assertEqual(process.returncode, 3, stderr)
            self.assertFalse(os.path.exists(self.keep) and os.listdir(self.keep))


if os.geteuid() == 0:
    class TreesOfUser(Trees):
        user = 65533

    class HostileOfUser(Hostile):
        user = 65533

if __name__ == "__main__":
    support.main()
