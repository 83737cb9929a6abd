"""The loaders by the data set's name."""

from __future__ import annotations

from pathlib import Path

from warehouse.errors import UsageError
from warehouse.home import Home
from warehouse.load.cards import card_of
from warehouse.load.report import LoadReport


def load(home: Home, dataset: str, source: Path, **options) -> LoadReport:
    """Load ``dataset`` from ``source``; options as its loader takes them. Raises UsageError for an unknown name."""
    card_of(dataset)
    if dataset == "vitaldb-arrhythmia":
        from warehouse.load import vitaldb_arrhythmia

        return vitaldb_arrhythmia.load(home, source, **options)
    raise UsageError(f"{dataset} has a card, but no loader yet")
