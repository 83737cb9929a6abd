"""Small WFDB records for tests: written by the wfdb package, then spoilt on purpose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import wfdb

HZ = 360
SAMPLES = 1800
GAINS, BASELINES = (200.0, 100.0), (1024, 5)


def counts(seed: int = 0, leads: int = 2, samples: int = SAMPLES) -> np.ndarray:
    """(samples, leads) counts between -100 and 100."""
    steps = np.random.default_rng(seed).integers(-5, 6, (samples, leads))
    return np.abs(np.cumsum(steps, axis=0)) % 100 - 50


def write_record(
    folder: Path,
    name: str,
    signal: np.ndarray | None = None,
    *,
    fmt: str = "16",
    leads: tuple[str, ...] = ("MLII", "V1"),
    gains: tuple[float, ...] = GAINS,
    baselines: tuple[int, ...] = BASELINES,
    comments: tuple[str, ...] = ("69 M",),
    beats: tuple[tuple[int, str], ...] = ((100, "N"), (400, "V"), (700, "N"), (1000, "N")),
) -> np.ndarray:
    """A record with its .atr; returns its counts (samples, leads)."""
    folder.mkdir(parents=True, exist_ok=True)
    signal = counts(leads=len(leads)) if signal is None else signal
    wfdb.wrsamp(
        name,
        HZ,
        ["mV"] * len(leads),
        list(leads),
        d_signal=signal,
        fmt=[fmt] * len(leads),
        adc_gain=list(gains[: len(leads)]),
        baseline=list(baselines[: len(leads)]),
        comments=list(comments),
        write_dir=str(folder),
    )
    if beats:
        samples, symbols = zip(*beats, strict=True)
        notes = ["(N" if symbol == "+" else "" for symbol in symbols]
        wfdb.wrann(name, "atr", np.array(samples), list(symbols), aux_note=notes, write_dir=str(folder))
    return signal
