"""Statement lines of a block of records: templates drawn, dates filled in, typing errors made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.synthetic.lydus_plan import SPECIAL, Plan
from warehouse.synthetic.lydus_words import AV, ECTOPY, PRINTED, RHYTHM, Words, lydus_words

VARIANTS = 24
"""Misspelt forms of each template."""
FIRST_DAY, DAYS = "2010-01-01", 4018
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
JOIN = " with "


@dataclass(frozen=True)
class Templates:
    """Every line that can be printed. ``before`` and ``after`` (t,) stand around what is filled in, ``slot`` (t,) is
    0 for nothing, 1 a date, 2 a date with a time, 3 a number. Template k's misspelt forms follow at
    ``count + k * VARIANTS``. ``of[axis]`` maps a finding to its templates and their cumulative weights.
    ``joined[r, a, e]``: rhythm line r with AV line a and ectopy line e (0: none)."""

    before: pa.Array
    after: pa.Array
    slot: np.ndarray
    count: int
    of: dict[str, dict[int, tuple[np.ndarray, np.ndarray]]]
    joined: np.ndarray


_SLOTS = {"{date} {time}": 2, "{date}": 1, "{number}": 3}


@cache
def templates() -> Templates:
    words = lydus_words()
    texts: list[str] = []
    of: dict[str, dict[int, tuple[np.ndarray, np.ndarray]]] = {}
    for axis in (*PRINTED, "special"):
        of[axis] = {}
        for finding in words.on(axis).tolist():
            lines, weights = zip(*words.lines[words.findings[finding]], strict=True)
            of[axis][finding] = (len(texts) + np.arange(len(lines)), np.cumsum(weights) / sum(weights))
            texts += lines
    parts = {}
    for axis in (RHYTHM, AV, ECTOPY):
        parts[axis], of[axis] = [], {}
        for finding in words.on(axis).tolist():
            lines, weights = zip(*words.lines[words.findings[finding]], strict=True)
            of[axis][finding] = (len(parts[axis]) + np.arange(len(lines)), np.cumsum(weights) / sum(weights))
            parts[axis] += lines
    joined = np.empty((len(parts[RHYTHM]), len(parts[AV]) + 1, len(parts[ECTOPY]) + 1), np.int64)
    for (rhythm, av, ectopy), _ in np.ndenumerate(joined):
        said = (parts[RHYTHM][rhythm], ["", *parts[AV]][av], ["", *parts[ECTOPY]][ectopy])
        joined[rhythm, av, ectopy] = len(texts)
        texts.append(JOIN.join(filter(None, said)))
    every = texts + [form for number, text in enumerate(texts) for form in _misspelt(text, number)]
    slots = [next((slot for slot in _SLOTS if slot in text), None) for text in every]
    cut = [text.split(slot, 1) if slot else (text, "") for text, slot in zip(every, slots, strict=True)]
    return Templates(
        before=pa.array([each[0] for each in cut], pa.string()),
        after=pa.array([each[1] for each in cut], pa.string()),
        slot=np.array([_SLOTS.get(slot, 0) for slot in slots]),
        count=len(texts),
        of=of,
        joined=joined,
    )


def template_count(words: Words) -> int:
    """Distinct lines that a release can hold, dates, numbers and misspelt forms not counted."""
    table = templates()
    used = {
        table.before[k].as_py() + table.after[k].as_py()
        for axis in PRINTED
        for own, _ in table.of[axis].values()
        for k in own
    }
    for (rhythm, av, ectopy), template in np.ndenumerate(table.joined):
        if _can_join(words, rhythm, av - 1, ectopy - 1):
            used.add(table.before[template].as_py())
    return len(used)


def _can_join(words: Words, rhythm: int, av: int, ectopy: int) -> bool:
    table = templates()

    def owner(axis: str, line: int) -> int:
        return next(finding for finding, (own, _) in table.of[axis].items() if line in own)

    at = owner(RHYTHM, rhythm)
    for axis, line in ((AV, av), (ECTOPY, ectopy)):
        if line >= 0:
            others = words.text["only_with"][owner(axis, line)].split()
            if words.alone[at] or (others and words.findings[at] not in others):
                return False
    return True


def _misspelt(text: str, number: int) -> list[str]:
    """One letter dropped, doubled, swapped with the next or struck beside; slots stay."""
    draws = np.random.default_rng([0x7479706F, number]).integers(1 << 30, size=(VARIANTS, 3)).tolist()
    fixed = {
        k for slot in _SLOTS for k in range(text.find(slot), text.find(slot) + len(slot)) if slot in text
    }
    places = [
        k
        for k in range(len(text) - 1)
        if text[k].isalpha() and text[k + 1].isalpha() and not {k, k + 1} & fixed
    ]
    forms = []
    for where, kind, letter in draws:
        k = places[where % len(places)]
        a, b = text[k], text[k + 1]
        piece = (b, a + a + b, b + a, _LETTERS[letter % len(_LETTERS)] + b)[kind % 4]
        forms.append(text[:k] + piece + text[k + 2 :])
    return forms


def lines_of(plan: Plan, typos: float, times: bool = True) -> tuple[np.ndarray, pa.Array]:
    """(n,) int32 lines per record, and all lines in order."""
    table = templates()
    words = lydus_words()
    n = len(plan.number)
    own = {axis: _pick(table.of[axis], plan.finding[axis], plan.line[axis]) for axis in (RHYTHM, AV, ECTOPY)}
    columns = [table.joined[own[RHYTHM], own[AV] + 1, own[ECTOPY] + 1]]
    columns += [_pick(table.of[axis], plan.finding[axis], plan.line[axis]) for axis in PRINTED]
    matrix = np.stack(columns, axis=1)
    matrix[plan.silent] = -1
    matrix[plan.silent, 0] = table.of["special"][words.index(SPECIAL)][0][0]
    said = matrix >= 0
    flat = matrix[said]
    rng = plan.rng
    wrong = rng.random(len(flat)) < typos
    form = rng.integers(VARIANTS, size=len(flat))
    flat = np.where(wrong, table.count + flat * VARIANTS + form, flat)
    text = table.before.take(pa.array(flat))
    slot = table.slot[flat]
    filled = np.flatnonzero(slot)
    if len(filled):
        inner = _fillings(slot[filled], times, rng)
        some = flat[filled]
        made = pc.binary_join_element_wise(
            table.before.take(pa.array(some)), inner, table.after.take(pa.array(some)), ""
        )
        order = np.arange(len(flat))
        order[filled] = len(flat) + np.arange(len(filled))
        text = pa.concat_arrays([text, made]).take(pa.array(order))
    return said.sum(axis=1).astype(np.int32).reshape(n), text


def _pick(of: dict[int, tuple[np.ndarray, np.ndarray]], finding: np.ndarray, at: np.ndarray) -> np.ndarray:
    chosen = np.full(len(finding), -1, np.int64)
    for index, (own, ends) in of.items():
        mine = finding == index
        chosen[mine] = own[np.minimum(np.searchsorted(ends, at[mine], side="right"), len(own) - 1)]
    return chosen


@cache
def _calendar() -> tuple[pa.Array, pa.Array, pa.Array]:
    days = np.arange(np.datetime64(FIRST_DAY), np.datetime64(FIRST_DAY) + DAYS).astype(str)
    dates = [f"{day[8:]}-{_MONTHS[int(day[5:7]) - 1]}-{day[:4]}" for day in days]
    times = [f" {minute // 60:02d}:{minute % 60:02d}" for minute in range(24 * 60)] + [""]
    return pa.array(dates), pa.array(times), pa.array([str(number) for number in range(200)])


def _fillings(slot: np.ndarray, times_too: bool, rng: np.random.Generator) -> pa.Array:
    dates, times, numbers = _calendar()
    day, minute = rng.integers(DAYS, size=len(slot)), rng.integers(24 * 60, size=len(slot))
    minute = np.where((slot == 2) & times_too, minute, 24 * 60)
    dated = pc.binary_join_element_wise(dates.take(pa.array(day)), times.take(pa.array(minute)), "")
    number = numbers.take(pa.array(rng.integers(5, 90, size=len(slot))))
    return pc.if_else(pa.array(slot == 3), number, dated)
