"""Words on a page: masks cut once with matplotlib 3.8.4 (`cut_lettering`), blended as its renderer blends text.

A text or a resolution that the cut lettering lacks is set by the matplotlib that is installed; such pages may differ
by a few grey levels at the edges of letters between matplotlib releases.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ATLAS, INDEX = HERE / "lettering.png", HERE / "lettering.json"


@dataclass(frozen=True)
class Word:
    """``mask`` (h, w) uint8 coverage. ``x``, ``y`` are added to the pen before it is rounded to a pixel."""

    mask: np.ndarray
    x: float
    y: float


@dataclass(frozen=True)
class PrintedWord:
    """A word at its place: ``box`` is left, top, right, bottom of its mask, px; right and bottom are outside."""

    text: str
    mask: np.ndarray
    box: tuple[int, int, int, int]

    @cached_property
    def ink(self) -> tuple[int, int, int, int]:
        """The same of what is printed; a mask has an empty rim."""
        rows, columns = (np.flatnonzero(self.mask.any(axis=axis)) for axis in (1, 0))
        left, top = self.box[:2]
        return (
            left + int(columns[0]),
            top + int(rows[0]),
            left + int(columns[-1]) + 1,
            top + int(rows[-1]) + 1,
        )


@lru_cache(maxsize=256)
def word(text: str, dpi: int) -> Word:
    """The mask of a text at a resolution: the cut one, else one set by the installed matplotlib."""
    place = _index()["words"].get(str(dpi), {}).get(text)
    if place is None:
        return _set(text, dpi)
    left, top, width, height, x, y = place
    return Word(_atlas()[top : top + height, left : left + width], x, y)


def place(text: str, pen: tuple[float, float], dpi: int) -> PrintedWord:
    """A text that begins at ``pen``: x and baseline in px, y down."""
    cut = word(text, dpi)
    height, width = cut.mask.shape
    left, bottom = round(pen[0] + cut.x), round(pen[1] + cut.y) + 1
    return PrintedWord(text, cut.mask, (left, bottom - height, left + width, bottom))


def print_words(pixels: np.ndarray, words: Sequence[PrintedWord]) -> None:
    """Blend ``words`` in black into ``pixels`` (H, W, 3) uint8, in place; what lies outside is cut off."""
    height, width = pixels.shape[:2]
    for each in words:
        left, top, right, bottom = each.box
        x0, y0, x1, y1 = max(left, 0), max(top, 0), min(right, width), min(bottom, height)
        if x0 < x1 and y0 < y1:
            under = pixels[y0:y1, x0:x1]
            mask = each.mask[y0 - top : y1 - top, x0 - left : x1 - left]
            under[...] = _blended()[mask[..., np.newaxis], under]


@lru_cache(maxsize=1)
def _blended() -> np.ndarray:
    """(256, 256) uint8: coverage, value below → value, black on an opaque page in Agg's fixed-point arithmetic."""
    cover, below = np.arange(256)[:, np.newaxis], np.arange(256)
    return (255 * below * (256 - cover) // (255 * 256 + cover)).astype(np.uint8)


@lru_cache(maxsize=1)
def _index() -> dict:
    return json.loads(INDEX.read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _atlas() -> np.ndarray:
    from PIL import Image

    with Image.open(ATLAS) as image:
        return 255 - np.asarray(image)


def _set(text: str, dpi: int) -> Word:
    """By the installed matplotlib: on an empty canvas the alpha that text leaves is its coverage."""
    import matplotlib
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    font = FontProperties(
        fname=Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf"), size=_index()["points"]
    )
    pad = dpi // 4
    width, height, _ = RendererAgg(1, 1, dpi).get_text_width_height_descent(text, font, ismath=False)
    renderer = RendererAgg(int(width) + 2 * pad, int(height) + 2 * pad, dpi)
    baseline = int(height) + pad
    renderer.draw_text(renderer.new_gc(), pad, baseline, text, font, 0)
    mask = np.array(renderer.buffer_rgba())[..., 3]
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    ink = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return Word(ink, int(columns[0]) - pad, int(rows[-1]) - baseline)
