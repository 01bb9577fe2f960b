"""Executes commands with torch's own registry and autoload; see registry.c."""

import os
import sys

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # until the command "switch"
import torch
from torch._dynamo import list_backends, register_backend
from torch._dynamo.backends.registry import lookup_backend
from torch._dynamo.exc import InvalidBackend

SWITCH = "TORCH_DEVICE_BACKEND_AUTOLOAD"
OURS = set(sys.argv[1:])  # torch has others


def register(name, tags=""):
    def back_end(graph, inputs):
        return graph.forward
    back_end.what = f"registered {name}"
    register_backend(back_end, name, tags=tuple(filter(None, tags.split(","))))
    return "done"


def lookup(name):
    return lookup_backend(name).what


def list_names(exclude=""):
    found = list_backends(tuple(filter(None, exclude.split(","))))
    return " ".join(each for each in found if each in OURS)


def switch(value=None):
    os.environ.pop(SWITCH, None)
    if value is not None:
        os.environ[SWITCH] = value
    return "done"


def autoload(group):
    torch._is_device_backend_autoload_enabled() and torch._import_device_backends()
    return "done"


def obey(verb, *words):
    verbs = {"register": register, "lookup": lookup, "list": list_names, "switch": switch,
             "autoload": autoload}
    try:
        return verbs[verb](*words)
    except InvalidBackend as error:
        return f"unknown: {error}"
    except Exception as error:
        kind = "duplicate" if str(error).startswith("duplicate name") else "failed"
        return f"{kind}: {error}"


for line in sys.stdin:
    print(obey(*line.split()), flush=True)
