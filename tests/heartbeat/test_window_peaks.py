"""The paper's R candidates against a loop, and what its segmenter makes of the real records."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.load import window_peaks as module
from warehouse.load.window_peaks import window_peaks
from warehouse.query import connect
from warehouse.spec import find_spec


def slow(signal: list[float]) -> list[tuple[int, int, float]]:
    """(window, place, height) of a signal at 125 Hz."""
    found = []
    for window in range(len(signal) // 1250):
        piece = signal[window * 1250 : (window + 1) * 1250]
        low, high = min(piece), max(piece)
        for at in range(1, 1249):
            others = (value for value in piece[at + 1 :] if value != piece[at])
            if high > low and piece[at] > piece[at - 1] and next(others, high + 1) < piece[at]:
                height = (piece[at] - low) / (high - low)
                if height >= module.FLOOR:
                    found.append((window, window * 1250 + at, height))
    return found


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), levels=st.integers(1, 40), n=st.integers(0, 4000))
def test_maxima_are_those_of_a_loop(seed, levels, n):
    signal = np.random.default_rng(seed).integers(0, levels, n)
    found = window_peaks(signal, 125)
    rows = list(zip(found.window_no.tolist(), found.place.tolist(), found.height.tolist(), strict=True))
    assert rows == slow(signal.tolist())
    assert found.sample.tolist() == found.place.tolist()


def test_a_multiple_of_125_is_thinned_and_any_other_rate_interpolated():
    at_125 = np.random.default_rng(0).integers(0, 500, 1250)
    dense = np.repeat(at_125, 8)
    dense[4::8] = 9_999  # between the samples that count
    one, other = window_peaks(at_125, 125), window_peaks(dense, 1000)
    assert np.array_equal(one.place, other.place)
    assert np.array_equal(other.sample, other.place * 8)
    slope = np.concatenate([np.linspace(0, 100, 1801), np.linspace(100, 0, 1800)]).round().astype(int)
    found = window_peaks(slope, 360)
    assert found.height.max() == 1
    assert abs(int(found.sample[found.height.argmax()]) - 1800) <= 10


def test_a_constant_window_has_none_and_a_gap_makes_none():
    assert len(window_peaks(np.full(5000, 7), 125).place) == 0
    signal = np.zeros(1250, int)
    signal[[100, 600]] = 85, 100
    assert window_peaks(signal, 125).place.tolist() == [100, 600]
    signal[599] = -32768
    assert window_peaks(signal, 125, -32768).place.tolist() == [100]


def test_a_plateau_counts_at_its_begin_a_shoulder_and_a_cut_one_do_not():
    signal = np.zeros(1250, int)
    signal[100:104] = 100
    signal[200:210], signal[210] = 90, 95
    signal[1248:] = 99
    assert window_peaks(signal, 125).place.tolist() == [100, 210]


def test_constants_are_those_of_the_specification():
    segments = find_spec("ecg-heartbeat-mi@0").data["segments"]
    assert (segments["hz"], segments["window_s"]) == (module.HZ, module.WINDOW_S)


@pytest.fixture(scope="module")
def con(mitdb_home):
    return connect(mitdb_home)


def totals(con, rule: str) -> dict[str, int]:
    query = f"SELECT class, segments FROM mitbih.segment_count_v0 WHERE rule = '{rule}' AND reason = '-'"
    return dict(con.execute(query).fetchall())


@pytest.mark.parametrize(
    ("rule", "reading", "tolerance"),
    [
        ("paper", "annotated_linear", 2),  # one place at exactly half, rounded up here and to even there
        ("detected", "detected_linear_thr0.9", 0),
    ],
)
def test_counts_are_near_those_measured_before(con, shared, rule, reading, tolerance):
    """Class by class; a difference is explained beside it."""
    expected = json.loads((shared / "golden" / "heartbeat" / "kachuee_counts.json").read_text())[reading][
        "total"
    ]
    found = totals(con, rule)
    assert {
        name: abs(found[name] - expected[name])
        for name in found
        if abs(found[name] - expected[name]) > tolerance
    } == {}
    assert (
        found
        == {
            "paper": {"N": 81_931, "S": 2_496, "V": 6_636, "F": 747, "Q": 7_213},
            "detected": {"N": 47_979, "S": 1_089, "V": 1_883, "F": 473, "Q": 3_444},
        }[rule]
    )


def test_two_segmenters_are_a_join(con):
    """Which beats the published rule cuts and the paper's steps do not, and why."""
    rows = con.execute("""
        SELECT paper.reason, count(*) FROM mitbih.segment_v0 AS published
        INNER JOIN mitbih.segment_v0 AS paper
            ON paper.rule = 'paper' AND published.record_id = paper.record_id AND published.row_no = paper.row_no
        WHERE published.rule = 'published' AND published.accepted AND NOT paper.accepted
        GROUP BY ALL ORDER BY ALL
    """).fetchall()
    assert rows == [("cut_by_window", 10_125), ("no_interval", 2), ("no_whole_window", 296)]
