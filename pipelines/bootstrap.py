"""Percentile intervals from a bootstrap over groups (patients), without a loop over the rows.

The contract of the draws, so that another implementation gets the same limits: groups sorted ascending
(integers as integers), ``rng = numpy.random.default_rng(seed)``, for each replicate
``rng.integers(0, k, size=k)``; the rows of a drawn group enter once per draw. The limits are the 2.5th and
97.5th percentile (linear) over the replicates in which the metric is defined; the others are counted.

A replicate is never written out as rows. It is a vector of multiplicities, one a group, and each metric is
a function of weighted counts: from one sort of the scores, cumulative weights at the ends of ties give
AUROC and AUPRC just as scikit-learn treats ties. Everything but Brier, and the sum of AUPRC, is integer
arithmetic; floating sums run in a fixed order, so the result depends neither on threads nor on the chunks.

A replicate without negatives counts for AUPRC with the value 1 that scikit-learn gives it, although a
*point* like that is undefined here: such a replicate says that a patient sample of this kind exists, and
dropping it would narrow the interval from one side. `Interval.n_trivial` says how many there were.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from pipelines.metrics import METRICS, Categories, check_arrays, check_names

PERCENTILES = (2.5, 97.5)
CELLS = 1_000_000
"""Rows × replicates held at once; eight bytes each, in some six arrays."""


@dataclass(frozen=True)
class Interval:
    """Limits and mean over the defined replicates (None when there are none), and how many those were."""

    lo: float | None
    hi: float | None
    mean: float | None
    n_defined: int
    n_undefined: int
    n_trivial: int = 0

    def as_dict(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Replicates:
    """Replicate values, NaN where undefined: `metrics[name]` (m, n) and `shares` (m, n, c), for m score
    vectors, n replicates and c categories; `trivial` (n,) marks replicates without negatives."""

    metrics: dict[str, np.ndarray]
    shares: np.ndarray
    trivial: np.ndarray


def sorted_groups(groups: Sequence[int] | Sequence[str] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct groups in the order of the draws, and each row's index into them.

    Integers sort as integers, also when they arrive as text (all of them, without leading zeros).
    """
    values = np.asarray(groups)
    if values.dtype.kind not in "iu":
        texts = [str(value) for value in values.tolist()]
        numbers = all(t.removeprefix("-").isdecimal() and str(int(t)) == t for t in set(texts))
        values = np.array([int(t) for t in texts] if numbers else texts, dtype=None if texts else np.int64)
    return np.unique(values, return_inverse=True)


def draws(k: int, n: int, seed: int) -> Iterator[np.ndarray]:
    """`n` draws of `k` of the groups 0…k-1 with replacement, each an int array (k,)."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        yield rng.integers(0, k, size=k)


def multiplicities(k: int, n: int, seed: int, size: int) -> Iterator[tuple[int, np.ndarray]]:
    """Chunks of at most `size` replicates: the first one's number and an int64 matrix (replicates, k)."""
    stream = draws(k, n, seed)
    for start in range(0, n, size):
        drawn = [np.bincount(next(stream), minlength=k) for _ in range(min(size, n - start))]
        yield start, np.stack(drawn).astype(np.int64)


class _Ranking:
    """One sort of a score vector; AUROC and AUPRC of weighted rows from cumulative counts."""

    def __init__(self, y: np.ndarray, score: np.ndarray, group: np.ndarray) -> None:
        order = np.argsort(-score, kind="stable")
        self.y = y[order]
        self.group = group[order]
        ends = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))
        self.ends = None if len(ends) == len(order) else ends

    def areas(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """AUROC and AUPRC of each replicate (r,); NaN where a class is missing (AUPRC: the positives)."""
        weight = np.take(counts, self.group, axis=1)
        above = np.cumsum(weight, axis=1)
        weight *= self.y
        hits = np.cumsum(weight, axis=1, out=weight)
        if self.ends is not None:
            above, hits = above[:, self.ends], hits[:, self.ends]
        positives = hits[:, -1].copy()
        negatives = above[:, -1] - positives
        gained = np.diff(hits, axis=1, prepend=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = hits / np.maximum(above, 1)
            precision *= gained
            auprc = np.cumsum(precision, axis=1, out=precision)[:, -1] / positives
            # Twice the trapezoids: each step adds its negatives times the positives before and after it.
            misses = np.subtract(above, hits, out=above)
            steps = np.diff(misses, axis=1, prepend=0)
            hits *= 2
            hits -= gained
            auroc = (steps * hits).sum(axis=1) / (2 * positives * negatives)
        return auroc, auprc


class _Counts:
    """Confusion counts, squared errors and category counts of one score vector, added up per group."""

    def __init__(self, y, score, group, k, threshold, member) -> None:
        flagged = score >= threshold
        self.error = np.bincount(group, weights=(score - y) ** 2, minlength=k)
        columns = [y & flagged, ~y & flagged, ~y & ~flagged, y & ~flagged]
        columns += [*member.T, *(member & flagged[:, None]).T]
        self.table = np.stack([np.bincount(group[column], minlength=k) for column in columns], axis=1)

    def metrics(self, counts: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Each metric of each replicate (r,), and the share flagged per category (r, c)."""
        sums = counts @ self.table.astype(np.int64)
        tp, fp, tn, fn = sums[:, :4].T
        rows, hits = np.split(sums[:, 4:], 2, axis=1)
        total = tp + fp + tn + fn
        with np.errstate(divide="ignore", invalid="ignore"):
            values = {
                "brier": np.cumsum(counts * self.error, axis=1)[:, -1] / total,
                "accuracy": (tp + tn) / total,
                "sensitivity": tp / (tp + fn),
                "specificity": tn / (tn + fp),
                "f1": 2 * tp / (2 * tp + fp + fn),
            }
            return values, hits / rows


def replicates(
    y: np.ndarray,
    scores: Sequence[np.ndarray],
    groups: Sequence[int] | Sequence[str] | np.ndarray,
    *,
    n: int,
    seed: int,
    threshold: float = 0.5,
    cats: Categories | None = None,
    names: Sequence[str] = METRICS,
    cells: int = CELLS,
) -> Replicates:
    """Metrics of `n` replicates for each of the score vectors (rows,), all on the same draws.

    `y` and `groups` have an entry a row. Memory is bounded by `cells`, whatever `n` is.
    """
    check_names(names)
    checked = [check_arrays(y, score) for score in scores]
    member = np.zeros((len(y), 0), dtype=bool) if cats is None else cats.member
    values = {name: np.full((len(checked), n), np.nan) for name in names}
    shares = np.full((len(checked), n, member.shape[1]), np.nan)
    trivial = np.zeros(n, dtype=bool)
    if len(y) == 0 or n == 0:
        return Replicates(values, shares, trivial)
    found, group = sorted_groups(groups)
    k = len(found)
    ranked = bool({"auroc", "auprc"} & set(names))
    rankings = [_Ranking(truth, score, group) if ranked else None for truth, score in checked]
    tallies = [_Counts(truth, score, group, k, threshold, member) for truth, score in checked]
    negatives = np.bincount(group[~checked[0][0]], minlength=k)
    for start, counts in multiplicities(k, n, seed, max(1, cells // max(len(y), k))):
        part = slice(start, start + len(counts))
        trivial[part] = counts @ negatives == 0
        for i, (ranking, tally) in enumerate(zip(rankings, tallies, strict=True)):
            measured, shares[i, part] = tally.metrics(counts)
            if ranking is not None:
                measured["auroc"], measured["auprc"] = ranking.areas(counts)
            for name in names:
                values[name][i, part] = measured[name]
    return Replicates(values, shares, trivial)


def interval(values: np.ndarray, trivial: np.ndarray | None = None) -> Interval:
    """Limits over the defined (not NaN) replicate values (n,)."""
    defined = values[~np.isnan(values)]
    n_trivial = 0 if trivial is None else int(trivial.sum())
    if len(defined) == 0:
        return Interval(None, None, None, 0, len(values), n_trivial)
    lo, hi = np.percentile(defined, PERCENTILES, method="linear")
    mean = math.fsum(defined) / len(defined)
    return Interval(float(lo), float(hi), mean, len(defined), len(values) - len(defined), n_trivial)


def intervals(made: Replicates, which: int = 0) -> dict[str, Interval]:
    """The interval of every metric for score vector number `which`."""
    return {
        name: interval(values[which], made.trivial if name == "auprc" else None)
        for name, values in made.metrics.items()
    }


def differences(made: Replicates) -> dict[str, Interval]:
    """The interval of every metric's difference, first score vector minus second, on the same draws.

    A replicate counts where the metric is defined for both.
    """
    return {
        name: interval(values[0] - values[1], made.trivial if name == "auprc" else None)
        for name, values in made.metrics.items()
    }
