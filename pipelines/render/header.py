"""Printed text in the upper left corner of a page, where the generator puts its header. Off at the published settings.

The text is the caller's, row by row; nothing is read from a record here, and the task stage prints none, so that no
image says whose it is. No handwriting.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipelines.render.lettering import PrintedWord, place, print_words
from pipelines.render.settings import MM_PER_INCH, PUBLISHED, PageSettings

LEFT_MM = 1.25
COLUMN_MM = 75.0
FIRST_LINE_MM = 5.9
LINE_MM = 5.0
"""First text and the distance of columns from the left edge; first baseline and the distance of lines from the top.
The generator's 0.05 s, 3 s, 21 of 21.59 mV and 0.5 mV at 25 mm/s and 10 mm/mV."""


def print_header(
    pixels: np.ndarray, rows: Sequence[Sequence[str]], settings: PageSettings = PUBLISHED
) -> tuple[PrintedWord, ...]:
    """Print ``rows`` (each a few texts, one a column) into the plain page ``pixels`` (H, W, 3) uint8, in place.

    Gives the printed words with their boxes on the plain page; the map of the augmentation takes them to the image.
    What lies outside the page is cut off. Raises ValueError for text that has no glyphs: a line break, a tab.
    """
    px = settings.dpi / MM_PER_INCH
    words = []
    for line, texts in enumerate(rows):
        for column, text in enumerate(texts):
            if not text.isprintable():
                raise ValueError(
                    f"header row {line + 1}: found {text!r}; expected printable text, a line a row"
                )
            if text.strip():
                pen = ((LEFT_MM + column * COLUMN_MM) * px, (FIRST_LINE_MM + line * LINE_MM) * px)
                words.append(place(text, pen, settings.dpi))
    print_words(pixels, words)
    return tuple(words)
