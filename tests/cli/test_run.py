"""`entrydb run`: console scripts run by the interpreter of their environment, with their own arguments,
signals and exit status.
"""

import os
import shutil
import signal
import subprocess
import sys

import reference
import support
from support import COULD_NOT, NOT_FOUND, USAGE, CommandTest, add_distribution, write

SCRIPT = """
import os, signal, sys
def main():
    print(repr((sys.argv, sys.prefix, sys.path[0] == "", __name__)))
    return int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else None
class Holder:
    @staticmethod
    def deep():
        print("deep")
def end():
    os.kill(os.getpid(), signal.SIGKILL)
def wait():
    print("ready", flush=True)
    signal.pause()
def stdin():
    print(sys.stdin.read())
"""
TEXT = """[console_scripts]
tool = tool.cli:main
deep = tool.cli:Holder.deep
end = tool.cli:end
wait = tool.cli:wait
stdin = tool.cli:stdin
no-function = tool.cli
broken = not a value
[other]
deep = tool.cli:Holder.deep
"""


class RunTest(CommandTest):
    def setUp(self):
        super().setUp()
        minor = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self.site = f"{self.prefix}/lib/{minor}/site-packages"
        shutil.rmtree(self.prefix)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.prefix], check=True)
        add_distribution(self.site, "tool", text=TEXT)
        os.makedirs(f"{self.site}/tool")
        write(f"{self.site}/tool/__init__.py", "")
        write(f"{self.site}/tool/cli.py", SCRIPT)

    def environment(self, **variables):
        return super().environment(VIRTUAL_ENV=self.prefix, XDG_CONFIG_HOME="", **variables)

    def run_script(self, *arguments, **how):
        """Run a script, which replaces the program: any exit status is possible."""
        done = subprocess.run(self.command(["run", *arguments]), env=how.pop("env", None) or self.environment(),
                              capture_output=True, text=True, timeout=support.SECONDS_ALLOWED,
                              **{"stdin": subprocess.DEVNULL, **how}, check=False)
        return done

    def output(self, *arguments, **how):
        done = self.run_script(*arguments, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        return eval(done.stdout)  # printed by the script itself


class Python(RunTest):
    def test_modules_in_the_current_directory(self):
        """They may be another user's; some Pythons import one before they run anything. Where they are not,
        the script sees the same flags as without entrydb."""
        shared = f"{self.top}/shared"
        os.mkdir(shared)
        os.chmod(shared, 0o777)
        for name in sys.stdlib_module_names:
            write(f"{shared}/{name}.py", f"print({name!r})\n")
        os.mkdir(f"{shared}/lib")
        for library in {each.library for each in reference.interpreters()}:
            os.symlink("..", f"{shared}/lib/{library}")
        for each in reference.interpreters():
            prefix = f"{self.top}/{each.version}"
            subprocess.run([each.executable, "-m", "venv", "--without-pip", prefix], check=True)
            site = f"{prefix}/lib/{each.library}/site-packages"
            add_distribution(site, "safe", text="[console_scripts]\nsafe = safe:main\n")
            write(f"{site}/safe.py", "def main():\n    import os, sys\n"
                  "    print(os.environ.get('PYTHONSAFEPATH') or getattr(sys.flags, 'safe_path', False))\n")
            for place, own, seen in ((shared, "1", "1"), (shared, "", "(True|False)"), (shared, None, "(True|False)"), (self.top, None, "False")):
                done = self.run_script("--path", site, "safe", cwd=place, env=self.environment(PYTHONSAFEPATH=own))
                self.assertRegex(done.stdout + done.stderr, f"^{seen}\n$", each.version)
            for name, value in (("PYTHONPATH", ":"), ("PYTHONPATH", "/nowhere:"), ("PYTHONPATH", "/nowhere::./x:."),
                                ("PYTHONHOME", "."), ("PYTHONHOME", ".:.")):
                done = self.run_script("--path", site, "safe", cwd=shared, env=self.environment(**{name: value}))
                self.assertRegex(done.stdout + done.stderr, "^(True|False)\n$", f"{each.version}: {name}={value}")
            self.assertIn("\tloaded", self.run_program("probe", "console_scripts", "safe", "--path", site, cwd=shared).out)

    def test_environment_of_a_script(self):
        for indexed in (False, True):
            if indexed:
                self.update()
            argv, prefix, has_current, name = self.output("tool", "--json", "--", "-x", "")
            self.assertEqual(argv, [f"{self.prefix}/bin/tool", "--json", "--", "-x", ""])
            self.assertEqual((prefix, has_current, name), (self.prefix, False, "tool.cli"))

    def test_nothing_is_imported_from_the_current_directory(self):
        os.makedirs(f"{self.top}/elsewhere/tool")
        write(f"{self.top}/elsewhere/tool/__init__.py", "raise SystemExit(99)")
        self.output("tool", cwd=f"{self.top}/elsewhere")

    def test_exit_status_and_signals(self):
        self.assertEqual(self.run_script("tool", "7").returncode, 7)
        self.assertEqual(self.run_script("end").returncode, -signal.SIGKILL)
        child = subprocess.Popen(self.command(["run", "wait"]), env=self.environment(), stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(child.stdout.close)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(), -signal.SIGTERM)

    def test_a_caller_that_ignores_the_end_of_children(self):
        done = subprocess.run(self.command(["probe", "console_scripts", "tool"]), env=self.environment(), capture_output=True, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN), check=False)
        self.assertIn("\tloaded", done.stdout)

    def test_standard_input(self):
        for options in ([], ["--hook", "x"]):
            self.assertEqual(self.run_script("stdin", *options, stdin=None, input="text").stdout, "text\n")

    def test_a_dotted_attribute_and_another_group(self):
        self.assertEqual(self.run_script("deep").stdout, "deep\n")
        self.assertEqual(self.run_script("--group", "other", "deep").stdout, "deep\n")

    def test_directory_outside_of_sys_path(self):
        target = f"{self.top}/target"
        add_distribution(target, "aside", text="[console_scripts]\naside = aside:main\n")
        write(f"{target}/aside.py", "def main():\n    print('aside')\n")
        done = self.run_script("--path", self.site, "--path", target, "aside")
        self.assertEqual((done.stdout, done.stderr), ("aside\n", ""))

    def test_print(self):
        done = self.run_script("--print", "tool", "x")
        python = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self.assertEqual(done.stdout, f"{self.prefix}/bin/{python}\ttool.cli:main\ttool\t1.0\n")

    def test_unrunnable_scripts(self):
        for name, reason in (("no-function", "does not name a function"), ("broken", "does not name a function")):
            reply = self.run_program("run", name, status=COULD_NOT)
            self.assertIn(reason, reply.err)
        shutil.rmtree(f"{self.prefix}/bin")
        reply = self.run_program("run", "tool", status=COULD_NOT)
        self.assertIn("no Python was found", reply.err)

    def test_unknown_names(self):
        reply = self.run_program("run", "tol", status=NOT_FOUND)
        self.assertIn("did you mean 'tool'?", reply.err)
        reply = self.run_program("run", "nothing-like-it", status=NOT_FOUND)
        self.assertIn("there is no 'nothing-like-it' in group 'console_scripts'", reply.err)
        self.run_program("run", status=USAGE)
        self.run_program("run", "--json", "tool", status=USAGE)

    def test_policy(self):
        reply = self.run_program("run", "tool", env=self.environment(ENTRYDB_DISABLE="console_scripts/tool"),
                                 status=COULD_NOT)
        self.assertIn("tool is disabled: ENTRYDB_DISABLE names console_scripts/tool", reply.err)


if __name__ == "__main__":
    support.main()
