"""What it costs to index installed libraries: their symbols are read, to find plugins among them."""

import os

from figures import Row, at_most, full_update

BYTES = 3 << 30        # of libraries
QUICK_BYTES = 300 << 20
AT_ONCE = 200          # libraries of one distribution
SMALLEST = 64 << 10    # bytes of a library that counts


def system_libraries():
    """Of this machine, largest first; links are not followed."""
    sized = []
    for top in ("/usr/lib", "/usr/lib64", "/usr/local/lib"):
        for directory, _, names in os.walk(top):
            for path in (f"{directory}/{name}" for name in names if ".so" in name):
                if not os.path.islink(path) and os.path.getsize(path) >= SMALLEST and is_elf(path):
                    sized.append((os.path.getsize(path), path))
    return sorted(sized, reverse=True)


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def lay_out(prefix, wanted):
    """Links to the machine's libraries, over and over, until they are so many bytes."""
    site, libraries = f"{prefix}/lib/python3.12/site-packages", system_libraries()
    names, total = [], 0
    os.makedirs(f"{site}/libraries")
    while total < wanted:
        for size, path in libraries:
            names.append(f"libraries/lib{len(names)}.so")
            os.symlink(path, f"{site}/{names[-1]}")
            total += size
            if total >= wanted:
                break
    for first in range(0, len(names), AT_ONCE):
        info = f"{site}/libraries{first}-1.0.dist-info"
        os.mkdir(info)
        with open(f"{info}/METADATA", "w", encoding="utf-8") as file:
            file.write(f"Metadata-Version: 2.1\nName: libraries{first}\nVersion: 1.0\n")
        with open(f"{info}/RECORD", "w", encoding="utf-8") as file:
            file.writelines(f"{name},,\n" for name in names[first:first + AT_ONCE])
    return site, len(names), total


def libraries(bench):
    prefix = f"{bench.scratch}/libraries"
    if not system_libraries():
        raise bench.could_not("this machine has no shared libraries")
    site, count, total = lay_out(prefix, bench.size(BYTES, QUICK_BYTES))
    pairs = bench.interleave(lambda: full_update(bench, prefix),
                             lambda: bench.wall([bench.program("symbols"), f"{site}/libraries"]))
    yield Row(f"full update of {count} libraries, {total / (1 << 30):.1f} GiB", "reading their symbol tables",
              [(ours / 1e3, read / 1e3) for ours, read in pairs], at_most(2))


FIGURES = {"libraries": libraries}
