"""The wheel of a torch device, as in torch's tutorial: a library built against the installed torch, and an
entry point. A second entry point, in another group, names the library itself for programs without
Python."""

import os

# As in torch's own OpenReg: an installed older version would be loaded from here, half built.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name="torch-openreg",
    version=os.environ["OPENREG_VERSION"],
    packages=["torch_openreg"],
    # py_limited_api means: without torch_python.
    ext_modules=[CppExtension("torch_openreg.libopenreg", ["openreg.cpp"], py_limited_api=True,
                              extra_compile_args=["-O0"])],
    cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True, use_ninja=False)},
    entry_points={
        "torch.backends": ["openreg = torch_openreg:autoload"],
        "torch.backends.native": ["openreg = torch_openreg.libopenreg:openreg_register"],
    },
)
