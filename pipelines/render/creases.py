"""Paper that was folded and crumpled: shading only, nothing on the page moves. Off at the published settings.

As the generator has them: two families of evenly spaced creases, the second at a right angle to the first, brighter
along three steps on either side; then a texture of wrinkles laid on in hard light, its mean below mid-grey, so that
the paper darkens. Its twenty textures are photographs; ours are computed, twenty as well, so a page is shaded alike
but not to the pixel.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pipelines.render.draws import Draws
from pipelines.render.opencv import cv2

PROFILE = ((2.5, 1.25), (7.5, 1.15), (12.5, 1.05))
"""Up to so many px from the middle of a crease, so many times brighter; the generator's lines, at any resolution."""
TEXTURE_PX = 250
MEAN, CONTRAST = 0.4, 0.06
"""Mean of a texture as the generator shifts it; its standard deviation is ours."""
HARD_FROM = 0.6
"""Where hard light turns from darkening to lightening; the generator's threshold, which makes a step there."""
OCTAVES = (4, 8, 16, 32)
STRIPE = 100


def shade(pixels: np.ndarray, draws: Draws) -> np.ndarray:
    """uint8 (H, W, 3) RGB → the same with the drawn creases and wrinkles; the page itself stays as it was."""
    height, width = pixels.shape[:2]
    creases = crease_light(height, width, draws.crease_angle, draws.creases_across, draws.creases_down)
    wrinkles = cv2.resize(wrinkle_texture(draws.texture), (width, height))
    shaded = np.empty(pixels.shape, np.uint8)
    for row in range(0, height, STRIPE):
        rows = slice(row, row + STRIPE)
        page = pixels[rows].astype(np.float32) * (creases[rows, :, np.newaxis] / np.float32(255))
        texture = wrinkles[rows, :, np.newaxis]
        dark, light = 2 * page * texture, 1 - 2 * (1 - page) * (1 - texture)
        page = np.where(texture > HARD_FROM, light, dark)
        shaded[rows] = np.clip(255 * page, 0, 255)
    return shaded


def crease_light(height: int, width: int, degrees: int, across: int, down: int) -> np.ndarray:
    """float32 (H, W): how much brighter the paper is. ``across`` creases rise to the right by ``degrees``."""
    angle = np.deg2rad(degrees)
    sin, cos = np.float32(np.sin(angle)), np.float32(np.cos(angle))
    x = np.arange(width, dtype=np.float32) + np.float32(0.5)
    y = np.arange(height, dtype=np.float32)[:, np.newaxis] + np.float32(0.5)
    light = np.ones((height, width), np.float32)
    for number, along in ((across, x * sin + y * cos), (down, x * cos - y * sin)):
        apart = _distance(along, number)
        for reach, brighter in PROFILE:
            np.maximum(light, brighter, out=light, where=apart <= reach)
    return cv2.GaussianBlur(light, (3, 3), 0)


def _distance(along: np.ndarray, number: int) -> np.ndarray:
    """px from the nearest of ``number`` creases that divide the extent of ``along`` evenly."""
    first, last = float(along.min()), float(along.max())
    gap = np.float32((last - first) / (number + 1))
    place = (along - np.float32(first)) / gap
    nearest = np.clip(np.rint(place), 1, number)
    return np.abs(place - nearest) * gap


@lru_cache(maxsize=20)
def wrinkle_texture(texture: int) -> np.ndarray:
    """float32 (250, 250), 0 to 1: ridges of random heights in four sizes, lit from the upper left."""
    random = np.random.default_rng([texture, TEXTURE_PX])
    relief = np.zeros((TEXTURE_PX, TEXTURE_PX), np.float32)
    for cells in OCTAVES:
        heights = random.uniform(-1, 1, (cells + 1, cells + 1)).astype(np.float32)
        smooth = cv2.resize(heights, (TEXTURE_PX, TEXTURE_PX), interpolation=cv2.INTER_CUBIC)
        relief += (1 - np.abs(smooth)) * np.float32(OCTAVES[0] / cells)
    slope = sum(np.gradient(relief))
    slope = (slope - slope.mean()) / slope.std()
    return np.clip(MEAN + CONTRAST * slope, 0, 1).astype(np.float32)
