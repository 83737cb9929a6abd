"""A DuckDB database with the whole street in it: raw tables, maps, splits, every view by its name.

Names in SQL and where they come from::

    raw_<schema>.<table>   data/raw/<dataset>/<table>/*.parquet
    map.<name>             registry/maps/<name>.csv
    split.<name>           data/raw/<dataset>/split/*.parquet, the membership that `load` drew
    <schema>.<view>_v<N>   data/built/… when the view is stored, its SELECT otherwise
    <schema>.<view>        the newest released version
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from warehouse.errors import RegistryError
from warehouse.home import Home, sync, write_text
from warehouse.load.report import loaded
from warehouse.maps import map_digest, map_files
from warehouse.project import registry_path
from warehouse.splits import declaration
from warehouse.views import Catalog, View

SPLIT_TABLE = "split"
ENGINE = f"duckdb {duckdb.__version__}"


@dataclass(frozen=True)
class Input:
    """Something a view reads that is no view: its name in SQL, its digest, its Parquet files (none for a map)."""

    name: str
    digest: str
    files: tuple[Path, ...] = ()


def inputs(home: Home) -> dict[str, Input]:
    """All inputs that are there, by name."""
    found = {f"map.{name}": Input(f"map.{name}", map_digest(name)) for name in map_files()}
    for dataset, report in loaded(home).items():
        for table, entry in report["tables"].items():
            files = tuple(home.raw / dataset / table / file for file in entry["files"])
            if table == SPLIT_TABLE:
                name = f"split.{report['schema']}"
                digest = declaration(report["schema"]).get("sha256", entry["sha256"])
            else:
                name, digest = f"raw_{report['schema']}.{table}", entry["sha256"]
            found[name] = Input(name, digest, files)
    return found


def computable(catalog: Catalog, present: dict[str, Input]) -> set[str]:
    """The views all of whose ancestors' inputs are there."""
    able: set[str] = set()
    for view in catalog.values():
        if all(name in able or name in present for name in view.reads):
            able.add(view.name)
    return able


def define(
    con: duckdb.DuckDBPyConnection,
    present: dict[str, Input],
    views: list[View],
    stored_at: Callable[[View], Path | None],
) -> list[str]:
    """Create inputs and views, parents first; returns the names of the views that were created.

    ``stored_at`` gives the Parquet file of a stored view; None leaves the view and all that reads it out.
    """
    for schema in sorted({name.split(".")[0] for name in present}):
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    for name, source in present.items():
        if source.files:
            con.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {_parquet(source.files)}")
        else:
            path = registry_path("maps", f"{name.split('.')[1]}.csv")
            con.execute(
                f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM read_csv({_text(path)}, header = true)"
            )
    created: list[str] = []
    for view in views:
        file = stored_at(view) if view.stored else None
        if view.stored and file is None:
            continue
        if file is None and not all(name in created or name in present for name in view.reads):
            continue
        define_view(con, view, file)
        created.append(view.name)
    return created


def define_view(con: duckdb.DuckDBPyConnection, view: View, file: Path | None) -> None:
    """Create one view, over its Parquet file or as its SELECT. Raises RegistryError with DuckDB's words."""
    body = view.sql if file is None else f"SELECT * FROM {_parquet((file,))}"
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {view.schema}")
    try:
        con.execute(f"CREATE OR REPLACE VIEW {view.name} AS {body}")
    except duckdb.Error as error:
        if isinstance(error, duckdb.IOException):
            raise
        raise broken(view, error) from error


def broken(view: View, error: Exception) -> RegistryError:
    return RegistryError(
        f"{view.path}: DuckDB refuses the view: {error}", "mend the SELECT; `lint` may say more"
    )


def define_aliases(con: duckdb.DuckDBPyConnection, catalog: Catalog, created: list[str]) -> None:
    """``<schema>.<view>`` for analysts."""
    for alias, view in catalog.newest().items():
        if view.name in created:
            con.execute(f"CREATE OR REPLACE VIEW {alias} AS SELECT * FROM {view.name}")


def write_database(
    home: Home, catalog: Catalog, manifest: dict, stored_at: Callable[[View], Path | None]
) -> None:
    """Write ``leadhouse.duckdb``, a cache of view definitions over the Parquet files, whole or not at all.

    ``.leadhouse.json`` says what it was made of; while that has not moved, neither has the database.
    """
    present = inputs(home)
    made_of = {
        "engine": ENGINE,
        "place": str(home.path),
        "inputs": {name: source.digest for name, source in present.items()},
        "views": {view.name: view.sql_fingerprint for view in catalog.values()},
        "built": sorted(manifest),
        "newest": {alias: view.name for alias, view in catalog.newest().items()},
    }
    note = home.path / ".leadhouse.json"
    text = json.dumps(made_of, sort_keys=True)
    if home.database.is_file() and note.is_file() and note.read_text(encoding="utf-8") == text:
        return
    for left in home.path.glob(".leadhouse.*.duckdb*"):  # by a run that was killed
        left.unlink(missing_ok=True)
    draft = home.path / f".leadhouse.{uuid.uuid4().hex[:12]}.duckdb"
    try:
        con = duckdb.connect(str(draft))
        created = define(con, present, list(catalog.values()), stored_at)
        define_aliases(con, catalog, created)
        con.close()
        sync(draft)
        draft.replace(home.database)
        write_text(note, text)
    finally:
        draft.unlink(missing_ok=True)
        draft.with_name(f"{draft.name}.wal").unlink(missing_ok=True)


def _parquet(files: tuple[Path, ...]) -> str:
    return f"read_parquet([{', '.join(_text(file) for file in files)}])"


def _text(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"
