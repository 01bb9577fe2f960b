import pathlib

import pytest

class EntryPointDatabase:
    prefix: str
    site: str
    groups: dict[str, dict[str, dict[str, str]]]
    def __init__(self, prefix: str | pathlib.Path) -> None: ...
    def add(self, group: str, name: str, value: str, distribution: str = ...) -> None: ...
    def remove(self, group: str, name: str, distribution: str = ...) -> None: ...

def entry_point_database(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> EntryPointDatabase: ...
