"""What a model reads: one array, a row an instance."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Inputs:
    """``data`` (n, …) is an array or a memory map, ``rows`` (n,) the positions of its instances in the task.

    ``digest`` names the content; ``described`` is what inputs of another part or another day must share with these,
    settings by name. ``absent``: instances that were asked for and have no input, with the reason.
    """

    rows: np.ndarray
    data: np.ndarray
    digest: str
    described: dict[str, Any]
    absent: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)


def split(order: np.ndarray, size: int) -> list[np.ndarray]:
    """Batches of `order`, all of `size` but the last; a single one left over joins the batch before, since no batch
    statistics come from one instance."""
    cuts = list(range(size, len(order), size))
    if len(cuts) and len(order) - cuts[-1] == 1:
        cuts.pop()
    return np.split(order, cuts)


def read_ahead(data: np.ndarray, places: list[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each batch's places and its array; the next batch is read while this one is used."""
    with ThreadPoolExecutor(1) as pool:
        coming = [pool.submit(np.take, data, batch, axis=0) for batch in places[:1]]
        for number, batch in enumerate(places):
            if number + 1 < len(places):
                coming.append(pool.submit(np.take, data, places[number + 1], axis=0))
            yield batch, coming.pop(0).result()
