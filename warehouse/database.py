"""A DuckDB database with the whole street in it: raw tables, maps, splits, every view by its name.

Names in SQL and where they come from::

    raw_<schema>.<table>   data/raw/<dataset>/<table>/*.parquet
    map.<name>             registry/maps/<name>.csv
    split.<name>           data/raw/<dataset>/split/*.parquet, the membership that `load` drew
    image.<task>_v<N>      data/images/<task>_v<N>/image.parquet, the table of images that `render` drew
    <schema>.<view>_v<N>   data/built/… when the view is stored, its SELECT otherwise
    <schema>.<view>        the newest released version, else the newest draft that a view reads
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from warehouse.digests import file_digest, files_digest, joined
from warehouse.engine import new_file
from warehouse.errors import HomeError, RegistryError
from warehouse.home import Home, sync, write_text
from warehouse.images import TABLE, rendered
from warehouse.load.cards import card_of, datasets
from warehouse.load.report import loaded
from warehouse.maps import map_digest, map_files, map_rows, read_map
from warehouse.project import registry_path
from warehouse.review.home import DATASET as REVIEW
from warehouse.spec import specs
from warehouse.splits import declaration
from warehouse.views import Catalog, View

SPLIT_TABLE = "split"
ENGINE = f"duckdb {duckdb.__version__}"


@dataclass(frozen=True)
class Input:
    """Something a view reads that is no view: its name in SQL, its digest, its Parquet files (none for a map).

    ``content`` is the digest of the files as they were written. ``path``: the CSV of a map that is not the registry's.
    """

    name: str
    digest: str
    files: tuple[Path, ...] = ()
    content: str = ""
    path: Path | None = None

    @property
    def is_intact(self) -> bool:
        """Whether the files are still the ones that `load` wrote."""
        return not self.files or files_digest(self.files) == self.content


def inputs(home: Home) -> dict[str, Input]:
    """All inputs that are there, by name."""
    found = {f"map.{name}": Input(f"map.{name}", map_digest(name)) for name in map_files()}
    for dataset, report in loaded(home).items():
        for table, entry in report["tables"].items():
            files = tuple(home.loaded(dataset) / table / file for file in entry["files"])
            if table == SPLIT_TABLE:
                name = f"split.{report['schema']}"
                digest = declaration(report["schema"]).get("sha256", entry["sha256"])
            else:
                name, digest = f"raw_{report['schema']}.{table}", entry["sha256"]
            found[name] = Input(name, digest, files, entry["sha256"])
    for name, (file, digest) in rendered(home).items():
        found[name] = Input(name, digest, (file,), joined([digest]))
    return found


def of_loaded(home: Home, catalog: Catalog) -> list[View]:
    """The views of the data sets that are loaded, with all they read, parents first; no other view is parsed.

    A view belongs to its schema's data set, one of schema `task` to its task's; one of neither is always there.
    """
    here = loaded(home)
    away = {card_of(name)["schema"] for name in datasets() if name not in here}
    stems = {spec.slug.replace("-", "_"): spec.data["dataset"] in here for spec in specs()}

    def is_here(view: View) -> bool:
        tasks = [stem for stem in stems if view.schema == "task" and f"{view.stem}_".startswith(f"{stem}_")]
        return stems[max(tasks, key=len)] if tasks else view.schema not in away

    return catalog.lineage(view.name for view in catalog.named.values() if is_here(view))


def computable(views: Iterable[View], present: Mapping[str, Input]) -> set[str]:
    """Those of the views, parents first, all of whose ancestors' inputs are there.

    Raises RegistryError for a map that is nowhere.
    """
    able: set[str] = set()
    for view in views:
        lacking = [name for name in view.reads if name.startswith("map.") and name not in present]
        if lacking:
            raise RegistryError(
                f"{view.path}: reads {', '.join(lacking)}; found no such file in registry/maps",
                "bring the map back, or mend the view",
            )
        if all(name in able or name in present for name in view.reads):
            able.add(view.name)
    return able


def define(
    con: duckdb.DuckDBPyConnection,
    present: dict[str, Input],
    views: Sequence[View],
    stored_at: Callable[[View], Path | None],
) -> list[str]:
    """Create inputs and views, parents first; returns the names of the views that were created.

    ``stored_at`` gives the Parquet file of a stored view; None leaves the view and all that reads it out.
    """
    for schema in sorted({name.split(".")[0] for name in present}):
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    for name, source in present.items():
        if source.files:
            try:
                con.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {parquet(source.files)}")
            except duckdb.Error as error:
                (file, *others) = source.files
                raise unreadable(file.parent if others else file, error) from error
        else:
            _define_map(con, name, source.path)
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


def _define_map(con: duckdb.DuckDBPyConnection, name: str, other: Path | None = None) -> None:
    """Create one map as a table. Raises RegistryError, with its row, for a ragged or empty one."""
    stem = name.split(".")[1]
    path = other or registry_path("maps", f"{stem}.csv")
    if not (read_map(other) if other else map_rows(stem)):
        raise RegistryError(f"{path.name}: found a map without rows; expected at least one")
    dialect = (
        "header = true, delim = ',', quote = '\"', escape = '\"'"  # finding it out takes as long as reading
    )
    con.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM read_csv({sql_text(path)}, {dialect})")


def define_view(con: duckdb.DuckDBPyConnection, view: View, file: Path | None) -> None:
    """Create one view, over its Parquet file or as its SELECT. Raises RegistryError with DuckDB's words."""
    body = view.sql if file is None else f"SELECT * FROM {parquet((file,))}"
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {view.schema}")
    try:
        con.execute(f"CREATE OR REPLACE VIEW {view.name} AS {body}")
    except duckdb.Error as error:
        if file is not None:
            raise unreadable(file, error) from error
        raise broken(view, error) from error


def unreadable(file: Path, error: Exception) -> HomeError:
    """A Parquet file that is missing, damaged, or no Parquet file."""
    said = next(iter(str(error).splitlines()), type(error).__name__)
    step = "run materialize: it builds the view anew"
    if file.name == TABLE:
        step = "run render for its task again: it draws the images anew"
    elif "raw" in file.parts:
        verdicts = any(
            part.strip(".").startswith(f"{REVIEW}.") or part == REVIEW for part in file.parts[-4:-1]
        )
        step = "bring the file back from a copy" if verdicts else "load the data set again"
    return HomeError(
        f"{file}: found {said}; expected the Parquet file that was written there",
        step,
    )


def broken(view: View, error: Exception) -> RegistryError:
    return RegistryError(
        f"{view.path}: DuckDB refuses the view: {error}", "mend the SELECT; `make lint` may say more"
    )


def define_aliases(con: duckdb.DuckDBPyConnection, catalog: Catalog, created: Sequence[str]) -> None:
    """``<schema>.<view>`` for analysts."""
    for alias, view in catalog.newest().items():
        if view.name in created:
            con.execute(f"CREATE OR REPLACE VIEW {alias} AS SELECT * FROM {view.name}")


def write_database(
    home: Home,
    catalog: Catalog,
    views: Sequence[View],
    manifest: dict,
    stored_at: Callable[[View], Path | None],
) -> None:
    """Write ``leadhouse.duckdb``, a cache of these views over the Parquet files, whole or not at all.

    ``.leadhouse.json`` says what it was made of; while that has not moved, neither has the database.
    """
    read = {name for view in views for name in view.reads}
    present = {
        name: source
        for name, source in inputs(home).items()
        if name in read or not name.startswith("map.")  # maps of other data sets cost more than the views
    }
    made_of = {
        "engine": ENGINE,
        "place": str(home.path),
        "inputs": {name: source.digest for name, source in present.items()},
        "views": {view.name: view.sql_fingerprint for view in views if view.name not in manifest},
        "built": {name: entry["columns"] for name, entry in manifest.items()},
        "newest": {alias: view.name for alias, view in catalog.newest().items()},
    }
    note = home.path / ".leadhouse.json"
    text = json.dumps(made_of, sort_keys=True)
    said = note.read_text(encoding="utf-8", errors="replace") if note.is_file() else ""
    if said == f"{text}\n{file_digest(home.database)}\n":
        return
    for left in home.path.glob(".leadhouse.*.duckdb*"):  # by a run that was killed
        left.unlink(missing_ok=True)
    draft = home.path / f".leadhouse.{uuid.uuid4().hex[:12]}.duckdb"
    try:
        with new_file(draft) as con:
            define_aliases(con, catalog, define(con, present, views, stored_at))
        sync(draft)
        draft.replace(home.database)
        write_text(note, f"{text}\n{file_digest(home.database)}\n")
    finally:
        draft.unlink(missing_ok=True)
        draft.with_name(f"{draft.name}.wal").unlink(missing_ok=True)


def parquet(files: tuple[Path, ...]) -> str:
    """``read_parquet`` of these files, for FROM."""
    return f"read_parquet([{', '.join(sql_text(file) for file in files)}])"


def sql_text(value: object) -> str:
    """A text or a path as a literal."""
    return "'" + str(value).replace("'", "''") + "'"
