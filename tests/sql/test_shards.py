"""Every view with a shard key gives the same rows for 1 and for 7 shards."""

from __future__ import annotations

from functools import cache

import duckdb
import pytest
from sql_cases import views_of

from warehouse.home import Home
from warehouse.query import connect
from warehouse.views import Catalog, View

SHARDS = 7
CATALOG = Catalog.read()
SHARDED = [view.name for view in CATALOG.values() if view.shard is not None]
HOMES = {
    "vitaldb": ("signal_home", "real_home"),
    "lydus": ("lydus_home",),
    "ptbxl": ("ptbxl_home",),
    "mitbih": ("heartbeat_home",),
    "ptbdb": ("heartbeat_home",),
}
PAIRS = [
    (home, name)
    for schema, homes in HOMES.items()
    for home in homes
    for name in SHARDED
    if name.split(".")[0] == schema
    or (name.startswith("task.") and any(view.schema == schema for view in CATALOG.lineage([name])))
]
"""The homes and the sharded views of the data set that is loaded in them."""


@cache
def tables(home: Home) -> duckdb.DuckDBPyConnection:
    """Every input and view of a home as a table of schema ``whole``, and empty schemas to put shards into."""
    con = connect(home)
    con.execute("CREATE SCHEMA whole")
    names = {name for view in views_of(home) for name in (view.name, *view.reads)}
    for name in sorted(names):
        con.execute(f"CREATE TABLE whole.{flat(name)} AS SELECT * FROM {name}")
    for name in sorted(names):
        drop = con.execute(
            "SELECT count(*) FROM duckdb_tables() WHERE schema_name || '.' || table_name = ?", [name]
        ).fetchone()[0]
        con.execute(f"DROP {'TABLE' if drop else 'VIEW'} {name}")
    return con


def flat(name: str) -> str:
    return name.replace(".", "__")


def run(con: duckdb.DuckDBPyConnection, view: View, shard: int | None) -> str:
    """Table of the view's rows where its inputs hold one shard only; inputs without the key stay whole."""
    for name in view.reads:
        columns = {row[0] for row in con.execute(f"DESCRIBE whole.{flat(name)}").fetchall()}
        part = (
            f" WHERE hash({view.shard}) % {SHARDS} = {shard}"
            if shard is not None and view.shard in columns
            else ""
        )
        con.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM whole.{flat(name)}{part}")
    target = f"shard_{shard}"
    con.execute(f"CREATE OR REPLACE TABLE {target} AS SELECT * FROM ({view.sql}\n)")
    return target


@pytest.mark.parametrize(("home", "name"), PAIRS)
def test_seven_shards_give_the_rows_of_one(request, home, name):
    con, view = tables(request.getfixturevalue(home)), CATALOG[name]
    parts = [run(con, view, shard) for shard in range(SHARDS)]
    union = f"({' UNION ALL '.join(f'SELECT * FROM {part}' for part in parts)})"
    whole = f"(SELECT * FROM whole.{flat(name)})"
    for one, other in ((whole, union), (union, whole)):
        assert con.execute(f"{one} EXCEPT ALL {other} LIMIT 5").fetchall() == []
    filled = [part for part in parts if con.execute(f"SELECT count(*) FROM {part}").fetchone() != (0,)]
    if home != "real_home":
        assert len(filled) > 1, "one shard holds every row, so this shows nothing"


def test_what_has_no_shard_key():
    """Dictionaries, splits, reports and audits alone; a report of records may have one."""
    without = [view for view in CATALOG.values() if not view.shard]
    assert [view.name for view in without if view.layer in ("label", "task")] == []
    assert [
        view.name for view in without if view.schema == "vitaldb" and view.layer not in ("report", "audit")
    ] == []


def test_the_shard_key_is_a_column_of_what_the_view_reads():
    """Otherwise every shard would hold everything."""
    from sql_cases import table_columns

    for name in (name for name in SHARDED if name in table_columns()):
        view = CATALOG[name]
        keyed = [read for read in view.reads if view.shard in dict(table_columns()[read])]
        assert keyed, f"{name}: none of {', '.join(view.reads)} has {view.shard}"
