"""A plain page made to look scanned: noise, then crop, then light, to the byte as imgaug 0.4.0 does it.

::

    page ──crease──▶ ──turn──▶ noise, clip ──▶ crop, stretch back ──▶ colour temperature
          (off)       (off)    same in R, G, B   OpenCV, INTER_AREA      a table of 3 × 256

The result is a function of the pixels and the draws alone: no global generator is read or changed, and the number
of OpenCV's threads does not matter.
"""

from __future__ import annotations

import numpy as np

from pipelines.render.creases import shade
from pipelines.render.draws import Draws
from pipelines.render.light import light_table
from pipelines.render.noise import noise_adder
from pipelines.render.opencv import cv2

STRIPE = 100
"""Rows at a time through the light, so that they stay in the cache."""


def augment(pixels: np.ndarray, draws: Draws, out: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The page as scanned, and the map from plain to augmented coordinates.

    ``pixels``: uint8 (H, W, 3) RGB; the result has the same shape. The map is float64 (2, 3): (x, y, 1) of the plain
    page, x to the right and y down from the corner of the canvas, to those of the result. ``out``, where given, takes
    the result: a C-contiguous array like ``pixels``, or ``pixels`` itself when the plain page is not needed any more.
    Raises ValueError for other pixels and for the draws of a plain image.
    """
    page = laid_on(pixels, draws)
    if out is not None and not (out.dtype == np.uint8 and out.shape == page.shape and out.flags.c_contiguous):
        raise ValueError(f"out: found {out.dtype} {out.shape}; expected C-contiguous uint8 {page.shape}")
    height, width = page.shape[:2]
    if draws.rotation:
        page = _rotated(page, draws.rotation)
    top, left = crop_pixels(height, width, draws.crop)
    scanned = noise_adder()(page, draws.seed, draws.noise, top, left)
    out = np.empty(page.shape, np.uint8) if out is None else out
    if scanned.shape == out.shape:
        np.copyto(out, scanned)
    else:
        cv2.resize(scanned, (width, height), dst=out, interpolation=cv2.INTER_AREA)
    _lit(out, light_table(draws.temperature))
    return out, geometry_map(height, width, draws)


def laid_on(pixels: np.ndarray, draws: Draws) -> np.ndarray:
    """What the augmentation begins with, here and in imgaug: the checked page, with its creases where drawn."""
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError(f"pixels: found {pixels.dtype} {pixels.shape}; expected uint8 (height, width, 3)")
    if draws.noise is None or draws.crop is None or draws.temperature is None:
        raise ValueError(f"draws of seed {draws.seed}: found a plain image's; expected noise, crop and light")
    return pixels if draws.crease_angle is None else shade(pixels, draws)


def geometry_map(height: int, width: int, draws: Draws) -> np.ndarray:
    """float64 (2, 3): plain coordinates to augmented ones; the rotation about the page's centre, then the crop."""
    top, left = crop_pixels(height, width, draws.crop)
    crop = crop_map(height, width, top, left)
    if not draws.rotation:
        return crop
    return crop @ np.vstack([_turn(draws.rotation, width / 2, height / 2), [0.0, 0.0, 1.0]])


def crop_pixels(height: int, width: int, fraction: float) -> tuple[int, int]:
    """Rows cut from top and bottom, columns from left and right; a tie goes to the even number, in float32."""
    fraction = np.float32(fraction)
    return int(np.rint(np.float32(height) * fraction)), int(np.rint(np.float32(width) * fraction))


def crop_map(height: int, width: int, top: int, left: int) -> np.ndarray:
    """float64 (2, 3): plain coordinates to those after the crop is stretched to the page's size again."""
    x, y = width / (width - 2 * left), height / (height - 2 * top)
    return np.array([[x, 0.0, -left * x], [0.0, y, -top * y]])


def _turn(degrees: int, x: float, y: float) -> np.ndarray:
    """float64 (2, 3): a turn about (x, y), clockwise as seen since y points down."""
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    return np.array([[cos, -sin, x - cos * x + sin * y], [sin, cos, y - sin * x - cos * y]])


def _rotated(pixels: np.ndarray, degrees: int) -> np.ndarray:
    """Turned about its centre, linear interpolation, black where the page is not."""
    height, width = pixels.shape[:2]
    # OpenCV counts from the centre of the first pixel.
    turn = _turn(degrees, width / 2 - 0.5, height / 2 - 0.5)
    return cv2.warpAffine(pixels, turn, (width, height), flags=cv2.INTER_LINEAR)


def _lit(pixels: np.ndarray, table: np.ndarray) -> None:
    """In place; a channel at full strength (red in warm light, blue in cold) is left as it is."""
    changed = [channel for channel in range(3) if table[channel, 255] != 255]
    for row in range(0, len(pixels), STRIPE):
        stripe = pixels[row : row + STRIPE]
        channels = list(cv2.split(stripe))
        for channel in changed:
            cv2.LUT(channels[channel], table[channel], dst=channels[channel])
        cv2.merge(channels, stripe)
