"""Maxima of ten-second windows, the R-peak candidates of Kachuee et al. 2018 (arXiv:1805.00794), steps 1 to 4.

The signal is brought to 125 Hz, cut into windows that do not overlap, each scaled from its least to its greatest
value; a candidate is a local maximum, where the first difference turns from positive to negative (the first sample of
a plateau; none where the signal rises on after it). The paper takes those above 0.9. All from :data:`FLOOR` on are
kept, so that a view can ask what another threshold would give. The last, incomplete window has none.

Open in the paper, and chosen here: a rate that is a multiple of 125 Hz is thinned to every k-th sample, as the values
of the public PTB files suggest; any other is interpolated linearly. Nothing is filtered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

HZ = 125
WINDOW_S = 10
FLOOR = 0.8


@dataclass(frozen=True)
class WindowPeaks:
    """(k,) each: the window, the place in the signal at 125 Hz, the sample of the record, the scaled height."""

    window_no: np.ndarray
    place: np.ndarray
    sample: np.ndarray
    height: np.ndarray


def window_peaks(counts: np.ndarray, hz: float, invalid: int | None = None) -> WindowPeaks:
    """The candidates of a lead; ``counts`` (n,) integers, ``invalid`` the count that stands for a missing sample.

    A window with a missing sample is searched all the same, but no maximum beside a gap is one. A window of one value
    has none.
    """
    signal = _at_125(counts, hz, invalid)
    width = WINDOW_S * HZ
    windows = signal[: len(signal) // width * width].reshape(-1, width)
    if not len(windows):
        return WindowPeaks(*(np.empty(0, np.int64) for _ in range(3)), np.empty(0))
    if np.isnan(windows).any():
        low = np.where(np.isnan(windows), np.inf, windows).min(axis=1)
        high = np.where(np.isnan(windows), -np.inf, windows).max(axis=1)
    else:
        low, high = windows.min(axis=1), windows.max(axis=1)
    known = high > low
    span = np.where(known, high - low, 1)
    with np.errstate(invalid="ignore"):
        step = np.diff(windows, axis=1)
        is_peak = (step[:, :-1] > 0) & (step[:, 1:] <= 0) & known[:, None]
        window_no, before = np.nonzero(is_peak)
        height = (windows[window_no, before + 1] - low[window_no]) / span[window_no]
    keep = height >= FLOOR
    keep[keep] = _falls_next(step, window_no[keep], before[keep] + 1)
    window_no, height = window_no[keep], height[keep]
    place = window_no * width + before[keep] + 1
    sample = np.minimum(np.floor(place * (hz / HZ) + 0.5).astype(np.int64), len(counts) - 1)
    return WindowPeaks(window_no, place, sample, height)


def _falls_next(step: np.ndarray, window_no: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Whether the first difference from place ``after`` on that is not zero is negative.

    A plateau that the signal leaves upwards is a shoulder; one that the window's end or a gap cuts may be one.
    """
    flat = np.flatnonzero(step[window_no, after] == 0)
    falls = step[window_no, after] < 0
    if len(flat):
        windows, row = np.unique(window_no[flat], return_inverse=True)
        some = step[windows]
        moves = np.where(some != 0, np.arange(some.shape[1]), some.shape[1] - 1)
        following = np.minimum.accumulate(moves[:, ::-1], axis=1)[:, ::-1]
        falls[flat] = some[row, following[row, after[flat]]] < 0
    return falls


def _at_125(counts: np.ndarray, hz: float, invalid: int | None) -> np.ndarray:
    """The signal at 125 Hz, NaN where it rests on a missing sample."""
    if hz % HZ == 0:
        thinned = counts[:: int(hz // HZ)]
        return _known(thinned, invalid)
    before, after, share = _places(len(counts), hz)
    left, right = _known(counts[before], invalid), _known(counts[after], invalid)
    right -= left
    right *= share
    right += left
    return right


@lru_cache(maxsize=2)  # records of a release are of one length, or of few
def _places(n: int, hz: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each place at 125 Hz the samples around it, and how far it lies between them."""
    places = np.arange(int(np.floor((n - 1) * HZ / hz)) + 1 if n else 0) * (hz / HZ)
    before = places.astype(np.int64)
    return before, np.minimum(before + 1, n - 1), places - before


def _known(counts: np.ndarray, invalid: int | None) -> np.ndarray:
    """As float64, NaN where ``invalid``, which is the least of its format."""
    signal = counts.astype(np.float64)
    if invalid is not None and len(counts) and counts.min() <= invalid:
        signal[counts == invalid] = np.nan
    return signal
