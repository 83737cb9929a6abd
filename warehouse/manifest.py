"""The manifest of a build: what lies in ``data/built`` and what it was made of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from warehouse.digests import file_digest
from warehouse.errors import HomeError
from warehouse.fingerprints import rule_fingerprints
from warehouse.home import Home
from warehouse.project import registry_path, sql_root
from warehouse.views import Catalog, View

MANIFEST = "manifest.json"
KEYS = frozenset({"file", "rows", "columns", "sha256", "fingerprint", "rule", "reads", "lineage", "files"})
"""What every entry has. One of a build of today has ``made_of`` too: what `--check` tells causes by."""


def read_manifest(home: Home) -> dict:
    """The manifest of the present build, ``{"views": {}}`` where nothing is built.

    Raises HomeError when there is one that is damaged; `materialize` writes it anew.
    """
    path = home.built / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        for entry in manifest["views"].values():
            missing = KEYS - set(entry)
            if missing:
                raise ValueError(f"an entry without {', '.join(sorted(missing))}")
            parts = [entry[name] for name in ("columns", "reads", "lineage", "files")]
            parts += [entry["lineage"]["views"], *entry["lineage"].values(), entry.get("made_of", {})]
            if not all(isinstance(part, dict) for part in parts):
                raise ValueError("an entry whose parts are no objects")
    except FileNotFoundError:
        return {"views": {}}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HomeError(
            f"{path}: found a damaged manifest ({error}); expected what `materialize` wrote",
            "run materialize: it builds everything anew",
        ) from error
    return manifest


def built_file(home: Home, manifest: dict) -> Callable[[View], Path | None]:
    """View → its Parquet file in the present build, None when it is not built."""

    def find(view: View) -> Path | None:
        return home.built / manifest[view.name]["file"] if view.name in manifest else None

    return find


def stale(home: Home, view_name: str) -> list[str]:
    """The views and maps behind a built view whose rule is another one now, by name.

    Files are compared first, which is cheap; only where bytes differ are fingerprints asked, so that an edited
    comment makes nothing stale.
    """
    entry = read_manifest(home)["views"].get(view_name)
    if entry is None:
        return []
    touched = [name for name, digest in entry["files"].items() if file_digest(_rule_file(name)) != digest]
    if not touched:
        return []
    catalog = Catalog.read()
    rules = rule_fingerprints(catalog, catalog.lineage([view_name])) if view_name in catalog else {}
    known = entry["lineage"]["views"]
    return [name for name in touched if name not in rules or rules[name] != known.get(name)]


def _rule_file(name: str) -> Path:
    """The file behind a view's or a map's name; it may be gone."""
    schema, _, stem = name.partition(".")
    return registry_path("maps", f"{stem}.csv") if schema == "map" else sql_root() / schema / f"{stem}.sql"
