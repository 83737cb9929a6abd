"""Multilabel tasks: any number of classes an image, scored by the Challenge 2024 macro F-measure.

Every image of the part that is not left out is asked for; those without a label say something about how a
model answers (parse rate, error rate, labels per image), and nothing about its labels.

The bootstrap draws groups of images (`pipelines.label_measures`).
"""

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
from pipelines.label_cells import (
    MISSING,
    PARSED,
    STATUS,
    STATUSES,
    UNANSWERED,
    UNPARSED,
    code,
    label_reader,
    stated,
)
from pipelines.label_measures import METRICS, NO_LABEL, PRIMARY, Measures, measure
from pipelines.metrics import Point, check_names
from pipelines.tables import Table
from warehouse.errors import CheckFailed

if TYPE_CHECKING:
    from warehouse.task import TaskData

NO_CLASS = "no image has it: it is no class here"


class Multilabel(Kind):
    unlabelled = True
    rules = ("error", "no label")

    def reader(self, table: Table, classes: Sequence[str], faults: Faults) -> Rows | None:
        return label_reader(table, classes, faults)

    def stated(self, table: Table) -> dict[str, Any] | None:
        return stated(table)

    def absent(self, n: int, k: int) -> np.ndarray:
        return np.column_stack([np.zeros((n, k)), np.full(n, code(MISSING))])

    def stored(self, classes: Sequence[str], predictions: np.ndarray) -> dict[str, pl.Series]:
        columns = {name: pl.Series(predictions[:, j] == 1) for j, name in enumerate(classes)}
        status = predictions[:, len(classes)] if predictions.shape[1] > len(classes) else np.zeros(0)
        if status.any():
            columns[STATUS] = pl.Series([STATUSES[int(number)] for number in status])
        return columns

    def restored(self, classes: Sequence[str], frame: pl.DataFrame) -> np.ndarray | None:
        if frame.columns not in (list(classes), [*classes, STATUS]):
            return None
        given = frame[STATUS].to_list() if STATUS in frame.columns else [PARSED] * frame.height
        status = np.array([code(value) for value in given])
        return np.column_stack([frame.select(classes).cast(pl.Float64).to_numpy(), status])

    def labels(self, task: TaskData, rows: np.ndarray) -> np.ndarray:
        """0 or 1 of each class, (n, k); a row of `NO_LABEL` where an image has none."""
        scored = task.instances["scored"].gather(rows).to_numpy()
        targets = task.targets[rows]
        odd = scored & ~(np.isin(targets, (0, 1)).all(axis=1) & (targets == 1).any(axis=1))
        if odd.any():
            bad = task.instances["instance_id"].gather(rows[odd]).head(10).to_list()
            raise CheckFailed(
                f"{task.spec.name}: found scored instances without a label: {', '.join(map(str, bad))}; "
                "expected true or false for each class, and true for one or more",
                "the task view is wrong; run `audit`",
            )
        return np.where(scored[:, None], targets, NO_LABEL).astype(np.int64)

    def evaluate(
        self,
        task: TaskData,
        rows: np.ndarray,
        predictions: np.ndarray,
        part: str,
        n: int | None = None,
        other: np.ndarray | None = None,
    ) -> Evaluation:
        declared, classes = task.spec.data["metrics"], task.classes
        names = (declared["primary"], *declared["secondary"])
        check_names(names, METRICS)
        groups = task.instances["group_id"].gather(rows)
        draws = bootstrap_plan(task.spec.data, n)
        if _every_record_is_its_group(task):
            draws |= {"by": "record"}
        labels = self.labels(task, rows)
        made = [
            measure(labels, matrix, groups.to_numpy(), classes, n=draws["n"], seed=draws["seed"])
            for matrix in (predictions, other)
            if matrix is not None
        ]
        first = made[0]
        points = [_points(one, names) for one in made]
        scored = labels[:, 0] != NO_LABEL
        score: dict[str, Any] = {
            "task": task.spec.name,
            "part": part,
            "classes": list(classes),
            "primary": declared["primary"],
            "rows": {"used": int(scored.sum()), "images": len(rows), **_statuses(predictions)},
            "groups": {"by": draws["by"], "n": groups.n_unique()},
            "bootstrap": draws,
            "metrics": metric_table(
                points[0], {name: bootstrap.interval(first.draws[name]) for name in names}
            ),
            "by_class": _by_class(first, classes, labels, predictions, groups),
            "prior": {"output": "every class for every image"}
            | _entry(first, "prior", first.why_not["prior"]),
            "headroom": _entry(first, "headroom", first.why_not["headroom"]),
        }
        if other is None:
            return Evaluation(score)
        limits = {name: bootstrap.interval(first.draws[name] - made[1].draws[name]) for name in names}
        return Evaluation(score, {"metrics": difference_table(*points, limits)})

    def prior(self, task: TaskData, rows: np.ndarray, train: Callable[[], np.ndarray]) -> np.ndarray:
        """Every class for every image: it has the best F that a class can have without looking."""
        return np.ones((len(rows), len(task.classes)))

    def headline(self, score: Mapping[str, Any]) -> str:
        rows, groups = score["rows"], score["groups"]
        first = f"the first {score['first']:,} by id: " if "first" in score else ""
        return (
            f"{first}{rows['images']:,} images ({rows['used']:,} with a label) "
            f"of {groups['n']:,} groups ({groups['by']})"
        )

    def tables(self, score: Mapping[str, Any]) -> Iterator[str]:
        n = score["bootstrap"]["n"]
        yield score_line("prior: every class for every image", score["prior"], n)
        yield score_line("headroom: (1 - F) / (1 - prior)", score["headroom"], n)
        yield from ("", "  F-measure per class, positives / predicted")
        for row in score["by_class"]:
            label = f"{row['name']}, {row['n_positive']:,} / {row['n_predicted']:,}"
            yield score_line(label, row | {"value": row["f_measure"]}, n)

    def notes(self, score: Mapping[str, Any]) -> Iterator[str]:
        rows = score["rows"]
        yield (
            "a resample keeps the classes of the whole reference: one without a positive in it has F 0 when it "
            "is predicted there, and is left out of that resample's mean when it is not"
        )
        if score["groups"]["by"] == "record":
            yield "every record is a group of its own here: the intervals are by record"
        counts = {
            "without a row": rows["missing"],
            "without an answer": rows["unanswered"],
            "with an answer that holds no label object": rows["unparsed"],
        }
        told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        if told:
            yield f"images that count as predicting no label: {told}"
        if score.get("first"):
            yield "a score of the first images only is kept as a run and is not listed on the leaderboard"


def _points(made: Measures, names: Sequence[str]) -> dict[str, Point]:
    return {name: Point(_number(made.point[name]), made.why_not[name]) for name in names}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _entry(made: Measures, name: str, reason: str | None) -> dict[str, Any]:
    return metric_table(
        {name: Point(_number(made.point[name]), reason)}, {name: bootstrap.interval(made.draws[name])}
    )[name]


def _by_class(
    made: Measures, classes: Sequence[str], labels: np.ndarray, predictions: np.ndarray, groups: pl.Series
) -> list[dict[str, Any]]:
    """A dict a class: its F and interval, and among the images with a label how many have it, of how many
    groups, and for how many it is predicted."""
    scored = labels[:, 0] != NO_LABEL
    table = []
    for j, name in enumerate(classes):
        positive = labels[:, j] == 1
        value = _number(made.point["f"][j])
        reason = None if value is not None else (made.why_not[PRIMARY] if positive.any() else NO_CLASS)
        row = {
            "name": name,
            "n_positive": int(positive.sum()),
            "groups": groups.filter(pl.Series(positive)).n_unique(),
            "n_predicted": int((scored & (predictions[:, j] == 1)).sum()),
            "f_measure": value,
            "reason": reason,
        } | bootstrap.interval(made.draws["f"][:, j]).as_dict()
        del row["n_trivial"]
        table.append(row)
    return table


def _statuses(predictions: np.ndarray) -> dict[str, int]:
    names = {"unparsed": UNPARSED, "unanswered": UNANSWERED, "missing": MISSING}
    return {name: int((predictions[:, -1] == code(status)).sum()) for name, status in names.items()}


def _every_record_is_its_group(task: TaskData) -> bool:
    group, record = (task.instances[name].cast(pl.String) for name in ("group_id", "record_id"))
    return bool((group == record).all())
