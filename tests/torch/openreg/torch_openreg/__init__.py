"""The device of openreg.cpp in Python: `import torch` is all that a program needs."""

import ctypes
import os
import types

import torch

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libopenreg.so")


def autoload():
    """The entry point of torch.backends."""
    ctypes.CDLL(LIBRARY).openreg_register()
    torch._register_device_module("openreg", types.ModuleType("torch.openreg"))
