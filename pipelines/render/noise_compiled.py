"""`add_noise` as one loop over the pixels, compiled by numba (extra ``fast``): drawn, rounded, added, clipped at once.

numba draws from NumPy's own generator, so the field is the same. The first call compiles, half a CPU second; what is
compiled is kept beside this file, or in numba's cache folder where that cannot be written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from pipelines.render.noise import noise_generator


def add_noise_compiled(pixels: np.ndarray, seed: int, sd: float, top: int, left: int) -> np.ndarray:
    """As :func:`pipelines.render.noise.add_noise`, the same bytes. Raises ImportError without numba."""
    height, width = pixels.shape[:2]
    out = np.empty((height - 2 * top, width - 2 * left, 3), np.uint8)
    compiled_loop()(noise_generator(seed), np.ascontiguousarray(pixels), float(sd), top, left, out)
    return out


@cache
def compiled_loop() -> Callable[..., None]:
    """The loop, compiled at its first call. Raises ImportError without numba, or for a NumPy too new for it."""
    import numba

    try:
        return numba.njit(_loop, cache=True)
    except RuntimeError:  # no folder that numba may write to: compile in every process
        return numba.njit(_loop)


def _loop(generator, pixels, sd, top, left, out):
    height, width = out.shape[:2]
    for row in range(top + height):
        for column in range(pixels.shape[1]):
            noise = np.int32(np.rint(np.float32(generator.standard_normal() * sd)))
            x = column - left
            if row >= top and 0 <= x < width:
                for channel in range(3):
                    value = pixels[row, column, channel] + noise
                    out[row - top, x, channel] = min(max(value, 0), 255)
