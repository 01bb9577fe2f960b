"""entrydb add --index, entrydb search: against a local server that serves wheels, or lies."""

import base64
import contextlib
import fcntl
import gzip
import hashlib
import html
import http.server
import importlib.metadata
import importlib.util
import io
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import unittest
import zipfile

import support
from program import LONG
from support import COULD_NOT, DONE, NOT_FOUND, CommandTest, USAGE
from tls_flood import TicketFlood

JSON = "application/vnd.pypi.simple.v1+json"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def wheel(name, version="1.0", points="[demo]\nn = m\n", *, padding=0, first=(), tag="py3-none-any", **files):
    """The name and the bytes of a wheel; @first: files of the dist-info to put before the padding."""
    stem = f"{name.replace('-', '_')}-{version}"
    contents = {"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nText.\n",
                "WHEEL": "Wheel-Version: 1.0\n", "RECORD": "", **files}
    if points is not None:
        contents["entry_points.txt"] = points
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as out:
        for each in first:
            out.writestr(f"{stem}.dist-info/{each}", contents.pop(each))
        if padding:
            out.writestr(zipfile.ZipInfo(f"{name}.bin"), b"\x50" * padding)  # stored
        for each, text in contents.items():
            out.writestr(f"{stem}.dist-info/{each}", text)
    return f"{stem}-{tag}.whl", made.getvalue()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        index = self.server.index
        index.requests.append((self.path, dict(self.headers)))
        for pattern, lie in list(index.lies.items()):
            if re.search(pattern, self.path) and lie(self):
                return
        self.close_connection |= index.closes
        if index.password and self.headers.get("Authorization") != index.password:
            self.answer(401, b"")
        elif self.path.startswith("/files/"):
            self.give_file(index.files.get(self.path[7:].removesuffix(".metadata")))
        else:
            self.give_page(self.path.strip("/").split("/")[1:])

    def answer(self, status, body, **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def give_file(self, content):
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if content is None:
            self.answer(404, b"")
        elif self.path.endswith(".metadata"):
            self.answer(200, self.server.index.metadata(self.path[7:-9]))
        elif not found or self.server.index.whole:
            self.answer(200, content)
        elif not found[1] and self.server.index.no_suffix:
            self.answer(501, b"")
        else:
            size = len(content)
            start = int(found[1]) if found[1] else max(0, size - int(found[2]))
            end = min(int(found[2]) + 1, size) if found[1] else size
            self.answer(206, content[start:end], Content_Range=f"bytes {start}-{end - 1}/{size}",
                        ETag=f'"{sha256(content)}"')

    def give_page(self, rest):
        index = self.server.index
        names = [name for name in index.files if rest and index.project_of(name) == rest[0]]
        if rest and not names:
            self.answer(404, b"")
            return
        body, kind = index.page(names, rest)
        etag = f'"{sha256(body)}"'
        if self.headers.get("If-None-Match") == etag:
            self.answer(304, b"", ETag=etag)
        else:
            self.answer(200, body, ETag=etag, Content_Type=kind)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Clients may disconnect at any time."""


class Index:
    """A package index: files by name; @lies: handlers that take over, by patterns of paths."""

    def __init__(self, test, address="127.0.0.1", port=0):
        self.files, self.lies, self.requests, self.fields = {}, {}, [], {}
        self.is_html, self.whole, self.no_suffix, self.password = False, False, False, None
        self.has_metadata = self.has_size = self.closes = False
        self.server = Server((address, port), Handler)
        self.server.index = self
        thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        thread.start()
        test.addCleanup(thread.join)
        test.addCleanup(self.server.server_close)
        test.addCleanup(self.server.shutdown)
        self.host = f"{address}:{self.server.server_port}"
        self.url = f"http://{self.host}/simple/"

    @staticmethod
    def project_of(file):
        return re.sub(r"[-_.]+", "-", file.rsplit("-", 1)[0] if file.endswith(".gz") else file.split("-")[0]).lower()

    def add(self, name, *arguments, fields=(), **how):
        file, content = wheel(name, *arguments, **how)
        self.files[file] = content
        self.fields[file] = dict(fields)
        return file

    def metadata(self, file):
        with zipfile.ZipFile(io.BytesIO(self.files[file])) as zip_file:
            return zip_file.read(next(name for name in zip_file.namelist() if name.endswith("METADATA")))

    def describe(self, name):
        content = self.files[name]
        found = {"filename": name, "url": f"/files/{name}", "hashes": {"sha256": sha256(content)}}
        if self.has_metadata:
            found["core-metadata"] = {"sha256": sha256(self.metadata(name))}
        if self.has_size:
            found["size"] = len(content)
        return {**found, **self.fields.get(name, {})}

    def page(self, names, rest):
        if not self.is_html:
            projects = [{"name": each} for each in sorted({self.project_of(name) for name in self.files})]
            return json.dumps({"meta": {"api-version": "1.1"}, "projects": projects,
                               "files": [self.describe(name) for name in names]}).encode(), JSON
        if not rest:
            names = sorted({self.project_of(name) for name in self.files})
            return "".join(f"<a href='{name}/'>{name}</a>" for name in names).encode(), "text/html"
        anchors = ""
        for each in map(self.describe, names):
            more = "".join(f' data-{key}="{html.escape(str(value))}"' for key, value in each.items()
                           if key in ("requires-python", "yanked") and value is not False)
            anchors += (f'<!-- <a href="/files/no-1.0-py3-none-any.whl">no</a> --><A class=x {more}\n'
                        f' href="../..{each["url"]}#sha256={each["hashes"]["sha256"]}">{each["filename"]}</a><br>\n')
        return (f"<!doctype html><script>'<a href=\"/files/evil-9-py3-none-any.whl\">'</script>"
                f"{anchors}").encode(), "text/html; charset=utf-8"

    def asked(self, part):
        return [path for path, _ in self.requests if part in path]


def setUpModule():
    if not os.path.exists(f"{os.path.dirname(support.PROGRAM)}/entrydb-transfer.so"):
        raise unittest.SkipTest("entrydb was built without libcurl")


class IndexTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.index, self.variables = Index(self), {}
        self.catalogue = f"{self.top}/catalogue.db"

    def environment(self, **variables):
        return super().environment(**{"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": None,
                                      "PIP_EXTRA_INDEX_URL": None, **self.variables, **variables})

    def add(self, *arguments, status=DONE, url=None, **how):
        return self.run_program("add", "--index", url or self.index.url, "--db", self.catalogue, *arguments,
                                status=status, **how)

    def forget(self):
        for file in pathlib.Path(self.top).rglob("*"):
            if file.name.startswith("catalogue.db"):
                file.unlink()

    def rows(self):
        if not os.path.exists(self.catalogue):
            return []
        return support.query(self.catalogue, "SELECT distribution, version, group_name, name, value "
                             "FROM entry_points ORDER BY 1, 2, 3, 4")

    def errors(self):
        return [row[0] for row in support.query(self.catalogue, "SELECT error FROM distribution "
                                                "WHERE error IS NOT NULL")]


class Reading(IndexTest):
    @unittest.skipUnless(importlib.util.find_spec("pip"), "there is no pip")
    def test_as_pip_installs_it(self):
        """The rows are those that importlib.metadata finds in what pip installs of the same index."""
        for i in range(40):
            points = [None, "", "[demo]\nn = m:a [x,y]\n\n# c\n[console_scripts]\nc%d = m:main\n" % i,
                      "[demo]\r\n  a=b : c\r\nä = é\n", "no section = x\n[g]\nx = y\n"][i % 5]
            self.index.add(f"Pkg.Number{i}", "1.0", points, padding=(i % 3) * 40000,
                           first=[[], ["METADATA"], ["METADATA", "entry_points.txt"]][i % 3 if points is not None else 0])
        for is_html in (False, True):
            self.index.is_html = is_html
            shutil.rmtree(f"{self.top}/target", ignore_errors=True)
            self.forget()
            self.add("--all")
            done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile",
                                   "--isolated", "-i", self.index.url, "--target", f"{self.top}/target",
                                   *(f"Pkg.Number{i}" for i in range(40))], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            wanted = sorted((found.metadata["Name"], found.version, point.group, point.name, point.value)
                            for found in importlib.metadata.distributions(path=[f"{self.top}/target"])
                            for point in found.entry_points)
            self.assertEqual(sorted(self.rows()), wanted)
            self.assertGreater(len(wanted), 30)

    def test_which_version(self):
        new, old = {"requires-python": ">=3.13"}, {"requires-python": ">=3.8,!=3.9.*,<4"}
        self.index.add("a", "1.9", fields=old)
        self.index.add("a", "1.10", fields={"requires-python": "~=3.11"})
        self.index.add("a", "2.0", fields=new)
        self.index.add("a", "3.0", fields={"yanked": "broken"})
        self.index.add("a", "3.1", fields={"yanked": 1})
        self.index.add("a", "1.8", fields={"yanked": "", **old})
        self.index.add("a", "4.0rc1")
        self.index.add("a", "5.0", tag="cp39-cp39-manylinux_2_17_x86_64")
        self.index.add("a", "6.0", tag="py4-none-any")
        self.index.add("b", "1.0a1")
        for is_html in (False, True):
            self.index.is_html = is_html
            for python, version in (("3.12", "1.10"), ("3.13", "2.0"), ("3.10", "1.9")):
                self.add("A", "b", "--python", python)
                self.assertEqual([row[:2] for row in self.rows()], [("a", version), ("b", "1.0a1")], python)
        self.index.is_html = False
        self.add("a", "--all-versions")
        self.assertEqual([row[1] for row in self.rows() if row[0] == "a"], ["1.10", "1.8", "1.9", "4.0rc1"])
        for specifiers, version in (("==3.0,>1", None), ("==3.*", None), ("==3.0", "3.0")):
            self.add(f"a{specifiers}", status=DONE if version else COULD_NOT)
            self.assertEqual("3.0" in [row[1] for row in self.rows()], version is not None)
        for line in ("a[x]==1.9 ; python_version > '3' # https://a", "a==1.9 \\\n    --hash=sha256:0", "a (<1.10)", "a \\\r\n <1.10 --x=y"):
            support.write(f"{self.top}/r.txt", f"\ufeff# c\n-e .\n{line}\n\n b >= 0\n"
                          "c @ https://u:hunter2@h/c.whl\ngit+https://u:hunter2@h/d\n./e\n")
            self.add("--requirements", f"{self.top}/r.txt")
            self.assertEqual([row[:2] for row in self.rows()], [("a", "1.9"), ("b", "1.0a1")], line)
        for argument in ("foo/bar", "c @ https://u:hunter2@h/c.whl"):
            reply = self.add(argument, status=COULD_NOT)
            self.assertEqual(reply.err, "entrydb: an argument with a '/' is not the name of a project\n")

    def test_many_versions(self):
        """More versions than are read at a time; a very long ETag, or the rest of one behind a CR, is not stored."""
        for i in range(50):
            self.index.add("a", f"1.{i}")
        page, kind = self.index.page(list(self.index.files), [1])
        self.index.lies["simple/a/"] = lambda h: h.answer(200, page, Content_Type=kind, ETag="x" * 50000) or True
        self.add("a", "--all-versions")
        self.assertEqual(len(self.rows()), 50)
        self.assertLess(os.stat(self.catalogue).st_size, 200000)
        self.index.lies["simple/a/"] = lambda h: h.answer(200, page, Content_Type=kind, ETag='"x\rX-Evil: 1"') or True
        self.forget()
        self.add("a", "--all-versions")
        self.assertNotIn(b"X-Evil", pathlib.Path(self.catalogue).read_bytes())

    def test_references_in_html(self):
        """Gitea writes '+' as a number."""
        name = self.index.add("a", "1.0+cpu")
        for plus, equals in (("&#43;", "&#61;"), ("&#x2b;", "&#X3D;")):
            page = f"<a href='/files/{name.replace('+', plus)}' data-requires-python='&gt;{equals}3.8'>".encode()
            self.index.lies["simple/a/"] = lambda h: h.answer(200, page, Content_Type="text/html") or True
            self.forget()
            self.add("a")
            self.assertEqual([row[1] for row in self.rows()], ["1.0+cpu"], plus)

    def test_source_distributions(self):
        self.index.files["s-1.0.tar.gz"] = b""
        reply = self.add("s")
        self.assertIn("1 not knowable without a build", reply.err)
        self.assertEqual(self.index.asked("/files/"), [])
        self.assertIn("not knowable without a build", self.errors()[0])

    def test_other_commands_know_that_only_metadata_was_read(self):
        """Modules are not examined, a file is named by a URL, and unreadable files are counted, not listed."""
        self.index.add("a")
        for name in ("s", "t"):
            self.index.files[f"{name}-1.0.tar.gz"] = b""
        self.add("--all")
        reply = self.run_program("list", "--db", self.catalogue, "--json")
        self.assertEqual({(row["kind"], row["state"]) for row in reply.objects}, {("unresolved", "not-examined")})
        self.assertEqual({row["file"] for row in reply.objects}, {f"{self.index.url}a-1.0-py3-none-any.whl"})
        self.assertEqual(reply.err, f"entrydb: {self.index.url}: 2 files could not be read; see the view broken\n")

    def test_how_much_is_asked_for(self):
        self.index.has_size = self.index.has_metadata = True
        self.index.add("near", padding=3 << 20)
        self.index.add("far", padding=3 << 20, first=["METADATA"])
        self.index.add("farther", padding=3 << 20, first=["METADATA", "entry_points.txt"])
        reply = self.add("--all", "--json")
        self.assertEqual([row[0] for row in self.rows()], ["far", "farther", "near"])
        self.assertEqual({row["checked"] for row in reply.objects}, {"metadata"})
        for name, count in (("near", 1), ("far", 2), ("farther", 3)):
            self.assertEqual(len(self.index.asked(f"/files/{name}-")), count, name)
        self.assertLess(int(re.search(r"(\d+) kB", reply.err)[1]), 250)

    def test_ranges_that_a_server_does_not_know(self):
        self.index.add("small")
        self.index.add("large", padding=5 << 20)
        self.index.no_suffix = self.index.has_size = True
        self.add("--all")
        self.assertEqual(len(self.rows()), 2)
        self.forget()
        self.index.whole = True
        reply = self.add("--all", status=COULD_NOT)
        self.assertEqual([row[0] for row in self.rows()], ["small"])
        self.assertIn("larger than 4 MiB", reply.err)

    def test_by_nginx(self):
        nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin")
        if not nginx:
            self.skipTest("there is no nginx")
        self.index.is_html = True
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for i in range(60):
            self.index.add(f"p{i}", padding=i << 13)
        for name, content in self.index.files.items():
            project = f"{self.top}/www/simple/{self.index.project_of(name)}"
            os.makedirs(project)
            os.makedirs(f"{self.top}/www/files", exist_ok=True)
            for path, text in ((f"{project}/index.html", self.index.page([name], [1])[0]),
                               (f"{self.top}/www/files/{name}", content)):
                with open(path, "wb") as file:
                    file.write(text)
        places = "".join(f"{each}_temp_path {self.top}/www;" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        os.chmod(self.top, 0o755)
        support.write(f"{self.top}/conf", f"{'user root; ' * support.IS_ROOT}daemon off; master_process off; pid {self.top}/pid; error_log stderr; events {{}}\n"
                      f"http {{ types {{ text/html html; }} access_log off; {places}"
                      f" server {{ listen 127.0.0.1:{port}; root {self.top}/www; }} }}\n")
        server = subprocess.Popen([nginx, "-c", f"{self.top}/conf", "-e", "stderr"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(support.end, server)
        support.until(lambda: os.path.exists(f"{self.top}/pid"))
        for unchanged in (0, 60):
            reply = self.add(*(f"p{i}" for i in range(60)), url=f"http://127.0.0.1:{port}/simple/")
            self.assertIn(f"60 projects ({unchanged} unchanged)", reply.err)
            self.assertEqual(len(self.rows()), 60)

    def test_only_new_wheels_are_read(self):
        for i in range(30):
            self.index.add(f"p{i}")
        self.add("--all")
        self.index.requests.clear()
        reply = self.add("--all")
        self.assertIn("30 unchanged", reply.err)
        self.assertEqual(self.index.asked("/files/"), [])
        self.assertEqual(sum("If-None-Match" in headers for _, headers in self.index.requests), 30)
        self.index.add("p7", "2.0", "[demo]\nnew = m\n")
        self.add("--all")
        self.assertEqual(len(self.index.asked("/files/")), 1)
        self.assertEqual([row[1] for row in self.rows() if row[0] == "p7"], ["2.0"])
        self.assertEqual(len(self.rows()), 30)
        for unchanged in ("0 unchanged", "1 unchanged"):
            self.assertIn(unchanged, self.add("p7<2").err)
            self.assertEqual([row[1] for row in self.rows() if row[0] == "p7"], ["1.0"])
        self.assertIn("0 unchanged", self.add("p7").err)
        self.index.add("p8", points="[demo]\nuploaded = again\n")  # an index that permits it gives another hash
        self.index.requests.clear()
        self.add("--all")
        self.assertEqual(len(self.index.asked("/files/")), 1)
        self.assertIn(("p8", "1.0", "demo", "uploaded", "again"), self.rows())

    def test_projects_that_are_gone(self):
        """Their rows are dropped: what an index has removed, perhaps as malicious, is not found any more."""
        names = ["deleted", "good", "later", "unlisted", "yanked"]
        for select in (["--all"], names):
            self.forget()
            self.index.lies.clear()
            for name in names:
                self.index.add(name)
            self.add(*select)
            self.assertEqual([row[0] for row in self.rows()], names)
            self.index.lies["simple/deleted/"] = lambda handler: handler.answer(404, b"") or True
            self.index.add("later", fields={"requires-python": ">=99"})
            self.index.add("yanked", fields={"yanked": True})
            del self.index.files["unlisted-1.0-py3-none-any.whl"]
            reply = self.add(*select, status=DONE if select == ["--all"] else COULD_NOT)
            self.assertEqual([row[0] for row in self.rows()], ["good"], reply.err)
            self.assertIn("; 1 distributions in all", reply.err)
            self.index.lies["simple/good/"] = lambda handler: handler.answer(403, b"") or True
            self.add("good", status=COULD_NOT)
            self.assertEqual([row[0] for row in self.rows()], ["good"])

    @unittest.skipUnless(LONG, "writes a gigabyte")
    def test_memory(self):
        """A wheel of 17 kB has 16 MB of entry points: they are not kept until the next publication is due."""
        for number in range(40):
            self.index.add(f"p{number}", points=f"[g]\na = {'b' * 16000000}\n")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.add("--all")
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, max(before + 1, 300 << 10))

    def test_projects_without_files(self):
        """An index lists many of them: with --all they are counted; named, they are failures."""
        self.index.add("good")
        self.index.add("newer", fields={"requires-python": ">=99"})
        self.index.add("gone")
        self.index.lies["simple/gone/"] = lambda handler: handler.answer(404, b"") or True
        reply = self.add("--all")
        self.assertIn("0 could not be read, 2 have no file for Python 3.12", reply.err)
        self.assertNotIn("gone", reply.err)
        states = [json.loads(line)["state"] for line in self.add("--all", "--json").out.splitlines()]
        self.assertEqual(sorted(states), ["empty", "empty", "unchanged"])
        reply = self.add("newer", "gone", status=COULD_NOT)
        self.assertIn("2 could not be read, 0 have no file", reply.err)
        self.assertIn("gone: the server has no such page", reply.err)

    def test_killed_and_resumed(self):
        count = 1000 if LONG else 200
        for i in range(count):
            self.index.add(f"p{i}")
        gate = threading.Event()
        self.index.lies[f"simple/p{count // 2}/"] = lambda handler: gate.wait(60) and False
        for how in (signal.SIGKILL, signal.SIGINT):
            gate.clear()
            self.index.requests.clear()
            child = self.start("add", "--index", self.index.url, "--db", self.catalogue, "--all")
            support.until(lambda: len(self.index.requests) > 100 and self.rows())
            child.send_signal(how)
            _, err = child.communicate(timeout=60)
            gate.set()
            if how == signal.SIGINT:
                self.assertIn("interrupted after", err.decode())
                self.assertGreater(len(self.rows()), 40)
                self.assertTrue(support.is_sound(self.catalogue))
        self.index.lies.clear()
        self.index.requests.clear()
        self.add("--all")
        self.assertEqual(len(self.rows()), count)
        self.assertLess(len(self.index.asked("/simple/p")), count - 40)

    def test_two_at_a_time(self):
        """Two runs on one database lose no rows."""
        self.index.add("a")
        self.index.add("b")
        gate = threading.Event()
        self.addCleanup(gate.set)
        self.index.lies["simple/a/"] = lambda handler: gate.wait(60) and False
        child = self.start("add", "--index", self.index.url, "--db", self.catalogue, "a")
        support.until(lambda: self.index.requests)
        self.add("b")
        gate.set()
        self.finish(child)
        self.assertEqual([row[0] for row in self.rows()], ["a", "b"])


class Settings(IndexTest):
    def setUp(self):
        super().setUp()
        self.index.add("a")
        self.index.password = "Basic " + base64.b64encode(b"me:s3cret/@").decode()

    def configured(self, text=None, **variables):
        if text is not None:
            support.write(f"{self.top}/pip.conf", text)
            variables["PIP_CONFIG_FILE"] = f"{self.top}/pip.conf"
        return self.run_program("add", "--index", "a", "--db", self.catalogue, env=self.environment(**variables))

    def test_where_pip_has_them(self):
        url = self.index.url.replace("//", "//me:s3cret%2F%40@")
        self.assertEqual(self.configured(PIP_INDEX_URL=url).status, DONE)
        for text in (f"[global]\nindex-url = {url}\n", f"[global]\nindex_url: http://127.0.0.1:1/\n[install]\nindex-url={url}\n",
                     f"[global]\nextra-index-url =\n    file:///nowhere\n    {url}\n"):
            os.unlink(self.catalogue)
            reply = self.configured(text)
            self.assertEqual((reply.status, len(self.rows())), (DONE, 1), str(reply))
        for file in os.listdir(self.top):
            if os.path.isfile(f"{self.top}/{file}") and file != "pip.conf":
                self.assertNotIn(b"s3cret", support.read_bytes(f"{self.top}/{file}"), file)
        self.assertNotIn("s3cret", reply.err)
        seen = []
        self.index.lies = {"simple/a/": lambda handler: seen.append(support.read_bytes(f"/proc/{child.pid}/cmdline"))}
        child = self.start("add", "--index", url, "a", "--db", self.catalogue)
        self.finish(child)
        self.assertNotIn(b"s3cret", seen[0] + support.read_bytes(self.catalogue))
        self.assertEqual(os.stat(self.catalogue).st_mode & 0o777, 0o600)
        self.assertIn("no index is configured", self.configured().err)
        self.assertEqual(self.run_program("add", "--index").status, USAGE)

    def test_a_token_as_the_user(self):
        """Without a password, it is one itself."""
        seen, self.index.password = [], None
        self.index.lies = {"simple/a/": lambda handler: seen.append(support.read_bytes(f"/proc/{child.pid}/cmdline"))}
        child = self.start("add", "--index", self.index.url.replace("//", "//t0ken@"), "a", "--db", self.catalogue)
        self.finish(child)
        self.assertNotIn(b"t0ken", seen[0] + support.read_bytes(self.catalogue))

    @unittest.skipUnless(support.IS_ROOT, "only root can make a set-uid program of another user")
    def test_elevated_privileges(self):
        """The libraries that it uses read variables, too."""
        self.index.password = None
        os.chmod(self.top, 0o755)
        for file in os.scandir(os.path.dirname(support.public_program())):
            shutil.copy(file, self.top)
        os.chmod(f"{self.top}/entrydb", 0o4755)
        done = subprocess.run([f"{self.top}/entrydb", "add", "--index", self.index.url, "a", "--db", self.catalogue],
                              env=self.environment(http_proxy="http://127.0.0.1:1"), user=support.STRANGER, group=support.STRANGER,
                              extra_groups=[], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, os.stat(self.catalogue).st_uid), (DONE, 0), done.stderr)

    def test_netrc_and_no_other_host(self):
        self.add("a", status=COULD_NOT)
        support.write(f"{self.home}/.netrc", "machine 127.0.0.1 login me password s3cret/@\n")
        self.add("a")
        os.chmod(f"{self.home}/.netrc", 0o666)
        self.assertIn("others may write", self.add("a", status=COULD_NOT).err)
        os.unlink(f"{self.home}/.netrc")
        os.mkfifo(f"{self.home}/.netrc")
        self.assertIn("user or password", self.add("b", status=COULD_NOT).err)
        os.unlink(f"{self.home}/.netrc")
        other = Index(self)
        other.add("b")
        self.index.lies["simple/b/"] = lambda handler: handler.answer(302, b"", Location=f"{other.url}b/") or True
        self.add("b", url=self.index.url.replace("//", "//me:s3cret%2F%40@"))
        self.assertTrue(other.requests)
        self.assertFalse(any("Authorization" in headers for _, headers in other.requests))
        # A file of logins for everybody is for the index and its own redirections alone.
        support.write(f"{self.home}/.netrc", "default login me password s3cret/@\n")
        other.requests.clear()
        self.forget()
        self.index.add("c", fields={"url": f"http://{other.host}/files/b-1.0-py3-none-any.whl"})
        self.index.lies["simple/d/$"] = lambda handler: handler.answer(302, b"", Location="/simple/a/") or True
        self.index.closes = True
        reply = self.add("b", "c", "d", status=COULD_NOT)
        self.assertIn("d: no file of it", reply.err)
        self.assertEqual(len(other.requests), 3)
        self.assertFalse(any("Authorization" in headers for _, headers in other.requests))

    def test_password_of_a_proxy(self):
        """libcurl quotes what it cannot parse."""
        for proxy in ("http://me:s3cret/@127.0.0.1:1", "http://me:s3cret@127.0.0.1:x", "what://me:s3cret@127.0.0.1:1"):
            for name in ("PIP_PROXY", "http_proxy"):
                reply = self.add("a", status=COULD_NOT, env=self.environment(**{name: proxy}))
                self.assertNotIn("s3cret", str(reply))
                self.assertIn("the proxy's URL is malformed", reply.err)

    def test_certificates(self):
        """An https index that requires a client certificate; its links to http are refused."""
        if not shutil.which("openssl"):
            self.skipTest("there is no openssl")
        pem = f"{self.top}/pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{self.top}/key", "-out", pem,
                        "-days", "2", "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        support.write(pem, support.read(pem) + support.read(f"{self.top}/key"))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        context.load_verify_locations(pem)
        context.verify_mode = ssl.CERT_REQUIRED
        self.index.server.socket = context.wrap_socket(self.index.server.socket, server_side=True)
        self.index.password = None
        url = self.index.url.replace("http:", "https:")
        settings = {"PIP_CERT": pem, "PIP_CLIENT_CERT": pem}
        os.chmod(pem, 0o666)
        for missing in settings:
            self.add("a", url=url, status=COULD_NOT, env=self.environment(**{**settings, missing: None}))
            self.assertEqual(self.index.requests, [])
            self.assertIn("others may write", self.add("a", status=COULD_NOT, env=self.environment(**{missing: pem})).err)
        os.chmod(pem, 0o600)
        self.add("a", url=url, env=self.environment(**settings))
        self.index.add("b", fields={"url": f"http://{self.index.host}/files/b-1.0-py3-none-any.whl"})
        self.index.lies["simple/c/"] = lambda h: h.answer(302, b"", Location=f"http://{self.index.host}/simple/a/") or True
        reply = self.add("b", "c", url=url, status=COULD_NOT, env=self.environment(**settings))
        self.assertEqual(reply.err.count("from https to http"), 2, reply.err)


class Lies(IndexTest):
    """Each lie gives one line, and everything else is read."""

    def refused(self, pattern, lie, words, **how):
        self.forget()
        self.index.add("good")
        if not how.pop("is_there", False):
            self.index.add("bad", **how)
        self.index.lies = {pattern: lambda handler: lie(handler) is not False} if pattern else {}
        reply = self.add("good", "bad", status=COULD_NOT)
        self.assertEqual([row[0] for row in self.rows()], ["good"], str(reply))
        lines = [line for line in reply.err.splitlines() if "bad" in line]
        self.assertEqual(len(lines), 1, str(reply))
        self.assertIn(words, lines[0])

    def moved(self, place):
        return lambda handler: handler.answer(302, b"", Location=place)

    def test_redirects(self):
        for place, words in (("file:///etc/passwd", "neither http nor https"), ("gopher://x/", "neither http nor https"),
                             ("/simple/bad/", "redirected more than")):
            self.refused("simple/bad/", self.moved(place), words)
            self.refused("files/bad", self.moved(place if "simple" not in place else "/files/bad-x"), words)

    @support.needs_root
    def test_into_the_private_network(self):
        """A public index cannot lead to a private address; in a network namespace, where it has a public one."""
        if "INSIDE" not in os.environ:
            words = ["unshare", "-mn", sys.executable, __file__, f"{type(self).__name__}.{self._testMethodName}"]
            env = {**os.environ, "INSIDE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
            done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=100)
            if done.stderr.startswith("unshare:"):
                self.skipTest(done.stderr)
            self.assertEqual(done.returncode, 0, done.stderr)
            return
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            address = struct.pack("16sH2x4s16x", b"lo:1", socket.AF_INET, socket.inet_aton("198.51.100.7"))
            fcntl.ioctl(control, 0x8914, struct.pack("16sH22x", b"lo", 0x41))  # SIOCSIFFLAGS: up, running
            fcntl.ioctl(control, 0x8916, address)  # SIOCSIFADDR
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
            address = socket.inet_pton(socket.AF_INET6, "2001:db8::7")
            fcntl.ioctl(control, 0x8916, struct.pack("16sIi", address, 128, socket.if_nametoindex("lo")))
        inner, self.index = self.index, Index(self, "198.51.100.7")
        inner.add("bad")
        for place in (inner.url, inner.url.replace("127.0.0.1", "localhost"), inner.url.replace("127.0.0.1", "0.0.0.0"),
                      inner.url.replace("127.0.0.1", "[::ffff:127.0.0.1]")):
            self.refused("simple/bad/", self.moved(f"{place}bad/"), "private network")
        self.refused(None, None, "private network", fields={"url": f"http://{inner.host}/files/bad-1.0-py3-none-any.whl"})
        self.assertEqual(inner.requests, [])
        # Past a proxy:
        proxy = Index(self)
        proxy.lies = {"^http:": self.forward}
        self.variables = {"http_proxy": proxy.url, "no_proxy": "127.0.0.1"}
        self.refused("simple/bad/", self.moved(f"{inner.url}bad/"), "private network")
        self.assertTrue(proxy.requests)
        # By another address of the index itself, later:
        support.write(f"{self.top}/hosts", "127.0.0.1 index.test\n198.51.100.7 index.test\n")
        subprocess.run(["mount", "--bind", f"{self.top}/hosts", "/etc/hosts"], check=True)
        later, self.variables = [], {}
        self.index.closes = True
        self.index.lies = {"simple/$": lambda handler: later.append(Index(self, port=self.index.server.server_port))}
        self.forget()
        self.add("--all", url=self.index.url.replace("198.51.100.7", "index.test"))
        self.assertEqual((inner.requests, later[0].requests), ([], []))
        # By a private address that is tried while the public one is slow to answer:
        support.write(f"{self.top}/hosts", "2001:db8::7 index.test\n127.0.0.1 index.test\n")
        slow = socket.create_server(("2001:db8::7", 0), family=socket.AF_INET6, backlog=0)
        with slow, socket.create_connection(slow.getsockname()[:2]):  # the queue is full: the next one tries again after a second
            threading.Thread(target=self.accept, args=(slow,), daemon=True).start()
            self.index.lies = {"simple/bad/": self.moved(f"{inner.url}bad/")}
            self.forget()
            reply = self.add("bad", url=f"http://index.test:{slow.getsockname()[1]}/simple/", status=COULD_NOT)
        self.assertIn("private network", reply.err)
        self.assertEqual(inner.requests, [])

    def accept(self, slow):
        time.sleep(0.6)
        slow.accept()
        self.index.server.process_request(*slow.accept())

    def forward(self, handler):
        """Answer as the index, to which the proxy leads."""
        proxy, handler.server = handler.server, self.index.server
        handler.path = "/" + handler.path.split("/", 3)[3]
        handler.do_GET()
        handler.server = proxy
        return True

    def test_pages(self):
        def endless(handler):
            handler.answer(200, b"", Content_Type=JSON, Content_Length=1 << 50)
            with contextlib.suppress(OSError):
                while handler.wfile.write(b" " * 65536):
                    pass

        def trailers(handler):
            handler.answer(200, b"1\r\n \r\n0\r\n", Content_Type=JSON, Transfer_Encoding="chunked")
            with contextlib.suppress(OSError):
                while handler.wfile.write(b"X: %s\r\n" % (b"y" * 1000)):
                    pass

        bomb = gzip.compress(b" " * (40 << 20))
        tags = ".".join(f"py{number}" for number in range(300000))
        page = json.dumps({"meta": {"api-version": "1.0"}, "files": [{"filename": f"bad-1.0-{tags}-{tags}-any.whl", "url": "x"}]}).encode()
        for lie, words in (
                (lambda h: h.answer(200, page, Content_Type=JSON), "no file of it"),
                (lambda h: h.answer(200, b"{", Content_Type=JSON), "no page of an index"),
                (lambda h: h.answer(200, b"[" * 100000, Content_Type=JSON), "no page of an index"),
                (lambda h: h.answer(200, b"\x89PNG", Content_Type="image/png"), "no page of an index"),
                (lambda h: h.answer(200, b"<script>" * 9999, Content_Type="text/html"), "no file of it"),
                (lambda h: h.answer(200, bomb, Content_Type=JSON, Content_Encoding="gzip"), "larger than the limit"),
                # libcurl would undo each, without a time limit as long as the innermost gives nothing
                (lambda h: h.answer(200, gzip.compress(gzip.compress(b" ")), Content_Type=JSON, Content_Encoding="gzip, gzip"), "larger than the limit"),
                (lambda h: h.answer(200, b"0\r\n\r\n", Transfer_Encoding="gzip, Chunked", Content_Encoding="gzip"), "larger than the limit"),
                (lambda h: h.answer(200, b"0\r\n\r\n", Content_Type=JSON, Transfer_Encoding="Chunked", Content_Encoding="identity"), "no page of an index"),
                (lambda h: h.answer(200, gzip.compress(b"{,," + b"," * (9 << 20)), Content_Type=JSON, Content_Encoding="gzip"), "values on a page"),
                (lambda h: h.answer(200, gzip.compress(b"<a href=/x>" * 65537), Content_Type="text/html", Content_Encoding="gzip"), "more than 65536 files"),
                (endless, "larger than the limit"),
                (trailers, "larger than the limit"),
                (lambda h: h.answer(404, b""), "no such page"),
                (lambda h: h.answer(403, b""), "another user or password")):
            self.refused("simple/bad/", lie, words)

    @unittest.skipUnless(shutil.which("openssl"), "there is no openssl")
    def test_tickets_without_end(self):
        """OpenSSL reads them all before an answer."""
        server = TicketFlood(self, lambda sealed: sealed.read())
        self.variables = {"PIP_CERT": server.certificate}
        reply = self.add("bad", url=f"https://localhost:{server.port}/simple/", status=COULD_NOT)
        self.assertEqual(reply.err, "entrydb: the server asks for too much computation\n")

    def test_pages_that_say_nonsense(self):
        for fields in ({"url": "file:///etc/passwd"}, {"hashes": {"sha256": "0" * 64}},
                       {"core-metadata": {"sha256": "0" * 64}}, {"size": 7}):
            words = {"url": "neither http", "hashes": "hash", "core-metadata": "hash", "size": "size"}[next(iter(fields))]
            self.refused(None, None, words, fields=fields)

    def test_wheels(self):
        def wrong_range(handler):
            handler.answer(206, b"x" * 100, Content_Range="bytes 0-49/100")

        def replaced(handler):
            if "Range" in handler.headers and not handler.headers["Range"].startswith("bytes=-"):
                total = len(self.index.files["bad-1.0-py3-none-any.whl"])
                first, last = map(int, handler.headers["Range"][6:].split("-"))
                handler.answer(206, b"x" * (last - first + 1), Content_Range=f"bytes {first}-{last}/{total}", ETag='"2"')
                return None
            return False

        self.refused("files/bad", lambda h: h.answer(404, b""), "no such page or file")
        self.refused("files/bad", wrong_range, "Content-Range")
        self.refused("files/bad", lambda h: h.answer(206, b"x", Content_Range="bytes 0-0/0"), "Content-Range")
        self.refused("files/bad", lambda h: h.answer(200, b"PK"), "hash")
        self.refused("files/bad", replaced, "it was replaced", padding=3 << 20, first=["entry_points.txt"])
        self.index.files[self.index.add("bad")] = b"x" * 100000
        self.refused(None, None, "not a zip", is_there=True)
        self.index.files.clear()
        self.index.add("bad", points="[g]\nx\n", METADATA="Nothing: here\n")
        self.refused(None, None, "gives no name", is_there=True)

    def test_busy(self):
        """A temporary failure is retried after the time that the server says."""
        self.index.add("a")
        said = []

        def busy(handler):
            said.append(1)
            if len(said) > 2:
                return False
            handler.answer([429, 503][len(said) - 1], b"", Retry_After="0")
            return True

        self.index.lies["simple/a/"] = busy
        self.add("a")
        self.assertEqual((len(said), len(self.rows())), (3, 1))
        self.index.lies["simple/a/"] = lambda h: h.answer(503, b"", Retry_After="3600") or True
        self.assertIn("asks to wait for 3600 seconds", self.add("a", status=COULD_NOT).err)
        self.assertEqual(len(self.rows()), 1)  # the rows of before stay

    def test_no_index(self):
        for url in (f"http://{self.index.host}/simple/nothing/", "http://127.0.0.1:1/", "https://127.0.0.1:1/"):
            reply = self.add("--all", url=url, status=COULD_NOT)
            self.assertEqual(len(reply.err.splitlines()), 1, reply)
        self.assertEqual(self.rows(), [])

    def test_a_full_disk(self):
        place = self.mount("size=64k")
        self.index.add("a", points="[demo]\n" + "".join(f"n{i} = m\n" for i in range(9999)))
        self.catalogue = f"{place}/c.db"
        reply = self.add("a", status=COULD_NOT)
        self.assertRegex(reply.err, "(?i)full|no space left")
        self.assertEqual(self.rows(), [])


class Search(IndexTest):
    def setUp(self):
        super().setUp()
        self.index.add("alpha", points="[demo]\nplug = a.b:c [x]\n[console_scripts]\naws = a:main\n")
        self.index.add("beta", points="[gui_scripts]\naws = b:main\n[console_scripts]\nother = b:o\n")
        self.add("--all")

    def search(self, *arguments, **how):
        return self.run_program("search", "--db", self.catalogue, *arguments, **how)

    def test_found(self):
        self.assertEqual(self.search("demo", status=DONE).fields, [["alpha", "1.0", "demo", "plug", "a.b:c [x]"]])
        self.assertEqual(self.search("demo", "plug").fields, self.search("demo").fields)
        self.assertEqual([row[0] for row in self.search("--command", "aws").fields], ["alpha", "beta"])
        row = self.search("demo", "--json").objects[0]
        self.assertEqual((row["module"], row["attr"], row["extras"], row["path"]), ("a.b", "c", ["x"], self.index.url))

    def test_not_found(self):
        for words, near in ((["demo", "plugg"], "plug"), (["dema"], "demo"), (["--command", "awss"], "aws")):
            reply = self.search(*words, status=NOT_FOUND)
            self.assertEqual((reply.out, reply.err.count("\n")), ("", 1))
            self.assertIn(f"did you mean '{near}'?", reply.err)
        self.assertEqual(self.search("demo", "--command", "x").status, USAGE)
        self.assertEqual(self.search().status, USAGE)

    def test_archives_of_the_users_own(self):
        self.assertEqual(self.run_program("search", "demo").status, NOT_FOUND)
        name, content = wheel("mine", points="[demo]\nown = m\n")
        with open(f"{self.top}/{name}", "wb") as file:
            file.write(content)
        self.run_program("add", f"{self.top}/{name}", status=DONE)
        self.run_program("add", "--index", self.index.url, "alpha", status=DONE)
        self.assertEqual([row[0] for row in self.run_program("search", "demo").fields], ["alpha", "mine"])
        self.run_program("forget", self.index.url, status=DONE)
        self.assertEqual([row[0] for row in self.run_program("search", "demo").fields], ["mine"])

    def test_other_commands(self):
        """An index is one root of its database, by its URL."""
        self.index.add("alpha", "2.0", "[demo]\nplug = new\n")
        self.assertEqual(self.run_program("list", "--db", self.catalogue, "demo").fields, [["demo", "plug", "a.b:c [x]", "alpha", "1.0"]])
        self.assertIn(f"{self.index.url}\tfresh", self.run_program("status", "--db", self.catalogue).out)
        self.assertIn(self.index.url, self.run_program("log", "--db", self.catalogue).out)
        self.run_program("forget", "--db", self.catalogue, self.index.url, status=DONE)
        self.assertEqual(self.rows(), [])
        self.add("--all")
        self.assertEqual(len(self.rows()), 3)
        self.run_program("verify", "--db", self.catalogue, status=DONE)

    def test_nothing_of_it_is_run(self):
        """As a path entry, its URL is a directory in the current one, which may be another user's."""
        place = f"{self.top}/{self.index.url.replace('//', '/')}"
        os.makedirs(f"{place}/a")
        support.write(f"{place}/a/__init__.py", "raise SystemExit(111)\n")
        self.update(self.prefix, "--db", self.catalogue)
        self.index.add("gamma", points="[demo]\nrun = a:main\n[console_scripts]\nrun = a:main\n")
        self.add("gamma")
        for words in (["probe", "demo", "run", "--db", self.catalogue], ["run", "--db", self.catalogue, "run"]):
            reply = self.run_program(*words, cwd=self.top, status=COULD_NOT)
            self.assertEqual(reply.err, f"entrydb: {self.index.url} is a package index: nothing of it is installed\n")

    def test_audit(self):
        self.index.files["s-1.0.tar.gz"] = b""
        self.add("--all", "--all-versions")
        found = self.run_program("audit", "--db", self.catalogue, "--json", status=NOT_FOUND).objects
        self.assertEqual({(row["rule"], row["distribution"]) for row in found},
                         {(rule, name) for rule in ("command-conflict", "command-hijack") for name in ("alpha", "beta")})

    @support.needs_root
    def test_other_users(self):
        """Root writes nothing beside another user's database."""
        os.chmod(self.top, 0o755)
        os.mkdir(f"{self.top}/theirs")
        os.chown(f"{self.top}/theirs", 1234, 1234)
        self.catalogue = f"{self.top}/theirs/c.db"
        self.add("alpha", status=COULD_NOT)
        self.assertEqual(os.listdir(f"{self.top}/theirs"), [])


if __name__ == "__main__":
    support.main()
