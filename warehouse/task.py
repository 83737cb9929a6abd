"""The contract between a task view and a stage: instances, a float matrix, the names in spec order."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from warehouse.digests import files_digest
from warehouse.errors import HomeError, RegistryError
from warehouse.home import Home, read_pinned
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
    ``inputs`` what its manifest entry says of views, maps, splits and raw tables. ``stale`` names rule files and
    raw tables that changed since the build.
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
    """Read a built task.

    Raises UsageError for an unknown task, HomeError when it is not built or is no longer what was built.
    """
    return read_pinned(home, lambda pinned: _read(pinned, find_spec(task)))


def _read(home: Home, spec: Spec) -> TaskData:
    import polars as pl

    entry, path = task_file(home, spec)
    frame = pl.read_parquet(io.BytesIO(as_built(Path(path), entry["sha256"])))
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
        stale=(*stale(home, spec.view), *_loaded_since(home, entry)),
    )


def raw_digests(home: Home, names: Iterable[str]) -> dict[str, str]:
    """The digests of raw tables from their files as they lie there; a table that is not loaded is left out."""
    from warehouse.database import inputs

    present = inputs(home)
    return {name: files_digest(present[name].files) for name in names if name in present}


def as_built(path: Path, digest: str) -> bytes:
    """A built file's content. HomeError when it is not the one that `materialize` wrote."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise HomeError(
            f"{path}: cannot be read ({error.strerror}); expected what `materialize` wrote", "run materialize"
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise HomeError(
            f"{path}: changed since it was built: found sha256 {found[:12]}…, expected {digest[:12]}…, as the "
            "manifest says",
            "run materialize: it builds the file again from the loaded data",
        )
    return content


def older_than(home: Home, view: str) -> list[str]:
    """What changed since a view was built: rules and maps (:func:`stale`), splits and raw tables, by name."""
    entry = read_manifest(home)["views"].get(view)
    return [] if entry is None else [*stale(home, view), *_loaded_since(home, entry)]


def _loaded_since(home: Home, entry: Mapping) -> list[str]:
    """The raw tables and splits that are there, and not those that a view was built from."""
    from warehouse.database import inputs

    built_from = entry["lineage"].get("inputs", {}) | {
        name: digest for name, digest in entry.get("made_of", {}).items() if name.startswith("split.")
    }
    present = inputs(home) if built_from else {}
    return [name for name, known in built_from.items() if name in present and present[name].digest != known]
