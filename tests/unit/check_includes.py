"""Checks the architecture: no include points upward, no modules include each other in a cycle.

    check_includes.py TOP [BUILD]

A folder may include headers of itself and of the folders below it. A module is a name.c with its
name.h. Includes are written from the top of the tree, so that each line names the folder. A library
used by one module is included there only.

Headers may hide a cycle: with BUILD, the object files are checked likewise, where an undefined symbol
of one that another defines is an edge.
"""

import glob
import os
import re
import subprocess
import sys

# From the bottom up: a folder may include those listed before it, except as noted below.
DISK = tuple(f"libquery/disk/{room}" for room in ("zip", "elf", "tree", "target", "metadata"))
ROOMS = ("db/base", "db", *DISK, "libquery/native", "libquery", "libquery/python/native",
         "indexer/archive", "indexer", "indexer/update", "indexer/image", "indexer/package_index", "indexer/verbs",
         "indexer/audit", "indexer/fleet")

# The table of commands is the one place that refers to functions of higher folders.
VERBS = "indexer/commands.c"

# The modules that read the disk and those that load plugins are independent. The Python extension is
# an application of the library like any other: it includes the public header only.
APART = {
    "libquery/native": set(DISK),
    "libquery/python/native": {"db/base", "db", *DISK, "libquery/native"},
    "indexer/archive": {"libquery/python/native"},
    "indexer": {"libquery/python/native"},
}
ONLY_HEADER = {"libquery/python/native": {"libquery/entrydb.h"}}

# Libraries, and the only places where they may be included.
LIBRARIES = {
    r"sqlite3\.h": r"db/[^/]*",
    r"archive(_entry)?\.h": r"indexer/archive/archive_file\.c",
    r"dlfcn\.h": r"(libquery/native/loader|indexer/archive/archive_module)\.c",
    r"curl/.*": r"indexer/package_index/transfer_module\.c",
    r"(libelf|gelf)\.h": r"libquery/disk/elf/elf_file\.c",
    r"zlib\.h": r"libquery/disk/zip/.*",
    r"toml\+\+/.*": r"indexer/archive/pyproject\.cpp",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources(top):
    """Every C and C++ file of the project except tests, relative to the top."""
    found = [path for room in ("db", "libquery", "indexer")
             for end in ("c", "h", "cpp", "inc")
             for path in glob.glob(f"{top}/{room}/**/*.{end}", recursive=True)]
    return sorted(os.path.relpath(path, top) for path in found if "/man/" not in path)  # examples


def includes(top, path):
    with open(f"{top}/{path}", encoding="utf-8") as file:
        return INCLUDE.findall(file.read())


def module(path):
    return os.path.splitext(path)[0]


def wrong_room(source, target):
    """The reason why @source may not include @target; None if it may."""
    room, other = os.path.dirname(source), os.path.dirname(target)
    if ROOMS.index(other) > ROOMS.index(room):
        return "points upward"
    if other in APART.get(room, ()):
        return "is no business of that room"
    if room != other and target not in ONLY_HEADER.get(room, {target}):
        return "is not the public header"
    return None


def check_line(source, bracket, name, known):
    """The errors in one include line."""
    if bracket == "<":
        return [f"{source}: <{name}> belongs into {allowed} alone" for pattern, allowed in LIBRARIES.items()
                if re.fullmatch(pattern, name) and not re.fullmatch(allowed, source)]
    if name not in known:
        beside = os.path.dirname(source) == "libquery/python/native" and os.path.basename(name) == name
        return [] if beside else [f'{source}: "{name}" is not written from the top of the tree']
    why = wrong_room(source, name)
    return [f"{source}: {name} {why}"] if why else []


def circles(arrows):
    """The sets of modules that depend on each other (Tarjan's strongly connected components)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(arrows.get(node, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            circle = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(circle) > 1:
                found.append(sorted(circle))

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return found


def symbols(build):
    """For each source compiled in @build, the symbols that its object defines and needs."""
    for path in glob.glob(f"{glob.escape(build)}/**/*.dir/**/*.o", recursive=True):
        parts = re.fullmatch(r"(db|libquery|indexer)(/.*)?/CMakeFiles/[^/]+\.dir/(.*)\.o",
                             os.path.relpath(path, build))
        if not parts:
            continue
        lines = subprocess.run(["nm", "-P", path], capture_output=True, text=True, check=True).stdout
        words = [line.split() for line in lines.splitlines()]
        yield (f"{parts[1]}{parts[2] or ''}/{parts[3]}",
               {word[0] for word in words if word[1] in "TDBRVW"},
               {word[0] for word in words if word[1] == "U"})


def object_arrows(build, known):
    """The edges from source to source by the symbols of their objects."""
    objects = [each for each in symbols(build) if each[0] in known]
    home = {name: source for source, defined, _ in objects for name in defined}
    return {source: {home[name] for name in needed if name in home} - {source}
            for source, _, needed in objects}


def check_objects(build, known):
    arrows = object_arrows(build, known)
    if len(arrows) < 20:
        return [f"{build}: only {len(arrows)} objects of this tree were found"]
    wrong = [f"{source} calls {target}, which {wrong_room(source, target)}"
             for source, targets in arrows.items() for target in sorted(targets)
             if os.path.dirname(source) not in ONLY_HEADER and source != VERBS
             and wrong_room(source, target)]
    return wrong + ["a circle of calls: " + ", ".join(circle) for circle in circles(arrows)]


def main():
    top = sys.argv[1]
    known = sources(top)
    wrong, arrows = [], {}
    for source in known:
        if os.path.dirname(source) not in ROOMS:
            wrong.append(f"{source}: in a room that this test does not know")
            continue
        for bracket, name in includes(top, source):
            wrong += check_line(source, bracket, name, known)
            if bracket == '"' and name in known and module(name) != module(source):
                arrows.setdefault(module(source), set()).add(module(name))
    wrong += ["a circle: " + ", ".join(circle) for circle in circles(arrows)]
    if len(sys.argv) > 2:
        wrong += check_objects(sys.argv[2], known)
    print("\n".join(wrong) or f"{len(known)} files, {sum(map(len, arrows.values()))} arrows, all downward")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
