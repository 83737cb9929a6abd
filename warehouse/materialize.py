"""``materialize``: stored views become Parquet files and a manifest, rebuilt where something changed.

A build is a generation of ``data/built`` (see :mod:`warehouse.home`): unchanged files are linked into it, changed
ones are written, the manifest comes last, then the whole folder takes the name. Killed anywhere, the build
before stays what everybody reads.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from warehouse.database import broken, computable, define, define_aliases, define_view, inputs
from warehouse.errors import HomeError, RegistryError
from warehouse.fingerprints import build_fingerprints, lineage_digests, rule_fingerprints
from warehouse.home import Home, carry, generation, sweep, sync, write_text, writing
from warehouse.project import registry_path, sql_root
from warehouse.views import Catalog, View

MANIFEST = "manifest.json"
ENGINE = f"duckdb {duckdb.__version__}"
ROW_GROUP = 122_880


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
        if self.skipped:
            lines.append(f"not loaded, so left out: {', '.join(self.skipped)}")
        return "\n".join(lines)


def read_manifest(home: Home) -> dict:
    """The manifest of the present build, ``{"views": {}}`` where nothing is built."""
    path = home.built / MANIFEST
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {"views": {}}
    except (OSError, ValueError) as error:
        raise HomeError(
            f"{path}: found {error}; expected what `materialize` wrote", "run materialize again"
        ) from error


def materialize(
    home: Home, names: list[str] | None = None, *, catalog: Catalog | None = None, threads: int | None = None
) -> Build:
    """Build the named views with their ancestors, or every stored view whose inputs are loaded.

    ``names`` are view names as :meth:`Catalog.resolve` takes them. Raises HomeError when nothing is loaded, when
    a named view lacks its inputs, or when the home cannot be written.
    """
    catalog = catalog or Catalog.read()
    with home.writer("materialize"), writing(home.path):
        plan = _plan(home, catalog, names)
        before = read_manifest(home)
        if _is_current(home, plan, before):
            build = Build(kept=[view.name for view in plan.wanted if view.stored], manifest=before)
            sweep(home.built)
        else:
            with generation(home.built) as folder:
                build = _build(home, plan, folder, before["views"], threads)
                _write_manifest(folder, build.manifest)
        write_database(home, catalog, build.manifest["views"])
    build.skipped = sorted(set(catalog) - computable(catalog, plan.present))
    return build


def check(home: Home, names: list[str] | None = None, *, catalog: Catalog | None = None) -> list[str]:
    """Build everything anew beside the home and say, in words, what differs from the present build."""
    catalog = catalog or Catalog.read()
    plan = _plan(home, catalog, names)
    present = read_manifest(home)["views"]
    with tempfile.TemporaryDirectory(prefix="leadhouse-check-") as scratch, writing(Path(scratch)):
        fresh = _build(home, plan, Path(scratch), {}, None).manifest["views"]
    differences = []
    for name, entry in fresh.items():
        old = present.get(name)
        if old is None:
            differences.append(f"{name}: not built; run materialize")
        elif old["fingerprint"] != entry["fingerprint"]:
            causes = [part for part, digest in entry["reads"].items() if old["reads"].get(part) != digest]
            cause = f" ({', '.join(causes)} changed)" if causes else ""
            differences.append(
                f"{name}: built from another fingerprint{cause}; {old['rows']} rows then, {entry['rows']} now"
            )
        elif old["sha256"] != entry["sha256"]:
            differences.append(
                f"{name}: the same inputs give other bytes ({old['rows']} and {entry['rows']} rows)"
            )
        elif _sha256(home.built / old["file"]) != old["sha256"]:
            differences.append(f"{name}: {old['file']} is missing or was changed since it was built")
    if names is None:
        differences += [f"{name}: built, but no view any more" for name in present if name not in fresh]
    return differences


def stale(home: Home, view_name: str) -> list[str]:
    """The views and maps behind a built view whose rule is another one now, by name.

    Files are compared first, which is cheap; only where bytes differ are fingerprints asked, so that an edited
    comment makes nothing stale.
    """
    entry = read_manifest(home)["views"].get(view_name)
    if entry is None:
        return []
    touched = [name for name, digest in entry["files"].items() if _sha256(_rule_file(name)) != digest]
    if not touched:
        return []
    rules = rule_fingerprints(Catalog.read())
    known = entry["lineage"]["views"]
    return [name for name in touched if name not in rules or rules[name] != known.get(name)]


def _rule_file(name: str) -> Path:
    """The file behind a view's or a map's name; it may be gone."""
    schema, _, stem = name.partition(".")
    return registry_path("maps", f"{stem}.csv") if schema == "map" else sql_root() / schema / f"{stem}.sql"


@dataclass(frozen=True)
class _Plan:
    catalog: Catalog
    present: dict
    wanted: list[View]
    fingerprints: dict[str, str]


def _plan(home: Home, catalog: Catalog, names: list[str] | None) -> _Plan:
    present = inputs(home)
    able = computable(catalog, present)
    if names:
        targets = [catalog.resolve(name) for name in names]
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
        wanted = [view for view in catalog.values() if view.name in able]
    if not any(name.startswith("raw_") for name in present):
        raise HomeError(
            f"{home.path}: found no loaded data set; expected one", "run `load DATASET SOURCE` first"
        )
    return _Plan(catalog, present, wanted, build_fingerprints(catalog, present))


def _is_current(home: Home, plan: _Plan, before: dict) -> bool:
    """Whether a build would give what is there."""
    wanted = [view for view in plan.wanted if view.stored]
    return before.get("engine") == ENGINE and all(_kept(home, plan, before["views"], view) for view in wanted)


def _kept(home: Home, plan: _Plan, before: dict, view: View) -> bool:
    """Whether a view's file is there, whole, and made of what it would be made of now."""
    old = before.get(view.name)
    if old is None or old["fingerprint"] != plan.fingerprints[view.name]:
        return False
    path = home.built / old["file"]
    return path.is_file() and path.stat().st_size == old["bytes"]


def _build(home: Home, plan: _Plan, folder: Path, before: dict, threads: int | None) -> Build:
    build = Build()
    rules = rule_fingerprints(plan.catalog)
    entries: dict[str, dict] = {}
    con = duckdb.connect(config={"threads": threads} if threads else {})
    con.execute("SET preserve_insertion_order = true")
    con.execute(f"SET temp_directory = '{folder / '.spill'}'".replace("\\", "/"))
    define(con, plan.present, [], lambda view: None)
    for view in plan.wanted:
        if not view.stored:
            define_view(con, view, None)
            continue
        target = folder / view.file
        if _kept(home, plan, before, view):
            entry = before[view.name]
            carry(home.built / entry["file"], target)
            build.kept.append(view.name)
        else:
            _write_view(con, view, target, rules[view.name])
            build.built.append(view.name)
            entry = _entry(con, plan, view, target, rules[view.name])
        entries[view.name] = entry
        define_view(con, view, target)
    con.close()
    for name, old in before.items():  # stored views that were not asked for this time
        if name not in entries and name in plan.catalog and (home.built / old["file"]).exists():
            carry(home.built / old["file"], folder / old["file"])
            entries[name] = old
    build.manifest = {"engine": ENGINE, "views": dict(sorted(entries.items()))}
    return build


def _write_view(con: duckdb.DuckDBPyConnection, view: View, target: Path, rule: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    order = f" ORDER BY {', '.join(view.grain)}" if view.grain else ""
    try:
        con.execute(
            f"COPY (SELECT * FROM ({view.sql}\n){order}) TO '{target}' (FORMAT parquet, COMPRESSION zstd, "
            f"COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {ROW_GROUP}, "
            f"KV_METADATA {{leadhouse_view: '{view.name}', leadhouse_rule: '{rule}'}})"
        )
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        raise broken(view, error) from error
    except duckdb.ConversionException as error:
        raise RegistryError(f"{view.path}: the view fails on the loaded data: {error}") from error


def _entry(con: duckdb.DuckDBPyConnection, plan: _Plan, view: View, target: Path, rule: str) -> dict:
    (rows,) = con.execute(f"SELECT count(*) FROM read_parquet('{target}')").fetchone()
    lineage = plan.catalog.lineage([view.name])
    maps = {name: plan.present[name].digest for member in lineage for name in plan.catalog.inputs(member)}
    return {
        "file": view.file,
        "rows": rows,
        "bytes": target.stat().st_size,
        "sha256": _sha256(target),
        "fingerprint": plan.fingerprints[view.name],
        "rule": rule,
        "reads": {
            name: plan.fingerprints[name] if name in plan.catalog else plan.present[name].digest
            for name in view.reads
        },
        "lineage": lineage_digests(plan.catalog, view),
        "files": {
            **{member.name: _sha256(member.path) for member in lineage},
            **{name: digest for name, digest in sorted(maps.items()) if name.startswith("map.")},
        },
    }


def _write_manifest(folder: Path, manifest: dict) -> None:
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def write_database(home: Home, catalog: Catalog, manifest: dict) -> None:
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
        created = define(con, present, list(catalog.values()), built_file(home, manifest))
        define_aliases(con, catalog, created)
        con.close()
        sync(draft)
        draft.replace(home.database)
        write_text(note, text)
    finally:
        draft.unlink(missing_ok=True)
        draft.with_name(f"{draft.name}.wal").unlink(missing_ok=True)


def built_file(home: Home, manifest: dict) -> Callable[[View], Path | None]:
    """View → its Parquet file in the present build, None when it is not built."""

    def find(view: View) -> Path | None:
        return home.built / manifest[view.name]["file"] if view.name in manifest else None

    return find


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
