"""Beats laid on a line: Gaussians at each beat, noise, and counts as a converter gives them."""

from __future__ import annotations

import csv

import numpy as np

from warehouse.project import registry_path

WIDTHS = 4
"""A Gaussian is drawn this many standard deviations to either side."""
NOISE_MV = 0.012
WANDER_MV = 0.06


def rows_of(file: str) -> list[dict[str, str]]:
    """The rows of ``registry/synthetic/<file>``."""
    with registry_path("synthetic", file).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def rr_intervals(rate_bpm: float, rr_sd: float, seconds: float, rng: np.random.Generator) -> np.ndarray:
    """RR intervals in s that cover ``seconds`` and a little more."""
    mean = 60 / rate_bpm
    n = int(seconds / mean * 1.3) + 5
    return mean * (1 + rr_sd * rng.standard_normal(n).clip(-2.5, 2.5))


def add_waves(
    total: np.ndarray, hz: int, at_s: np.ndarray, waves: np.ndarray, size: np.ndarray | float = 1.0
) -> None:
    """Add to ``total`` (leads, n) at each beat ``at_s`` (b,) the ``waves`` (w, 2 + leads): s after it, width in s, mV.

    ``size`` (b,) scales each beat.
    """
    heights = np.broadcast_to(size, at_s.shape)
    for delay, width, *mv in waves:
        reach = int(np.ceil(WIDTHS * width * hz))
        centre = at_s + delay
        places = np.round(centre * hz).astype(np.int64)[:, None] + np.arange(-reach, reach + 1)
        shape = heights[:, None] * np.exp(-0.5 * ((places / hz - centre[:, None]) / width) ** 2)
        inside = (places >= 0) & (places < total.shape[1])
        one = np.bincount(places[inside], weights=shape[inside], minlength=total.shape[1])
        total += np.asarray(mv)[:, None] * one


def as_counts(
    signal_mv: np.ndarray, hz: int, gain: float, baseline: int, rng: np.random.Generator, bits: int
) -> np.ndarray:
    """(leads, n) int64 counts of mV with noise and wander, within the converter's ``bits`` around ``baseline``."""
    leads, n = signal_mv.shape
    time = np.arange(n) / hz
    wander = WANDER_MV * np.sin(2 * np.pi * (rng.uniform(0.18, 0.28) * time + rng.random()))
    noisy = signal_mv + wander + NOISE_MV * rng.standard_normal((leads, n))
    middle = baseline if baseline else 0
    half = 1 << (bits - 1)
    return np.clip(np.round(noisy * gain) + baseline, middle - half, middle + half - 1).astype(np.int64)


def checksum(counts: np.ndarray) -> int:
    """WFDB's: the sum as a signed 16-bit number."""
    total = int(counts.sum()) & 0xFFFF
    return total - 0x10000 if total >= 0x8000 else total
