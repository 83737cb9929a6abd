import numpy as np
import pytest

from pipelines.rr import FEATURES, segment_features


def features(times, start=20.0, duration=5.0, max_rr_s=10.0):
    row = segment_features(
        np.array(["7"]),
        np.array([start]),
        np.array([duration]),
        {"7": np.array(times, dtype=float)},
        max_rr_s,
    )
    assert row.shape == (1, len(FEATURES))
    return dict(zip(FEATURES, row[0].tolist(), strict=True))


def test_a_regular_rhythm():
    found = features(np.arange(0, 60, 0.5))
    assert found["segment_beats"] == 10
    assert found["segment_rr_mean"] == found["segment_rr_min"] == found["around_rr_median"] == 0.5
    assert found["segment_rr_cv"] == found["around_rr_step"] == found["around_rr_turns"] == 0
    assert found["shortest_to_median"] == found["longest_to_median"] == 1


def test_one_early_beat():
    times = np.arange(0, 60, 1.0)
    times[22] -= 0.25
    found = features(times)
    assert (found["segment_rr_min"], found["segment_rr_max"]) == (0.75, 1.25)
    assert (found["shortest_to_median"], found["longest_to_median"]) == (0.75, 1.25)
    assert found["segment_rr_mean"] == 1
    assert found["segment_rr_step"] == pytest.approx((0 + 0 + 0.25 + 0.5 + 0.25) / 5)


def test_against_numpy_on_irregular_beats():
    rng = np.random.default_rng(8)
    times = np.cumsum(rng.uniform(0.3, 1.4, 80))
    found = features(times)
    rr, ends = np.diff(times), times[1:]
    near, wide = rr[(ends >= 20) & (ends < 25)], rr[(ends >= 0) & (ends < 45)]
    assert found["segment_rr_mean"] == pytest.approx(near.mean())
    assert found["segment_rr_cv"] == pytest.approx(near.std() / near.mean())
    for name, level in (("low", 0.1), ("median", 0.5), ("high", 0.9)):
        assert found[f"around_rr_{name}"] == pytest.approx(np.quantile(wide, level))
    assert found["around_rr_cv"] == pytest.approx(wide.std() / wide.mean())


def test_the_window_is_half_open():
    assert features([20.0, 25.0])["segment_beats"] == 1
    assert features([19.0, 20.0])["segment_rr_mean"] == 1
    assert np.isnan(features([24.0, 25.0])["segment_rr_mean"])


def test_a_gap_is_no_interval():
    found = features([20.0, 21.0, 22.0, 33.0, 34.0], start=20.0, duration=20.0)
    assert found["segment_rr_max"] == 1
    assert found["segment_rr_step"] == 0
    assert features([20.0, 30.0], duration=20.0)["segment_rr_max"] == 10


def test_tied_beats_are_no_interval():
    found = features([20.0, 21.0, 21.0, 22.0])
    assert found["segment_rr_min"] == 1
    assert found["segment_beats"] == 4


@pytest.mark.filterwarnings("error")
def test_what_cannot_be_measured_is_nan():
    assert features([])["segment_beats"] == 0
    assert all(np.isnan(value) for name, value in features([]).items() if name != "segment_beats")
    two = features([21.0, 22.0])
    assert two["segment_rr_mean"] == 1
    assert np.isnan(two["segment_rr_cv"])
    assert np.isnan(two["segment_rr_step"])


def test_records_are_kept_apart_and_rows_in_order():
    beats = {"b": np.arange(0, 60, 0.5), "a": np.arange(0, 60, 1.0)}
    records = np.array(["b", "a", "none", "b"])
    found = segment_features(records, np.full(4, 20.0), np.full(4, 5.0), beats, 10.0)
    assert found[:, FEATURES.index("segment_beats")].tolist() == [10, 5, 0, 10]
    alone = segment_features(records[1:2], np.full(1, 20.0), np.full(1, 5.0), beats, 10.0)
    assert found[1].tobytes() == alone[0].tobytes()
