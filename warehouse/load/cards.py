"""Data-set cards: what is declared of a data set (licence, citation, known releases, where its signals are)."""

from __future__ import annotations

import json

from warehouse.errors import UsageError
from warehouse.project import registry_path


def datasets() -> list[str]:
    """The data sets that have a card, by name."""
    return sorted(path.stem for path in registry_path("datasets").glob("*.json"))


def card_of(dataset: str) -> dict:
    """The JSON of ``registry/datasets/<dataset>.json``. Raises UsageError with the list when there is none."""
    if dataset not in datasets():
        raise UsageError(f"found no data set {dataset!r}; expected one of: {', '.join(datasets())}")
    return json.loads(registry_path("datasets", f"{dataset}.json").read_text(encoding="utf-8"))
