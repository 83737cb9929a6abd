"""Where everything stands on a page: paper, scale, and a panel a lead, in seconds and millivolts.

The frame is the generator's data frame: seconds from the paper's left edge, mV from its bottom edge, up. Lengths that
are fixed on paper (rows, names, margins) are turned into seconds and mV here, in the generator's order of additions:
another order moves a few pixels by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pipelines.render.settings import (
    HEIGHT_IN,
    LAYOUTS,
    MM_PER_INCH,
    PAGE_SECONDS,
    USUAL_SPEED,
    WIDTH_IN,
    PageSettings,
)

SQUARE_MM = 5
PULSE_S = 0.2
NAME_BELOW_MM, STRIP_NAME_BELOW_MM = 7, 8
"""A lead's name stands so far below its baseline."""
STRIP_DOWN_MM, STRIP_UP_MM = 5, 8
"""From the middle of its row a strip's baseline goes down and up again, as the generator has it."""
SPEED_AT_MM, GAIN_AT_MM = (50, 5), (100, 5)
"""Where the texts of speed and gain begin, from the left and the bottom edge."""
SEPARATOR_MM = 80 / 25.4
"""Half the height of a lead separator: 0.315 mV at 10 mm/mV. The generator's shrinks with the resolution; ours is as
at 200 dpi."""


@dataclass(frozen=True)
class Panel:
    """A lead's place. It shows the page's seconds from ``begin_s`` to ``end_s``.

    ``left`` are the terms, in s, that are added one after the other to a sample's time since ``begin_s``, and ``base``
    those, in mV, that are added to its value.
    """

    lead: str
    rhythm: bool
    row: int
    column: int
    begin_s: float
    end_s: float
    left: tuple[float, ...]
    base: tuple[float, ...]

    @property
    def left_s(self) -> float:
        """Where the first sample stands."""
        return sum(self.left)

    @property
    def baseline_mv(self) -> float:
        """Where 0 mV is."""
        return sum(self.base)

    @property
    def is_first(self) -> bool:
        """The calibration pulse stands before it."""
        return self.column == 0


@dataclass(frozen=True)
class Layout:
    """A page without signal. ``width``, ``height`` in px; ``width_s``, ``height_mv`` the same in s and mV.

    ``panels`` stand in drawing order, the bottom row first and the strips last. ``pitch_mv`` is the distance of rows.
    """

    settings: PageSettings
    width: int
    height: int
    width_s: float
    height_mv: float
    margin_s: float
    pitch_mv: float
    panels: tuple[Panel, ...]

    @property
    def px_per_s(self) -> float:
        return self.width / self.width_s

    @property
    def px_per_mv(self) -> float:
        return self.height / self.height_mv

    def s(self, mm: float) -> float:
        """Millimetres across the paper in seconds."""
        return mm / self.settings.paper_mm_per_s

    def mv(self, mm: float) -> float:
        """Millimetres up the paper in mV."""
        return mm / self.settings.gain_mm_per_mv


@lru_cache(maxsize=32)
def lay_out(settings: PageSettings) -> Layout:
    """The layout of ``settings``."""
    speed, gain = settings.paper_mm_per_s, settings.gain_mm_per_mv
    square_in = SQUARE_MM / MM_PER_INCH
    width_in = WIDTH_IN + max(0.0, speed - USUAL_SPEED) * PAGE_SECONDS / MM_PER_INCH
    width_s = width_in * (SQUARE_MM / speed) / square_in
    height_mv = HEIGHT_IN * (SQUARE_MM / gain) / square_in
    square_s = SQUARE_MM / speed
    margin_s = float(np.floor(((width_s - PAGE_SECONDS) / 2) / square_s) * square_s)
    rows, strips = LAYOUTS[settings.layout], settings.rhythm
    pitch = height_mv / (len(rows) + len(strips) + 2)
    share = PAGE_SECONDS / len(rows[0])
    panels = []
    baseline = pitch / 2 + max(len(strips) - 1, 0) * pitch
    for row, leads in reversed(list(enumerate(rows))):
        baseline += pitch
        for column, lead in enumerate(leads):
            begin = column * share
            left = (begin, PULSE_S, margin_s)
            panels.append(Panel(lead, False, row, column, begin, begin + share, left, (baseline,)))
    for place, lead in enumerate(strips):
        base = (pitch / 2 + (len(strips) - 1 - place) * pitch, -STRIP_DOWN_MM / gain, STRIP_UP_MM / gain)
        left = (margin_s, PULSE_S)
        panels.append(Panel(lead, True, len(rows) + place, 0, 0.0, float(PAGE_SECONDS), left, base))
    return Layout(
        settings,
        round(width_in * settings.dpi),
        round(HEIGHT_IN * settings.dpi),
        width_s,
        height_mv,
        margin_s,
        pitch,
        tuple(panels),
    )
