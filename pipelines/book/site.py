"""What all pages of a book share: the home, its views, one connection, and where each page lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pipelines.answers import Answer, ask, plain
from warehouse.database import computable, inputs
from warehouse.home import Home
from warehouse.load.cards import card_of
from warehouse.load.report import loaded
from warehouse.maps import map_files
from warehouse.spec import Spec, specs
from warehouse.views import Catalog, View

if TYPE_CHECKING:
    import duckdb

PARTS = ("train", "validation", "test", "unassigned")


@dataclass
class Site:
    """A pinned home with every view that can be read in it. ``con`` finds files by names below the home."""

    home: Home
    catalog: Catalog
    con: duckdb.DuckDBPyConnection
    manifest: Mapping[str, Any]
    rules: Mapping[str, str]
    answers: dict[str, Answer] = field(default_factory=dict)

    @classmethod
    def open(cls, home: Home) -> Site:
        """Raises HomeError when nothing is loaded, or when a file is missing or damaged."""
        from warehouse.database import sql_text
        from warehouse.fingerprints import rule_fingerprints
        from warehouse.manifest import read_manifest
        from warehouse.query import connect

        catalog = Catalog.read()
        con = connect(home, catalog=catalog)
        con.execute(f"SET file_search_path = {sql_text(home.path)}")
        return cls(home, catalog, con, read_manifest(home)["views"], rule_fingerprints(catalog))

    def ask(self, sql: str) -> Answer:
        """The answer of one SELECT; the same text is asked once."""
        text = plain(sql)
        if text not in self.answers:
            self.answers[text] = ask(self.con, text)
        return self.answers[text]

    @cached_property
    def specs(self) -> list[Spec]:
        return specs()

    @cached_property
    def reports(self) -> dict[str, dict]:
        """Loaded data sets with their ``_load.json``."""
        return loaded(self.home)

    @cached_property
    def maps(self) -> list[str]:
        return list(map_files())

    @cached_property
    def readable(self) -> frozenset[str]:
        """Views and inputs that a query can name here."""
        rows = self.con.execute(
            "SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal "
            "UNION ALL SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE NOT internal"
        ).fetchall()
        return frozenset(name for (name,) in rows)

    @cached_property
    def computable(self) -> set[str]:
        return computable(self.catalog.values(), inputs(self.home))

    @cached_property
    def children(self) -> dict[str, list[View]]:
        """Name of a view, map, split or raw table → the views that read it themselves."""
        found: dict[str, list[View]] = {}
        for view in self.catalog.values():
            for name in view.reads:
                found.setdefault(name, []).append(view)
        return found

    def is_built(self, spec: Spec) -> bool:
        return spec.view in self.manifest

    def tasks_of(self, name: str) -> list[Spec]:
        """The tasks whose views rest on a view, map, split or raw table."""
        return [spec for spec in self.specs if name == spec.view or name in self._below(spec)]

    def _below(self, spec: Spec) -> frozenset[str]:
        if spec.view not in self._lineage:
            views = self.catalog.lineage([spec.view]) if spec.view in self.catalog else []
            names = {view.name for view in views}.union(*(view.reads for view in views))
            self._lineage[spec.view] = frozenset(names)
        return self._lineage[spec.view]

    _lineage: dict[str, frozenset[str]] = field(default_factory=dict)

    def schema_of(self, spec: Spec) -> str:
        """The schema of a task's data set."""
        return card_of(spec.data["dataset"])["schema"]

    def why_view(self, spec: Spec) -> str | None:
        """The view of a task's evidence in words, where it can be read here."""
        name = f"{spec.view.rsplit('_v', 1)[0]}_why_v{spec.version}"
        return name if name in self.readable else None

    def href(self, name: str) -> str | None:
        """Where the page of a view, map or task lies below the book; None for what has no page."""
        if name in self.catalog:
            return f"views/{name}.html"
        schema, _, stem = name.partition(".")
        if schema == "map" and stem in self.maps:
            return f"maps/{stem}.html"
        if any(spec.name == name for spec in self.specs):
            return f"tasks/{name.replace('@', '_v')}.html"
        return None

    def state(self, view: View) -> str:
        """Whether a view is in the build, in words."""
        entry = self.manifest.get(view.name)
        if entry is not None:
            return (
                "in the build" if entry["rule"] == self.rules[view.name] else "in the build, by an old rule"
            )
        if view.name in self.readable:
            return "computed where it is read" if not view.stored else "not in the build"
        if view.name in self.computable:
            return "not built in this home"
        return "its data is not loaded in this home"
