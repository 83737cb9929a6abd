"""CPC's ECG encoder: convolutions and a causal predictor of state-space layers (Al-Masud et al. 2025, arXiv 2509.25095;
contrastive predictive coding: van den Oord et al. 2018, arXiv 1807.03748)."""

from __future__ import annotations

import torch
from torch import nn

from models.encoders.contract import Encoder
from models.encoders.s4 import S4

_LAYERS = 4


def _step(inputs: int, outputs: int, kernel: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv1d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm1d(outputs),
        nn.ReLU(),
    )


class _Predictor(nn.Module):
    """(B, L, H) → (B, L, H). No projection before the first layer: the channels are the model's already.

    After each layer the norm of what it gave plus what it got.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.s4_layers = nn.ModuleList(S4(channels) for _ in range(_LAYERS))
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(_LAYERS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer, norm in zip(self.s4_layers, self.norms, strict=True):
            x = norm(layer(x.transpose(1, 2)).transpose(1, 2) + x)
        return x


class _Net(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            _step(12, channels, 3, 2), *(_step(channels, channels, 1, 1) for _ in range(3))
        )
        self.predictor = _Predictor(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.predictor(self.encoder(x).transpose(1, 2))


class Cpc(Encoder):
    """2.5 s at 240 Hz → 300 steps of 512; pooled is their mean. The values go in as they are.

    A step knows the samples before it only. In train mode nothing is dropped.
    """

    chunk_seconds, model_fs, model_seq_len, feature_dim = 2.5, 240, 600, 512
    early = ("encoder.",)

    def __init__(self) -> None:
        super().__init__()
        self.net = _Net(self.feature_dim)

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)
