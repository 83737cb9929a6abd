"""The rows of a view that differ between two versions of it, paired by its grain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from warehouse.home import Home, read_pinned
from warehouse.variant import Variant, memory, place
from warehouse.views import Catalog, View

SHOWN = 10
"""How many rows of each kind are shown."""

KINDS = ("added", "removed", "changed")


@dataclass(frozen=True)
class Rows:
    """How many rows one side alone has, and how many have other values; ``first`` are some of each:
    ``{"row": added|removed|changed, "key", "before", "after"}``, of changed ones only the columns that differ.

    ``columns``: those that one side alone has, by side; they are not compared.
    """

    view: str
    grain: tuple[str, ...]
    added: int
    removed: int
    changed: int
    same: int
    first: Sequence[Mapping]
    columns: Mapping[str, tuple[str, ...]]

    def as_json(self) -> dict:
        return {
            "view": self.view,
            "grain": list(self.grain),
            **{kind: getattr(self, kind) for kind in KINDS},
            "same": self.same,
            "first": list(self.first),
            "columns": {side: list(names) for side, names in self.columns.items()},
        }


def compare_rows(
    home: Home,
    catalog: Catalog,
    before: View,
    after: View,
    variants: tuple[Variant, Variant] = (Variant(), Variant()),
) -> Rows:
    """Pair the rows of two versions by their common grain. Raises HomeError when their data is not loaded."""
    return read_pinned(home, lambda pinned: _compare(pinned, catalog, (before, after), variants))


def _compare(
    home: Home, catalog: Catalog, views: tuple[View, View], variants: tuple[Variant, Variant]
) -> Rows:
    con = memory()
    columns: list[dict[str, str]] = []
    for side, view, variant in zip(("before", "after"), views, variants, strict=True):
        con.execute(f"ATTACH ':memory:' AS {side}")
        con.execute(f"USE {side}")
        place(con, home, catalog, variant, [view.name])
        con.execute(f"CREATE TABLE compared AS FROM {view.name}")
        columns.append({name: kind for name, kind, *_ in con.execute("DESCRIBE compared").fetchall()})
    con.execute("USE memory")
    grain = views[1].grain or tuple(name for name in columns[0] if name in columns[1])
    others = [name for name in columns[1] if name in columns[0] and name not in grain]
    differs = " OR ".join(_differs(name, columns) for name in others) or "FALSE"
    key = " AND ".join(f'one."{name}" IS NOT DISTINCT FROM other."{name}"' for name in grain)
    con.execute(
        f"""
        CREATE TABLE paired AS
        SELECT
            CASE
                WHEN one.here IS NULL THEN 'added'
                WHEN other.here IS NULL THEN 'removed'
                WHEN {differs} THEN 'changed'
                ELSE 'same'
            END AS kind
            {"".join(f', coalesce(one."{name}", other."{name}") AS key_{number}' for number, name in enumerate(grain))}
            {"".join(f', one."{name}" AS before_{number}' for number, name in enumerate(others))}
            {"".join(f', other."{name}" AS after_{number}' for number, name in enumerate(others))}
        FROM (SELECT *, TRUE AS here FROM before.compared) AS one
        FULL OUTER JOIN (SELECT *, TRUE AS here FROM after.compared) AS other ON {key}
        """
    )
    numbers = dict(con.execute("SELECT kind, count(*) FROM paired GROUP BY kind").fetchall())
    first = [row for kind in KINDS for row in _first(con, kind, grain, others)]
    alone = {
        side: tuple(name for name in mine if name not in theirs)
        for side, mine, theirs in (("before", *columns), ("after", *columns[::-1]))
    }
    return Rows(
        views[1].name, grain, *(numbers.get(kind, 0) for kind in (*KINDS, "same")), first=first, columns=alone
    )


def _differs(name: str, columns: list[dict[str, str]]) -> str:
    one, other = f'one."{name}"', f'other."{name}"'
    if columns[0][name] != columns[1][name]:
        one, other = f"CAST({one} AS VARCHAR)", f"CAST({other} AS VARCHAR)"
    return f"{one} IS DISTINCT FROM {other}"


def _first(
    con: duckdb.DuckDBPyConnection, kind: str, grain: Sequence[str], others: Sequence[str]
) -> list[dict]:
    keys = [f"key_{number}" for number in range(len(grain))]
    rows = con.execute(
        f"SELECT {', '.join(keys)}"
        f"{''.join(f', {side}_{number}' for side in ('before', 'after') for number in range(len(others)))} "
        f"FROM paired WHERE kind = '{kind}' ORDER BY {', '.join(keys)} LIMIT {SHOWN}"
    ).fetchall()
    found = []
    for row in rows:
        values = [_plain(value) for value in row]
        split = len(grain), len(grain) + len(others)
        before = dict(zip(others, values[split[0] : split[1]], strict=True))
        after = dict(zip(others, values[split[1] :], strict=True))
        if kind == "changed":
            names = [name for name in others if before[name] != after[name]]
            before, after = ({name: side[name] for name in names} for side in (before, after))
        found.append(
            {
                "row": kind,
                "key": dict(zip(grain, values, strict=False)),
                "before": None if kind == "added" else before,
                "after": None if kind == "removed" else after,
            }
        )
    return found


def _plain(value: object) -> object:
    """A value for JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
