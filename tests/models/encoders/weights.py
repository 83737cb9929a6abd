"""Weights that are a function of their keys alone: uniform noise of an integer hash, scaled so that signals live on.

The goldens' rule B, written anew, so that tests and benchmarks need neither a checkpoint nor ../shared. Biases and
tokens are small, norms near one, matrices have the variance of their fan-in.
"""

from __future__ import annotations

import math
import re
import zlib

import numpy as np
import torch

from models import encoders
from models.encoders.contract import Encoder

KEPT = re.compile(r"(^|\.)pos_embed$|pos_embedding$|decoder_pos_embed$|\.kernel\.kernel\.(B|P|Q|w|omega|z)$")
"""Constants of the architecture, which stay as the encoder builds them."""


def filled(name: str) -> Encoder:
    """An encoder by name with these weights, in eval mode."""
    encoder = encoders.create(name)
    fill(encoder.state_module)
    return encoder


def fill(module: torch.nn.Module) -> torch.nn.Module:
    """Set every parameter and buffer of an encoder's ``state_module``; returns it."""
    state = module.state_dict()
    with torch.no_grad():
        for key in sorted(state):  # of two keys of one tensor the last one wins
            if not KEPT.search(key):
                state[key].copy_(torch.from_numpy(values(key, tuple(state[key].shape))))
    return module


def values(key: str, shape: tuple[int, ...]) -> np.ndarray:
    leaf = key.rpartition(".")[2]
    if leaf == "num_batches_tracked":
        return np.zeros(shape, np.int64)
    noise = _noise(key, math.prod(shape)).reshape(shape)
    if leaf == "running_mean":
        made = 0.01 * noise
    elif leaf == "running_var":
        made = 1 + 0.1 * np.abs(noise)
    elif leaf == "log_dt":
        low, high = math.log(1e-3), math.log(1e-1)
        made = low + (high - low) * (0.5 + 0.5 * noise / math.sqrt(3))
    elif leaf in ("original0", "weight_g") or (leaf == "weight" and len(shape) < 2):
        made = 1 + 0.1 * noise
    elif leaf == "bias" or len(shape) < 2:
        made = 0.02 * noise
    else:
        made = noise / math.sqrt(math.prod(shape[1:]))
    return made.astype(np.float32)


def _noise(key: str, size: int) -> np.ndarray:
    """float64 of mean zero and variance one: the place and the key's crc32 through a 32-bit mixer."""
    h = np.arange(size, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(zlib.crc32(key.encode()))
    for shift, factor in ((16, 2246822519), (13, 3266489917)):
        h ^= h >> np.uint32(shift)
        h *= np.uint32(factor)
    h ^= h >> np.uint32(16)
    return (h / 2**32 * 2 - 1) * math.sqrt(3)


def window(encoder: torch.nn.Module, batch: int) -> torch.Tensor:
    """float32 (batch, 12, model_seq_len): a sine a lead and window, and mains-like ripple, as the goldens have it."""
    time = np.arange(encoder.model_seq_len) / encoder.model_fs
    rate = 1 + 0.1 * np.arange(12)[:, None] + 0.05 * np.arange(batch)[:, None, None]
    made = np.sin(2 * np.pi * rate * time) + 0.1 * np.sin(2 * np.pi * 17 * time)
    return torch.from_numpy(made.astype(np.float32))
