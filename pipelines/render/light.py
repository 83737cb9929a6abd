"""Colour temperature: every channel scaled by the colour of a black body, white being 255.

``blackbody.csv`` holds the colours in steps of 100 K as Mitchell Charity's table (vendian.org/mncharity/dir3/blackbody,
2-degree observer) gives them; between two steps they are interpolated linearly. All arithmetic is in float32, as
imgaug's is: another precision rounds some values the other way.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np


@cache
def _blackbody() -> np.ndarray:
    """float32 (391, 3): red, green, blue as fractions of 255 at 1000, 1100, … 40000 K."""
    text = files("pipelines.render").joinpath("blackbody.csv").read_text(encoding="ascii")
    rows = [line.split(",") for line in text.splitlines()[1:]]
    return np.array(rows, np.float32)[:, 1:] / np.float32(255)


def multipliers(kelvin: float) -> np.ndarray:
    """float32 (3,): what red, green and blue are multiplied by; 1000 to 40000 K, ValueError beyond."""
    if not 1000 <= kelvin <= 40000:
        raise ValueError(f"temperature: found {kelvin!r} K; expected 1000 to 40000")
    place = np.float32(kelvin) / np.float32(100) - np.float32(10)
    below, above = _blackbody()[[int(np.floor(place)), int(np.ceil(place))]]
    return below + (place - np.floor(place)) * (above - below)


def light_table(kelvin: float) -> np.ndarray:
    """uint8 (3, 256): the value that each value of red, green and blue becomes."""
    return np.rint(np.arange(256, dtype=np.float32) * multipliers(kelvin)[:, None]).astype(np.uint8)
