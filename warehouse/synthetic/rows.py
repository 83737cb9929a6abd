"""From beats to annotation rows, with the oddities that the real files have."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from warehouse.synthetic.beats import TICKS_PER_S, Beats
from warehouse.synthetic.words import Scenario

NO = -1
"""No beat symbol, no rhythm."""

OPEN, CLOSE = 0, 1
"""Kinds of marker."""

_HALF = {"flagged": 3.0, "unlabelled": 3.0, "twin": 3.0, "gap": 7.05, "missing": 2.0, "flat": 1.5}
"""Half the length of what an event covers, s."""


@dataclass(frozen=True)
class Stretch:
    """A piece of signal that is not as the heart made it: ``kind`` is ``noisy``, ``missing`` or ``flat``.
    Ticks, half open."""

    kind: str
    begin: int
    end: int


@dataclass
class Rows:
    """The rows of one annotation file, in file order; (n,) arrays.

    ``tick`` int64 (1/360 s), ``symbol`` and ``rhythm`` int8 (-1: empty), ``flagged`` bool, ``marker`` int8
    (-1, OPEN or CLOSE), ``number`` int64 (the marker's number, 0 for other rows).
    """

    tick: np.ndarray
    symbol: np.ndarray
    rhythm: np.ndarray
    flagged: np.ndarray
    marker: np.ndarray
    number: np.ndarray
    stretches: list[Stretch] = field(default_factory=list)


@dataclass
class _Draft:
    beats: Beats
    rhythm: np.ndarray
    kept: np.ndarray
    copies: np.ndarray
    markers: list[tuple[int, int, int]] = field(default_factory=list)
    """(tick, kind, rhythm)"""
    stretches: list[Stretch] = field(default_factory=list)


def draw_rows(scenario: Scenario, beats: Beats) -> Rows:
    """Apply a scenario's events to its beats. An event's place is fixed: events share a step's length evenly.

    ``beats.tick`` itself moves only for the event ``boundary``, so that the signal agrees with the rows.
    """
    n = len(beats.tick)
    draft = _Draft(beats, beats.rhythm.copy(), np.ones(n, bool), np.ones(n, np.int64))
    for number, step in enumerate(scenario.steps):
        begin, end = beats.bounds[number], beats.bounds[number + 1]
        placed = [event for event in step.events if event in _PLACED]
        for place, event in enumerate(placed):
            centre = begin + (end - begin) * (2 * place + 1) / (2 * len(placed))
            _PLACED[event](draft, event, centre, (begin, end))
    return _assemble(draft)


def _bad(draft: _Draft, event: str, centre: float, _step) -> None:
    """A bad stretch between two markers, with noise in the signal."""
    ticks = draft.beats.tick
    half = _HALF[event] * TICKS_PER_S
    first = int(np.searchsorted(ticks, centre - half))
    last = min(int(np.searchsorted(ticks, centre + half)), len(ticks) - 1)
    first = min(max(first, 1), last)
    begin, end = int(ticks[first]), int(ticks[last])
    if event != "twin":
        begin = (begin + int(ticks[first - 1])) // 2
        end = (end + int(ticks[last - 1])) // 2 if last > first else end
    inside = (ticks >= begin) & (ticks <= end)
    rhythm = int(draft.beats.rhythm[first])
    if event == "unlabelled":
        draft.rhythm[inside] = rhythm = NO
    draft.markers += [(begin, OPEN, rhythm), (end, CLOSE, rhythm)]
    draft.stretches.append(Stretch("noisy", begin, end))


def _marked(draft: _Draft, _event: str, _centre: float, step) -> None:
    """Markers without a rhythm around a whole step, half a beat outside it."""
    ticks = draft.beats.tick
    first = max(int(np.searchsorted(ticks, step[0], side="right")), 1)
    last = int(np.searchsorted(ticks, step[1], side="right")) - 1
    after = min(last + 1, len(ticks) - 1)
    draft.markers.append((int(ticks[first - 1] + ticks[first]) // 2, OPEN, NO))
    draft.markers.append((int(ticks[last] + ticks[after]) // 2, CLOSE, NO))


def _lone(draft: _Draft, event: str, _centre: float, _step) -> None:
    """A marker whose partner lies outside the annotated window: near its end, or near its begin."""
    ticks = draft.beats.tick
    kind, at = (OPEN, len(ticks) - 2) if event == "open_start" else (CLOSE, 2)
    draft.markers.append((int(ticks[at] + ticks[at + 1]) // 2, kind, int(draft.beats.rhythm[at])))


def _gap(draft: _Draft, event: str, centre: float, _step) -> None:
    draft.kept &= np.abs(draft.beats.tick - centre) > _HALF[event] * TICKS_PER_S


def _repeat(draft: _Draft, _event: str, centre: float, _step) -> None:
    draft.copies[np.argmin(np.abs(draft.beats.tick - centre))] = 2


def _boundary(draft: _Draft, _event: str, _centre: float, step) -> None:
    """Move the beat that comes closest to a multiple of 5 s onto it."""
    ticks, grid = draft.beats.tick, 5 * TICKS_PER_S
    nearest = (ticks + grid // 2) // grid * grid
    distance = np.where((ticks > step[0]) & (ticks < step[1]), np.abs(ticks - nearest), grid)
    place = int(np.argmin(distance))
    ticks[place] = nearest[place]


def _signal_only(draft: _Draft, event: str, centre: float, _step) -> None:
    half = _HALF[event] * TICKS_PER_S
    draft.stretches.append(Stretch(event, round(centre - half), round(centre + half)))


_PLACED = {
    "flagged": _bad,
    "unlabelled": _bad,
    "twin": _bad,
    "marked": _marked,
    "open_start": _lone,
    "early_end": _lone,
    "gap": _gap,
    "repeat": _repeat,
    "boundary": _boundary,
    "missing": _signal_only,
    "flat": _signal_only,
}
"""Events that have a place in the step; the others have changed beats already."""


def _assemble(draft: _Draft) -> Rows:
    """Sort beats and markers by time, number the markers per kind, and flag as the release does: between the
    markers of one number, both ends included; a marker without a partner flags nothing."""
    copies = np.where(draft.kept, draft.copies, 0)
    markers = np.array(draft.markers, dtype=np.int64).reshape(-1, 3)
    ticks = np.concatenate([np.repeat(draft.beats.tick, copies), markers[:, 0]])
    n_beats = len(ticks) - len(markers)
    kind = np.concatenate([np.full(n_beats, NO), markers[:, 1]])
    tie = np.concatenate([np.zeros(n_beats), np.where(markers[:, 1] == OPEN, -1, 1)])
    order = np.lexsort((tie, ticks))
    ticks, kind = ticks[order], kind[order]
    number = np.zeros(len(ticks), np.int64)
    for each in (OPEN, CLOSE):
        number[kind == each] = np.arange(1, (kind == each).sum() + 1)
    flagged = np.zeros(len(ticks), bool)
    begins, ends = ticks[kind == OPEN], ticks[kind == CLOSE]
    for begin, end in zip(begins, ends, strict=False):
        flagged |= (ticks >= begin) & (ticks <= end)
    none = np.full(len(markers), NO)
    return Rows(
        tick=ticks,
        symbol=np.concatenate([np.repeat(draft.beats.symbol, copies), none])[order].astype(np.int8),
        rhythm=np.concatenate([np.repeat(draft.rhythm, copies), markers[:, 2]])[order].astype(np.int8),
        flagged=flagged,
        marker=kind.astype(np.int8),
        number=number,
        stretches=draft.stretches,
    )
