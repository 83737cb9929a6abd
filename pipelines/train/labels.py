"""The labels that a model was trained on, as digests: they decide whether its predictions may be scored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.kind import counting_rows
from pipelines.runs import labels_digest
from warehouse.errors import CheckFailed, InputError
from warehouse.table import one_line

if TYPE_CHECKING:
    from warehouse.task import TaskData

PARTS = ("train", "validation")

NOTE = "leadhouse.model"
"""The key-value note of a Parquet file by which `predict` says which model made it, and of which labels."""


def trained_rows(task: TaskData, part: str) -> np.ndarray:
    """Positions of the instances with a label that count. InputError when there are none, UsageError without parts."""
    rows = counting_rows(task.instances, part)
    if not len(rows):
        use = "learn from" if part == "train" else "choose the epoch and the thresholds on"
        raise InputError(
            f"{task.spec.name}: found no scored instance in part {part}; expected some to {use}",
            next_step="load more records, or another split",
        )
    return rows


def trained_labels(task: TaskData) -> dict[str, str | None]:
    """Part → sha256 over ids, groups and labels of the instances that count; None for a part that is not there."""
    there = set(task.instances["part"].drop_nulls().unique())
    return {
        part: labels_digest(task, counting_rows(task.instances, part)) if part in there else None
        for part in PARTS
    }


def stated(notes: Mapping[str, str]) -> dict[str, Any] | None:
    """What a predictions file says of the model that made it: ``run``, ``task``, ``labels``, ``model``, ``inputs``.

    None where it says nothing, or nothing that `predict` would write.
    """
    try:
        found = json.loads(notes.get(NOTE, "null"))
    except (ValueError, RecursionError):
        return None
    shape = {"run": str, "task": str, "labels": dict, "model": str, "inputs": dict}
    if not isinstance(found, dict) or not all(
        isinstance(found.get(name), kind) for name, kind in shape.items()
    ):
        return None
    return {name: found[name] for name in shape}


def refuse_other_labels(task: TaskData, model: Mapping[str, Any], file: str) -> None:
    """CheckFailed when the model behind a file was trained on another task or on labels that the task has no more."""
    run, name = one_line(model["run"]), task.spec.name
    if model["task"] != name:
        raise CheckFailed(
            f"{file}: found predictions of model {run}, which was trained for {one_line(model['task'])}; "
            f"expected one of {name}"
        )
    now = trained_labels(task)
    other = [part for part in PARTS if model["labels"].get(part) != now[part]]
    if other:
        part = other[0]
        digests = (one_line(str(each))[:12] for each in (model["labels"].get(part), now[part]))
        raise CheckFailed(
            f"{file}: found predictions of model {run}, which was trained on other labels of part "
            f"{' and '.join(other)} than {name} has now ({part}: {' …, expected '.join(digests)} …)",
            f"train again: `train {name}`, then `predict`",
        )
