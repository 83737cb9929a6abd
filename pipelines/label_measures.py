"""The measures of label predictions, on the whole and on resamples of groups of images.

A resample keeps the classes of the whole reference, as the published spec has it. A class of which it drew no
positive has F = 0 when the predictions name it there, as the formula gives it; when they do not, its F is
0/0, undefined, and left out of that resample's mean. A resample in which no image with a label has a
predicted one is undefined, as the point would be, and counted. Group sums are integers, so one floating
matrix product gives all resamples exactly, whatever the threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipelines import bootstrap
from pipelines.challenge2024 import f_measure, macro
from pipelines.label_cells import MISSING, PARSED, UNANSWERED, code

PRIMARY = "macro_f_measure"
METRICS = (PRIMARY, "parse_rate", "error_rate", "mean_labels_predicted")
"""Every metric that a multilabel spec may name. An error is an image without an answer or without a row."""

NO_LABEL = -1
"""In the labels: the image has none, and no label metric counts it."""

NO_IMAGES = "there are no images"
NOTHING_SCORED = "there are no images with a label"
NOTHING_PREDICTED = "no image with a label has a predicted one"
PERFECT_PRIOR = "the prior is perfect"


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
