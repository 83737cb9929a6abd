"""The label view against the plain-Python oracle: random small cases with every quirk of the files.

A case is drawn as stretches of equal rows, so that a run of 45 s is a handful of rows and a failure shrinks to a
few readable ones. Several cases go through the views at once, in one database for the whole module.
"""

from __future__ import annotations

from typing import NamedTuple

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st
from oracle import Ecg, Row, Segment, label_case
from oracle.rule import RENAMED, SECOND
from sql_cases import create_map, create_table, raw_columns

from warehouse.views import Catalog

LABEL = "vitaldb.segment_label_v0"
TICKS_PER_S = 360
HZ = 500


class Line(NamedTuple):
    """A row as a file has it; empty text where it has nothing."""

    beat: str
    rhythm: str
    flagged: bool = False
    marker: str = ""


class Stretch(NamedTuple):
    """``count`` equal rows; the first comes ``gap`` ticks after the row before, the others ``step`` ticks apart."""

    line: Line
    count: int
    step: int
    gap: int


class Drawn(NamedTuple):
    first: int
    """Tick of the first row."""
    stretches: list[Stretch]
    ecg: Ecg | None = None

    def lines(self) -> list[tuple[float, Line]]:
        tick, found = self.first, []
        for place, stretch in enumerate(self.stretches):
            tick += stretch.gap if place else 0
            for number in range(stretch.count):
                tick += stretch.step if number else 0
                found.append((tick / TICKS_PER_S, stretch.line))
        return found

    def oracle(self) -> list[Segment]:
        rows = [
            Row(round(time * SECOND), line.beat, RENAMED.get(line.rhythm, line.rhythm), line.flagged)
            for time, line in self.lines()
        ]
        return label_case(rows, self.ecg)


NORMAL = Line("N", "N")
LINES = [
    NORMAL,
    Line("V", "N"),
    Line("S", "N"),
    Line("U", "N", flagged=True),
    Line("P", "N"),
    Line("", "N", flagged=True, marker="Start1"),
    Line("Start", "N", flagged=True),
    Line("End", "N", flagged=True),
    Line("N", ""),
    Line("V", ""),
    Line("", "", flagged=True, marker="End1"),
    Line("", ""),
    Line("", "Noise"),
    Line("", "Noise", flagged=True),
    Line("S", "AFIB/AFL"),
    Line("V", "VT"),
    Line("N", "SR-mPVC-BT"),
    Line("N", "Patterned Ventricular Ectopy"),
    Line("N", "MAT"),
    Line("U", "Unclassifiable"),
]
STEPS = [300, 0, 1, 360, 899, 900, 1799, 1800, 1801, 3239, 3240, 3241, 3599, 3600, 3601, 5400]

steps = st.sampled_from(STEPS) | st.integers(0, 4000)
common = st.builds(
    Stretch, st.just(NORMAL), st.integers(1, 9), st.sampled_from([300, 1800, 3240, 3600]), steps
)
any_stretch = st.builds(Stretch, st.sampled_from(LINES), st.integers(1, 4), steps, steps)
holes = st.lists(
    st.tuples(st.integers(0, 20 * HZ), st.sampled_from([1, 249, 250, 251]) | st.integers(1, 6 * HZ)),
    max_size=2,
)


@st.composite
def cases(draw) -> Drawn:
    first = draw(st.sampled_from([0, 1800, 1799, 180722, 168121]) | st.integers(0, 7200))
    stretches = draw(st.lists(common | any_stretch, min_size=1, max_size=6))
    ecg = None
    if draw(st.booleans()):
        begin = first * HZ // TICKS_PER_S + draw(st.integers(-3 * HZ, 3 * HZ))
        runs, at = [], max(begin, 0)
        for distance, size in draw(holes):  # ascending and apart, as `load` writes them
            at += distance + 1
            runs.append((at, size))
            at += size
        ecg = Ecg(HZ, max(begin, 0), at - max(begin, 0) + draw(st.integers(0, 60 * HZ)), tuple(runs))
    return Drawn(first, stretches, ecg)


@pytest.fixture(scope="module")
def label():
    """Cases → the rows of the label view, each case's in the order of time."""
    catalog = Catalog.read()
    lineage = catalog.lineage([LABEL])
    columns = raw_columns()
    con = duckdb.connect(config={"threads": 1})
    for name in sorted({name for view in lineage for name in catalog.inputs(view)}):
        if name.startswith("map."):
            create_map(con, name[4:])
        else:
            create_table(con, name, columns[name])
    con.execute("CREATE SCHEMA vitaldb")
    for view in lineage:
        kind = "TABLE" if view.stored else "VIEW"
        con.execute(f"CREATE {kind} {view.name} AS {view.sql}")
    stored = [view for view in lineage if view.stored]

    def run(drawn: list[Drawn]) -> dict[int, list[tuple]]:
        rows = [
            (case_id, number, time, line.beat or None, line.rhythm or None, line.flagged, line.marker or None)
            for case_id, case in enumerate(drawn)
            for number, (time, line) in enumerate(case.lines(), start=2)
        ]
        signals = [(n, case.ecg.first, case.ecg.samples, HZ) for n, case in enumerate(drawn) if case.ecg]
        runs = [
            (n, "missing", *hole) for n, case in enumerate(drawn) if case.ecg for hole in case.ecg.missing
        ]
        _refill(
            con,
            "raw_vitaldb.annotation",
            "case_id, row_no, time_second, beat_type, rhythm_label, bad_signal_quality, bad_signal_quality_label",
            rows,
        )
        _refill(con, "raw_vitaldb.signal_case", "case_id, first_sample, n_samples, hz", signals)
        _refill(con, "raw_vitaldb.signal_run", "case_id, kind, first_sample, n_samples", runs)
        for view in stored:
            con.execute(f"DELETE FROM {view.name}")
            con.execute(f"INSERT INTO {view.name} {view.sql}")
        found = con.execute(
            f"""SELECT case_id, start_s, label, reason, rhythms, rhythms_seen, beats, premature_beats,
            bad_signal_quality, ecg FROM {LABEL} ORDER BY case_id, start_s"""
        ).fetchall()
        return {n: [row[1:] for row in found if row[0] == n] for n in range(len(drawn))}

    return run


def _refill(con: duckdb.DuckDBPyConnection, name: str, columns: str, rows: list[tuple]) -> None:
    con.execute(f"DELETE FROM {name}")
    if rows:
        places = ", ".join(f"({', '.join('?' * len(rows[0]))})" for _ in rows)
        con.execute(
            f"INSERT INTO {name} ({columns}) VALUES {places}", [field for row in rows for field in row]
        )


def _as_view(segment: Segment) -> tuple:
    return (
        *segment[:3],
        "|".join(segment.rhythms) or None,
        "|".join(segment.rhythms_seen) or None,
        *segment[5:],
    )


EXACT_GAP = Drawn(180722, [Stretch(NORMAL, 3, 3600, 0)])
"""From 502.0055… s: 3,600 ticks are more than 10.0 as floats."""
EXACT_RUN = Drawn(168121, [Stretch(NORMAL, 6, 3240, 0)])
"""From 467.0027… s: 16,200 ticks are less than 45.0 as floats."""
TIED = [
    Drawn(3600, [Stretch(NORMAL, 6, 3240, 0), Stretch(line, 1, 0, 0), Stretch(other, 1, 0, 0)])
    for line, other in ((NORMAL, LINES[10]), (LINES[10], NORMAL))
]


@given(st.lists(cases(), min_size=1, max_size=6))
@example([EXACT_GAP, EXACT_RUN, *TIED])
@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_label_view_says_what_the_oracle_says(label, drawn):
    found = label(drawn)
    for number, case in enumerate(drawn):
        wanted = [_as_view(segment) for segment in case.oracle()]
        if found[number] != wanted:
            note("\n".join(f"{time:.6f} {' '.join(map(str, line))}" for time, line in case.lines()))
        assert found[number] == wanted


def test_random_cases_meet_every_reason():
    """The cases above would say little if they never came to a label."""
    met: set[str] = set()

    @given(cases())
    @settings(max_examples=400, derandomize=True, database=None)
    def look(case):
        met.update(segment.reason for segment in case.oracle())

    look()
    assert met == {
        "gap", "no_beat", "noise", "missing_ecg", "abnormal_rhythm", "no_rhythm", "premature", "short_run",
        "normal_context",
    }  # fmt: skip
