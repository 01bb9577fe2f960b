"""Builds the package archives that test_add.py passes to the program."""

import base64
import bz2
import gzip
import hashlib
import io
import lzma
import os
import shutil
import struct
import subprocess
import tarfile
import unittest
import zipfile
import zlib

ENTRY_POINTS = "[console_scripts]\nspam = spam.cli:main\n\n[spam.plugins]\none = spam.one\n"
ROWS = [("console_scripts", "spam", "spam.cli:main"), ("spam.plugins", "one", "spam.one")]
TIME = (2024, 1, 2, 3, 4, 6)


def metadata(name="spam", version="1.0"):
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"


def as_bytes(data):
    return data.encode() if isinstance(data, str) else data


def record_line(path, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}\n"


def installed(name="spam", version="1.0", entry_points=ENTRY_POINTS, files=None, directory=None):
    """The files of an installed distribution, or of a wheel, as path -> bytes."""
    spam = {"spam/__init__.py": b"", "spam/cli.py": b"def main(): pass\n", "spam/one.py": b""}
    return described(spam | (files or {}), name, version, entry_points, directory)


def described(files, name, version="1.0", entry_points=None, directory=None):
    """The given files plus the metadata of a wheel."""
    directory = directory or f"{name}-{version}.dist-info"
    tree = {f"{directory}/METADATA": metadata(name, version),
            f"{directory}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\n"
                                  "Root-Is-Purelib: true\nTag: py3-none-any\n"} | files
    if entry_points is not None:
        tree[f"{directory}/entry_points.txt"] = entry_points
    tree = {path: as_bytes(data) for path, data in tree.items()}
    record = "".join(record_line(path, data) for path, data in tree.items())
    tree[f"{directory}/RECORD"] = as_bytes(record + f"{directory}/RECORD,,\n")
    return tree


def write_wheel(place, name, files, entry_points=None, version="1.0"):
    """Write a wheel that pip can install; returns its path."""
    stem = f"{name.replace('-', '_')}-{version}"
    tree = described(files, name, version, entry_points, f"{stem}.dist-info")
    return write_zip(f"{place}/{stem}-py3-none-any.whl", tree)


def source(name="spam", version="1.0", files=None):
    """The files of a source distribution, with PKG-INFO at the top level."""
    tree = {"PKG-INFO": metadata(name, version)} | (files or {})
    return {f"{name}-{version}/{path}": as_bytes(data) for path, data in tree.items()}


def below(prefix, tree):
    return {f"{prefix}/{path}": data for path, data in tree.items()}


def write_zip(path, tree, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in tree.items():
            archive.writestr(zipfile.ZipInfo(name, TIME), data, compression)
    return path


def tar_bytes(tree, links=(), tar_format=tarfile.PAX_FORMAT, dated=False):
    """links: TarInfo objects, added first. dated: the members' times depend on their contents."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tar_format) as archive:
        for link in links:
            archive.addfile(link)
        for name, data in tree.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.mtime = 1_600_000_000 + zlib.crc32(data) % 100_000_000 if dated else 0
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def tool(*command, data=None, **options):
    if not shutil.which(command[0]):
        raise unittest.SkipTest(f"{command[0]} is not installed")
    return subprocess.run(command, input=data, check=True, stdout=subprocess.PIPE, **options).stdout


def compressed(data, ending):
    if ending in ("gz", "tgz"):
        return gzip.compress(data, 6, mtime=0)
    if ending == "zst":
        return tool("zstd", "-q", "-c", data=data)
    return {"bz2": bz2.compress, "xz": lzma.compress, "tar": bytes}[ending](data)


def write_tar(path, tree, **options):
    with open(path, "wb") as stream:
        stream.write(compressed(tar_bytes(tree, **options), path.rpartition(".")[2]))
    return path


def write_conda(path, tree):
    stem = os.path.basename(path)[:-len(".conda")]
    info = tar_bytes({"info/index.json": b"{}"})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("metadata.json", '{"conda_pkg_format_version": 2}')
        archive.writestr(f"info-{stem}.tar.zst", compressed(info, "zst"))
        archive.writestr(f"pkg-{stem}.tar.zst", compressed(tar_bytes(tree), "zst"))
    return path


def write_files(directory, tree):
    for name, data in tree.items():
        os.makedirs(os.path.dirname(f"{directory}/{name}"), exist_ok=True)
        with open(f"{directory}/{name}", "wb") as stream:
            stream.write(data)


def write_deb(path, tree, compression):
    """Build a .deb; None if dpkg-deb does not support the compression."""
    work = path + ".d"
    write_files(work, tree | {"DEBIAN/control": b"Package: spam\nVersion: 1\nArchitecture: all\n"
                                                b"Maintainer: a <a@b.c>\nDescription: x\n"})
    done = subprocess.run(["dpkg-deb", f"-Z{compression}", "--root-owner-group", "-b", work, path],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.rmtree(work)
    return path if done.returncode == 0 else None


def write_rpm(path, tree):
    work = path + ".d"
    write_files(f"{work}/files", tree)
    spec = ("Name: spam\nVersion: 1\nRelease: 1\nSummary: x\nLicense: x\nBuildArch: noarch\n"
            f"%description\nx\n%install\ncp -a {work}/files/. %{{buildroot}}\n"
            "%files\n/usr\n%define __os_install_post %{nil}\n")
    with open(f"{work}/spam.spec", "w", encoding="utf-8") as stream:
        stream.write(spec)
    tool("rpmbuild", "-bb", "--quiet", "--define", f"_topdir {work}/top", f"{work}/spam.spec",
         stderr=subprocess.DEVNULL)
    os.rename(f"{work}/top/RPMS/noarch/spam-1-1.noarch.rpm", path)
    shutil.rmtree(work)
    return path


def write_huge_zip(path, count, first):
    """Write a zip of count empty members and of first (path -> bytes); zipfile would take minutes."""
    write_zip(path, first, zipfile.ZIP_STORED)
    with open(path, "rb") as stream:
        data = stream.read()
    size, offset = struct.unpack("<II", data[-10:-2])
    local, central = bytearray(data[:offset]), bytearray(data[offset:offset + size])
    for i in range(count):
        name = b"spam/m%07d.py" % i
        common = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0)
        central += (b"PK\1\2\24\3" + common + struct.pack("<HHHII", 0, 0, 0, 0, len(local)) + name)
        local += b"PK\3\4" + common + name
    total = count + len(first)
    end64 = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, total, total, len(central),
                        len(local))
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, len(local) + len(central), 1)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, len(central) & 0xFFFFFFFF,
                      len(local) & 0xFFFFFFFF, 0)
    with open(path, "wb") as stream:
        for part in (local, central, end64, locator, end):
            stream.write(part)
    return path


def write_huge_tar(path, count, tree):
    """Write a tar.gz of count empty members followed by tree; tarfile would take minutes."""
    header = bytearray(tarfile.TarInfo("spam/m0000000.py").tobuf(tarfile.USTAR_FORMAT))
    header[148:156] = b" " * 8
    base = sum(header) - sum(b"0000000")
    with gzip.open(path, "wb", 1) as stream:
        for i in range(count):
            digits = b"%07d" % i
            header[6:13] = digits
            header[148:156] = b"%06o\0 " % (base + sum(digits))
            stream.write(header)
        stream.write(tar_bytes(tree))
    return path
