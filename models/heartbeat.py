"""1-D convolutional networks for pieces of one lead: values in, one output a class.

A convolution over time is a 2-D one of height 1: in the channels-last layout torch's CPU kernels take a third of the
time that the 1-D ones take, with the same weights and the same result.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

POOLS = ("valid", "same")


def _convolution(inputs: int, outputs: int, width: int, stride: int = 1, *, bias: bool = False) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, (1, width), (1, stride), (0, width // 2), bias=bias)


class WaveNet1d(nn.Module):
    """float32 values (n, samples) → logits (n, outputs), by ``features`` (the convolutions) and ``dense`` layers.

    `freeze` keeps the convolutions as they are: their weights get no gradient, and their batch norms neither follow
    the batches nor use their statistics.
    """

    features: nn.Module
    dense: nn.Module
    frozen = False

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        signal = values[:, None, None, :].contiguous(memory_format=torch.channels_last)
        return self.dense(self.features(signal))

    def take_features(self, state: dict[str, torch.Tensor]) -> list[str]:
        """Load the convolutions of a state dict of such a network; returns the names that were left as they are.

        KeyError or RuntimeError when they do not fit.
        """
        begin = "features."
        found = {name: value for name, value in state.items() if name.startswith(begin)}
        self.features.load_state_dict({name.removeprefix(begin): value for name, value in found.items()})
        return [name for name in self.state_dict() if name not in found]

    def freeze(self) -> None:
        self.frozen = True
        self.features.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> WaveNet1d:
        super().train(mode)
        if self.frozen:
            self.features.eval()
        return self


class KachueeNet(WaveNet1d):
    """The residual network of Kachuee et al. 2018 for 187 samples: 32 kernels of 5 in every convolution, five blocks
    of two with a shortcut and a pool of 5 at stride 2, dense layers of 32.

    ``dense_layers`` of 32 before the last: the text speaks of two, its 13 weight layers are reached with one.
    ``pool``: ``valid`` drops a remainder, ``same`` keeps it. With five classes 55,013 weights (two dense layers) or
    53,957 (one); ``same`` and two 59,109. No batch norm, no dropout.
    """

    def __init__(
        self, outputs: int, *, dense_layers: int = 2, pool: str = "valid", samples: int = 187
    ) -> None:
        super().__init__()
        self.features = nn.Sequential(
            _convolution(1, 32, 5, bias=True), *(_KachueeBlock(pool) for _ in range(5)), nn.Flatten()
        )
        for _ in range(5):
            samples = -(-samples // 2) if pool == "same" else (samples - 5) // 2 + 1
        layers: list[nn.Module] = []
        width = 32 * samples
        for _ in range(dense_layers):
            layers += [nn.Linear(width, 32), nn.ReLU()]
            width = 32
        self.dense = nn.Sequential(*layers, nn.Linear(width, outputs))


class _KachueeBlock(nn.Module):
    def __init__(self, pool: str) -> None:
        super().__init__()
        self.one, self.two = (_convolution(32, 32, 5, bias=True) for _ in range(2))
        self.same = pool == "same"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.relu(x + self.two(functional.relu(self.one(x))))
        if self.same:
            lacking = max(0, (-(-x.shape[-1] // 2) - 1) * 2 + 5 - x.shape[-1])
            x = functional.pad(x, (lacking // 2, lacking - lacking // 2), value=float("-inf"))
        return functional.max_pool2d(x, (1, 5), (1, 2))


class BeatNet(WaveNet1d):
    """Ours: a stem at half the rate, a residual stage with batch norm per width, each halving the rate, then the
    greatest and the mean value of every channel, dropout and one dense layer."""

    def __init__(
        self,
        outputs: int,
        *,
        widths: tuple[int, ...] = (32, 64, 96, 128),
        kernel: int = 5,
        stem: int = 7,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = [_convolution(1, widths[0], stem, 2), nn.BatchNorm2d(widths[0]), nn.ReLU()]
        inputs = widths[0]
        for width in widths:
            layers.append(_Stage(inputs, width, kernel))
            inputs = width
        self.features = nn.Sequential(*layers, _Pool())
        self.dense = nn.Sequential(nn.Dropout(dropout), nn.Linear(2 * inputs, outputs))


class RhythmNet(BeatNet):
    """Ours for seconds of one lead, about 125 values a second: wider kernels and a stage more."""

    def __init__(self, outputs: int) -> None:
        super().__init__(outputs, widths=(32, 64, 96, 96, 128), kernel=7, stem=15)


class _Stage(nn.Module):
    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            _convolution(inputs, outputs, kernel, 2),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            _convolution(outputs, outputs, kernel),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut = _convolution(inputs, outputs, 1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.body(x) + self.shortcut(x))


class _Pool(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x.amax((-2, -1)), x.mean((-2, -1))], dim=1)
