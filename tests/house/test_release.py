"""Released views stay as they were released; `release` locks a draft that has earned it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from warehouse import label_changes, maps, project, release, release_checks
from warehouse.counts import count
from warehouse.errors import CheckFailed, UsageError
from warehouse.home import Home
from warehouse.query import select
from warehouse.release import lock_of, moved, released
from warehouse.views import Catalog

BASE, CHILD = "vitaldb.annotation_v0", "vitaldb.noise_v0"
TASK = "vitaldb-arrhythmia-abnormal@0"
LOG = """# Changelog

## Unreleased

### Added

- Something.

### Labels changed

- None: these are the first versions of the views.

## 0.1

### Labels changed

- `vitaldb.annotation@0`, of long ago.
"""


def test_what_is_released_has_not_moved():
    assert moved(Catalog.read()) == []


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the rules in which every view is a draft, in the place of the project for one test."""
    for folder in ("sql", "registry", "tests/sql"):
        shutil.copytree(project.project_root() / folder, tmp_path / folder)
    (tmp_path / "registry" / "released.json").unlink(missing_ok=True)
    (tmp_path / "CHANGELOG.md").write_text(LOG, encoding="utf-8")
    for path in (tmp_path / "sql").glob("*/*.sql"):
        path.write_text(
            path.read_text(encoding="utf-8").replace("status: released", "status: draft"), encoding="utf-8"
        )
    monkeypatch.setattr(project, "project_root", lambda: tmp_path)
    for module in (release, release_checks):
        monkeypatch.setattr(module, "project_root", lambda: tmp_path)
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
    done = release.release(synthetic_home, BASE)
    lock = done.lock
    assert (done.is_done, done.cases > 0) == (True, True)
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
    assert Catalog.read().newest()["vitaldb.annotation"].version == 0, "every other view reads version 0"
    for path in (copied / "sql" / "vitaldb").glob("*.sql"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("vitaldb.annotation_v0", "vitaldb.annotation_v1"), encoding="utf-8")
    assert Catalog.read().newest()["vitaldb.annotation"].version == 1, "the newest draft that is read"
    release.release(synthetic_home, BASE)
    assert Catalog.read().newest()["vitaldb.annotation"].version == 0, "released goes before draft"


def test_of_drafts_that_nobody_reads_the_newest(copied):
    """Task views are read by their audits and why views alone; a label that nobody reads yet has its newest draft."""
    draft = (copied / "sql/vitaldb/annotation_v0.sql").read_text(encoding="utf-8")
    for version in (0, 1):
        text = draft.replace("vitaldb.annotation v0", f"vitaldb.marker v{version}")
        (copied / f"sql/vitaldb/marker_v{version}.sql").write_text(text, encoding="utf-8")
    newest = Catalog.read().newest()
    assert newest["vitaldb.marker"].version == 1
    assert newest["task.ecg_heartbeat_interpatient"].version == 1
    assert newest["lydus.dx_finding"].version == 0


def test_twice_is_refused(copied, synthetic_home: Home):
    release.release(synthetic_home, BASE)
    with pytest.raises(UsageError, match=r"write annotation_v1\.sql"):
        release.release(synthetic_home, BASE)


def refused(home: Home, name: str, message: str, files: list[Path]) -> None:
    """`release` says why, and changes nothing."""
    files = [*files, project.project_root() / "CHANGELOG.md"]
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
        r"audit vitaldb\.every_row_v0: [\d,]+ rows",
        [copied / "sql/vitaldb/annotation_v0.sql"],
    )


def test_a_case_that_fails_is_refused_with_its_rows(copied, synthetic_home: Home):
    case = next((copied / "tests/sql/vitaldb/annotation_v0").glob("*/expect.csv"))
    lines = case.read_text(encoding="utf-8").rstrip("\n").split("\n")
    case.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    refused(synthetic_home, BASE, rf"case {case.parent.name} fails(.|\n)*\n\+ ", [])


def test_a_case_that_cannot_be_read_is_refused(copied, synthetic_home: Home):
    case = next((copied / "tests/sql/vitaldb/annotation_v0").glob("*/expect.csv"))
    case.write_text(case.read_text(encoding="utf-8") + "1\n", encoding="utf-8")
    refused(synthetic_home, BASE, "cannot be read(.|\n)* fields", [])


def test_a_grain_that_repeats_is_refused(copied, synthetic_home: Home):
    edit(copied / "sql/vitaldb/annotation_v0.sql", "-- grain: case_id, row_no", "-- grain: case_id")
    refused(synthetic_home, BASE, r"its grain case_id is not unique: [\d,]+ rows too many", [])


def test_a_label_view_that_no_audit_reads_is_refused(copied, synthetic_home: Home):
    text = (copied / "sql/vitaldb/annotation_v0.sql").read_text(encoding="utf-8")
    text = text.replace("vitaldb.annotation v0", "vitaldb.lonely v0").replace(
        "layer: staging", "layer: label"
    )
    (copied / "sql/vitaldb/lonely_v0.sql").write_text(text, encoding="utf-8")
    refused(synthetic_home, "vitaldb.lonely_v0", "no audit reads it, itself or through other views", [])


def test_a_task_without_a_leakage_check_is_refused(copied, synthetic_home: Home):
    (copied / "sql/task/vitaldb_arrhythmia_abnormal_outside_sample_v0.sql").unlink()
    refused(
        synthetic_home,
        "task.vitaldb_arrhythmia_abnormal_v0",
        f"the leakage check outside_sample of {TASK} is missing",
        [],
    )


def test_data_that_is_not_there_is_refused(copied, synthetic_home: Home):
    refused(synthetic_home, "lydus.dx_text_v0", r"found nothing loaded for raw_lydus\.dx_text", [])


def test_a_first_version_tells_how_many_have_a_label(copied, synthetic_home: Home):
    done = release.release(synthetic_home, BASE)
    scored = sum(row[4] for row in count(synthetic_home, TASK).rows)
    assert done.entry.startswith(
        f"- `vitaldb.annotation@0`, first version. `{TASK}`: {scored:,} records with a label"
    )
    log = (copied / "CHANGELOG.md").read_text(encoding="utf-8")
    head, tail = LOG.split("- None: these are the first versions of the views.\n")
    assert log == f"{head}{done.entry}\n{tail}"
    assert max(map(len, done.entry.splitlines())) <= label_changes.WIDTH


def test_a_dry_run_shows_the_same_and_writes_nothing(copied, synthetic_home: Home):
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    shown = release.release(synthetic_home, BASE, dry_run=True)
    assert {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()} == before
    assert "nothing was written" in shown.as_text()
    done = release.release(synthetic_home, BASE)
    assert (shown.lock, shown.entry) == (done.lock, done.entry)


@pytest.fixture
def second(locked: Path) -> Path:
    """Everything released but the second version of the normal runs."""
    edit(locked / "sql/vitaldb/normal_context_v1.sql", "status: released", "status: draft")
    path = locked / "registry/released.json"
    locks = json.loads(path.read_text(encoding="utf-8"))
    del locks["vitaldb.normal_context_v1"]
    path.write_text(json.dumps(locks), encoding="utf-8")
    return locked


def test_a_second_version_tells_the_flips(second, real_home: Home):
    """2,002 segments become normal when a row without rhythm that is no beat ends no run (readings, A2)."""
    done = release.release(real_home, "vitaldb.normal_context@1")
    told = " ".join(done.entry.split())
    assert told.startswith(
        f"- `vitaldb.normal_context@1` in the place of `@0`. `{TASK}`: 2,002 of 107,420 instances flip"
    )
    assert told.count("abnormal unknown → no") == label_changes.FIRST
    assert "`leadhouse diff vitaldb.normal_context@0 @1`" in done.entry  # in one line
    assert told.endswith("All: `leadhouse diff vitaldb.normal_context@0 @1`.")
    assert done.entry in (second / "CHANGELOG.md").read_text(encoding="utf-8")
    assert moved(Catalog.read()) == []


def test_a_task_that_is_not_built_is_refused_unless_the_entry_says_so(copied, synthetic_home: Home, tmp_path):
    shutil.copytree(synthetic_home.raw, tmp_path / "data" / "raw", symlinks=True)
    home = Home(tmp_path / "data")
    refused(home, BASE, f"{TASK} is not built here", [])
    done = release.release(home, BASE, without_flips=True)
    assert f"`{TASK}`: not counted, for {TASK} is not built here." in " ".join(done.entry.split())
    assert BASE in released()


def test_a_second_version_of_a_task_tells_who_moves(heartbeat_home: Home):
    """Record 202 goes to the side of 201, the same person: nothing flips, its beats move."""
    catalog = Catalog.read()
    view = catalog["task.ecg_heartbeat_interpatient_v1"]
    told = " ".join(
        label_changes.entry(catalog, view, label_changes.changes(heartbeat_home, catalog, view)).split()
    )
    moved_beats = "SELECT count(*) FROM task.ecg_heartbeat_interpatient_v1 WHERE record_id = '202'"
    ((beats,),) = select(heartbeat_home, moved_beats).fetchall()
    assert "`ecg-heartbeat-interpatient@1`: 0 of " in told
    assert f"{beats:,} move between parts or are left out otherwise" in told
    assert told.endswith("All: `leadhouse diff ecg-heartbeat-interpatient@0 @1`.")


def test_a_view_that_decides_no_task_has_no_entry(ptbxl_home: Home):
    catalog = Catalog.read()
    view = catalog["ptbxl.code_unknown_v0"]
    assert label_changes.entry(catalog, view, label_changes.changes(ptbxl_home, catalog, view)) is None


def test_a_build_by_older_rules_is_not_counted(copied, synthetic_home: Home):
    edit(copied / "sql/vitaldb/segment_label_v0.sql", "min(rhythm) AS seen", "max(rhythm) AS seen")
    refused(synthetic_home, BASE, r"built before vitaldb\.segment_label_v0, .* changed; run materialize", [])


def test_the_flips_are_those_against_the_version_that_tasks_read(locked, synthetic_home: Home):
    catalog = Catalog.read()
    third = catalog["vitaldb.normal_context_v2"]
    assert catalog["vitaldb.normal_context_v1"].status == "released", "and no task reads it"
    assert label_changes.version_before(catalog, third).name == "vitaldb.normal_context_v0"
    (change,) = label_changes.changes(synthetic_home, catalog, third)
    assert change.task == TASK
    entry = label_changes.entry(catalog, third, [change])
    assert "in the place of `@0`" in entry
    assert entry.endswith("`leadhouse diff vitaldb.normal_context@0 @2`.")


def test_an_entry_goes_into_no_section_of_an_older_release(copied):
    view = Catalog.read()[BASE]
    with pytest.raises(UsageError, match="expected one below Unreleased"):
        label_changes.with_entry(LOG.replace(label_changes.SECTION, "### Fixed", 1), view, "- x")


def test_an_entry_takes_the_place_of_its_own_alone(copied):
    view = Catalog.read()[BASE]
    once = label_changes.with_entry(LOG, view, "- `vitaldb.annotation@0`, one\n  line more.")
    assert label_changes.with_entry(once, view, "- `vitaldb.annotation@0`, one\n  line more.") == once
    other = label_changes.with_entry(once, Catalog.read()[CHILD], "- `vitaldb.noise@0`, two.")
    assert (
        other.count("- `vitaldb.annotation@0`, one\n  line more.\n- `vitaldb.noise@0`, two.\n\n## 0.1") == 1
    )
    assert other.endswith("- `vitaldb.annotation@0`, of long ago.\n")
    with pytest.raises(UsageError, match="Labels changed"):
        label_changes.with_entry("# Changelog\n", view, "- x")


def test_an_error_half_way_changes_nothing(copied, synthetic_home: Home, monkeypatch):
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    write = release.write_text

    def full(path: Path, text: str) -> None:
        if path.name == "released.json":
            raise OSError(28, "No space left on device")
        write(path, text)

    monkeypatch.setattr(release, "write_text", full)
    with pytest.raises(UsageError, match="No space left"):
        release.release(synthetic_home, BASE)
    assert {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()} == before


def test_a_kill_half_way_is_mended_by_the_same_command(copied, synthetic_home: Home):
    done = release.release(synthetic_home, BASE)
    log = (copied / "CHANGELOG.md").read_text(encoding="utf-8")
    (copied / "registry/released.json").unlink()  # CHANGELOG and header were written, the lock was not
    assert moved(Catalog.read()) != []
    assert release.release(synthetic_home, BASE).lock == done.lock
    assert (copied / "CHANGELOG.md").read_text(encoding="utf-8") == log
    assert moved(Catalog.read()) == []


def test_a_checkout_is_needed_that_can_be_written(copied, synthetic_home: Home, monkeypatch):
    monkeypatch.setattr(release.os, "access", lambda path, mode: False)
    with pytest.raises(UsageError, match="read-only"):
        release.release(synthetic_home, BASE)
    monkeypatch.undo()
    (copied / "CHANGELOG.md").unlink()
    monkeypatch.setattr(release, "project_root", lambda: copied)
    with pytest.raises(UsageError, match="found no checkout"):
        release.release(synthetic_home, BASE)
