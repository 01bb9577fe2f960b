#!/usr/bin/env python3
"""File systems mounted again, mounted elsewhere, or mounted from an image.

Real file systems are mounted if the kernel and the permissions allow it.
"""

import os
import shutil
import subprocess

import support
from travel import CLAMP, TravelTest, copy, run, tool

MEBIBYTES = {"ext4": 16, "btrfs": 128, "xfs": 320}
MAKE = {"ext4": ("-q", "-F"), "btrfs": ("-q", "-f"), "xfs": ("-q", "-f")}


class MountTest(TravelTest):
    def mount(self, source, *options, where=None):
        """Mount; returns the mount point, or skips the test with the reason."""
        where = where or self.place()
        os.makedirs(where, exist_ok=True)
        done = subprocess.run([tool(self, "mount"), *options, source, where], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            self.skipTest(done.stdout.decode(errors="replace").strip())
        self.addCleanup(self.unmount, where)
        return where

    def unmount(self, where):
        """Unmount; does nothing if it is not mounted."""
        subprocess.run(["umount", "-l", where], check=False, stderr=subprocess.DEVNULL)

    def make_file_system(self, kind):
        image = f"{self.top}/{kind}.image"
        with open(image, "wb") as file:
            file.truncate(MEBIBYTES[kind] << 20)
        run(tool(self, f"mkfs.{kind}"), *MAKE[kind], image)
        return image

    def loop_device(self, image):
        done = subprocess.run([tool(self, "losetup"), "--find", "--show", image], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            self.skipTest(done.stdout.decode(errors="replace").strip())
        device = done.stdout.decode().strip()
        self.addCleanup(subprocess.run, ["losetup", "--detach", device], check=False,
                        stderr=subprocess.DEVNULL)
        return device


class EachKind:
    """Tests with file systems that keep owners and times."""

    def test_ext4(self):
        self.check("ext4")

    def test_btrfs(self):
        self.check("btrfs")

    def test_xfs(self):
        self.check("xfs")


@support.needs_root
class Again(EachKind, MountTest):
    """The original file system mounted as another device: not even a directory is listed."""

    def check(self, kind):
        image = self.make_file_system(kind)
        where = self.mount(image, "-o", "loop")
        first = os.stat(where).st_dev
        prefix = f"{where}/venv"
        self.fill(self.site_of(prefix))
        self.index(prefix, database=f"{prefix}/{support.DATABASE}")
        support.settle()
        self.update(prefix)
        self.unmount(where)
        spacer = self.make_file_system("ext4") if kind != "ext4" else f"{self.top}/spacer.image"
        if kind == "ext4":
            shutil.copy(image, spacer)
        self.loop_device(spacer)  # shifts the number of the next loop device
        where = self.mount(image, "-o", "loop")
        prefix = f"{where}/venv"
        if kind != "btrfs":  # btrfs has no device number of a loop device
            if os.stat(where).st_dev == first:
                self.skipTest("it has the same device number again")
        self.assertEqual(self.freshness(self.site_of(prefix), name="dist3"), "fresh")
        self.check_known(prefix)

@support.needs_root
class Elsewhere(EachKind, MountTest):
    """Copied to each kind of file system, and updated there."""

    def check(self, kind):
        where = self.mount(self.make_file_system(kind), "-o", "loop")
        copy(self.prefix, f"{where}/venv")
        self.check_known(f"{where}/venv")
        self.check_anchored(f"{where}/venv")

    def test_memory(self):
        where = self.mount("none", "-t", "tmpfs")
        copy(self.prefix, f"{where}/venv")
        self.check_anchored(f"{where}/venv")

    def test_bound(self):
        where = self.mount(self.prefix, "--bind")
        self.assertEqual(self.freshness(self.site_of(where), name="dist3"), "fresh")
        self.check_known(where)


@support.needs_root
class Images(MountTest):
    """Read-only images made from the tree."""

    def squash(self, *options):
        image = f"{self.top}/image.squashfs"
        run(tool(self, "mksquashfs"), self.prefix, image, "-noappend", "-quiet", *options)
        return self.mount(image, "-o", "loop,ro", "-t", "squashfs")

    def test_squashfs(self):
        self.check_known(self.squash())

    def test_squashfs_of_one_time(self):
        """All times are the same, as in Snap and Flatpak images with SOURCE_DATE_EPOCH."""
        self.check_known(self.squash("-all-time", "0", "-mkfs-time", "0"))

    def test_erofs(self):
        image = f"{self.top}/image.erofs"
        run(tool(self, "mkfs.erofs"), image, self.prefix)
        self.check_known(self.mount(image, "-o", "loop,ro", "-t", "erofs"))

    def test_erofs_of_one_time(self):
        image = f"{self.top}/image.erofs"
        run(tool(self, "mkfs.erofs"), f"-T{CLAMP}", image, self.prefix)
        self.check_known(self.mount(image, "-o", "loop,ro", "-t", "erofs"))

    def test_ext4_of_a_directory(self):
        image = f"{self.top}/image.ext4"
        run(tool(self, "mkfs.ext4"), "-q", "-d", self.prefix, image, "16M")
        self.check_anchored(self.mount(image, "-o", "loop"))


@support.needs_root
class Overlay(MountTest):
    """Overlay mounts, as in containers; the upper layer contains the changes."""

    def overlay(self, *lower):
        self.upper, work = self.place(), self.place()
        where = self.place()
        for path in (self.upper, work, where):
            os.makedirs(path)
        return self.mount("overlay", "-t", "overlay", "-o",
                          f"lowerdir={':'.join(lower)},upperdir={self.upper},workdir={work}",
                          where=where)

    def test_nothing_changed(self):
        where = self.overlay(self.prefix)
        self.check_known(where)

    def test_over_a_copy(self):
        below = self.place()
        copy(self.prefix, below)
        self.check_anchored(self.overlay(below))

    def test_over_an_image(self):
        image = f"{self.top}/image.squashfs"
        run(tool(self, "mksquashfs"), self.prefix, image, "-noappend", "-quiet")
        self.check_anchored(self.overlay(self.mount(image, "-o", "loop,ro", "-t", "squashfs")))

    def test_changed_above_a_copy(self):
        below = self.place()
        copy(self.prefix, below)
        where = self.overlay(below)
        read = self.change_layer(where)
        self.check_anchored(where, read)

    def test_changed_layer_is_copied(self):
        """After commit, push and pull, each layer is an archive with times in whole seconds."""
        below, layers = self.place(), [self.place(), self.place()]
        copy(self.prefix, below)
        where = self.overlay(below)
        read = self.change_layer(where)
        self.unmount(where)
        for source, layer in zip((below, self.upper), layers):
            os.mkdir(layer)
            run(tool(self, "tar"), "--xattrs", "--xattrs-include=*", "--format=posix",
                "--pax-option=delete=mtime,delete=atime,delete=ctime", "-cpf",
                f"{layer}.tar", "-C", source, ".")
            run("tar", "--xattrs", "--xattrs-include=*", "-xpf", f"{layer}.tar", "-C", layer)
        self.check_anchored(self.overlay(*reversed(layers)), read)


if __name__ == "__main__":
    support.main()
