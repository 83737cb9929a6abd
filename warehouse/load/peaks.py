"""R peaks, to hold the clock of the annotations against the clock of the signal.

The detector is SleepECG's Pan-Tompkins in C (Brunner & Hofer, J Open Source Softw 2023;8:5411). Measured
on every third MIT-BIH record at 500 Hz, within 50 ms: sensitivity 98.7 %, precision 99.2 %, 0.5 CPU s;
XQRS of wfdb at 250 Hz: 99.1 %, 99.4 %, 33.8 CPU s. The offset of two clocks needs most of the peaks, not
the last half per cent.
"""

from __future__ import annotations

from importlib.metadata import version

import numpy as np

SHORTEST_S = 2.0
"""The detector learns its thresholds on two seconds; a shorter piece between gaps has no peaks here."""


def detector_name() -> str:
    return f"sleepecg {version('sleepecg')} detect_heartbeats"


def detect_peaks(samples: np.ndarray, hz: int) -> np.ndarray:
    """Sample indices of R peaks, (k,) int64 ascending.

    ``samples`` (n,) float mV with NaN where missing. Each piece between gaps is searched by itself; one that
    is shorter than two seconds or constant has none.
    """
    from sleepecg import detect_heartbeats

    peaks = [np.empty(0, np.int64)]
    for begin, end in _pieces(samples):
        piece = samples[begin:end].astype(np.float64)
        if end - begin >= SHORTEST_S * hz and np.ptp(piece) > 0:
            peaks.append(begin + detect_heartbeats(piece, hz).astype(np.int64))
    return np.concatenate(peaks)


def _pieces(samples: np.ndarray) -> list[tuple[int, int]]:
    """Half-open ranges between gaps."""
    present = np.concatenate([[False], ~np.isnan(samples), [False]])
    edges = np.flatnonzero(present[1:] != present[:-1])
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
