"""Loss, thresholds and decisions, by the task's kind; the measure by which an epoch is chosen is the task's own.

An objective knows what a model's outputs mean. `objective_of` finds it by the spec's ``kind``; a new kind needs one
class here and nothing in the loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pipelines.evaluate import evaluate
from pipelines.label_cells import PARSED, code
from pipelines.metrics import LOWER_IS_BETTER
from warehouse.errors import InputError, UsageError

if TYPE_CHECKING:
    import torch

    from warehouse.task import TaskData

UNDECIDED = 0.5
"""The threshold of a class that nothing in validation can set."""


class Objective(ABC):
    """What is trained for; `positive_weights` (k,) weigh a class's positives, where they do. `metrics` are those by
    whose mean an epoch is chosen."""

    def __init__(self, task: TaskData, choose: str = "") -> None:
        self.task = task
        self.classes = task.classes
        declared = task.spec.data["metrics"]
        self.metrics = tuple(choose.split("+")) if choose else (declared["primary"],)
        known = (declared["primary"], *declared["secondary"])
        unknown = [name for name in self.metrics if name not in known]
        if unknown:
            raise UsageError(
                f"--choose {choose}: found no metric {unknown[0]!r}; expected of {task.spec.name}: {', '.join(known)}"
            )
        self.without_positives: list[str] = []
        self.positive_weights: np.ndarray | None = None

    def learn_from(self, targets: np.ndarray, *, balance: float) -> None:
        """Look at the train part's targets (n, k), NaN = unknown; `balance` is the power of the weights, which
        are negatives / positives, 0 for none. InputError when they teach nothing."""
        positives, negatives = (targets == 1).sum(axis=0), (targets == 0).sum(axis=0)
        if not (positives * negatives > 0).any():
            raise InputError(
                f"{self.task.spec.name}: found no class with positives and negatives among {len(targets):,} "
                "instances of part train; expected one or more to learn",
                next_step="load more records",
            )
        self.without_positives = [name for name, n in zip(self.classes, positives, strict=True) if not n]
        self.positive_weights = self.weights(positives, negatives) ** balance if balance else None

    def weights(self, positives: np.ndarray, negatives: np.ndarray) -> np.ndarray:
        """What a class's positives (k,) weigh, 1 where it has none."""
        return np.where(positives * negatives > 0, negatives / np.maximum(positives, 1), 1.0)

    @abstractmethod
    def loss(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The mean loss of float32 logits (n, outputs) against targets (n, k) with NaN; a scalar."""

    @abstractmethod
    def probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        """(n, k) from 0 to 1."""

    @abstractmethod
    def thresholds(self, probabilities: np.ndarray, targets: np.ndarray) -> list[float | None]:
        """One a class, from validation; None: the class is never predicted."""

    @abstractmethod
    def predictions(self, probabilities: np.ndarray, thresholds: Sequence[float | None]) -> np.ndarray:
        """What the task's kind scores and stores, (n, m)."""

    def measure(
        self, rows: np.ndarray, probabilities: np.ndarray, thresholds: Sequence[float | None]
    ) -> float | None:
        """The mean of `metrics` over the instances at `rows`, of part validation; None where one is undefined."""
        score = evaluate(
            self.task, rows, self.predictions(probabilities, thresholds), "validation", n=0
        ).score
        values = [score["metrics"][name]["value"] for name in self.metrics]
        return None if None in values else sum(values) / len(values)

    def is_better(self, one: tuple[float | None, float], other: tuple[float | None, float]) -> bool:
        """Whether (metric, validation loss) of an epoch beats that of an earlier one."""
        sign = -1 if self.metrics[0] in LOWER_IS_BETTER else 1
        values = [-np.inf if metric is None else sign * metric for metric, _ in (one, other)]
        return (values[0], -one[1]) > (values[1], -other[1])


class EachClass(Objective):
    """Every class for itself: binary cross-entropy, unknown labels masked."""

    def loss(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        import torch

        known = ~torch.isnan(targets)
        weights = None
        if self.positive_weights is not None:
            weights = torch.as_tensor(self.positive_weights, dtype=logits.dtype, device=logits.device)
        each = torch.nn.functional.binary_cross_entropy_with_logits(
            logits, torch.where(known, targets, 0.0), reduction="none", pos_weight=weights
        )
        return (each * known).sum() / known.sum().clamp(min=1)

    def probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        return logits.sigmoid()

    def thresholds(self, probabilities: np.ndarray, targets: np.ndarray) -> list[float | None]:
        """Each with the best F-measure; a class that the train part never shows is never predicted."""
        return [
            None if name in self.without_positives else best_threshold(probabilities[:, j], targets[:, j])
            for j, name in enumerate(self.classes)
        ]

    def decisions(self, probabilities: np.ndarray, thresholds: Sequence[float | None]) -> np.ndarray:
        """0 or 1 of each class, (n, k)."""
        limits = np.array([np.inf if limit is None else limit for limit in thresholds])
        return (probabilities >= limits).astype(np.float64)


class Labels(EachClass):
    """A multilabel task: decisions are what is scored."""

    def predictions(self, probabilities: np.ndarray, thresholds: Sequence[float | None]) -> np.ndarray:
        decided = self.decisions(probabilities, thresholds)
        return np.column_stack([decided, np.full(len(decided), code(PARSED))])


class Score(EachClass):
    """A binary task: probabilities are what is scored, at the spec's own threshold where one is needed."""

    def predictions(self, probabilities: np.ndarray, thresholds: Sequence[float | None]) -> np.ndarray:
        return probabilities


class OneClass(Objective):
    """A multiclass task: cross-entropy over the classes; the class is that with the greatest probability / threshold.

    Thresholds are powers of the classes' shares in part train, and add to 1: with the power 0 the most probable
    class is named, with 1 the one that gained most over its share. Nothing but the power is set on validation, since
    rare classes have too few instances there for a threshold of their own.
    """

    POWERS = np.linspace(0, 1, 21)
    smoothing = 0.0

    def learn_from(self, targets: np.ndarray, *, balance: float) -> None:
        super().learn_from(targets, balance=balance)
        self.shares = (targets == 1).sum(axis=0) / len(targets)

    def weights(self, positives: np.ndarray, negatives: np.ndarray) -> np.ndarray:
        total = positives.sum()
        return np.where(positives > 0, total / (len(positives) * np.maximum(positives, 1)), 1.0)

    def loss(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The weighted mean, its weights those of the instances' classes."""
        import torch

        weights = None
        if self.positive_weights is not None:
            weights = torch.as_tensor(self.positive_weights, dtype=logits.dtype, device=logits.device)
        return torch.nn.functional.cross_entropy(
            logits, targets.argmax(dim=1), weight=weights, label_smoothing=self.smoothing
        )

    def probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        return logits.softmax(dim=1)

    def thresholds(self, probabilities: np.ndarray, targets: np.ndarray) -> list[float | None]:
        """Of the power with the best mean of `metrics`; of equal ones the least. None for a class that part train
        never shows."""
        from pipelines.class_measures import confusion_matrix, of_confusion

        gold, k = targets.argmax(axis=1), len(self.classes)
        class_list = self.task.spec.data["metrics"]["class_list"]
        best, chosen = -np.inf, self._limits(0.0)
        for power in self.POWERS:
            limits = self._limits(power)
            named = self.predictions(probabilities, limits).argmax(axis=1)
            found = of_confusion(confusion_matrix(gold, named, k), class_list)
            value = sum(float(found[name]) for name in self.metrics)
            if value > best:
                best, chosen = value, limits
        return chosen

    def _limits(self, power: float) -> list[float | None]:
        raised = np.where(self.shares > 0, np.maximum(self.shares, 1e-12) ** power, 0.0)
        return [float(each) if each else None for each in raised / raised.sum()]

    def predictions(self, probabilities: np.ndarray, thresholds: Sequence[float | None]) -> np.ndarray:
        """Probabilities over thresholds, each row to the sum 1."""
        limits = np.array([np.inf if limit is None else limit for limit in thresholds])
        against = probabilities / limits
        return against / np.maximum(against.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)


OBJECTIVES: dict[str, type[Objective]] = {"binary": Score, "multiclass": OneClass, "multilabel": Labels}


def objective_of(task: TaskData, choose: str = "") -> Objective:
    """With the metrics by whose mean an epoch is chosen, see `Settings`. UsageError for a kind of task that nothing
    can be trained for yet."""
    kind = task.spec.data["kind"]
    if kind not in OBJECTIVES:
        known = "{}, {} and {}".format(*OBJECTIVES)
        raise UsageError(f"{task.spec.name}: found kind {kind}; only {known} tasks can be trained for yet")
    return OBJECTIVES[kind](task, choose)


def best_threshold(scores: np.ndarray, truth: np.ndarray) -> float:
    """The threshold (predicted: at or above it) with the largest F = 2TP / (2TP + FP + FN), truth NaN left out.

    It lies in the middle between two scores; of equal ones the highest. `UNDECIDED` without a positive.
    """
    known = ~np.isnan(truth)
    order = np.argsort(-scores[known], kind="stable")
    ranked, positive = scores[known][order].astype(np.float64), truth[known][order] == 1
    if not positive.any():
        return UNDECIDED
    hits = np.cumsum(positive)
    f = 2 * hits / (np.arange(1, len(ranked) + 1) + hits[-1])
    f[:-1][ranked[1:] == ranked[:-1]] = -1.0  # equal scores fall on one side
    last = int(np.argmax(f))
    below = ranked[last + 1] if last + 1 < len(ranked) else 0.0
    return float((ranked[last] + below) / 2)
