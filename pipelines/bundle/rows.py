"""The rows of a bundle computed again: its own views and maps on the raw tables of a data home."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from pipelines.bundle.stage import LABELS, membership
from pipelines.verify import Link
from warehouse.counts import Counts, count_rows
from warehouse.database import Input, define, inputs, parquet, sql_text
from warehouse.errors import HomeError
from warehouse.home import Home, read_pinned

if TYPE_CHECKING:
    from pipelines.bundle.opened import Opened


@contextmanager
def locked(folders: list[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory whose queries can read files below the given folders, and nothing else anywhere."""
    with tempfile.TemporaryDirectory(prefix="leadhouse-spill-") as spill:
        con = duckdb.connect()
        try:
            con.execute(f"SET temp_directory = {sql_text(spill)}")
            listed = ", ".join(sql_text(f"{folder.resolve()}/") for folder in folders)
            con.execute(f"SET allowed_directories = [{listed}]")
            con.execute("SET enable_external_access = false")
            con.execute("SET lock_configuration = true")
            yield con
        finally:
            con.close()


def same_rows(bundle: Opened, home: Home, notes: list[str]) -> Iterator[Link]:
    """Links of the split's membership, the rows of every stored view, and those of the task view one by one.

    ``notes`` takes raw tables that are other files than the bundle was built from, which is no fault: another release
    of a library writes the same rows otherwise. Raises HomeError when the home lacks a raw table or it is damaged.
    """
    yield from read_pinned(home, lambda pinned: list(_compare(bundle, pinned, notes)))


def _compare(bundle: Opened, home: Home, notes: list[str]) -> Iterator[Link]:
    views = bundle.catalog.lineage([bundle.view.name])
    read = sorted({name for view in views for name in bundle.catalog.inputs(view)})
    present = _present(home, [name for name in read if not name.startswith("map.")], bundle)
    known = bundle.entry["lineage"]["inputs"]
    other = [name for name, source in present.items() if known.get(name, source.digest) != source.digest]
    if other:
        notes.append(f"{', '.join(other)}: other files than the bundle was built from")
    for name in read:
        stem = name.partition(".")[2]
        member = f"splits/{stem}.csv"
        if name.startswith("split.") and member in bundle.archive.sizes:
            same = membership(present[name]) == bundle.archive.read(member)
            here = "another membership in this home"
            yield Link(member, same, None if same else here, None if same else "the archive's")
        if name.startswith("map."):
            present[name] = Input(name, "", path=bundle.folder / "maps" / f"{stem}.csv")
    folders = [bundle.folder, *{file.parent for source in present.values() for file in source.files}]
    with locked(folders) as con:
        define(con, present, [], lambda view: None)
        for view in views:
            try:
                con.execute(f"CREATE SCHEMA IF NOT EXISTS {view.schema}")
                kind = "TABLE" if view.stored else "VIEW"
                con.execute(f"CREATE {kind} {view.name} AS {view.sql}")
            except duckdb.Error as error:
                text = " ".join(str(error).split())
                yield Link(
                    f"rows of {view.name}", False, f"DuckDB refuses it: {text[:300]}", "a view that runs"
                )
                return
            if view.stored:
                yield _number(con, view.name, bundle.manifest["views"][view.name]["rows"])
        yield _task(con, bundle)


def _present(home: Home, names: list[str], bundle: Opened) -> dict[str, Input]:
    """The raw tables and splits by name. HomeError for what is missing or damaged."""
    loaded = inputs(home)
    dataset = bundle.json("card.json")["slug"]
    missing = [name for name in names if name not in loaded]
    if missing:
        raise HomeError(
            f"{home.path}: found nothing loaded for {', '.join(missing)}, which the views of this bundle read",
            f"run `load {dataset} SOURCE`, or pass another --data HOME",
        )
    damaged = [name for name in names if not loaded[name].is_intact]
    if damaged:
        raise HomeError(
            f"{home.path}: found {', '.join(damaged)} changed; expected the Parquet files that `load` wrote",
            f"load {dataset} again",
        )
    return {name: loaded[name] for name in names}


def _number(con: duckdb.DuckDBPyConnection, name: str, expected: int) -> Link:
    ((found,),) = con.execute(f"SELECT count(*) FROM {name}").fetchall()
    same = found == expected
    return Link(f"rows of {name}", same, None if same else f"{found:,}", None if same else f"{expected:,}")


def _task(con: duckdb.DuckDBPyConnection, bundle: Opened) -> Link:
    """The task view against the labels, row by row; against the counts where labels are withheld."""
    view = bundle.view.name
    if LABELS not in bundle.archive.sizes:
        counted = Counts(bundle.spec, None, count_rows(con, bundle.spec, f"{view} AS task"), [], [])
        found, expected = counted.as_json()["parts"], bundle.json("counts.json")["parts"]
        same = found == expected
        return Link(f"counts of {view}", same, None if same else str(found), None if same else str(expected))
    con.execute(f"CREATE VIEW labels AS SELECT * FROM {parquet((bundle.folder / LABELS,))}")
    differing = []
    for one, other in ((view, "labels"), ("labels", view)):
        query = (
            f"SELECT count(*), min(instance_id) FROM (SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other})"
        )
        differing.append(con.execute(query).fetchall()[0])
    (here, first), (there, other_first) = differing
    if not here and not there:
        return Link(f"rows of {LABELS}", True)
    found = f"{here:,} rows that {LABELS} has not (first {first}), {there:,} that only it has (first {other_first})"
    return Link(f"rows of {LABELS}", False, found, "the same rows from the views")
