"""Where every second and millivolt of a page is, on the page as printed and on the image made of it.

Pixels are a plane: x to the right, y down, (0, 0) the upper left corner of the paper, so pixel column i covers
[i, i + 1). A `Geometry` carries an affine map from the plain page to the image, (2, 3) as OpenCV writes them; what it
gives and takes are the image's pixels, so it stays right after a crop or a turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pipelines.render.layout import Layout, Panel
from pipelines.render.leads import first_sample
from pipelines.render.lettering import PrintedWord

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
SAME = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
PULSE_MV = 1.0


@dataclass(frozen=True)
class Reading:
    """What a pixel says: ``second`` since the page began, ``mv`` in the lead ``lead`` (of the strip if ``rhythm``)."""

    lead: str
    rhythm: bool
    second: float
    mv: float


@dataclass(frozen=True)
class PlacedLead:
    """A lead on the plain page, px; samples ``first_sample`` up to ``end_sample`` (excluded) of the page are drawn.

    ``cell`` is the lead's share of the paper, ``box`` what its trace takes with the pulse before it (None when no
    value is there), ``name_box`` the ink of its name.
    """

    panel: Panel
    first_sample: int
    end_sample: int
    left: float
    right: float
    baseline: float
    cell: Box
    box: Box | None
    name_box: Box


@dataclass(frozen=True)
class Geometry:
    """The geometry of one image. ``px_per_s`` and ``px_per_mv`` are the plain page's; see `scales` for the image's."""

    width: int
    height: int
    hz: float
    px_per_s: float
    px_per_mv: float
    leads: tuple[PlacedLead, ...]
    to_image: tuple[tuple[float, float, float], tuple[float, float, float]] = SAME

    def mapped(self, plain_to_image: np.ndarray) -> Geometry:
        """The geometry after one more step; ``plain_to_image`` (2, 3) takes the pixels so far to the new ones."""
        step = np.vstack([np.asarray(plain_to_image, dtype=np.float64), [0, 0, 1]])
        done = step @ np.vstack([self.to_image, [0, 0, 1]])
        return replace(self, to_image=tuple(tuple(row) for row in done[:2].tolist()))

    @property
    def scales(self) -> tuple[float, float]:
        """px a second and px a mV on the image, each along its own axis."""
        (a, b, _), (c, d, _) = self.to_image
        return self.px_per_s * float(np.hypot(a, c)), self.px_per_mv * float(np.hypot(b, d))

    def find(self, lead: str, rhythm: bool = False) -> PlacedLead:
        """The place of a lead, in the rows or in the strips. Raises KeyError."""
        for placed in self.leads:
            if (placed.panel.lead, placed.panel.rhythm) == (lead, rhythm):
                return placed
        raise KeyError(f"no {'strip' if rhythm else 'lead'} {lead} on this page")

    def to_pixel(self, lead: str, second, mv, rhythm: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """x and y on the image of ``second`` and ``mv``, numbers or arrays of one shape.

        Raises ValueError for a second that this lead does not show, KeyError for a lead that is not there.
        """
        placed = self.find(lead, rhythm)
        second, mv = np.asarray(second, dtype=np.float64), np.asarray(mv, dtype=np.float64)
        begin, end = placed.panel.begin_s, placed.panel.end_s
        if np.any((second < begin) | (second > end)):
            raise ValueError(f"{lead} shows the seconds from {begin:g} to {end:g} of a page")
        x = placed.left + (second - begin) * self.px_per_s
        return _apply(self.to_image, x, placed.baseline - mv * self.px_per_mv)

    def to_signal(self, lead: str, x, y, rhythm: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Second and mV of image pixels, read in ``lead``: the inverse of `to_pixel`."""
        placed = self.find(lead, rhythm)
        x, y = _apply(self._to_page(), np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
        second = placed.panel.begin_s + (x - placed.left) / self.px_per_s
        return second, (placed.baseline - y) / self.px_per_mv

    def at(self, x: float, y: float) -> Reading | None:
        """The lead whose time the pixel lies in and whose baseline is nearest; None beside all leads."""
        page_x, page_y = _apply(self._to_page(), np.float64(x), np.float64(y))
        there = [placed for placed in self.leads if placed.left <= page_x < placed.right]
        if not there:
            return None
        panel = min(there, key=lambda placed: abs(placed.baseline - page_y)).panel
        second, mv = self.to_signal(panel.lead, x, y, panel.rhythm)
        return Reading(panel.lead, panel.rhythm, float(second), float(mv))

    def sample_pixels(self, placed: PlacedLead, mv: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x and y of a lead's drawn samples; ``mv`` (n,) is the lead's whole page, NaN stays NaN."""
        drawn = np.arange(placed.first_sample, placed.end_sample)
        x = placed.left + (drawn / self.hz - placed.panel.begin_s) * self.px_per_s
        return _apply(self.to_image, x, placed.baseline - np.asarray(mv)[drawn] * self.px_per_mv)

    def as_dict(self) -> dict[str, Any]:
        """All of it on the image, for JSON: px rounded to 1/10,000, no NaN; a box is left, top, right, bottom."""
        px_per_s, px_per_mv = self.scales
        return {
            "width": self.width,
            "height": self.height,
            "hz": self.hz,
            "px_per_s": px_per_s,
            "px_per_mv": px_per_mv,
            "plain_px_per_s": self.px_per_s,
            "plain_px_per_mv": self.px_per_mv,
            "plain_to_image": [list(row) for row in self.to_image],
            "leads": [self._lead_dict(placed) for placed in self.leads],
        }

    def _lead_dict(self, placed: PlacedLead) -> dict[str, Any]:
        panel = placed.panel
        ends = _apply(self.to_image, np.array([placed.left, placed.right]), np.full(2, placed.baseline))
        return {
            "lead": panel.lead,
            "rhythm": panel.rhythm,
            "row": panel.row,
            "column": panel.column,
            "begin_s": panel.begin_s,
            "end_s": panel.end_s,
            "first_sample": placed.first_sample,
            "end_sample": placed.end_sample,
            "baseline": [
                [round(x, 4), round(y, 4)] for x, y in zip(*(each.tolist() for each in ends), strict=True)
            ],
            "cell": self._box(placed.cell),
            "box": None if placed.box is None else self._box(placed.box),
            "name_box": self._box(placed.name_box),
        }

    def _box(self, box: Box) -> list[float]:
        """What encloses the box on the image."""
        left, top, right, bottom = box
        x, y = _apply(
            self.to_image, np.array([left, right, left, right]), np.array([top, top, bottom, bottom])
        )
        return [round(float(each), 4) for each in (x.min(), y.min(), x.max(), y.max())]

    def _to_page(self) -> np.ndarray:
        return np.linalg.inv(np.vstack([self.to_image, [0, 0, 1]]))[:2]


def geometry_of(
    layout: Layout, hz: float, twelve: Mapping[str, np.ndarray], names: tuple[PrintedWord, ...]
) -> Geometry:
    """The geometry of a plain page. ``names`` are the printed words, those of the panels first and in their order."""
    leads = []
    half = layout.pitch_mv * layout.px_per_mv / 2
    for panel, name in zip(layout.panels, names, strict=False):
        first, end = first_sample(panel.begin_s, hz), first_sample(panel.end_s, hz)
        left = panel.left_s * layout.px_per_s
        right = left + (panel.end_s - panel.begin_s) * layout.px_per_s
        baseline = layout.height - panel.baseline_mv * layout.px_per_mv
        cell = (left, baseline - half, right, baseline + half)
        placed = PlacedLead(panel, first, end, left, right, baseline, cell, None, name.ink)
        box = _trace_box(layout, placed, twelve[panel.lead][first:end], hz)
        leads.append(replace(placed, box=box))
    return Geometry(layout.width, layout.height, hz, layout.px_per_s, layout.px_per_mv, tuple(leads))


def _trace_box(layout: Layout, placed: PlacedLead, mv: np.ndarray, hz: float) -> Box | None:
    there = np.flatnonzero(~np.isnan(mv))
    if not len(there):
        return None
    late = placed.first_sample / hz - placed.panel.begin_s
    left, right = (placed.left + (late + at / hz) * layout.px_per_s for at in (there[0], there[-1]))
    low, high = float(np.nanmin(mv)), float(np.nanmax(mv))
    if placed.panel.is_first:
        left = layout.margin_s * layout.px_per_s
        low, high = min(low, 0.0), max(high, PULSE_MV)
    return (
        float(left),
        placed.baseline - high * layout.px_per_mv,
        float(right),
        placed.baseline - low * layout.px_per_mv,
    )


def _apply(matrix, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    (a, b, c), (d, e, f) = np.asarray(matrix).tolist()
    return a * x + b * y + c, d * x + e * y + f
