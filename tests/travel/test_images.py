#!/usr/bin/env python3
"""Container images: built, committed, copied to an OCI layout, unpacked, and with another layer."""

import os
import shutil
import subprocess

import support
from travel import TravelTest, tool


@support.needs_root
class Images(TravelTest):
    def setUp(self):
        super().setUp()
        self.buildah, self.umoci = tool(self, "buildah"), tool(self, "umoci")
        self.layout = f"{self.top}/layout"

    def build(self, *words):
        """Run buildah with its own storage; returns its output."""
        done = subprocess.run([self.buildah, "--storage-driver", "vfs", "--root", f"{self.top}/storage",
                               "--runroot", f"{self.top}/run", *words],
                              env=dict(os.environ, HOME=self.home, BUILDAH_ISOLATION="chroot"),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            self.skipTest(f"buildah {words[0]}: {done.stderr.strip()[-300:]}")
        return done.stdout.strip()

    def carry(self, program, *words):
        done = subprocess.run([program, *words], env=dict(os.environ, HOME=self.home), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        if done.returncode:
            self.skipTest(f"{program}: {done.stderr.strip()[-300:]}")

    def unpacked(self, tag):
        """The environment in the image, unpacked as by a container runtime."""
        bundle = self.place()
        self.carry(self.umoci, "unpack", "--image", f"{self.layout}:{tag}", bundle)
        return f"{bundle}/rootfs/venv"

    def made(self, *options):
        """Commit an image with the environment; it is `first` in the OCI layout."""
        container = self.build("from", "scratch")
        self.build("copy", container, self.prefix, "/venv")
        self.build("commit", *options, container, f"oci:{self.layout}:first")
        return container

    def test_committed(self):
        self.made()
        self.check_anchored(self.unpacked("first"))

    def test_committed_at_one_time(self):
        """As for reproducible images, all times are that of the commit."""
        self.made("--timestamp", "1000000000")
        there = self.unpacked("first")
        self.assertEqual(os.stat(f"{there}/{support.DATABASE}").st_mtime, 1000000000)
        self.check_anchored(there)

    def test_copied(self):
        self.made()
        skopeo = tool(self, "skopeo")
        self.carry(skopeo, "copy", "--quiet", f"oci:{self.layout}:first", f"dir:{self.top}/directory")
        self.carry(skopeo, "copy", "--quiet", f"dir:{self.top}/directory", f"oci:{self.layout}:second")
        self.check_known(self.unpacked("second"))

    def test_sealed(self):
        self.update("--sealed", "--quiet", self.prefix)
        self.made()
        self.check_anchored(self.unpacked("first"))

    def test_layer_above(self):
        container = self.made()
        read = self.change_layer(f"{self.build('mount', container)}/venv")
        self.build("umount", container)
        self.build("commit", container, f"oci:{self.layout}:second")
        self.check_anchored(self.unpacked("second"), read)

    def small_system(self, top, *programs):
        """A root directory with these programs and the libraries that they need."""
        for program in programs:
            needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout.split()
            for path in [program, *[word for word in needed if word.startswith("/")]]:
                os.makedirs(os.path.dirname(f"{top}{path}"), exist_ok=True)
                shutil.copy(os.path.realpath(path), f"{top}{path}")

    def test_recipe(self):
        """The Dockerfile of entrydb-freshness(7), without the downloads."""
        with open(f"{support.TOP}/libquery/man/entrydb-freshness.7", encoding="utf-8") as file:
            self.assertIn("&& entrydb update --sealed /opt/venv\n", file.read())
        context = f"{self.top}/context"
        shutil.copytree(self.site, f"{context}/site")
        self.small_system(f"{context}/root", "/bin/sh", support.PROGRAM)
        shutil.copy(support.PROGRAM, f"{context}/entrydb")
        support.write(f"{context}/Dockerfile", "\n".join([
            "FROM scratch", "COPY root /", "COPY entrydb /usr/bin/entrydb", f"COPY site /opt/venv/{support.SITE}",
            "RUN entrydb update --sealed /opt/venv", "ENV PATH=/opt/venv/bin:/usr/bin:/bin", ""]))
        self.build("bud", "--quiet", "--tag", f"oci:{self.layout}:recipe", context)
        there = f"{os.path.dirname(self.unpacked('recipe'))}/opt/venv"
        self.assertEqual(support.query(f"{there}/{support.DATABASE}", "SELECT sealed FROM publication"), [(1,)])
        self.check_known(there)


if __name__ == "__main__":
    support.main()
