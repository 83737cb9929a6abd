"""R peaks: where the beats are, on each side of a gap, and nowhere in what is too short or flat."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from warehouse.load.peaks import detect_peaks, detector_name
from warehouse.load.vital_track import read_track
from warehouse.synthetic import write_vitaldb_release

HZ = 500


def heart(seconds: float, rr: float = 0.8) -> np.ndarray:
    at = np.arange(int(seconds * HZ)) / HZ
    return np.exp(-(((at % rr) - rr / 2) ** 2) / 0.0002).astype(np.float32)


def test_each_side_of_a_gap_is_searched():
    samples = heart(20)
    samples[9 * HZ : 12 * HZ] = np.nan
    peaks = detect_peaks(samples, HZ)
    assert peaks.dtype == np.int64
    assert (np.diff(peaks) > 0).all()
    expected = np.array([beat for beat in np.arange(0.4, 20, 0.8) if not 9 <= beat < 12]) * HZ
    found = np.abs(peaks[:, None] - expected).min(axis=0) <= 5
    assert found.mean() > 0.95
    assert not ((peaks >= 9 * HZ) & (peaks < 12 * HZ)).any()


@pytest.mark.parametrize(
    "samples",
    [
        np.empty(0, np.float32),
        np.full(5000, np.nan, np.float32),
        np.full(5000, 0.3, np.float32),
        heart(1.9),
    ],
    ids=["nothing", "missing", "flat", "below two seconds"],
)
def test_no_peak_where_none_can_be(samples):
    assert detect_peaks(samples, HZ).shape == (0,)


def test_the_input_is_not_changed_and_the_name_says_the_version():
    samples = heart(10)
    before = samples.copy()
    detect_peaks(samples, HZ)
    np.testing.assert_array_equal(samples, before)
    assert detector_name().split()[1].count(".") == 2


@pytest.fixture(scope="module")
def cases(tmp_path_factory) -> list[tuple[np.ndarray, list[dict[str, str]]]]:
    """Signal and rows of every case of a whole synthetic release."""
    out = tmp_path_factory.mktemp("release")
    write_vitaldb_release(out, seconds=120)
    found = []
    for path in sorted((out / "annotations").glob("*.csv")):
        case_id = path.stem.rsplit("_", 1)[1]
        with path.open(encoding="utf-8-sig", newline="") as handle:
            rows = list(csv.DictReader(handle))
        found.append((read_track(Path(out / "vital" / f"{case_id}.vital")).samples, rows))
    return found


def test_peaks_and_synthetic_beats_meet_within_50_ms(cases):
    met = beats_seen = 0
    offsets = []
    for samples, rows in cases:
        beats = np.array([float(row["time_second"]) for row in rows if row["beat_type"] in set("NSVUP")])
        present = ~np.isnan(samples[np.round(beats * HZ).astype(int)])
        distance = (detect_peaks(samples, HZ) / HZ)[:, None] - beats[present]
        nearest = np.take_along_axis(distance, np.abs(distance).argmin(axis=0)[None], axis=0)[0]
        met += (np.abs(nearest) <= 0.05).sum()
        beats_seen += present.sum()
        offsets.append(float(np.median(nearest)))
    assert len(cases) == 24
    assert met / beats_seen > 0.97
    assert max(map(abs, offsets)) < 0.01


def test_noise_shows_no_beats_and_normal_rhythm_shows_as_many_as_annotated(cases):
    """Peaks inside a minute of plain rhythm: none too many. The signal is not just anything with spikes."""
    checked = 0
    for samples, rows in cases:
        if {row["rhythm_label"] for row in rows} != {"N"} or any(
            row.get("bad_signal_quality_label") for row in rows
        ):
            continue
        beats = [float(row["time_second"]) for row in rows if row["beat_type"]]
        peaks = detect_peaks(samples, HZ) / HZ
        inside = peaks[(peaks > beats[0] - 0.1) & (peaks < beats[-1] + 0.1)]
        assert len(inside) == pytest.approx(len(beats), rel=0.05)
        checked += 1
    assert checked
