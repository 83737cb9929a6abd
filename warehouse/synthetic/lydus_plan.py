"""What each record of a synthetic LYDUS release is like, drawn for a block of records at once.

A block depends on the seed and its number alone, so a longer release begins with the same records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warehouse.synthetic.lydus_words import AV, DRAWN, ECTOPY, PRINTED, RHYTHM, Words

BLOCK = 4096
AGAIN = 0.3
"""The share of records of the same patient as the record before."""
LASTING = ("conduction", "hypertrophy", "infarct", "form")
"""Axes that a patient keeps from one record to the next."""
FLAT, SILENT, BOTH, HUGE = 5, 9, 13, 21
"""Places of the special records: flat, without an analysis, both, and one with an artefact beyond ±32 mV."""
SPECIAL = "nothing_analysed"
COMPARED = "compared"
"""The finding whose line opens a comparison; changes stand after it alone."""
UNSAID = 0.03
"""The share of abnormal records without a closing line."""


@dataclass(frozen=True)
class Plan:
    """(n,) arrays of one block. ``finding[axis]`` indexes the findings, -1 for none. ``patient`` numbers the
    patients of the release; ``line[axis]`` (n,) in [0, 1) picks among a finding's lines."""

    first: int
    number: np.ndarray
    patient: np.ndarray
    finding: dict[str, np.ndarray]
    line: dict[str, np.ndarray]
    rate_bpm: np.ndarray
    flat: np.ndarray
    silent: np.ndarray
    rng: np.random.Generator

    def active(self, place: int) -> list[int]:
        """The findings of one record."""
        return [int(each[place]) for each in self.finding.values() if each[place] >= 0]


def draw_block(words: Words, seed: int, block: int, *, dated: bool = False) -> Plan:
    """``dated`` takes the shares of the benchmark: 30 % of the lines carry a date."""
    rng = np.random.default_rng([seed, block])
    number = block * BLOCK + np.arange(BLOCK)
    new = rng.random(BLOCK) >= AGAIN
    new[0] = True
    place = np.arange(BLOCK)
    first = np.maximum.accumulate(np.where(new, place, 0))
    share = words.number["share_dated" if dated else "share"]
    finding = {}
    for axis in DRAWN:
        mine = words.on(axis)
        drawn = np.append(mine, -1)[np.searchsorted(np.cumsum(share[mine]), rng.random(BLOCK), side="right")]
        finding[axis] = drawn[first] if axis in LASTING else drawn
    rhythm = finding[RHYTHM]
    rhythm[rhythm < 0] = words.on(RHYTHM)[0]
    for axis in (AV, ECTOPY, *(each for each in PRINTED if not each.startswith(("summary", "comparison")))):
        finding[axis][~_allowed(words, finding[axis], rhythm)] = -1
    for axis in ("comparison_change", "comparison_more", "comparison_dated"):
        finding[axis][finding["comparison"] != words.index(COMPARED)] = -1
    finding["comparison_more"][finding["comparison_change"] < 0] = -1
    finding["summary"] = _summary(words, finding, rng)
    low, high = words.number["rate_low"][rhythm], words.number["rate_high"][rhythm]
    return Plan(
        first=block * BLOCK,
        number=number,
        patient=block * BLOCK + first,
        finding=finding,
        line={axis: rng.random(BLOCK) for axis in (RHYTHM, AV, ECTOPY, *PRINTED)},
        rate_bpm=low + (high - low) * rng.random(BLOCK),
        flat=np.isin(number, (FLAT, BOTH)),
        silent=np.isin(number, (SILENT, BOTH)),
        rng=rng,
    )


def _allowed(words: Words, drawn: np.ndarray, rhythm: np.ndarray) -> np.ndarray:
    n = len(words.findings)
    table = np.ones((n + 1, n), bool)
    for index, others in enumerate(words.text["only_with"]):
        if others:
            table[index] = np.isin(words.findings, others.split())
    table[:, words.alone] = False
    return table[drawn, rhythm]


def _summary(words: Words, finding: dict[str, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """The closing line follows the worst finding."""
    severity = np.append(words.number["severity"], 0)
    shown = [each for axis, each in finding.items() if not axis.startswith("comparison")]
    worst = np.max([severity[each] for each in shown], axis=0)
    mine = words.on("summary")
    of = [mine[words.number["severity"][mine] == level] for level in range(3)]
    drawn = np.zeros(len(worst), np.int64)
    for level, choices in enumerate(of):
        chosen = choices[(rng.random(len(worst)) * len(choices)).astype(int)]
        drawn = np.where(worst == level, chosen, drawn)
    drawn[(worst == 2) & (rng.random(len(worst)) < UNSAID)] = -1
    return drawn
