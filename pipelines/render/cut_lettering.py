"""Cuts the lettering that pages are printed with: ``python -m pipelines.render.cut_lettering`` writes it anew.

Glyph shapes differ between matplotlib releases, and the reference pages were set with 3.8.4. So the words are cut
once with that release and packaged; no page depends on the release that is installed. To cut again::

    python3 -m venv cutting
    cutting/bin/pip install 'matplotlib==3.8.4' 'numpy<2'
    cutting/bin/python -m pipelines.render.cut_lettering

``lettering.png`` shows all words, black on white, a row a resolution; ``lettering.json`` says where each stands in it:
left, top, width, height, and what the renderer adds to the pen's x and y before it rounds them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from warehouse.leads import LEADS

RELEASE = "3.8.4"
POINTS = 11
DPI = (72, 96, 100, 150, 200, 250, 300, 400, 600)
WORDS = (
    *LEADS,
    *(f"{speed:g}mm/s" for speed in (12.5, 25, 50, 100)),
    *(f"{gain:g}mm/mV" for gain in (2.5, 5, 10, 20)),
)
HERE = Path(__file__).parent
ATLAS, INDEX = HERE / "lettering.png", HERE / "lettering.json"


def cut(word: str, dpi: int) -> tuple[np.ndarray, float, float]:
    """Coverage (h, w) uint8 of a word, and what is added to the pen's x and y (down), px."""
    from matplotlib.backends.backend_agg import RendererAgg, get_hinting_flag
    from matplotlib.font_manager import FontProperties

    font = RendererAgg(1, 1, dpi)._prepare_font(FontProperties(size=POINTS))
    font.set_text(word, 0, flags=get_hinting_flag())
    font.draw_glyphs_to_bitmap(antialiased=True)
    x, y = font.get_bitmap_offset()
    return np.array(font, dtype=np.uint8), x / 64, (y + font.get_descent()) / 64


def main() -> None:
    import matplotlib
    from PIL import Image

    if matplotlib.__version__ != RELEASE:
        raise SystemExit(f"the lettering is matplotlib {RELEASE}'s; found {matplotlib.__version__}")
    matplotlib.rcdefaults()
    rows, index, top = [], {}, 0
    for dpi in DPI:
        row, left = [], 0
        index[str(dpi)] = {}
        for word in WORDS:
            mask, x, y = cut(word, dpi)
            height, width = mask.shape
            index[str(dpi)][word] = [left, top, width, height, x, y]
            row.append(mask)
            left += width
        high = max(len(mask) for mask in row)
        rows.append(np.hstack([np.pad(mask, ((0, high - len(mask)), (0, 0))) for mask in row]))
        top += high
    wide = max(row.shape[1] for row in rows)
    atlas = np.vstack([np.pad(row, ((0, 0), (0, wide - row.shape[1]))) for row in rows])
    Image.fromarray(255 - atlas).save(ATLAS, optimize=True)
    lines = [
        f'  "{dpi}": {{\n'
        + ",\n".join(f"    {json.dumps(word)}: {place}" for word, place in words.items())
        + "\n  }"
        for dpi, words in index.items()
    ]
    head = f'"font": "DejaVu Sans", "points": {POINTS}, "matplotlib": "{RELEASE}"'
    INDEX.write_text(f'{{\n  {head},\n  "words": {{\n' + ",\n".join(lines) + "\n  }\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
