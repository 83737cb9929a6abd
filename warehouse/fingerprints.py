"""What a view's rows depend on, as digests.

The *rule* fingerprint covers the SQL of the view and of all its ancestors, and every map and split they read:
it is what `release` locks. The *build* fingerprint adds the raw data and the engine: when it has not moved,
the Parquet file need not be built again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping

import duckdb

from warehouse.database import Input
from warehouse.maps import map_digest
from warehouse.splits import split_digest
from warehouse.views import Catalog, View


def rule_digest(name: str) -> str | None:
    """The digest of a map or a split by its name in SQL; None for a raw table."""
    kind, _, stem = name.partition(".")
    if kind == "map":
        return map_digest(stem)
    if kind == "split":
        return split_digest(stem)
    return None


def rule_fingerprints(
    catalog: Catalog,
    views: Iterable[View] | None = None,
    digest: Callable[[str], str | None] = rule_digest,
) -> dict[str, str]:
    """The rule fingerprint of every view, by name.

    ``views``: of these alone, which come after all that they read. ``digest``: the digest of a map or split by its
    name, where they are not those of the registry.
    """
    found: dict[str, str] = {}
    for view in catalog.values() if views is None else views:
        parts = [view.sql_fingerprint]
        for name in view.reads:
            known = found[name] if name in catalog else digest(name)
            parts.append(f"{name}={known or 'raw'}")
        found[view.name] = _digest(parts)
    return found


def own_fingerprint(view: View) -> str:
    """What a view's rows and their bytes depend on in its own file: SQL, order, and whether its readers see a file."""
    return _digest([view.sql_fingerprint, ",".join(view.grain), "stored" if view.stored else "inlined"])


def build_fingerprints(views: Iterable[View], present: Mapping[str, Input]) -> dict[str, str]:
    """The build fingerprint of each of the views, parents first, whose inputs are there, by name."""
    found: dict[str, str] = {}
    for view in views:
        if not all(name in found or name in present for name in view.reads):
            continue
        parts = [duckdb.__version__, own_fingerprint(view)]
        parts += [f"{name}={found[name] if name in found else present[name].digest}" for name in view.reads]
        found[view.name] = _digest(parts)
    return found


def lineage_digests(
    catalog: Catalog, view: View, rules: Mapping[str, str] | None = None
) -> dict[str, dict[str, str]]:
    """What a score is tied to: rule fingerprints of the lineage, maps and splits by name.

    ``rules``: the catalog's :func:`rule_fingerprints`, where the caller has them.
    """
    rules = rules or rule_fingerprints(catalog)
    lineage = catalog.lineage([view.name])
    names = sorted({name for member in lineage for name in catalog.inputs(member)})
    digests = {name: rule_digest(name) for name in names}
    return {
        "views": {member.name: rules[member.name] for member in lineage},
        "maps": {name: digest for name, digest in digests.items() if name.startswith("map.")},
        "splits": {name: digest for name, digest in digests.items() if name.startswith("split.")},
    }


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
