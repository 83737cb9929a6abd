"""Torch modules only: they take tensors and know no data set.

This package names what it has without importing torch, so that a command can list the models where the ``train``
extra is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

INPUTS = {"resnet18": "images"}
"""Model → what it reads."""


class WeightsError(Exception):
    """Weights that cannot be fetched, read or fitted into a model; the message says which and why."""


def make(name: str, outputs: int) -> nn.Module:
    """A model with random weights and so many outputs. KeyError for a name that is not in `INPUTS`."""
    from models.image import PageNet

    return {"resnet18": PageNet}[name](outputs)
