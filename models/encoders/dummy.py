"""An encoder that needs no checkpoint: for trying a pipeline, never for a result."""

from __future__ import annotations

import torch
from torch import nn

from models.encoders.contract import Encoder


class Dummy(Encoder):
    """Two strided convolutions over 2.5 s at 100 Hz, random weights of a fixed seed: 63 tokens of 32."""

    chunk_seconds, model_fs, model_seq_len, feature_dim = 2.5, 100, 250, 32
    early = ("0.",)

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.net = nn.Sequential(
                nn.Conv1d(12, 32, 7, stride=2, padding=3),
                nn.GELU(),
                nn.Conv1d(32, 32, 5, stride=2, padding=2),
            )

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x).transpose(1, 2)
