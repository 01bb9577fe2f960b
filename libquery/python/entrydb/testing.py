"""A pytest plugin: entry points for the duration of one test, without an installed package.

    pytest_plugins = ["entrydb.testing"]        # in conftest.py

    def test_my_back_end(entry_point_database):
        entry_point_database.add("torch_dynamo_backends", "mine", "my_module:compile")
        assert "mine" in list_backends()

The entry points are written into the metadata of a distribution in a temporary directory, which
is put on sys.path and indexed in a separate database; the test's end removes all of it. Every
look-up of entry points finds them, with or without entrydb.
"""

import importlib
import os
import sys

import pytest

from . import _files, _program


class EntryPointDatabase:
    """A temporary environment with its site directory on sys.path."""

    def __init__(self, prefix):
        self.prefix = str(prefix)
        self.site = os.path.join(self.prefix, "lib", f"python{_program.rules()}", "site-packages")
        self.groups = {}  # distribution -> group -> name -> value
        os.makedirs(self.site)

    def add(self, group, name, value, distribution="entrydb-testing"):
        """Add an entry point to the distribution of that name."""
        self.groups.setdefault(distribution, {}).setdefault(group, {})[name] = value
        self._write(distribution)

    def remove(self, group, name, distribution="entrydb-testing"):
        """Remove an entry point; KeyError if it does not exist."""
        del self.groups[distribution][group][name]
        self._write(distribution)

    def _write(self, distribution):
        stem = distribution.replace("-", "_")
        place = os.path.join(self.site, f"{stem}-1.0.dist-info")
        os.makedirs(place, exist_ok=True)
        directory = _files.open_directory(place)
        try:
            _files.replace(directory, "METADATA",
                           f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
            _files.replace(directory, "entry_points.txt", _text(self.groups[distribution]))
        finally:
            os.close(directory)
        self._update()

    def _update(self):
        import subprocess
        subprocess.run([_program.PATH, "--quiet", "update", self.prefix], check=True,
                       stdin=subprocess.DEVNULL)
        importlib.invalidate_caches()


def _text(groups):
    lines = []
    for group, entries in groups.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()), ""]
    return "\n".join(lines)


@pytest.fixture
def entry_point_database(tmp_path, monkeypatch):
    """Return an EntryPointDatabase; its entry points are found first."""
    database = EntryPointDatabase(tmp_path / "entrydb")
    monkeypatch.setattr(sys, "path", [database.site, *sys.path])
    return database
