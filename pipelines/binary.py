"""Binary tasks: one class, a score from 0 to 1 for every instance that counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pipelines import bootstrap
from pipelines.faults import Faults
from pipelines.kind import (
    Evaluation,
    Kind,
    Rows,
    bootstrap_plan,
    difference_table,
    metric_table,
    score_line,
)
from pipelines.metrics import Categories, binary_metrics, categories, confusion, share_flagged
from pipelines.tables import Table, delimiter_hint, numbers
from warehouse.errors import CheckFailed, InputError, UsageError

if TYPE_CHECKING:
    from warehouse.task import TaskData

SCORE = "score"
"""The column that also holds the scores of a task with one class."""

CATEGORY_COLUMN = "rhythms"
"""The task column whose names, joined by ``|``, the spec's ``by_category`` metric counts."""


class Binary(Kind):
    def reader(self, table: Table, classes: Sequence[str], faults: Faults) -> Rows | None:
        columns = _score_columns(table, classes, faults)
        if columns is None:
            return None

        def read(lines: np.ndarray, keys: pl.Series) -> np.ndarray:
            cells = (table.frame[column].gather(lines) for column in columns)
            return np.stack([score_column(column, keys, faults) for column in cells], axis=1)

        return read

    def labels(self, task: TaskData, rows: np.ndarray) -> np.ndarray:
        """0 or 1 of the only class, (n, 1)."""
        y = task.targets[rows, :1]
        unknown = ~np.isin(y[:, 0], (0, 1))
        if unknown.any():
            bad = task.instances["instance_id"].gather(rows[unknown]).head(10).to_list()
            raise CheckFailed(
                f"{task.spec.name}: found scored instances without a label: {', '.join(map(str, bad))}; "
                "expected 0 or 1 for each",
                "the task view is wrong; run `audit`",
            )
        return y.astype(np.int64)

    def evaluate(
        self,
        task: TaskData,
        rows: np.ndarray,
        predictions: np.ndarray,
        part: str,
        n: int | None = None,
        other: np.ndarray | None = None,
    ) -> Evaluation:
        spec = task.spec.data
        if len(task.classes) != 1:
            raise UsageError(f"{task.spec.name}: found {len(task.classes)} classes; a binary task has one")
        declared = spec["metrics"]
        names = (declared["primary"], *declared["secondary"])
        threshold = float(declared["threshold"])
        draws = bootstrap_plan(spec, n)
        y = self.labels(task, rows)[:, 0]
        frame = task.instances[rows]
        groups = frame["group_id"]
        cats = _categories(spec, frame, y)

        vectors = [column[:, 0] for column in (predictions, other) if column is not None]
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
            "metrics": metric_table(points[0], bootstrap.intervals(made)),
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
        return Evaluation(score, {"metrics": difference_table(*points, bootstrap.differences(made))})

    def prior(self, task: TaskData, rows: np.ndarray, train: Callable[[], np.ndarray]) -> np.ndarray:
        """The class's prevalence among the train labels that are known."""
        targets = task.targets[train()]
        known = ~np.isnan(targets)
        if not known.any(axis=0).all():
            raise InputError(f"{task.spec.name}: found a class without a known label in part train")
        return np.tile(np.nansum(targets, axis=0) / known.sum(axis=0), (len(rows), 1))

    def headline(self, score: Mapping[str, Any]) -> str:
        rows, groups = score["rows"], score["groups"]
        return (
            f"{rows['used']:,} rows ({rows['positive']:,} {score['class']}, {rows['negative']:,} not) "
            f"of {groups['n']:,} groups ({groups['by']})"
        )

    def tables(self, score: Mapping[str, Any]) -> Iterator[str]:
        if not score.get("by_rhythm"):
            return
        yield from ("", f"  share flagged (score {score['threshold']} or above) per rhythm, rows / groups")
        kinds = {True: "sensitivity", False: "false positives", None: "flagged"}
        for row in score["by_rhythm"]:
            label = f"{row['name']}, {row['rows']:,} / {row['groups']:,}"
            yield score_line(label, row, score["bootstrap"]["n"], kinds[row["positive"]])


def _score_columns(table: Table, classes: Sequence[str], faults: Faults) -> list[str] | None:
    """The columns that hold the classes' scores, in the order of the classes."""
    present = table.frame.columns
    if len(classes) == 1 and SCORE in present:
        if classes[0] in present:
            faults.add_file(f"both columns {classes[0]} and {SCORE}", "one score column", "drop one")
            return None
        return [SCORE]
    absent = [name for name in classes if name not in present]
    if absent:
        either = f" (or {SCORE})" if len(classes) == 1 else ""
        found = f"no column {', '.join(absent)}{either} among: {', '.join(present)}"
        faults.add_file(found, "a column of scores named as the class", delimiter_hint(present))
        return None
    return list(classes)


def score_column(cells: pl.Series, keys: pl.Series, faults: Faults) -> np.ndarray:
    """The scores of one column, float64 (n,); what is no number in [0, 1] becomes a fault."""
    values, column = numbers(cells), cells.name
    number = values.is_not_null() & values.is_not_nan()
    expected = f"a number in [0, 1] in column {column}"
    faults.add(
        keys.filter(~number),
        f"rows with no number in {column}, be it empty, NaN or text",
        expected,
        cells.filter(~number),
    )
    outside = number & ~values.is_between(0, 1).fill_null(True)
    faults.add(
        keys.filter(outside), f"rows with a score out of range in {column}", expected, cells.filter(outside)
    )
    return values.to_numpy() + 0.0  # no negative zero: equal scores shall have equal bytes


def _categories(spec: Mapping[str, Any], frame: pl.DataFrame, y: np.ndarray) -> Categories | None:
    """Categories as the spec declares them: those of the class, then those of its absence."""
    if "by_category" not in spec["metrics"] or CATEGORY_COLUMN not in frame.columns:
        return None
    label = spec["label"]
    declared = dict.fromkeys(label[spec["classes"][0]], True) | dict.fromkeys(label.get("normal", ()), False)
    return categories(frame[CATEGORY_COLUMN].to_list(), y, declared)
