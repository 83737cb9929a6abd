"""Heartbeat segments as a matrix: every beat of a task view, cut from the signal Parquet and scaled.

A task view says where a segment lies: record, channel, ``sample`` and ``end_sample`` (samples of the record, the end
not included), ``step`` (every step-th sample counts) and ``length`` (so many). Here they become rows of equal width,
as the public CSVs have them: scaled from the segment's least to its greatest value, cut at the width, zeros after its
end. No loop runs over beats: one gather a lead, whose samples are decoded once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from warehouse.errors import HomeError, UsageError

if TYPE_CHECKING:
    from warehouse.home import Home
    from warehouse.task import TaskData

WIDTH = 187
"""Samples of a row in the public CSVs."""
NEEDED = ("record_id", "channel", "sample", "end_sample", "step", "length")


@dataclass(frozen=True)
class Segments:
    """``values`` (n, width) float32 from 0 to 1. ``constant`` and ``holes`` (n,) bool: a segment of one value, which
    cannot be scaled and is all zeros; a segment with samples that the record marks as missing, which become 0."""

    values: np.ndarray
    constant: np.ndarray
    holes: np.ndarray


def read_segments(
    home: Home, task: TaskData, rows: np.ndarray | None = None, width: int | None = None
) -> Segments:
    """The segments of a task's instances at positions ``rows``, in their order.

    ``rows`` is every instance that is not left out where None; ``width`` the spec's ``segments.samples``. Raises
    UsageError for a task without segments or for an instance that has none, HomeError where its samples are not loaded.
    """
    missing = [name for name in NEEDED if name not in task.instances.columns]
    if missing:
        raise UsageError(
            f"{task.spec.name}: found no column {', '.join(missing)}; expected a task whose instances are segments"
        )
    if rows is None:
        rows = np.flatnonzero(task.instances["left_out"].is_null().to_numpy())
    width = width or int(task.spec.data.get("segments", {}).get("samples", WIDTH))
    frame = task.instances.select(NEEDED)[rows].with_row_index("place")
    without = frame.filter(pl.any_horizontal(pl.col(NEEDED).is_null()) | (pl.col("length") < 1))
    if without.height:
        ids = task.instances["instance_id"].gather(rows[without["place"].head(5).to_numpy()]).to_list()
        raise UsageError(
            f"{task.spec.name}: found {without.height:,} instances without a segment ({', '.join(ids)}, …); "
            "expected a beginning and an end for each",
            "leave out those whose left_out is not NULL",
        )
    return _cut(home, task.spec.data["dataset"], frame, width)


def _cut(home: Home, dataset: str, frame: pl.DataFrame, width: int) -> Segments:
    values = np.zeros((frame.height, width), np.float32)
    constant, holes = np.zeros(frame.height, bool), np.zeros(frame.height, bool)
    done = np.zeros(frame.height, bool)
    wanted = {
        key: part.drop("record_id", "channel").to_numpy()
        for key, part in frame.partition_by("record_id", "channel", as_dict=True).items()
    }
    for key, first, samples, invalid in _leads(home, dataset, wanted.keys()):
        place, begin, end, step, length = wanted[key].T
        mine = (begin >= first) & (end <= first + len(samples))
        where = place[mine]
        made = _scaled(samples, begin[mine] - first, step[mine], length[mine], width, invalid)
        values[where], constant[where], holes[where] = made
        done[where] = True
    if not done.all():
        lacking = frame.filter(pl.Series(~done)).select("record_id", "channel").unique().sort("record_id")
        record, channel = lacking.row(0)
        raise HomeError(
            f"{home.loaded(dataset)}: found no samples for {(~done).sum():,} segments, first of record {record}, "
            f"channel {channel}; expected those that the view was built from",
            f"load {dataset} again, then materialize",
        )
    return Segments(values, constant, holes)


def _leads(home: Home, dataset: str, keys):
    """Key, first sample, counts (n,) int32 and the count that means missing, of every stored piece of these leads."""
    import pyarrow.parquet as pq

    files = sorted(Path(home.loaded(dataset) / "signal").glob("*.parquet"))
    for path in files:
        file = pq.ParquetFile(path)
        head = file.read(columns=["record_id", "channel", "first_sample", "invalid_count"]).to_pylist()
        at = 0
        for group in range(file.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            mine = head[at : at + size]
            at += size
            if not any((row["record_id"], row["channel"]) in keys for row in mine):
                continue
            column = file.read_row_group(group, columns=["samples"])["samples"]
            for row, samples in zip(mine, column, strict=True):
                key = (row["record_id"], row["channel"])
                if key in keys:
                    counts = samples.values.to_numpy()
                    yield key, row["first_sample"], counts, row["invalid_count"]


def _scaled(
    counts: np.ndarray,
    begin: np.ndarray,
    step: np.ndarray,
    length: np.ndarray,
    width: int,
    invalid: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (k, width) of one lead, and which of them are constant or hold the count ``invalid``."""
    rows = _gather(counts, begin, step, length, width)
    low, high, holes = _extremes(rows, invalid)
    long = np.flatnonzero(length > width)
    if len(long):  # scaled over the whole segment, though only its begin is kept
        whole = _gather(counts, begin[long], step[long], length[long], int(length[long].max()))
        low[long], high[long], holes[long] = _extremes(whole, invalid)
    constant = high <= low
    scaled = (rows - low[:, None]).astype(np.float32)
    scaled /= np.where(constant, 1, high - low).astype(np.float32)[:, None]
    scaled[(np.arange(width) >= length[:, None]) | constant[:, None]] = 0
    if holes.any():
        np.maximum(scaled, 0, out=scaled)
    return scaled, constant, holes


def _gather(
    counts: np.ndarray, begin: np.ndarray, step: np.ndarray, length: np.ndarray, width: int
) -> np.ndarray:
    """(k, width) samples; beyond a segment's end its last one again, which moves no extreme."""
    at = np.minimum(np.arange(width), length[:, None] - 1)
    return counts[begin[:, None] + step[:, None] * at]


def _extremes(rows: np.ndarray, invalid: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Least and greatest sample of each row, and whether it holds ``invalid``, which neither is."""
    low, high = rows.min(axis=1), rows.max(axis=1)
    holes = np.zeros(len(rows), bool) if invalid is None else low == invalid
    if holes.any():  # the code is the least of its format
        known = np.where(rows[holes] == invalid, np.iinfo(rows.dtype).max, rows[holes])
        low[holes] = np.minimum(known.min(axis=1), high[holes])
    return low, high, holes
