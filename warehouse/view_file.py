"""The Parquet file of a stored view: its rows in the order of its grain."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb

from warehouse.database import broken, parquet, sql_text
from warehouse.errors import RegistryError
from warehouse.views import View

ROW_GROUP = 122_880
DICTIONARY = 1_000
"""Most values of a column's dictionary: words have few, and trying it on times costs more than it saves."""

ROW_BY_ROW = frozenset({"CROSS_PRODUCT", "DUMMY_SCAN", "FILTER", "PROJECTION", "READ_PARQUET", "SEQ_SCAN"})
"""Operators of a plan that hand rows on as they come; so does a left join."""
GATHERS = re.compile(r"\b(GROUP BY|OVER|UNION|DISTINCT)\b")
"""Words of a SELECT whose rows are not those of its first table."""


def write_view(con: duckdb.DuckDBPyConnection, view: View, target: Path, rule: str) -> int:
    """Write a view's rows and say how many. ``rule``: its fingerprint, kept in the file's metadata.

    `load` writes raw tables in their order, so a staging view that takes their rows one by one needs no sorting,
    which takes a third of its time. That is tried and then looked at, never relied on. Raises RegistryError when
    the view fails.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    options = (
        f"FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {ROW_GROUP}, "
        f"DICTIONARY_SIZE_LIMIT {DICTIONARY}, "
        f"KV_METADATA {{leadhouse_view: '{view.name}', leadhouse_rule: '{rule}'}}"
    )
    order = f"ORDER BY {', '.join(view.grain)}" if view.grain else ""
    try:
        if view.grain and view.layer == "staging" and _is_row_by_row(con, view.sql):
            copy = con.execute(f"COPY ({view.sql}\n) TO {sql_text(target)} ({options}, PRESERVE_ORDER true)")
            (rows,) = copy.fetchone()
            if is_in_order(con, target, view.grain):
                return rows
        copy = con.execute(f"COPY (SELECT * FROM ({view.sql}\n) {order}) TO {sql_text(target)} ({options})")
        (rows,) = copy.fetchone()
        return rows
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        raise broken(view, error) from error
    except (duckdb.IOException, duckdb.OutOfMemoryException):
        raise
    except duckdb.Error as error:
        raise RegistryError(f"{view.path}: the view fails on the loaded data: {error}") from error


def is_in_order(con: duckdb.DuckDBPyConnection, file: Path, grain: tuple[str, ...]) -> bool:
    """Whether each row of a file has a greater grain than the row before it; never with a NULL in the grain."""
    follows = "FALSE"
    for column in reversed(grain):
        follows = f"({column} > lag({column}) OVER () OR ({column} = lag({column}) OVER () AND {follows}))"
    (misplaced,) = con.execute(
        f"SELECT count(*) FROM (SELECT {follows} AS follows FROM {parquet((file,))}) WHERE follows IS NOT TRUE"
    ).fetchone()
    return misplaced <= 1  # the first row follows none


def _is_row_by_row(con: duckdb.DuckDBPyConnection, sql: str) -> bool:
    """Whether the plan of a SELECT hands on the rows of its first table as they come; a look at its words may do."""
    if GATHERS.search(sql):
        return False

    def holds(node: dict) -> bool:
        joins = node["name"] == "HASH_JOIN" and node["extra_info"].get("Join Type") == "LEFT"
        return (joins or node["name"] in ROW_BY_ROW) and all(map(holds, node["children"]))

    ((_, plan),) = con.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()
    return all(map(holds, json.loads(plan)))
