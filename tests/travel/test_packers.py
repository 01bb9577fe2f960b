#!/usr/bin/env python3
"""Environments packed with venv-pack and conda-pack, with their databases.

Real and generated wheels are installed in a real virtual environment. conda-pack packs a conda prefix
in which pip installed everything: for conda's own packages it would need the package cache of a conda
installation.
"""

import os
import shutil
import subprocess
import sys

import package_cache
import support
from travel import TravelTest, run

SITE = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
VENV_PACK = "import sys; sys.argv[0] = 'venv-pack'; from venv_pack.__main__ import main; main()"
CONDA_PACK = "import sys; sys.argv[0] = 'conda-pack'; from conda_pack.cli import main; main()"


def setUpModule():
    global packers, wheels
    packers = package_cache.packers()
    wheels = packers and package_cache.pytest_directory(sys.executable)
    if not wheels:
        package_cache.give_up(sys.executable, "venv-pack, conda-pack or pytest cannot be had")


class Packed(TravelTest):
    def setUp(self):
        support.CommandTest.setUp(self)
        self.arrived = 0
        run(sys.executable, "-m", "venv", "--without-pip", self.prefix)
        self.site = self.site_of(self.prefix)
        shutil.copytree(wheels, self.site, dirs_exist_ok=True)
        self.fill(self.site)
        self.index()

    def site_of(self, prefix):
        return f"{prefix}/{SITE}"

    def pack(self, main):
        """Pack the environment, and unpack it elsewhere."""
        archive, there = f"{self.top}/packed.tar.gz", self.place()
        env = {**os.environ, "PYTHONPATH": packers, "HOME": self.home}
        run(sys.executable, "-c", main, "-q", "-p", self.prefix, "-o", archive, env=env)
        os.mkdir(there)
        run("tar", "-xzf", archive, "-C", there)
        self.assertTrue(os.path.exists(f"{there}/{support.DATABASE}"))
        shutil.rmtree(self.prefix)  # the copy must not depend on it
        return there

    def check_changed(self, there):
        """Only files that changed in the copy are read."""
        support.write(f"{self.info(there)}/entry_points.txt", "[demo]\nother = o:main\n")
        self.check_anchored(there, ["dist3-1.0.dist-info"])

    def names(self, there):
        return {line.split("\t")[3] for line in self.list(path=self.site_of(there)).out.splitlines()}

    def test_venv_pack(self):
        there = self.pack(VENV_PACK)
        self.check_known(there)
        self.assertIn("pytest", self.names(there))
        done = subprocess.run(["bash", "-c", '. "$1/bin/activate" && echo "$VIRTUAL_ENV" && '
                               'python -c "import pytest, sys; print(sys.prefix)"', "bash", there],
                              stdout=subprocess.PIPE, text=True, check=True, env={"PATH": os.environ["PATH"]})
        self.assertEqual(done.stdout.split(), [there, there])
        self.check_known(there)
        self.check_changed(there)

    def test_conda_pack(self):
        os.mkdir(f"{self.prefix}/conda-meta")
        support.write(f"{self.prefix}/conda-meta/history", "")
        script = f"{self.prefix}/bin/tool"
        support.write(script, f"#!{self.prefix}/bin/python\nimport sys; print(sys.prefix)\n")
        os.chmod(script, 0o755)
        there = self.pack(CONDA_PACK)
        self.check_known(there)
        run(sys.executable, f"{there}/bin/conda-unpack")
        with open(f"{there}/bin/tool", encoding="utf-8") as file:
            self.assertEqual(file.readline().strip(), "#!/usr/bin/env python")
        self.check_known(there)
        self.check_changed(there)


if __name__ == "__main__":
    support.main()
