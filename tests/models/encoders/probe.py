"""Encoders for tests: one gives back what it was fed, the window it prepared is its sequence; a small one takes
checkpoints, and is here with its card, its weights and what it must hold afterwards."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest
import torch
from torch import nn

from models.encoders.card import Card, EncoderError, Rules
from models.encoders.checkpoint import load
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


class _Net(nn.Module):
    """A convolution that has two names, and a batch norm."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(12, 4, 3)
        self.bn = nn.BatchNorm1d(4)
        self.twin = self.conv

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.bn(self.conv(x))


class Small(Encoder):
    """1 s at 8 Hz → tokens of 4; it remembers the configurations that it was given."""

    chunk_seconds, model_fs, model_seq_len, feature_dim = 1.0, 8, 8, 4

    def __init__(self) -> None:
        super().__init__()
        self.net = _Net()
        self.asked: list[object] = []

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x).transpose(1, 2)

    def configure_from(self, config: object) -> list[str]:
        self.asked.append(config)
        if config is None:
            return []
        if config.get("layers") == 99:
            raise EncoderError("found 99 layers; expected 1")
        return [f"{config.get('layers')} layers"]


def rules(**given) -> Card:
    """The card of the small one, with these rules."""
    return Card(
        name="small", title="Small", entry="here:Small", path=Path("small.json"), rules=Rules(**given)
    )


def weights() -> dict[str, torch.Tensor]:
    """A state dict with other values than any that is made."""
    torch.manual_seed(5)
    net = _Net()
    for key, value in net.state_dict().items():
        value.copy_(torch.randn(value.shape) if value.is_floating_point() else torch.tensor(77))
        if key.endswith("running_var"):
            value.abs_()
    return collections.OrderedDict(net.state_dict())


def save(value: object, path: Path, **options) -> Path:
    torch.save(value, path, **options)
    return path


def holds(encoder: Encoder, expected: dict[str, torch.Tensor]) -> None:
    """The encoder has these keys with these values, as its own types have them."""
    state = encoder.state_module.state_dict()
    assert set(state) == set(expected)
    for key, value in expected.items():
        assert torch.equal(state[key], value.to(state[key].dtype)), key


def refused(path: Path, card: Card, words: str) -> str:
    """It is refused with these words and the encoder keeps every weight."""
    encoder = Small()
    before = {key: value.clone() for key, value in encoder.state_module.state_dict().items()}
    with pytest.raises(EncoderError, match=words) as caught:
        load(encoder, path, card)
    holds(encoder, before)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


def changed(key: str, value: object) -> dict[str, object]:
    return {**weights(), key: value}


def without(*keys: str) -> dict[str, torch.Tensor]:
    return {key: value for key, value in weights().items() if key not in keys}
