"""What `materialize --check` names: what moved itself, however far behind a view, and nothing else."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from edited_map import edit_map

import cli
from warehouse.home import Home
from warehouse.materialize import check, materialize
from warehouse.views import Catalog

LABELS = "task.vitaldb_arrhythmia_abnormal_v0"
CONTEXT, EVIDENCE, GAP, SEGMENT = (
    f"vitaldb.{stem}_v0" for stem in ("normal_context", "segment_evidence", "annotation_gap", "segment")
)


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return Path(shutil.copytree(Path(cli.__file__).parent / "sql", tmp_path / "sql"))


def causes(home: Home, rules: Path | None = None) -> dict[str, str]:
    """View → what its line says in brackets."""
    lines = check(home, catalog=Catalog.read(rules) if rules else None)
    said = [
        re.fullmatch(r"(\S+): built from another fingerprint \((.+) changed\); .*", line) for line in lines
    ]
    assert all(said), lines
    return {match[1]: match[2] for match in said}


@pytest.mark.parametrize(
    ("file", "old", "new", "moved"),
    [
        ("normal_context_v0", "45 AS normal", "50 AS normal", {CONTEXT, EVIDENCE, LABELS}),
        ("annotation_gap_v0", "10 AS max", "9 AS max", {GAP, EVIDENCE, LABELS}),
        ("annotation_gap_v0", "grain: case_id, row_no", "grain: row_no, case_id", {GAP, EVIDENCE, LABELS}),
        ("missing_ecg_v0", "0.1 AS max", "0.2 AS max", {EVIDENCE, LABELS}),
        ("segment_label_v0", "rhythms > 1", "rhythms > 2", {LABELS}),
    ],
)
def test_an_edited_view_is_the_cause_for_all_that_read_it(
    synthetic_home: Home, rules: Path, file, old, new, moved
):
    path = rules / "vitaldb" / f"{file}.sql"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert causes(synthetic_home, rules) == dict.fromkeys(moved, f"vitaldb.{file}")


def test_a_map_is_the_cause_and_no_view_that_reads_it(synthetic_home: Home, tmp_path: Path, monkeypatch):
    edit_map(monkeypatch, tmp_path, "vitaldb_beat", lambda text: text.replace("V,beat,true", "V,beat,false"))
    found = causes(synthetic_home)
    assert set(found.values()) == {"map.vitaldb_beat"}
    assert {SEGMENT, EVIDENCE, LABELS} <= set(found)
    assert "vitaldb.record_v0" not in found


def test_a_comment_is_no_cause(synthetic_home: Home, rules: Path):
    path = rules / "vitaldb" / "annotation_v0.sql"
    path.write_text(path.read_text(encoding="utf-8").replace("-- One row", "-- A row"), encoding="utf-8")
    assert check(synthetic_home, catalog=Catalog.read(rules)) == []


def test_a_build_that_does_not_say_what_it_was_made_of_has_no_cause(
    synthetic_home: Home, rules: Path, tmp_path
):
    """As before manifests said it."""
    home = Home(Path(shutil.copytree(synthetic_home.path, tmp_path / "data", symlinks=True)))
    materialize(home)
    manifest = home.built / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"made_of"', '"made"'))
    path = rules / "vitaldb" / "segment_label_v0.sql"
    path.write_text(path.read_text(encoding="utf-8").replace("rhythms > 1", "rhythms > 2"), encoding="utf-8")
    (line,) = check(home, catalog=Catalog.read(rules))
    assert line.startswith(f"{LABELS}: built from another fingerprint; ")
