"""A change of a rule in words, and how pieces of SQL are shown in them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from warehouse.diff.tree import spots, text

SHOWN = 160
"""Characters of an expression that a sentence shows; ``before`` and ``after`` hold all of it."""

FEW = 3
"""Most places of an expression that are listed one by one."""


@dataclass(frozen=True)
class Change:
    """One change of a rule. ``where``: the CTE, subquery or branch, empty for the SELECT itself; ``before`` and
    ``after`` are the whole pieces of text, None where there is none."""

    kind: str
    where: str
    words: str
    before: str | None = None
    after: str | None = None

    def as_json(self) -> dict:
        return {
            "kind": self.kind,
            "where": self.where,
            "words": str(self),
            "before": self.before,
            "after": self.after,
        }

    def __str__(self) -> str:
        return f"in {self.where}: {self.words}" if self.where else self.words


def short(node: exp.Expression) -> str:
    whole = text(node)
    return whole if len(whole) <= SHOWN else f"{whole[: SHOWN - 1]}…"


def difference(before: exp.Expression, after: exp.Expression) -> str:
    """Where two expressions differ, in few words where the places are few."""
    places: dict[tuple[str | None, str | None], int] = {}
    for old, new in spots(before, after):
        key = (old and text(old), new and text(new))
        places[key] = places.get(key, 0) + 1
    whole = (text(before), text(after))
    if 0 < len(places) <= FEW and (None, None) not in places and whole not in places:
        return "; ".join(_spot(*place, number) for place, number in places.items())
    return f"was {short(before)}, is {short(after)}"


def _spot(before: str | None, after: str | None, number: int) -> str:
    times = f" ({number} places)" if number > 1 else ""
    if before is None:
        return f"{cut(after)} added{times}"
    if after is None:
        return f"{cut(before)} removed{times}"
    return f"{cut(before)} became {cut(after)}{times}"


def cut(words: str | None, longest: int = SHOWN) -> str:
    """A text, shortened where it is longer."""
    words = words or ""
    return words if len(words) <= longest else f"{words[: longest - 1]}…"
