"""A map of the registry with other text, for as long as a test runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warehouse import database, maps


def edit_map(monkeypatch: pytest.MonkeyPatch, place: Path, name: str, edit: Callable[[str], str]) -> None:
    """Let everybody read ``edit(text)`` in the place of ``registry/maps/<name>.csv``."""
    file, path_of, registry_path = place / f"{name}.csv", maps._path, database.registry_path
    before = path_of(name).read_text(encoding="utf-8")
    file.write_text(edit(before), encoding="utf-8")
    assert file.read_text(encoding="utf-8") != before
    monkeypatch.setattr(maps, "_path", lambda stem: file if stem == name else path_of(stem))
    for module in ("warehouse.database", "warehouse.manifest"):
        monkeypatch.setattr(
            f"{module}.registry_path",
            lambda *parts: file if parts == ("maps", f"{name}.csv") else registry_path(*parts),
        )
    monkeypatch.setattr(maps, "map_rows", maps.map_rows.__wrapped__)
