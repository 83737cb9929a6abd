"""What changed in the FROM clause of a SELECT: tables, joins, their kinds and conditions, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from warehouse.diff.tree import text

if TYPE_CHECKING:
    from warehouse.diff.rules import Comparison


@dataclass(frozen=True)
class Source:
    """One table, CTE or subquery in FROM. ``kind`` is FROM or the kind of the join."""

    name: str
    kind: str
    item: exp.Expression
    join: exp.Expression | None

    @property
    def table(self) -> str | None:
        """The name of what is read, None for a subquery."""
        if not isinstance(self.item, exp.Table):
            return None
        return ".".join(part for part in (self.item.db, self.item.name) if part)

    @property
    def words(self) -> str:
        return text(self.join) if self.join is not None else f"FROM {text(self.item)}"


def compare_sources(comparison: Comparison, before: exp.Select, after: exp.Select, where: str) -> None:
    """Say what changed between two FROM clauses; renames an alias in ``before``, so that it is said only once."""
    old, new = _sources(before), _sources(after)
    for one in list(old):
        if any(other.name == one.name for other in new):
            continue
        like = [
            other
            for other in new
            if one.table and other.table == one.table and all(each.name != other.name for each in old)
        ]
        if like:
            comparison.say("alias", where, f"{one.table} is called {like[0].name} instead of {one.name}")
            _call(before, one, like[0])
            old = _sources(before)
    there = {other.name: other for other in new}
    alone = [one for one in old if one.name not in there]
    fresh = [other for other in new if other.name not in {one.name for one in old}]
    if len(alone) == len(fresh) == 1 and alone[0].kind == fresh[0].kind and alone[0].table and fresh[0].table:
        (one,), (other,) = alone, fresh
        _call(before, one, other, of=other.item)
        comparison.say("source", where, f"reads {other.table} instead of {one.table}", one.item, other.item)
        old = _sources(before)
        alone, fresh = [], []
    for one in alone:
        comparison.say("join", where, f"no longer joined: {one.words}", one.join or one.item, None)
    for other in fresh:
        comparison.say("join", where, f"joined as well: {other.words}", None, other.join or other.item)
    for one in old:
        if one.name in there:
            _compare(comparison, one, there[one.name], where)
    kept = [one.name for one in old if one.name in there]
    if kept != [other.name for other in new if other.name in kept]:
        comparison.say("order", where, "the tables are joined in another order")


def _compare(comparison: Comparison, one: Source, other: Source, where: str) -> None:
    if one.item != other.item:
        bodies = [
            source.item.this if isinstance(source.item, exp.Subquery) else None for source in (one, other)
        ]
        if None not in bodies:
            place = f"subquery {other.name}"
            comparison.query(*bodies, f"{where}, {place}" if where else place)
            rest = [
                {k: v for k, v in source.item.args.items() if k != "this" and v} for source in (one, other)
            ]
            if rest[0] != rest[1]:
                comparison.shown("source", f"subquery {other.name}", one.item, other.item, where)
        elif one.table and other.table and one.table != other.table:
            words = f"reads {other.table} instead of {one.table}"
            comparison.say("source", where, words, one.item, other.item)
        else:
            comparison.shown("source", f"table {other.name}", one.item, other.item, where)
    if one.kind != other.kind:
        words = f"{other.name} is read by {other.kind} instead of {one.kind}"
        comparison.say("join", where, words, one.join or one.item, other.join or other.item)
    what = f"condition of the join with {other.name}"
    conditions = [_condition(source) for source in (one, other)]
    comparison.conditions(what, *conditions, where)
    for key in {**(one.join.args if one.join else {}), **(other.join.args if other.join else {})}:
        if key in ("this", "on", "kind", "side"):
            continue
        pair = [source.join.args.get(key) or None if source.join else None for source in (one, other)]
        if pair[0] != pair[1]:
            comparison.say(
                "join",
                where,
                f"the join with {other.name}: was {one.words}, is {other.words}",
                one.join,
                other.join,
            )


def _condition(source: Source) -> exp.Expression | None:
    on = source.join.args.get("on") if source.join is not None else None
    return on and exp.Where(this=on)


def _sources(query: exp.Select) -> list[Source]:
    found = []
    clause = query.args.get("from_")
    if clause is not None:
        found.append(Source(clause.this.alias_or_name, "FROM", clause.this, None))
    for join in query.args.get("joins") or []:
        kind = " ".join(
            word for word in (join.args.get("method"), join.args.get("side"), join.args.get("kind")) if word
        )
        kind = f"{kind or ('INNER' if join.args.get('on') or join.args.get('using') else 'CROSS')} JOIN"
        found.append(Source(join.this.alias_or_name, kind, join.this, join))
    for lateral in query.args.get("laterals") or []:
        found.append(Source(lateral.alias_or_name, "LATERAL", lateral, None))
    numbers: dict[str, int] = {}
    for place, source in enumerate(found):  # a name that stands twice: no SELECT that runs has one
        numbers[source.name] = numbers.get(source.name, 0) + 1
        if numbers[source.name] > 1:
            found[place] = Source(
                f"{source.name} ({numbers[source.name]})", source.kind, source.item, source.join
            )
    return found


def _call(query: exp.Select, one: Source, other: Source, of: exp.Expression | None = None) -> None:
    """Give a table of a query the name, or the place, that it has in the other query."""
    one.item.replace((of or other.item).copy())
    for column in query.find_all(exp.Column):
        if column.table == one.name:
            column.args["table"].set("this", other.name)
