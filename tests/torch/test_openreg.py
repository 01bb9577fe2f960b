"""A C++ device, built against the installed torch, is found by its entry points.

By `import torch` in Python, and by libentrydb in a program with libtorch.
"""

import glob
import os
import shutil
import subprocess
import unittest

import support
import torch_environment
from torch_environment import EnvironmentTest

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS_ALLOWED = 600

# Only torch is imported.
TENSOR = """
import torch
tensor = torch.tensor([1, 2, 3], device="openreg")
print(tensor, tensor + tensor, tensor.cpu(), tensor.sum().item())
"""
PRINTED = ("tensor([1, 2, 3], device='openreg:0') tensor([2, 4, 6], device='openreg:0') "
           "tensor([1, 2, 3]) 6\n")
CLEAN = "import torch; print(torch.tensor([1, 2, 3]))"

torch = sources = None


def setUpModule():
    global torch, sources
    if "ENTRYDB_BUILD" not in os.environ:
        raise unittest.SkipTest("ENTRYDB_BUILD names no build")
    torch_environment.set_up()
    torch = torch_environment.environment
    sources = f"{torch.scratch}/openreg"
    shutil.copytree(f"{HERE}/openreg", sources)


def build_wheel(version):
    """Earlier compilations are reused."""
    torch.pip("wheel", "--no-build-isolation", "--wheel-dir", torch.wheels, sources,
              OPENREG_VERSION=version)
    return glob.glob(f"{torch.wheels}/torch_openreg-{version}-*.whl")[0]


def build_host():
    """Compile a program that uses libtorch and libentrydb."""
    libraries = [f"{torch.site}/torch/lib", f"{os.environ['ENTRYDB_BUILD']}/libquery"]
    options = [word for place in libraries for word in (f"-L{place}", f"-Wl,-rpath,{place}")]
    subprocess.run(["g++", "-O0", "-std=c++20", f"-I{torch_environment.TOP}", "-isystem",
                    f"{torch.site}/torch/include", "-o", f"{torch.scratch}/host",
                    f"{sources}/host.cpp", *options, "-ltorch_cpu", "-lc10", "-lentrydb"],
                   check=True, timeout=SECONDS_ALLOWED)
    return f"{torch.scratch}/host"


class OpenReg(EnvironmentTest):
    def test_life_cycle(self):
        """All steps in one test, since compiling takes longest."""
        wheel = build_wheel("1.0")
        torch.pip("install", wheel)
        self.check_device()
        self.check_host()
        torch.pip("install", build_wheel("1.1"))  # while 1.0 is installed
        self.check_device()
        self.assertIn("torch-openreg 1.1", torch.entrydb("why", "torch.backends", "openreg").out)
        torch.pip("uninstall", "torch-openreg")
        self.assertEqual(self.script(CLEAN).out, "tensor([1, 2, 3])\n")
        self.assertEqual(torch.entrydb("why", "torch.backends", "openreg").status, 1)

    def check_device(self):
        self.assertEqual(self.script(TENSOR).out, PRINTED)
        reply = self.script(TENSOR, status=1, asks=(), TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        self.assertIn("openreg", reply.err)

    def check_host(self):
        """No Python is in the process, nor on its PATH."""
        found = torch.entrydb("list", "--json", "torch.backends.native").out
        self.assertIn('"kind":"native"', found)
        reply = torch.must(build_host(), torch.site, PATH="/nowhere")
        self.assertEqual(reply.out, "openreg:0 3\nwithout Python\n")


if __name__ == "__main__":
    support.main()
