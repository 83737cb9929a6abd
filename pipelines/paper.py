"""ECG paper: a trace in millimetres at 25 mm/s and 10 mm/mV, with its grid and its calibration mark."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

MM_PER_S = 25
MM_PER_MV = 10
SQUARE = 5
"""A large square, mm: 0.2 s and 0.5 mV. A small one is 1 mm."""
LEAD_IN = 10
"""Paper before the segment begins; the calibration mark stands here."""
LEAD_OUT = 5
HEAD = 10
"""Paper above the trace for the beats' letters."""
FOOT = 10
"""Paper below it for rhythms and seconds."""
LEAST_MV = 3.0
MOST_MV = 6.0
"""What goes beyond the paper is cut off, as a writer does it."""
STEP = 0.05
"""The trace is drawn in steps of 0.05 mm: one sample at 500 Hz, 5 µV."""


@dataclass(frozen=True)
class Paper:
    """A sheet; lengths in mm, y down. ``trace`` is an SVG path in units of `STEP`, empty without a signal.

    ``floor_mv`` lies at the bottom of the trace's field, which is ``field`` mm high from ``HEAD`` on. ``holes``
    are from and to, in mm from the left edge, where samples are missing for a large square or longer.
    """

    width: int
    height: int
    field: int
    duration_s: int
    floor_mv: float
    trace: str
    holes: tuple[tuple[float, float], ...]
    cut: bool

    head = HEAD
    lead_in = LEAD_IN
    step = STEP
    scale = (MM_PER_S, MM_PER_MV)

    @property
    def fine(self) -> str:
        return grid(self.width, self.height, 1)

    @property
    def coarse(self) -> str:
        return grid(self.width, self.height, SQUARE)

    @property
    def calibration(self) -> str:
        """1 mV for 0.2 s, standing a large square above the bottom of the field."""
        base = HEAD + self.field - SQUARE
        return f"M1 {base}h2v-{MM_PER_MV}h{SQUARE}v{MM_PER_MV}h1"

    def x(self, seconds: float) -> float:
        """mm from the left edge, ``seconds`` after the segment's begin."""
        return round(LEAD_IN + seconds * MM_PER_S, 2)


def draw_paper(samples: np.ndarray, hz: int | None, duration_s: int) -> Paper:
    """Lay out a segment. ``samples`` (n,) mV with NaN where missing, empty where no signal is loaded."""
    seen = samples[~np.isnan(samples)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (-1.0, LEAST_MV - 1)
    floor = math.floor(low * 2) / 2
    top = math.ceil(high * 2) / 2
    short = LEAST_MV - (top - floor)
    if short > 0:
        floor -= math.floor(short) / 2
        top = floor + LEAST_MV
    cut = top - floor > MOST_MV
    if cut:
        floor = math.floor((float(np.median(seen)) - MOST_MV / 2) * 2) / 2
        top = floor + MOST_MV
    field = round((top - floor) * MM_PER_MV)
    return Paper(
        width=LEAD_IN + duration_s * MM_PER_S + LEAD_OUT,
        height=HEAD + field + FOOT,
        field=field,
        duration_s=duration_s,
        floor_mv=floor,
        trace=_trace(samples, hz, top) if hz and len(seen) else "",
        holes=_holes(samples, hz) if hz else (),
        cut=cut,
    )


def _trace(samples: np.ndarray, hz: int, top_mv: float) -> str:
    """A path through the samples that are there: a gap in the signal is a gap in the path."""
    there = ~np.isnan(samples)
    x = np.rint((LEAD_IN + np.arange(len(samples)) * MM_PER_S / hz) / STEP).astype(int)
    height = np.where(there, (top_mv - np.nan_to_num(samples)) * MM_PER_MV + HEAD, 0)
    y = np.rint(height / STEP).astype(int)
    parts = []
    for begin, end in _stretches(there):
        parts.append(f"M{x[begin]} {y[begin]}")
        steps = zip(np.diff(x[begin:end]).tolist(), np.diff(y[begin:end]).tolist(), strict=True)
        parts.append("l" + " ".join(f"{dx} {dy}" for dx, dy in steps) if end - begin > 1 else "h1")
    return "".join(parts).replace(" -", "-")


def _holes(samples: np.ndarray, hz: int) -> tuple[tuple[float, float], ...]:
    edges = [LEAD_IN + MM_PER_S * each / hz for span in _stretches(np.isnan(samples)) for each in span]
    return tuple((a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= SQUARE)


def _stretches(which: np.ndarray) -> list[tuple[int, int]]:
    """Begin and end of every run of True in ``which`` (n,)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], which, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def grid(width: int, height: int, every: int) -> str:
    """Lines every so many mm as one path, with those at both edges."""
    down = "".join(f"M{x} 0v{height}" for x in range(0, width + 1, every))
    return down + "".join(f"M0 {y}h{width}" for y in range(0, height + 1, every))
