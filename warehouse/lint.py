"""The portable subset: label SQL that can be sharded and carried to another engine, read from its tokens.

The subset is the house's (`CONTRIBUTING.md` gives the reasons): no list functions but an unnest of a split
string, no ASOF, no macros, no option argument of a regular expression, no max_by, floor or round before an
integer cast. That nothing sums or averages DOUBLE needs the types of a database: a house test holds it.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

from warehouse.views import View

FORBIDDEN = {
    "list": "list functions do not travel; use unnest(string_split(…)) WITH ORDINALITY",
    "list_": "list functions do not travel; use unnest(string_split(…)) WITH ORDINALITY",
    "array_": "array functions do not travel; use unnest(string_split(…)) WITH ORDINALITY",
    "max_by": "max_by skips NULLs differently elsewhere; use a window",
    "min_by": "min_by skips NULLs differently elsewhere; use a window",
    "arg_max": "arg_max skips NULLs differently elsewhere; use a window",
    "arg_min": "arg_min skips NULLs differently elsewhere; use a window",
    "any_value": "which value is not said; use min or max",
    "random": "a view must give the same rows every time",
    "now": "a view must give the same rows every time",
    "current_timestamp": "a view must give the same rows every time",
    "current_date": "a view must give the same rows every time",
    "read_csv": "a view reads names, not files",
    "read_parquet": "a view reads names, not files",
    "regexp_replace": "its global form needs an option argument; use translate, or two views",
    "struct_pack": "structs do not travel",
    "getvariable": "a view has no parameters but its params CTE",
}
NODES: dict[type[exp.Expression], str] = {
    exp.Array: "lists do not travel; use unnest(string_split(…)) WITH ORDINALITY",
    exp.Struct: "structs do not travel",
    exp.Bracket: "subscripts of lists do not travel; use split_part",
    exp.Explode: "unnest stands in FROM, over string_split",
    exp.Unnest: "only unnest(string_split(…)) travels",
    exp.Lambda: "lambdas do not travel",
    exp.TableSample: "a view must give the same rows every time",
    exp.CurrentDate: "a view must give the same rows every time",
    exp.CurrentTimestamp: "a view must give the same rows every time",
    exp.First: "which value is not said; use min or max",
    exp.Last: "which value is not said; use min or max",
}
"""Constructs that are no functions by name, with the reason."""

_INTEGER = {"INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "HUGEINT"}


def lint_view(view: View) -> list[str]:
    """What in a view leaves the subset, in words; an empty list is portable SQL."""
    return lint_sql(view.sql)


def lint_sql(sql: str) -> list[str]:
    """The same for the text of one SELECT."""
    faults: list[str] = []
    tokens = sqlglot.tokenize(sql, dialect="duckdb")
    words = [token.text.lower() for token in tokens]
    for number, word in enumerate(words):
        called = number + 1 < len(words) and words[number + 1] == "("
        for name, why in FORBIDDEN.items():
            if called and (word == name or (name.endswith("_") and word.startswith(name))):
                faults.append(f"{word}(…): {why}")
        if word == "asof":
            faults.append("ASOF: joins by nearest time do not travel")
        if word in ("qualify", "pivot", "unpivot", "positional"):
            faults.append(f"{word.upper()}: does not travel; write it out")
    if re.search(r"\{\{|\{%|\$\w", sql):
        faults.append("templating or a parameter: the text must run as it stands")
    statements = sqlglot.parse(sql, dialect="duckdb")
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        faults.append("expected one SELECT")
        return faults
    for node in statements[0].walk():
        for kind, why in NODES.items():
            if isinstance(node, kind) and not _is_split_unnested(node):
                faults.append(f"{node.sql(dialect='duckdb')}: {why}")
        if isinstance(node, exp.Cast) and _is_rough(node):
            faults.append(f"{node.sql(dialect='duckdb')}: floor or round before an integer cast")
        if isinstance(node, exp.RegexpLike) and node.args.get("flag"):
            faults.append("regexp_matches with an option: lower the text instead")
        if isinstance(node, exp.RegexpExtract) and node.args.get("parameters"):
            faults.append("regexp_extract with an option: lower the text instead")
        if isinstance(node, exp.Table) and node.name and (not node.this.args or "." in node.name):
            faults.append(f"{node.name}: a view reads names, not files")
    return faults


def _is_split_unnested(node: exp.Expression) -> bool:
    """``unnest(string_split(…))`` in FROM, the one list that the subset knows."""
    return isinstance(node, exp.Unnest) and all(isinstance(item, exp.Split) for item in node.expressions)


def _is_rough(cast: exp.Cast) -> bool:
    """An integer cast of arithmetic that can leave a fraction, without floor or round around it."""
    if cast.to.sql().upper() not in _INTEGER:
        return False
    inner = cast.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Div):
        return True
    return isinstance(inner, exp.Literal | exp.Mul | exp.Add | exp.Sub) and any(
        not literal.is_string and "." in literal.name for literal in inner.find_all(exp.Literal)
    )
