"""What changed between the branches of a UNION, or of another set operation."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from warehouse.diff.change import short
from warehouse.diff.tree import text
from warehouse.views import tokens

if TYPE_CHECKING:
    from warehouse.diff.rules import Comparison

LIKE = 0.5
"""From which share of common tokens on two branches are one that changed."""


Branch = tuple[str, exp.Expression]
"""A SELECT and the operation that adds it."""


def compare_branches(
    comparison: Comparison, before: exp.Expression, after: exp.Expression, where: str
) -> None:
    """Say what changed between two chains of set operations."""
    old, new = _branches(before), _branches(after)
    pairs = _matched(old, new)
    for number, (here, there) in enumerate(pairs, start=1):
        place = f"{where}, branch {number}" if where else f"branch {number}"
        if here is None:
            name, query = new[there]
            comparison.say("branch", where, f"{name} branch added: {short(query)}", None, query)
        elif there is None:
            name, query = old[here]
            comparison.say("branch", where, f"{name} branch removed: {short(query)}", query, None)
        else:
            if old[here][0] != new[there][0] and here > 0 and there > 0:
                comparison.say("branch", place, f"{old[here][0]} became {new[there][0]}")
            comparison.query(old[here][1], new[there][1], place)
    places = [there for here, there in pairs if here is not None and there is not None]
    if places != sorted(places):
        comparison.say("order", where, "the branches stand in another order")
    comparison.rest(before, after, {"this", "expression", "with_", "distinct"}, where)


def _branches(query: exp.Expression) -> list[Branch]:
    if not isinstance(query, exp.SetOperation):
        return [("", query)]
    name = query.key.upper() + ("" if query.args.get("distinct") else " ALL")
    first = _branches(query.this)
    if len(first) == 1:
        first = [(name, first[0][1])]
    return [*first, (name, query.expression)]


def _matched(old: Sequence[Branch], new: Sequence[Branch]) -> list[tuple[int | None, int | None]]:
    """Places beside each other: the same branches, then those that share most of their tokens, the others alone."""
    pairs: dict[int, int] = {}
    for here, (_, one) in enumerate(old):
        same = (there for there, (_, other) in enumerate(new) if other == one and there not in pairs.values())
        there = next(same, None)
        if there is not None:
            pairs[here] = there
    left = [here for here in range(len(old)) if here not in pairs]
    free = [there for there in range(len(new)) if there not in pairs.values()]
    words = {
        (side, n): [*tokens(text(rows[n][1]))]
        for side, rows, ns in ((0, old, left), (1, new, free))
        for n in ns
    }
    likeness = sorted(
        (-difflib.SequenceMatcher(None, words[0, here], words[1, there], autojunk=False).ratio(), here, there)
        for here in left
        for there in free
    )
    for share, here, there in likeness:
        if -share >= LIKE and here not in pairs and there not in pairs.values():
            pairs[here] = there
    return [
        *((here, pairs.get(here)) for here in range(len(old))),
        *((None, there) for there in range(len(new)) if there not in pairs.values()),
    ]
