"""Cutting segments: widths, holes, constant windows, pieces, what is not there."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from wfdb_files import write_record

from pipelines.segments import read_segments
from warehouse.errors import HomeError, UsageError
from warehouse.home import Home
from warehouse.load.mitbih import load
from warehouse.materialize import materialize
from warehouse.task import read_task

TASK = "ecg-heartbeat-arrhythmia@0"
BEATS = ((0, "N"), (300, "V"), (600, "N"), (1200, "N"), (1790, "N"))


@pytest.fixture
def signal() -> np.ndarray:
    """(1800, 2) counts that climb by one a sample in channel 0."""
    return np.column_stack([np.arange(1800), np.arange(1800) % 7])


def built(tmp_path, signal, **options) -> Home:
    write_record(tmp_path / "release", "100", signal, beats=BEATS, **options)
    home = Home(tmp_path / "data")
    load(home, tmp_path / "release", workers=1)
    materialize(home)
    return home


def test_rows_are_scaled_over_the_whole_segment_and_cut_afterwards(tmp_path, signal):
    home = built(tmp_path, signal)
    task = read_task(home, TASK)
    found = read_segments(home, task)
    # [0, 360), [300, 720), [600, 1318) and [1200, 1792): 120, 140, 240 and 198 samples
    assert task.instances["length"].to_list() == [120, 140, 240, 198, None]
    assert found.values.shape == (4, 187)
    for row, length in zip(found.values, (120, 140, 240, 198), strict=True):
        expected = np.arange(187) / np.float32(length - 1)
        expected[length:] = 0
        assert np.allclose(row, expected, atol=1e-7)
    assert read_segments(home, task, width=100).values.shape == (4, 100)
    assert not found.constant.any()
    assert not found.holes.any()


def test_a_constant_segment_is_zeros_and_is_said(tmp_path, signal):
    signal[0:360, 0] = 5
    home = built(tmp_path, signal)
    found = read_segments(home, read_task(home, TASK))
    assert found.constant.tolist() == [True, False, False, False]
    assert (found.values[0] == 0).all()


def test_missing_samples_move_no_extreme_and_become_zero(tmp_path, signal):
    signal[[303, 306], 0] = -32768
    signal[1200:1795, 0] = -32768
    home = built(tmp_path, signal)
    found = read_segments(home, read_task(home, TASK))
    assert found.holes.tolist() == [True, True, True, True]
    assert found.constant.tolist() == [False, False, False, True]
    assert found.values[1, :4].tolist() == pytest.approx([0, 0, 0, 9 / 417])
    assert found.values[1, 139] == 1
    assert (found.values[3] == 0).all()


def test_instances_without_a_segment_are_refused(tmp_path, signal):
    home = built(tmp_path, signal)
    task = read_task(home, TASK)
    with pytest.raises(UsageError, match=r"found 1 instances without a segment \(100_5"):
        read_segments(home, task, np.arange(5))
    with pytest.raises(UsageError, match="found no column channel"):
        read_segments(home, _without(task, "channel"))


def test_samples_that_are_not_loaded_any_more_are_missed(tmp_path, signal):
    home = built(tmp_path, signal)
    task = read_task(home, TASK)
    for path in (home.raw / "mitbih" / "signal").glob("*.parquet"):
        path.unlink()
    with pytest.raises(HomeError, match="found no samples for 4 segments, first of record 100, channel 0"):
        read_segments(home, task)


def test_segments_of_a_record_in_pieces(tmp_path):
    import wfdb

    folder = tmp_path / "release"
    one, two = np.arange(900) % 100, np.arange(900) % 31
    for name, some in (("300a", one), ("300b", two)):
        write_record(folder, name, np.column_stack([some, some]), beats=())
    (folder / "300.hea").write_text("300/2 2 360 1800\n300a 900\n300b 900\n")
    wfdb.wrann(
        "300", "atr", np.array([100, 300, 500, 800, 1000, 1300, 1500]), ["N"] * 7, write_dir=str(folder)
    )
    home = Home(tmp_path / "data")
    load(home, folder, workers=1)
    materialize(home)
    task = read_task(home, TASK)
    assert task.instances["left_out"].to_list() == [
        None, None, None, "signal_gap", None, None, "last_annotation",
    ]  # fmt: skip
    values = read_segments(home, task).values
    piece = two[100 : 100 + 340 : 3]  # from sample 1000 to 1300 + 40
    expected = (piece - piece.min()) / (piece.max() - piece.min())
    assert values[3, : len(piece)] == pytest.approx(expected, abs=1e-6)


def _without(task, column: str):
    from dataclasses import replace

    return replace(task, instances=task.instances.drop(column))


def test_order_and_repetition_of_rows_are_kept(tmp_path, signal):
    home = built(tmp_path, signal)
    task = read_task(home, TASK)
    rows = np.array([2, 0, 2, 1])
    found, whole = read_segments(home, task, rows).values, read_segments(home, task).values
    assert np.array_equal(found, whole[rows])
    assert read_segments(home, task, np.empty(0, int)).values.shape == (0, 187)
    assert task.instances.filter(pl.col("left_out").is_null()).height == 4
