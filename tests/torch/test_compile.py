"""torch.compile finds its back ends in torch_dynamo_backends, and imports only the requested one."""


import support
import torch_environment
from torch_environment import EnvironmentTest

setUpModule = torch_environment.set_up

ENTRY_POINTS = """[torch_dynamo_backends]
my_compiler = my_back_end.compiler:compile_graph
broken = my_back_end.broken:compile_graph
no_attribute = my_back_end.compiler:absent
inductor = my_back_end.compiler:absent
"""

FILES = {
    "my_back_end/__init__.py": "print('my_back_end is imported')\n",
    "my_back_end/broken.py": "raise OSError('no such compiler')\n",
    "my_back_end/compiler.py": """\
def compile_graph(graph, inputs):
    print("compiles", len(inputs), "input")
    return graph.forward
""",
}

PROLOGUE = """
import torch
from torch._dynamo import list_backends

def model(x):
    return torch.sin(x) + torch.cos(x)

def attempt(look, *arguments):
    try:
        return look(*arguments)
    except Exception as error:
        return [type(error).__qualname__, str(error), type(error.__cause__).__qualname__]

def compiled(name):
    return attempt(lambda: torch.equal(torch.compile(model, backend=name)(torch.ones(3)),
                                       model(torch.ones(3))))
"""

LISTED = """
print(list_backends())
print(list_backends(None))
print(list_backends(exclude_tags=("debug",)))
"""

USED = """
print(compiled("my_compiler"))
torch._dynamo.reset()
print(compiled("my_compiler"))
print("my_compiler" in list_backends())
"""

# A failed load is retried at each look-up.
FAILING = """
from torch._dynamo.backends.registry import lookup_backend
for name in ("broken", "broken", "no_attribute", "inductor", "my_compilr", "inductr"):
    print(name, attempt(lookup_backend, name))
print("used:", compiled("my_compilr"))
"""

TAGGED = """
from torch._dynamo import register_backend
from torch._dynamo.backends.registry import lookup_backend, register_debug_backend
from torch._dynamo.backends.registry import register_experimental_backend

def mine(graph, inputs):
    return graph.forward

def other(graph, inputs):
    return graph.forward

register_debug_backend(mine, name="mine_debug")
register_experimental_backend(other)
def third(graph, inputs):
    return graph.forward

print(register_backend(third, "my_compiler") is lookup_backend("my_compiler") is third)
print(attempt(register_backend, other))
for tags in (("debug", "experimental"), ("debug",), ()):
    print(list_backends(tags))
"""

# torch's own tests use such a mock, which accepts only group=.
MOCKED = """
import importlib.metadata
from unittest import mock

class Found(dict):
    names = property(set)

def entry_points(*, group):
    return Found(mocked=None, mine=None) if group == "torch_dynamo_backends" else Found()

with mock.patch("importlib.metadata.entry_points", entry_points):
    print([name for name in list_backends() if name.startswith("m")])
"""


class Compile(EnvironmentTest):
    def check(self, source, **how):
        """The lines of output, after comparing them; the back ends are installed."""
        return self.script(PROLOGUE + source, **how).out.splitlines()

    def setUp(self):
        super().setUp()
        self.install("my-back-end", FILES, ENTRY_POINTS)

    def test_listed(self):
        """All back ends are listed, even the broken one, and none is imported."""
        for line in self.check(LISTED):
            for name in ("my_compiler", "broken", "no_attribute"):
                self.assertIn(f"'{name}'", line)

    def test_used(self):
        """The first use imports the back end; the compiled model computes the same."""
        lines = self.check(USED)
        self.assertEqual(lines, ["my_back_end is imported", "compiles 1 input", "True",
                                 "compiles 1 input", "True", "True"])

    def test_failing(self):
        """A failing back end raises Python's error, an unknown name torch's."""
        found = dict(line.split(" ", 1) for line in self.check(FAILING)[1:])
        self.assertEqual(found["broken"], "['OSError', 'no such compiler', 'NoneType']")
        self.assertIn("module 'my_back_end.compiler' has no attribute 'absent'", found["no_attribute"])
        self.assertIn("<function inductor at", found["inductor"])
        unknown = """['InvalidBackend', "Invalid backend: 'my_compilr', see """
        self.assertIn(unknown, found["my_compilr"])
        self.assertIn(unknown, found["used:"])

    def test_tagged(self):
        """Registered back ends are listed with installed ones; those not yet loaded have no tags."""
        lines = self.check(TAGGED)
        self.assertIn("duplicate name: other", lines[1])
        listed, without_debug, every = lines[2:5]
        for name, is_in in (("mine_debug", (False, False, True)), ("other", (False, True, True)),
                            ("broken", (True, True, True))):
            self.assertEqual(tuple(f"'{name}'" in line for line in (listed, without_debug, every)), is_in)

    def test_mocked(self):
        """entry_points remains an attribute that tests may replace, as torch's own do."""
        self.assertEqual(self.check(MOCKED), ["['mine', 'mocked']"])


if __name__ == "__main__":
    support.main()
