"""All 48 real records: every count that must hold, and every value of every segment against a second segmenter."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from oracle.heartbeat import segments

from pipelines.segments import read_segments
from warehouse.home import Home
from warehouse.query import connect
from warehouse.task import read_task

TASK = "ecg-heartbeat-arrhythmia@0"
CLASSES = ("N", "S", "V", "F", "Q")


@pytest.fixture(scope="module")
def con(mitdb_home: Home):
    return connect(mitdb_home)


@pytest.fixture(scope="module")
def task(mitdb_home: Home):
    return read_task(mitdb_home, TASK)


@pytest.fixture(scope="module")
def cut(mitdb_home: Home, task):
    """The instances that have a segment, and the segments."""
    return task.instances.filter(pl.col("left_out").is_null()), read_segments(mitdb_home, task).values


def golden(shared: Path, name: str) -> dict:
    return json.loads((shared / "golden" / "heartbeat" / name).read_text())


def test_the_release_is_known_and_whole(mitdb_home):
    report = json.loads((mitdb_home.raw / "mitbih" / "_load.json").read_text())
    assert report["release"]["name"] == "MIT-BIH Arrhythmia Database 1.0.0"
    assert report["problems"] == []
    assert report["notes"] == ["signals: 96 of 96 leads; checksums: 96 verified, 0 not declared, 0 differ"]


def test_symbols_of_every_record(con, shared):
    expected = golden(shared, "mitdb_counts.json")
    rows = con.execute("""
        SELECT record_id, is_beat, symbol, count(*) FROM mitbih.annotation_v0 GROUP BY ALL
    """).fetchall()
    for record, each in expected["per_record"].items():
        found = {symbol: n for name, beat, symbol, n in rows if name == record and beat}
        others = {symbol: n for name, beat, symbol, n in rows if name == record and not beat}
        assert (found, others) == (each["symbols"], each["non_beat"]), record
    assert sum(n for *_, n in rows) == expected["total_annotations"] == 112_647
    assert sum(n for _, beat, _, n in rows if beat) == expected["total_beats"] == 109_494


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("aami_all48", "TRUE"),
        ("aami_no_paced44", "NOT is_paced"),
        ("aami_DS1", "de_chazal = 'DS1'"),
        ("aami_DS2", "de_chazal = 'DS2'"),
    ],
)
def test_class_totals(con, shared, name, where):
    rows = con.execute(
        f"SELECT class, count(*) FROM mitbih.beat_label_v0 WHERE {where} GROUP BY class"
    ).fetchall()
    expected = golden(shared, "mitdb_counts.json")[name]
    assert dict(rows) == {each: expected[each] for each in CLASSES}
    assert sum(n for _, n in rows) == expected["total"]


def test_leads_of_every_record(con, shared):
    rows = con.execute("""
        SELECT record_id, channel, spelling, lead, checksum FROM mitbih.lead_v0 ORDER BY record_id, channel
    """).fetchall()
    for record, each in golden(shared, "mitdb_counts.json")["per_record"].items():
        mine = [row for row in rows if row[0] == record]
        assert [row[2] for row in mine] == each["leads"]
        assert [row[4] for row in mine] == ["verified", "verified"]
    lead_ii = {record: channel for record, channel, _, lead, _ in rows if lead == "II"}
    assert set(golden(shared, "mitdb_counts.json")["per_record"]) - set(lead_ii) == {"102", "104"}
    assert {record for record, channel in lead_ii.items() if channel} == {"114"}


def test_published_segments_of_every_record(con, shared):
    expected = golden(shared, "kaggle_equivalent_counts.json")
    rows = con.execute("""
        SELECT record_id, class, count(*) FROM mitbih.segment_published_v0 WHERE accepted GROUP BY ALL
    """).fetchall()
    for record, counts in expected["per_record"].items():
        found = {name: n for each, name, n in rows if each == record}
        assert {name: found.get(name, 0) for name in CLASSES} == counts, record
    totals = {name: sum(n for _, each, n in rows if each == name) for name in CLASSES}
    assert totals == expected["per_class"] == {"N": 90_589, "S": 2_779, "V": 7_236, "F": 803, "Q": 8_039}
    assert sum(totals.values()) == expected["total"] == 109_446


def test_what_has_no_segment_is_the_last_annotation_of_each_record(con):
    rows = con.execute("""
        SELECT reason, class, count(*), count(DISTINCT record_id) FROM mitbih.segment_published_v0
        WHERE NOT accepted GROUP BY ALL ORDER BY ALL
    """).fetchall()
    assert rows == [
        ("last_annotation", "N", 42, 42),
        ("last_annotation", "Q", 4, 4),
        ("last_annotation", "S", 2, 2),
    ]


def test_first_row_of_the_public_csv(cut, shared):
    instances, values = cut
    place = instances.with_row_index("place").filter(
        (pl.col("record_id") == "122") & (pl.col("sample") == 82_213)
    )
    row = values[place["place"].item()]
    expected = json.loads((shared / "golden" / "heartbeat" / "kaggle_row0.json").read_text())
    assert len(expected) == place["length"].item() == 100
    assert np.abs(row - np.pad(expected, (0, 87))).max() < 5.1e-7


def test_published_sums_and_spreads_of_the_last_nonzero_place(cut):
    """Printed in a public notebook for all 109,446 rows (facts/heartbeat/protocol.md): every residual is 0."""
    instances, values = cut
    last = 187 - np.argmax(values[:, ::-1] > 0, axis=1)
    labels = instances["class"].to_numpy()
    sums = {name: int(last[labels == name].sum()) for name in CLASSES}
    assert sums == {"N": 10_033_594, "S": 317_265, "V": 853_097, "F": 63_002, "Q": 951_261}
    assert [int(last[labels == name].min()) for name in CLASSES] == [10, 22, 14, 29, 31]
    spreads = [last[labels == name].std(ddof=1) for name in CLASSES]
    assert spreads == pytest.approx([27.174, 39.06, 35.03, 13.767, 9.59], abs=0.01)


def test_published_means_of_columns(cut):
    """Of four columns: the segment is scaled whole and cut at 187 afterwards (cut first: .891408, .005000)."""
    _, values = cut
    means = values.mean(axis=0, dtype=np.float64)[[0, 9, 178, 186]]
    assert means == pytest.approx([0.891170, 0.196610, 0.004937, 0.002835], abs=1e-5)


def test_every_segment_against_a_plain_segmenter(cut, shared):
    instances, values = cut
    start = 0
    for (record,), rows in instances.group_by("record_id", maintain_order=True):
        expected = segments(shared / "data" / "mitdb", record)
        found = rows.select("row_no", "class", "sample", "end_sample", "length").rows()
        assert found == [each[:5] for each in expected], record
        wanted = np.array([each[5] for each in expected], np.float32)
        assert np.array_equal(values[start : start + rows.height], wanted), record
        start += rows.height
    assert start == len(values) == 109_446


def test_rows_read_alone_are_the_rows_read_together(mitdb_home, task, cut):
    _, values = cut
    where = np.flatnonzero(task.instances["left_out"].is_null().to_numpy())
    some = np.random.default_rng(0).permutation(len(where))[:500]
    assert np.array_equal(read_segments(mitdb_home, task, where[some]).values, values[some])


def test_audits_report_the_declared_leaks_and_none_elsewhere(con):
    def leaks(view: str) -> list[tuple]:
        return con.execute(f"SELECT group_id, parts FROM task.ecg_heartbeat_{view} ORDER BY 1").fetchall()

    assert leaks("interpatient_patient_in_two_parts_v0") == [("201", 2)]
    assert leaks("interpatient_patient_in_two_parts_v1") == []
    assert len(leaks("arrhythmia_patient_in_two_parts_v0")) == 47
    assert len(leaks("balanced_patient_in_two_parts_v0")) == 47


def test_beats_of_the_interpatient_sets(con):
    def beats(version: int) -> dict:
        rows = con.execute(f"""
            SELECT coalesce(part = 'test', FALSE), count(*) FROM task.ecg_heartbeat_interpatient_v{version}
            WHERE part IS NOT NULL GROUP BY ALL
        """).fetchall()
        return dict(rows)

    assert beats(0) == {False: 51_021, True: 49_712}
    assert beats(1) == {False: 53_157, True: 47_576}


def test_rhythms_cover_the_records(con):
    rows = con.execute("SELECT accepted, count(*) FROM mitbih.rhythm_span_v0 GROUP BY ALL").fetchall()
    assert rows == [(True, 1_291)]
    assert con.execute("SELECT count(*) FROM mitbih.premature_beat_v0").fetchone() == (2_781 + 7_130,)


def test_the_audit_command_passes_declared_leaks_and_fails_others(mitdb_home, monkeypatch):
    from click.testing import CliRunner

    import cli
    from warehouse import audit

    data = ["--data", str(mitdb_home.path)]
    done = CliRunner().invoke(cli.main, ["audit", *data])
    assert done.exit_code == 0, done.output
    assert "patient_in_two_parts_v0: 1 rows, a leak that the spec declares" in done.output
    monkeypatch.setattr(audit, "declared_leaks", set)
    done = CliRunner().invoke(cli.main, ["audit", *data])
    assert done.exit_code == 1
    assert "interpatient_patient_in_two_parts_v1" not in done.output.splitlines()[-1]


def test_counts_and_scores_tell_of_the_leak(mitdb_home):
    from warehouse.counts import count

    (leak,) = [note for note in count(mitdb_home, TASK).notes if note.startswith("known leak")]
    assert "the same patient has instances in several parts" in leak
    assert not any("leak" in note for note in count(mitdb_home, "ecg-heartbeat-interpatient@1").notes)
