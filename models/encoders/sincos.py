"""The fixed sine and cosine table of positions that two of the vision transformers here add to their tokens."""

from __future__ import annotations

import torch


def sincos(length: int, width: int) -> torch.Tensor:
    """float64 (length, width): row p is [sin(p f), cos(p f)] with f_k = 10000^(-k / (width / 2)).

    The halves stand one after the other, as in the masked autoencoder (He et al. 2022, arXiv 2111.06377), not in turn.
    """
    half = width // 2
    frequency = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    return torch.cat((angle.sin(), angle.cos()), 1)
