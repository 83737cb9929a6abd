"""Blocks that two encoders share: the speech models' positional convolution and their self-attention."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class _Factors(nn.Module):
    """A kernel as gain and direction, by tap, under the names of ``torch.nn.utils.parametrizations.weight_norm``."""

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.original0 = nn.Parameter(_length(weight))
        self.original1 = nn.Parameter(weight.clone())

    def forward(self) -> torch.Tensor:
        return self.original1 * (self.original0 / _length(self.original1))


def _length(weight: torch.Tensor) -> torch.Tensor:
    """(outputs, inputs, taps) → (1, 1, taps): one dimension after the other, which rounds less than both at once."""
    by_input = torch.linalg.vector_norm(weight, dim=0, keepdim=True)
    return torch.linalg.vector_norm(by_input, dim=1, keepdim=True)


class PositionalConv(nn.Module):
    """(B, T, dim) → (B, T, dim): a grouped convolution over time, even and weight-normed by tap, then exact GELU.

    An even ``kernel`` with a pad of its half gives T + 1 samples, of which the last is dropped. The parameters are
    ``bias`` (dim), ``parametrizations.weight.original0`` (1, 1, kernel) and ``.original1`` (dim, dim / groups,
    kernel), as wav2vec 2.0 and HuBERT have them (Baevski et al. 2020, arXiv 2006.11477).
    """

    def __init__(self, dim: int = 768, kernel: int = 128, groups: int = 16) -> None:
        super().__init__()
        made = nn.Conv1d(dim, dim, kernel, groups=groups)
        self.groups, self.pad = groups, kernel // 2
        self.bias = nn.Parameter(made.bias.detach().clone())
        self.parametrizations = nn.ModuleDict({"weight": _Factors(made.weight.detach())})

    def weight(self) -> torch.Tensor:
        """The kernel (dim, dim / groups, taps) of the gains and directions as they are now."""
        return self.parametrizations["weight"]()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As a 2-D convolution of height 1: in this layout it takes half of the 1-D one's time on a CPU."""
        rows = x.transpose(1, 2)[:, :, None]
        y = functional.conv2d(
            rows, self.weight()[:, :, None], self.bias, padding=(0, self.pad), groups=self.groups
        )
        return functional.gelu(y[:, :, 0, : x.shape[1]]).transpose(1, 2)


class SelfAttention(nn.Module):
    """(B, T, dim) → (B, T, dim): heads over all of T, no mask; ``k_proj``, ``v_proj``, ``q_proj``, ``out_proj``.

    The scores are scaled by the root of a head's width.
    """

    def __init__(self, dim: int = 768, heads: int = 12) -> None:
        super().__init__()
        self.heads = heads
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.q_proj = nn.Linear(dim, dim)
        self.out_proj = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            each(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for each in (self.q_proj, self.k_proj, self.v_proj)
        )
        y = functional.scaled_dot_product_attention(q, k, v)
        return self.out_proj(y.transpose(1, 2).flatten(2))
