"""Random hostile environments: path entries with contents that readers get wrong.

All choices come from one random.Random, so a seed and a case number reproduce the tree (except for
the readdir order, which the file system chooses). The pools of names are small on purpose: otherwise
distributions would never collide. FIFOs are left out, since they could block a reader for ever.
"""

import io
import os
import shutil
import warnings
import zipfile

STEMS = ["foo", "foo", "Foo", "FOO", "foo.bar", "foo_bar", "foo-bar", "Foo--Bar", "my-pkg", "my",
         "zz", "mm", "a", "b", "b.c", "~oo", "_x", "x_", ".hid", "..", "...a", "-", "1", "na me",
         "stra\u00dfe", "STRASSE", "\u03a3\u0391\u03a3", "\u03c3\u03b1\u03c2", "\u0391\u03a3.b",
         "\u0130x", "i\u0307x", "\u212a", "k", "\u00c9", "e\u0301", "\u00e9", "\U00010400", "\U00010428",
         "egg-info", "foo.egg", "a:b", "q'u\"o", "%41", "\\b", "*"]
RAW_STEMS = ["\udcff", "foo\udcff", "\udced\udca0\udc80", "\udcc3"]
VERSIONS = ["-1.0", "-1.0", "-2.0", "-3", "", "", "-1.0-py3.8", ".1-2", "-", "_1.0"]
ODD_WHOLE_NAMES = [".dist-info", ".egg-info", "-1.0.dist-info", "-.egg-info", "..dist-info",
                   "...dist-info", "X.DIST-INFO", "x-1.Dist-Info", "foo-1.EGG-INFO", "dist-info",
                   "foo-1.dist-infos", "foo.dist-info.bak", "foo.dist-info.egg-info",
                   "foo.dist\u2010info", "foo-1.d\u0131st-info", "foo.d\u0130st-info", "foo-1.dist-info "]
GROUPS = ["g", "g", "g", "console_scripts", "console_scripts", "G", "h.i", " g ", "", "a][b", "#g",
          "\U0001d524", "\uff47", "\u00e9", "DEFAULT", "g;", "\u2009thin"]
NAMES = ["a", "a", "b", "main", "A", "\u00e9", "x y", "k#", "-v", "", "a[b]", "%(x)s", ":", "n\x00m", "\U0001f40d"]
VALUES = ["m:f", "m:f", "m", "pkg.mod:attr", "pkg.mod : attr.sub  [x, y-z]", "m [e]", "m:f[a,b]", "...",
          "1a:2b", ".m", "m:", "a-b:c", "m:a b", "", "= b", "m:f # no", "m:f [x", "\u00e9:\u00fc", "m:f []",
          "m :f", "m:\u2003f", "m:f [\u00e9 \u4e00]", "m\u00b2:f", "m:f[a][b]", "m:\u0301f", "m:f [x] y", "m:f [a\x1fb]",
          "\u0e01\u0e31:f", "m\x00:f", "x=y", "m:f.", "\u2118:f", "m:f[\n", "\u1e9e:\u00df", "m:f [\u200d]"]
SPACES = ["", "", "", " ", " ", "\t", "\x1f", "\xa0", "\u3000", "\u2003", "\u202f", "\u1680", "\u205f", "\u200b", "\ufeff"]
BREAKS = ["\n"] * 12 + ["\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\n\r"]
FATAL_LINES = ["no equals", "; note", "a : b", "[g] # c", "  continued", "[g", "g]", "\ufeff"]
BAD_UTF8 = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xf0\x80\x80\x80", b"\x80"]
METADATA = ["Name: {n}\nVersion: 1.0\n", "Metadata-Version: 2.1\nName: {n}\nVersion: 1.0\n\nName: body\n",
            "name: {n}\r\nVERSION: 2\r\n\r\nx", "Version: 1\n", "\nName: {n}\n",
            "Name:\nVersion:\n", "\ufeffName: {n}\n", "Name: {n}\nName: other\n", "From x y\nName: {n}\n",
            "junk line\nName: {n}\n", "Name : {n}\nVersion: 3\n", "Name:{n}\nVersion:\t1 \n",
            " Name: {n}\nVersion: 1\n", "X-Name: {n}\nVersion: 1\nsummary\nName: late\n", "Name: {n}\rVersion: 5\r",
            "Name: {n}\x0bVersion: 5\n", "Name: {n}\n\x0c\nVersion: 5\n", "Name: {n}\x85\u2028Version: 5\n", "Name:: {n}\n"]
PLAIN_METADATA = METADATA[:2]
ZIP_NAMES = ["z.zip", "z.whl", "z.egg", "z.EGG", "z-1.0-py3.egg", "z.txt", "z", ".egg", "\u00e9.jar", "z.egg.zip"]
DIRECTORY_NAMES = ["site", "lib/python3.12/site-packages", "venv/lib/python3.11/site-packages", "d.egg", "D.EGG",
                   "x-1.2-py3.10.egg", "a b", "\u00e9t\u00e9", "co:lon", ".egg", "raw\udcfe", "lib/python3/dist-packages"]


class Environment:
    """A directory `root` with path entries in it; `path` lists them as the query spells them."""

    def __init__(self, root, random):
        self.root = root
        self.random = random
        self.path = []
        self.directories = []
        self.zips = []
        self.outside = 0
        # One fatal file fails the whole call: if every tree had one, little would be compared.
        self.fatal = random.random() < 0.4
        os.mkdir(root)
        self.build()

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, pool):
        return self.random.choice(pool)

    # -- the path ---------------------------------------------------------

    def build(self):
        for _ in range(self.random.choice([1, 1, 2, 2, 3])):
            self.add_directory()
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            self.add_zip()
        if self.chance(0.25):
            self.add_trap_entry()
        if self.chance(0.15):
            self.path.append(self.pick(self.path))
        self.random.shuffle(self.path)

    def unused(self, pool):
        free = [name for name in pool if not os.path.lexists(f"{self.root}/{name}")]
        return self.pick(free)

    def add_directory(self):
        name = self.unused(DIRECTORY_NAMES)
        place = f"{self.root}/{name}"
        os.makedirs(place)
        self.directories.append(place)
        for _ in range(self.random.choice([0, 1, 2, 3, 4, 6, 9])):
            self.add_distribution(place)
        if self.chance(0.5):
            self.add_namesake(place)
        if self.chance(0.7 if name.lower().endswith(".egg") else 0.1):
            self.write_distribution(f"{place}/{self.pick(['EGG-INFO', 'EGG-INFO', 'egg-info', 'Egg-Info'])}")
        bystander = f"{place}/{self.pick(['foo.py', 'x.egg-link', 'y.pth', 'egg-info' if self.fatal else 'z'])}"
        if self.chance(0.2) and not os.path.exists(bystander):
            write(bystander, b"../site\n.")
        self.path.append(self.spelling(place, name))
        if self.chance(0.04) and os.geteuid():
            os.chmod(place, 0)

    def spelling(self, place, name):
        if self.chance(0.6):
            return place
        if self.chance(0.15):
            link = f"{self.root}/link{len(self.path)}{self.pick(['', '.egg', '.zip'])}"
            os.symlink(place, link)
            return link
        return self.pick([place + "/", name, "./" + name, name + "/", f"{self.root}//{name}", f"{place}/.",
                          f"{name}/../{os.path.basename(name)}", place + "//", f"{self.root}/./{name}"])

    def add_zip(self):
        name = self.unused(ZIP_NAMES)
        place = f"{self.root}/{name}"
        self.write_zip(place)
        self.zips.append(place)
        spelt = self.pick([place] * 8 + [name, name, place + "/", f"{place}/sub", f"{self.root}//{name}", "./" + name])
        self.path.append(spelt)

    def add_trap_entry(self):
        kind = self.random.randrange(7)
        place = f"{self.root}/trap"
        if kind == 0:
            place = ""
            for _ in range(self.random.randrange(3)):
                self.add_distribution(self.root)
        elif kind == 1:
            write(place, self.pick([b"", b"garbage", b"PK\x03\x04", b"PK\x05\x06" + bytes(17), b"PK\x05\x06" + bytes(18)]))
        elif kind == 2:
            os.symlink("nowhere", place)
        elif kind == 3:
            os.symlink("trap", place)
        elif kind == 4 and self.zips:
            with open(self.zips[0], "rb") as stream:
                whole = stream.read()
            write(place, whole[:self.random.randrange(len(whole))])
        elif kind == 5:
            place = self.pick([".", "..", "/", "/dev/null", "x" * 300, "dist-info"])
        self.path.append(place)

    # -- distributions ----------------------------------------------------

    def name(self, raw=True):
        if self.chance(0.12):
            return self.pick(ODD_WHOLE_NAMES)
        stem = self.pick(RAW_STEMS) if raw and self.chance(0.05) else self.pick(STEMS)
        ending = self.pick([".dist-info"] * 10 + [".egg-info"] * 6 + [".Dist-Info", ".EGG-INFO"])
        return stem + self.pick(VERSIONS) + ending

    def add_distribution(self, place):
        path = f"{place}/{self.name()}"
        if os.path.lexists(path):
            return
        kind = self.random.random()
        if kind < 0.78:
            self.write_distribution(path)
        elif kind < 0.86:
            write(path, self.metadata(self.key_needs_name(path)))
        elif kind < 0.90 and not self.key_needs_name(path):
            os.symlink(f"gone{self.random.randrange(9)}", path)
        elif kind < 0.97:
            self.outside += 1
            target = f"{self.root}/out{self.outside}"
            self.write_distribution(target, self.key_needs_name(path))
            os.symlink(target, path)
        elif kind < 0.985 and self.fatal:
            os.symlink(os.path.basename(path), path)
        else:
            self.outside += 1
            write(f"{self.root}/out{self.outside}", self.metadata(self.key_needs_name(path)))
            os.symlink(f"{self.root}/out{self.outside}", path)

    def add_namesake(self, place):
        """Add a distribution of the same name, which shadows an existing one or is shadowed by it."""
        names = [child for child in sorted(os.listdir(place)) if child.lower().endswith("-info")]
        path = f"{place}/{self.pick(names).partition('-')[0]}-{self.pick(['7.dist', '8.egg'])}-info" if names else place
        if not os.path.lexists(path):
            self.write_distribution(path)

    def key_needs_name(self, path):
        """Would a missing Name be fatal here, in a tree that must have no fatal file?"""
        stem, extension = os.path.splitext(os.path.basename(path))
        exact = extension in (".dist-info", ".egg-info") and stem.partition("-")[0]
        return not self.fatal and not exact

    def write_distribution(self, path, plain=False):
        os.mkdir(path)
        plain = plain or self.key_needs_name(path)
        for name in ["METADATA"] if plain else self.metadata_names(path):
            self.write_metadata(f"{path}/{name}", plain)
        if self.chance(0.8):
            self.write_entry_points(f"{path}/entry_points.txt")
        elif self.chance(0.3):
            write(f"{path}/Entry_Points.txt", self.text())
        if self.chance(0.1):
            write(f"{path}/RECORD", b"")
        if self.chance(0.03) and os.geteuid():
            os.chmod(path, 0)

    def metadata_names(self, path):
        usual = "METADATA" if path.lower().endswith(".dist-info") else "PKG-INFO"
        return self.pick([[usual]] * 8 + [["METADATA"], ["PKG-INFO"], ["METADATA", "PKG-INFO"], [], [], ["metadata"]])

    def write_metadata(self, path, plain):
        if self.chance(0.03) and not plain:
            os.mkdir(path)
        elif self.chance(0.02) and not plain:
            os.symlink(os.path.basename(path), path)
        else:
            write(path, self.metadata(plain))

    def metadata(self, plain=False):
        if plain:
            return self.pick(PLAIN_METADATA).format(n=self.pick(STEMS)).encode()
        if self.chance(0.08):
            return b""
        form = self.pick(PLAIN_METADATA) if self.chance(0.7) else self.pick(METADATA)
        data = form.format(n=self.pick(STEMS)).encode()
        if self.chance(0.03):
            data += self.pick(BAD_UTF8)
        return data

    def write_entry_points(self, path):
        kind = self.random.random()
        if kind < 0.02:
            os.mkdir(path)
        elif kind < 0.035 and self.fatal:
            os.symlink("entry_points.txt", path)
        elif kind < 0.05:
            os.symlink("nothing", path)
        elif kind < 0.08:
            self.outside += 1
            write(f"{self.root}/text{self.outside}", self.text())
            os.symlink(f"{self.root}/text{self.outside}", path)
        else:
            write(path, self.text())
            if self.chance(0.02) and os.geteuid():
                os.chmod(path, 0)

    # -- entry_points.txt -------------------------------------------------

    def text(self):
        odd = self.chance(0.5)
        lines = [self.line(odd) for _ in range(self.random.choice([0, 1, 2, 3, 5, 8]))]
        if not odd or self.chance(0.8):
            lines.insert(0, self.section(odd))
        if self.fatal and self.chance(0.12):
            lines.insert(self.random.randrange(len(lines) + 1), self.pick(FATAL_LINES))
        ends = BREAKS if odd else ["\n"]
        data = "".join(line + self.pick(ends) for line in lines).encode("utf-8")
        if odd and self.chance(0.2):
            data = data.rstrip(b"\n")
        if self.chance(0.04):
            data = b"\xef\xbb\xbf" + data
        if self.fatal and self.chance(0.05):
            spot = self.random.randrange(len(data) + 1)
            data = data[:spot] + self.pick(BAD_UTF8) + data[spot:]
        return data

    def line(self, odd):
        kind = self.random.random()
        if kind < 0.2:
            return self.section(odd)
        if kind < 0.3:
            return self.pick(["", "# comment", "  # comment = 1", "#[g]", "\t"])
        if not odd:
            return f"{self.pick('abcde')} = {self.pick(VALUES[:6])}"
        space = lambda: self.pick(SPACES)
        return f"{space()}{self.pick(NAMES)}{space()}={space()}{self.pick(VALUES)}{space()}"

    def section(self, odd):
        if not odd:
            return f"[{self.pick(GROUPS[:8])}]"
        forms = ["[{}]"] * 8 + ["[[{}]]", "[]{}]", " [{}] ", "[x = {}]", "[]", "[{}]]", "[][{}][]"]
        return self.pick(forms + ["[{}", "]{}]"] if self.fatal else forms).format(self.pick(GROUPS))

    # -- archives ---------------------------------------------------------

    def write_zip(self, place):
        prefix = self.pick([b""] * 8 + [b"#!/usr/bin/env python3\n", b"\0" * 100, b"PK\x05\x06", b"PK\x03\x04"])
        # Offsets with and without the prefix: readers accept both.
        counted = self.chance(0.5)
        stream = io.BytesIO(prefix if counted else b"")
        stream.seek(0, os.SEEK_END)
        method = self.pick([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with zipfile.ZipFile(stream, "a", method) as archive:
                self.fill_zip(archive, os.path.basename(place).lower().endswith(".egg"))
        data = stream.getvalue()
        # Replaced rather than rewritten: readers that have the old file open keep it.
        self.replace_file(place, data if counted else prefix + data)

    def fill_zip(self, archive, egg):
        members = []
        for _ in range(self.random.choice([0, 1, 1, 2, 3])):
            members += self.zip_distribution(self.name(raw=False))
        if self.chance(0.8 if egg else 0.2):
            members += self.zip_distribution(self.pick(["EGG-INFO", "EGG-INFO", "egg-info"]))
        if self.chance(0.3):
            members += self.zip_distribution("sub/foo-1.dist-info")
        if self.chance(0.4):
            members.append(("foo/__init__.py", b"x = 1\n"))
        if self.chance(0.3):
            self.random.shuffle(members)
        if members and self.fatal and self.chance(0.05):
            members.append((self.pick(members)[0], self.text()))
        for name, data in members:
            archive.writestr(name, data)
        if self.chance(0.1):
            archive.comment = b"a comment PK\x05\x06"

    def zip_distribution(self, name):
        if self.chance(0.05):
            return [(name, self.metadata())] if self.fatal or not self.key_needs_name(name) else []
        members = [(name + "/", b"")] if self.chance(0.2) else []
        if not self.fatal or self.chance(0.92):
            usual = "METADATA" if name.lower().endswith(".dist-info") else "PKG-INFO"
            members.append((f"{name}/{usual}", self.metadata(not self.fatal)))
        if self.chance(0.85):
            members.append((f"{name}/entry_points.txt", self.text()))
        if self.chance(0.05):
            members.append((f"{name}/entry_points.txt/", b""))
        return members

    # -- changes ----------------------------------------------------------

    def usable_directories(self):
        return [place for place in self.directories if usable(place)]

    def children(self):
        every = [f"{place}/{child}" for place in self.usable_directories()
                 for child in sorted(os.listdir(place)) if child.lower().endswith("-info")]
        return [child for child in every if os.path.islink(child) or usable(child)]

    def change_listing(self):
        """Change the times of the directory or archive on the path."""
        for _ in range(self.random.choice([1, 1, 2, 3])):
            children = self.children()
            kind = self.random.randrange(6)
            if kind == 0 and self.zips:
                self.write_zip(self.pick(self.zips))
            elif kind <= 2 or not children:
                places = self.usable_directories()
                if places:
                    self.add_distribution(self.pick(places))
            elif kind == 3:
                remove(self.pick(children))
            elif kind == 4:
                self.rename(self.pick(children))
            else:
                self.replace(self.pick(children))

    def rename(self, child):
        target = f"{os.path.dirname(child)}/{self.name()}"
        if not os.path.lexists(target):
            os.rename(child, target)

    def replace(self, child):
        """Replace a directory by a new one of the same name, as an upgrade does."""
        remove(child)
        self.write_distribution(child)

    def change_inside(self):
        """Change files below a metadata directory, which leaves the site directory's times alone."""
        for _ in range(self.random.choice([1, 1, 2, 3])):
            inside = [child for child in self.children() if os.path.isdir(child) and usable(child)]
            if not inside:
                return
            child = self.pick(inside)
            kind = self.random.randrange(5)
            if kind <= 1:
                self.edit_in_place(f"{child}/entry_points.txt")
            elif kind == 2:
                self.replace_file(f"{child}/entry_points.txt", self.text())
            elif kind == 3:
                remove(f"{child}/entry_points.txt")
            else:
                plain = self.key_needs_name(child)
                self.replace_file(f"{child}/{self.pick(['METADATA', 'PKG-INFO'])}", self.metadata(plain))

    def carry(self):
        """With probability 1/2, replace the environment by a copy with the same times: all inodes change."""
        if self.chance(0.5):
            return
        copy = self.root + ".copy"
        shutil.copytree(self.root, copy, symlinks=True)
        destroy(self.root)
        os.rename(copy, self.root)

    def edit_in_place(self, path):
        """Write other bytes into the same file, of the same size if there was one."""
        if os.path.isdir(path) or (os.path.lexists(path) and not usable(path)):
            return
        if not os.path.exists(path):
            write(path, self.text())
            return
        with open(path, "r+b") as stream:
            size = len(stream.read())
            stream.seek(0)
            text = b"[g]\n" + bytes(self.pick(b"abcxyz") for _ in range(3)) + b" = m:f\n"
            stream.write((text + b"#" * size)[:size])

    def replace_file(self, path, data):
        if os.path.isdir(path):
            return
        write(path + ".new", data)
        os.replace(path + ".new", path)


def usable(path):
    """Readable and writable: neither made unreadable nor a dangling link."""
    return os.access(path, os.R_OK | os.W_OK | (os.X_OK if os.path.isdir(path) else 0))


def write(path, data):
    with open(path, "wb") as stream:
        stream.write(data)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def destroy(root):
    """Remove an environment, including its unreadable parts."""
    if os.geteuid():
        for place, names, _ in os.walk(root):
            for name in names:
                if not os.path.islink(f"{place}/{name}"):
                    os.chmod(f"{place}/{name}", 0o700)
    shutil.rmtree(root)
