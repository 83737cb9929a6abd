"""Arrays as torch's map-style ``Dataset``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch.utils.data import Dataset


class Instances(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Pairs of an instance's values, a row of ``data`` (n, …), and its targets (k,) float32, a row of ``targets``.

    ``classes`` (k,) and ``instance_ids`` (n,) name columns and rows. ``data`` may be a memory map, which worker
    processes of a ``DataLoader`` share.
    """

    def __init__(
        self, data: np.ndarray, targets: np.ndarray, classes: Sequence[str], instance_ids: Sequence[str]
    ) -> None:
        self.data, self.targets = data, torch.as_tensor(targets, dtype=torch.float32)
        self.classes, self.instance_ids = tuple(classes), list(instance_ids)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, place: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.from_numpy(np.array(self.data[place])), self.targets[place]

    def __getitems__(self, places: list[int]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """A batch in one read; ``DataLoader`` asks for it where it is there."""
        values = torch.from_numpy(np.take(self.data, places, axis=0))
        return list(zip(values, self.targets[places], strict=True))
