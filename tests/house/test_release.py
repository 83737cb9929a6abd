"""Released views stay as they were released; `release` locks a draft that has earned it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from warehouse import maps, project, release
from warehouse.errors import CheckFailed, UsageError
from warehouse.home import Home
from warehouse.release import lock_of, moved, released
from warehouse.views import Catalog

BASE, CHILD = "vitaldb.annotation_v0", "vitaldb.noise_v0"


def test_what_is_released_has_not_moved():
    assert moved(Catalog.read()) == []


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the rules in which every view is a draft, in the place of the project for one test."""
    for folder in ("sql", "registry", "tests/sql"):
        shutil.copytree(project.project_root() / folder, tmp_path / folder)
    (tmp_path / "registry" / "released.json").unlink(missing_ok=True)
    for path in (tmp_path / "sql").glob("*/*.sql"):
        path.write_text(
            path.read_text(encoding="utf-8").replace("status: released", "status: draft"), encoding="utf-8"
        )
    monkeypatch.setattr(project, "project_root", lambda: tmp_path)
    monkeypatch.setattr(release, "project_root", lambda: tmp_path)
    maps.map_rows.cache_clear()
    yield tmp_path
    maps.map_rows.cache_clear()


@pytest.fixture
def locked(copied: Path) -> Path:
    """The copy with every view released."""
    for path in (copied / "sql").glob("*/*.sql"):
        path.write_text(
            path.read_text(encoding="utf-8").replace("status: draft", "status: released"), encoding="utf-8"
        )
    catalog = Catalog.read()
    locks = {name: lock_of(catalog, view) for name, view in catalog.items()}
    (copied / "registry" / "released.json").write_text(json.dumps(locks), encoding="utf-8")
    assert moved(Catalog.read()) == []
    return copied


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_an_edited_rule_is_found_with_all_that_read_it(locked):
    edit(
        locked / "sql/vitaldb/annotation_gap_v0.sql",
        "10 AS max_annotation_gap_s",
        "11 AS max_annotation_gap_s",
    )
    faults = moved(Catalog.read())
    assert (
        "vitaldb.annotation_gap_v0: its SQL changed after it was released; write annotation_gap_v1.sql"
        in faults
    )
    assert any(
        fault.startswith("vitaldb.segment_evidence_v0: vitaldb.annotation_gap_v0, which it reads")
        for fault in faults
    )
    assert any(
        fault.startswith("task.vitaldb_arrhythmia_abnormal_v0: vitaldb.segment_label_v0,") for fault in faults
    )


def test_comments_and_layout_may_change(locked):
    edit(locked / "sql/vitaldb/annotation_gap_v0.sql", "\nWITH params", "\n-- a better word\nWITH\n  params")
    edit(
        locked / "sql/vitaldb/noise_v0.sql",
        "-- Rows annotated as noise",
        "-- Rows that are annotated as noise",
    )
    assert moved(Catalog.read()) == []


def test_an_edited_map_is_found_in_every_view_that_reads_it(locked):
    edit(locked / "registry/maps/vitaldb_beat.csv", "U,beat,false", "U,beat,true")
    faults = moved(Catalog.read())
    assert "vitaldb.annotation_v0: map.vitaldb_beat, which it reads, changed after it was released" in faults
    assert any(fault.startswith("vitaldb.noise_v0: vitaldb.annotation_v0") for fault in faults)
    assert not any("its SQL changed" in fault for fault in faults)


def test_an_edited_split_is_found(locked):
    edit(locked / "registry/splits/vitaldb.json", "3c039be4", "3c039be5")
    assert "vitaldb.record_v0: split.vitaldb, which it reads, changed after it was released" in moved(
        Catalog.read()
    )


def test_a_missing_file_is_found(locked):
    (locked / "sql/vitaldb/attrition_v0.sql").unlink()
    assert moved(Catalog.read()) == ["vitaldb.attrition_v0: released, but its file is gone"]


def test_a_header_that_says_otherwise_is_found(locked):
    edit(locked / "sql/vitaldb/attrition_v0.sql", "status: released", "status: draft")
    assert moved(Catalog.read()) == ["vitaldb.attrition_v0: released, but its header says draft"]


def test_a_header_without_a_lock_is_found(copied):
    edit(copied / "sql/vitaldb/attrition_v0.sql", "status: draft", "status: released")
    (fault,) = moved(Catalog.read())
    assert fault.startswith("vitaldb.attrition_v0: its header says released, but it is not in")


def test_release_locks_a_draft(copied, synthetic_home: Home):
    before = (copied / "sql/vitaldb/annotation_v0.sql").read_text(encoding="utf-8")
    lock = release.release(synthetic_home, BASE)
    assert released() == {BASE: lock}
    assert set(lock["reads"]) == {"map.vitaldb_beat", "map.vitaldb_rhythm"}
    after = (copied / "sql/vitaldb/annotation_v0.sql").read_text(encoding="utf-8")
    assert after == before.replace("-- status: draft", "-- status: released")
    assert moved(Catalog.read()) == []
    assert Catalog.read()[BASE].status == "released"


def test_released_views_are_the_newest_for_analysts(copied, synthetic_home: Home):
    draft = (copied / "sql/vitaldb/annotation_v0.sql").read_text(encoding="utf-8")
    (copied / "sql/vitaldb/annotation_v1.sql").write_text(
        draft.replace("vitaldb.annotation v0", "vitaldb.annotation v1"), encoding="utf-8"
    )
    assert Catalog.read().newest()["vitaldb.annotation"].version == 1
    release.release(synthetic_home, BASE)
    assert Catalog.read().newest()["vitaldb.annotation"].version == 0


def test_twice_is_refused(copied, synthetic_home: Home):
    release.release(synthetic_home, BASE)
    with pytest.raises(UsageError, match=r"write annotation_v1\.sql"):
        release.release(synthetic_home, BASE)


def refused(home: Home, name: str, message: str, files: list[Path]) -> None:
    """`release` says why, and changes nothing."""
    before = [path.read_bytes() for path in files]
    locks = released()
    with pytest.raises(CheckFailed, match=message):
        release.release(home, name)
    assert [path.read_bytes() for path in files] == before
    assert released() == locks


def test_a_draft_parent_is_refused(copied, synthetic_home: Home):
    refused(
        synthetic_home,
        CHILD,
        "its parent vitaldb.annotation_v0 is a draft",
        [copied / "sql/vitaldb/noise_v0.sql"],
    )


def test_an_evidence_view_without_cases_is_refused(copied, synthetic_home: Home):
    release.release(synthetic_home, BASE)
    shutil.rmtree(copied / "tests/sql/vitaldb/noise_v0")
    refused(synthetic_home, CHILD, "no given/expect case below tests/sql/vitaldb/noise_v0/", [])


def test_unportable_sql_is_refused(copied, synthetic_home: Home):
    edit(copied / "sql/vitaldb/annotation_v0.sql", "SELECT 5 AS grid_s", "SELECT max_by(5, 1) AS grid_s")
    refused(synthetic_home, BASE, "max_by skips NULLs", [])


def test_a_failing_audit_is_refused(copied, synthetic_home: Home):
    source = (copied / "sql/vitaldb/label_without_evidence_v0.sql").read_text(encoding="utf-8")
    audit = (
        f"{source.split(chr(10) * 2)[0]}\n\nSELECT case_id, row_no AS start_s FROM vitaldb.annotation_v0\n"
    )
    audit = audit.replace("vitaldb.label_without_evidence v0", "vitaldb.every_row v0")
    (copied / "sql/vitaldb/every_row_v0.sql").write_text(audit, encoding="utf-8")
    refused(
        synthetic_home,
        BASE,
        r"audit vitaldb\.every_row_v0: \d+ rows",
        [copied / "sql/vitaldb/annotation_v0.sql"],
    )
