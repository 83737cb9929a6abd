"""Two task views beside each other in SQL: the instances that differ, the flips, and their numbers.

Both are views of one connection, ``before.task.…`` and ``after.task.…``. Nothing here holds an instance in Python.
"""

from __future__ import annotations

import duckdb

from warehouse.database import sql_text
from warehouse.flip_evidence import SIDES
from warehouse.spec import Spec


def pair(con: duckdb.DuckDBPyConnection, specs: tuple[Spec, Spec]) -> None:
    """``pair``: the instances that differ, part and left_out on both sides; ``flip``: a row an instance and class."""
    classes = list(dict.fromkeys(name for spec in specs for name in spec.classes))
    values = {
        side: [f'{side}."{name}"' if name in spec.classes else "NULL" for name in classes]
        for side, spec in zip(SIDES, specs, strict=True)
    }
    columns = ", ".join(
        f"{value} AS {side}_{place}" for side in SIDES for place, value in enumerate(values[side])
    )
    differs = " OR ".join(f"before_{place} IS DISTINCT FROM after_{place}" for place in range(len(classes)))
    con.execute(
        f"""
        CREATE TABLE pair AS
        SELECT
            coalesce(before.instance_id, after.instance_id) AS instance_id
            , before.part AS part_before
            , before.left_out AS left_out_before
            , after.part AS part_after
            , after.left_out AS left_out_after
            , CASE
                WHEN after.instance_id IS NULL THEN 'before'
                WHEN before.instance_id IS NULL THEN 'after'
            END AS only_on
            , only_on IS NULL AND (
                part_before IS DISTINCT FROM part_after OR left_out_before IS DISTINCT FROM left_out_after
            ) AS moved
            , {columns}
        FROM before.{specs[0].view} AS before
        FULL OUTER JOIN after.{specs[1].view} AS after ON before.instance_id = after.instance_id
        WHERE only_on IS NOT NULL OR moved OR {differs}
        """
    )
    pieces = [
        f"SELECT instance_id, {sql_text(name)} AS class, {place} AS place, before_{place} AS before, "
        f"after_{place} AS after FROM pair WHERE only_on IS NULL AND before_{place} IS DISTINCT FROM after_{place}"
        for place, name in enumerate(classes)
    ]
    con.execute(f"CREATE TABLE flip AS {' UNION ALL '.join(pieces)}")


def whole(con: duckdb.DuckDBPyConnection, source: str, spec: Spec) -> dict:
    """``{"records", "scored", "classes"}`` over all instances of a task view, left-out ones too."""
    classes = "".join(f', count(*) FILTER ("{name}")' for name in spec.classes)
    query = f"SELECT count(*), count(*) FILTER (scored){classes} FROM {source}"
    ((records, scored, *counted),) = con.execute(query).fetchall()
    return {
        "records": records,
        "scored": scored,
        "classes": dict(zip(spec.classes, counted, strict=True)),
    }


def ways(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, int]]:
    """Class → way (``no_to_yes``, ``yes_to_unknown``, …) → flips, of what :func:`pair` left."""
    found: dict[str, dict[str, int]] = {}
    for name, old, new, number in con.execute(
        "SELECT class, before, after, count(*) FROM flip GROUP BY class, place, before, after "
        "ORDER BY place, before, after"
    ).fetchall():
        found.setdefault(name, {})[f"{_said(old)}_to_{_said(new)}"] = number
    return found


def _said(value: object) -> str:
    """A class column's value in words; a number for a task that is no matter of yes and no."""
    return "unknown" if value is None else {True: "yes", False: "no"}.get(value, str(value))
