"""``views``: every view in one table."""

from __future__ import annotations

from warehouse.fingerprints import rule_fingerprints
from warehouse.home import Home
from warehouse.manifest import read_manifest
from warehouse.views import Catalog

COLUMNS = ("view", "layer", "status", "stored", "built", "rows", "fingerprint", "reads")


def list_views(home: Home) -> list[tuple]:
    """COLUMNS of every view, parents before children. ``built`` is NULL for a view that is not stored, else
    whether the present build was made by the present rule."""
    home = home.pin()
    catalog = Catalog.read()
    rules = rule_fingerprints(catalog)
    manifest = read_manifest(home)["views"]
    rows = []
    for view in catalog.values():
        entry = manifest.get(view.name)
        built = None
        if view.stored:
            built = "no" if entry is None else "yes" if entry["rule"] == rules[view.name] else "old rule"
        rows.append(
            (
                view.name,
                view.layer,
                view.status,
                "yes" if view.stored else "no",
                built,
                entry["rows"] if entry else None,
                rules[view.name][:12],
                ", ".join(view.reads),
            )
        )
    return rows
