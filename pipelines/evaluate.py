"""From a task and predictions to the dictionary that a run stores; no file is read or written.

`score` calls it once; `verify` calls it again on the stored predictions and compares. Every number in the
dictionary follows from the task's build, the spec and the predictions alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pipelines.binary import Binary
from pipelines.kind import Evaluation, Kind
from pipelines.multiclass import Multiclass
from pipelines.multilabel import Multilabel
from warehouse.errors import UsageError

if TYPE_CHECKING:
    from warehouse.task import TaskData

KINDS: dict[str, Kind] = {"binary": Binary(), "multiclass": Multiclass(), "multilabel": Multilabel()}
"""The kinds of tasks that can be scored, by the spec's ``kind``."""


def kind_of(task: TaskData) -> Kind:
    """The task's kind. UsageError for one that has no metrics here yet."""
    found = task.spec.data["kind"]
    if found not in KINDS:
        known = ", ".join(KINDS)
        raise UsageError(f"{task.spec.name}: found kind {found}; only {known} tasks can be scored yet")
    return KINDS[found]


def evaluate(
    task: TaskData,
    rows: np.ndarray,
    predictions: np.ndarray,
    part: str,
    *,
    n: int | None = None,
    other: np.ndarray | None = None,
    first: int | None = None,
) -> Evaluation:
    """Score `predictions` (len(rows), m) of the instances at positions `rows`.

    `n` is the number of bootstrap replicates, the spec's where None. `other` holds a second submission's
    predictions of the same rows; both are then drawn alike. `first` says that `rows` are the first so many
    by instance id alone. UsageError for a kind of task that has no metrics here yet, CheckFailed when an
    instance that counts has no label.
    """
    made = kind_of(task).evaluate(task, rows, predictions, part, n, other)
    if first is None:
        return made
    head = {name: made.score[name] for name in ("task", "part")} | {"first": first}
    return Evaluation(head | made.score, made.against)
