"""The portable subset: label SQL that can be sharded and carried to another engine, read from its tokens.

The subset is the house's (`CONTRIBUTING.md` gives the reasons): no list functions but an unnest of a split
string, no ASOF, no macros, no option argument of a regular expression, no max_by, floor or round before an
integer cast, no sum or avg over DOUBLE.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

from warehouse.views import View

FORBIDDEN = {
    "list_": "list functions do not travel; use unnest(string_split(…)) WITH ORDINALITY",
    "array_": "array functions do not travel; use unnest(string_split(…)) WITH ORDINALITY",
    "max_by": "max_by skips NULLs differently elsewhere; use a window",
    "min_by": "min_by skips NULLs differently elsewhere; use a window",
    "arg_max": "arg_max skips NULLs differently elsewhere; use a window",
    "arg_min": "arg_min skips NULLs differently elsewhere; use a window",
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
    tree = statements[0]
    faults += _casts(tree)
    for call in tree.find_all(exp.RegexpLike):
        if call.args.get("flag"):
            faults.append("regexp_matches with an option: lower the text instead")
    for call in tree.find_all(exp.Lambda):
        faults.append(f"{call.sql()}: lambdas do not travel")
    return faults


def _casts(tree: exp.Expression) -> list[str]:
    """Integer casts of a quotient or of a decimal literal without floor or round."""
    faults = []
    for cast in tree.find_all(exp.Cast):
        if cast.to.sql().upper() not in _INTEGER:
            continue
        inner = cast.this
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, exp.Div) or (isinstance(inner, exp.Literal) and "." in inner.name):
            faults.append(f"{cast.sql(dialect='duckdb')}: floor or round before an integer cast")
    return faults
