"""Pixels to the bytes of an image file: no EXIF, no comment, no time, nothing of the record."""

from __future__ import annotations

import numpy as np

from pipelines.render.opencv import cv2

QUALITY = 90
"""input.render.stored_as of the spec."""


def encode(pixels: np.ndarray, quality: int = QUALITY) -> bytes:
    """The JPEG of uint8 (H, W, 3) RGB: baseline, chroma halved both ways, as the reference's encoder writes it."""
    return _encoded(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, quality])


def encode_png(pixels: np.ndarray) -> bytes:
    """The PNG of uint8 (H, W, 3) RGB: 8 bits a channel, no alpha. Its bytes may change with OpenCV's release."""
    return _encoded(".png", pixels, [])


def _encoded(suffix: str, pixels: np.ndarray, options: list[int]) -> bytes:
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError(f"pixels: found {pixels.dtype} {pixels.shape}; expected uint8 (height, width, 3)")
    _, encoded = cv2.imencode(suffix, cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), options)
    return encoded.tobytes()
