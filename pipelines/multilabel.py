"""Multilabel tasks: any number of classes an image, scored by the Challenge 2024 macro F-measure.

Every image of the part that is not left out is asked for; those without a label say something about how a
model answers (parse rate, error rate, labels per image), and nothing about its labels.

The bootstrap draws groups of images. A resample keeps the classes of the whole reference, as the published
spec has it. A class of which it drew no positive has F = 0 when the predictions name it there, as the
formula gives it; when they do not, its F is 0/0, undefined, and left out of that resample's mean. A resample
in which no image with a label has a predicted one is undefined, as the point would be, and counted.
Group sums are integers, so one floating matrix product gives all resamples exactly, whatever the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pipelines import bootstrap
from pipelines.challenge2024 import f_measure, macro
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
from pipelines.metrics import Point, check_names
from pipelines.tables import Table
from warehouse.errors import CheckFailed

if TYPE_CHECKING:
    from warehouse.task import TaskData

PRIMARY = "macro_f_measure"
METRICS = (PRIMARY, "parse_rate", "error_rate", "mean_labels_predicted")
"""Every metric that a multilabel spec may name. An error is an image without an answer or without a row."""

NO_LABEL = -1
"""In the labels: the image has none, and no label metric counts it."""

NO_IMAGES = "there are no images"
NOTHING_SCORED = "there are no images with a label"
NOTHING_PREDICTED = "no image with a label has a predicted one"
NO_CLASS = "no image has it: it is no class here"
PERFECT_PRIOR = "the prior is perfect"


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


@dataclass(frozen=True)
class Measures:
    """Values of the whole (`point`) and of each resample (`draws`): ``macro_f_measure`` and the others by
    name, ``prior``, ``headroom``, and ``f`` by class; NaN where undefined, `why_not` gives the point's reasons."""

    point: dict[str, np.ndarray]
    draws: dict[str, np.ndarray]
    why_not: dict[str, str | None]


def measure(
    labels: np.ndarray,
    predictions: np.ndarray,
    groups: np.ndarray,
    classes: Sequence[str],
    *,
    n: int,
    seed: int,
    cells: int = bootstrap.CELLS,
) -> Measures:
    """Every measure of predictions (images, k + 1) against labels (images, k), and of `n` resamples."""
    table = _columns(labels, predictions)
    k = labels.shape[1]
    present = (labels == 1).any(axis=0)
    order = [j for j in sorted(range(k), key=classes.__getitem__) if present[j]]
    names, group = bootstrap.sorted_groups(groups)
    sums = np.stack([np.bincount(group, column, len(names)) for column in table.T], axis=1)
    point = _measures(sums.sum(axis=0, keepdims=True), k, order)
    parts = [
        _measures(counts.astype(np.float64) @ sums, k, order)
        for _, counts in bootstrap.multiplicities(len(names), n, seed, max(1, cells // max(1, len(names))))
    ]
    draws = {
        name: np.concatenate([part[name] for part in parts]) if parts else point[name][:0] for name in point
    }
    return Measures({name: values[0] for name, values in point.items()}, draws, _why_not(labels, point))


def _columns(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """What is summed over images, (images, 3k + 6): per class true positives, named by either side (2TP + FP +
    FN) and positives; then images with a label, those of them with a predicted one, images, parsed answers,
    images without an answer, labels predicted."""
    k = labels.shape[1]
    scored = labels[:, :1] != NO_LABEL
    truth, named, status = scored & (labels == 1), predictions[:, :k] == 1, predictions[:, k]
    counted = scored & named
    flags = (
        scored[:, 0],
        counted.any(axis=1),
        np.ones(len(labels)),
        status == code(PARSED),
        np.isin(status, (code(UNANSWERED), code(MISSING))),
        named.sum(axis=1),
    )
    return np.column_stack([truth & counted, truth.astype(int) + counted, truth, *flags]).astype(np.float64)


def _measures(sums: np.ndarray, k: int, order: Sequence[int]) -> dict[str, np.ndarray]:
    """Every measure of each row of sums (r, 3k + 6): arrays (r,), by class (r, k)."""
    hits, named, positives = sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k : 3 * k]
    scored, completed, images, parsed, unanswered, predicted = sums[:, 3 * k :].T
    f = np.where(completed[:, None] > 0, f_measure(hits, named), np.nan)
    f[:, [j for j in range(k) if j not in order]] = np.nan
    all_named = f_measure(positives, positives + scored[:, None])
    macro_f, prior = (macro(np.ascontiguousarray(values[:, order])) for values in (f, all_named))
    with np.errstate(divide="ignore", invalid="ignore"):
        headroom = np.where(prior < 1, (1 - macro_f) / (1 - prior), np.nan)
        return {
            PRIMARY: macro_f,
            "parse_rate": parsed / images,
            "error_rate": unanswered / images,
            "mean_labels_predicted": predicted / images,
            "prior": prior,
            "headroom": headroom,
            "f": f,
        }


def _why_not(labels: np.ndarray, point: Mapping[str, np.ndarray]) -> dict[str, str | None]:
    nothing = NOTHING_SCORED if not (labels == 1).any() else NOTHING_PREDICTED
    reasons = {name: NO_IMAGES for name in METRICS} | {PRIMARY: nothing, "prior": NOTHING_SCORED}
    reasons["headroom"] = nothing if np.isnan(point[PRIMARY][0]) else PERFECT_PRIOR
    return {name: reason if np.isnan(point[name][0]) else None for name, reason in reasons.items()}


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
