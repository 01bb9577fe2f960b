"""Other programs that load plugins when they are imported: jax, triton, and code like vLLM's.

xarray, fsspec, opentelemetry, pytest and more are in tests/python/test_programs.py.
"""


import support
import torch_environment
from torch_environment import EnvironmentTest, kept_customers


def setUpModule():
    torch_environment.set_up(kept_customers)


# jax treats the value as a module and initializes it.
JAX = """
import logging
logging.basicConfig(format="%(levelname)s %(message)s")
import jax
print(jax.devices(), jax.numpy.ones(3).sum())
"""
JAX_ENTRY_POINTS = """[jax_plugins]
mine = my_jax.plugin
broken = my_jax.broken
absent = my_jax.absent
"""
JAX_FILES = {
    "my_jax/__init__.py": "",
    "my_jax/plugin.py": "def initialize(): print('initializes')\n",
    "my_jax/broken.py": "def initialize(): raise OSError('no such device')\n",
}

TRITON = """
import triton
from triton.backends import backends
print({name: (each.compiler.__module__, each.driver.__module__) for name, each in backends.items()})
"""
TRITON_FILES = {
    "my_triton/__init__.py": "",
    "my_triton/compiler.py": "from triton.backends.nvidia.compiler import CUDABackend\n",
    "my_triton/driver.py": "from triton.backends.nvidia.driver import CudaDriver\n",
}

VLLM = """
import logging
import os
from importlib.metadata import entry_points

def load_plugins(group):
    allowed = os.environ.get("VLLM_PLUGINS")
    allowed = allowed and allowed.split(",")
    plugins = {}
    for each in entry_points(group=group):
        if allowed is None or each.name in allowed:
            try:
                plugins[each.name] = each.load()
            except Exception:
                logging.exception("Failed to load plugin %s", each.name)
    return plugins

for group in ("vllm.platform_plugins", "vllm.general_plugins", "vllm.io_processor_plugins"):
    print(group, {name: plugin() for name, plugin in load_plugins(group).items()})
"""
VLLM_ENTRY_POINTS = """[vllm.platform_plugins]
mine = my_vllm:platform
[vllm.general_plugins]
model = my_vllm:register
broken = my_vllm:absent
"""
VLLM_SOURCE = "def platform(): return 'my_vllm.platform'\ndef register(): return 'registered'\n"


class Customers(EnvironmentTest):
    def test_jax(self):
        self.install("my-jax", JAX_FILES, JAX_ENTRY_POINTS)
        reply = self.script(JAX, JAX_PLATFORMS="cpu")
        self.assertEqual(reply.out, "initializes\n[CpuDevice(id=0)] 3.0\n")
        self.assertIn("ERROR Jax plugin configuration error: Exception when calling "
                      "my_jax.broken.initialize()\n", reply.err)
        self.assertIn("WARNING Jax plugin configuration error: Plugin module my_jax.absent "
                      "does not exist\n", reply.err)

    def test_triton(self):
        self.install("my-triton", TRITON_FILES, "[triton.backends]\nmine = my_triton\n")
        out = self.script(TRITON).out
        for name in ("'mine'", "'nvidia'", "'amd'"):
            self.assertIn(f"{name}: ('triton.backends.", out)

    def test_triton_broken(self):
        """An exception of a plugin propagates: `import triton` fails."""
        self.install("my-triton", {"my_triton/__init__.py": ""}, "[triton.backends]\nmine = my_triton\n")
        reply = self.script(TRITON, status=1)
        self.assertIn("\nModuleNotFoundError: No module named 'my_triton.compiler'\n", reply.err)

    def test_vllm(self):
        self.install("my-vllm", {"my_vllm.py": VLLM_SOURCE}, VLLM_ENTRY_POINTS)
        reply = self.script(VLLM)
        self.assertEqual(reply.out, "vllm.platform_plugins {'mine': 'my_vllm.platform'}\n"
                                    "vllm.general_plugins {'model': 'registered'}\n"
                                    "vllm.io_processor_plugins {}\n")
        self.assertIn("ERROR:root:Failed to load plugin broken\n", reply.err)
        self.assertEqual(self.script(VLLM, VLLM_PLUGINS="mine").err, "")


if __name__ == "__main__":
    support.main()
