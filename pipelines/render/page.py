"""One page: ten seconds of twelve leads on ECG paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pipelines.render.geometry import Geometry, geometry_of
from pipelines.render.layout import (
    GAIN_AT_MM,
    NAME_BELOW_MM,
    SPEED_AT_MM,
    STRIP_NAME_BELOW_MM,
    Layout,
    lay_out,
)
from pipelines.render.leads import first_sample, one_page
from pipelines.render.lettering import PrintedWord, place, print_words
from pipelines.render.press import press_for
from pipelines.render.settings import PUBLISHED, PageSettings
from warehouse.errors import UsageError


@dataclass(frozen=True)
class Page:
    """``pixels`` (H, W, 3) uint8 RGB, the caller's own."""

    pixels: np.ndarray
    geometry: Geometry


def draw_page(
    leads: Mapping[str, np.ndarray], hz: float, grey: float, settings: PageSettings = PUBLISHED
) -> Page:
    """Print one page.

    ``leads``: name → (n,) mV of ten seconds, NaN = missing: the twelve, or the eight from which they follow; other
    leads are left aside. ``grey``: of traces, pulses and separators, 0 black to 1 white; black-and-white pages are
    drawn in black. Values are drawn as they are: no filter, no mean taken off, cut off by the page's edge alone.
    Raises NoPage for a record that cannot be printed, UsageError for a grey that is none.
    """
    from pipelines.render.opencv import cv2

    if not isinstance(grey, int | float | np.number) or not 0 <= grey <= 1:
        raise UsageError(f"trace grey: found {grey!r}; expected 0 (black) to 1 (white)")
    twelve = one_page(leads, hz)
    layout = lay_out(settings)
    press = press_for(layout)
    press.clean()
    grey = 0.0 if settings.is_black_and_white else grey
    for panel in layout.panels:
        first, end = first_sample(panel.begin_s, hz), first_sample(panel.end_s, hz)
        press.draw_lead(panel, twelve[panel.lead][first:end], hz, first / hz - panel.begin_s, grey)
    press.draw_frame()
    pixels = cv2.cvtColor(press.canvas, cv2.COLOR_RGBA2RGB)
    words = words_of(layout)
    print_words(pixels, words)
    return Page(pixels, geometry_of(layout, hz, twelve, words))


@lru_cache(maxsize=32)
def words_of(layout: Layout) -> tuple[PrintedWord, ...]:
    """Lead names in the order of the panels, then paper speed and gain."""
    settings = layout.settings
    pens = []
    for panel in layout.panels:
        below = layout.mv(STRIP_NAME_BELOW_MM if panel.rhythm else NAME_BELOW_MM)
        pens.append((panel.lead, panel.left_s, panel.baseline_mv - below))
    for text, (x, y) in (
        (f"{settings.paper_mm_per_s:g}mm/s", SPEED_AT_MM),
        (f"{settings.gain_mm_per_mv:g}mm/mV", GAIN_AT_MM),
    ):
        pens.append((text, layout.s(x), layout.mv(y)))
    return tuple(
        place(text, (x * layout.px_per_s, layout.height - y * layout.px_per_mv), settings.dpi)
        for text, x, y in pens
    )
