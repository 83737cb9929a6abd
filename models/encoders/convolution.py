"""Convolutions over time, computed as 2-D ones of height 1 in the channels-last layout: torch's CPU kernels are faster
there. State dicts are those of the 1-D layers.

Inside a network a signal is (B, C, 1, T); `as_rows` and `as_tokens` are the way in and out.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


def as_rows(x: torch.Tensor) -> torch.Tensor:
    """(B, C, T) → (B, C, 1, T), channels last."""
    return x[:, :, None].contiguous(memory_format=torch.channels_last)


def as_tokens(x: torch.Tensor) -> torch.Tensor:
    """(B, C, 1, T) → (B, T, C)."""
    return x[:, :, 0].transpose(1, 2)


class Conv(nn.Conv1d):
    """The weights of a ``Conv1d``, on (B, C, 1, T). Zeros in front and behind, as many as ``padding``."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.conv2d(
            x, self.weight[:, :, None], self.bias, (1, *self.stride), (0, *self.padding), 1, self.groups
        )


class BatchNorm(nn.BatchNorm2d):
    """The state of a ``BatchNorm1d``, on (B, C, 1, T): the statistics are over B and T."""
