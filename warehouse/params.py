"""The constants of view files: what a ``params`` CTE declares, and another value in the place of one.

A value is replaced at its token in the view's own text; nothing is printed anew, so the rest of the rule stays what the
file says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import duckdb

from warehouse.errors import UsageError
from warehouse.views import View

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
TRUTH = ("TRUE", "FALSE")


@dataclass(frozen=True)
class Constant:
    """One constant of one view. ``literal`` is the text of its value; ``start`` and ``end`` are where that stands in
    the view's SQL, in bytes of UTF-8. ``kind``: number, text, truth (TRUE or FALSE), or expression."""

    view: str
    name: str
    literal: str
    kind: str
    start: int
    end: int


def constants(view: View) -> list[Constant]:
    """What the view's ``params`` CTE declares, in its order; nothing where it has none."""
    text = view.sql.encode()
    found = duckdb.tokenize(view.sql)
    ends = [start for start, _ in found[1:]] + [len(text)]
    spans = [
        (start, start + len(text[start:end].rstrip()))
        for (start, kind), end in zip(found, ends, strict=True)
        if kind != duckdb.token_type.comment
    ]
    upper = [text[start:end].decode().upper() for start, end in spans]
    opening = ["PARAMS", "AS", "(", "SELECT"]
    begin = next((at for at in range(len(upper)) if upper[at : at + len(opening)] == opening), None)
    return [] if begin is None else list(_items(view.name, text, spans, begin + len(opening)))


def _items(view: str, text: bytes, spans: list[tuple[int, int]], at: int) -> Iterable[Constant]:
    """The select list that begins at a token and ends at the bracket that closes its CTE."""
    words = [text[start:end].decode() for start, end in spans]
    item: list[int] = []
    depth = 0
    for place in range(at, len(words)):
        word = words[place]
        if depth == 0 and word in (",", ")"):
            if len(item) > 2 and words[item[-2]].upper() == "AS":
                start, end = spans[item[0]][0], spans[item[-3]][1]
                literal = text[start:end].decode()
                yield Constant(view, words[item[-1]].strip('"'), literal, _kind(literal), start, end)
            if word == ")":
                return
            item = []
        else:
            item.append(place)
            depth += {"(": 1, ")": -1}.get(word, 0)


def _kind(literal: str) -> str:
    if NUMBER.fullmatch(literal):
        return "number"
    if literal.upper() in TRUTH:
        return "truth"
    return "text" if re.fullmatch(r"'([^']|'')*'", literal) else "expression"


@dataclass(frozen=True)
class Change:
    """A constant and the literal in its place."""

    constant: Constant
    literal: str


def changes(views: Iterable[View], wanted: Mapping[str, str]) -> list[Change]:
    """The constants of the views that bear a wanted name, each with its new literal, in all views that have it.

    ``wanted``: name → value as a user writes it. Raises UsageError for a name that no view has, with the list of all,
    and for a value of another kind than the constant's.
    """
    known = [constant for view in views for constant in constants(view)]
    found = []
    for name, value in wanted.items():
        bearers = [constant for constant in known if constant.name == name]
        if not bearers:
            listed = "\n".join(f"  - {each.name} = {each.literal} ({each.view})" for each in known)
            raise UsageError(
                f"found no constant {name!r}; expected one of these:\n{listed}"
                if known
                else f"found no constant {name!r}; the views behind the task have none"
            )
        found += [Change(constant, _literal(constant, value)) for constant in bearers]
    return found


def _literal(constant: Constant, value: str) -> str:
    """A user's value as SQL. Raises UsageError when it is of another kind than what stands there."""
    value = value.strip()
    if constant.kind == "number" and NUMBER.fullmatch(value):
        return value
    if constant.kind == "truth" and value.upper() in TRUTH:
        return value.upper()
    if constant.kind == "text":
        return "'" + value.replace("'", "''") + "'"
    expected = {
        "number": "expected a number, as in 30 or 0.5",
        "truth": "expected TRUE or FALSE",
        "expression": "that is an expression, and no value can be put in its place",
    }[constant.kind]
    raise UsageError(
        f"found {value!r} for {constant.name}, which is {constant.literal} in {constant.view}; {expected}"
    )


def rewritten(view: View, changed: Iterable[Change]) -> str:
    """The view's SQL with the changes that are of this view in it."""
    text = view.sql.encode()
    mine = [change for change in changed if change.constant.view == view.name]
    for change in sorted(mine, key=lambda change: change.constant.start, reverse=True):
        text = text[: change.constant.start] + change.literal.encode() + text[change.constant.end :]
    return text.decode()
