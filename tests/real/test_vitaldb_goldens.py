"""The 482 real annotation files: every published count, row by row where the golden files have rows."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import duckdb
import pytest

from warehouse.home import Home
from warehouse.load.report import read_report
from warehouse.query import connect


@pytest.fixture(scope="module")
def con(real_home: Home) -> duckdb.DuckDBPyConnection:
    return connect(real_home)


@pytest.fixture(scope="module")
def golden(shared: Path) -> Path:
    return shared / "golden" / "vitaldb"


@pytest.fixture(scope="module")
def summary(golden: Path) -> dict:
    return json.loads((golden / "segments_summary.json").read_text(encoding="utf-8"))


def pairs(con: duckdb.DuckDBPyConnection, query: str) -> dict:
    """A query's rows as first column → the rest (a value when there is one)."""
    return {key: rest[0] if len(rest) == 1 else tuple(rest) for key, *rest in con.execute(query).fetchall()}


def value(con: duckdb.DuckDBPyConnection, query: str) -> object:
    ((found,),) = con.execute(query).fetchall()
    return found


def golden_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# What must hold, from the task's own requirement.


def test_rows_and_beats(con):
    assert value(con, "SELECT count(*) FROM vitaldb.annotation_v0") == 676_250
    assert value(con, "SELECT count(*) FROM vitaldb.annotation_v0 WHERE is_beat") == 658_874
    assert value(con, "SELECT count(DISTINCT case_id) FROM vitaldb.annotation_v0") == 482


def test_labels_and_reasons(con):
    assert value(con, "SELECT count(*) FROM vitaldb.segment_label_v0") == 107_420
    assert pairs(
        con, "SELECT coalesce(label, 'none'), count(*) FROM vitaldb.segment_label_v0 GROUP BY ALL"
    ) == {
        "abnormal": 40_246,
        "normal": 52_173,
        "none": 15_001,
    }
    unlabelled = "SELECT reason, count(*) FROM vitaldb.segment_label_v0 WHERE label IS NULL GROUP BY ALL"
    assert pairs(con, unlabelled) == {
        "gap": 346,
        "no_beat": 910,
        "noise": 1_343,
        "no_rhythm": 69,
        "premature": 6_901,
        "short_run": 5_432,
    }
    assert pairs(
        con, "SELECT reason, first_segments FROM vitaldb.attrition_v0 WHERE first_segments > 0"
    ) == pairs(con, unlabelled)


def test_summary_labels_reasons_and_cases(con, summary):
    base = summary["base"]
    reasons = pairs(con, "SELECT reason, count(*) FROM vitaldb.segment_label_v0 GROUP BY ALL")
    assert reasons == base["reasons"]
    labels = "SELECT coalesce(label, 'not_scored'), count(*) FROM vitaldb.segment_label_v0 GROUP BY ALL"
    assert pairs(con, labels) == base["labels"]
    cases = "SELECT label, count(DISTINCT case_id) FROM vitaldb.segment_label_v0 WHERE label IS NOT NULL GROUP BY ALL"
    assert pairs(con, cases) == base["cases_with"] == {"abnormal": 478, "normal": 359}
    found = value(
        con, "SELECT count(*) FILTER (label = 'abnormal') / count(label) FROM vitaldb.segment_label_v0"
    )
    assert found == pytest.approx(base["prevalence"], abs=1e-15)
    assert (summary["n_cases"], summary["n_rows"], base["total"]) == (482, 676_250, 107_420)


def test_summary_segments_per_rhythm(con, summary):
    found = pairs(con, "SELECT rhythm, segments FROM vitaldb.rhythm_count_v0")
    assert found == summary["base"]["segments_per_rhythm_scored"]


@pytest.mark.parametrize("label", ["abnormal", "normal", "not_scored"])
def test_summary_bad_signal_quality(con, summary, label):
    flagged, by_number, differ, in_sequence = con.execute(
        """SELECT count(*) FILTER (flagged), count(*) FILTER (by_number)
            , count(*) FILTER (flagged <> by_number), count(*) FILTER (in_sequence)
        FROM vitaldb.signal_quality_v0 INNER JOIN vitaldb.segment_label_v0 USING (case_id, start_s)
        WHERE coalesce(label, 'not_scored') = ?""",
        [label],
    ).fetchone()
    wanted = summary["base"]["bad_quality"][label]
    assert (flagged, by_number, differ, in_sequence) == (
        wanted["row_any"],
        wanted["interval"],
        wanted["both_differ"],
        wanted["interval_sequential"],
    )


def test_the_flag_of_the_label_is_the_flag_of_the_evidence(con):
    differing = """SELECT count(*) FROM vitaldb.segment_label_v0 LEFT JOIN vitaldb.signal_quality_v0
        USING (case_id, start_s) WHERE bad_signal_quality <> coalesce(flagged, FALSE)"""
    assert value(con, differing) == 0


def test_counts_of_half_of_the_cases_row_by_row(con, golden):
    found = pairs(
        con,
        """SELECT case_id, count(*) FILTER (label = 'abnormal'), count(*) FILTER (label = 'normal')
            , count(*) FILTER (label IS NULL)
        FROM vitaldb.segment_label_v0 GROUP BY case_id""",
    )
    rows = golden_rows(golden / "segments_per_case_half.csv")
    assert len(rows) == 240
    wanted = {
        int(row["caseid"]): tuple(int(row[name]) for name in ("abnormal", "normal", "not_scored"))
        for row in rows
    }
    assert {case_id: found[case_id] for case_id in wanted} == wanted


def test_spot_checks_row_by_row(con, golden):
    found = pairs(
        con,
        """SELECT label.case_id || '_' || label.start_s
            , coalesce(label.label, 'not_scored'), label.reason, coalesce(label.rhythms_seen, ''), label.beats
            , label.bad_signal_quality, coalesce(quality.by_number, FALSE), coalesce(quality.in_sequence, FALSE)
            , label.premature_beats > 0
        FROM vitaldb.segment_label_v0 AS label
        LEFT JOIN vitaldb.signal_quality_v0 AS quality USING (case_id, start_s)""",
    )
    rows = golden_rows(golden / "segments_spot_checks.csv")
    assert len(rows) == 58
    wanted = {
        f"{row['caseid']}_{row['start_s']}": (
            row["label"],
            row["reason"],
            row["rhythms"],
            int(row["n_beats"]),
            row["bad_signal_quality"] == "1",
            row["bad_interval_by_number"] == "1",
            row["bad_interval_sequential"] == "1",
            row["premature"] == "1",
        )
        for row in rows
    }
    assert {key: found[key] for key in wanted} == wanted


def test_the_test_part_after_exclusion(con):
    """Our draw of the split; the published membership is not available."""
    used = "part = 'test' AND scored AND left_out IS NULL"
    assert value(con, f"SELECT count(*) FROM task.vitaldb_arrhythmia_abnormal_v0 WHERE {used}") == 20_565


# The readings of the specification's open points.


def test_what_the_readings_say_of_the_base(con):
    several = """SELECT count(*) FROM vitaldb.segment_label_v0
        WHERE label = 'abnormal' AND contains(rhythms, '|')"""
    assert value(con, several) == 119
    with_normal = """SELECT count(*) FROM vitaldb.segment_label_v0 INNER JOIN vitaldb.segment_rhythm_v0
        USING (case_id, start_s) WHERE label = 'abnormal' AND role = 'normal'"""
    assert value(con, with_normal) == 2_650
    per_case = """SELECT case_id, count(label) AS n, bool_or(label = 'normal') AS has
        FROM vitaldb.segment_label_v0 GROUP BY ALL"""
    assert value(con, f"SELECT count(*) FROM ({per_case}) WHERE n > 0") == 482
    assert value(con, f"SELECT count(*) FROM ({per_case}) WHERE NOT coalesce(has, FALSE)") == 123


@pytest.mark.parametrize(
    ("reading", "old", "new", "view", "abnormal", "normal"),
    [
        ("no beat needed", "SELECT 1 AS min_beats", "SELECT 0 AS min_beats", "segment_evidence", 0, 0),
        (
            "all rows of the segment in the run",
            "AND run.from_s <= segment.start_s\n"
            "        AND segment.start_s + segment.duration_s <= run.to_s AS accepted",
            "AND NOT EXISTS (FROM vitaldb.annotation_v0 AS row WHERE row.case_id = segment.case_id "
            "AND row.start_s = segment.start_s AND row.row_no NOT BETWEEN run.run_no AND run.last_row_no) AS accepted",
            "segment_evidence",
            0,
            713,
        ),
        (
            "a gap does not end a run",
            "10 AS max_annotation_gap_s",
            "1000 AS max_annotation_gap_s",
            "normal_context",
            0,
            7,
        ),
    ],
)
def test_another_reading_has_the_stated_effect(real_home, reading, old, new, view, abnormal, normal):
    """The rows of the readings sheet that a literal of a view decides."""
    from warehouse.views import Catalog

    con = connect(real_home)
    catalog = Catalog.read()
    for name in ("normal_context", "segment_evidence"):
        text = catalog[f"vitaldb.{name}_v0"].sql
        if name == view:
            assert text.count(old) == 1, reading
            text = text.replace(old, new)
        con.execute(f"CREATE TABLE changed_{name} AS {text}")
        con.execute(f"CREATE OR REPLACE VIEW vitaldb.{name}_v0 AS SELECT * FROM changed_{name}")
    found = pairs(
        con, "SELECT label, count(*) FROM vitaldb.segment_label_v0 WHERE label IS NOT NULL GROUP BY ALL"
    )
    assert found == {"abnormal": 40_246 + abnormal, "normal": 52_173 + normal}


# The profile of the files.

RHYTHMS = {
    "N": (408_420, 370),
    "AFIB/AFL": (163_270, 111),
    "SR-mPVC-BT": (24_069, 109),
    "SND": (23_141, 66),
    "SR-mPAC-BT": (20_326, 85),
    "MAT": (10_132, 26),
    "Noise": (10_098, 250),
    "SVTA": (6_416, 109),
    "AVB": (4_323, 10),
    "VT": (1_598, 88),
    "Unclassifiable": (199, 6),
    None: (4_258, 333),
}
BEATS = {"N": 439_458, "S": 184_203, "U": 18_972, "V": 16_234, None: 17_364, "P": 7, "Start": 6, "End": 6}
GAPS = (
    "166 365 541 816 1002 1127 1378 1626 1665 1699 1733 1957 2305 2397 2863 3077 3110 3164 3409 3525 4012 4024 4255 "
    "4739 4745 4803 4899 4987 5107 5169 5302 5459 5585 5741 5849 6069 6085 6255"
)
START_WITHOUT_END = [696, 939, 1420, 1733, 1813, 2296, 3299, 3328, 3421, 4932, 6299]
NUMBERS_OFF_BY_ONE = [1072, 1378, 2191, 2588, 3525, 5697]


def test_rows_per_rhythm_and_beat_type(con):
    rhythms = (
        "SELECT rhythm_label, count(*), count(DISTINCT case_id) FROM raw_vitaldb.annotation GROUP BY ALL"
    )
    assert pairs(con, rhythms) == RHYTHMS
    assert pairs(con, "SELECT beat_type, count(*) FROM raw_vitaldb.annotation GROUP BY ALL") == BEATS


def test_rows_without_a_rhythm(con):
    rows = "FROM vitaldb.annotation_v0 WHERE rhythm IS NULL"
    assert value(con, f"SELECT count(*) {rows} AND NOT is_beat AND marker_kind IS NOT NULL") == 3_429
    assert value(con, f"SELECT count(*) {rows} AND NOT is_beat AND marker_kind IS NULL") == 2
    beats = pairs(con, f"SELECT beat_type, count(*) {rows} AND is_beat GROUP BY ALL")
    assert beats == {"N": 463, "U": 283, "S": 41, "V": 39, "P": 1}


def test_beats_inside_normal_rhythm(con):
    """What 'premature' is about: 5,443 S and 4,334 V, and no more."""
    query = "SELECT beat_type, count(*) FROM raw_vitaldb.annotation WHERE rhythm_label = 'N' GROUP BY ALL"
    assert pairs(con, query) == {
        "N": 382_790,
        "U": 12_964,
        "S": 5_443,
        "V": 4_334,
        "P": 5,
        None: 2_872,
        "Start": 6,
        "End": 6,
    }
    assert value(con, "SELECT count(*) FROM vitaldb.premature_beat_v0 WHERE rhythm = 'N'") == 5_443 + 4_334


def test_noise_rows(con):
    assert value(con, "SELECT count(*) FROM vitaldb.noise_v0") == 10_098
    assert value(con, "SELECT count(*) FROM vitaldb.noise_v0 WHERE NOT bad_signal_quality") == 991
    assert value(con, "SELECT count(*) FROM vitaldb.annotation_v0 WHERE role = 'not_scored' AND is_beat") == 0


def test_tied_stamps(con):
    """Pairs of rows; 'identical' means beat, rhythm and flag (in 94 pairs the marker's text is the same too)."""
    con.execute(
        """CREATE OR REPLACE TEMP TABLE tie AS
        SELECT case_id, count(*) AS n, count(DISTINCT coalesce(rhythm_label, '')) AS rhythms
            , count(DISTINCT concat_ws(',', coalesce(beat_type, ''), coalesce(rhythm_label, ''), bad_signal_quality))
                AS kinds
        FROM raw_vitaldb.annotation GROUP BY case_id, time_second HAVING count(*) > 1"""
    )
    assert con.execute("SELECT count(*), count(DISTINCT case_id), max(n) FROM tie").fetchone() == (
        250,
        111,
        2,
    )
    assert pairs(con, "SELECT kinds, count(*) FROM tie GROUP BY ALL") == {1: 98, 2: 152}
    assert value(con, "SELECT count(*) FROM tie WHERE rhythms = 2") == 93


def test_rows_on_a_boundary(con):
    assert value(con, "SELECT count(*) FROM vitaldb.annotation_v0 WHERE time_s % 5 = 0") == 396
    assert (
        value(con, "SELECT count(*) FROM vitaldb.annotation_v0 WHERE time_s % 5 = 0 AND start_s <> time_s")
        == 0
    )


def test_gaps(con):
    cases = con.execute("SELECT DISTINCT case_id FROM vitaldb.annotation_gap_v0 ORDER BY 1").fetchall()
    assert [case_id for (case_id,) in cases] == [int(word) for word in GAPS.split()]
    gaps = con.execute("SELECT to_s - from_s FROM vitaldb.annotation_gap_v0 ORDER BY 1").fetchall()
    assert len(gaps) == 52
    assert [round(length, 2) for (length,) in gaps[:5]] == [10.01, 10.07, 10.26, 10.33, 10.35]
    assert round(gaps[-1][0], 1) == 141.9
    assert sum(length > 30 for (length,) in gaps) == 14
    assert sum(length > 60 for (length,) in gaps) == 6


def test_unpaired_markers(con):
    found = pairs(
        con,
        """SELECT reason, list(DISTINCT case_id ORDER BY case_id) FROM vitaldb.quality_interval_v0
        WHERE pairing = 'number' AND NOT accepted GROUP BY ALL""",
    )
    assert sorted({*found["no_end"], *found["end_before_start"]}) == sorted(
        START_WITHOUT_END + NUMBERS_OFF_BY_ONE
    )
    assert found["end_before_start"] == NUMBERS_OFF_BY_ONE
    at_the_begin = """SELECT list(case_id ORDER BY case_id) FROM vitaldb.quality_interval_v0
        WHERE pairing = 'sequence' AND assumed = 'from_s'"""
    assert value(con, at_the_begin) == NUMBERS_OFF_BY_ONE


def test_the_report_counts_markers_by_number_and_by_turns(real_home):
    """17 cases are the facts sheet's; 4 more only do not alternate."""
    odd = {entry["what"]: entry for entry in read_report(real_home, "vitaldb-arrhythmia")["oddities"]}
    by_number, by_turns = (odd[what] for what in odd if "quality markers" in what)
    assert sorted(by_number["where"]) == sorted(START_WITHOUT_END + NUMBERS_OFF_BY_ONE)
    assert (by_number["count"], by_turns["count"]) == (17, 21)
    assert set(by_number["where"]) < set(by_turns["where"])


def test_the_files_flag_equals_the_pairing_by_number(con):
    con.execute(
        """CREATE OR REPLACE TEMP TABLE seen AS
        SELECT bad_signal_quality AS flagged, EXISTS (FROM vitaldb.quality_interval_v0 AS stretch
            WHERE stretch.case_id = row.case_id AND stretch.pairing = 'number' AND stretch.accepted
            AND row.time_s BETWEEN stretch.from_s AND stretch.to_s) AS inside
        FROM vitaldb.annotation_v0 AS row"""
    )
    assert value(con, "SELECT count(*) FROM seen WHERE flagged") == 34_968
    assert value(con, "SELECT count(*) FROM seen WHERE flagged AND NOT inside") == 0
    assert value(con, "SELECT count(*) FROM seen WHERE inside AND NOT flagged") == 92


def test_subjects_of_the_482_cases(con):
    sizes = (
        "SELECT n, count(*) FROM (SELECT count(*) AS n FROM vitaldb.record_v0 GROUP BY subject_id) GROUP BY n"
    )
    assert pairs(con, sizes) == {1: 465, 2: 7, 3: 1}
    assert value(con, "SELECT count(*) FROM vitaldb.record_v0 WHERE part IS NULL") == 0


def test_every_audit_passes(real_home):
    from warehouse.audit import audit

    findings = audit(real_home, "vitaldb-arrhythmia-abnormal@0")
    assert len(findings) > 10
    assert [finding for finding in findings if not finding.passed] == []
