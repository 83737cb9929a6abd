"""What changed between two SELECTs, in words.

Every clause is compared by what it says: CTEs and columns by name, conditions one by one, joined tables by alias, the
branches of a UNION by likeness. A change that no finer sentence fits is said by showing old and new text, so nothing
stays unsaid; layout, comments, letter case of keywords and quoting are no change.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection

from sqlglot import exp

from warehouse.diff.change import Change, cut, difference, short
from warehouse.diff.ctes import compare_ctes, constants
from warehouse.diff.sources import compare_sources
from warehouse.diff.tree import is_alike, is_same, parse, parts, text, without
from warehouse.diff.unions import compare_branches
from warehouse.views import View, tokens

HEADER = ("layer", "grain", "shard", "stored", "status")
"""Keys of a view's header that a change is said of; its source and prose are for readers."""

OWN = {
    "with_",
    "expressions",
    "distinct",
    "from_",
    "joins",
    "laterals",
    "where",
    "group",
    "having",
    "windows",
}
"""Clauses of a SELECT that have sentences of their own; the others are shown old and new."""


def view_changes(before: View, after: View) -> list[Change]:
    """What changed between two views: the header's keys, then the rule."""
    found = []
    for key in HEADER:
        old, new = (_said(getattr(view, key)) for view in (before, after))
        if old != new:
            found.append(Change("header", "", f"the header says {key}: {new} instead of {old}", old, new))
    return [*found, *rule_changes(before.sql, after.sql)]


def rule_changes(before: str, after: str) -> list[Change]:
    """What changed between two SELECTs; empty when they are the same rule.

    Raises RegistryError when a text cannot be read.
    """
    if is_same(before, after):
        return []
    comparison = Comparison()
    comparison.query(parse(before), parse(after), "")
    return comparison.changes or [_by_token(before, after)]


class Comparison:
    """Walks two trees side by side and collects changes."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def say(
        self,
        kind: str,
        where: str,
        words: str,
        before: exp.Expression | None = None,
        after: exp.Expression | None = None,
    ) -> None:
        self.changes.append(Change(kind, where, words, before and text(before), after and text(after)))

    def query(self, before: exp.Expression, after: exp.Expression, where: str) -> None:
        if before == after:
            return
        before, after = before.copy(), after.copy()
        compare_ctes(self, before, after, where)
        if isinstance(before, exp.Select) and isinstance(after, exp.Select):
            self.select(before, after, where)
        elif all(isinstance(one, exp.Select | exp.SetOperation) for one in (before, after)):
            compare_branches(self, before, after, where)
        elif before != after:
            self.shown("query", "the query", before, after, where)

    def shown(
        self,
        kind: str,
        what: str,
        before: exp.Expression | None,
        after: exp.Expression | None,
        where: str,
    ) -> None:
        """A piece that came, went, or reads otherwise."""
        if before is None and after is not None:
            self.say(kind, where, f"{what} added: {short(after)}", None, after)
        elif after is None and before is not None:
            self.say(kind, where, f"{what} removed: {short(before)}", before, None)
        elif before is not None and after is not None and before != after:
            self.say(kind, where, f"{what}: {difference(before, after)}", before, after)

    def select(self, before: exp.Select, after: exp.Select, where: str) -> None:
        compare_sources(self, before, after, where)
        self.conditions("filter", before.args.get("where"), after.args.get("where"), where)
        self.conditions("HAVING condition", before.args.get("having"), after.args.get("having"), where)
        self.grouping(before.args.get("group"), after.args.get("group"), where)
        self.named("window", before, after, "windows", where)
        self.distinct(before.args.get("distinct"), after.args.get("distinct"), where)
        self.columns(before, after, where)
        self.rest(before, after, OWN, where)

    def rest(self, before: exp.Expression, after: exp.Expression, said: Collection[str], where: str) -> None:
        """The clauses of a query that have no sentences of their own, old and new."""
        for key in {**before.args, **after.args}:
            old, new = before.args.get(key) or None, after.args.get(key) or None
            if key in said or old == new:
                continue
            what = {"order": "ORDER BY"}.get(key, key.strip("_").replace("_", " ").upper())
            if all(one is None or isinstance(one, exp.Expression) for one in (old, new)):
                self.shown(key, what, old, new, where)
            else:
                self.say(key, where, f"{what}: was {old}, is {new}", before, after)

    def conditions(
        self, what: str, before: exp.Expression | None, after: exp.Expression | None, where: str
    ) -> None:
        """The conditions of a WHERE, HAVING or ON, one by one."""
        old, new = parts(before and before.this), parts(after and after.this)
        gone, come = without(old, new), without(new, old)
        for condition in list(gone):
            like = next((other for other in come if is_alike(condition, other)), None)
            if like is not None:
                gone.remove(condition)
                come.remove(like)
                self.shown("filter", what, condition, like, where)
        if len(gone) == len(come) == 1:
            self.shown("filter", what, gone.pop(), come.pop(), where)
        for condition in gone:
            self.shown("filter", what, condition, None, where)
        for condition in come:
            self.shown("filter", what, None, condition, where)
        if old != new and not without(old, new) and not without(new, old):
            self.say("order", where, f"the {what}s stand in another order")

    def grouping(self, before: exp.Group | None, after: exp.Group | None, where: str) -> None:
        if before == after:
            return
        old, new = ((group.expressions if group else []) for group in (before, after))
        gone, come = without(old, new), without(new, old)
        for item in gone:
            self.say("grouping", where, f"no longer grouped by {short(item)}", item, None)
        for item in come:
            self.say("grouping", where, f"grouped by {short(item)} as well", None, item)
        if not gone and not come:
            self.shown("grouping", "GROUP BY", before, after, where)

    def distinct(self, before: exp.Expression | None, after: exp.Expression | None, where: str) -> None:
        if before and not after:
            self.say("distinct", where, "DISTINCT removed: equal rows are kept", before, None)
        elif after and not before:
            self.say("distinct", where, "DISTINCT added: equal rows become one", None, after)
        else:
            self.shown("distinct", "DISTINCT", before, after, where)

    def named(self, what: str, before: exp.Select, after: exp.Select, key: str, where: str) -> None:
        old, new = ({one.name: one for one in query.args.get(key) or []} for query in (before, after))
        for name in {**old, **new}:
            self.shown(what, f"{what} {name}", old.get(name), new.get(name), where)
        if [*old] != [*new] and set(old) == set(new):
            self.say("order", where, f"the {what}s stand in another order")

    def columns(self, before: exp.Select, after: exp.Select, where: str) -> None:
        old, new = _columns(before), _columns(after)
        are_constants = constants(before) is not None and constants(after) is not None
        gone = [name for name in old if name not in new]
        come = [name for name in new if name not in old]
        for name in list(gone):
            other = next((each for each in come if _bare(new[each]) == _bare(old[name])), None)
            if other is not None:
                gone.remove(name)
                come.remove(other)
                what = "constant" if are_constants else "column"
                self.say("column", where, f"{what} {name} is called {other}", old[name], new[other])
        for name in {**old, **new}:
            one, other = (
                _bare(each) if each is not None else None for each in (old.get(name), new.get(name))
            )
            if name not in gone and name not in come and (one is None or other is None or one == other):
                continue
            if are_constants:
                self.constant(name, one, other, "" if where.endswith("CTE params") else where)
            elif one is None or other is None:
                self.shown("column", f"column {name}", old.get(name), new.get(name), where)
            else:
                self.say(
                    "column",
                    where,
                    f"column {name} computed otherwise: {difference(one, other)}",
                    one,
                    other,
                )
        if [name for name in old if name in new] != [name for name in new if name in old]:
            self.say("order", where, "the columns stand in another order")

    def constant(
        self, name: str, before: exp.Expression | None, after: exp.Expression | None, where: str
    ) -> None:
        if before is None:
            self.say("constant", where, f"constant {name} added: {text(after)}", None, after)
        elif after is None:
            self.say("constant", where, f"constant {name} removed: it was {text(before)}", before, None)
        else:
            words = f"constant {name} changed from {text(before)} to {text(after)}"
            self.say("constant", where, words, before, after)


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return {True: "yes", False: "no", None: "none"}.get(value, value)  # type: ignore[call-overload]


def _columns(query: exp.Select) -> dict[str, exp.Expression]:
    """Output name → expression; a name that stands twice gets its number."""
    found: dict[str, exp.Expression] = {}
    for column in query.expressions:
        name = column.alias_or_name or text(column)
        if isinstance(column, exp.Column) and isinstance(column.this, exp.Star):
            name = text(column)
        number = 2
        key = name
        while key in found:
            key, number = f"{name} ({number})", number + 1
        found[key] = column
    return found


def _bare(column: exp.Expression) -> exp.Expression:
    return column.this if isinstance(column, exp.Alias) else column


def _by_token(before: str, after: str) -> Change:
    """The first place where the texts differ, for what the trees do not tell apart."""
    old, new = [*tokens(before)], [*tokens(after)]
    gone, come = [], []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            gone += old[a:b]
            come += new[c:d]
    was, now = " ".join(gone), " ".join(come)
    return Change(
        "text", "", f"written otherwise: was {cut(was) or 'nothing'}, is {cut(now) or 'nothing'}", was, now
    )
