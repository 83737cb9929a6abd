"""The synthetic lead II: the same bytes each time, quirks where scenarios put them, shapes as beats say."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from vitaldb.utils import VitalFile

from warehouse.load.signal_facts import find_runs
from warehouse.load.vital_track import TRACK, read_track
from warehouse.synthetic import write_vitaldb_release

HZ = 500


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("release")
    write_vitaldb_release(out, seconds=120)
    return out


@pytest.fixture(scope="module")
def signals(release) -> dict[int, np.ndarray]:
    return {int(path.stem): read_track(path).samples for path in sorted((release / "vital").iterdir())}


@pytest.fixture(scope="module")
def rows(release) -> dict[int, list[dict[str, str]]]:
    found = {}
    for path in (release / "annotations").iterdir():
        with path.open(encoding="utf-8-sig", newline="") as handle:
            found[int(path.stem.rsplit("_", 1)[1])] = list(csv.DictReader(handle))
    return found


def windows_around(samples, rows, *, rhythm: str, beat: str, before: float, after: float) -> np.ndarray:
    """(k, n) pieces of signal around beats whose neighbours are of the same rhythm, without gaps."""
    pieces = []
    for one, two, three in zip(rows, rows[1:], rows[2:], strict=False):
        if {one["rhythm_label"], two["rhythm_label"], three["rhythm_label"]} == {rhythm} and two[
            "beat_type"
        ] == beat:
            at = round(float(two["time_second"]) * HZ)
            pieces.append(samples[at - round(before * HZ) : at + round(after * HZ)])
    pieces = [piece for piece in pieces if not np.isnan(piece).any()]
    return np.array(pieces)


def pooled(signals, rows, **what) -> np.ndarray:
    found = [windows_around(signals[case], rows[case], **what) for case in sorted(signals)]
    return np.concatenate([pieces for pieces in found if len(pieces)])


def test_every_case_has_a_file_that_the_strict_reader_takes(signals, rows):
    assert signals.keys() == rows.keys()
    for case, samples in signals.items():
        first, last = (float(rows[case][k]["time_second"]) for k in (0, -1))
        assert len(samples) == (np.ceil(last) + 15) * HZ
        assert np.isnan(samples[: (int(first) - 15) * HZ]).all()
        assert not np.isnan(samples[int(first - 14) * HZ : int(first) * HZ]).any()


def test_same_arguments_give_the_same_bytes(release, tmp_path):
    write_vitaldb_release(tmp_path, seconds=120, cases=4)
    for path in (tmp_path / "vital").iterdir():
        assert path.read_bytes() == (release / "vital" / path.name).read_bytes()
    assert len(list((tmp_path / "vital").iterdir())) == 4


def test_signals_do_not_change_the_annotations(release, tmp_path):
    write_vitaldb_release(tmp_path, seconds=120, signals=False)
    assert not (tmp_path / "vital").exists()
    for path in tmp_path.rglob("*.csv"):
        assert path.read_bytes() == (release / path.relative_to(tmp_path)).read_bytes()


def test_a_late_waveform_is_the_same_waveform_late_and_only_in_the_last_case(release, tmp_path):
    write_vitaldb_release(tmp_path, seconds=120, cases=3, late_s=1.2)
    same, late = [], []
    for path in sorted((tmp_path / "vital").iterdir()):
        plain = read_track(release / "vital" / path.name).samples[45_000:]
        moved = read_track(path).samples[45_000:]
        (same if np.array_equal(plain, moved, equal_nan=True) else late).append((plain, moved))
    assert len(same) == 2
    ((plain, moved),) = late
    np.testing.assert_array_equal(moved[20_600:60_000], plain[20_000:59_400])


def test_both_layouts_of_the_package_occur_beside_a_numeric_track(release):
    packed = []
    for path in (release / "vital").iterdir():
        file = VitalFile(str(path))
        assert sorted(file.get_track_names()) == [TRACK, "Solar8000/HR"]
        packed.append(gzip.decompress(path.read_bytes())[36])
    assert sorted(set(packed)) == [0, 1]


def test_missing_and_flat_stretches_stand_where_scenarios_put_them(signals):
    missing, flat = [], []
    for samples in signals.values():
        begin = int(np.flatnonzero(~np.isnan(samples))[0])
        runs = find_runs(samples[begin:], HZ)
        missing += runs.length[runs.missing].tolist()
        flat += runs.length[~runs.missing].tolist()
    assert missing == [2000, 2000, 2000]
    assert len(flat) == 1
    assert flat[0] == pytest.approx(1500, abs=5)


def test_a_ventricular_beat_is_wide_and_a_normal_one_narrow(signals, rows):
    def width(beat: str, rhythm: str) -> float:
        """Mean share of the 200 ms around the beat that lies above half of its height."""
        pieces = pooled(signals, rows, rhythm=rhythm, beat=beat, before=0.1, after=0.1)
        assert len(pieces) > 20
        return float((pieces > pieces.max(axis=1, keepdims=True) / 2).mean())

    assert width("V", "VT") > 1.8 * width("N", "N")


def test_p_waves_stand_before_normal_beats_and_not_in_fibrillation(signals, rows):
    def p_height(rhythm: str, beat: str) -> float:
        """How much the mean beat rises from 240 ms to 165 ms before the stamp, mV."""
        mean = pooled(signals, rows, rhythm=rhythm, beat=beat, before=0.24, after=0).mean(axis=0)
        return float(mean[35:42].mean() - mean[:8].mean())

    assert p_height("N", "N") > 0.07
    assert abs(p_height("AFIB/AFL", "S")) < 0.04


def test_noise_is_louder_than_a_flagged_stretch_and_that_than_the_rest(signals, rows):
    def roughness(keep) -> float:
        """Mean absolute step from sample to sample over 100 ms after each kept row, mV."""
        steps = []
        for case, samples in signals.items():
            for row in rows[case]:
                at = round(float(row["time_second"]) * HZ) + 75
                piece = samples[at : at + 50]
                if keep(row) and not np.isnan(piece).any():
                    steps.append(np.abs(np.diff(piece)).mean())
        assert len(steps) > 10
        return float(np.median(steps))

    noise = roughness(lambda row: row["rhythm_label"] == "Noise")
    flagged = roughness(lambda row: row["rhythm_label"] == "N" and row["bad_signal_quality"] == "True")
    plain = roughness(lambda row: row["rhythm_label"] == "N" and row["bad_signal_quality"] == "False")
    assert noise > 3 * flagged > 9 * plain


def test_converter_levels_make_the_signal_as_coarse_as_vitaldb(signals):
    levels = np.unique(np.round(np.concatenate(list(signals.values())) / 0.009875, 3))
    levels = levels[~np.isnan(levels)]
    assert (levels == np.round(levels)).all()
    assert 100 < len(levels) < 1200
