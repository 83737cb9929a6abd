"""Reading the warehouse: a connection with every view, and the locked one behind ``sql``."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

import duckdb

from warehouse.database import computable, define, define_aliases, inputs, of_loaded, sql_text
from warehouse.errors import HomeError, UsageError
from warehouse.home import Home, read_pinned
from warehouse.images import rendered
from warehouse.load.report import loaded
from warehouse.manifest import built_file, read_manifest
from warehouse.task import older_than
from warehouse.views import Catalog, syntax_tree

MENTION = re.compile(r"\b[a-z_]\w*\.[a-z_]\w*")
"""A table's name with its schema, in a text of small letters."""


def connect(
    home: Home, *, catalog: Catalog | None = None, names: Collection[str] | None = None
) -> duckdb.DuckDBPyConnection:
    """An in-memory database with the inputs, the built views and everything that is computable from them.

    ``names``: these tables and views alone, by their names in SQL, with what they need; everything where one of them
    is unknown. Nothing is written, so a home on a read-only disk will do. What is published meanwhile is not seen.
    Raises HomeError when nothing is loaded, or when a file is missing or damaged.
    """
    catalog = catalog or Catalog.read()
    return read_pinned(home, lambda pinned: _open(pinned, catalog, names))


def _open(home: Home, catalog: Catalog, names: Collection[str] | None) -> duckdb.DuckDBPyConnection:
    present = inputs(home)
    if not any(name.startswith("raw_") for name in present):
        raise HomeError(
            f"{home.path}: found no loaded data set; expected one", "run `load DATASET SOURCE` first"
        )
    newest = catalog.newest() if names is not None else {}
    asked = {name: newest[name].name if name in newest else name for name in names or ()}
    if names is None or not all(name in catalog or name in present for name in asked.values()):
        views = of_loaded(home, catalog)
    else:
        views = catalog.lineage(name for name in asked.values() if name in catalog)
        read = {*asked, *(name for view in views for name in view.reads)}
        present = {name: source for name, source in present.items() if name in read}
    computable(views, present)
    con = duckdb.connect()
    created = define(con, present, views, built_file(home, read_manifest(home)["views"]))
    define_aliases(con, catalog, created)
    return con


def older_behind(home: Home, text: str) -> list[str]:
    """What changed since the build that a SELECT reads: rules, maps, splits and raw tables, by name.

    Views that are not stored give what is loaded now, stored ones what was built: beside each other they may disagree.
    """
    catalog = Catalog.read()
    read = sorted(_files_of(catalog, _views_of(catalog, text, _asked(text))))
    return list(dict.fromkeys(name for view in read for name in older_than(home, view)))


def _expect_built(home: Home, catalog: Catalog, asked: Collection[str]) -> None:
    """HomeError for views that are asked for, loaded, and lack only a build."""
    manifest = read_manifest(home)["views"]
    lacking = sorted(_files_of(catalog, asked) - set(manifest))
    able = computable(catalog.lineage(lacking), inputs(home)) if lacking else set()
    if able.intersection(lacking):
        names = ", ".join(name for name in lacking if name in able)
        raise HomeError(f"{home.path}: found no build of {names}; expected one", "run materialize")


def _files_of(catalog: Catalog, names: Collection[str]) -> set[str]:
    """The stored views whose files are read when these views are."""
    stored: set[str] = set()
    front = set(names)
    while front:
        views = [catalog[name] for name in front if name in catalog]
        stored |= {view.name for view in views if view.stored}
        front = {name for view in views if not view.stored for name in view.reads}
    return stored


def _views_of(catalog: Catalog, text: str, names: Collection[str] | None) -> set[str]:
    """The views among a SELECT's names; of one that may look at whatever there is, those that its text mentions."""
    newest = catalog.newest()
    if names is None:
        names = set(MENTION.findall(text.lower().replace('"', "")))
    return {newest[name].name if name in newest else name for name in names} & set(catalog)


def select(home: Home, text: str) -> duckdb.DuckDBPyConnection:
    """Run one SELECT on what `prepare` gives; fetch from what comes back.

    Raises UsageError as `prepare` does, and with DuckDB's words when the query fails.
    """

    def run(pinned: Home) -> duckdb.DuckDBPyConnection:
        try:
            return prepare(pinned, text).execute(text)
        except duckdb.Error as error:
            raise UsageError(f"the query fails: {error}") from error

    return read_pinned(home, run)


def prepare(home: Home, text: str) -> duckdb.DuckDBPyConnection:
    """A connection for one SELECT, with external access off and the configuration locked; the SELECT has not run.

    Of files, only those of loaded data sets and of the present build can be read; nothing can be written or
    attached. Raises UsageError for anything but one SELECT.
    """
    catalog, names = Catalog.read(), _asked(text)
    home, con = read_pinned(home, lambda pinned: (pinned, connect(pinned, catalog=catalog, names=names)))
    _expect_built(home, catalog, _views_of(catalog, text, names))
    try:
        statements = con.extract_statements(text)
    except duckdb.Error as error:
        raise UsageError(f"found a query that DuckDB cannot parse: {error}") from error
    kinds = [statement.type.name for statement in statements]
    if kinds != ["SELECT"]:
        raise UsageError(
            f"found {' and '.join(kinds) or 'no statement'}; expected one SELECT",
            "`sql` only reads; open data/built/*.parquet or data/leadhouse.duckdb in your own session to do more",
        )
    places = [home.built, *(home.loaded(dataset) for dataset in loaded(home))]
    places += [file.parent for file, _ in rendered(home).values()]
    listed = ", ".join(sql_text(f"{place}/") for place in places)
    con.execute("SET temp_directory = ''")
    con.execute(f"SET allowed_directories = [{listed}]")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")
    return con


def _asked(text: str) -> set[str] | None:
    """The tables and views that a SELECT names; None for one that may look at whatever there is."""
    names: set[str] = set()
    within: set[str] = set()
    ctes: set[str] = set()
    looks = False

    def collect(node: dict) -> dict | None:
        nonlocal looks
        kind = node.get("type")
        if kind == "BASE_TABLE" and node.get("schema_name"):
            names.add(f"{node['schema_name']}.{node['table_name']}".lower())
        elif kind == "BASE_TABLE":
            within.add(node["table_name"])
        looks |= kind in ("TABLE_FUNCTION", "SHOW_REF")
        if {"key", "value"} <= node.keys():
            ctes.add(str(node["key"]))
        return node if "error" in node else None

    tree = json.loads(syntax_tree(text), object_hook=collect)
    return None if tree["error"] or looks or within - ctes else names
