"""The wheel of a device for torch, as its tutorial has it: a library, built against the torch
that is installed, and an entry point. A second one, in another group, leads to the library
itself, for programs without Python."""

import os

# As torch's own OpenReg does: an older one that is installed would be loaded from here, half built.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name="torch-openreg",
    version=os.environ["OPENREG_VERSION"],
    packages=["torch_openreg"],
    # Without torch_python, which is what py_limited_api means to it.
    ext_modules=[CppExtension("torch_openreg.libopenreg", ["openreg.cpp"], py_limited_api=True,
                              extra_compile_args=["-O0"])],
    cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True, use_ninja=False)},
    entry_points={
        "torch.backends": ["openreg = torch_openreg:autoload"],
        "torch.backends.native": ["openreg = torch_openreg.libopenreg:openreg_register"],
    },
)
