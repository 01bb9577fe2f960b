#!/usr/bin/env python3
"""Real wheels with native plugins: entrydb's statements about them, compared with the programs that load them.

usage: oracle_plugins.py [--long]

pip installs the wheels of tests/fixtures/plugin-wheels.txt (cached in $ENTRYDB_TEST_CACHE). Each
plugin must be reported with its kind and name. Whether it would load is compared with dlopen() in a C
program without Python; `entrydb export` with ADBC's driver manager and clinfo. The program is
$ENTRYDB, default build/indexer/entrydb. Exit status: 0 equal, 1 differences, 77 skipped.
"""

import argparse
import glob
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile

import package_cache
import reference
from program import Program

FIXTURE = "plugin-wheels.txt"
SECONDS_ALLOWED = 120
HOST = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    void *opened = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;

    puts(opened ? "ok" : dlerror());
    fflush(stdout);
    _Exit(opened ? 0 : 1);
}
"""
ADBC = """
import adbc_driver_manager as manager
try:
    with manager.AdbcDatabase(driver="sqlite", uri=":memory:") as database:
        with manager.AdbcConnection(database):
            print("connected")
except manager.Error as error:
    print(error.status_code.name, error)
"""
# A distribution with entry points into shared objects that have none.
PROBE = """[probe]
by-library = ai_edge_litert._pywrap_string_util:PyInit__pywrap_string_util
native = sqlite_vec.vec0:sqlite3_vec_init
"""
STATES_THAT_LOAD = ("ok",)


class Report:
    def __init__(self):
        self.checks = self.failures = 0

    def expect(self, what, found, expected):
        self.checks += 1
        if found != expected:
            self.failures += 1
            print(f"{what}: {found!r}, not {expected!r}")


def wheels(long):
    """[(requirement, [(kind, name)...])]"""
    found = []
    with open(f"{package_cache.FIXTURES}/{FIXTURE}", encoding="utf-8") as stream:
        for line in stream:
            requirement, _, said = line.partition("#")
            words = said.split()
            if not requirement.strip() or ("long" in words and not long):
                continue
            names = [word for word in words if word != "long"]
            found.append((requirement.strip(), [tuple(pair.split("/")) for names in names for pair in names.split(",")]))
    return found


def environment(python, pins):
    """A virtual environment with these wheels, cached where it was built: it contains absolute paths."""
    key = hashlib.sha256("\n".join(pins).encode()).hexdigest()[:12]
    place = f"{package_cache.cache_directory()}/plugins-{key}-{python.version}"

    def build(scratch):
        print(f"installing {len(pins)} wheels ...", flush=True)
        return package_cache.pip_ran(python.executable, "install", "--no-deps", "--no-compile", "--only-binary", ":all:",
                                     "--quiet", "--prefix", scratch, *pins)

    if not package_cache.publish(build, place):
        package_cache.give_up(python.executable, "cannot install the wheels with plugins")
    return place


def site_of(prefix):
    return glob.glob(f"{prefix}/lib/python3*/site-packages")[0]


def add_probe(site):
    info = f"{site}/probe-1.0.dist-info"
    os.makedirs(info, exist_ok=True)
    for name, text in (("METADATA", "Metadata-Version: 2.1\nName: probe\nVersion: 1.0\n"),
                       ("entry_points.txt", PROBE), ("RECORD", "")):
        with open(f"{info}/{name}", "w", encoding="utf-8") as stream:
            stream.write(text)


def compile_host(scratch):
    """Compile a program without Python that, like libentrydb, has all parts of the C library loaded."""
    with open(f"{scratch}/host.c", "w", encoding="utf-8") as stream:
        stream.write(HOST)
    subprocess.run([os.environ.get("CC") or "cc", "-o", f"{scratch}/host", f"{scratch}/host.c",
                    "-Wl,--no-as-needed", "-ldl", "-lm", "-lpthread"], check=True)
    return f"{scratch}/host"


def loads(host, path):
    done = subprocess.run([host, path], capture_output=True, text=True, timeout=SECONDS_ALLOWED,
                          env={"PATH": "/nowhere"})
    return done.returncode == 0, done.stdout.strip() or f"status {done.returncode}"


def ask(program, *words):
    done = program.run([*words])
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def check_kinds(report, program, site, pins):
    found = ask(program, "plugins", "--json", "--path", site)
    expected = sorted(pair for _, pairs in pins for pair in pairs)
    report.expect("kinds and names", sorted((row["kind"], row["name"]) for row in found), expected)
    return found


def check_loading(report, host, found):
    for row in found:
        does, words = loads(host, row["object"])
        report.expect(f"{row['object']} is {row['state']}, and dlopen() says {words}", does,
                      row["state"] in STATES_THAT_LOAD)


def check_probe(report, program, host, site):
    rows = {row["name"]: row for row in ask(program, "list", "--json", "probe", "--path", site)}
    report.expect("Python by a library", (rows["by-library"]["kind"], bool(rows["by-library"]["python_by"])),
                  ("extension", True))
    report.expect("and dlopen() of it", loads(host, rows["by-library"]["object"])[0], False)
    report.expect("native", (rows["native"]["kind"], rows["native"]["state"]), ("native", "ok"))


def connect(python, prefix, site):
    """Connect in another process; the driver manager searches the environment of CONDA_PREFIX or sys.prefix."""
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONHOME", "VIRTUAL_ENV")}
    env.update(PYTHONPATH=site, CONDA_PREFIX=prefix, ADBC_DRIVER_PATH=f"{prefix}/etc/adbc/drivers", HOME="/nowhere")
    done = subprocess.run([python.executable, "-c", ADBC], env=env, capture_output=True, text=True,
                          timeout=SECONDS_ALLOWED)
    return (done.stdout.split() or [done.stderr])[0]


def check_adbc(report, program, python, prefix, site):
    shutil.rmtree(f"{prefix}/etc/adbc", ignore_errors=True)
    report.expect("ADBC before", connect(python, prefix, site), "NOT_FOUND")
    report.expect("export", program.run(["export", "adbc", prefix]).returncode, 0)
    report.expect("ADBC after", connect(python, prefix, site), "connected")


def check_opencl(report, program, prefix):
    clinfo = shutil.which("clinfo")
    shutil.rmtree(f"{prefix}/etc/OpenCL", ignore_errors=True)
    report.expect("export", program.run(["export", "opencl", prefix]).returncode, 0)
    report.expect("pocl's driver", os.path.exists(f"{prefix}/etc/OpenCL/vendors/pocl.icd"), True)
    if not clinfo:
        print("no clinfo: OpenCL's loader was not asked")
        return
    done = subprocess.run([clinfo, "-l"], capture_output=True, text=True, timeout=SECONDS_ALLOWED,
                          env=os.environ | {"OCL_ICD_VENDORS": f"{prefix}/etc/OpenCL/vendors"})
    report.expect(f"clinfo: {done.stdout}", "Portable Computing Language" in done.stdout, True)


def check_sqlite(report, found):
    shell = shutil.which("sqlite3")
    if not shell:
        print("no sqlite3: SQLite's shell was not asked")
        return
    path = next(row["object"] for row in found if row["name"] == "vec0")
    done = subprocess.run([shell, "-cmd", f".load {path}", ":memory:", "SELECT vec_version()"],
                          capture_output=True, text=True, timeout=SECONDS_ALLOWED)
    report.expect(f"SQLite's shell: {done.stderr}", done.stdout.startswith("v0."), True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="gigabytes of wheels, too")
    options = parser.parse_args()
    long = options.long or bool(os.environ.get("ENTRYDB_TEST_LONG"))
    if platform.machine() != "x86_64":
        package_cache.skip(f"the wheels are for x86_64, this machine is {platform.machine()}")
    found = [each for each in reference.interpreters() if each.version.startswith("3.12.")]
    if not found:
        package_cache.skip("no CPython 3.12, for which all of these wheels are")
    pins = wheels(long)
    prefix = environment(found[-1], [requirement for requirement, _ in pins])
    site = site_of(prefix)
    report = Report()
    add_probe(site)
    with tempfile.TemporaryDirectory(prefix="entrydb-plugins-") as scratch:
        program, host = Program(scratch), compile_host(scratch)
        report.expect("update", program.run(["update", "--quiet", prefix]).returncode, 0)
        rows = check_kinds(report, program, site, pins)
        check_loading(report, host, rows)
        check_probe(report, program, host, site)
        check_adbc(report, program, found[-1], prefix, site)
        check_opencl(report, program, prefix)
        check_sqlite(report, rows)
    print(f"{len(rows)} plugins, {report.checks} checks, {report.failures} failures")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
