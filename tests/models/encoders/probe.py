"""An encoder that gives back what it was fed: the window it prepared is its sequence."""

from __future__ import annotations

import torch
from torch import nn

from models.encoders.contract import Encoder


class Probe(Encoder):
    """2 s at 100 Hz of twelve leads → (B, 200, 12), each feature a lead."""

    chunk_seconds, model_fs, model_seq_len, feature_dim = 2.0, 100, 200, 12

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Identity()

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return x.transpose(1, 2)


class EightLeads(Probe):
    """The same of eight leads, as ECG-JEPA takes them."""

    feature_dim = 8
    leads = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6")


def rate(model_fs: int) -> Probe:
    """A probe of 2 s at another rate."""

    class AtRate(Probe):
        pass

    AtRate.model_fs, AtRate.model_seq_len = model_fs, 2 * model_fs
    return AtRate()
