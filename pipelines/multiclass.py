"""Multiclass tasks: one class an instance, scored by accuracy and macro means in percent.

A submission has a column per class with numbers from 0 to 1, of which the greatest names the class, or a column
``label`` with the name. Where several numbers are the greatest, the class that the spec names first counts, and the
score says for how many instances that was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pipelines import bootstrap
from pipelines.binary import score_column
from pipelines.class_measures import BY_CLASS, CLASS_LISTS, METRICS, ClassMeasures, measure, of_confusion
from pipelines.faults import Faults
from pipelines.kind import (
    Evaluation,
    Kind,
    Rows,
    bootstrap_plan,
    difference_table,
    metric_table,
)
from pipelines.metrics import NO_ROWS, Point, check_names
from pipelines.tables import Table, delimiter_hint, texts
from warehouse.errors import CheckFailed, InputError, UsageError

if TYPE_CHECKING:
    from warehouse.task import TaskData

LABEL = "label"
"""The column that names the class."""
WIDE = 24
"""Characters of a figure with its interval."""


class Multiclass(Kind):
    def reader(self, table: Table, classes: Sequence[str], faults: Faults) -> Rows | None:
        present = table.frame.columns
        named = [name for name in classes if name in present]
        by_name = LABEL in present and LABEL not in classes
        if by_name and named:
            found = f"columns {', '.join([LABEL, *named])}"
            faults.add_file(found, f"either a column per class, or {LABEL}", "drop the others")
            return None
        if not by_name and len(named) < len(classes):
            absent = ", ".join(name for name in classes if name not in named)
            found = f"no column {absent}{'' if named else f' (nor {LABEL})'} among: {', '.join(present)}"
            faults.add_file(found, f"a column for every class, or {LABEL}", delimiter_hint(present))
            return None

        def read(lines: np.ndarray, keys: pl.Series) -> np.ndarray:
            if by_name:
                return _named(texts(table.frame[LABEL].gather(lines)), keys, classes, faults)
            cells = (table.frame[column].gather(lines) for column in classes)
            return np.stack([score_column(column, keys, faults) for column in cells], axis=1)

        return read

    def labels(self, task: TaskData, rows: np.ndarray) -> np.ndarray:
        """The number of each instance's class, (n, 1)."""
        targets = task.targets[rows]
        odd = ~(np.isin(targets, (0, 1)).all(axis=1) & (np.nansum(targets, axis=1) == 1))
        if odd.any():
            bad = task.instances["instance_id"].gather(rows[odd]).head(10).to_list()
            raise CheckFailed(
                f"{task.spec.name}: found scored instances without one class: {', '.join(map(str, bad))}; "
                "expected true for one class of each and false for the others",
                "the task view is wrong; run `audit`",
            )
        return targets.argmax(axis=1).astype(np.int64)[:, None]

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
        if not len(rows):
            raise UsageError(
                f"{task.spec.name}: found no scored instance in part {part}; expected some to score"
            )
        class_list = declared["class_list"]
        groups = task.instances["group_id"].gather(rows)
        draws = bootstrap_plan(task.spec.data, n)
        gold = self.labels(task, rows)[:, 0]
        made = [
            measure(
                gold,
                matrix.argmax(axis=1),
                groups.to_numpy(),
                len(classes),
                class_list=class_list,
                n=draws["n"],
                seed=draws["seed"],
            )
            for matrix in (predictions, other)
            if matrix is not None
        ]
        first = made[0]
        points = [{name: Point(float(one.point[name])) for name in names} for one in made]
        greatest = predictions == predictions.max(axis=1, keepdims=True)
        score: dict[str, Any] = {
            "task": task.spec.name,
            "part": part,
            "classes": list(classes),
            "primary": declared["primary"],
            "unit": "percent",
            "class_list": class_list,
            "rows": {"used": len(rows), "tied": int((greatest.sum(axis=1) > 1).sum())},
            "groups": {"by": draws["by"], "n": groups.n_unique()},
            "bootstrap": draws,
            "metrics": metric_table(
                points[0], {name: bootstrap.interval(first.draws[name]) for name in names}
            ),
            "class_lists": {
                each: {name: of_confusion(first.confusion, each)[name] for name in names}
                for each in CLASS_LISTS
            },
            "by_class": _by_class(first, classes, gold, groups),
            "confusion": first.confusion.tolist(),
        }
        if other is None:
            return Evaluation(score)
        limits = {name: bootstrap.interval(first.draws[name] - made[1].draws[name]) for name in names}
        return Evaluation(score, {"metrics": difference_table(*points, limits)})

    def prior(self, task: TaskData, rows: np.ndarray, train: Callable[[], np.ndarray]) -> np.ndarray:
        """The class that most train instances have, for every instance."""
        where = train()
        if not len(where):
            raise InputError(f"{task.spec.name}: found no labelled instance in part train")
        counts = np.bincount(self.labels(task, where)[:, 0], minlength=len(task.classes))
        return np.tile(np.eye(len(task.classes))[counts.argmax()], (len(rows), 1))

    def headline(self, score: Mapping[str, Any]) -> str:
        rows, groups = score["rows"], score["groups"]
        return (
            f"{rows['used']:,} instances of {groups['n']:,} groups ({groups['by']}); percent, "
            f"means over {_WORDS[score['class_list']]}"
        )

    def tables(self, score: Mapping[str, Any]) -> Iterator[str]:
        others = [name for name in CLASS_LISTS if name != score["class_list"]]
        means = [name for name in score["metrics"] if name.startswith("macro_")]
        if any(
            score["class_lists"][other][name] != score["metrics"][name]["value"]
            for other in others
            for name in means
        ):
            for other in others:
                values = ", ".join(f"{name} {score['class_lists'][other][name]:.4f}" for name in means)
                yield f"  over {_WORDS[other]}: {values}"
        yield from ("", f"  {'class':<8}{'instances':>10}{'predicted':>10}{'groups':>8}" + _heads())
        for row in score["by_class"]:
            counts = f"{row['instances']:>10,}{row['predicted']:>10,}{row['groups']:>8,}"
            yield f"  {row['name']:<8}{counts}" + "".join(_figure(row[name]) for name in BY_CLASS)
        classes = score["classes"]
        width = max(len(f"{count:,}") for row in score["confusion"] for count in row) + 2
        width = max(width, *(len(name) + 2 for name in classes))
        yield from ("", "  confusion: a row is the class, a column what was predicted")
        yield "  " + " " * width + "".join(f"{name:>{width}}" for name in classes)
        for name, counts in zip(classes, score["confusion"], strict=True):
            yield f"  {name:>{width}}" + "".join(f"{count:>{width},}" for count in counts)

    def notes(self, score: Mapping[str, Any]) -> Iterator[str]:
        if score["rows"]["tied"]:
            yield (
                f"{score['rows']['tied']:,} instances have several greatest numbers: the class that the spec names "
                "first counts"
            )
        yield (
            "a resample leaves a class out of its means where it drew no instance of it: it has no recall there, "
            "and neither precision nor F1 when it is not predicted"
        )


_WORDS = {
    "fixed": "the declared classes",
    "gold": "the classes that some instance has",
    "union": "the classes that some instance has or is given",
}


def _heads() -> str:
    return "".join(f"{name:>{WIDE}}" for name in BY_CLASS)


def _figure(metric: Mapping[str, Any]) -> str:
    """A figure with its interval."""
    if metric["value"] is None:
        return f"{'–':>{WIDE}}"
    limits = "" if metric["lo"] is None else f" ({metric['lo']:.1f} … {metric['hi']:.1f})"
    return f"{metric['value']:.2f}{limits}".rjust(WIDE)


def _named(cells: pl.Series, keys: pl.Series, classes: Sequence[str], faults: Faults) -> np.ndarray:
    """Names as rows of zeros with one 1, (n, k)."""
    unknown = ~cells.is_in(list(classes)).fill_null(False)
    expected = f"one of: {', '.join(classes)}"
    faults.add(keys.filter(unknown), f"rows with no class in {LABEL}", expected, cells.filter(unknown))
    place = {name: number for number, name in enumerate(classes)}
    numbers = cells.replace_strict(place, default=0, return_dtype=pl.Int64).to_numpy()
    return np.eye(len(classes))[numbers]


def _by_class(
    made: ClassMeasures, classes: Sequence[str], gold: np.ndarray, groups: pl.Series
) -> list[dict[str, Any]]:
    """A dictionary a class: how many instances of how many groups have it, how many are given it, its figures."""
    has, given = made.confusion.sum(axis=1), made.confusion.sum(axis=0)
    table = []
    for j, name in enumerate(classes):
        row: dict[str, Any] = {
            "name": name,
            "instances": int(has[j]),
            "groups": groups.filter(pl.Series(gold == j)).n_unique(),
            "predicted": int(given[j]),
        }
        for figure in BY_CLASS:
            point = Point(float(made.point[figure][j])) if has[j] or given[j] else Point(None, NO_ROWS)
            row[figure] = {"value": point.value, "reason": point.reason} | bootstrap.interval(
                made.draws[figure][:, j]
            ).as_dict()
        table.append(row)
    return table
