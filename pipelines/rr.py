"""Features of the RR intervals in and around a segment: numpy in, numpy out, no label and no beat type.

An interval belongs to the window that its second beat lies in. One that is longer than `max_rr_s` bridges a
gap in the annotation and is no interval. A feature that a window has too few intervals for is NaN; whoever
uses it says what to do then.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

AROUND_S = 20.0
"""How far the wide window reaches before and after the segment."""

NARROW = ("beats", "rr_mean", "rr_min", "rr_max", "rr_cv", "rr_step")
WIDE = ("rr_median", "rr_low", "rr_high", "rr_cv", "rr_step", "rr_turns")
FEATURES = (
    *(f"segment_{name}" for name in NARROW),
    *(f"around_{name}" for name in WIDE),
    "shortest_to_median",
    "longest_to_median",
)


def segment_features(
    records: np.ndarray,
    start_s: np.ndarray,
    duration_s: np.ndarray,
    beats: Mapping[str, np.ndarray],
    max_rr_s: float,
) -> np.ndarray:
    """Features (n, len(FEATURES)) float64 of n segments.

    `records` (n,) names each segment's record as text, `start_s` and `duration_s` (n,) are seconds; `beats`
    holds every record's beat times in seconds, ascending. A record without beats gives NaN, and 0 beats.
    """
    features = np.full((len(records), len(FEATURES)), np.nan)
    order = np.argsort(records, kind="stable")
    names, first = np.unique(records[order], return_index=True)
    for name, rows in zip(names.tolist(), np.split(order, first[1:]), strict=True):
        times = beats.get(name, np.empty(0))
        features[rows] = _record_features(times, start_s[rows], duration_s[rows], max_rr_s)
    return features


def _record_features(
    times: np.ndarray, start: np.ndarray, duration: np.ndarray, max_rr_s: float
) -> np.ndarray:
    rr = np.diff(times)
    usable = (rr > 0) & (rr <= max_rr_s)
    ends, rr = times[1:][usable], rr[usable]
    step = np.full(len(rr), np.nan)
    step[1:] = np.where(np.diff(ends) <= max_rr_s, np.diff(rr), np.nan)
    turns = np.full(len(rr), np.nan)
    turns[2:] = np.where(np.isnan(step[1:-1] * step[2:]), np.nan, step[1:-1] * step[2:] < 0)

    inside = np.searchsorted(times, start + duration) - np.searchsorted(times, start)
    near = _windows(ends, start, start + duration)
    wide = _windows(ends, start - AROUND_S, start + duration + AROUND_S)
    rr_near, rr_wide = _take(rr, near), _take(rr, wide)
    shortest, longest = _quantiles(rr_near, 0.0, 1.0)
    low, median, high = _quantiles(rr_wide, 0.1, 0.5, 0.9)
    columns = [
        inside.astype(np.float64),
        _mean(rr_near),
        shortest,
        longest,
        _variation(rr_near),
        _mean(np.abs(_take(step, near))),
        median,
        low,
        high,
        _variation(rr_wide),
        *_quantiles(np.abs(_take(step, wide)), 0.5),
        _mean(_take(turns, wide)),
        shortest / median,
        longest / median,
    ]
    return np.stack(columns, axis=1)


def _windows(ends: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """Indices (n, most) of the intervals that end in [lo, hi), -1 where a window has fewer."""
    first, last = np.searchsorted(ends, lo), np.searchsorted(ends, hi)
    index = first[:, None] + np.arange(int((last - first).max(initial=0)))
    return np.where(index < last[:, None], index, -1)


def _take(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Values at the indices, NaN at -1."""
    return np.append(values, np.nan)[index]


def _mean(window: np.ndarray) -> np.ndarray:
    """Mean of each row's values, NaN for a row without any."""
    known = ~np.isnan(window)
    count = known.sum(axis=1)
    total = np.where(known, window, 0.0).sum(axis=1)
    return np.where(count, total / np.maximum(count, 1), np.nan)


def _variation(window: np.ndarray) -> np.ndarray:
    """Standard deviation over mean of each row's values, NaN for a row with fewer than two."""
    enough = (~np.isnan(window)).sum(axis=1) >= 2
    mean = _mean(window)
    return np.where(enough, np.sqrt(_mean((window - mean[:, None]) ** 2)) / mean, np.nan)


def _quantiles(window: np.ndarray, *levels: float) -> list[np.ndarray]:
    """Linear quantiles of each row's values, NaN for a row without any; one sort for all levels."""
    ordered = np.append(np.sort(window, axis=1), np.full((len(window), 1), np.nan), axis=1)
    last = (~np.isnan(window)).sum(axis=1) - 1
    found = []
    for level in levels:
        place = level * last
        below = np.floor(place).astype(int)
        at = np.take_along_axis(ordered, np.stack([below, np.minimum(below + 1, last)], axis=1), axis=1)
        found.append(at[:, 0] + (place - below) * (at[:, 1] - at[:, 0]))
    return found
