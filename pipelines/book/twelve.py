"""A 12-lead strip on ECG paper as a printer lays it out: four columns of 2.5 s, and lead II below over ten seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipelines.paper import MM_PER_MV, MM_PER_S, SQUARE, grid
from warehouse.errors import HomeError
from warehouse.home import Home
from warehouse.spec import Spec

ROWS = (("I", "aVR", "V1", "V4"), ("II", "aVL", "V2", "V5"), ("III", "aVF", "V3", "V6"))
STRIP = "II"
COLUMN_S = 2.5
LEFT = 15
"""Paper before the first column, mm; the calibration mark stands here."""
RIGHT = 5
PITCH = 25
"""Between the baselines of two rows, mm."""
TOP = 20
"""The first baseline, mm from the upper edge."""
STEP = 0.05
MOST_HZ = 250
"""Of what is sampled faster every second, third … sample is drawn."""
BOUND = 0.95 * PITCH
"""A trace goes so far from its baseline, mm; beyond that it is cut off."""


@dataclass(frozen=True)
class Trace:
    lead: str
    x: float
    y: float
    path: str


@dataclass(frozen=True)
class Sheet:
    """A sheet; lengths in mm, y down. Paths are in units of ``step`` mm. ``drawn_hz`` is what was drawn of ``hz``."""

    traces: tuple[Trace, ...]
    hz: int
    drawn_hz: float
    cut: bool

    width = round(LEFT + 4 * COLUMN_S * MM_PER_S + RIGHT)
    height = TOP + 3 * PITCH + 15
    step = STEP
    scale = (MM_PER_S, MM_PER_MV)

    @property
    def fine(self) -> str:
        return grid(self.width, self.height, 1)

    @property
    def coarse(self) -> str:
        return grid(self.width, self.height, SQUARE)

    @property
    def marks(self) -> str:
        """The calibration pulse of each row: 1 mV for 0.2 s."""
        bases = [TOP + row * PITCH for row in range(len(ROWS) + 1)]
        return "".join(f"M{LEFT - 9} {base}h2v-{MM_PER_MV}h{SQUARE}v{MM_PER_MV}h2" for base in bases)

    @property
    def borders(self) -> str:
        """Where one lead of a row ends and the next begins."""
        places = [LEFT + column * COLUMN_S * MM_PER_S for column in range(1, len(ROWS[0]))]
        return "".join(f"M{x} {TOP + row * PITCH - 4}v8" for row in range(len(ROWS)) for x in places)


def lay_out(leads: Mapping[str, np.ndarray], hz: int) -> Sheet:
    """Draw ten seconds of twelve leads, (n,) mV each with NaN where missing."""
    every = max(1, -(-hz // MOST_HZ))
    traces, cut = [], False
    for row, names in enumerate(ROWS):
        for column, lead in enumerate(names):
            begin = round(column * COLUMN_S * hz)
            values = leads[lead][begin : begin + round(COLUMN_S * hz)]
            x, y = LEFT + column * COLUMN_S * MM_PER_S, TOP + row * PITCH
            path, beyond = _path(values[::every], x, y, hz / every)
            traces.append(Trace(lead, x, y, path))
            cut = cut or beyond
    y = TOP + len(ROWS) * PITCH
    path, beyond = _path(leads[STRIP][::every], LEFT, y, hz / every)
    traces.append(Trace(STRIP, LEFT, y, path))
    return Sheet(tuple(traces), hz, hz / every, cut or beyond)


def _path(mv: np.ndarray, x: float, y: float, hz: float) -> tuple[str, bool]:
    """Samples as an SVG path in steps, a gap where some are missing, and whether any was cut off."""
    down = -mv * MM_PER_MV
    beyond = bool((np.abs(down) > BOUND).any())
    places = np.rint((x + np.arange(len(mv)) * MM_PER_S / hz) / STEP).astype(int)
    there = ~np.isnan(mv)
    heights = np.rint((y + np.clip(np.nan_to_num(down), -BOUND, BOUND)) / STEP).astype(int)
    pieces: list[str] = []
    before: tuple[int, int] | None = None
    for place, height, is_there in zip(places.tolist(), heights.tolist(), there.tolist(), strict=True):
        if not is_there:
            before = None
        elif before is None:
            pieces.append(f"M{place} {height}l")
            before = (place, height)
        else:
            pieces.append(f"{place - before[0]} {height - before[1]} ")
            before = (place, height)
    return "".join(pieces).replace(" M", "M").replace(" -", "-").strip(), beyond


def sheets(home: Home, spec: Spec, record_ids: Sequence[str]) -> dict[str, Sheet | str]:
    """Record → its sheet, or in words why there is none; records without a stored signal are left out."""
    from pipelines.render.leads import NoPage, one_page
    from pipelines.render.signals import find_records, leads_of, read_group, signal_table

    try:
        _, table = signal_table(home, spec)
    except HomeError:
        return {}
    found: dict[str, Sheet | str] = {}
    for group, rows in find_records(table.files, record_ids).items():
        content = read_group(group)
        for record_id, row in rows.items():
            try:
                leads, hz = leads_of(content, row)
                found[record_id] = lay_out(one_page(leads, hz), hz)
            except NoPage as error:
                found[record_id] = str(error.problems[0].found)
    return found
