"""The contract between a task view and a stage: instances, a float matrix, the names in spec order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warehouse.errors import HomeError, RegistryError
from warehouse.home import Home
from warehouse.manifest import read_manifest, stale
from warehouse.spec import Spec, find_spec, specs

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

CONTRACT = ("instance_id", "record_id", "group_id", "part", "fold", "scored", "left_out")
"""Columns that every task view has, before its own and its classes."""


@dataclass(frozen=True)
class TaskData:
    """A task as a stage sees it.

    ``instances``: one row an instance, every column of the view but the classes'. ``targets``: (n, k) float64,
    NaN = unknown, columns in the order of ``classes``. ``fingerprint`` is the task view's rule fingerprint,
    ``inputs`` what its manifest entry says of views, maps and splits. ``stale`` names rule files that changed
    since the build.
    """

    spec: Spec
    instances: pl.DataFrame
    targets: np.ndarray
    classes: tuple[str, ...]
    fingerprint: str
    inputs: dict
    stale: tuple[str, ...]


def task_file(home: Home, spec: Spec) -> tuple[dict, str]:
    """The manifest entry and the Parquet path of a task's view. Raises HomeError when it is not built."""
    entry = read_manifest(home)["views"].get(spec.view)
    if entry is None:
        raise HomeError(
            f"{home.path}: found no build of {spec.view}; expected one",
            f"run `load {spec.data['dataset']} SOURCE`, then `materialize {spec.name}`",
        )
    return entry, str(home.built / entry["file"])


def view_names(targets: tuple[str, ...]) -> list[str] | None:
    """Tasks and views as the command line takes them → view names; None for no names at all."""
    return [find_spec(text).view if is_task(text) else text for text in targets] or None


def is_task(text: str) -> bool:
    """Whether a word of the command line names a task (``slug`` or ``slug@version``)."""
    return text.split("@")[0] in {spec.slug for spec in specs()}


def read_task(home: Home, task: str) -> TaskData:
    """Read a built task. Raises UsageError for an unknown task, HomeError when it is not built."""
    import polars as pl

    spec = find_spec(task)
    entry, path = task_file(home, spec)
    frame = pl.read_parquet(path)
    missing = [name for name in (*CONTRACT, *spec.classes) if name not in frame.columns]
    if missing:
        raise RegistryError(
            f"{spec.view}: found no column {', '.join(missing)}; expected the task contract's columns"
        )
    targets = frame.select(pl.col(name).cast(pl.Float64).fill_null(float("nan")) for name in spec.classes)
    return TaskData(
        spec=spec,
        instances=frame.drop(spec.classes),
        targets=targets.to_numpy().reshape(frame.height, len(spec.classes)),
        classes=spec.classes,
        fingerprint=entry["rule"],
        inputs=entry["lineage"],
        stale=tuple(stale(home, spec.view)),
    )
