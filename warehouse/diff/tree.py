"""SELECT texts as trees: whether two say the same, where they differ, and how a piece reads.

sqlglot's trees are for reading and comparing; what it prints is shown to people and never run. Whether two texts are
one rule is decided by DuckDB's own parser, because that is what runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from warehouse.errors import RegistryError
from warehouse.views import syntax_tree, tokens

Spot = tuple[exp.Expression | None, exp.Expression | None]
"""A place where two trees differ: what stood there and what stands there, None for nothing."""

_BINDS = (
    (exp.Or, 1),
    (exp.And, 2),
    (exp.Not, 3),
    (exp.Predicate, 4),
    (exp.Add | exp.Sub | exp.DPipe, 5),
    (exp.Mul | exp.Div | exp.IntDiv | exp.Mod, 6),
    (exp.Binary, 4),
)
"""How strongly an operator binds; the first that fits."""


def is_same(before: str, after: str) -> bool:
    """Whether DuckDB reads two SELECTs alike: layout, comments, letter case of keywords and quoting do not count."""
    return before == after or _engine_tree(before) == _engine_tree(after)


def parse(sql: str) -> exp.Expression:
    """The tree of one SELECT, without parentheses and quoting. Raises RegistryError when it cannot be read."""
    try:
        tree = parse_one(" ".join(tokens(sql)), dialect="duckdb")
    except SqlglotError as error:
        raise RegistryError(f"found a SELECT that cannot be read: {error}") from error
    for paren in list(tree.find_all(exp.Paren)):
        paren.replace(paren.this)
    for node in tree.walk():
        _make_plain(node)
    return tree


def text(node: exp.Expression) -> str:
    """A piece of a tree in one line, for people."""
    shown = node.copy()
    for part in list(shown.walk(bfs=False)):
        if _needs_parentheses(part):
            part.replace(exp.Paren(this=part.copy()))
    for part in list(shown.find_all(exp.Not)):
        if part.parent is not None:
            part.replace(_readable(part))
    return (
        _readable(shown)
        .sql(dialect="duckdb", comments=False, normalize_functions="lower")
        .replace(" AS TEXT)", " AS VARCHAR)")
    )


def parts(node: exp.Expression | None, joined_by: type[exp.Connector] = exp.And) -> list[exp.Expression]:
    """The operands of a chain of AND (or of OR), whatever its nesting; none of nothing."""
    if node is None:
        return []
    if isinstance(node, joined_by):
        return [*parts(node.this, joined_by), *parts(node.expression, joined_by)]
    return [node]


def without(items: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """``items`` less ``others``, each as often as it stands there."""
    left = list(others)
    return [item for item in items if not (item in left and left.remove(item) is None)]


def spots(before: exp.Expression, after: exp.Expression) -> Iterator[Spot]:
    """The smallest places where two trees differ."""
    if before == after:
        return
    if type(before) is not type(after):
        yield before, after
        return
    if isinstance(before, exp.Connector):
        old, new = parts(before, type(before)), parts(after, type(after))
        yield from _pairs(without(old, new), without(new, old))
        return
    children = []
    for key in {**before.args, **after.args}:
        old, new = before.args.get(key) or None, after.args.get(key) or None
        if isinstance(old, list) and isinstance(new, list) and all(map(_is_node, [*old, *new])):
            children += (
                zip(old, new, strict=True)
                if len(old) == len(new)
                else _pairs(without(old, new), without(new, old))
            )
        elif _is_node(old) and _is_node(new):
            children.append((old, new))
        elif old != new:
            yield before, after
            return
    for old, new in children:
        if old is None or new is None:
            yield old, new
        elif isinstance(old, exp.Identifier):
            if old != new:
                yield before, after
                return
        else:
            yield from spots(old, new)


def _pairs(old: list[exp.Expression], new: list[exp.Expression]) -> Iterator[Spot]:
    """Those that are alike in form beside each other, the others alone."""
    left = list(new)
    for one in old:
        like = next((other for other in left if is_alike(one, other)), None)
        if like is None:
            yield one, None
        else:
            left.remove(like)
            yield from spots(one, like)
    yield from ((None, other) for other in left)


def is_alike(one: exp.Expression, other: exp.Expression) -> bool:
    """Whether two expressions are the same but for a value, a name or an operator."""
    if isinstance(one, exp.Binary) and isinstance(other, exp.Binary):
        if one.this == other.this or one.expression == other.expression:
            return True
        return type(one) is type(other) and _form(one) == _form(other)
    return type(one) is type(other) and _form(one) == _form(other)


def _form(node: exp.Expression) -> list[type]:
    return [type(part) for part in node.walk()]


def _is_node(value: object) -> bool:
    return isinstance(value, exp.Expression)


def _make_plain(node: exp.Expression) -> None:
    node.comments = None
    if isinstance(node, exp.Identifier):
        node.set("quoted", False)
    if isinstance(node, exp.Join) and node.args.get("kind") in ("INNER", "OUTER"):
        node.set("kind", None)


def _readable(node: exp.Expression) -> exp.Expression:
    """``x IS NOT NULL`` for ``NOT x IS NULL``."""
    if isinstance(node, exp.Not) and isinstance(node.this, exp.Is):
        return exp.Is(this=node.this.this, expression=exp.Not(this=node.this.expression))
    return node


def _binds(node: exp.Expression) -> int | None:
    return next((strength for kind, strength in _BINDS if isinstance(node, kind)), None)


def _needs_parentheses(node: exp.Expression) -> bool:
    """Whether an operator stands below one that binds as strongly or more, so that only parentheses keep it there."""
    above, here = node.parent and _binds(node.parent), _binds(node)
    if above is None or here is None or isinstance(node, exp.Func | exp.Subquery):
        return False
    if above == here:
        return node.arg_key == "expression" or above == 4
    return here < above


def _engine_tree(sql: str) -> Any:
    """DuckDB's tree without places in the text, and with what it takes where nothing is written."""
    return json.loads(syntax_tree(sql), object_hook=_unplaced)


def _unplaced(node: dict) -> dict:
    kept = {key: value for key, value in node.items() if not key.startswith("query_location")}
    if kept.get("type") == "ORDER_DEFAULT":
        kept["type"] = "ASCENDING"
    if kept.get("class") == "TYPE" and "type_name" in kept:
        kept["type_name"] = kept["type_name"].upper()
        kept.pop("qualified_name", None)
    return kept
