"""ECGFM-KED's signal encoder, xresnet1d101 (Tian et al. 2024, doi 10.1016/j.xcrm.2024.101875).

The stem of three convolutions and the pool in the shortcut are those of He et al. 2018, arXiv 1812.01187.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from models.encoders.contract import Encoder
from models.encoders.convolution import BatchNorm, Conv, as_rows, as_tokens

KERNEL = 5
EXPANSION = 4
STAGES = ((64, 3, 1), (128, 4, 2), (128, 23, 2), (192, 3, 2))
"""Width of the bottleneck, blocks, stride of the first block."""


def _layer(
    inputs: int, outputs: int, kernel: int, stride: int = 1, *, activation: bool = True
) -> nn.Sequential:
    layers = [Conv(inputs, outputs, kernel, stride, kernel // 2, bias=False), BatchNorm(outputs)]
    return nn.Sequential(*layers, nn.ReLU(inplace=True)) if activation else nn.Sequential(*layers)


class _Block(nn.Module):
    """A bottleneck and its shortcut, which pools (a last half window by what is there) before it widens."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = EXPANSION * width
        self.convs = nn.Sequential(
            _layer(inputs, width, 1),
            _layer(width, width, KERNEL, stride),
            _layer(width, outputs, 1, activation=False),
        )
        self.convpath = nn.Sequential(self.convs)  # the same tensors, a second time in the state dict
        shortcut: list[nn.Module] = []
        if stride != 1:
            shortcut.append(nn.AvgPool2d((1, stride), ceil_mode=True))
        if inputs != outputs:
            shortcut.append(_layer(inputs, outputs, 1, activation=False))
        self.idpath = nn.Sequential(*shortcut)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu_(self.convs(x).add_(self.idpath(x)))


def _stage(inputs: int, width: int, blocks: int, stride: int) -> nn.Sequential:
    rest = (_Block(EXPANSION * width, width, 1) for _ in range(blocks - 1))
    return nn.Sequential(_Block(inputs, width, stride), *rest)


def _xresnet101() -> nn.Sequential:
    """(B, 12, 1, T) → (B, 768, 1, T / 32), rounded up at each of five halvings."""
    layers: list[nn.Module] = [
        _layer(12, 32, KERNEL, 2),
        _layer(32, 32, KERNEL),
        _layer(32, 64, KERNEL),
        nn.MaxPool2d((1, 3), (1, 2), (0, 1)),
    ]
    inputs = 64
    for width, blocks, stride in STAGES:
        layers.append(_stage(inputs, width, blocks, stride))
        inputs = EXPANSION * width
    return nn.Sequential(*layers)


class EcgfmKed(Encoder):
    """10 s at 500 Hz → 157 tokens of 768, none below zero; pooled is their mean. The values go in as they are."""

    chunk_seconds, model_fs, model_seq_len, feature_dim = 10.0, 500, 5000, 768
    early = ("0.", "1.", "2.")

    def __init__(self) -> None:
        super().__init__()
        self.net = _xresnet101()

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return as_tokens(self.net(as_rows(x)))
