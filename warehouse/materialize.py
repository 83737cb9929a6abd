"""``materialize``: stored views become Parquet files and a manifest, rebuilt where something changed.

A build is a generation of ``data/built`` (see :mod:`warehouse.home`): unchanged files are linked into it, changed
ones are written, the manifest comes last, then the whole folder takes the name. Killed anywhere, the build
before stays what everybody reads.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import duckdb

from warehouse.damage import changed_raw
from warehouse.database import (
    ENGINE,
    computable,
    define,
    define_view,
    inputs,
    of_loaded,
    parquet,
    sql_text,
    write_database,
)
from warehouse.digests import file_digest
from warehouse.engine import working
from warehouse.errors import HomeError
from warehouse.fingerprints import build_fingerprints, lineage_digests, own_fingerprint, rule_fingerprints
from warehouse.home import Home, carry, generation, read_pinned, sweep, writing
from warehouse.manifest import MANIFEST, built_file, read_manifest
from warehouse.review.home import DATASET as REVIEW
from warehouse.view_file import write_view
from warehouse.views import Catalog, View


@dataclass
class Build:
    """What a run of `materialize` did, by view name."""

    built: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    manifest: dict = field(default_factory=dict)

    def as_json(self) -> dict:
        views = self.manifest["views"]
        kept = ("file", "rows", "bytes", "sha256", "fingerprint", "rule")
        return {
            "built": self.built,
            "kept": self.kept,
            "skipped": self.skipped,
            "views": {name: {key: entry[key] for key in kept} for name, entry in views.items()},
        }

    def as_text(self) -> str:
        views = self.manifest["views"]
        lines = [f"  built  {name:<44} {views[name]['rows']:>10,} rows" for name in self.built]
        lines += [f"  kept   {name:<44} {views[name]['rows']:>10,} rows" for name in self.kept]
        skipped = Counter(name.split(".")[0] for name in self.skipped)
        if skipped:
            listed = ", ".join(f"{schema} ({number} views)" for schema, number in skipped.items())
            lines.append(f"not loaded, so left out: {listed}")
        return "\n".join(lines)


def materialize(
    home: Home, names: list[str] | None = None, *, catalog: Catalog | None = None, threads: int | None = None
) -> Build:
    """Build the named views with their ancestors, or every stored view whose inputs are loaded.

    ``names`` are view names as :meth:`Catalog.resolve` takes them. Raises HomeError when nothing is loaded, when
    a named view lacks its inputs, or when the home cannot be written.
    """
    catalog = catalog or Catalog.read()
    with home.writer("materialize"), writing(home.path), working(threads) as con:
        plan = _plan(home, catalog, names)
        before = _before(home)
        kept = _kept(home, plan, before["views"])
        if _is_current(plan, before, kept):
            build = Build(kept=[view.name for view in plan.wanted if view.stored], manifest=before)
            sweep(home.built)
        else:
            with generation(home.built, keep=True) as folder:
                build = _build(con, home, plan, folder, before["views"], kept)
                _write_manifest(folder, build.manifest)
        entries = build.manifest["views"]
        write_database(home, catalog, plan.views, entries, built_file(home, entries))
    lacking = set(catalog.named) - computable(plan.views, plan.present)
    build.skipped = sorted(
        name for name in lacking if catalog[name].schema != REVIEW
    )  # no load brings verdicts
    return build


def check(home: Home, names: list[str] | None = None, *, catalog: Catalog | None = None) -> list[str]:
    """Build everything anew beside the home and say, in words, what differs from the present build."""
    return read_pinned(home, lambda pinned: _check(pinned, names, catalog or Catalog.read()))


def _check(home: Home, names: list[str] | None, catalog: Catalog) -> list[str]:
    plan = _plan(home, catalog, names)
    present = read_manifest(home)["views"]
    damaged = _damaged(plan)
    if damaged:
        return [f"{name}: its Parquet files are not the ones that load wrote; load again" for name in damaged]
    with (
        tempfile.TemporaryDirectory(prefix="leadhouse-check-") as scratch,
        writing(Path(scratch)),
        working() as con,
    ):
        fresh = _build(con, home, plan, Path(scratch, "built"), {}, set()).manifest["views"]
    differences = []
    for name, entry in fresh.items():
        old = present.get(name)
        if old is None:
            differences.append(f"{name}: not built; run materialize")
        elif old["fingerprint"] != entry["fingerprint"]:
            causes = _causes(old, entry)
            cause = f" ({', '.join(causes)} changed)" if causes else ""
            differences.append(
                f"{name}: built from another fingerprint{cause}; {old['rows']} rows then, {entry['rows']} now"
            )
        elif old["sha256"] != entry["sha256"]:
            differences.append(
                f"{name}: the same inputs give other bytes ({old['rows']} and {entry['rows']} rows)"
            )
        elif file_digest(home.built / old["file"]) != old["sha256"]:
            differences.append(f"{name}: {old['file']} is missing or was changed since it was built")
    if names is None:
        differences += [
            f"{name}: built, but no stored view any more" for name in present if name not in fresh
        ]
    return differences


def _causes(old: dict, entry: dict) -> list[str]:
    """Which of the views, maps, splits and raw tables that a view is made of are not what they were themselves."""
    then, now = old.get("made_of", {}), entry["made_of"]
    return [name for name in sorted(then | now) if then.get(name) != now.get(name)] if then else []


@dataclass(frozen=True)
class _Plan:
    catalog: Catalog
    present: dict
    views: list[View]
    wanted: list[View]
    fingerprints: dict[str, str]

    @cached_property
    def rules(self) -> dict[str, str]:
        """The rule fingerprint of each wanted view."""
        return rule_fingerprints(self.catalog, self.wanted)

    @cached_property
    def sources(self) -> dict[str, str]:
        """The digest of each wanted view's SQL file."""
        return {view.name: file_digest(view.path) for view in self.wanted}


def _plan(home: Home, catalog: Catalog, names: list[str] | None) -> _Plan:
    present = inputs(home)
    if not any(name.startswith("raw_") for name in present):
        raise HomeError(
            f"{home.path}: found no loaded data set; expected one", "run `load DATASET SOURCE` first"
        )
    views = of_loaded(home, catalog)
    if names:
        targets = [catalog.resolve(name) for name in names]
        able = computable(catalog.lineage(view.name for view in targets), present)
        for view in targets:
            if view.name not in able:
                lacking = sorted(
                    {
                        name
                        for member in catalog.lineage([view.name])
                        for name in catalog.inputs(member)
                        if name not in present
                    }
                )
                raise HomeError(
                    f"{home.path}: found nothing loaded for {', '.join(lacking)}, which {view.name} reads",
                    "run `load DATASET SOURCE` first",
                )
        wanted = catalog.lineage([view.name for view in targets])
    else:
        able = computable(views, present)
        wanted = [view for view in views if view.name in able]
    return _Plan(catalog, present, views, wanted, build_fingerprints(wanted, present))


def _before(home: Home) -> dict:
    """The manifest to build on; a damaged one is as good as none."""
    try:
        return read_manifest(home)
    except HomeError:
        return {"views": {}}


def _kept(home: Home, plan: _Plan, before: dict) -> set[str]:
    """The views whose files are there, untouched, and made of what they would be made of now."""
    alike = [
        view.name
        for view in plan.wanted
        if view.stored
        and view.name in before
        and before[view.name]["fingerprint"] == plan.fingerprints[view.name]
    ]
    return {
        name for name in alike if file_digest(home.built / before[name]["file"]) == before[name]["sha256"]
    }


def _is_current(plan: _Plan, before: dict, kept: set[str]) -> bool:
    """Whether a build would give what is there."""
    return (
        before.get("engine") == ENGINE
        and all(view.name in kept for view in plan.wanted if view.stored)
        and all(_is_stored(plan.catalog, name) for name in before["views"])
    )


def _within(catalog: Catalog, view: View) -> list[str]:
    """The views and maps that are computed when a view is: up to where its ancestors are stored."""
    found: list[str] = []
    for name in view.reads:
        if name in catalog and not catalog[name].stored:
            found += [name, *_within(catalog, catalog[name])]
        elif name.startswith("map."):
            found.append(name)
    return list(dict.fromkeys(found))


def _is_stored(catalog: Catalog, name: str) -> bool:
    return name in catalog and catalog[name].stored


def _damaged(plan: _Plan) -> list[str]:
    """The raw tables behind the plan whose files are not the ones that `load` wrote."""
    read = sorted({name for view in plan.wanted for name in plan.catalog.inputs(view)})
    return changed_raw(plan.present, read)


def _build(
    con: duckdb.DuckDBPyConnection, home: Home, plan: _Plan, folder: Path, before: dict, kept: set[str]
) -> Build:
    damaged = _damaged(plan)
    if damaged:
        raise HomeError(
            f"{home.path}: found {', '.join(damaged)} changed or missing; expected the Parquet files that `load` wrote",
            "load the data set again; what was built before stays",
        )
    build = Build()
    entries: dict[str, dict] = {}
    con.execute("SET preserve_insertion_order = true")
    spill = folder.with_name(f"{folder.name}.spill")  # beside the build: never published with it
    con.execute(f"SET temp_directory = {sql_text(spill)}")
    needed = plan.catalog.lineage(
        [view.name for view in plan.wanted if view.stored and view.name not in kept]
    )
    names = {name for view in needed for name in view.reads}
    defined = {view.name for view in needed}
    define(con, {name: plan.present[name] for name in plan.present if name in names}, [], lambda view: None)
    for view in plan.wanted:
        target = folder / view.file
        if view.name in kept:
            entries[view.name] = before[view.name]
            carry(home.built / entries[view.name]["file"], target)
            build.kept.append(view.name)
        elif view.stored:
            rows = write_view(con, view, target, plan.rules[view.name], _within(plan.catalog, view))
            build.built.append(view.name)
            entries[view.name] = _entry(con, plan, view, target, rows)
        if view.name in defined:
            define_view(con, view, target if view.stored else None)
    for name, old in before.items():  # stored views that were not asked for this time
        if name not in entries and _is_stored(plan.catalog, name) and (home.built / old["file"]).exists():
            carry(home.built / old["file"], folder / old["file"])
            entries[name] = old
    build.manifest = {"engine": ENGINE, "views": dict(sorted(entries.items()))}
    return build


def _entry(con: duckdb.DuckDBPyConnection, plan: _Plan, view: View, target: Path, rows: int) -> dict:
    columns = con.execute(f"DESCRIBE SELECT * FROM {parquet((target,))}").fetchall()
    lineage = plan.catalog.lineage([view.name])
    read = {name: plan.present[name].digest for member in lineage for name in plan.catalog.inputs(member)}
    return {
        "file": view.file,
        "rows": rows,
        "columns": {name: kind for name, kind, *_ in columns},
        "bytes": target.stat().st_size,
        "sha256": file_digest(target),
        "fingerprint": plan.fingerprints[view.name],
        "rule": plan.rules[view.name],
        "reads": {
            name: plan.fingerprints[name] if name in plan.catalog else plan.present[name].digest
            for name in view.reads
        },
        "lineage": {
            **lineage_digests(plan.catalog, view, plan.rules),
            "inputs": {name: digest for name, digest in sorted(read.items()) if name.startswith("raw_")},
        },
        "made_of": {
            "duckdb": duckdb.__version__,
            **{member.name: own_fingerprint(member) for member in lineage},
            **read,
        },
        "files": {
            **{member.name: plan.sources[member.name] for member in lineage},
            **{name: digest for name, digest in sorted(read.items()) if name.startswith("map.")},
        },
    }


def _write_manifest(folder: Path, manifest: dict) -> None:
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
