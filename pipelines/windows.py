"""Windows of a lead by time as a matrix: every instance with ``record_id``, ``start_s`` and ``duration_s``.

The signal Parquet holds a case's samples in blocks, float32 mV, NaN where nothing was recorded. A window is brought to
a lower rate by means of neighbours, moved to the median 0 and scaled by the spread between its 5th and 95th
percentile, clipped at ±`CLIP` spreads. A mean leaves missing samples out; where all are missing the value is 0, the
median: `Windows.missing` says how much of each window that is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warehouse.errors import HomeError

if TYPE_CHECKING:
    from warehouse.home import Home
    from warehouse.task import TaskData

HZ = 125
"""Of the windows: a quarter of VitalDB's 500, enough for every wave of an adult's beat (below 40 Hz)."""
CLIP = 10.0
LEAST_SPREAD_MV = 1e-3


@dataclass(frozen=True)
class Windows:
    """``values`` (n, samples) float32; ``missing`` (n,) the share of samples that are not there, ``constant`` (n,)
    bool: nothing but one value; ``there`` (n,) bool: the record has a signal."""

    values: np.ndarray
    missing: np.ndarray
    constant: np.ndarray
    there: np.ndarray


def read_windows(
    home: Home,
    task: TaskData,
    rows: np.ndarray,
    progress: Callable[[int], object] | None = None,
) -> Windows:
    """The windows of the instances at positions `rows`, in their order. HomeError for a signal at another rate than
    a multiple of `HZ`."""
    frame = task.instances.select("record_id", "start_s", "duration_s")[rows].with_row_index("place")
    duration = float(frame["duration_s"].max() or 0)
    width = round(duration * HZ)
    values = np.zeros((len(rows), width), np.float32)
    missing, constant = np.ones(len(rows)), np.zeros(len(rows), bool)
    there = np.zeros(len(rows), bool)
    wanted = {int(key[0]): part for key, part in frame.partition_by("record_id", as_dict=True).items()}
    for case, hz, samples in _cases(home, task.spec.data["dataset"], set(wanted)):
        if hz % HZ:
            raise HomeError(f"case {case}: found a signal at {hz} Hz; expected a multiple of {HZ}")
        part = wanted[case]
        place = part["place"].to_numpy()
        begin = np.round(part["start_s"].to_numpy() * hz).astype(np.int64)
        values[place], missing[place], constant[place] = _made(samples, begin, width, hz // HZ)
        there[place] = True
        if progress is not None:
            progress(len(place))
    return Windows(values, missing, constant, there)


def _cases(home: Home, dataset: str, wanted: set[int]) -> Iterator[tuple[int, int, np.ndarray]]:
    """Case, rate and samples from 0 s on, NaN before its first block and between blocks."""
    import pyarrow.parquet as pq

    for path in sorted(Path(home.loaded(dataset) / "signal").glob("*.parquet")):
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):  # a case each
            head = file.read_row_group(group, columns=["case_id", "hz", "first_sample"])
            case = head["case_id"][0].as_py()
            if case not in wanted:
                continue
            blocks = file.read_row_group(group, columns=["samples"])["samples"]
            first = head["first_sample"].to_numpy()
            parts = [block.values.to_numpy(zero_copy_only=False) for block in blocks]
            end = max(int(at) + len(part) for at, part in zip(first, parts, strict=True))
            samples = np.full(max(end, 0), np.nan, np.float32)
            for at, part in zip(first.tolist(), parts, strict=True):
                samples[max(at, 0) : at + len(part)] = part[max(-at, 0) :]
            yield case, head["hz"][0].as_py(), samples


def _made(
    samples: np.ndarray, begin: np.ndarray, width: int, by: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Windows (n, width) that begin at samples `begin` (n,), each value of `by` samples; missing; constant."""
    at = begin[:, None] + np.arange(width * by)
    inside = (at >= 0) & (at < len(samples))
    raw = (
        np.where(inside, samples[np.clip(at, 0, max(len(samples) - 1, 0))], np.nan) if len(samples) else None
    )
    if raw is None:
        return np.zeros((len(begin), width), np.float32), np.ones(len(begin)), np.zeros(len(begin), bool)
    known = np.isfinite(raw)
    missing = 1 - known.mean(axis=1)
    count = known.reshape(len(begin), width, by).sum(axis=2)
    total = np.where(known, raw, 0).reshape(len(begin), width, by).sum(axis=2)
    low = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    empty = ~(count > 0).any(axis=1)
    low[empty] = 0
    five, middle, most = np.nanpercentile(low, [5, 50, 95], axis=1)
    constant = ~empty & (np.nanmax(low, axis=1) <= np.nanmin(low, axis=1))
    scaled = (low - middle[:, None]) / np.maximum(most - five, LEAST_SPREAD_MV)[:, None]
    scaled = np.clip(np.nan_to_num(scaled, nan=0.0), -CLIP, CLIP)
    return scaled.astype(np.float32), missing, constant
