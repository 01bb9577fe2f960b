"""Tests that are scripts, run by every available Python in a separate environment with an indexed site
directory on sys.path. The reference is importlib.metadata's own function, called in the same process at
the same time.
"""

import subprocess
import textwrap
import unittest

import package
import reference
from support import (DATABASE, SECONDS_ALLOWED, add_distribution, change_database,
                     make_directory)

DISTRIBUTIONS = 12

PRELUDE = """
import os, sys
sys.path.insert(0, os.environ["SITE"])
import entrydb
entrydb.accelerate()
import importlib.metadata as metadata
SITE, DATABASE, PROGRAM = (os.environ[name] for name in ("SITE", "DATABASE", "PROGRAM"))
from entrydb import _accelerated

answered = []
find = _accelerated.Answer.find

def counting(self, params):
    found = find(self, params)
    answered.append(found is not None)
    return found

_accelerated.Answer.find = counting

def plain(found):
    return [(each.name, each.value, each.group, str(each.dist._path)) for each in found]

def check(database=True, group="demo"):
    '''The answer is importlib.metadata's; database: entrydb gave it.'''
    answered.clear()
    got = plain(metadata.entry_points(group=group))
    expected = plain(_own_function(group=group))
    assert got == expected, (got, expected)
    assert answered == [True] or not database, answered
    return got

def original(name, module=metadata):
    '''A function with the code that entrydb has replaced.'''
    [_, functions] = sys.modules["_entrydb_replacement"].replacements[module.__name__]
    return type(original)(functions[name][2], vars(module))

_own_function = original("entry_points")

def add(name, value="new:main"):
    info = f"{SITE}/{name}-1.0.dist-info"
    os.makedirs(info)
    for file, text in (("METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n"),
                       ("entry_points.txt", f"[demo]\\n{name} = {value}\\n")):
        with open(f"{info}/{file}", "w") as stream:
            stream.write(text)

def update():
    import subprocess
    subprocess.run([PROGRAM, "--quiet", "update", os.environ["PREFIX"]], check=True)
"""


class ScriptTest(unittest.TestCase):
    maxDiff = None

    def each_python(self, script, prelude=PRELUDE, newest=False, **variables):
        """Run a script with each minor version of Python, or only with the newest."""
        found = reference.one_per_minor(reference.interpreters())
        for interpreter in found[-1:] if newest else found:
            with self.subTest(python=interpreter.version):
                self.run_script(interpreter, prelude + textwrap.dedent(script), variables)

    def run_script(self, interpreter, script, variables):
        top = make_directory(self)
        prefix = f"{top}/venv"
        site = f"{prefix}/lib/python{interpreter.rules}/site-packages"
        for number in range(DISTRIBUTIONS):
            add_distribution(site, f"d{number}")
        env = package.python_environment(
            f"{top}/home", SITE=site, PREFIX=prefix, DATABASE=f"{prefix}/{DATABASE}",
            PROGRAM=package.program(), TOP=top, **variables)
        subprocess.run([package.program(), "--quiet", "update", prefix], check=True, env=env)
        change_database(f"{prefix}/{DATABASE}", "UPDATE distribution SET settled = 1, watched = 0",
                        "UPDATE root SET settled = 1, watched = 0")
        done = subprocess.run([interpreter.executable, "-c", script], env=env, cwd=top, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=SECONDS_ALLOWED)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout
