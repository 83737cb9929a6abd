"""``split.lydus``: the published split or a seeded one, and the sample of each part.

The published file is believed by its digest alone, so its columns are found by their values where their names
are not known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from warehouse.digests import source_digest
from warehouse.errors import InputError, Problem, RegistryError, UsageError
from warehouse.load.columns import from_bools, from_texts
from warehouse.load.tables_in import read_table

PART_WORDS = {"train": "train", "training": "train", "validation": "validation", "valid": "validation",
              "val": "validation", "dev": "validation", "test": "test"}  # fmt: skip
GROUP_NAMES = ("group_id", "group", "cluster_id", "cluster", "patient_id", "hid")


@dataclass(frozen=True)
class Split:
    """(n,) texts in the order of ``ids``; ``rule`` says in a few words where the parts come from."""

    ids: list[str]
    groups: list[str]
    parts: list[str]
    rule: str
    is_published: bool


def read_split(path: Path, ids: Sequence[str], declared: dict) -> Split:
    """The published split for these records. Raises InputError when the file is another or does not fit them."""
    if not path.is_file():
        raise UsageError(
            f"{path}: found no file; expected the published split ({declared['published']['file']})"
        )
    digest = source_digest(path)
    if digest != declared["published"]["sha256"]:
        raise InputError(
            f"{path.name}: not the published split, nothing loaded",
            [Problem(path.name, f"sha256 {digest}", declared["published"]["sha256"])],
            "take the file as it was published, unpacked and not saved again; without --split a seeded one is drawn",
        )
    columns = read_table(path).table.to_pydict()
    record, group, part = _columns(path.name, columns, set(ids))
    parts = [PART_WORDS.get((word or "").strip().casefold()) for word in columns[part]]
    rows = list(zip(columns[record], columns[group], parts, strict=True))
    problems = _faults(path.name, rows, ids, columns[part])
    if problems:
        raise InputError(
            f"{path.name}: does not fit the records, nothing loaded",
            problems,
            "load the release that the split was made for",
        )
    by_id = {record_id: (group_id, name) for record_id, group_id, name in rows}
    return Split(
        list(ids),
        [by_id[record_id][0] for record_id in ids],
        [by_id[record_id][1] for record_id in ids],
        f"the published split (sha256 {digest[:12]}…)",
        True,
    )


def draw_split(ids: Sequence[str], patients: Sequence[str | None] | None, declared: dict) -> Split:
    """A seeded split by patient, or by record when ``patients`` is None; a record without one is its own group."""
    rule = declared["drawn"]
    if patients is None:
        groups = list(ids)
    else:
        groups = [
            f"record {record_id}" if patient is None else patient
            for record_id, patient in zip(ids, patients, strict=True)
        ]
    units = np.array(sorted(set(groups)), dtype=object)
    shuffled = np.random.default_rng(rule["seed"]).permutation(len(units))
    ends = np.floor(np.cumsum(list(rule["parts"].values())).round(9) * len(units)).astype(int)
    part_of_rank = np.repeat(list(rule["parts"]), np.diff([0, *ends]))
    part_of = dict(zip(units[shuffled], part_of_rank.tolist(), strict=True))
    by = "record: the release names no patients" if patients is None else "patient"
    return Split(
        list(ids),
        groups,
        [part_of[group] for group in groups],
        f"not the published split: drawn with seed {rule['seed']}, by {by}",
        False,
    )


def draw_sample(split: Split, declared: dict) -> np.ndarray:
    """(n,) bool: the record is in its part's sample. It depends on the part's ids alone, not on their order."""
    rule = declared["sample"]
    sampled = np.zeros(len(split.ids), bool)
    parts = np.array(split.parts, dtype=object)
    for part, wanted in rule["parts"].items():
        mine = sorted(
            np.flatnonzero(parts == part).tolist(), key=lambda place: _key(split.ids[place], rule["order"])
        )
        size = min(wanted["size"], len(mine))
        rng = np.random.default_rng([rule["seed"], wanted["stream"]])
        if size == len(mine):
            drawn = np.arange(size)
        elif rule["draw"] == "choice":
            drawn = rng.choice(len(mine), size, replace=False)
        elif rule["draw"] == "permutation":
            drawn = rng.permutation(len(mine))[:size]
        else:
            raise RegistryError(
                f"splits/lydus.json: found draw {rule['draw']!r}; expected choice or permutation"
            )
        sampled[np.array(mine, int)[drawn]] = True
    return sampled


def split_table(split: Split, sampled: np.ndarray) -> pa.Table:
    """``split.lydus``, sorted by record id."""
    order = sorted(range(len(split.ids)), key=split.ids.__getitem__)
    texts = {
        name: from_texts([values[place] for place in order])
        for name, values in (("record_id", split.ids), ("group_id", split.groups), ("part", split.parts))
    }
    return pa.table({**texts, "sampled": from_bools(sampled[order])})


def _key(record_id: str, order: str) -> tuple:
    if order == "text":
        return (record_id,)
    if order == "number":
        digits = re.fullmatch(r"\d+", record_id)
        return (0, int(record_id), "") if digits else (1, 0, record_id)
    raise RegistryError(f"splits/lydus.json: found order {order!r}; expected text or number")


def _columns(name: str, columns: dict[str, list], ids: set[str]) -> tuple[str, str, str]:
    """The columns of record, group and part. Raises InputError when they cannot be told apart."""
    part = [
        key
        for key, values in columns.items()
        if {(word or "").strip().casefold() for word in values} <= set(PART_WORDS)
    ]
    share = {key: sum(value in ids for value in values) for key, values in columns.items() if key not in part}
    record = max(share, key=share.get, default=None)
    others = [key for key in columns if key not in (*part, record)]
    named = [key for known in GROUP_NAMES for key in others if key.casefold() == known]
    group = named[0] if named else others[0] if len(others) == 1 else None
    if len(part) != 1 or not share.get(record) or group is None:
        raise InputError(
            f"{name}: its columns cannot be told apart, nothing loaded",
            [
                Problem(
                    name,
                    f"columns {', '.join(columns)}",
                    "one of train, validation and test, one with the records' ids, one called group_id",
                    1,
                )
            ],
        )
    return record, group, part[0]


def _faults(name: str, rows: list[tuple], ids: Sequence[str], words: list[str]) -> list[Problem]:
    problems, seen, part_of = [], {}, {}
    known = set(ids)
    for row, (record_id, group_id, part) in enumerate(rows, start=2):
        if part is None:
            problems.append(Problem(name, f"part {words[row - 2]!r}", "train, validation or test", row))
        if group_id is None:
            problems.append(Problem(name, f"record {record_id!r} without a group", "a group", row))
        if record_id in seen:
            problems.append(
                Problem(name, f"record {record_id!r} again", f"once (row {seen[record_id]})", row)
            )
        elif record_id not in known:
            problems.append(Problem(name, f"record {record_id!r}", "a record of the release", row))
        seen.setdefault(record_id, row)
        before = part_of.setdefault(group_id, part)
        if before != part:
            problems.append(
                Problem(name, f"group {group_id!r} in {part} and {before}", "a group in one part", row)
            )
    missing = [record_id for record_id in ids if record_id not in seen]
    problems += [
        Problem(name, f"no row for record {record_id!r}", "a part for every record") for record_id in missing
    ]
    return problems
