"""Torch modules only: they take tensors and know no data set.

This package names what it has without importing torch, so that a command can list the models where the ``train``
extra is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

INPUTS = {"resnet18": "images", "kachuee": "segments", "beatnet": "segments", "rhythmnet": "windows"}
"""Model → what it reads: rendered pages, segments of a task view, or windows of a signal by time."""


class WeightsError(Exception):
    """Weights that cannot be fetched, read or fitted into a model; the message says which and why."""


def make(name: str, outputs: int, **options: int | str) -> nn.Module:
    """A model with random weights and so many outputs; ``options`` are its own arguments.

    KeyError for a name that is not in `INPUTS`.
    """
    if INPUTS[name] == "images":
        from models.image import PageNet

        return PageNet(outputs)
    from models.heartbeat import BeatNet, KachueeNet, RhythmNet

    return {"kachuee": KachueeNet, "beatnet": BeatNet, "rhythmnet": RhythmNet}[name](outputs, **options)
