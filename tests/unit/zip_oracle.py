"""Compare zip.c with the zipfile of the interpreter that runs this.

usage: zip_oracle.py PROGRAM [--seed N] [--cases N]

PROGRAM is built from zip_oracle.c. Random zips are created by zipfile and by hand, and some are then
damaged. For each, both must agree on whether it opens, on the order of the names, on the bytes of every
member or that it cannot be read, and on x.dist-info/entry_points.txt. Prints the seed and the number of
cases. At the first difference, the zip is kept and the exit status is 1.

Known differences, each allowed for below and counted:
  method      bzip2 and lzma members: Python reads them, zip.c does not
  limit       a declared size beyond READ_MAX: Python reads what there is
  expands     more data than declared: Python cuts it off, zip.c refuses it
  overlap     members that overlap what follows: refused by zip.c as by later
              releases of CPython; this interpreter may read them
  equal       two members with one header: CPython 3.13.0 refuses all but the
              last, zip.c and the releases after it none
  path        the Unicode path field (0x7075): from CPython 3.12 on only
  zip64       a ZIP64 end record that contradicts itself: refused by CPython since
              its security releases of 2025, read by zip.c and the releases before
"""
import argparse
import collections
import io
import os
import random
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile
import zlib

READ_MAX = 16 << 20  # bytes, as in zip_oracle.c
BATCH = 250
WANTED = "x.dist-info/entry_points.txt"
KNOWS_UNICODE_PATH = "filename_crc" in zipfile.ZipInfo._decodeExtra.__code__.co_varnames
CHECKS_ZIP64 = any("Corrupt zip64 end of central directory" in str(each)
                   for each in zipfile._EndRecData64.__code__.co_consts)
ZIP64_LOCATOR = b"PK\x06\x07"
KNOWS_OVERLAP = hasattr(zipfile.ZipInfo, "_end_offset")

NAMES = [
    WANTED, WANTED, WANTED, "x.dist-info/METADATA", "x.dist-info/RECORD", "pkg/__init__.py",
    "pkg/", "a", "", "/abs", "../up", "b\\c", "x.dist-info/entry_points.txt/",
    "X.DIST-INFO/entry_points.txt", "\u00e9t\u00e9", "\u540d\u524d/\u30d5", "\U0001f600",
    "\u2591\u00f7", "n" * 300,
]


def data_of(rng):
    kind = rng.randrange(5)
    if kind == 0:
        return b""
    if kind == 1:
        return rng.randbytes(rng.randrange(200))
    if kind == 2:
        return b"[g]\nname = module:attr\n" * rng.randrange(1, 50)
    if kind == 3:
        return bytes(rng.randrange(100_000))
    return b"x" * rng.randrange(5)


def by_zipfile(rng):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zf:
        for _ in range(rng.randrange(8)):
            method = rng.choice([0, 0, 8, 8, 8, 8, 8, 8, 12, 14])
            info = zipfile.ZipInfo(rng.choice(NAMES))
            info.compress_type = method
            with zf.open(info, "w", force_zip64=rng.random() < 0.2) as member:
                member.write(data_of(rng))
        if rng.random() < 0.3:
            zf.comment = comment_of(rng)
    return out.getvalue()


def comment_of(rng):
    return rng.choice([
        b"a comment", rng.randbytes(rng.randrange(100)), b"PK\5\6", b"PK\5\6" + bytes(18),
        b"x" * 65535, b"PK\5\6" + bytes(30), b"PK\1\2" * 20,
    ])


def raw_name(rng):
    """The bytes of a name, and the flags that it may be stored with."""
    name = rng.choice(NAMES)
    kind = rng.randrange(7)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 12)), 0
    if kind == 1:
        return name.encode("utf-8"), 0x800
    if kind == 2:
        return name.encode("cp437", "replace"), 0
    if kind == 3:
        return WANTED.encode() + b"\0" + rng.randbytes(3), rng.choice([0, 0])
    if kind == 4 and rng.random() < 0.2:
        return rng.choice([b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3"]), 0x800
    if kind == 5:
        return b"\0" + name.encode("utf-8"), 0x800
    return name.encode("ascii", "replace"), rng.choice([0, 0x800])


def extra_of(rng, raw, sizes):
    """An extra field: none, ordinary, zip64, Unicode path, or broken."""
    kind = rng.randrange(12)
    if kind == 0:
        return struct.pack("<HH", 0x5455, 5) + bytes(5)
    if kind == 1:
        return struct.pack("<HHQQQ", 1, 24, *sizes)
    if kind == 2:
        return struct.pack("<HHQ", 1, 8, sizes[0])
    if kind == 3:
        path = rng.choice([b"", WANTED.encode(), "\u00e9".encode(), b"\xff", b"a\0b"])
        crc = zlib.crc32(raw) ^ (rng.random() < 0.3)
        field = struct.pack("<BL", rng.choice([1, 1, 1, 2]), crc) + path
        return struct.pack("<HH", 0x7075, len(field)) + field
    if kind == 4 and rng.random() < 0.3:
        return struct.pack("<HH", 0x7075, 3) + bytes(3)
    if kind == 5 and rng.random() < 0.3:
        return struct.pack("<HH", 0x1234, 50) + bytes(3)
    if kind == 6:
        return bytes(rng.randrange(4))
    return b""


def lie(rng, value, bits, odds=0.03):
    if rng.random() >= odds:
        return value
    top = (1 << bits) - 1
    return rng.choice([0, 1, value + 1, max(value - 1, 0), top, top - 1, rng.randrange(top)]) & top


def by_hand(rng):
    out, directory = bytearray(), bytearray()
    count = rng.randrange(6)
    headers = []
    for _ in range(count):
        raw, flags = raw_name(rng)
        data = data_of(rng)
        method = rng.choice([0, 8])
        packed = data
        if method == 8:
            deflate = zlib.compressobj(rng.randrange(10), zlib.DEFLATED, -15)
            packed = deflate.compress(data) + deflate.flush()
        if rng.random() < 0.05:
            packed += b"trailing"
        crc = zlib.crc32(data)
        offset = len(out)
        if headers and rng.random() < 0.05:
            offset = rng.choice(headers)
        headers.append(len(out))
        local_raw, local_flags = raw, flags
        if rng.random() < 0.05:
            local_raw, local_flags = raw_name(rng)
        if rng.random() < 0.05:
            local_flags ^= 0x800
        if rng.random() < 0.05:
            text = raw.decode("utf-8" if flags else "cp437", "replace")
            local_flags = flags ^ 0x800
            local_raw = text.encode("utf-8" if local_flags else "cp437", "replace")
        extra = b"" if rng.random() < 0.7 else bytes(rng.randrange(20))
        out += struct.pack("<4s2B4HL2L2H", b"PK\3\4", 20, 0, local_flags, method, 0, 33, crc,
                           len(packed), len(data), len(local_raw), len(extra))
        out += local_raw + extra + packed
        extra = extra_of(rng, raw, (len(data), len(packed), offset))
        numbers = [len(packed), len(data), offset]
        if extra[:2] == b"\1\0" and rng.random() < 0.8:
            numbers = [rng.choice([n, 0xFFFFFFFF]) for n in numbers]
        comment = b"" if rng.random() < 0.8 else bytes(rng.randrange(9))
        flags |= rng.choice([0] * 40 + [1, 0x20, 0x40, 8, 2])
        directory += struct.pack(
            "<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, lie(rng, 20, 8), 0, flags, lie(rng, method, 16),
            0, 33, lie(rng, crc, 32), lie(rng, numbers[0], 32), lie(rng, numbers[1], 32),
            lie(rng, len(raw), 16, 0.01), lie(rng, len(extra), 16, 0.01),
            lie(rng, len(comment), 16, 0.01), 0, 0, 0, lie(rng, numbers[2], 32))
        directory += raw + extra + comment
    start = len(out)
    out += directory
    size, total = len(directory), count
    if rng.random() < 0.3:
        record = struct.pack("<4sQ2H2L4Q", rng.choice([b"PK\6\6"] * 9 + [b"PK\6\5"]), 44, 45, 45,
                             0, 0, total, total, lie(rng, size, 64), lie(rng, start, 64))
        locator = struct.pack("<4sLQL", rng.choice([b"PK\6\7"] * 9 + [b"PK\6\5"]),
                              lie(rng, 0, 32), len(out), lie(rng, 1, 32))
        out += (record if rng.random() < 0.95 else record[:-4]) + locator
        if rng.random() < 0.8:
            size = start = 0xFFFFFFFF
    comment = b"" if rng.random() < 0.7 else comment_of(rng)
    out += struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, total & 0xFFFF, total & 0xFFFF,
                       lie(rng, size, 32), lie(rng, start, 32), lie(rng, len(comment), 16))
    return bytes(out + comment)


def damage(rng, zip_bytes):
    """Add a prefix, truncate, or flip or insert bytes, anywhere or in the directory."""
    data = bytearray(zip_bytes)
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        kind = rng.randrange(7)
        at = rng.randrange(len(data) + 1)
        directory = data.find(b"PK\1\2")
        if kind == 0:
            data[:0] = rng.randbytes(rng.randrange(1, 300))
        elif kind == 1:
            del data[at:]
        elif kind == 2 and data:
            data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
        elif kind in (3, 4) and directory >= 0:
            at = rng.randrange(directory, len(data))
            data[at] = rng.choice([0, 0xFF, data[at] ^ 1 << rng.randrange(8)])
        elif kind == 5:
            data[at:at] = rng.randbytes(rng.randrange(1, 40))
        elif kind == 6:
            data += rng.randbytes(rng.randrange(1, 40))
    return bytes(data)


def make(rng):
    kind = rng.randrange(20)
    if kind == 0:
        return rng.randbytes(rng.randrange(200))
    return damage(rng, by_zipfile(rng) if kind < 7 else by_hand(rng))


def read(zf, info):
    try:
        with zf.open(info) as member:
            return member.read()
    except Exception as error:
        return error


def expected(path):
    """None if ZipFile() raises, else the infos and for each the bytes or the exception."""
    try:
        zf = zipfile.ZipFile(path)
    except Exception:
        return None
    with zf:
        infos = zf.infolist()
        found = zf.NameToInfo.get(WANTED)
        return infos, [read(zf, info) for info in infos], found and read(zf, found)


def parse(lines):
    """The same from the lines of the program: None, or names, contents, found."""
    if lines[0].startswith("open error"):
        return None
    names, contents, found = [], [], None
    for line in lines[1:]:
        kind, _, rest = line.partition(" ")
        if kind == "name":
            names.append(bytes.fromhex(rest))
        elif kind == "found":
            found = None if rest == "none" else content(rest)
        else:
            contents.append(content(line))
    return names, contents, found


def content(line):
    kind, _, rest = line.partition(" ")
    return bytes.fromhex(rest) if kind == "data" else rest


def excuse(infos, info, theirs, ours):
    """The known difference that explains why the contents differ; None if there is none."""
    equal = [i for i in infos if i.header_offset == info.header_offset]
    if isinstance(ours, str) and isinstance(theirs, bytes):
        if "is not supported" in ours and info.compress_type in (12, 14):
            return "method"
        if "larger than" in ours and info.file_size > READ_MAX:
            return "limit"
        if "expands beyond" in ours and len(theirs) == info.file_size:
            return "expands"
        if "overlaps" in ours and not KNOWS_OVERLAP:
            return "overlap"
    if isinstance(ours, bytes) and "Overlapped" in str(theirs) and len(equal) > 1:
        return "equal"
    return None


def compare(path, lines, excused):
    """A description of the difference, or None."""
    theirs, ours = expected(path), parse(lines)
    if theirs is None or ours is None:
        if (theirs is None) == (ours is None):
            return None
        if not KNOWS_UNICODE_PATH and "Unicode path" in lines[0]:
            excused["path"] += 1
            return None
        if CHECKS_ZIP64 and theirs is None and ZIP64_LOCATOR in open(path, "rb").read():
            excused["zip64"] += 1
            return None
        return f"opens: Python {theirs is not None}, zip.c {ours is not None}: {lines[0]}"
    infos, contents, found = theirs
    names = [info.filename.encode() for info in infos]
    if names != ours[0]:
        if not KNOWS_UNICODE_PATH and len(names) == len(ours[0]) and b"up" in open(path, "rb").read():
            excused["path"] += 1
            return None
        return f"names: Python {names}, zip.c {ours[0]}"
    last = {info.filename: i for i, info in enumerate(infos)}
    pairs = list(zip(infos, contents, ours[1]))
    if (WANTED in last) != (ours[2] is not None):
        return f"finds: Python {WANTED in last}, zip.c {ours[2] is not None}"
    if WANTED in last:
        pairs.append((infos[last[WANTED]], found, ours[2]))
    for info, a, b in pairs:
        if a == b or (isinstance(a, Exception) and isinstance(b, str)):
            continue
        reason = excuse(infos, info, a, b)
        if not reason:
            return f"{info.filename!r}: Python {a!r:.200}, zip.c {b!r:.200}"
        excused[reason] += 1
    return None


def run(program, rng, cases):
    counts, excused = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as directory:
        for first in range(0, cases, BATCH):
            paths = []
            for i in range(first, min(first + BATCH, cases)):
                paths.append(os.path.join(directory, f"{i}.zip"))
                with open(paths[-1], "wb") as out:
                    out.write(make(rng))
            result = subprocess.run([program, *paths], capture_output=True, text=True, check=True,
                                    errors="replace")
            outputs = result.stdout.split("\nend\n")
            assert len(outputs) == len(paths) + 1
            for path, output in zip(paths, outputs):
                lines = output.split("\n")
                counts["opened" if lines[0] == "open ok" else "refused"] += 1
                counts["read"] += sum(line.startswith("data ") for line in lines)
                counts["unreadable"] += sum(line.startswith("fail ") for line in lines)
                difference = compare(path, lines, excused)
                if difference:
                    kept = os.path.join(tempfile.gettempdir(), os.path.basename(path))
                    os.replace(path, kept)
                    return f"{kept}: {difference}", counts, excused
                os.unlink(path)
    return None, counts, excused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int,
                        default=os.environ.get("ENTRYDB_TEST_SEED") or random.randrange(1 << 32))
    parser.add_argument("--cases", type=int, default=5000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    difference, counts, excused = run(options.program, random.Random(options.seed), options.cases)
    print(f"python {sys.version.split()[0]}, seed {options.seed}, {options.cases} cases, "
          f"{dict(counts)}, known differences {dict(excused)}")
    if difference:
        print(difference)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
