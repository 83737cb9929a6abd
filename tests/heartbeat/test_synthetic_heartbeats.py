"""The synthetic releases: real formats, the same bytes, beats where they are annotated; the street on them."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import wfdb
from sql_cases import views_of

from pipelines.baseline import write_baseline
from pipelines.score import score_submission
from pipelines.segments import read_segments
from pipelines.verify import verify_run
from warehouse.errors import UsageError
from warehouse.home import Home
from warehouse.load import mitbih
from warehouse.materialize import materialize
from warehouse.query import connect
from warehouse.synthetic import write_mitbih_release, write_ptbdb_release
from warehouse.synthetic.mitbih import pack_212
from warehouse.task import read_task

TASKS = ("arrhythmia@0", "balanced@0", "interpatient@0", "interpatient@1", "mi@0", "mi@1")


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_same_arguments_give_the_same_bytes(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        write_mitbih_release(tmp_path / name, records=3, seconds=20, seed=seed)
        write_ptbdb_release(tmp_path / name / "ptb", patients=2, seconds=12, seed=seed, records_each=1)
    assert digests(tmp_path / "a") == digests(tmp_path / "b") != digests(tmp_path / "c")


def test_format_212_is_read_back():
    values = np.random.default_rng(0).integers(-2048, 2048, 1001)
    packed = np.frombuffer(pack_212(values), np.uint8).reshape(-1, 3).astype(int)
    first = packed[:, 0] | (packed[:, 1] & 15) << 8
    second = packed[:, 2] | (packed[:, 1] >> 4) << 8
    read = np.stack([first, second], axis=1).reshape(-1)[:1001]
    assert np.array_equal(np.where(read > 2047, read - 4096, read), values)


def test_wfdb_reads_it_and_its_checksums_hold(tmp_path):
    (name,) = write_mitbih_release(tmp_path, records=1, seconds=20)
    read = wfdb.rdrecord(str(tmp_path / name), physical=False)
    assert [int(column.sum()) & 0xFFFF for column in read.d_signal.T] == [
        each & 0xFFFF for each in read.checksum
    ]
    assert read.init_value == read.d_signal[0].tolist()
    assert read.sig_name == ["MLII", "V5"]


def test_a_number_of_records_that_is_none_is_refused(tmp_path):
    with pytest.raises(UsageError, match="expected 1 to"):
        write_mitbih_release(tmp_path, records=0)
    with pytest.raises(UsageError, match="1 or more"):
        write_ptbdb_release(tmp_path, patients=0)


def test_every_view_has_rows_and_a_unique_grain(heartbeat_home):
    con = connect(heartbeat_home)
    views = views_of(heartbeat_home)
    assert {view.schema for view in views} >= {"mitbih", "ptbdb", "task"}
    for view in views:
        if view.layer == "audit" or view.schema not in ("mitbih", "ptbdb", "task"):
            continue
        keys = ", ".join(view.grain)
        (rows,) = con.execute(f"SELECT count(*) FROM {view.name}").fetchone()
        (distinct,) = con.execute(
            f"SELECT count(*) FROM (SELECT DISTINCT {keys} FROM {view.name})"
        ).fetchone()
        assert rows == distinct > 0, view.name
        if view.stored:
            found = pl.read_parquet(heartbeat_home.built / view.file).select(view.grain).rows()
            assert found == sorted(found), view.name


def test_audits_of_the_synthetic_home_pass(heartbeat_home):
    from warehouse.audit import audit

    findings = [finding for finding in audit(heartbeat_home) if finding.count is not None]
    assert [finding.name for finding in findings if not finding.passed] == []
    assert any(finding.declared and finding.count for finding in findings)


def test_reasons_classes_and_leads_are_met(heartbeat_home):
    con = connect(heartbeat_home)

    def found(query: str) -> set:
        return {value for (value,) in con.execute(query).fetchall()}

    assert found("SELECT DISTINCT class FROM mitbih.beat_v0") == {"N", "S", "V", "F", "Q"}
    assert found("SELECT record_id FROM mitbih.paced_record_v0") == {"102", "107"}
    assert found("SELECT record_id FROM mitbih.lead_v0 WHERE lead = 'II' AND channel = 1") == {"114"}
    assert found("SELECT DISTINCT class FROM ptbdb.record_label_v0") == {"MI", "healthy", None}
    assert found("SELECT reason FROM ptbdb.record_label_v0") == {None, "other_diagnosis"}
    assert found("SELECT DISTINCT patient_from FROM ptbdb.record_v0") == {"folder"}


def test_the_annotated_beats_can_be_seen(heartbeat_home):
    """Most normal segments begin near their greatest value, ventricular ones are wider."""
    task = read_task(heartbeat_home, "ecg-heartbeat-arrhythmia@0")
    values = read_segments(heartbeat_home, task).values
    classes = task.instances.filter(pl.col("left_out").is_null())["class"].to_numpy()
    records = task.instances.filter(pl.col("left_out").is_null())["record_id"].to_numpy()
    lead_ii = ~np.isin(records, ("102", "107", "114"))
    normal = values[(classes == "N") & lead_ii]
    assert np.median(normal[:, 0]) > 0.9
    width = {
        name: (values[(classes == name) & lead_ii][:, :15] > 0.5).sum(axis=1).mean() for name in ("N", "V")
    }
    assert width["V"] > 1.5 * width["N"]


@pytest.mark.parametrize("name", TASKS)
def test_the_whole_street(heartbeat_home, tmp_path, name):
    home = Home(tmp_path / "data")
    shutil.copytree(heartbeat_home.path, home.path, symlinks=True)
    task = f"ecg-heartbeat-{name}"
    path = write_baseline(home, task, "prior")
    found = score_submission(home, task, path, n_bootstrap=20)
    assert 0 < found["metrics"]["accuracy"]["value"] <= 100
    assert verify_run(home, found["run"])["ok"]
    leaks = [note for note in found["notes"] if note.startswith("known leak")]
    assert bool(leaks) == (name in ("arrhythmia@0", "balanced@0", "interpatient@0", "mi@0"))


def test_one_thread_and_two_threads_build_identical_bytes(heartbeat_home, tmp_path):
    found = []
    for threads in (1, 2):
        home = Home(tmp_path / str(threads))
        shutil.copytree(heartbeat_home.raw, home.raw, symlinks=True)
        materialize(home, threads=threads)
        found.append(digests(home.built.resolve()))
    assert found[0] == found[1]


def test_a_release_without_signals_keeps_its_labels(tmp_path):
    """Every beat keeps its class and says that it has no segment."""
    release = tmp_path / "release"
    write_mitbih_release(release, records=2, seconds=20)
    for path in release.glob("*.dat"):
        path.unlink()
    home = Home(tmp_path / "data")
    report = mitbih.load(home, release, workers=1)
    assert len(report.problems) == 2
    materialize(home)
    task = read_task(home, "ecg-heartbeat-arrhythmia@0")
    assert set(task.instances["left_out"]) == {"no_signal", "last_annotation"}
    assert task.instances["scored"].all()
    with pytest.raises(UsageError, match="instances without a segment"):
        read_segments(home, task, np.arange(task.instances.height))
