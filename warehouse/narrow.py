"""One record's share of a view: a database in which what the view is computed from holds that record alone.

What a view that is sharded by a column says of one value of it depends on that value's rows alone
(``tests/sql/test_shards.py`` holds that). So a Parquet file that has the column, and is read by such views only, is
read once and filtered. What is computed from it is small then, however many records there are, in whatever order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb

from warehouse.database import Input, define, define_view, parquet, sql_text, unreadable
from warehouse.errors import HomeError
from warehouse.home import Home
from warehouse.views import Catalog, View

RECORD = "record_id"
"""The column of a task view that holds its shard key, whatever the data set calls it."""


def define_record(
    con: duckdb.DuckDBPyConnection,
    home: Home,
    catalog: Catalog,
    present: Mapping[str, Input],
    stored_at: Callable[[View], Path | None],
    target: View,
    shard: str | None,
    instance: Mapping[str, object],
) -> None:
    """Define ``target`` and the views between it and the nearest files, of inputs and stored views, in ``con``.

    ``shard`` is the column that the data set's views are sharded by, ``instance`` a row of the task: the target's rows
    of that instance are right, others are missing. Raises HomeError when something is not built or not loaded.
    """
    views = _computed(catalog, target)
    read = {name for view in views for name in view.reads} - {view.name for view in views}
    files = {name: stored_at(catalog[name]) for name in read if name in catalog}
    lacking = sorted(name for name in read if files.get(name) is None and name not in present)
    if lacking:
        raise HomeError(
            f"{home.path}: found no {', '.join(lacking)}; expected what {target.name} is computed from",
            "run `materialize` without a name: it builds all that is loaded",
        )
    define(
        con,
        {name: present[name] for name in read if name in present and not present[name].files},
        [],
        stored_at,
    )
    whole = {name for view in views if view.shard != shard and view is not target for name in view.reads}
    for name in sorted(read):
        places = (files[name],) if name in files else present[name].files
        if places:
            _define_file(con, name, places, None if name in whole else shard, instance)
    for view in views:
        define_view(con, view, None)


def _computed(catalog: Catalog, target: View) -> list[View]:
    """The views whose SELECT is run, parents first: the target and its ancestors down to the stored ones."""
    found: dict[str, View] = {}

    def visit(view: View) -> None:
        for parent in catalog.parents(view):
            if not parent.stored and parent.name not in found:
                visit(parent)
        found[view.name] = view

    visit(target)
    return list(found.values())


def _define_file(
    con: duckdb.DuckDBPyConnection,
    name: str,
    files: tuple[Path, ...],
    shard: str | None,
    instance: Mapping[str, object],
) -> None:
    """The rows of the instance, or of its record, as a table; a view of all rows where nothing tells them apart."""
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {name.split('.')[0]}")
    source = parquet(files)
    try:
        con.execute(f"CREATE VIEW {name} AS SELECT * FROM {source}")
        columns = [] if shard is None else [row[0] for row in con.execute(f"DESCRIBE {name}").fetchall()]
        keys = {shard: RECORD, RECORD: RECORD, "instance_id": "instance_id"}
        wanted = [(key, instance[of]) for key, of in keys.items() if key in columns]
        if wanted:
            condition = " AND ".join(
                f"{key} = {value if isinstance(value, int) else sql_text(value)}" for key, value in wanted
            )
            con.execute(f"DROP VIEW {name}")
            con.execute(f"CREATE TABLE {name} AS SELECT * FROM {source} WHERE {condition}")
    except duckdb.Error as error:
        (file, *others) = files
        raise unreadable(file.parent if others else file, error) from error
