"""The loaders by the data set's name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from warehouse.errors import UsageError
from warehouse.home import Home
from warehouse.load.cards import card_of
from warehouse.load.report import LoadReport

LOADERS = {
    "vitaldb-arrhythmia": ("vitaldb_arrhythmia", ("subjects", "signals", "download", "base_url", "workers")),
    "lydus": ("lydus", ("split", "dx_separator", "profile")),
    "ptbxl": ("ptbxl", ("hz", "statements")),
    "mitbih": ("mitbih", ("download", "base_url", "workers")),
    "ptbdb": ("ptbdb", ("download", "base_url", "workers")),
}
"""Data set → module of this package, and the options that its ``load`` takes beside ``progress``."""


def load(home: Home, dataset: str, source: Path, *, progress: bool = False, **options) -> LoadReport:
    """Load ``dataset`` from ``source``; options that are None or False count as not given.

    Raises UsageError for an unknown name, and for an option of another data set.
    """
    card_of(dataset)
    if dataset not in LOADERS:
        raise UsageError(f"{dataset} has a card, but no loader yet")
    module, known = LOADERS[dataset]
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    for name in given:
        if name not in known:
            owners = [each for each, (_, takes) in LOADERS.items() if name in takes]
            raise UsageError(
                f"load {dataset}: found --{name.replace('_', '-')}, which is an option of {', '.join(owners)}",
                f"leave it out; {dataset} takes {', '.join('--' + each.replace('_', '-') for each in known)}",
            )
    return import_module(f"warehouse.load.{module}").load(home, source, progress=progress, **given)
