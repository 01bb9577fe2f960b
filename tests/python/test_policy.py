"""Policy in every available Python: an accelerated importlib.metadata omits forbidden entry points, by
whatever path the answer is computed; without a policy nothing changes.
"""

import os
import shutil
import subprocess
import textwrap
import unittest

import package
import reference
import support
from support import SECONDS_ALLOWED, add_distribution, make_directory

setUpModule = package.require

PRELUDE = """
import os, sys, warnings
sys.argv = ["/usr/bin/host"]
group = os.getegid()
os.setresgid(group, group, group)
sys.path.insert(0, os.environ["SITE"])
import _entrydb_site
_entrydb_site.start()
import importlib.metadata as metadata
with warnings.catch_warnings():
    warnings.simplefilter("ignore")

    def ask(**params):
        return sorted((each.group, each.name) for each in metadata.entry_points(**params))

    def walk():
        return sorted((each.group, each.name) for distribution in metadata.distributions()
                      for each in distribution.entry_points if each.group in ("g", "h"))

    def own():
        import entrydb
        return sorted((each.group, each.name) for each in entrydb.entry_points(group="g"))
"""
EVERYTHING = "[('g', 'bad'), ('g', 'good')]"
ALLOWED = "[('g', 'good')]"


class PolicyTest(unittest.TestCase):
    maxDiff = None

    def each_python(self, script, rules="", indexed=True, privileged=False, before=(), **variables):
        for interpreter in reference.one_per_minor(reference.interpreters()):
            with self.subTest(python=interpreter.version):
                self.run_script(interpreter, PRELUDE + textwrap.dedent(script), rules, indexed, privileged, before, variables)

    def run_script(self, interpreter, script, rules, indexed, privileged, before, variables):
        top = make_directory(self)
        program = interpreter.executable
        if privileged:
            program = shutil.copy(os.path.realpath(program), f"{top}/host")
            os.chown(program, 0, 1)
            os.chmod(program, 0o2755)
            variables["PYTHONHOME"] = os.path.dirname(os.path.dirname(os.path.realpath(interpreter.executable)))
        prefix = f"{top}/venv"
        site = f"{prefix}/lib/python{interpreter.rules}/site-packages"
        for name in ("bad", "good"):
            add_distribution(site, name, text=f"[g]\n{name} = m:f\n[h]\n{name} = m:f\n")
        env = package.python_environment(f"{top}/home", SITE=site, TOP=top, XDG_CONFIG_HOME="",
                                         FILE=f"{prefix}/etc/entrydb/policy.conf", **variables)
        if indexed:
            subprocess.run([package.program(), "--quiet", "update", prefix], check=True, env=env)
        os.makedirs(f"{prefix}/etc/entrydb")
        support.write(env["FILE"], rules)
        done = subprocess.run([*before, program, "-W", "error::RuntimeWarning", "-c", script], env=env,
                              cwd=top, text=True, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=SECONDS_ALLOWED)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_an_environment(self):
        for indexed in (True, False):
            self.each_python(f"""
                assert ask(group="g") == {ALLOWED}, ask(group="g")
                assert ask(group="g", name="bad") == []
                assert len(ask(group="h")) == 2
                assert walk() == [("g", "good"), ("h", "bad"), ("h", "good")], walk()
                assert own() == {ALLOWED}, own()
            """, "[g]\nbad = disable\n", indexed)

    def test_no_rule(self):
        self.each_python(f"""
            assert ask(group="g") == {EVERYTHING}
            assert own() == {EVERYTHING}
            assert len(walk()) == 4
        """)

    def test_the_variable(self):
        self.each_python(f"""
            assert ask(group="g") == {ALLOWED}, ask(group="g")
            del os.environ["ENTRYDB_DISABLE"]
            assert ask(group="g") == {EVERYTHING}, ask(group="g")
        """, ENTRYDB_DISABLE="g/bad")

    def test_a_distribution_and_a_program(self):
        self.each_python(f"assert ask(group='g') == {ALLOWED}", "[*]\n* = disable distribution=BAD program=host\n")
        self.each_python(f"assert ask(group='g') == {EVERYTHING}", "[*]\n* = disable program=other\n")

    @unittest.skipUnless(support.IS_ROOT, "only root can make a set-gid program of another group")
    def test_more_rights_than_the_user(self):
        """The user's variables and words do not count; those of a process without them do, also without /proc."""
        hidden = ("unshare", "--mount", "/bin/sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh")
        is_hidden = bool(shutil.which("unshare")) and subprocess.run([*hidden, "true"], check=False, capture_output=True).returncode == 0
        for before, rules in (((), "bad = disable program=host"), (hidden, "bad = disable"))[:1 + is_hidden]:
            self.each_python(f"""
                assert group == 1, "set-gid programs are not honoured here"
                sys.argv = ["other"]
                assert ask(group='g') == {ALLOWED}
            """, f"[g]\n{rules}\n", privileged=True, before=before, ENTRYDB="0")
            self.each_python(f"assert ask(group='g') == {EVERYTHING}", f"[g]\n{rules}\n", before=before, ENTRYDB="0")

    def test_the_program_of_a_package(self):
        """The program of `python -m PACKAGE` is named PACKAGE."""
        self.each_python(f"""
            sys.argv = ["/usr/lib/python3/dist-packages/host/__main__.py"]
            assert ask(group='g') == {ALLOWED}
        """, "[g]\nbad = disable program=host\n")

    def test_importlib_metadata_itself_answers(self):
        """One of its parts is replaced, or an unknown finder is installed."""
        self.each_python(f"""
            assert ask(group="g") == {ALLOWED}
            matches = metadata.EntryPoint.matches
            metadata.EntryPoint.matches = lambda self, **params: matches(self, **params)
            assert ask(group="g") == {ALLOWED}, ask(group="g")
            assert own() == {ALLOWED}
            found = metadata.entry_points()
            assert [each.name for each in found.select(group="g")] == ["good"], found
        """, "[g]\nbad = disable\n")

    def test_importlib_metadata_is_not_known(self):
        self.each_python(f"""
            metadata.EntryPoint.matches = lambda self, **params: all(
                getattr(self, key) == value for key, value in params.items())
            assert ask(group="g") == {ALLOWED}, ask(group="g")
            assert walk() == [("g", "good"), ("h", "bad"), ("h", "good")], walk()
        """, "[g]\nbad = disable\n")

    def test_switched_off(self):
        self.each_python(f"assert ask(group='g') == {EVERYTHING}", "[g]\nbad = disable\n", ENTRYDB="0")

    def test_invalid_policy_file(self):
        """The program keeps its plugins and gets a warning."""
        self.each_python(f"""
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                assert ask(group="g") == {EVERYTHING}
            texts = [str(each.message) for each in seen if each.category is RuntimeWarning]
            assert texts and "larger than 65536 bytes" in texts[0], texts
        """, "#" * 70000)

    def test_invalid_policy_of_another_environment(self):
        """An invalid file there does not disable the rules of other files."""
        self.each_python(f"""
            os.makedirs(f"{{os.environ['TOP']}}/rival/etc/entrydb/policy.conf")
            sys.path.append(f"{{os.environ['TOP']}}/rival/lib/python3/dist-packages")
            assert ask(group="g") == {ALLOWED}, ask(group="g")
            assert own() == {ALLOWED}, own()
        """, "[g]\nbad = disable\n")

    def test_a_running_program_notices(self):
        self.each_python(f"""
            import time
            assert ask(group="g") == {EVERYTHING}
            with open(os.environ["FILE"], "w") as stream:
                stream.write("[g]\\nbad = disable\\n")
            while ask(group="g") != {ALLOWED}:
                time.sleep(0.05)
            os.unlink(os.environ["FILE"])
            while ask(group="g") != {EVERYTHING}:
                time.sleep(0.05)
        """)


if __name__ == "__main__":
    support.main()
