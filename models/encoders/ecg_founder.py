"""ECGFounder's network: a 1-D RegNet with squeeze and excitation (Li et al. 2024, arXiv 2410.04133).

The batch norms of the published checkpoint are in its state dict and are not computed, nor is dropout.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from models.encoders.contract import Encoder
from models.encoders.convolution import as_rows, as_tokens

KERNEL = 16
GROUP = 16
"""Channels of a group in the middle convolution of a block."""
STAGES = ((64, 2), (160, 2), (160, 2), (400, 3), (400, 3), (1024, 4), (1024, 4))
"""Output channels and blocks; the first block of each stage halves the rate."""


class _Same(nn.Module):
    """A convolution (B, C, 1, T) → (B, outputs, 1, ceil(T / stride)); an odd zero of the pad stands behind."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel, stride, groups=groups)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight, bias = self.conv.weight, self.conv.bias
        kernel, stride = self.conv.kernel_size[0], self.conv.stride[0]
        if kernel == 1:
            return functional.linear(x.permute(0, 2, 3, 1), weight[:, :, 0], bias).permute(0, 3, 1, 2)
        samples = x.shape[-1]
        pad = max(0, (-(-samples // stride) - 1) * stride + kernel - samples)
        x = functional.pad(x, (pad // 2, pad - pad // 2))
        return functional.conv2d(x, weight[:, :, None], bias, (1, stride), groups=self.conv.groups)


class _Block(nn.Module):
    """Swish in front of each convolution (``first``: of all but the first), then a weight for each channel."""

    def __init__(self, inputs: int, outputs: int, stride: int, *, first: bool) -> None:
        super().__init__()
        self.first, self.stride = first, stride
        self.more = outputs - inputs
        self.bn1 = nn.BatchNorm1d(inputs)
        self.conv1 = _Same(inputs, outputs, 1)
        self.bn2 = nn.BatchNorm1d(outputs)
        self.conv2 = _Same(outputs, outputs, KERNEL, stride, outputs // GROUP)
        self.bn3 = nn.BatchNorm1d(outputs)
        self.conv3 = _Same(outputs, outputs, 1)
        self.se_fc1 = nn.Linear(outputs, outputs // 2)
        self.se_fc2 = nn.Linear(outputs // 2, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv1(x if self.first else functional.silu(x))
        y = self.conv3(functional.silu(self.conv2(functional.silu(y))))
        weight = torch.sigmoid(self.se_fc2(functional.silu(self.se_fc1(y.mean((2, 3))))))
        return torch.addcmul(self._identity(x), y, weight[:, :, None, None])

    def _identity(self, x: torch.Tensor) -> torch.Tensor:
        if self.stride != 1:  # an odd sample at the end is held against a zero, not left alone
            x = functional.max_pool2d(functional.pad(x, (0, x.shape[-1] % 2)), (1, 2))
        return functional.pad(x, (0, 0, 0, 0, self.more // 2, self.more - self.more // 2)) if self.more else x


class _Stage(nn.Module):
    def __init__(self, inputs: int, outputs: int, blocks: int, *, first: bool) -> None:
        super().__init__()
        self.block_list = nn.Sequential(
            *(
                _Block(outputs if place else inputs, outputs, 1 if place else 2, first=first and not place)
                for place in range(blocks)
            )
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.block_list(x)


class _Net1d(nn.Module):
    """(B, 12, T) → (B, 1024, 1, T / 256), rounded up at each of eight halvings."""

    def __init__(self) -> None:
        super().__init__()
        inputs = STAGES[0][0]
        self.first_conv = _Same(12, inputs, KERNEL, 2)
        self.first_bn = nn.BatchNorm1d(inputs)
        self.first_activation = nn.SiLU()
        stages = []
        for place, (outputs, blocks) in enumerate(STAGES):
            stages.append(_Stage(inputs, outputs, blocks, first=not place))
            inputs = outputs
        self.stage_list = nn.Sequential(*stages)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.stage_list(self.first_activation(self.first_conv(as_rows(x))))


class EcgFounder(Encoder):
    """2.5 s at 500 Hz → 5 tokens of 1024; pooled is their mean. The values go in as they are.

    The parameters of the batch norms get no gradient, for nothing depends on them.
    """

    chunk_seconds, model_fs, model_seq_len, feature_dim = 2.5, 500, 1250, 1024
    early = ("first_conv.", "first_bn.", "stage_list.0.", "stage_list.1.", "stage_list.2.")

    def __init__(self) -> None:
        super().__init__()
        self.net = _Net1d()

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return as_tokens(self.net(x))
