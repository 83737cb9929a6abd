"""The Parquet file of a stored view: its rows in the order of its grain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from warehouse.database import broken, sql_text
from warehouse.errors import RegistryError
from warehouse.views import View

ROW_GROUP = 122_880
DICTIONARY = 1_000
"""Most values of a column's dictionary: words have few, and trying it on times costs more than it saves."""


def write_view(
    con: duckdb.DuckDBPyConnection, view: View, target: Path, rule: str, within: Sequence[str] = ()
) -> int:
    """Write a view's rows and say how many. ``rule``: its fingerprint, kept in the file's metadata.

    ``within``: the views that are not stored and the maps that it is computed from. Raises RegistryError, which names
    them, when the view fails.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    options = (
        f"FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {ROW_GROUP}, "
        f"DICTIONARY_SIZE_LIMIT {DICTIONARY}, "
        f"KV_METADATA {{leadhouse_view: '{view.name}', leadhouse_rule: '{rule}'}}"
    )
    order = f"ORDER BY {', '.join(view.grain)}" if view.grain else ""
    try:
        copy = con.execute(f"COPY (SELECT * FROM ({view.sql}\n) {order}) TO {sql_text(target)} ({options})")
        (rows,) = copy.fetchone()
        return rows
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        raise broken(view, error) from error
    except (duckdb.IOException, duckdb.OutOfMemoryException):
        raise
    except duckdb.Error as error:
        step = f"mend the SELECT, or what is computed within it: {', '.join(within)}" if within else None
        raise RegistryError(f"{view.path}: the view fails on the loaded data: {error}", step) from error
