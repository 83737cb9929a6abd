"""Labels hang on their evidence, the specs say what the maps say, and no annotated beat is lost on the way."""

from __future__ import annotations

import pytest

from warehouse.maps import map_rows
from warehouse.query import connect
from warehouse.spec import find_spec
from warehouse.views import Catalog

BEATS = ("arrhythmia@0", "balanced@0", "interpatient@0", "interpatient@1")


@pytest.mark.parametrize("task", BEATS)
def test_classes_of_the_spec_are_those_of_the_map(task):
    by_class: dict[str, list[str]] = {}
    for row in map_rows("mitbih_symbol"):
        if row["class"]:
            by_class.setdefault(row["class"], []).append(row["symbol"])
    spec = find_spec(f"ecg-heartbeat-{task}").data
    assert spec["label"] == by_class
    assert spec["classes"] == list(by_class)


def test_diagnoses_of_the_spec_are_those_of_the_map():
    for version in (0, 1):
        label = dict(find_spec(f"ecg-heartbeat-mi@{version}").data["label"])
        assert label.pop("from")
        given: dict[str, list[str]] = {}
        for row in map_rows("ptbdb_admission"):
            if row["class"]:
                given.setdefault(row["class"], []).append(row["admission"])
        assert label == given


@pytest.mark.parametrize(
    ("view", "evidence", "accepted"),
    [
        ("ptbdb.record_label_v0", "ptbdb.diagnosis_v0", "accepted"),
        ("mitbih.segment_published_v0", "mitbih.beat_v0", "class IS NOT NULL"),
    ],
)
def test_a_label_is_lost_without_its_evidence_and_stays_with_it_alone(
    heartbeat_home, view, evidence, accepted
):
    con, text = connect(heartbeat_home), Catalog.read()[view].sql
    given = dict(con.execute(f"SELECT record_id, class FROM ({text})").fetchall())
    assert any(given.values())
    for keep, stays in ((accepted, True), (f"NOT ({accepted})", False)):
        con.execute(f"CREATE OR REPLACE TEMP TABLE shown AS SELECT * FROM {evidence} WHERE {keep}")
        found = dict(
            con.execute(f"SELECT record_id, class FROM ({text.replace(evidence, 'shown')})").fetchall()
        )
        if stays:
            assert {key: value for key, value in found.items() if value} == {
                key: value for key, value in given.items() if value
            }
        else:
            assert not any(found.values())


@pytest.mark.parametrize("task", BEATS)
def test_every_annotated_beat_is_a_row_with_a_segment_or_a_reason(mitdb_home, task):
    con = connect(mitdb_home)
    view = find_spec(f"ecg-heartbeat-{task}").view
    rows, without = con.execute(
        f"SELECT count(*), count(*) FILTER (length IS NULL AND left_out IS NULL) FROM {view}"
    ).fetchone()
    assert (rows, without) == (109_494, 0)


def test_every_detected_peak_is_a_row(heartbeat_home):
    con = connect(heartbeat_home)
    (peaks,) = con.execute("SELECT count(*) FROM raw_ptbdb.detected_peak").fetchone()
    for version in (0, 1):
        rows = con.execute(f"""
            SELECT count(*), count(*) FILTER (left_out IS NULL AND (length IS NULL OR NOT scored))
            FROM task.ecg_heartbeat_mi_v{version}
        """).fetchone()
        assert rows == (peaks, 0)
