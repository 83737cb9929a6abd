"""A picture of which view reads which: columns from left to right, few crossings, boxes that are links.

Boxes stand in the column after their last parent's. Within a column they are ordered by the middle of their
neighbours, a few times to and fro; ties go by name, so that the same graph is always the same picture. A line that
passes a column runs between its boxes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

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
WAY = "\n"
"""In the names of places where a line passes a column: no view has it."""
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
    links, places = _with_ways(reads, depth)
    order = _ordered(links, places)
    boxes: dict[str, Box] = {}
    tallest = max((_tall(names) for names in order), default=0)
    x = float(EDGE)
    for names in order:
        width = max((LETTER * len(labels[name]) + 2 * PAD for name in names if name in reads), default=GUTTER)
        y = EDGE + (tallest - _tall(names)) / 2
        for name in names:
            own = round(LETTER * len(labels[name]) + 2 * PAD, 1) if name in reads else round(width, 1)
            boxes[name] = Box(name, labels.get(name, ""), round(x, 1), round(y, 1), own, _height(name))
            y += _height(name) + GAP
        x += width + GUTTER
    arrows = [
        (parent, name, _curve([boxes[each] for each in _way(parent, name, depth)]))
        for name in sorted(reads)
        for parent in reads[name]
    ]
    listed = tuple(boxes[name] for names in order for name in names if name in reads)
    return Picture(listed, tuple(arrows), round(x - GUTTER + EDGE), round(tallest + 2 * EDGE))


def _way(parent: str, child: str, depth: Mapping[str, int]) -> list[str]:
    """A box, the places where its line passes the columns between, and the box where it ends."""
    return [parent, *(f"{parent}{WAY}{n}" for n in range(depth[parent] + 1, depth[child])), child]


def _with_ways(
    reads: Mapping[str, tuple[str, ...]], depth: Mapping[str, int]
) -> tuple[dict[str, tuple[str, ...]], dict[str, int]]:
    """The graph with a place in every column that a line passes, so that lines run between boxes: links and columns."""
    links: dict[str, set[str]] = {name: set() for name in reads}
    places = dict(depth)
    for child, names in reads.items():
        for parent in names:
            way = _way(parent, child, depth)
            for number, (one, other) in enumerate(pairwise(way), start=1):
                links.setdefault(other, set()).add(one)
                places.setdefault(other, depth[parent] + number)
    return {name: tuple(sorted(links[name])) for name in sorted(links)}, places


def _height(name: str) -> int:
    return 0 if WAY in name else LINE


def _tall(names: list[str]) -> int:
    return sum(_height(name) + GAP for name in names) - GAP


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


def _curve(way: list[Box]) -> str:
    """A line from the right of the first box to the left of the last, straight through the columns between."""
    path = f"M{way[0].x + way[0].width:.1f} {way[0].middle:.1f}"
    for one, other in pairwise(way):
        from_x, to_x = one.x + one.width, other.x
        bend = max(GUTTER / 2, (to_x - from_x) / 2)
        path += f"C{from_x + bend:.1f} {one.middle:.1f} {to_x - bend:.1f} {other.middle:.1f} "
        path += f"{to_x:.1f} {other.middle:.1f}"
        path += f"H{to_x + other.width:.1f}" if other is not way[-1] else ""
    return path
