"""Other verdicts over the same evidence: reasons that are accepted, rules that are refused, as select lists.

The views concerned are those that a task's label and task views read themselves, of layer evidence, with columns
``accepted`` and ``reason``. Reasons are joined by ``' + '``; a row is accepted when every part of its reason is. A
*family* is a name for several reasons: column ``family`` of the data set's ``map.<schema>_reason``, where it has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import duckdb

from warehouse.database import sql_text
from warehouse.errors import UsageError
from warehouse.maps import map_files, map_rows
from warehouse.views import Catalog, View

JOINT = " + "
"""Between the reasons of a row that several refuse."""

REFUSED = "refused by this question"
"""The reason of rows that are refused here and nowhere else."""


@dataclass(frozen=True)
class Evidence:
    """An evidence view behind a task, with its columns in a connection where it is defined."""

    view: View
    columns: frozenset[str]

    @property
    def has_rules(self) -> bool:
        """Whether it tells candidates from exclusions and names the rule of each."""
        return {"kind", "rule"} <= self.columns


def evidence_views(catalog: Catalog, task: str) -> list[View]:
    """The evidence views that the label and task views behind a task view read themselves, by name."""
    readers = [view for view in catalog.lineage([task]) if view.layer in ("label", "task")]
    found = {parent.name: parent for view in readers for parent in catalog.parents(view)}
    return [view for _, view in sorted(found.items()) if view.layer == "evidence"]


def judging(con: duckdb.DuckDBPyConnection, views: Iterable[View]) -> list[Evidence]:
    """Those of the views, defined in ``con``, that say what they accept and why they refuse."""
    found = [
        Evidence(view, frozenset(row[0] for row in con.execute(f"DESCRIBE {view.name}").fetchall()))
        for view in views
    ]
    return [each for each in found if {"accepted", "reason"} <= each.columns]


def reasons_of(name: str, evidence: Sequence[Evidence]) -> tuple[str, ...] | None:
    """What a REASON of the command line means, by the registry: itself, or the reasons of a family; None where no map
    of reasons has the name."""
    rows = [
        row
        for schema in dict.fromkeys(each.view.schema for each in evidence)
        if f"{schema}_reason" in map_files()
        for row in map_rows(f"{schema}_reason")
    ]
    if any(row["reason"] == name for row in rows):
        return (name,)
    return tuple(row["reason"] for row in rows if row.get("family") == name) or None


def meaning(name: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """The reasons that a REASON stands for: those of a family, or itself."""
    return reasons_of(name, evidence) or (name,)


def select_lists(
    con: duckdb.DuckDBPyConnection,
    evidence: Sequence[Evidence],
    accept: Sequence[str],
    refuse: Sequence[str],
    *,
    elsewhere: bool = False,
) -> dict[str, str]:
    """View name → the select list over its rows that accepts and refuses, of the views that have such rows.

    ``accept``: reasons and families; ``refuse``: rules of candidates, which win. ``elsewhere``: the lists are for other
    rows than those in ``con``, by other maps or constants, so that every view gets one. Raises UsageError for a reason
    or a rule that neither the registry nor a row has, with those that occur and how many rows each has.
    """
    reasons: list[str] = []
    for name in accept:
        if reasons_of(name, evidence) is None and not any(_has(con, each, _holds(name)) for each in evidence):
            raise UsageError(_unknown("reason", name, occurring_reasons(con, evidence)))
        reasons += meaning(name, evidence)
    for rule in refuse:
        if not any(_has(con, each, _is_of(rule)) for each in evidence if each.has_rules):
            raise UsageError(_unknown("rule of candidates", rule, occurring_rules(con, evidence)))
    lifting: set[str] = set()
    if reasons:
        lifting = {each.view.name for each in evidence} if elsewhere else _lifting(con, evidence, reasons)
    found = {}
    for each in evidence:
        lifted = _accepts(reasons) if each.view.name in lifting else "FALSE"
        rules = [rule for rule in refuse if each.has_rules and (elsewhere or _has(con, each, _is_of(rule)))]
        stopped = " OR ".join(f"({_is_of(rule)})" for rule in rules) or "FALSE"
        if (lifted, stopped) != ("FALSE", "FALSE"):
            found[each.view.name] = (
                f"* REPLACE (CASE WHEN {stopped} THEN FALSE WHEN {lifted} THEN TRUE ELSE accepted END AS accepted, "
                f"CASE WHEN {stopped} THEN coalesce(reason, {sql_text(REFUSED)}) WHEN {lifted} THEN NULL "
                "ELSE reason END AS reason)"
            )
    return found


def refusing(
    con: duckdb.DuckDBPyConnection, evidence: Sequence[Evidence], reasons: Sequence[str]
) -> list[str]:
    """The views in which rows are refused for nothing but these reasons."""
    return [each.view.name for each in evidence if _has(con, each, _accepts(reasons))]


def _lifting(
    con: duckdb.DuckDBPyConnection, evidence: Sequence[Evidence], reasons: Sequence[str]
) -> set[str]:
    """The same, but that the last view is not looked into where it alone is left to have such rows.

    A look into a view that is not stored costs as much as the view. A select list over a view without such rows changes
    nothing, but has all that reads it computed for nothing.
    """
    read = {name for each in evidence for name in each.view.reads}
    dear = [each for each in evidence if not each.view.stored and each.view.name not in read]
    found = {each.view.name for each in evidence if each not in dear and _has(con, each, _accepts(reasons))}
    if len(dear) == 1 and not found:
        return {dear[0].view.name}
    return found | set(refusing(con, dear, reasons))


def occurring_reasons(
    con: duckdb.DuckDBPyConnection, evidence: Sequence[Evidence]
) -> list[tuple[str, int, str]]:
    """(reason, rows, view) of every reason that refuses a row, alone or among others."""
    return [
        (reason, rows, each.view.name)
        for each in evidence
        for reason, rows in con.execute(
            f"SELECT part, count(*) FROM (SELECT unnest(string_split(reason, '{JOINT}')) AS part "
            f"FROM {each.view.name} WHERE reason IS NOT NULL) GROUP BY part ORDER BY count(*) DESC, part"
        ).fetchall()
    ]


def occurring_rules(
    con: duckdb.DuckDBPyConnection, evidence: Sequence[Evidence]
) -> list[tuple[str, int, str]]:
    """(rule, rows, view) of every rule that gives a candidate."""
    return [
        (rule, rows, each.view.name)
        for each in evidence
        if each.has_rules
        for rule, rows in con.execute(
            f"SELECT rule, count(*) FROM {each.view.name} WHERE kind = 'candidate' GROUP BY rule "
            "ORDER BY count(*) DESC, rule"
        ).fetchall()
    ]


def _has(con: duckdb.DuckDBPyConnection, each: Evidence, condition: str) -> bool:
    return bool(con.execute(f"SELECT 1 FROM {each.view.name} WHERE {condition} LIMIT 1").fetchall())


def _holds(reason: str) -> str:
    return f"list_contains(string_split(reason, '{JOINT}'), {sql_text(reason)})"


def _accepts(reasons: Iterable[str]) -> str:
    listed = ", ".join(map(sql_text, dict.fromkeys(reasons)))
    joined = f"contains(reason, '{JOINT}') AND list_has_all([{listed}], string_split(reason, '{JOINT}'))"
    return f"(reason IS NOT NULL AND (reason IN ({listed}) OR ({joined})))"


def _is_of(rule: str) -> str:
    return f"kind = 'candidate' AND rule = {sql_text(rule)}"


def _unknown(what: str, name: str, known: Sequence[tuple[str, int, str]]) -> str:
    if not known:
        return f"found no {what} {name!r}; the evidence of this task has none"
    listed = "\n".join(f"  - {each} ({rows:,} rows of {view})" for each, rows, view in known)
    return f"found no {what} {name!r}; expected one of those that occur:\n{listed}"
