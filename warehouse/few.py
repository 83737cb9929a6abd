"""Some records' share of a database: what a view says of them, computed from their rows alone.

As :mod:`warehouse.narrow` does for one record: what a view that is sharded by a column says of one value of it depends
on that value's rows alone, so files and tables that have the column, and are read by such views only, are cut down to
the records that are asked for.
"""

from __future__ import annotations

import duckdb

from warehouse.narrow import RECORD
from warehouse.spec import Spec
from warehouse.variant import OWN_ROWS
from warehouse.views import Catalog, View

FILE = "read_parquet("
"""What the text of a view holds that is a file; no view of ours does."""


def define_few(
    con: duckdb.DuckDBPyConnection,
    source: str,
    target: str,
    catalog: Catalog,
    spec: Spec,
    why: View,
    instances: str,
    cut: dict[tuple, str],
) -> None:
    """Fill database ``target`` with what database ``source`` has, cut down to the records of some instances.

    ``instances``: a table with their instance_id. ``catalog``: the views of ``source``. Rows of ``why``, the task's why
    view, are right there for these instances; others are missing. ``cut``: file → the table with its rows of these
    instances, filled here, so that a second database on the same files need not read them again.
    """
    con.execute(
        f"CREATE OR REPLACE TABLE few AS SELECT DISTINCT instance_id, record_id FROM {source}.{spec.view} "
        f"WHERE instance_id IN (SELECT instance_id FROM {instances})"
    )
    shard = catalog[spec.view].shard
    lineage = catalog.lineage([why.name])
    whole = {name for view in lineage if view.shard != shard and view is not why for name in view.reads}
    found = con.execute(
        "SELECT view_oid, schema_name || '.' || view_name, sql FROM duckdb_views() "
        "WHERE database_name = ? AND NOT internal UNION ALL "
        "SELECT table_oid, schema_name || '.' || table_name, NULL FROM duckdb_tables() "
        "WHERE database_name = ? AND NOT internal ORDER BY 1",
        [source, source],
    ).fetchall()
    con.execute(f"ATTACH ':memory:' AS {target}")
    for _, name, text in found:
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {target}.{name.split('.')[0]}")
        if text is not None and FILE not in text:
            body = catalog[name].sql if name in catalog and f"{OWN_ROWS}." not in text else None
            con.execute(f"USE {target}")
            con.execute(text if body is None else f"CREATE VIEW {name} AS {body}")
            con.execute("USE memory")
            continue
        columns = {row[0] for row in con.execute(f"DESCRIBE {source}.{name}").fetchall()}
        keys = {"instance_id": "instance_id"} if name == spec.view else {shard: RECORD, RECORD: RECORD}
        about = name.removeprefix(f"{OWN_ROWS}.").replace("__", ".")
        uncut = about in whole or about.startswith("map.")
        key = next((key for key in keys if key in columns and not uncut), None)
        same = cut.get((text, key))
        if key is None or same is not None:
            con.execute(f"CREATE VIEW {target}.{name} AS FROM {same or f'{source}.{name}'}")
        else:
            condition = f"{key} IN (SELECT {keys[key]} FROM few)"
            con.execute(f"CREATE TABLE {target}.{name} AS FROM {source}.{name} WHERE {condition}")
            if text is not None:
                cut[text, key] = f"{target}.{name}"
