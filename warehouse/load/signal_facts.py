"""Facts about a signal that label rules need, written at load because no view opens a signal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SHORTEST_CONSTANT_S = 1.0
"""A shorter stretch of one value is what a converter does between two beats."""


@dataclass(frozen=True)
class Runs:
    """(k,) arrays, ascending in ``first``; ``value_mv`` is NaN for a run of missing samples."""

    first: np.ndarray
    length: np.ndarray
    value_mv: np.ndarray

    @property
    def missing(self) -> np.ndarray:
        """(k,) bool: the samples are missing; the other runs are constant."""
        return np.isnan(self.value_mv)


def find_runs(samples: np.ndarray, hz: int) -> Runs:
    """Every run of NaN, and every stretch of at least a second of one identical value.

    ``samples`` (n,) float, ``first`` counts from its begin.
    """
    same = samples[1:] == samples[:-1]
    same |= np.isnan(samples[1:]) & np.isnan(samples[:-1])
    first = np.concatenate([[0], np.flatnonzero(~same) + 1]) if len(samples) else np.empty(0, np.int64)
    length = np.diff(np.append(first, len(samples)))
    value = samples[first] if len(samples) else samples
    kept = np.isnan(value) | (length >= SHORTEST_CONSTANT_S * hz)
    return Runs(first[kept].astype(np.int64), length[kept].astype(np.int64), value[kept].astype(np.float32))
