"""Tiny packages in the format of each package manager, made from one description.

A distribution has a name, a version and a build. Builds of a version correspond to releases of a
system package: the same dist-info directory with other entry points, or with none. The files are the
same in a wheel, a .deb, an .rpm and a pacman package, apart from those that each format adds.
"""

import os
import time
import tarfile
from typing import NamedTuple

import archives

NAMES = ("alpha", "Beta.tools", "gamma_delta")
VERSIONS = ("1.0", "1.1", "2.0")
BUILDS = (1, 2, 3)
WITHOUT_ENTRY_POINTS = 3  # the build that has none


class Package(NamedTuple):
    name: str
    version: str
    build: int

    @property
    def stem(self):
        """The prefix of the wheel's and the dist-info directory's name."""
        return f"{self.name.replace('-', '_').replace('.', '_')}-{self.version}"

    @property
    def system_name(self):
        """The name of the system package."""
        return "python3-" + self.name.lower().replace("_", "-").replace(".", "-")

    @property
    def module(self):
        return self.name.lower().replace(".", "_")

    def entry_points(self):
        if self.build == WITHOUT_ENTRY_POINTS:
            return None
        value = f"{self.module}:v{self.version.replace('.', '_')}_build{self.build}"
        return (f"[demo]\n{self.name} = {value}\nshared = {value} [x,y]\n\n"
                f"[console_scripts]\n{self.module}-{self.build} = {value}\n")

    def files(self):
        """Path in the site directory -> bytes. The module is a directory, as is usual, so that a new build
        leaves the site directory unchanged."""
        info = f"{self.stem}.dist-info"
        tree = {f"{self.module}/__init__.py": f"# {self.version}, build {self.build}\n".encode(),
                f"{info}/METADATA": archives.metadata(self.name, self.version).encode()}
        if self.entry_points():
            tree[f"{info}/entry_points.txt"] = self.entry_points().encode()
        return tree


def any_package(choose, name=None):
    return Package(name or choose.choice(NAMES), choose.choice(VERSIONS), choose.choice(BUILDS))


class Maker:
    """Builds package files in a directory, each on first use."""

    def __init__(self, place, site):
        """site: the site directory for system packages, as seen inside the root."""
        self.place, self.site = place, site
        os.makedirs(place, exist_ok=True)

    def once(self, path, make):
        if not os.path.exists(path):
            make(path)
        return path

    def placed(self, package):
        return archives.below(self.site.strip("/"), package.files())

    # -- wheels -----------------------------------------------------------

    def wheel(self, package):
        name = f"{package.stem}-{package.build}-py3-none-any.whl"
        return self.once(f"{self.place}/{name}", lambda path: write_wheel(path, package))

    # -- Debian -----------------------------------------------------------

    def deb(self, package):
        return self.once(f"{self.place}/{package.stem}-{package.build}.deb",
                         lambda path: self.write_deb(path, package))

    def write_deb(self, path, package):
        control = (f"Package: {package.system_name}\nVersion: {package.version}-{package.build}\n"
                   "Architecture: all\nMaintainer: a <a@b.c>\nDescription: tiny\n")
        work = f"{path}.d"
        self.write_files(work, package)
        archives.write_files(work, {"DEBIAN/control": control.encode()})
        archives.tool("dpkg-deb", "-Znone", "--root-owner-group", "-b", work, path)

    # -- rpm --------------------------------------------------------------

    def write_files(self, directory, package):
        """Write the files with old times: dpkg and rpm store whole seconds, so a new build must differ by more."""
        archives.write_files(directory, self.placed(package))
        built = int(time.time()) - 3600 - 10 * int(package.build)
        for path in self.placed(package):
            os.utime(f"{directory}/{path}", (built, built))

    def rpm(self, package):
        """Build the rpms of all names of a version at once, since rpmbuild is slow to start."""
        place = f"{self.place}/rpm-{package.version}-{package.build}"
        if not os.path.isdir(place):
            self.write_rpms(place, package)
        return f"{place}/{package.system_name}-{package.version}-{package.build}.noarch.rpm"

    def write_rpms(self, place, package):
        family = [package._replace(name=name) for name in NAMES]
        work = f"{place}.d"
        for each in family:
            self.write_files(f"{work}/files", each)
        with open(f"{work}/tiny.spec", "w", encoding="utf-8") as stream:
            stream.write(self.spec(package, family, work))
        archives.tool("rpmbuild", "-bb", "--quiet", "--define", f"_topdir {work}/top",
                      "--define", f"_rpmdir {place}", "--define", "_build_name_fmt "
                      "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm", f"{work}/tiny.spec")

    def spec(self, package, family, work):
        parts = [f"Name: tiny\nVersion: {package.version}\nRelease: {package.build}\nSummary: x\n"
                 "License: x\nBuildArch: noarch\n%define __os_install_post %{nil}\n"
                 f"%description\nx\n%install\ncp -a {work}/files/. %{{buildroot}}\n"]
        for each in family:
            parts.append(f"%package -n {each.system_name}\nSummary: x\nAutoReqProv: no\n"
                         f"%description -n {each.system_name}\nx\n%files -n {each.system_name}\n"
                         f"{self.site}/{each.module}\n{self.site}/{each.stem}.dist-info\n")
        return "".join(parts)

    # -- pacman -----------------------------------------------------------

    def pacman(self, package):
        return self.pacman_file(f"{package.stem}-{package.build}", package.system_name,
                                f"{package.version}-{package.build}", self.placed(package))

    def pacman_file(self, stem, name, version, tree):
        info = (f"pkgname = {name}\npkgbase = {name}\npkgver = {version}\npkgdesc = tiny\nurl = x\n"
                "builddate = 1700000000\npackager = x\nsize = 10\narch = any\nlicense = x\n")
        return self.once(f"{self.place}/{stem}.pkg.tar",
                         lambda path: archives.write_tar(path, {".PKGINFO": info.encode()} | tree,
                                                         links=directories(tree), dated=True))


def directories(tree):
    """The parent directories, which pacman removes only if the package lists them."""
    names = {os.path.dirname(path) for path in tree}
    while "" not in names:
        names |= {os.path.dirname(name) for name in names}
    members = [tarfile.TarInfo(name) for name in sorted(names) if name]
    for member in members:
        member.type, member.mode = tarfile.DIRTYPE, 0o755
    return members


def write_wheel(path, package):
    archives.write_zip(path, archives.described(package.files(), package.name, package.version,
                                                directory=f"{package.stem}.dist-info"))
