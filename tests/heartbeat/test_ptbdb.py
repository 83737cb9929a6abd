"""Four real records of the PTB database: what is there is loaded, what is not is said."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import wfdb

from pipelines.segments import read_segments
from warehouse.home import Home
from warehouse.load.ptbdb import load
from warehouse.materialize import materialize
from warehouse.query import connect
from warehouse.task import read_task


@pytest.fixture(scope="module")
def place(shared, tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("ptbdb") / "data")
    report = load(home, shared / "data" / "ptbdb", workers=1)
    materialize(home)
    return home, report


@pytest.fixture(scope="module")
def con(place):
    return connect(place[0])


def test_a_missing_xyz_costs_the_frank_leads_alone(place, con):
    _, report = place
    assert [str(problem) for problem in report.problems] == [
        f"record {name}, {name}.xyz: found no such file; expected the file that the header names; "
        "leads lost: vx, vy, vz"
        for name in ("s0015lre", "s0017lre", "s0043lre")
    ]
    rows = con.execute("""
        SELECT record_id, count(*) FILTER (has_samples), string_agg(spelling, ' ' ORDER BY channel)
            FILTER (NOT has_samples)
        FROM ptbdb.lead_v0 GROUP BY record_id ORDER BY record_id
    """).fetchall()
    lost = "vx vy vz"
    assert rows == [
        ("s0010_re", 15, None),
        ("s0015lre", 12, lost),
        ("s0017lre", 12, lost),
        ("s0043lre", 12, lost),
    ]


def test_checksums_of_zero_are_not_declared(place):
    assert place[1].notes == ["signals: 51 of 60 leads; checksums: 0 verified, 51 not declared, 0 differ"]


def test_samples_are_those_that_wfdb_reads(place, shared):
    home, _ = place
    read = wfdb.rdrecord(str(shared / "data" / "ptbdb" / "s0010_re"), physical=False)
    rows = pl.read_parquet(home.raw / "ptbdb" / "signal" / "*.parquet").filter(
        pl.col("record_id") == "s0010_re"
    )
    for row in rows.iter_rows(named=True):
        assert np.array_equal(row["samples"], read.d_signal[:, row["channel"]]), row["lead"]
        assert (row["gain"], row["baseline"], row["units"]) == (2000.0, 0, "mV")
    assert rows.height == 15


def test_diagnoses(con):
    rows = con.execute(
        "SELECT record_id, patient_from, class, reason FROM ptbdb.record_label_v0 ORDER BY 1"
    ).fetchall()
    assert rows == [(name, "record", "MI", None) for name in ("s0010_re", "s0015lre", "s0017lre", "s0043lre")]


def test_beats_have_a_heart_rate(con):
    rows = con.execute("""
        SELECT record_id, count(*) FILTER (accepted), min(length) FILTER (accepted), max(length) FILTER (accepted)
        FROM ptbdb.segment_v0 GROUP BY record_id ORDER BY record_id
    """).fetchall()
    assert rows == [
        ("s0010_re", 38, 109, 110),
        ("s0015lre", 127, 109, 118),
        ("s0017lre", 118, 118, 130),
        ("s0043lre", 85, 162, 181),
    ]
    medians = con.execute("""
        SELECT record_id, median(length) FROM ptbdb.segment_paper_v0 WHERE accepted GROUP BY record_id
    """).fetchall()
    assert dict(medians) == {"s0010_re": 4, "s0015lre": 115, "s0017lre": 125, "s0043lre": 4}


def test_segments_begin_at_an_r_peak(place):
    home, _ = place
    values = read_segments(home, read_task(home, "ecg-heartbeat-mi@0")).values
    assert values.shape == (368, 187)
    assert np.median(values[:, 0]) > 0.9
    assert (values.max(axis=1) == 1).all()


def test_who_is_a_group_of_its_own_is_said(place):
    from warehouse.counts import count

    notes = count(place[0], "ecg-heartbeat-mi@0").notes
    assert (
        "444 of 444 instances are of records whose patient no source names: each record is a group of its own"
        in notes
    )


def test_no_patient_is_in_two_parts_by_patient(con):
    assert con.execute("SELECT * FROM task.ecg_heartbeat_mi_patient_in_two_parts_v1").fetchall() == []
    leaks = con.execute("SELECT group_id FROM task.ecg_heartbeat_mi_patient_in_two_parts_v0").fetchall()
    assert len(leaks) == 4
