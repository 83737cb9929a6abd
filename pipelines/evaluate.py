"""From a task and a vector of scores to the dictionary that a run stores; no file is read or written.

`score` calls it once; `verify` calls it again on the stored predictions and compares. Every number in the
dictionary follows from the task's build, the spec and the scores alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pipelines import bootstrap
from pipelines.metrics import Categories, Point, binary_metrics, categories, confusion, share_flagged
from warehouse.errors import CheckFailed, UsageError

if TYPE_CHECKING:
    from warehouse.task import TaskData

CATEGORY_COLUMN = "rhythms"
"""The task column whose names, joined by ``|``, the spec's ``by_category`` metric counts."""


@dataclass(frozen=True)
class Evaluation:
    """`score` is the dictionary of one submission, `against` that of the paired difference, if asked for."""

    score: dict[str, Any]
    against: dict[str, Any] | None = None


def evaluate(
    task: TaskData,
    rows: np.ndarray,
    scores: np.ndarray,
    part: str,
    *,
    n: int | None = None,
    other: np.ndarray | None = None,
) -> Evaluation:
    """Score `scores` (len(rows), k) of the instances at positions `rows`.

    `n` is the number of bootstrap replicates, the spec's where None. `other` holds scores of a second
    submission for the same rows; both are then drawn alike. UsageError for a kind of task that has no
    metrics here yet, CheckFailed when an instance that counts has no label.
    """
    spec = task.spec.data
    if spec["kind"] != "binary" or len(task.classes) != 1:
        raise UsageError(f"{task.spec.name}: found kind {spec['kind']}; only binary tasks can be scored yet")
    declared = spec["metrics"]
    names = (declared["primary"], *declared["secondary"])
    threshold = float(declared["threshold"])
    draws = bootstrap_plan(spec, n)
    y = labels(task, rows)
    frame = task.instances[rows]
    groups = frame["group_id"]
    cats = _categories(spec, frame, y)

    vectors = [column[:, 0] for column in (scores, other) if column is not None]
    made = bootstrap.replicates(
        y,
        vectors,
        groups.to_numpy(),
        n=draws["n"],
        seed=draws["seed"],
        threshold=threshold,
        cats=cats,
        names=names,
    )
    points = [binary_metrics(y, vector, threshold, names) for vector in vectors]
    positives = int(y.sum())
    score: dict[str, Any] = {
        "task": task.spec.name,
        "part": part,
        "class": task.classes[0],
        "primary": declared["primary"],
        "threshold": threshold,
        "rows": {"used": len(y), "positive": positives, "negative": len(y) - positives},
        "groups": {"by": draws["by"], "n": groups.n_unique()},
        "bootstrap": draws,
        "metrics": _metrics(points[0], bootstrap.intervals(made)),
        "confusion": confusion(y, vectors[0], threshold),
    }
    if cats is not None:
        table = share_flagged(cats, vectors[0], groups.to_numpy(), threshold)
        for j, row in enumerate(table):
            row |= bootstrap.interval(made.shares[0, :, j]).as_dict()
            del row["n_trivial"]
        score["by_rhythm"] = table
    if other is None:
        return Evaluation(score)
    return Evaluation(score, {"metrics": _differences(points, bootstrap.differences(made))})


def bootstrap_plan(spec: Mapping[str, Any], n: int | None = None) -> dict[str, Any]:
    """What the draws depend on: number, seed (the bootstrap's own, else the split's) and the spec's group."""
    declared = spec["metrics"]["bootstrap"]
    if n is not None and n < 0:
        raise UsageError(f"found {n} bootstrap replicates; expected 0 (no intervals) or more")
    seed = declared.get("seed", spec["split"]["seed"])
    return {"n": declared["n"] if n is None else n, "seed": seed, "by": declared["by"]}


def labels(task: TaskData, rows: np.ndarray) -> np.ndarray:
    """The labels (n,) as int64 0 or 1 of the only class."""
    y = task.targets[rows, 0]
    if not np.isin(y, (0, 1)).all():
        bad = task.instances["instance_id"].gather(rows[~np.isin(y, (0, 1))]).head(10).to_list()
        raise CheckFailed(
            f"{task.spec.name}: found scored instances without a label: {', '.join(map(str, bad))}; "
            "expected 0 or 1 for each",
            "the task view is wrong; run `audit`",
        )
    return y.astype(np.int64)


def _categories(spec: Mapping[str, Any], frame: pl.DataFrame, y: np.ndarray) -> Categories | None:
    """Categories as the spec declares them: those of the class, then those of its absence."""
    if "by_category" not in spec["metrics"] or CATEGORY_COLUMN not in frame.columns:
        return None
    label = spec["label"]
    declared = dict.fromkeys(label[spec["classes"][0]], True) | dict.fromkeys(label.get("normal", ()), False)
    return categories(frame[CATEGORY_COLUMN].to_list(), y, declared)


def _metrics(points: Mapping[str, Point], limits: Mapping[str, bootstrap.Interval]) -> dict[str, dict]:
    return {
        name: {"value": point.value, "reason": point.reason} | limits[name].as_dict()
        for name, point in points.items()
    }


def _differences(points: list[dict[str, Point]], limits: Mapping[str, bootstrap.Interval]) -> dict[str, dict]:
    table = {}
    for name, first in points[0].items():
        second = points[1][name]
        defined = first.value is not None and second.value is not None
        table[name] = {
            "first": first.value,
            "second": second.value,
            "value": first.value - second.value if defined else None,
            "reason": first.reason or second.reason,
        } | limits[name].as_dict()
    return table
