"""What a model reads: one array, a row an instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Inputs:
    """``data`` (n, …) is an array or a memory map, ``rows`` (n,) the positions of its instances in the task.

    ``digest`` names the content; ``described`` is what inputs of another part or another day must share with these,
    settings by name. ``absent``: instances that were asked for and have no input, with the reason; ``odd``: how many
    of those that have one are not as they should be, by what is wrong.
    """

    rows: np.ndarray
    data: np.ndarray
    digest: str
    described: dict[str, Any]
    absent: dict[str, str] = field(default_factory=dict)
    odd: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)


def split(order: np.ndarray, size: int) -> list[np.ndarray]:
    """Batches of `order`, all of `size` but the last; a single one left over joins the batch before, since no batch
    statistics come from one instance."""
    cuts = list(range(size, len(order), size))
    if len(cuts) and len(order) - cuts[-1] == 1:
        cuts.pop()
    return np.split(order, cuts)


def evenly(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """So many places as there are labels (n,), as many of each class, in a drawn order; a class is used up before
    one of its instances comes again."""
    classes = np.unique(labels)
    drawn = []
    for number, each in enumerate(classes):
        own = np.flatnonzero(labels == each)
        wanted = len(labels) // len(classes) + (number < len(labels) % len(classes))
        rounds = [rng.permutation(own) for _ in range(-(-wanted // len(own)))]
        drawn.append(np.concatenate(rounds)[:wanted])
    return rng.permutation(np.concatenate(drawn))


def copies(order: np.ndarray) -> np.ndarray:
    """How often each place of `order` (n,) came before."""
    sorted_ = np.argsort(order, kind="stable")
    _, first, counts = np.unique(order[sorted_], return_index=True, return_counts=True)
    found = np.empty(len(order), np.int64)
    found[sorted_] = np.arange(len(order)) - np.repeat(first, counts)
    return found


Change = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""What becomes of a batch: its array, its places, and how often each place came before in the epoch."""


def read_ahead(
    data: np.ndarray, places: list[np.ndarray], change: Change | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each batch's places and its array; the next batch is read, and changed, while this one is used."""
    before = [None] * len(places)
    if change is not None and places:
        seen = copies(np.concatenate(places))
        before = np.split(seen, np.cumsum([len(batch) for batch in places])[:-1])

    def read(number: int) -> np.ndarray:
        batch = np.take(data, places[number], axis=0)
        return batch if change is None else change(batch, places[number], before[number])

    with ThreadPoolExecutor(1) as pool:
        coming = [pool.submit(read, 0)] if places else []
        for number, batch in enumerate(places):
            if number + 1 < len(places):
                coming.append(pool.submit(read, number + 1))
            yield batch, coming.pop(0).result()
