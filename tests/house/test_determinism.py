"""The same inputs give the same bytes, however many threads build them."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from warehouse.home import Home
from warehouse.materialize import materialize


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("name", ["signal_home", "real_home"])
def test_one_thread_and_two_threads_build_identical_bytes(request, tmp_path, name):
    loaded: Home = request.getfixturevalue(name)
    found = []
    for threads in (1, 2):
        home = Home(tmp_path / str(threads))
        shutil.copytree(loaded.raw, home.raw, symlinks=True)
        materialize(home, threads=threads)
        found.append(digests(home.built.resolve()))
    assert "manifest.json" in found[0]
    assert len(found[0]) == 9
    assert found[0] == found[1]


def test_loading_twice_writes_identical_tables(tmp_path, synthetic_home):
    from warehouse.load.vitaldb_arrhythmia import load

    home = Home(tmp_path / "data")
    load(home, synthetic_home.path.parent / "release")
    assert digests(home.raw.resolve() / "vitaldb-arrhythmia") == digests(
        synthetic_home.raw / "vitaldb-arrhythmia"
    )
