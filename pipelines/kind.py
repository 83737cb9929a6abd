"""What differs between kinds of tasks, as one interface: a kind and its evaluator.

Reading a file, run records, verification, the leaderboard and the baselines are the same street for all;
they ask the task's kind (`pipelines.evaluate.kind_of`) for the rest. A kind's predictions are one float64
matrix, a row an instance: a column per class, then what the kind keeps beside them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from warehouse.errors import RegistryError, UsageError

if TYPE_CHECKING:
    from pipelines.bootstrap import Interval
    from pipelines.faults import Faults
    from pipelines.metrics import Point
    from pipelines.tables import Table
    from warehouse.task import TaskData

Rows = Callable[[np.ndarray, pl.Series], np.ndarray]
"""Reads the lines (n,) of a file, whose keys (n,) name them in a fault, into predictions (n, m)."""


@dataclass(frozen=True)
class Evaluation:
    """`score` is the dictionary of one submission, `against` that of the paired difference, if asked for."""

    score: dict[str, Any]
    against: dict[str, Any] | None = None


class Kind(ABC):
    """A kind of task. `unlabelled`: instances without a label are asked for too, though no label metric
    counts them; `rules`: what it can make of an instance without a row (the spec's ``metrics.missing_row``)."""

    unlabelled = False
    rules: tuple[str, ...] = ("error",)

    def rows(self, instances: pl.DataFrame, part: str, first: int | None = None) -> np.ndarray:
        """Positions of the instances that a submission is read for."""
        return counting_rows(instances, part, first, unlabelled=self.unlabelled)

    def missing_row(self, task: TaskData) -> str:
        """The spec's rule for an instance without a row. RegistryError for one that this kind has not."""
        rule = task.spec.data["metrics"].get("missing_row", "error")
        if rule not in self.rules:
            known = " or ".join(map(repr, self.rules))
            raise RegistryError(f"{task.spec.name}: found metrics.missing_row {rule!r}; expected {known}")
        return rule

    @abstractmethod
    def reader(self, table: Table, classes: Sequence[str], faults: Faults) -> Rows | None:
        """How the table's rows are read; None, with a fault, when its columns do not fit."""

    def stated(self, table: Table) -> dict[str, Any] | None:
        """What the file says of who answered, and how: part of the run record. None where it says nothing."""
        return None

    def absent(self, n: int, k: int) -> np.ndarray:
        """Predictions of `n` instances without a row, where the spec's rule lets them pass."""
        return np.empty((n, k))

    def stored(self, classes: Sequence[str], predictions: np.ndarray) -> dict[str, pl.Series]:
        """Predictions as the columns of a file."""
        return {name: pl.Series(predictions[:, j]) for j, name in enumerate(classes)}

    def restored(self, classes: Sequence[str], frame: pl.DataFrame) -> np.ndarray | None:
        """The reverse of `stored`; None when the columns are others."""
        return frame.to_numpy() if frame.columns == list(classes) else None

    @abstractmethod
    def labels(self, task: TaskData, rows: np.ndarray) -> np.ndarray:
        """The labels (n, m) as int64. CheckFailed when the task view contradicts itself."""

    @abstractmethod
    def evaluate(
        self,
        task: TaskData,
        rows: np.ndarray,
        predictions: np.ndarray,
        part: str,
        n: int | None = None,
        other: np.ndarray | None = None,
    ) -> Evaluation:
        """See `pipelines.evaluate.evaluate`."""

    @abstractmethod
    def prior(self, task: TaskData, rows: np.ndarray, train: Callable[[], np.ndarray]) -> np.ndarray:
        """The predictions (len(rows), k) that a score must beat: what the labels alone tell.

        `train` finds the positions to fit on, for a kind that needs some.
        """

    @abstractmethod
    def headline(self, score: Mapping[str, Any]) -> str:
        """What was scored, in a line."""

    def tables(self, score: Mapping[str, Any]) -> Iterator[str]:
        """Lines below the metrics."""
        yield from ()

    def notes(self, score: Mapping[str, Any]) -> Iterator[str]:
        """What a reader of the numbers must know."""
        yield from ()


def counting_rows(
    instances: pl.DataFrame, part: str, first: int | None = None, *, unlabelled: bool = False
) -> np.ndarray:
    """Positions, ascending, of the instances that count in `part`: scored and not left out.

    `first` keeps of the part's instances that are not left out, scored or not, the first so many by instance
    id (as text). `unlabelled` counts those that are not scored as well. UsageError when the task has no such
    part, or when `first` is no positive number.
    """
    parts = instances["part"].drop_nulls().unique().sort().to_list()
    if not parts:
        raise UsageError(
            "found no instance that is in a part; expected the split to place them",
            "load the release again with what the split needs: `load … --subjects CSV` (vitaldb) or "
            "`--split CSV` (lydus), then materialize",
        )
    if part not in parts:
        raise UsageError(f"found no part {part!r}; expected one of: {', '.join(parts)}")
    if first is not None and first < 1:
        raise UsageError(f"found the first {first} instances; expected 1 or more")
    used = _mask(instances, (pl.col("part") == part) & pl.col("left_out").is_null())
    if first is not None:
        place = np.flatnonzero(used)
        ids = np.array(instances["instance_id"].cast(pl.String).gather(place).to_list(), dtype=object)
        used[place[np.argsort(ids, kind="stable")[first:]]] = False
    return np.flatnonzero(used if unlabelled else used & _mask(instances, pl.col("scored")))


def _mask(instances: pl.DataFrame, expression: pl.Expr) -> np.ndarray:
    return instances.select(expression.fill_null(False)).to_series().to_numpy().copy()


def bootstrap_plan(spec: Mapping[str, Any], n: int | None = None) -> dict[str, Any]:
    """What the draws depend on: number, seed (the bootstrap's own, else the split's, else that of the split's
    sample) and the spec's group."""
    declared, split = spec["metrics"]["bootstrap"], spec["split"]
    if n is not None and n < 0:
        raise UsageError(f"found {n} bootstrap replicates; expected 0 (no intervals) or more")
    places = (declared, split, split.get("sample", {}))
    seed = next((place["seed"] for place in places if "seed" in place), None)
    if seed is None:
        raise RegistryError(
            f"{spec['slug']}@{spec['version']}: found no seed for the bootstrap; "
            "expected metrics.bootstrap.seed, split.seed or split.sample.seed"
        )
    return {"n": declared["n"] if n is None else n, "seed": seed, "by": declared["by"]}


def metric_table(points: Mapping[str, Point], limits: Mapping[str, Interval]) -> dict[str, dict]:
    """A dictionary a metric: value, reason when there is none, interval."""
    return {
        name: {"value": point.value, "reason": point.reason} | limits[name].as_dict()
        for name, point in points.items()
    }


def difference_table(
    first: Mapping[str, Point], second: Mapping[str, Point], limits: Mapping[str, Interval]
) -> dict[str, dict]:
    """The same for the first submission's metrics minus the second's."""
    table = {}
    for name, one in first.items():
        two = second[name]
        defined = one.value is not None and two.value is not None
        table[name] = {
            "first": one.value,
            "second": two.value,
            "value": one.value - two.value if defined else None,
            "reason": one.reason or two.reason,
        } | limits[name].as_dict()
    return table


def score_line(label: str, metric: Mapping[str, Any], n: int, remark: str = "", sign: str = "") -> str:
    """One row of a table: value, interval, in how many of `n` replicates it stood; or why it is undefined."""
    if metric["value"] is None:
        return f"  {label:<42} undefined: {metric['reason']}"
    text = f"  {label:<42} {metric['value']:>{sign}8.4f}"
    if metric["lo"] is not None:
        text += f"   {metric['lo']:>{sign}8.4f} … {metric['hi']:>{sign}7.4f}"
    if metric["n_undefined"]:
        remark = f"{remark}, " * bool(remark) + f"defined in {metric['n_defined']:,} of {n:,} resamples"
    return f"{text}   {remark}".rstrip()
