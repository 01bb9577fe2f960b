"""libentrydb's registry and autoload give the same answers as torch's own.

The queries are a table of lines. torch finds its back ends in Python, and a C program finds those of the
same names in a shared object, by entry points of the same wheel.
"""

import os
import subprocess

import support
import torch_environment
from extensions import compile_object
from torch_environment import EnvironmentTest

HERE = f"{os.path.dirname(os.path.abspath(__file__))}/registry"
ENTRY_POINTS = """\
[torch_dynamo_backends]
installed = my_registry:installed
later = my_registry:later
broken = my_registry:absent

[registry.back_ends]
installed = my_registry.plugins:installed
later = my_registry.plugins:later
broken = my_registry.plugins:absent

[torch.backends]
well = my_registry:well
bad = my_registry:bad
third = my_registry:well

[registry.devices]
well = my_registry.plugins:well
bad = my_registry.plugins:bad
third = my_registry.plugins:well
"""

MODULE = """
def installed(graph, inputs): return graph.forward
def later(graph, inputs): return graph.forward
installed.what = "installed installed"
later.what = "installed later"
def well(): print("called", flush=True)
def bad(): raise OSError("it returned 7")
"""

# Queries, and the beginning of both answers.
TABLE = (
    ("list", "broken installed later"),
    ("register mine", "done"),
    ("register debugged debug", "done"),
    ("register tried experimental,slow", "done"),
    ("register mine", "duplicate: duplicate name: mine\n"),
    ("list", "broken debugged installed later mine tried"),
    ("list debug,experimental", "broken installed later mine"),
    ("list slow", "broken debugged installed later mine"),
    ("lookup mine", "registered mine"),
    ("lookup installed", "installed installed"),
    ("lookup installed", "installed installed"),
    ("register installed", "duplicate: duplicate name: installed\n"),
    ("register later", "done"),  # it has not been loaded yet
    ("lookup later", "registered later"),
    ("lookup broken", "failed: "),  # and is retried
    ("lookup broken", "failed: "),
    ("list", "broken debugged installed later mine tried"),
    ("lookup instaled", "unknown: "),
    ("lookup somethingelse", "unknown: "),
    ("register broken", "done"),
    ("lookup broken", "registered broken"),
)
NAMES = ("broken", "debugged", "installed", "later", "mine", "tried")

CALLED = ("called\n", "failed: ")  # the first of three is called, the second fails
SWITCHED = ((("switch", CALLED), ("switch 1", CALLED))
            + tuple((f"switch {value}", ()) for value in ("0", "true", "yes", "11")))

torch = host = None


def setUpModule():
    global torch, host
    torch_environment.set_up()
    torch = torch_environment.environment
    build = os.environ.get("ENTRYDB_BUILD") or f"{torch_environment.TOP}/build"
    library = f"{build}/libquery"
    host = f"{torch.scratch}/registry"
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", f"-I{torch_environment.TOP}", "-o", host,
                    f"{HERE}/registry.c", f"-L{library}", f"-Wl,-rpath,{library}", "-lentrydb"],
                   check=True)


class Registry(EnvironmentTest):
    def setUp(self):
        super().setUp()
        place = f"{torch.scratch}/plugins"
        library = compile_object(place, "plugins.so", support.read(f"{HERE}/plugins.c"))
        files = {"my_registry/__init__.py": MODULE, "my_registry/plugins.so": support.read_bytes(library)}
        self.install("my-registry", files, ENTRY_POINTS)

    def answers(self, lines):
        """The answers of torch, accelerated and not, which must be equal; and those of the C program."""
        asked = "".join(f"{line}\n" for line in lines)
        command = [torch.python, f"{HERE}/registry.py", *NAMES]
        plain = torch.must(*command, accelerated=False, input=asked).out
        self.assertEqual(torch.must(*command, input=asked).out, plain)
        return plain, torch.must(host, torch.site, input=asked).out

    def test_table(self):
        for answers in self.answers([asked for asked, _ in TABLE]):
            for (asked, begins), answer in zip(TABLE, answers.splitlines(keepends=True), strict=True):
                self.assertTrue(answer.startswith(begins), (asked, answer))

    def test_unknown(self):
        """Similar names are suggested; torch does so since 2.14."""
        of_torch, of_library = self.answers(["lookup instaled"])
        self.assertIn("Invalid backend: 'instaled', see `torch._dynamo.list_backends()`", of_torch)
        self.assertIn("there is no 'instaled' in 'registry.back_ends'; did you mean 'installed'?",
                      of_library)

    def test_autoload(self):
        """Called in order until one fails; none is called unless the switch is unset or exactly 1."""
        of_torch, of_library = self.answers(
            [line for switch, _ in SWITCHED for line in (switch, "autoload registry.devices")])
        self.check_autoload(of_torch)
        self.check_autoload(of_library)
        self.assertIn("Failed to load the backend extension: bad. You can disable extension "
                      "auto-loading with TORCH_DEVICE_BACKEND_AUTOLOAD=0.", of_torch)
        self.assertIn("failed to load the extension bad: it returned 7; "
                      "TORCH_DEVICE_BACKEND_AUTOLOAD=0", of_library)

    def check_autoload(self, answers):
        answers = answers.splitlines(keepends=True)
        for switch, called in SWITCHED:
            for begins in ("done\n", *(called or ("done\n",))):
                self.assertTrue(answers.pop(0).startswith(begins), (switch, begins, answers))
        self.assertEqual(answers, [])


if __name__ == "__main__":
    support.main()
