"""torchrun and torch.distributed find their plugins by entry points."""


import support
import torch_environment
from torch_environment import EnvironmentTest
from wheels import write

setUpModule = torch_environment.set_up

# A script as setuptools generated it for many years: it queries one distribution, ignoring the version.
LAUNCHER = """
import sys
from importlib.metadata import distribution

def load_entry_point(spec, group, name):
    found = (entry_point for entry_point in distribution(spec.partition("==")[0]).entry_points
             if entry_point.group == group and entry_point.name == name)
    return next(found).load()

sys.exit(load_entry_point("torch==0.0", "console_scripts", {name!r})())
"""

ALL_REDUCE = """
import torch
import torch.distributed as distributed
distributed.init_process_group("gloo")
tensor = torch.ones(3) * (distributed.get_rank() + 1)
distributed.all_reduce(tensor)
if distributed.get_rank() == 0:
    print(distributed.get_world_size(), "processes", tensor)
distributed.destroy_process_group()
"""
REDUCED = "2 processes tensor([3., 3., 3.])\n"

LOGS = """
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs

class Logs(DefaultLogsSpecs):
    def __init__(self, *arguments, **keywords):
        print("logs of the plugin", flush=True)
        super().__init__(*arguments, **keywords)
"""


class Torchrun(EnvironmentTest):
    def setUp(self):
        super().setUp()
        self.program = f"{self.environment.scratch}/all_reduce.py"
        write(self.program, ALL_REDUCE)
        self.arguments = ("--nproc-per-node=2", "--standalone", self.program)

    def launch(self, *arguments, name="torchrun", **how):
        return self.script(LAUNCHER.format(name=name), *arguments, asks=(), **how)

    def test_run(self):
        """Two processes, each with `import torch`."""
        reply = self.environment.compare(self, self.environment.program, "run", "torchrun", *self.arguments)
        self.assertEqual(reply.out, REDUCED)

    def test_plugins(self):
        """A plugin selected by name, and a broken one, about which torch warns."""
        self.plugin("my_logs", "torchrun.logs_specs", "my_logs:Logs", LOGS)
        self.plugin("bad_handler", "torchrun.handlers", "bad_handler:absent", "")
        reply = self.launch("--logs-specs=my_logs", *self.arguments)
        self.assertEqual(reply.out, f"logs of the plugin\n{REDUCED}")
        self.assertIn("Exception while registering out of tree plugin bad_handler: \n", reply.err)
        self.assertIn("AttributeError: module 'bad_handler' has no attribute 'absent'\n", reply.err)

    def test_unknown(self):
        reply = self.launch("--logs-specs=absent", self.program, status=1)
        self.assertIn("\nValueError: Could not find entrypoint under "
                      "'torchrun.logs_specs[absent]' key\n", reply.err)
        self.assertIn("\nStopIteration\n", self.launch(name="absent", status=1).err)


# torch 2.14's search for a back end, for older versions.
LOOK_UP = """
from torch.distributed import Backend

def ensure_registered(name):
    from importlib.metadata import entry_points
    for each in entry_points(group="torch.distributed.backends"):
        if each.name.lower() != name:
            continue
        try:
            register = each.load()
        except Exception as error:
            raise RuntimeError(f"Failed to load the c10d backend entry point: {name}") from error
        if not callable(register):
            raise TypeError("backend entry point must load a callable registrar")
        register()
        break

look_up = getattr(Backend, "_ensure_backend_registered", ensure_registered)
"""

BACK_ENDS = """
import torch.distributed as distributed

def create(store, rank, size, timeout):
    print("creates", rank, "of", size)
    return distributed.ProcessGroupGloo(store, rank, size, timeout)

def register():
    distributed.Backend.register_backend("mine", create, devices=["cpu"])

no_function = 42
"""
BACK_END_ENTRY_POINTS = """[torch.distributed.backends]
Mine = my_c10d:register
no_function = my_c10d:no_function
absent = my_c10d:absent
"""

USED = """
def attempt(name):
    try:
        look_up(name)
        distributed.init_process_group(name, store=distributed.HashStore(), rank=0, world_size=1)
        tensor = torch.ones(2)
        distributed.all_reduce(tensor)
        distributed.destroy_process_group()
        return tensor
    except Exception as error:
        return type(error).__name__, str(error), str(error.__cause__)

for name in ("mine", "no_function", "absent", "unknown", "gloo"):
    print(name, attempt(name))
"""
# torch's message about an unknown back end, before 2.14 and since.
BEFORE, SINCE = "Unknown backend type unknown", "Unknown c10d backend type UNKNOWN"

ANSWERS = """\
creates 0 of 1
mine tensor([1., 1.])
no_function ('TypeError', 'backend entry point must load a callable registrar', 'None')
absent ('RuntimeError', 'Failed to load the c10d backend entry point: absent', \
"module 'my_c10d' has no attribute 'absent'")
unknown ('AssertionError', 'Unknown c10d backend type UNKNOWN', 'None')
gloo tensor([1., 1.])
"""


class Backends(EnvironmentTest):
    def test_all(self):
        self.install("my-c10d", {"my_c10d.py": BACK_ENDS}, BACK_END_ENTRY_POINTS)
        source = f"import torch\nimport torch.distributed as distributed\n{LOOK_UP}{USED}"
        found = self.script(source).out
        self.assertEqual(found.replace(BEFORE, SINCE), ANSWERS)


if __name__ == "__main__":
    support.main()
