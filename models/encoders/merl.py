"""MERL's ECG encoder: a ResNet-18 of one dimension without a pool in its stem (Liu et al. 2024, arXiv 2403.06659)."""

from __future__ import annotations

import torch
from torch import nn

from models.encoders.contract import Encoder


class _Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm1d(outputs)
        self.conv2 = nn.Conv1d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm1d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv1d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm1d(outputs)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class _ResNet18(nn.Module):
    """(B, 12, T) → (B, 512, T / 16, rounded up four times)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(12, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm1d(64)
        inputs = 64
        for place, (outputs, stride) in enumerate(((64, 1), (128, 2), (256, 2), (512, 2)), start=1):
            self.add_module(
                f"layer{place}", nn.Sequential(_Block(inputs, outputs, stride), _Block(outputs, outputs, 1))
            )
            inputs = outputs
        self.linear = nn.Linear(512, 1)  # in the checkpoint; no feature goes through it

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        return self.layer4(self.layer3(self.layer2(self.layer1(y))))


class Merl(Encoder):
    """2.5 s at 500 Hz → 79 tokens of 512; pooled is their mean. The values go in as they are.

    The groups are those of the paper's repository; the benchmark's adapter names none.
    """

    chunk_seconds, model_fs, model_seq_len, feature_dim = 2.5, 500, 1250, 512
    early = ("conv1.", "bn1.", "layer1.", "layer2.")
    unused = ("linear.",)

    def __init__(self) -> None:
        super().__init__()
        self.net = _ResNet18()

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x).transpose(1, 2)
