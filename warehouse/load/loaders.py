"""The loaders by the data set's name."""

from __future__ import annotations

import json
from pathlib import Path

from warehouse.errors import UsageError
from warehouse.home import Home
from warehouse.load.report import LoadReport
from warehouse.project import registry_path


def load(home: Home, dataset: str, source: Path, **options) -> LoadReport:
    """Load ``dataset`` from ``source``; options as its loader takes them. Raises UsageError for an unknown name."""
    known = sorted(path.stem for path in registry_path("datasets").glob("*.json"))
    if dataset not in known:
        raise UsageError(f"found no data set {dataset!r}; expected one of: {', '.join(known)}")
    if dataset == "vitaldb-arrhythmia":
        from warehouse.load import vitaldb_arrhythmia

        return vitaldb_arrhythmia.load(home, source, **options)
    raise UsageError(f"{dataset} has a card, but no loader yet")


def card(dataset: str) -> dict:
    """The data set's declaration."""
    return json.loads(registry_path("datasets", f"{dataset}.json").read_text(encoding="utf-8"))
