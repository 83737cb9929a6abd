"""Where the marks of a chart lie. Templates draw them; here is only arithmetic.

Horizontal positions are percent of the chart's width, so that a chart fits a phone and a desk without its text
being scaled; vertical ones are pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BAND = 52
"""Height of one row of a chart, px."""
NAMED_FROM = 9.0
"""A piece narrower than this many percent carries no number of its own; the table beside the chart has it."""
EDGE = 1.5
"""What a scale keeps free at either end, in percent, so that a mark at its limit is seen whole."""


@dataclass(frozen=True)
class Piece:
    """A piece of a stacked bar. ``kind`` is the CSS class and the legend's key."""

    kind: str
    x: float
    width: float
    value: int

    @property
    def named(self) -> bool:
        return self.width >= NAMED_FROM

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


@dataclass(frozen=True)
class Bar:
    name: str
    total: int
    y: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Mark:
    """A value with its interval on a scale; ``lo`` and ``hi`` are None where there is no interval."""

    kind: str
    y: int
    x: float
    lo: float | None
    hi: float | None


@dataclass(frozen=True)
class Line:
    """A row of an interval chart. ``note`` says in words what the marks show, or why there is none."""

    name: str
    note: str
    y: int
    height: int
    marks: tuple[Mark, ...]


def stacked(rows: Sequence[tuple[str, Mapping[str, int]]]) -> list[Bar]:
    """Bars on one scale, the longest over the whole width; each row is a name and a count per kind."""
    longest = max((sum(counts.values()) for _, counts in rows), default=0) or 1
    bars = []
    for number, (name, counts) in enumerate(rows):
        pieces, x = [], 0.0
        for kind, value in counts.items():
            width = 100 * value / longest
            if value:
                pieces.append(Piece(kind, round(x, 3), round(width, 3), value))
            x += width
        bars.append(Bar(name, sum(counts.values()), number * BAND, tuple(pieces)))
    return bars


def place(value: float) -> float:
    """A value of the unit interval as percent of the width."""
    return round(EDGE + (100 - 2 * EDGE) * min(max(value, 0.0), 1.0), 3)


def intervals(rows: Sequence[tuple[str, str, Sequence[tuple[str, Mapping]]]]) -> list[Line]:
    """Lines on the scale from 0 to 1.

    Each row is a name, a note and its marks: a kind and a metric as a run stores it (value, lo, hi). A metric
    without a value gives no mark.
    """
    lines: list[Line] = []
    band = BAND - (11 if all(len(metrics) == 1 for _, _, metrics in rows) else 0)
    for number, (name, note, metrics) in enumerate(rows):
        top = number * band
        marks = []
        for nth, (kind, metric) in enumerate(metrics):
            if metric["value"] is None:
                continue
            lo, hi = (None if metric[end] is None else place(metric[end]) for end in ("lo", "hi"))
            marks.append(Mark(kind, top + 28 + 11 * nth, place(metric["value"]), lo, hi))
        lines.append(Line(name, note, top, band, tuple(marks)))
    return lines
