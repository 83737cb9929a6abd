"""A picture of which view reads which: columns from left to right, few crossings, boxes that are links.

Boxes stand in the column after their last parent's. Within a column they are ordered by the middle of their
neighbours, a few times to and fro; ties go by name, so that the same graph is always the same picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

LETTER = 7.0
"""Width of a letter of the boxes' names, px: 11.5 px monospace is 6.9."""
LINE = 26
"""Height of a box, px."""
GAP = 12
"""Between boxes of a column."""
GUTTER = 58
"""Between columns."""
PAD = 11
"""Inside a box, left and right."""
EDGE = 4
SWEEPS = 6


@dataclass(frozen=True)
class Box:
    """A box of the picture; lengths in px, y down."""

    name: str
    label: str
    x: float
    y: float
    width: float
    height: int = LINE

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True)
class Picture:
    """Boxes, and a path for each arrow from the right of a box to the left of another."""

    boxes: tuple[Box, ...]
    arrows: tuple[tuple[str, str, str], ...]
    width: int
    height: int


def draw(
    parents: Mapping[str, Iterable[str]], labels: Mapping[str, str], columns: Mapping[str, int] | None = None
) -> Picture:
    """Lay out ``parents`` (name → names that it reads). ``columns`` fixes them, else they follow from the parents."""
    reads = {name: tuple(sorted(set(names))) for name, names in parents.items()}
    for name in sorted({each for names in reads.values() for each in names} - reads.keys()):
        reads[name] = ()
    depth = dict(columns) if columns is not None else _depths(reads)
    order = _ordered(reads, depth)
    boxes: dict[str, Box] = {}
    tallest = max((_tall(names) for names in order), default=0)
    x = float(EDGE)
    for names in order:
        width = max(LETTER * len(labels[name]) + 2 * PAD for name in names)
        y = EDGE + (tallest - _tall(names)) / 2
        for name in names:
            boxes[name] = Box(name, labels[name], round(x, 1), round(y, 1), round(width, 1))
            y += LINE + GAP
        x += width + GUTTER
    arrows = [
        (parent, name, _curve(boxes[parent], boxes[name]))
        for name in sorted(reads)
        for parent in reads[name]
        if depth[parent] < depth[name]
    ]
    listed = tuple(boxes[name] for names in order for name in names)
    return Picture(listed, tuple(arrows), round(x - GUTTER + EDGE), round(tallest + 2 * EDGE))


def _tall(names: list[str]) -> int:
    return len(names) * (LINE + GAP) - GAP


def _depths(reads: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Name → its column. What nothing reads into stands just left of the first that reads it."""
    depth: dict[str, int] = {}

    def of(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max((of(parent) for parent in reads[name]), default=-1)
        return depth[name]

    for name in sorted(reads):
        of(name)
    first: dict[str, int] = {}
    for name, names in reads.items():
        for parent in names:
            first[parent] = min(first.get(parent, depth[name]), depth[name])
    return {name: first[name] - 1 if not reads[name] and name in first else depth[name] for name in depth}


def _ordered(reads: Mapping[str, tuple[str, ...]], depth: Mapping[str, int]) -> list[list[str]]:
    """The names of each column from top to bottom."""
    columns = [
        sorted(name for name in reads if depth[name] == n) for n in range(max(depth.values(), default=-1) + 1)
    ]
    columns = [names for names in columns if names]
    read_by: dict[str, list[str]] = {name: [] for name in reads}
    for name, names in reads.items():
        for parent in names:
            read_by[parent].append(name)

    def place_of() -> dict[str, float]:
        return {name: (n + 0.5) / len(names) for names in columns for n, name in enumerate(names)}

    for sweep in range(SWEEPS):
        to_the_right = sweep % 2 == 0
        for number in range(len(columns)) if to_the_right else reversed(range(len(columns))):
            places, around = place_of(), reads if to_the_right else read_by

            def middle(name: str, places=places, around=around) -> tuple[float, str]:
                near = [places[each] for each in around[name]]
                return (sum(near) / len(near) if near else places[name], name)

            columns[number] = sorted(columns[number], key=middle)
    return columns


def _curve(a: Box, b: Box) -> str:
    from_x, to_x = a.x + a.width, b.x
    bend = max(GUTTER / 2, (to_x - from_x) / 2)
    return (
        f"M{from_x:.1f} {a.middle:.1f}C{from_x + bend:.1f} {a.middle:.1f} "
        f"{to_x - bend:.1f} {b.middle:.1f} {to_x:.1f} {b.middle:.1f}"
    )
