"""The heart of a synthetic case: when it beats, with which symbol, in which rhythm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warehouse.synthetic.words import Rhythm, Step, Words

TICKS_PER_S = 360
"""The real stamps lie on a lattice of 1/360 s: the annotators worked on a 360 Hz series."""

SHORTEST_RR_S = 0.24
SECONDS_PER_PREMATURE = 40.0
UNCLEAR_SHARE = 0.03


@dataclass
class Beats:
    """(n,) arrays, ascending in ``tick``. ``tick`` is 1/360 s from the recording's start."""

    tick: np.ndarray
    symbol: np.ndarray
    """int8, index into the symbols; -1 where the rhythm's rows carry no beat."""
    rhythm: np.ndarray
    """int8, index into the rhythms."""
    rr_s: np.ndarray
    """The interval before the beat as the rhythm drew it, s."""
    paused: np.ndarray
    """bool: that interval was lengthened to a pause."""
    bounds: np.ndarray
    """(steps + 1,) int64 ticks: where each step begins, and the end of the case."""


def draw_beats(
    steps: tuple[Step, ...], words: Words, start_tick: int, seconds: float, rng: np.random.Generator
) -> Beats:
    """Beats of one case over ``seconds`` from ``start_tick``; the first lies exactly there."""
    shares = np.array([step.share for step in steps])
    ends = np.cumsum(shares) / shares.sum() * seconds
    haste = rng.uniform(0.92, 1.08)
    clock = 0.0
    pieces, bounds = [], [0.0]
    for step, end in zip(steps, ends, strict=True):
        rhythm = words.rhythms[step.rhythm]
        rr, symbol, paused = _intervals(rhythm, step, words, haste, end - clock, rng)
        since = np.cumsum(rr)
        if not pieces:
            since -= rr[0]
        kept = max(2, int(np.searchsorted(since, end - clock, side="right")))
        pieces.append((clock + since[:kept], symbol[:kept], np.full(kept, step.rhythm, np.int8), rr[:kept],
                       paused[:kept]))  # fmt: skip
        clock = float(pieces[-1][0][-1])
        bounds.append(max(end, clock))
    at, symbol, rhythm, rr, paused = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return Beats(
        tick=start_tick + np.round(at * TICKS_PER_S).astype(np.int64),
        symbol=symbol,
        rhythm=rhythm,
        rr_s=rr,
        paused=paused,
        bounds=start_tick + np.round(np.array(bounds) * TICKS_PER_S).astype(np.int64),
    )


def _intervals(
    rhythm: Rhythm, step: Step, words: Words, haste: float, length_s: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """RR (s), symbols and pauses of enough beats to fill ``length_s``."""
    base = 60.0 / (rhythm.rate_bpm * haste)
    n = int(length_s / (0.6 * base)) + 8
    swing = np.sin(2 * np.pi * (np.arange(n) / rng.uniform(15, 40) + rng.random()))
    rr = base * (1 + rhythm.rr_wander * swing) * (1 + rhythm.rr_sd * rng.standard_normal(n).clip(-2.5, 2.5))
    paused = rng.random(n) < rhythm.pause_share
    rr[paused] *= rhythm.pause_factor
    if len(rhythm.symbols):
        symbol = rng.choice(rhythm.symbols, size=n, p=rhythm.shares / rhythm.shares.sum()).astype(np.int8)
    else:
        symbol = np.full(n, -1, np.int8)
    if rhythm.ectopic_every:
        early = np.arange(rhythm.ectopic_every, n - 1, rhythm.ectopic_every)
        _come_early(rr, symbol, early, np.full(len(early), rhythm.ectopic, np.int8), rhythm.coupling)
    for event in step.events:
        targets = words.set_by(event)
        if not len(targets):
            continue
        used = max(6, int(length_s / base * 0.9))
        if event == "premature":
            count = max(1, round(length_s / SECONDS_PER_PREMATURE))
            places = np.sort(
                rng.choice(np.arange(3, used - 2, 3), size=min(count, (used - 5) // 3), replace=False)
            )
            kinds = rng.permutation(np.resize(targets, len(places)))
            _come_early(rr, symbol, places, kinds, words.couplings[kinds])
        else:
            places = rng.integers(2, used, size=1)
            if event == "unclear":
                places = np.unique(np.append(places, np.flatnonzero(rng.random(used) < UNCLEAR_SHARE)))
            symbol[places] = targets[0]
    return np.maximum(rr, SHORTEST_RR_S), symbol, paused


def _come_early(rr: np.ndarray, symbol: np.ndarray, places: np.ndarray, kinds: np.ndarray, coupling) -> None:
    """Pull beats forward; the one after keeps its place, as after a compensatory pause."""
    saved = rr[places] * (1 - coupling)
    rr[places] -= saved
    rr[places + 1] += saved
    symbol[places] = kinds
