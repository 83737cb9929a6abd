"""Seeded augmentation of heartbeats: shift, scale, offset and noise, a function of (seed, epoch, instance, copy).

Every draw is a hash of its key, not a state that moves on: the batch, the order and what was drawn before do not
count, so a training that goes on draws what an unbroken one would have drawn.
"""

from __future__ import annotations

import numpy as np

SHIFT, SCALE, OFFSET, NOISE = 3, 0.1, 0.02, 0.01
"""Most samples to either side; standard deviations of the factor, of the baseline and of each sample, where the
segment reaches from 0 to 1. Ours: the paper names shift, scale and noise and no amounts."""

_STEP = np.uint64(0x9E3779B97F4A7C15)


def _mixed(keys: np.ndarray) -> np.ndarray:
    """splitmix64's finaliser (Steele, Lea & Flood 2014): uint64 keys → uint64 that look drawn."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _keys(seed: int, epoch: int, instances: np.ndarray, copies: np.ndarray, width: int) -> np.ndarray:
    """(n, width) keys of the draws."""
    key = np.full(len(instances), seed, np.uint64)
    for part in (np.full(len(instances), epoch), instances, copies):
        key = _mixed(key + _STEP + part.astype(np.uint64) * np.uint64(0xD1342543DE82EF95))
    return _mixed(key[:, None] + _STEP * np.arange(1, width + 1, dtype=np.uint64))


def _normal(keys: np.ndarray) -> np.ndarray:
    """float32 of a normal distribution, two from the halves of each key (Box and Muller): (n, w) → (n, 2 w)."""
    high = ((keys >> np.uint64(32)).astype(np.float32) + 1) / np.float32(2**32 + 1)
    turn = (keys & np.uint64(0xFFFFFFFF)).astype(np.float32) * np.float32(2 * np.pi / 2**32)
    far = np.sqrt(-2 * np.log(np.minimum(high, np.float32(1))))
    return np.concatenate([far * np.cos(turn), far * np.sin(turn)], axis=1)


def augmented(
    values: np.ndarray, seed: int, epoch: int, instances: np.ndarray, copies: np.ndarray
) -> np.ndarray:
    """float32 (n, w) segments changed a little; ``instances`` and ``copies`` (n,) name each draw.

    What follows a segment's last value that is not 0 is filling and stays 0. A shift repeats the value at the edge.
    """
    width = values.shape[1]
    keys = _keys(seed, epoch, instances, copies, 2 + (width + 1) // 2)
    shift = (keys[:, 0] % np.uint64(2 * SHIFT + 1)).astype(np.int64) - SHIFT
    normal = _normal(keys[:, 1:])
    half = normal.shape[1] // 2
    scale, offset = 1 + SCALE * normal[:, :1], OFFSET * normal[:, half : half + 1]
    noise = np.delete(normal, (0, half), axis=1)[:, :width]
    length = width - np.argmax(values[:, ::-1] != 0, axis=1)
    length[~values.any(axis=1)] = 0
    made = values * scale + offset + NOISE * noise
    made[np.arange(width) >= length[:, None]] = 0
    at = np.clip(np.arange(width) + shift[:, None], 0, width - 1)
    return np.take_along_axis(made, at, axis=1).astype(np.float32, copy=False)
