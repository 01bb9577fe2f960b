#!/usr/bin/env python3
"""Run time is linear and memory bounded, for every kind of input.

A row of CASES creates an input of size n and names the command that processes it. The program runs
with n and 2n. The CPU time of the process is compared, the minimum of several runs, since the file
system and other processes hardly affect it. Quadratic work takes four times as long; a factor of
GROWTH is allowed because caches become less effective. The sizes are chosen so that quadratic work
would take minutes. The peak memory must stay below the bound of the case.
"""

import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

from archives import write_tar
from support import (CommandTest, PROGRAM, build_type_is_sanitized, main, metadata,
                     remove_tree, write)

GROWTH = 2.8
NOISE = 0.05  # CPU seconds of constant costs: start-up, pages of the database
RUNS = 2
ATTEMPTS = 5
MEGABYTE = 1 << 20
MEMORY = "/dev/shm"  # no disk is measured, and many files are created


# --- inputs: each function creates one of size n below top and returns the arguments to run ---

def site_of(top, venv="venv"):
    site = f"{top}/{venv}/lib/python3.11/site-packages"
    os.makedirs(site)
    return site


def update(top, *paths):
    return ["update", "--db", f"{top}/db", *(paths or [f"{top}/venv"])]


def distribution(site, name, points, record=None):
    info = f"{site}/{name}-1.dist-info"
    os.mkdir(info)
    write(f"{info}/METADATA", metadata(name, "1"))
    write(f"{info}/entry_points.txt", "[g]\n" + "\n".join(points) + "\n")
    if record is not None:
        write(f"{info}/RECORD", record)
    return info


def modules_missing_from_record(top, n):
    distribution(site_of(top), "a", [f"e{i} = missing{i}:f" for i in range(n)],
                 "".join(f"other{i}.py,,\n" for i in range(n)))
    return update(top)


def modules_of_one_package(top, n):
    """The package exists without the listed modules, and has as many others."""
    site = site_of(top)
    os.mkdir(f"{site}/p")
    for i in range(n):
        write(f"{site}/p/other{i}.py", "")
    distribution(site, "a", [f"e{i} = p.missing{i}:f" for i in range(n)])
    return update(top)


def modules_beside_objects(top, n):
    site = site_of(top)
    for i in range(n):
        write(f"{site}/other{i}.so", "")
    distribution(site, "a", [f"e{i} = missing{i}:f" for i in range(n)])
    return update(top)


def one_module_of_many_suffixes(top, n):
    distribution(site_of(top), "a", [f"e{i} = m:f{i}" for i in range(n)],
                 "".join(f"m.{i}.so,,\n" for i in range(n)))
    return update(top)


def record_of_one_line(top, n):
    """One endless line that looks like a path of the module at every other byte."""
    distribution(site_of(top), "a", ["e = m:f"], "m." * n)
    return update(top)


def distributions(top, n):
    site = site_of(top)
    for i in range(n):
        distribution(site, f"d{i}", [f"e{i} = m{i}:f"], "")
    return update(top)


def write_members(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def files_of(name, prefix=""):
    yield f"{prefix}{name}-1.dist-info/METADATA", metadata(name, "1")
    yield f"{prefix}{name}-1.dist-info/entry_points.txt", f"[g]\n{name} = m:f\n"


def distributions_of_a_wheel(top, n):
    return write_members(f"{top}/a.whl", (file for i in range(n) for file in files_of(f"d{i}")))


def wheel_catalogued(top, n):
    return ["add", "--db", f"{top}/db", distributions_of_a_wheel(top, n)]


def zip_on_the_path(top, n):
    return ["list", "--path", distributions_of_a_wheel(top, n)]


def archives(top, n):
    os.mkdir(f"{top}/many")
    for i in range(n):
        write_members(f"{top}/many/d{i}.whl", files_of(f"d{i}"))
    return f"{top}/many"


def archives_catalogued(top, n):
    return ["add", "--db", f"{top}/db", archives(top, n)]


def archives_listed(top, n, name=None):
    """One distribution in each, all of the same name, so that each shadows the next."""
    os.mkdir(f"{top}/many")
    for i in range(n):
        write_members(f"{top}/many/{i}.whl", files_of(name or f"d{i}"))
    subprocess.run([PROGRAM, "add", "--quiet", "--db", f"{top}/listed", f"{top}/many"], check=True)
    return ["list", "--db", f"{top}/listed"]


def archives_of_one_name_listed(top, n):
    return archives_listed(top, n, "same")


def archives_of_one_name_explained(top, n):
    return ["why", *archives_listed(top, n, "same")[1:], "g", "same"]


def tar_of_site_directories(top, n):
    """Each distribution is in its own site directory, beside a module."""
    tree = {}
    for i in range(n):
        site = f"s{i}/site-packages/"
        tree |= {path: data.encode() for path, data in files_of(f"d{i}", site)}
        tree[f"{site}m.py"] = b""
    return ["add", "--db", f"{top}/db", write_tar(f"{top}/a.tar", tree)]


def tar_of_nested_site_directories(top, n):
    """The site directories are nested a hundred deep; the last one has n modules."""
    tree, site = {}, ""
    for i in range(100):
        site += f"{i % 10}/"
        tree |= {path: data.encode() for path, data in files_of(f"d{i}", site)}
    tree |= {f"{site}m{i}.py": b"" for i in range(n)}
    return ["add", "--db", f"{top}/db", write_tar(f"{top}/a.tar", tree)]


def entry_points(top, n):
    distribution(site_of(top), "a", [f"e{i} = m{i % 7}:f" for i in range(n)])
    return update(top)


def path_entries(top, n):
    for i in range(n):
        os.makedirs(f"{top}/s{i}")
    return update(top, *(f"{top}/s{i}" for i in range(n)))


def path_entries_scanned(top, n):
    """Each path entry has a distribution, whose name is compared with all others."""
    words = []
    for i in range(n):
        os.makedirs(f"{top}/s{i}")
        distribution(f"{top}/s{i}", f"d{i}", [f"e{i} = m:f"])
        words += ["--path", f"{top}/s{i}"]
    return ["list", *words]


def pth_lines(top, n):
    site = site_of(top)
    distribution(site, "a", ["e = m:f"])
    for i in range(n):
        os.makedirs(f"{top}/s{i}")
    write(f"{site}/a.pth", "".join(f"{top}/s{i}\n" for i in range(n)))
    return ["list"]


def sparse_object(top, sections, size, kind, content, order="<"):
    """An object with section headers alone, and content of which nothing is stored."""
    site = site_of(top)
    distribution(site, "a", ["e = m:f"], "m.so,,\n")
    with open(f"{site}/m.so", "wb") as file:
        file.write(b"\x7fELF\2" + (b"\1" if order == "<" else b"\2") + b"\1" + bytes(9))
        file.write(struct.pack(order + "HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64, 0, 64, 56, 0, 64, sections, 0))
        file.write(struct.pack(order + "IIQQQQIIQQ", 0, 0, 0, 0, 0, size, 0, 0, 0, 0))
        file.write(struct.pack(order + "IIQQQQIIQQ", 0, kind, 0, 0, 64, content, 0, 0, 4, 0) * (sections - 1))
        file.truncate(64 + 64 * max(sections, size) + content)
    return update(top)


def sections_of_an_object(top, n):
    return sparse_object(top, 0, n, 0, 0)


def sections_of_an_object_of_another_machine(top, n):
    return sparse_object(top, 0, n, 0, 0, ">")


def notes_of_an_object(top, n):
    return sparse_object(top, n, 0, 7, 16 * MEGABYTE)


def names_of_an_object(top, n):
    """All symbols have the same long name."""
    strings = b"\0f\0" + b"x" * 10 * n + b"\0"
    at = 64 + 2 * 56 + 4 * 16 + len(strings) + -len(strings) % 8
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", name, 0x12, 0, 1, 0x100, 8) for name in [1] + [3] * n)
    end = at + len(symbols)
    site = site_of(top)
    distribution(site, "a", ["e = m:f"], "m.so,,\n")
    write(f"{site}/m.so", b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, end, 0, 64, 56, 2, 64, 2, 0)
          + struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, end, end, 4096) + struct.pack("<IIQQQQQQ", 2, 6, 176, 176, 176, 64, 64, 8)
          + struct.pack("<8Q", 5, 240, 6, at, 10, len(strings), 0, 0) + strings + bytes(-len(strings) % 8) + symbols
          + bytes(64) + struct.pack("<IIQQQQIIQQ", 0, 11, 2, at, at, len(symbols), 0, 1, 8, 24))
    return update(top)


def audit(top, *paths):
    return ["audit", "--quiet", "--fail-on", "none", *(paths or [f"{top}/venv"])]


def audited(top, n):
    """All distributions provide the same command, and list each other's modules."""
    site = site_of(top)
    for i in range(n):
        distribution(site, f"d{i}", [f"p{i} = m{(i + 1) % n}:f", "[console_scripts]", "shared = shared:f"],
                     "".join(f"m{i}/{j}.py,,\n" for j in range(20)) + f"m{i}.py,,\nshared.py,,\n")
    return audit(top)


def audited_environments(top, n):
    for i in range(n):
        site = site_of(top, f"venv{i}")
        for name in "abcde":
            distribution(site, name, [f"e = {name}:f", "[console_scripts]", f"{name} = {name}:f"], f"{name}.py,,\n")
    return audit(top, *(f"{top}/venv{i}" for i in range(n)))


def audited_empty_environments(top, n):
    for i in range(n):
        site_of(top, f"venv{i}")
    return audit(top, *(f"{top}/venv{i}" for i in range(n)))


def audited_module_listed_again(top, n):
    distribution(site_of(top), "a", [f"e{i} = m:f" for i in range(n)], "m.py,,\n" * n)
    return audit(top)


def audited_command_listed_again(top, n):
    site = site_of(top)
    distribution(site, "a", ["[console_scripts]", *["c = m:f"] * n], "")
    distribution(site, "b", [], "../../../bin/c,,\n" * n)
    return audit(top)


def audited_start_up_code_listed_again(top, n):
    """By links to one RECORD."""
    site = site_of(top)
    write(f"{site}/a.pth", "import a\n" * 500)
    info = distribution(site, "a", [], "a.pth,,\n" * n)
    for i in range(20):
        os.symlink(f"{info}/RECORD", f"{distribution(site, f'd{i}', [])}/RECORD")
    return audit(top)


def audited_module_of_many(top, n):
    site = site_of(top)
    for i in range(n):
        distribution(site, f"d{i}", ["e = m:f"], "m.py,,\n")
    distribution(site, "a", [f"e{i} = m:f" for i in range(20 * n)], "")
    return audit(top)


def audited_deep_modules(top, n):
    modules = [f"m{i}." + "a." * 1900 + "b" for i in range(n)]
    distribution(site_of(top), "a", [f"e{i} = {module}:f" for i, module in enumerate(modules)],
                 "".join(module.replace(".", "/") + ".py,,\n" for module in modules))
    return audit(top)


def audited_eggs(top, n):
    """They need no RECORD, unless they have entry points."""
    site = site_of(top)
    distribution(site, "a", [f"e{i} = m:f" for i in range(20 * n)], "")
    for i in range(n):
        os.mkdir(f"{site}/d{i}-1.egg-info")
        write(f"{site}/d{i}-1.egg-info/PKG-INFO", metadata(f"d{i}", "1"))
    return audit(top)


def audited_bytecode(top, n):
    site = site_of(top)
    distribution(site, "a", ["e = m:f"], "m.py,,\n")
    os.mkdir(f"{site}/__pycache__")
    write(f"{site}/m.py", "")
    write(f"{top}/pyc", b"\xa7\x0d\r\n\1" + bytes(11))
    for i in range(n):
        os.link(f"{top}/pyc", f"{site}/__pycache__/m.cpython-{i}.pyc")
    return audit(top)


def audited_policy(top, n):
    """Entry points that many rules ask, and one forbids at length."""
    distribution(site_of(top), "a", [f"e{i} = m:f" for i in range(n)])
    os.makedirs(f"{top}/venv/etc/entrydb")
    write(f"{top}/venv/etc/entrydb/policy.conf",
          "[g]\n" + "a=b\n" * 2000 + "* = disable # " + "a" * 20000 + "\n")
    return audit(top)


# function, n, peak memory in megabytes allowed for 2n
CASES = [
    (modules_missing_from_record, 10000, 100),
    (modules_of_one_package, 2000, 100),
    (modules_beside_objects, 2000, 100),
    (one_module_of_many_suffixes, 20000, 150),
    (record_of_one_line, 500000, 100),
    (distributions, 1000, 100),
    (audited, 700, 150),
    (audited_environments, 300, 100),
    (audited_empty_environments, 8000, 100),
    (sections_of_an_object, 1000000, 100),
    (sections_of_an_object_of_another_machine, 1000000, 100),
    (notes_of_an_object, 20, 100),
    (names_of_an_object, 2000, 100),
    (audited_module_listed_again, 5000, 100),
    (audited_command_listed_again, 20000, 100),
    (audited_start_up_code_listed_again, 100000, 100),
    (audited_module_of_many, 200, 100),
    (audited_deep_modules, 200, 200),
    (audited_eggs, 700, 100),
    (audited_bytecode, 10000, 100),
    (audited_policy, 5000, 100),
    (entry_points, 50000, 250),
    (wheel_catalogued, 10000, 250),
    (zip_on_the_path, 5000, 250),
    (archives_catalogued, 500, 100),
    (archives_listed, 2000, 150),
    (archives_of_one_name_listed, 2000, 150),
    (archives_of_one_name_explained, 2000, 150),
    (tar_of_site_directories, 3000, 250),
    (tar_of_nested_site_directories, 5000, 250),
    (path_entries, 1000, 100),
    (path_entries_scanned, 500, 100),
    (pth_lines, 1000, 100),
]


class Growth(CommandTest):
    """One test method per row; see test_of()."""

    def run_once(self, arguments, env):
        """Returns CPU seconds and peak memory in bytes."""
        if arguments[0] in ("add", "update"):
            for name in ("db", "db.lock"):
                if os.path.exists(f"{self.work}/{name}"):
                    os.unlink(f"{self.work}/{name}")
        with open(os.devnull, "wb") as nowhere:
            child = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=nowhere,
                                     stderr=subprocess.PIPE, env=env)
            err = child.stderr.read()
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            child.stderr.close()
        self.assertEqual(child.returncode, 0, f"{arguments[:6]}: {err[:2000]}")
        return used.ru_utime, used.ru_maxrss << 10

    def measure(self, make, n):
        self.work = f"{self.top}/{n}"
        os.mkdir(self.work)
        arguments = make(self.work, n)
        env = self.environment(VIRTUAL_ENV=f"{self.work}/venv") if arguments == ["list"] else self.environment()
        runs = [self.run_once(arguments, env) for _ in range(RUNS)]
        remove_tree(self.work)
        return min(seconds for seconds, _ in runs), max(size for _, size in runs)

    def measure_both(self, make, n):
        """Measure repeatedly if the machine is busy; the minimum of each counts."""
        once = twice = math.inf
        size = 0
        for _ in range(ATTEMPTS):
            once = min(once, self.measure(make, n)[0])
            seconds, most = self.measure(make, 2 * n)
            twice, size = min(twice, seconds), max(size, most)
            if twice < GROWTH * max(once, NOISE):
                break
        return once, twice, size

    def check(self, make, n, megabytes):
        once, twice, size = self.measure_both(make, n)
        text = f"{make.__name__}: {n}: {once:.2f} s; {2 * n}: {twice:.2f} s, {size // MEGABYTE} MB"
        print(text, flush=True)
        self.assertLess(twice, GROWTH * max(once, NOISE), text)
        self.assertLess(size, megabytes * MEGABYTE, text)


def test_of(row):
    return lambda self: self.check(*row)


for _row in CASES:
    setattr(Growth, f"test_{_row[0].__name__}", test_of(_row))


if __name__ == "__main__":
    if build_type_is_sanitized():
        print("SKIP: a sanitized program is not measured")
        sys.exit(77)
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 2000 * MEGABYTE:
        tempfile.tempdir = MEMORY
    main()
