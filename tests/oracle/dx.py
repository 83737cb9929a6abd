"""The grammar of dx lines once more, in plain Python: from a record's lines to its classes.

Written from the grammar's description, not from the views; the rule tables are the same (``registry/maps``), since
they are the rule. A line's parse is cached by its wording without dates, as the views do, so that a benchmark of the
two compares like with like. Regular expressions and loops where the views have joins and windows.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

MAPS = Path(__file__).parents[2] / "registry" / "maps"
CLASSES = ("AFIB/AFL", "Acute MI", "BRADY", "CD", "HYP", "NORM", "Old MI", "PAC", "PVC", "STTC", "TACHY")
STATED = ("finding", "infarct", "hedged")

_DAY = r"(?:[0-9]{1,4}[-/.][0-9a-z]{1,9}[-/.][0-9]{2,4}|[0-9]{1,2} [a-z]{3,9} [0-9]{4})"
_CLOCK = r"(?:[ ,t]+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[ap]m)?)?"
_STAMP = re.compile(_DAY + _CLOCK)
_ALONE = str.maketrans(dict.fromkeys(',.:()[]{}*/\\+=<>|-"', " ") | dict.fromkeys("'`´’‘"))
_BREAKS = str.maketrans("\t\n\r", "   ")
_SPELLING = (
    (r" first ", " 1st "),
    (r" second ", " 2nd "),
    (r" third ", " 3rd "),
    (r" a v ", " av "),
    (r" non specific ", " nonspecific "),
    (r" intra ventricular ", " intraventricular "),
    (r" pre excitation ", " preexcitation "),
    (r"infarction", "infarct"),
    (r"ischaemi", "ischemi"),
    (r" abnormalities ", " abnormality "),
    (r" contractions ", " complexes "),
    (r" beats ", " complexes "),
)


class Finding(NamedTuple):
    """A code of a line at a word; ``reasons`` is empty when it is stated outright."""

    place: int
    phrase: str
    code: int
    reasons: tuple[str, ...]


class Line(NamedTuple):
    """What a wording says, wherever it stands."""

    key: str
    said: str
    opens: bool
    comparison: bool
    remark: bool
    empty: bool
    findings: tuple[Finding, ...]
    unmapped: tuple[str, ...]
    whole: str | None
    """The kind of listed whole line that it is."""


@cache
def _map(name: str) -> tuple[dict[str, str], ...]:
    with (MAPS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


@cache
def _phrases() -> dict[str, tuple[str, str, tuple[int, ...]]]:
    """Phrase → kind, source of the hedge, codes."""
    found = {
        row["phrase"]: (row["kind"], "", tuple(map(int, row["codes"].split()))) for row in _map("dx_phrase")
    }
    return found | {row["phrase"]: ("hedge", row["source"], ()) for row in _map("dx_hedge")}


@cache
def _longest() -> int:
    return max(len(phrase.split()) for phrase in _phrases())


@cache
def _patterns(kind: str) -> tuple[re.Pattern[str], ...]:
    """LIKE patterns as regular expressions over a padded text."""
    rows = [row["pattern"] for row in _map("lydus_line_pattern") if row["kind"] == kind]
    return tuple(re.compile(".*".join(map(re.escape, row.split("%"))), re.DOTALL) for row in rows)


@cache
def _openings() -> tuple[str, ...]:
    rows = [row["pattern"] for row in _map("lydus_line_pattern") if row["kind"] == "section"]
    return tuple(row.replace("%", "") for row in rows)


@cache
def _class_of() -> dict[int, str]:
    return {int(row["code"]): row["class"] for row in _map("dx_code") if row["class"]}


def undated(text: str) -> str:
    """Lower case, two dates taken out one after the other, blanks made one."""
    text = text.lower()
    for _ in range(2):
        found = _STAMP.search(text)
        if found is None:
            break
        text = text.replace(found[0], "")
    return " ".join(filter(None, text.translate(_BREAKS).split(" ")))


@cache
def parse(wording: str) -> Line:
    """A line without its dates, as :func:`undated` gives it."""
    key = re.sub(r"[^0-9a-z*/]", "", wording)
    said = (
        wording.replace("-or-", " either_or ").replace("&", " and ").replace(";", " ; ").replace("?", " ? ")
    )
    said = f" {' '.join(said.translate(_ALONE).split())} "
    for old, new in _SPELLING:
        said = said.replace(old, new)
    empty = not said.strip()
    starts = [said.find(opening) for opening in _openings() if opening in said]
    if starts:
        said = said[: min(starts) + 1]
    comparison = any(map(_match(said), _patterns("comparison")))
    remark = any(map(_match(said), _patterns("remark")))
    words = said.split()
    hits, unmapped = _hits(words)
    findings = _findings(hits)
    whole = next((row["kind"] for row in _map("lydus_whole_line") if row["key"] == key), None)
    left = () if comparison or remark else unmapped
    return Line(key, " ".join(words), bool(starts), comparison, remark, empty, findings, left, whole)


def _match(said: str):
    return lambda pattern: pattern.fullmatch(said) is not None


def _hits(words: list[str]) -> tuple[list[tuple[int, str]], tuple[str, ...]]:
    """Phrases with the number of their first word (from 1), and the words that none covers."""
    longest: dict[int, int] = {}
    for start in range(len(words)):
        for size in range(min(_longest(), len(words) - start), 0, -1):
            if " ".join(words[start : start + size]) in _phrases():
                longest[start] = size
                break
    hits, covered, reach, infarct = [], set(), 0, False
    for start, size in sorted(longest.items()):
        end = start + size
        if end <= reach:  # part of a longer phrase
            continue
        phrase = " ".join(words[start:end])
        kind = _phrases()[phrase][0]
        overlaps = start < reach
        reach = end
        if not overlaps and not (kind == "age" and not infarct):
            hits.append((start + 1, phrase))
            covered.update(range(start, end))
        infarct |= kind == "infarct"
    return hits, tuple(word for place, word in enumerate(words) if place not in covered)


def _findings(hits: list[tuple[int, str]]) -> tuple[Finding, ...]:
    clauses: list[list[tuple[int, str]]] = [[]]
    for hit in hits:
        if _phrases()[hit[1]][0] == "reset":
            clauses.append([])
        else:
            clauses[-1].append(hit)
    return tuple(finding for clause in clauses for finding in _clause(clause))


def _clause(hits: list[tuple[int, str]]):
    either = any(_phrases()[phrase][0] == "either" for _, phrase in hits)
    denied = seed = clinical = head = after_or = False
    for place, phrase in hits:
        kind, source, codes = _phrases()[phrase]
        if kind == "negation":
            denied = True
        elif kind == "hedge":
            seed |= source == "seed"
            clinical |= source == "clinical"
        elif kind == "or":
            after_or |= head
        elif kind in STATED or kind == "age":
            reasons = [
                reason
                for reason, holds in (
                    ("negated", denied),
                    ("hedged_seed", seed),
                    ("hedged_clinical", clinical or kind == "hedged"),
                    ("either_or", either),
                    ("or_alternative", after_or and not either and not (denied or seed or clinical)),
                )
                if holds
            ]
            yield from (Finding(place, phrase, code, tuple(reasons)) for code in codes)
            head |= kind in STATED


def classes(lines: Sequence[str]) -> set[str]:
    """The classes of a record from its lines as they are."""
    found: set[str] = set()
    in_section = False
    for text in lines:
        line = parse(undated(text))
        if not in_section:
            if line.whole in ("acute_mi", "acute_mi_older"):
                found.add("Acute MI")
            if line.whole == "norm":
                found.add("NORM")
            if not line.comparison and not line.remark:
                found |= definite_classes(line)
        in_section |= line.opens
    if "Acute MI" in found:
        found.discard("Old MI")
    return found


@cache
def definite_classes(line: Line) -> frozenset[str]:
    """The classes of a line's codes that are stated outright."""
    known = _class_of()
    return frozenset(
        known[finding.code] for finding in line.findings if not finding.reasons and finding.code in known
    )
