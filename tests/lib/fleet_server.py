"""A private PostgreSQL server for a test, and sites of hosts to report to it."""

import contextlib
import glob
import os
import shutil
import socket
import subprocess
import tempfile
import threading

from support import IS_ROOT, STRANGER, TOP, as_user, digest, metadata, remove_tree, write, read

FLEET = f"{TOP}/indexer/fleet/fleet.sql"
RELATIONS = ("distribution", "entry_point", "plugin", "startup", "event", "finding")


def tool(name):
    """The path of a PostgreSQL program, which Debian keeps off the PATH."""
    return max(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), default=None) or shutil.which(name)


class Server:
    """A private server that listens on a socket in its own directory."""

    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="entrydb-pg-", dir="/tmp")  # socket paths must be short
        self.owner = STRANGER if IS_ROOT else None
        if self.owner:
            os.chown(self.top, self.owner, self.owner)
        os.chmod(self.top, 0o755)
        self.data = f"{self.top}/data"
        self.run("initdb", "-D", self.data, "-U", "admin", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self.start()
        try:
            self.sql("CREATE DATABASE fleet", database="postgres")
            self.sql(read(FLEET))
        except BaseException:
            self.end()
            raise

    def run(self, name, *arguments, **how):
        return subprocess.run([tool(name), *arguments], check=True, capture_output=True, text=True, cwd="/",
                              **as_user(self.owner), **how)

    def start(self, settings="-c listen_addresses="):
        # Not captured: the server would keep the pipe open.
        subprocess.run([tool("pg_ctl"), "-D", self.data, "-w", "-l", f"{self.top}/log", "-o",
                        f"-k {self.top} -c fsync=off {settings}", "start"], check=True, cwd="/",
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user(self.owner))

    def stop(self, mode="immediate"):
        self.run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def end(self):
        try:
            self.stop()
        except subprocess.CalledProcessError:
            pass  # already stopped
        remove_tree(self.top)

    def sql(self, text, user="admin", database="fleet", check=True):
        done = subprocess.run([tool("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.top, "-U", user,
                               "-d", database], input=text, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise AssertionError(done.stderr)
        return [line.split("|") for line in done.stdout.splitlines()] if check else done.stderr

    def url(self, role):
        return f"postgresql://{role}@/fleet?host={self.top}"

    def copy_script(self, host):
        """A psql script that copies all rows of a host into new tables with the same indexes and foreign keys."""
        self.sql("CREATE SCHEMA bare;" + "".join(
            f"CREATE TABLE bare.{name} (LIKE entrydb.{name} INCLUDING INDEXES INCLUDING DEFAULTS);"
            f"ALTER TABLE bare.{name} ADD FOREIGN KEY (environment) REFERENCES entrydb.environment ON DELETE CASCADE;" for name in RELATIONS))
        lines = []
        for name in RELATIONS:
            file = f"{self.top}/{name}.copy"
            self.sql(f"COPY (SELECT t.* FROM entrydb.{name} t JOIN entrydb.environment e ON e.id = t.environment "
                     f"JOIN entrydb.host h ON h.id = e.host WHERE h.name = '{host}') "
                     f"TO '{file}'")
            os.chmod(file, 0o644)
            lines.append(f"\\copy bare.{name} FROM '{file}'\n")
        write(f"{self.top}/copy.sql", f"BEGIN;\n{''.join(lines)}COMMIT;\n")
        return [tool("psql"), "-X", "-q", "-h", self.top, "-U", "admin", "-d", "fleet", "-f", f"{self.top}/copy.sql"]

    def add_hosts(self, names):
        self.sql("".join(f"CREATE ROLE {name} LOGIN; SELECT entrydb.enroll('{name}');\n" for name in names))

    def processor_seconds(self):
        """The CPU time of all server processes that have ended."""
        with open(f"{self.data}/postmaster.pid", encoding="ascii") as file:
            number = int(file.readline())
        fields = read(f"/proc/{number}/stat").rpartition(")")[2].split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def stop_listening(listener, thread):
    """End the thread that accepts, first: else it could accept for another listener, which gets the same descriptor."""
    listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    listener.close()


class RoundTrips:
    """A proxy between a client and the server that counts the server's ReadyForQuery messages."""

    def __init__(self, server):
        self.top = tempfile.mkdtemp(prefix="entrydb-pg-", dir="/tmp")
        self.server, self.count = server, 0
        self.answers = None  # the connection is cut after this many
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.top}/.s.PGSQL.5432")
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def url(self, role):
        return f"postgresql://{role}@/fleet?host={self.top}"

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            upstream = socket.socket(socket.AF_UNIX)
            upstream.connect(f"{self.server.top}/.s.PGSQL.5432")
            threading.Thread(target=self.forward, args=(client, upstream), daemon=True).start()
            threading.Thread(target=self.answer, args=(upstream, client), daemon=True).start()

    def forward(self, client, upstream):
        with client, contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                upstream.sendall(data)
            upstream.shutdown(socket.SHUT_WR)

    def answer(self, upstream, client):
        """Forward messages: a type byte, a 4-byte length that includes itself, and the body."""
        seen = b""
        with upstream, contextlib.suppress(OSError):  # the client may close first
            while data := upstream.recv(1 << 16):
                seen += data
                while len(seen) >= 5 and len(seen) > (size := int.from_bytes(seen[1:5], "big")):
                    self.count += seen[:1] == b"Z"
                    seen = seen[1 + size:]
                if self.answers is None or self.count <= self.answers:
                    client.sendall(data)

    def close(self):
        stop_listening(self.listener, self.thread)
        remove_tree(self.top)


def make_site(site, distributions, each, version="1.0"):
    """An environment in which `entrydb audit` finds no problem, as pip would leave it."""
    for number in range(distributions):
        name, info = f"dist{number}", f"dist{number}-{version}.dist-info"
        files = {f"{info}/METADATA": metadata(name, version), f"{info}/INSTALLER": "pip\n", f"{name}/__init__.py": "",
                 f"{info}/entry_points.txt": f"[group{number % 20}]\n" +
                                             "".join(f"{name}-{i} = {name}.m{i}:f\n" for i in range(each))}
        files |= {f"{name}/m{i}.py": f"# {i}\n" for i in range(each)}
        record = "".join(f"{path},{digest(text.encode())},{len(text)}\n" for path, text in files.items())
        for path, text in (files | {f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}).items():
            os.makedirs(os.path.dirname(f"{site}/{path}"), exist_ok=True)
            write(f"{site}/{path}", text)
