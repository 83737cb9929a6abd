"""The macro F-measure of the PhysioNet Challenge 2024, to the last bit, in code of our own.

It follows ``evaluate_model.py`` of physionetchallenges/evaluation-2024 at 9af7dfb, the scorer of the final
results. What that tool does, which is not what one would guess:

- A record is scored when its reference has a name. What is predicted for any other record never counts.
- The classes are the names that the scored references hold, sorted; there is no fixed list. A class that
  only predictions name is none, and one that is never predicted has F = 0.
- F = 2TP / (2TP + FP + FN) of each class; the macro F is the plain mean of them.
- When no scored record has a predicted name, the result is NaN without classes, not 0.
- Two names that read as the number NaN are equal to each other, however they are spelt.

`score_lists` takes names, `score_matrices` booleans; they give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

Names = Sequence[str]


@dataclass(frozen=True)
class MacroF:
    """`macro` is NaN where nothing was predicted; `classes` gives each class's F in sorted order."""

    macro: float
    classes: dict[str, float]


NOTHING = MacroF(math.nan, {})


def score_lists(
    reference: Sequence[Names], output: Sequence[Names | None], classes: Iterable[str] | None = None
) -> MacroF:
    """Score each record's predicted names (None: no output) against its reference names.

    `classes` fixes the classes, as a bootstrap does; one that no record has then keeps F = 0 when it is
    predicted, and is NaN and left out of the mean when it is not.
    """
    scored = [
        (truth, named or ())
        for truth, named in zip(reference, output, strict=True)
        if any(filter(None, truth))
    ]
    if not any(filter(None, (name for _, named in scored for name in named))):
        return NOTHING
    if classes is None:
        classes = {name for truth, _ in scored for name in truth}
    values = {name: _f_of(_holding(name, scored)) for name in sorted(classes)}
    return MacroF(_mean(list(values.values())), values)


def score_matrices(truth: np.ndarray, predicted: np.ndarray, classes: Sequence[str]) -> MacroF:
    """The same for boolean matrices (records, classes); only classes with a positive are classes."""
    scored = truth.any(axis=1)
    truth, predicted = truth[scored], predicted[scored]
    if not predicted.any():
        return NOTHING
    order = [j for j in sorted(range(len(classes)), key=classes.__getitem__) if truth[:, j].any()]
    hits = (truth & predicted).sum(axis=0)[order]
    named = truth.sum(axis=0)[order] + predicted.sum(axis=0)[order]
    values = f_measure(hits, named)
    return MacroF(_mean(values), dict(zip([classes[j] for j in order], values.tolist(), strict=True)))


def f_measure(hits: np.ndarray, named: np.ndarray) -> np.ndarray:
    """F from true positives and from how often truth and prediction name the class (2TP + FP + FN)."""
    with np.errstate(invalid="ignore"):
        return 2 * hits / named


def macro(values: np.ndarray) -> np.ndarray:
    """The mean (n,) of F-measures (n, k) over those that are not NaN, NaN where none is.

    The classes must come in sorted order: another order gives another last bit.
    """
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0.0).sum(axis=-1) / known.sum(axis=-1)


def _mean(values: Sequence[float] | np.ndarray) -> float:
    return float(macro(np.asarray(values, dtype=np.float64)))


def _holding(name: str, scored: Sequence[tuple[Names, Names]]) -> Iterable[tuple[bool, bool]]:
    """For each record whether its reference and its output hold the name."""
    nan = _is_nan(name)

    def held(names: Names) -> bool:
        return name in names or (nan and any(map(_is_nan, names)))

    return ((held(truth), held(named)) for truth, named in scored)


def _f_of(pairs: Iterable[tuple[bool, bool]]) -> float:
    hits = named = 0
    for truth, predicted in pairs:
        hits += truth and predicted
        named += truth + predicted
    return 2 * hits / named if named else math.nan


def _is_nan(name: str) -> bool:
    try:
        return math.isnan(float(name))
    except ValueError:
        return False
