"""What changed in a WITH clause: CTEs that came, went or are called otherwise, and constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from warehouse.diff.change import short

if TYPE_CHECKING:
    from warehouse.diff.rules import Comparison


def compare_ctes(comparison: Comparison, before: exp.Expression, after: exp.Expression, where: str) -> None:
    old, new = _ctes(before), _ctes(after)
    for name in [name for name in old if name not in new]:
        other = next((n for n in new if n not in old and new[n].this == old[name].this), None)
        if other is not None:
            comparison.say("cte", where, f"CTE {name} is called {other}")
            _rename(before, name, other)
            old = _ctes(before)
    for name, cte in old.items():
        if name not in new:
            comparison.say("cte", where, f"CTE {name} removed: {short(cte.this)}", cte.this, None)
    for name, cte in new.items():
        place = f"{where}, CTE {name}" if where else f"CTE {name}"
        if name not in old:
            if constants(cte.this) is not None:
                for constant in cte.this.expressions:
                    comparison.constant(constant.alias_or_name, None, constant.unalias(), "")
            else:
                comparison.say("cte", where, f"CTE {name} added: {short(cte.this)}", None, cte.this)
        else:
            comparison.query(old[name].this, cte.this, place)
            for key in {**old[name].args, **cte.args}:
                if key != "this" and _value(old[name], key) != _value(cte, key):
                    comparison.say("cte", where, f"CTE {name} is declared otherwise", old[name], cte)
    if [name for name in old if name in new] != [name for name in new if name in old]:
        comparison.say("order", where, "the CTEs stand in another order")
    flags = [bool(w and w.args.get("recursive")) for w in (before.args.get("with_"), after.args.get("with_"))]
    if flags[0] != flags[1]:
        comparison.say(
            "cte", where, "WITH is recursive now" if flags[1] else "WITH is not recursive any more"
        )


def _ctes(query: exp.Expression) -> dict[str, exp.CTE]:
    clause = query.args.get("with_")
    return {cte.alias: cte for cte in clause.expressions} if clause else {}


def _rename(query: exp.Expression, name: str, other: str) -> None:
    """Call a CTE otherwise wherever a query reads it."""
    for cte in query.find_all(exp.CTE):
        if cte.alias == name:
            cte.args["alias"].this.set("this", other)
    for table in query.find_all(exp.Table):
        if table.name == name and not table.db:
            table.this.set("this", other)
    for column in query.find_all(exp.Column):
        if column.table == name:
            column.args["table"].set("this", other)


def _value(node: exp.Expression, key: str) -> object:
    return node.args.get(key) or None


def constants(query: exp.Expression) -> dict[str, exp.Expression] | None:
    """The columns of a SELECT that reads nothing and holds values alone; None for another query."""
    if not isinstance(query, exp.Select) or query.args.get("from_") or query.args.get("where"):
        return None
    columns = {one.alias: one.this for one in query.expressions if isinstance(one, exp.Alias)}
    if len(columns) != len(query.expressions) or any(one.find(exp.Column) for one in columns.values()):
        return None
    return columns
