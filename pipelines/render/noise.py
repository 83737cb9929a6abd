"""Gaussian noise on a page: one value a pixel, the same in red, green and blue, rounded, clipped.

The field is imgaug 0.4.0's to the bit, with the generator's list of four augmenters. Rows go through it in stripes that
stay in the cache. With the extra ``fast`` a compiled loop gives the same bytes in half the time (`noise_compiled`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from pipelines.render.opencv import cv2

STRIPE = 25
"""Rows at a time; from 17 to 50 the cost is the same."""

SKIPPED_WORDS = 12
"""What imgaug takes from ``SFC64(seed)`` before the noise: the seeds of its own generators. Found by trial; the
comparison with imgaug holds it (tests/pipelines/render/pairs.py)."""

AddNoise = Callable[[np.ndarray, int, float, int, int], np.ndarray]


@cache
def noise_adder() -> AddNoise:
    """The compiled loop where numba is installed and fits NumPy, else `add_noise`: the same bytes."""
    from pipelines.render.noise_compiled import add_noise_compiled, compiled_loop

    try:
        compiled_loop()
    except ImportError:
        return add_noise
    return add_noise_compiled


def add_noise(pixels: np.ndarray, seed: int, sd: float, top: int, left: int) -> np.ndarray:
    """uint8 (H, W, 3) → (H - 2 top, W - 2 left, 3): the page without its margins, noise of ``sd`` counts added.

    One draw a pixel of the whole page, in double precision; its product with ``sd`` goes to float32 before it is
    rounded to the nearest (ties to even), which is imgaug's order. Rows below the crop are not drawn at all.
    """
    height, width = pixels.shape[:2]
    out = np.empty((height - 2 * top, width - 2 * left, 3), np.uint8)
    generator = noise_generator(seed)
    generator.standard_normal((top, width))
    normal = np.empty((STRIPE, width))
    product = np.empty((STRIPE, width), np.float32)
    grey = np.empty((STRIPE, out.shape[1]), np.int16)
    rgb = np.empty((STRIPE, out.shape[1], 3), np.int16)
    for row in range(0, len(out), STRIPE):
        stripe = out[row : row + STRIPE]
        rows = len(stripe)
        drawn, rounded, values, sums = normal[:rows], product[:rows], grey[:rows], rgb[:rows]
        generator.standard_normal(out=drawn)
        np.multiply(drawn, sd, out=rounded, casting="same_kind")
        np.rint(rounded, out=rounded)
        np.copyto(values, rounded[:, left : width - left], casting="unsafe")
        cv2.merge([values, values, values], sums)
        np.add(sums, pixels[top + row : top + row + rows, left : width - left], out=sums)
        np.clip(sums, 0, 255, out=sums)
        np.copyto(stripe, sums, casting="unsafe")
    return out


def noise_generator(seed: int) -> np.random.Generator:
    """Where the noise field of an image begins: imgaug's global generator after what its augmenters took."""
    bits = np.random.SFC64(seed)
    bits.random_raw(SKIPPED_WORDS, output=False)
    return np.random.Generator(bits)
