"""A home under another rule: other texts in the place of views, other files in the place of maps.

Nothing is written. What a variant touches, and all that reads it, is computed anew in memory; the rest is read from
the built Parquet, as far as that was made of what is there now. Only the ancestors of what is asked for are defined.
"""

from __future__ import annotations

import re
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from warehouse.database import Input, broken, define, inputs, parquet, sql_text, unreadable
from warehouse.digests import files_digest, source_digest
from warehouse.errors import HomeError, RegistryError, UsageError
from warehouse.fingerprints import build_fingerprints
from warehouse.home import Home, read_pinned
from warehouse.manifest import read_manifest
from warehouse.views import Catalog, View

OWN_ROWS = "own_rows"
"""The schema of a view's rows as they are, beneath those that a variant makes of them."""


@dataclass(frozen=True)
class Variant:
    """What is otherwise than in ``sql/`` and ``registry/maps/``.

    ``views``: view name (``vitaldb.normal_context_v0``) → the SELECT in its place. ``maps``: map name (``dx_hedge``) →
    the CSV in its place. ``columns``: view name → a select list over the view's own rows in their place, for instance
    ``* REPLACE (TRUE AS accepted)``: the view itself need not be computed for that. ``catalog``: the views to begin
    with, in the place of today's. ``splits``: split name (``vitaldb``) → the Parquet file in the place of what `load`
    wrote.
    """

    views: Mapping[str, str] = field(default_factory=dict)
    maps: Mapping[str, Path] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    catalog: Catalog | None = None
    splits: Mapping[str, Path] = field(default_factory=dict)

    def applied(self, catalog: Catalog) -> Catalog:
        """The catalog with the variant's texts. Raises UsageError for a view that is not there, RegistryError for a
        text that is no SELECT."""
        catalog = self.catalog or catalog
        strange = [name for name in (*self.views, *self.columns) if name not in catalog]
        if strange:
            raise UsageError(f"found no view {', '.join(strange)}; expected one of `views`")
        if not self.views:
            return catalog
        return Catalog(
            [
                replace(view, sql=self.views[view.name], path=Path(f"{view.name}, as changed"))
                if view.name in self.views
                else view
                for view in catalog.named.values()
            ]
        )


@dataclass(frozen=True)
class Placed:
    """What was defined: the catalog with the variant in it, the stored views that were computed (names), and those of
    them that the build holds of other rules or data than today's."""

    catalog: Catalog
    computed: tuple[str, ...]
    stale: tuple[str, ...]


def open_variant(
    home: Home, catalog: Catalog, variant: Variant, targets: Sequence[str]
) -> duckdb.DuckDBPyConnection:
    """An in-memory database in which the target views, all their ancestors that are not read from the build, and
    the maps and raw tables behind them have their names.

    Raises HomeError when data is not loaded or a file is damaged, UsageError for a target or a variant's view that is
    not there, RegistryError for a text that DuckDB refuses or a map that breaks the house's rules.
    """
    con = memory()
    read_pinned(home, lambda pinned: place(con, pinned, catalog, variant, targets))
    return con


def memory() -> duckdb.DuckDBPyConnection:
    """A database in memory that spills, where it must, into the system's folder for such files."""
    con = duckdb.connect()
    con.execute(
        f"SET temp_directory = {sql_text(Path(tempfile.gettempdir(), f'leadhouse-{uuid.uuid4().hex}'))}"
    )
    con.execute("SET preserve_insertion_order = false")
    return con


def place(
    con: duckdb.DuckDBPyConnection, home: Home, catalog: Catalog, variant: Variant, targets: Sequence[str]
) -> Placed:
    """Define a variant in the connection's current database. Raises as :func:`open_variant` does."""
    today, catalog = catalog, variant.applied(catalog)
    unknown = [name for name in targets if name not in catalog]
    if unknown:
        raise UsageError(f"found no view {', '.join(unknown)}; expected one of `views`")
    lineage = catalog.lineage(list(targets))
    present = inputs(home)
    known = present if variant.catalog is None else None
    present |= {f"map.{name}": _map_input(name, path, known) for name, path in variant.maps.items()}
    present |= {
        f"split.{name}": Input(f"split.{name}", source_digest(path), (path,), files_digest((path,)))
        for name, path in variant.splits.items()
    }
    _require(home, catalog, lineage, present)
    built = read_manifest(home)["views"]
    prints = build_fingerprints(lineage, present)
    changed: set[str] = set()  # views whose rows may differ from the build's
    own: set[str] = set()  # of them, those that do for their own rule or inputs, not for a select list
    for view in lineage:
        if view.stored and built.get(view.name, {}).get("fingerprint") != prints[view.name]:
            own.add(view.name)
        own |= {view.name} if any(parent.name in changed for parent in catalog.parents(view)) else set()
        changed |= {view.name} if view.name in own or view.name in variant.columns else set()
    needed = _needed(catalog, lineage, targets, own)
    names = {name for view in needed if _is_computed(view, own) for name in view.reads}
    define(con, {name: present[name] for name in present if name in names}, [], lambda view: None)
    computed = [view.name for view in needed if view.stored and view.name in changed]
    kept = {name for name in computed if _readings(catalog[name], needed, set(computed), own, targets) > 1}
    for view in needed:
        file = None if _is_computed(view, own) else home.built / built[view.name]["file"]
        _define(con, view, file, variant, view.name in kept)
    return Placed(catalog, tuple(computed), _stale(lineage, today, built, home))


def _is_computed(view: View, own: set[str]) -> bool:
    return not view.stored or view.name in own


def _needed(catalog: Catalog, lineage: list[View], targets: Sequence[str], own: set[str]) -> list[View]:
    """The targets and their ancestors, as far as these are not read from the build; parents first."""
    wanted: set[str] = set()
    stack = list(targets)
    while stack:
        view = catalog[stack.pop()]
        if view.name not in wanted:
            wanted.add(view.name)
            if _is_computed(view, own):
                stack += [parent.name for parent in catalog.parents(view)]
    return [view for view in lineage if view.name in wanted]


def _readings(
    view: View, needed: list[View], computed: set[str], own: set[str], targets: Sequence[str]
) -> int:
    """How often a view would be computed if it were none of the computed tables; a target is read at least twice."""
    if view.name in targets:
        return 2
    return sum(
        len(re.findall(rf"\b{re.escape(view.name)}\b", reader.sql))
        * (1 if reader.name in computed else _readings(reader, needed, computed, own, targets))
        for reader in needed
        if view.name in reader.reads and _is_computed(reader, own)
    )


def _define(
    con: duckdb.DuckDBPyConnection, view: View, file: Path | None, variant: Variant, keep: bool
) -> None:
    """One view under its name: from its file or its text, with the variant's select list over it where there is one.

    ``keep``: as a table, so that it is computed once.
    """
    columns = variant.columns.get(view.name)
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {view.schema}")
    body = f"\n{view.sql}\n" if file is None else f"SELECT * FROM {parquet((file,))}"
    try:
        if columns is not None:
            below = f"{OWN_ROWS}.{view.name.replace('.', '__')}"
            con.execute(f"CREATE SCHEMA IF NOT EXISTS {OWN_ROWS}")
            con.execute(f"CREATE VIEW {below} AS {body}")
            body = f"SELECT {columns} FROM {below}"
        con.execute(f"CREATE {'TABLE' if keep else 'VIEW'} {view.name} AS {body}")
    except duckdb.OutOfMemoryException as error:
        raise HomeError(
            f"{view.name}: found too little memory to compute it: {str(error).splitlines()[0]}",
            "close other programs, or run it on a larger machine",
        ) from error
    except duckdb.IOException as error:
        raise unreadable(file or Path(view.file), error) from error
    except duckdb.Error as error:
        if file is not None and columns is None:
            raise unreadable(file, error) from error
        raise _refused(view, variant, error) from error


def _refused(view: View, variant: Variant, error: Exception) -> RegistryError:
    """A view that DuckDB refuses; one whose own text is today's may do so for what it reads."""
    changed = [*variant.views, *(f"map.{name}" for name in variant.maps), *variant.columns]
    if not changed or view.name in changed:
        return broken(view, error)
    return RegistryError(
        f"{view.path}: DuckDB refuses the view with {', '.join(changed)} as changed: {error}",
        f"give {' and '.join(changed)} the columns and types that {view.name} reads",
    )


def _map_input(name: str, path: Path, present: Mapping[str, Input] | None) -> Input:
    """``present``: inputs of which the map must be one; None where other views may read other maps."""
    if present is not None and f"map.{name}" not in present:
        known = ", ".join(sorted(key[4:] for key in present if key.startswith("map.")))
        raise UsageError(f"found no map {name!r}; expected one of: {known}")
    try:
        return Input(f"map.{name}", source_digest(path), path=path)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); expected a CSV for map.{name}"
        ) from error


def _require(home: Home, catalog: Catalog, lineage: list[View], present: Mapping[str, Input]) -> None:
    lacking = sorted({name for view in lineage for name in catalog.inputs(view) if name not in present})
    maps = [name for name in lacking if name.startswith("map.")]
    if maps:
        raise RegistryError(
            f"found no {', '.join(maps)} in registry/maps, which {lineage[-1].name} reads",
            "bring the map back, or mend the view",
        )
    if lacking:
        raise HomeError(
            f"{home.path}: found nothing loaded for {', '.join(lacking)}, which {lineage[-1].name} reads",
            "run `load DATASET SOURCE` first",
        )


def _stale(lineage: list[View], today: Catalog, built: Mapping, home: Home) -> tuple[str, ...]:
    """Stored views that the build lacks, or made of something else than what is there now, the variant apart."""
    views = [today[view.name] for view in lineage if view.name in today]
    prints = build_fingerprints(views, inputs(home))
    return tuple(
        view.name
        for view in views
        if view.stored and built.get(view.name, {}).get("fingerprint") != prints.get(view.name)
    )
