"""Random owners, permissions and access control lists: the kernel says what other users can read and change.

ENTRYDB_TEST_ROUNDS: how many trees of each kind (default 60, and 1,500 in a long run).
ENTRYDB_TEST_SEED: repeats a run.
"""

import contextlib
import itertools
import os
import random
import shlex
import shutil
import subprocess
import unittest

import support
from stress import SEED
from support import DATABASE, DONE, LONG, PROGRAM, SITE, CommandTest, add_distribution, write

ROUNDS = int(os.environ.get("ENTRYDB_TEST_ROUNDS") or (1500 if LONG else 60))
OWNER, STRANGERS, TEAM = 54301, (54302, 54303), 54310
USERS = {OWNER: [OWNER], STRANGERS[0]: [STRANGERS[0]], STRANGERS[1]: [STRANGERS[1], TEAM]}  # and their groups
LISTS = ("u:54302:---", "g:54302:---", "u:54302:rwx", "g:54310:rwx", "u:54303:rw", "m::---", "g::---,u:54303:rx", "o::---")
COMPILER = shlex.split(os.environ.get("CC", "cc"))


def as_user(user, work, *arguments):
    """What work(*arguments) returns in a process of the user: true or false; false for an OSError."""
    child = os.fork()
    if child == 0:
        done = False
        with contextlib.suppress(OSError):
            os.setgroups(USERS[user])
            os.setresgid(*[user] * 3)
            os.setresuid(*[user] * 3)
            done = work(*arguments)
        os._exit(0 if done else 1)
    return os.waitpid(child, 0)[1] == 0


def can_read(path):
    with open(path, "rb") as file:
        return file.read(1) is not None


def can_change(user, path):
    """Can he make a process that opens the path read something else? The path need not exist."""
    directory = os.path.dirname(path)
    if os.path.lexists(path):
        if user in (os.stat(directory).st_uid, None if os.path.islink(path) else os.lstat(path).st_uid):
            return True
        if not os.path.islink(path):
            with contextlib.suppress(OSError):
                os.close(os.open(path, os.O_WRONLY))
                return True
        os.rename(path, f"{path}.other")
        os.rename(f"{path}.other", path)
        return True
    os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    os.unlink(path)
    return True


def hops(path):
    """Each file on the way, links and what they lead to; of a missing one, the first that is missing."""
    rest, here, links = path.split("/"), "/", 0
    while rest:
        name = rest.pop(0)
        if name in ("", "."):
            continue
        if name == "..":
            here = os.path.dirname(here)
            continue
        here = os.path.join(here, name)
        yield here
        if os.path.islink(here):
            links += 1
            target = os.readlink(here)
            rest = target.split("/") + rest
            here = "/" if target[0] == "/" or links > 40 else os.path.dirname(here)
        elif not os.path.lexists(here):
            return


@unittest.skipUnless(support.IS_ROOT, "only root can give files to other users")
@unittest.skipUnless(shutil.which("setfacl"), "setfacl is not installed")
class Permissions(CommandTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.top, 0o755)
        self.tree = f"{self.top}/tree"
        self.prefix, self.site = f"{self.tree}/venv", f"{self.tree}/venv/{SITE}"
        self.database = f"{self.prefix}/{DATABASE}"

    def each_round(self):
        for number in range(ROUNDS):
            shutil.rmtree(self.tree, ignore_errors=True)
            os.makedirs(self.site)
            self.random = random.Random(f"{SEED} {number}")
            yield f"seed {SEED}, tree {number}"

    def link(self, target, path):
        os.symlink(self.random.choice((target, os.path.relpath(target, os.path.dirname(path)))), path)

    def files(self):
        for path, names, files in os.walk(self.tree):
            yield from (f"{path}/{name}" for name in [*names, *files])

    def change_list(self, path):
        subprocess.run(["setfacl", "-m", self.random.choice(LISTS), path], check=False, capture_output=True)

    def compile(self, path, text, *options):
        subprocess.run([*COMPILER, "-shared", "-fPIC", "-o", path, "-x", "c", "-", "-x", "none", *options], input=text, text=True, check=True)

    def run_as(self, owner, *arguments):
        subprocess.run([PROGRAM, *arguments], user=owner, group=owner, extra_groups=[], check=False, capture_output=True, cwd="/",
                       env=self.environment(HOME=f"{self.tree}/home", XDG_STATE_HOME=f"{self.tree}/home"),
                       umask=self.random.choice((0o022, 0o077, 0o002, 0)))


class Publishing(Permissions):
    """What others read in a database or report, they could have read themselves."""

    def put(self, path, text):
        """Write a text, at times behind a link, that contains a word of its own."""
        word = f"swordfish{len(self.words)}x{self.random.randrange(1 << 32)}"
        if self.random.random() < 0.15:
            self.link(f"{self.tree}/other/{word}", path)
            path = f"{self.tree}/other/{word}"
        write(path, text.replace("WORD", word))
        self.words[word] = path

    def make(self):
        self.words = {}
        os.makedirs(f"{self.tree}/other")
        for number in range(self.random.randrange(2, 5)):
            info = f"{self.site}/p{number}-1.0.dist-info"
            if self.random.random() < 0.25:
                os.makedirs(f"{self.tree}/other/info{number}")
                self.link(f"{self.tree}/other/info{number}", info)
            else:
                os.makedirs(info)
            self.put(f"{info}/entry_points.txt", f"[g]\nWORD = m{number}:x\n[console_scripts]\nc{number} = m{number}:x\n")
            self.put(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: p{number}\nVersion: 1.0+WORD\n")
            self.put(f"{info}/RECORD", f"m{number}.py,sha256=WORD,5\n")
            self.put(f"{info}/direct_url.json", '{"url": "file:///WORD", "dir_info": {"editable": true}}')
            self.put(f"{self.site}/m{number}.py", "def x(): pass  # WORD\n")
        self.put(f"{self.site}/z.pth", 'import sys; "WORD"\n/WORD\n')
        self.put(f"{self.site}/sitecustomize.py", 'x = "WORD"\n')

    def close(self, owner):
        """Take permissions away at random."""
        for path in (self.tree, *self.files()):
            os.lchown(path, owner, owner)
            if os.path.islink(path):
                continue
            if self.random.random() < 0.15:
                os.chown(path, owner, self.random.choice((TEAM, STRANGERS[0])))
            if self.random.random() < (0.1 if os.path.isdir(path) else 0.3):
                os.chmod(path, self.random.choice((0o700, 0o711, 0o750, 0o705, 0o744) if os.path.isdir(path) else (0o600, 0o640, 0o604)))
            if self.random.random() < 0.1:
                self.change_list(path)
        if self.random.random() < 0.3:
            os.chmod(self.prefix, self.random.choice((0o2750, 0o2710)))
            os.chown(self.prefix, owner, TEAM)

    def test_what_is_published(self):
        seen = 0
        for where in self.each_round():
            owner, home = self.random.choice((0, OWNER)), f"{self.tree}/home"
            self.make()
            self.close(owner)
            os.makedirs(home)
            os.chown(home, owner, owner)
            self.run_as(owner, "update", self.prefix)
            self.run_as(owner, "audit", "--sarif", f"{home}/sarif", "--html", f"{home}/html", self.prefix)
            for file, user in itertools.product((self.database, f"{home}/sarif", f"{home}/html"), USERS):
                if user == owner or not os.path.exists(file) or not as_user(user, can_read, file):
                    continue
                content = support.read_bytes(file)
                for word, path in self.words.items():
                    if word.encode() in content:
                        seen += 1
                        self.assertTrue(as_user(user, can_read, path), (where, file, user, path))
        self.assertGreater(seen, ROUNDS // 4)


@unittest.skipUnless(shutil.which(COMPILER[0]), "no C compiler")
class Interference(Permissions):
    """What some may not read does not influence what all can read, beyond its name, size and times."""

    TIMES = ("time", "stamp", "watched", "settled", "inode")  # of columns

    def make(self):
        record = "".join(f"{name},,\n" for name in ("alpha/__init__.py", "alpha/one.py", "alpha/libquiet.so", "alpha.libs/libquay.so"))
        info = add_distribution(self.site, "alpha", text="[g]\nquiet = alpha.libquiet:quiet\none = alpha.one:quick [quack]\n")
        write(f"{info}/RECORD", record)
        for name in ("alpha", "alpha.libs"):
            os.makedirs(f"{self.site}/{name}")
        for name in ("__init__", "one"):
            write(f"{self.site}/alpha/{name}.py", "quick = 1\n")
        self.compile(f"{self.site}/alpha.libs/libquay.so", "int quay;", "-nostdlib", "-Wl,-soname,libquay.so")
        self.compile(f"{self.site}/alpha/libquiet.so", "int quiet(void) { return 1; } int AdbcDriverInit(void) { return 0; }", "-nostdlib",
                     "-Wl,-rpath,$ORIGIN/../alpha.libs,--no-as-needed,--build-id", f"{self.site}/alpha.libs/libquay.so")
        source = f"{self.tree}/source"
        info = add_distribution(self.site, "beta", text="[g]\nquery = beta:query\n")
        write(f"{info}/direct_url.json", f'{{"url": "file://{source}/beta", "dir_info": {{"editable": true}}}}')
        write(f"{self.site}/beta.pth", f"{source}/beta\n")
        os.makedirs(f"{source}/beta")
        write(f"{source}/beta/beta.py", "query = 1\n")
        write(f"{self.site}/delta-4.0.egg-info", "Name: delta\nVersion: 4.0\n")

    def published(self):
        """What all can read: rows without times, or None."""
        file = f"{self.tree}/public.db"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)
        self.run_program("--db", file, "update", self.site, status=None)
        with support.connect(file) as database:
            tables = {table: [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
                      for table, in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()}
            rows = [(table, *row) for table, columns in sorted(tables.items()) for row in database.execute(
                "SELECT {} FROM {}".format(", ".join(name for name in columns if not any(each in name for each in self.TIMES)), table)).fetchall()]
        return rows if os.stat(file).st_mode & 0o044 else None

    @staticmethod
    def alter(path):
        """Change the text of a file, not its size; returns what restores it."""
        before = support.read_bytes(path)
        after = before.replace(b"q", b"j").replace(b"Adbc", b"Abdc").replace(b".0\n", b".7\n").replace(b"alpha/", b"alphx/")
        write(path, after)
        return lambda: write(path, before)

    def test_every_file_and_directory(self):
        self.make()
        every = [*self.files()]
        relevant = 0
        for path in every:
            inside = [each for each in every if os.path.isfile(each) and f"{each}/".startswith(f"{path}/")]
            for mode in (0o755, 0o700, 0o750, 0o705):  # first as everybody's
                os.chown(path, 0, TEAM)
                os.chmod(path, mode if os.path.isdir(path) else mode & ~0o111)
                first = self.published()
                restore = [self.alter(each) for each in inside]
                second = self.published()
                for each in restore:
                    each()
                if mode == 0o755:
                    relevant += os.path.isfile(path) and first != second
                else:
                    self.assertEqual(first, second, (path, oct(mode)))
            os.chmod(path, 0o755)
        self.assertGreater(relevant, 6)


@unittest.skipUnless(shutil.which(COMPILER[0]), "no C compiler")
@unittest.skipUnless(shutil.which("strace"), "strace is not installed")
class Loading(Permissions):
    """What root loads, nobody else can replace: the dynamic linker says which files it looks for."""

    def run_path(self, origin, target):
        path = self.random.choice((target, f"$ORIGIN/{os.path.relpath(target, origin)}", f"${{ORIGIN}}/./{os.path.relpath(target, origin)}"))
        if self.random.random() < 0.2:
            path = f"{self.tree}/x/link{self.random.randrange(1 << 32)}"
            self.link(target, path)
        if self.random.random() < 0.3:
            path = f"{self.random.choice((f'{self.tree}/none', f'{self.tree}/libs/sub', '$ORIGIN'))}:{path}"
        return [self.random.choice(("-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags")), f"-Wl,-rpath,{path}"]

    def make(self):
        """A plugin needs libone.so, and that libtwo.so, each somewhere."""
        places = [self.site, f"{self.site}/plug.libs", f"{self.prefix}/lib", f"{self.tree}/libs", f"{self.tree}/libs/sub", f"{self.tree}/x"]
        for place in places:
            os.makedirs(place, exist_ok=True)
        plug, one, two = self.random.choices(places, k=3)
        self.compile(f"{two}/libtwo.so", "int two(void) { return 2; }", "-Wl,-soname,libtwo.so")
        name = self.random.choice(("libone.so", f"{one}/libone.so"))
        self.compile(f"{one}/libone.so", "int two(void); int one(void) { return two(); }", f"-Wl,-soname,{name}", f"{two}/libtwo.so",
                     *self.run_path(one, two))
        self.compile(f"{plug}/plug.so", "int one(void); int entry(void) { return one(); }", f"{one}/libone.so",
                     "-Wl,--allow-shlib-undefined", *self.run_path(plug, one))
        if plug != self.site:
            self.link(f"{plug}/plug.so", f"{self.site}/plug.so")
        if self.random.random() < 0.3:
            os.rename(f"{one}/libone.so", f"{self.tree}/x/one")
            self.link(f"{self.tree}/x/one", f"{one}/libone.so")
        add_distribution(self.site, "plug", text="[g]\nx = plug:entry\n")

    def open_up(self):
        """Let others write here and there."""
        files = sorted(self.files())
        for path in self.random.sample(files, self.random.choice((0, 1, 1, 1, 2, 3))):
            what = self.random.randrange(4)
            if os.path.islink(path) or what == 0:
                os.lchown(path, self.random.choice((OWNER, *STRANGERS)), 0)
            elif what == 1:
                os.chown(path, 0, self.random.choice((0, TEAM, STRANGERS[0])))
                os.chmod(path, self.random.choice((0o775, 0o777, 0o1777, 0o2775, 0o1775)))
            elif what == 2:
                os.chmod(path, 0o777)
            else:
                self.change_list(path)

    def looked_for(self, directory):
        """The files that the dynamic linker opens, or would open if they existed; none if it fails."""
        trace = f"{self.top}/trace"
        done = subprocess.run(["strace", "-f", "-e", "trace=openat", "-o", trace, "/usr/bin/python3", "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])",
                               f"{self.site}/plug.so"], cwd=directory, capture_output=True, check=False)
        found = [line.split('"')[1] for line in support.read(trace).splitlines() if f'"{self.tree}' in line]
        return found if done.returncode == 0 else []

    def test_what_is_loaded(self):
        loaded = refused = 0
        for where in self.each_round():
            self.make()
            self.open_up()
            directory = self.random.choice((self.tree, self.site, "/"))
            files = self.looked_for(directory)
            reply = self.run_program("probe", "--path", self.site, "--json", "g", "x", cwd=directory)
            if not files or not reply.objects or reply.objects[0]["outcome"] != "loaded":
                refused += 1
                continue
            self.assertEqual(reply.status, DONE)
            loaded += 1
            for path, user in itertools.product({hop for file in files for hop in hops(file) if hop.startswith(f"{self.tree}/")}, USERS):
                self.assertFalse(as_user(user, can_change, user, path), (where, user, path))
        print(f"\n{loaded} loaded, {refused} refused (seed {SEED})", flush=True)
        self.assertGreater(loaded, ROUNDS // 5)


class Writing(Permissions):
    """Root changes nothing that another user could have led it to."""

    NAMES = [f"{base}{end}" for base, ends in (("var/lib/entrydb/entry_points.db", ("", ".lock", ".new", ".damaged")),
                                               ("etc/entrydb/policy.conf", ("", ".lock", ".new")), ("etc/adbc/drivers/", (".entrydb",)),
                                               ("var", ("", "/lib", "/lib/entrydb")), ("etc", ("", "/entrydb", "/adbc", "/adbc/drivers")))
             for end in ends]

    def plant(self, name):
        """Put something in the way: a link, a hard link, a FIFO, a directory or a file; of root or another user."""
        path, target = f"{self.prefix}/{name}", self.random.choice((self.private, f"{self.private}/key", f"{self.private}/new"))
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.lexists(path):
                return
            kind = self.random.choice((os.symlink, os.link, os.mkfifo, os.mkdir, write))
            kind(*{os.symlink: (target, path), os.link: (f"{self.private}/key", path), write: (path, "theirs")}.get(kind, (path,)))
            if kind is not os.link:
                os.lchown(path, *[self.random.choice((OWNER, *STRANGERS))] * 2)

    def look(self):
        """Of each file: the owner and all that can be changed."""
        found = {}
        for path in self.files():
            status = os.lstat(path)
            content = os.readlink(path) if os.path.islink(path) else support.read_bytes(path) if os.path.isfile(path) else None
            found[path] = (status.st_uid, status.st_gid, status.st_mode, content)
        return found

    def test_what_is_written(self):
        written = 0
        for where in self.each_round():
            add_distribution(self.site, "alpha")
            self.private = f"{self.tree}/private"
            os.mkdir(self.private)
            write(f"{self.private}/key", "swordfish")
            for name in self.random.sample(self.NAMES, self.random.choice((0, 1, 2, 3))):
                self.plant(name)
            files = [path for path in self.files() if path.startswith(self.prefix)]
            for path in self.random.sample(files, self.random.choice((0, 1, 2))):
                os.lchown(path, self.random.choice((OWNER, *STRANGERS)), 0)
            os.chown(f"{self.private}/key", 0, 0)
            for words in self.random.sample((["update"], ["update", "--hook", "dpkg"], ["disable", "g/x", "--prefix"], ["enable", "g/x", "--prefix"],
                                             ["export", "adbc"], ["forget"], ["update", "--sealed"]), 3):
                before = self.look()
                subprocess.run([PROGRAM, *words, self.prefix], env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True,
                               check=False, timeout=60)
                after = self.look()
                for path in (each for each in before.keys() | after.keys() if before.get(each) != after.get(each)):
                    written += 1
                    self.assertFalse(path.startswith(self.private), (where, words, path))
                    while (path := os.path.dirname(path)) != self.tree:
                        self.assertEqual(before.get(path, after.get(path))[0], 0, (where, words, path))
        self.assertGreater(written, ROUNDS // 2)


class Sysroot(Permissions):
    """Nothing of the host gets into what is said about another root, whatever its links are."""

    def target(self, name):
        """A path to a file of the host, as a link in the root may have it."""
        path = f"{self.top}/host/{name}"
        if self.random.random() < 0.2:
            link = f"{self.tree}/link{self.random.randrange(1 << 32)}"
            os.symlink(self.random.choice((f"{self.top}/host", f"{'../' * 20}{self.top}/host", f"/proc/1/root{self.top}/host")), link)
            return f"/{os.path.basename(link)}/{name}"
        return self.random.choice((path, "../" * 20 + path, f"/proc/self/root{path}", f"/proc/{os.getpid()}/cwd/{os.path.relpath(path)}"))

    def make(self, site):
        for number in range(3):
            info = f"{site}/p{number}-1.0.dist-info"
            if self.random.random() < 0.3:
                os.symlink(self.target("info"), info)
                continue
            os.makedirs(info)
            write(f"{info}/RECORD", f"m{number}.py,,\n{'../' * 20}{self.top}/host/module,sha256=x,5\n")
            for name, text in (("entry_points.txt", f"[g]\nown{number} = m{number}:x\n"), ("METADATA", support.metadata(f"p{number}", "1.0")),
                               ("direct_url.json", "{}")):
                if self.random.random() < 0.4:
                    os.symlink(self.target(f"info/{name}"), f"{info}/{name}")
                else:
                    write(f"{info}/{name}", text)
            os.symlink(self.target("module"), f"{site}/m{number}.py")
        for name in ("z.pth", "sitecustomize.py"):
            os.symlink(self.target("module"), f"{site}/{name}")
        for name, target in (("etc/entrydb/policy.conf", "rules"), ("var/lib/entrydb", "info"), ("var", "info"), (f"venv/{SITE}", "info")):
            if self.random.random() < 0.2:
                shutil.rmtree(f"{self.tree}/{name}", ignore_errors=True)
                with contextlib.suppress(FileExistsError):
                    os.makedirs(os.path.dirname(f"{self.tree}/{name}"), exist_ok=True)
                    os.symlink(self.target(target), f"{self.tree}/{name}")

    def test_what_is_said_of_it(self):
        host, seen = f"{self.top}/host", 0
        os.makedirs(f"{host}/info")
        for name, text in (("info/entry_points.txt", "[g]\nswordfish = x:y\n"), ("info/METADATA", support.metadata("h", "1.0+swordfish")),
                           ("info/direct_url.json", '{"url": "swordfish"}'), ("module", "import swordfish\n/swordfish\n"),
                           ("rules", "[g]\nswordfish = disable\n")):
            write(f"{host}/{name}", text)
        for where in self.each_round():
            self.make(self.site)
            site = ["--path", f"/venv/{SITE}"]
            for words in (["update", "/venv"], ["list", *site], ["list", "--allowed", "--fresh", "exact", *site], ["why", "g", "own0", *site],
                          ["audit", "--json", "/venv"], ["verify", "/venv"], ["log"], ["status", *site]):
                reply = self.run_program(words[0], "--root", self.tree, *words[1:])
                self.assertNotIn("swordfish", reply.out + reply.err, (where, words))
                seen += "own" in reply.out
            for path in self.files():
                if os.path.isfile(path) and not os.path.islink(path):
                    self.assertNotIn(b"swordfish", support.read_bytes(path), (where, path))
            self.assertEqual(sorted(os.listdir(f"{host}/info")), ["METADATA", "direct_url.json", "entry_points.txt"], where)
        self.assertGreater(seen, ROUNDS // 4)


if __name__ == "__main__":
    unittest.main()
