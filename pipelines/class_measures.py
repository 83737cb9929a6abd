"""The measures of predictions that name one class an instance, on the whole and on resamples of groups.

Accuracy and the macro means follow the recipe of the heartbeat evaluation (Kachuee et al. 2018): precision and recall
of each class, 0 where they are 0/0, averaged without weights. The recipe does not say over which classes, so every
mean states its list:

=========  ==================================================================
``fixed``  the classes that the spec declares, predicted or not
``gold``   those that some instance has
``union``  those that some instance has or is given
=========  ==================================================================

A resample draws groups with replacement. A class that it drew no instance of has no recall there, and neither
precision nor F1 when it is not predicted either: it is left out of that resample's mean instead of counting as 0, which
would say that the model is worse where the draw was poor. Counts are integers, so one product gives all resamples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipelines import bootstrap
from warehouse.errors import InputError, Problem, RegistryError

METRICS = ("accuracy", "macro_precision", "macro_recall", "macro_f1")
"""Every metric that a multiclass spec may name, all in percent."""
BY_CLASS = ("precision", "recall", "f1")
CLASS_LISTS = ("fixed", "gold", "union")
PERCENT = 100.0


@dataclass(frozen=True)
class ClassMeasures:
    """``confusion`` (k, k): row the class, column the prediction. ``point`` holds METRICS as numbers and BY_CLASS as
    (k,); ``draws`` the same of each resample, (n,) and (n, k), NaN where undefined. All in percent."""

    confusion: np.ndarray
    point: dict[str, float | np.ndarray]
    draws: dict[str, np.ndarray]


def confusion_matrix(gold: np.ndarray, predicted: np.ndarray, k: int) -> np.ndarray:
    """(k, k) counts of class numbers (n,). InputError when there are none, or not as many of both."""
    gold, predicted = np.asarray(gold), np.asarray(predicted)
    if gold.shape != predicted.shape or gold.ndim != 1:
        raise InputError(
            "labels and predictions do not go together",
            [Problem("predictions", f"{len(predicted)} for {len(gold)} labels", "as many of both")],
        )
    if not len(gold):
        raise InputError("nothing to score", [Problem("labels", "none", "at least one")])
    return np.bincount(gold * k + predicted, minlength=k * k).reshape(k, k)


def of_confusion(confusion: np.ndarray, class_list: str = "fixed") -> dict[str, float | np.ndarray]:
    """METRICS and BY_CLASS of one (k, k) matrix by the recipe; a class that is not in the list has its figures too."""
    if class_list not in CLASS_LISTS:
        raise RegistryError(f"found class list {class_list!r}; expected one of {', '.join(CLASS_LISTS)}")
    by_class = _by_class(confusion[None], zero=True)
    has, given = confusion.sum(axis=1) > 0, confusion.sum(axis=0) > 0
    chosen = {"fixed": has | True, "gold": has, "union": has | given}[class_list]
    means = {
        f"macro_{name}": PERCENT * float(sum(values[0][chosen]) / chosen.sum())
        for name, values in by_class.items()
    }
    accuracy = PERCENT * float(np.trace(confusion) / confusion.sum())
    return {"accuracy": accuracy, **means, **{name: PERCENT * values[0] for name, values in by_class.items()}}


def measure(
    gold: np.ndarray,
    predicted: np.ndarray,
    groups: np.ndarray,
    k: int,
    *,
    class_list: str,
    n: int,
    seed: int,
    cells: int = bootstrap.CELLS,
) -> ClassMeasures:
    """Every measure of class numbers ``predicted`` against ``gold``, (rows,) each, and of ``n`` resamples of groups."""
    whole = confusion_matrix(gold, predicted, k)
    point = of_confusion(whole, class_list)
    names, group = bootstrap.sorted_groups(groups)
    table = np.bincount((group * k + gold) * k + predicted, minlength=len(names) * k * k).reshape(
        len(names), k * k
    )
    has, given = whole.sum(axis=1) > 0, whole.sum(axis=0) > 0
    chosen = {"fixed": has | True, "gold": has, "union": has | given}[class_list]
    parts = [
        _resampled((counts @ table).reshape(-1, k, k), chosen)
        for _, counts in bootstrap.multiplicities(len(names), n, seed, max(1, cells // max(1, len(names))))
    ]
    kinds = (*METRICS, *BY_CLASS)
    draws = {
        name: np.concatenate([part[name] for part in parts])
        if parts
        else np.empty((0, k) if name in BY_CLASS else 0)
        for name in kinds
    }
    return ClassMeasures(whole, point, draws)


def _by_class(confusions: np.ndarray, *, zero: bool) -> dict[str, np.ndarray]:
    """Precision, recall and F1 (r, k) of matrices (r, k, k), as shares; 0/0 is 0, or NaN where not ``zero``.

    Precision 0/0 of a class that has instances is 0 in either case: it was never named.
    """
    hits = np.diagonal(confusions, axis1=1, axis2=2)
    has, given = confusions.sum(axis=2), confusions.sum(axis=1)
    undefined = 0.0 if zero else np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(given > 0, hits / given, np.where(has > 0, 0.0, undefined))
        recall = np.where(has > 0, hits / has, undefined)
        f1 = np.where(has + given > 0, 2 * hits / (has + given), undefined)
    return {"precision": precision, "recall": recall, "f1": f1}


def _resampled(confusions: np.ndarray, chosen: np.ndarray) -> dict[str, np.ndarray]:
    by_class = _by_class(confusions, zero=False)
    total = confusions.sum(axis=(1, 2))
    found = {"accuracy": PERCENT * np.trace(confusions, axis1=1, axis2=2) / total}
    for name, values in by_class.items():
        known = ~np.isnan(values) & chosen
        with np.errstate(divide="ignore", invalid="ignore"):
            found[f"macro_{name}"] = PERCENT * np.where(known, values, 0.0).sum(axis=1) / known.sum(axis=1)
        found[name] = PERCENT * values
    return found


def class_numbers(names: Sequence[str], classes: Sequence[str]) -> np.ndarray:
    """Names as their places in ``classes``, (n,) int64. InputError for a name that is no class."""
    place = {name: number for number, name in enumerate(classes)}
    unknown = sorted({name for name in names if name not in place})
    if unknown:
        raise InputError(
            "unknown classes",
            [Problem("labels", ", ".join(map(repr, unknown)), f"one of {', '.join(classes)}")],
        )
    return np.array([place[name] for name in names], dtype=np.int64)
