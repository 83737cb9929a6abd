"""Point metrics of a binary task, and the share flagged per category.

Values are scikit-learn's. What scikit-learn answers with NaN, with 0 and a warning, or with a constant
that holds for any scores is *undefined* here: the value is None and the reason is kept beside it, so that
a missing class can be mistaken neither for a bad score nor for a good one.

=========================  =========================================================================
metric                     undefined when
=========================  =========================================================================
all                        there are no rows
auroc                      one class is missing
auprc                      no positives; without negatives it is 1 for any scores (`TRIVIAL`)
sensitivity                no positives
specificity                no negatives
f1                         no positives and none flagged (2TP + FP + FN = 0); without TP it is 0
brier, accuracy            never otherwise
=========================  =========================================================================

A row is flagged when its score is at or above the threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warehouse.errors import RegistryError

METRICS = ("auroc", "auprc", "brier", "accuracy", "sensitivity", "specificity", "f1")
"""Every metric that a binary spec may name."""

LOWER_IS_BETTER = frozenset({"brier", "error_rate"})
"""Of all kinds; `pipelines.multilabel` has metrics of its own."""

NO_ROWS = "there are no rows"
NO_POSITIVES = "there are no positives"
NO_NEGATIVES = "there are no negatives"
NOTHING_FLAGGED = "there are no positives and none is flagged"
TRIVIAL = "undefined by triviality: without negatives it is 1 for any scores"


@dataclass(frozen=True)
class Point:
    """A metric's value, or None with the reason why there is none."""

    value: float | None
    reason: str | None = None


def check_names(names: Sequence[str], known: Sequence[str] = METRICS) -> None:
    """RegistryError when a spec names a metric that is not `known`."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise RegistryError(
            f"the spec names unknown metrics: {', '.join(unknown)}", f"known are: {', '.join(known)}"
        )


def check_arrays(y: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels as bool and scores as float64, both (n,).

    ValueError when a label is not 0 or 1 or a score is not in [0, 1]: rejecting a submission, with the keys
    of its rows, comes earlier (`pipelines.submission`), and a NaN must never count as "not flagged".
    """
    y, score = np.asarray(y), np.asarray(score, dtype=np.float64)
    if y.shape != score.shape or y.ndim != 1:
        raise ValueError(f"labels {y.shape} and scores {score.shape} must be one-dimensional and alike")
    if not np.isin(y, (0, 1)).all():
        raise ValueError("labels must be 0 or 1")
    if not ((score >= 0) & (score <= 1)).all():
        raise ValueError("scores must be numbers in [0, 1]")
    return y.astype(bool), score


def binary_metrics(
    y: np.ndarray, score: np.ndarray, threshold: float = 0.5, names: Sequence[str] = METRICS
) -> dict[str, Point]:
    """The metrics `names` of labels `y` (n,) and scores (n,), in the order asked for."""
    check_names(names)
    y, score = check_arrays(y, score)
    return {name: _point(name, y, score, threshold) for name in names}


def confusion(y: np.ndarray, score: np.ndarray, threshold: float = 0.5) -> dict[str, int]:
    """Counts tp, fp, tn, fn of labels (n,) and scores (n,)."""
    y, score = check_arrays(y, score)
    flagged = score >= threshold
    return {
        "tp": int((y & flagged).sum()),
        "fp": int((~y & flagged).sum()),
        "tn": int((~y & ~flagged).sum()),
        "fn": int((y & ~flagged).sum()),
    }


def _point(name: str, y: np.ndarray, score: np.ndarray, threshold: float) -> Point:
    reason = undefined(name, int(y.sum()), int((~y).sum()), int((score >= threshold).sum()))
    if reason is not None:
        return Point(None, reason)
    from sklearn import metrics

    flagged = score >= threshold
    match name:
        case "auroc":
            value = metrics.roc_auc_score(y, score)
        case "auprc":
            value = metrics.average_precision_score(y, score)
        case "brier":
            value = metrics.brier_score_loss(y, score, pos_label=True)
        case "accuracy":
            value = metrics.accuracy_score(y, flagged)
        case "sensitivity":
            value = metrics.recall_score(y, flagged)
        case "specificity":
            value = metrics.recall_score(y, flagged, pos_label=False)
        case "f1":
            value = metrics.f1_score(y, flagged, zero_division=0.0)
    return Point(float(value))


def undefined(name: str, positives: int, negatives: int, flagged: int) -> str | None:
    """Why the metric has no value for these counts, or None when it has one."""
    if positives + negatives == 0:
        return NO_ROWS
    match name:
        case "auroc" | "auprc" | "sensitivity" if positives == 0:
            return NO_POSITIVES
        case "auroc" | "specificity" if negatives == 0:
            return NO_NEGATIVES
        case "auprc" if negatives == 0:
            return TRIVIAL
        case "f1" if positives == 0 and flagged == 0:
            return NOTHING_FLAGGED
    return None


@dataclass(frozen=True)
class Categories:
    """Which rows count under which category.

    `member` is a bool matrix (n, c); a row may count under several categories. `positive[j]` says which
    label the rows of category j have: True, False, or None where the spec does not say.
    """

    names: tuple[str, ...]
    positive: tuple[bool | None, ...]
    member: np.ndarray


def categories(
    joined: Sequence[str | None], y: np.ndarray, declared: Mapping[str, bool], separator: str = "|"
) -> Categories:
    """Split each row's category names; `declared` gives the label that a category stands for.

    A row counts under every category that it names and whose declared label is the row's own: a positive
    row that also names a category of the negatives is no false-positive candidate. Declared categories come
    first, in their order and also when they have no row; others follow by name and count all their rows.
    """
    y = np.asarray(y).astype(bool)
    cells = [frozenset(filter(None, (text or "").split(separator))) for text in joined]
    others = sorted({name for cell in set(cells) for name in cell} - declared.keys())
    names = (*declared, *others)
    member = np.zeros((len(cells), len(names)), dtype=bool)
    for j, name in enumerate(names):
        member[:, j] = [name in cell for cell in cells]
        if name in declared:
            member[:, j] &= y == declared[name]
    return Categories(names, tuple(declared.get(name) for name in names), member)


def share_flagged(
    cats: Categories, score: np.ndarray, groups: Sequence | np.ndarray, threshold: float = 0.5
) -> list[dict]:
    """One dict a category: its name, which label it stands for, rows, their groups, flagged rows, share.

    `groups` (n,) are those that the bootstrap draws: an interval over very few of them says little.

    The share is the sensitivity for a category of the positives, the false-positive rate for one of the
    negatives; None with a reason for a category without rows.
    """
    flagged = np.asarray(score) >= threshold
    table = []
    for j, name in enumerate(cats.names):
        rows = int(cats.member[:, j].sum())
        hits = int((cats.member[:, j] & flagged).sum())
        table.append(
            {
                "name": name,
                "positive": cats.positive[j],
                "rows": rows,
                "groups": len(set(np.asarray(groups)[cats.member[:, j]].tolist())),
                "flagged": hits,
                "value": hits / rows if rows else None,
                "reason": None if rows else NO_ROWS,
            }
        )
    return table
