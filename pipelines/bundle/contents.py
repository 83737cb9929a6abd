"""What the members of a bundle say of each other: rules, data set, labels and counts, as links."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from pipelines.bundle.opened import Opened
from pipelines.bundle.rows import locked
from pipelines.bundle.stage import LABELS
from pipelines.verify import Link
from warehouse.counts import NO_PART, PARTS, Counts, count_rows
from warehouse.database import parquet
from warehouse.fingerprints import rule_fingerprints
from warehouse.load.cards import card_of, datasets
from warehouse.release import released
from warehouse.spec import specs
from warehouse.splits import declared_digest


def rules(bundle: Opened) -> Iterator[Link]:
    """Spec, views, maps and splits against the manifest, and against the locks of this installation."""
    index, lineage = bundle.index, bundle.entry["lineage"]
    yield same("spec.json (task)", bundle.spec.name, index["task"])
    yield same("spec.json (digest)", bundle.spec.digest, index["spec"])
    yield same("spec.json (view)", bundle.spec.view, index["view"])
    quoted = [name for name in bundle.spec.classes if '"' in name]
    yield same("spec.json (names of classes)", ", ".join(quoted) or "plain", "plain")
    views = bundle.catalog.lineage([bundle.view.name])
    yield _listed("views", {view.name for view in views}, set(bundle.catalog))
    reads = {name for view in views for name in bundle.catalog.inputs(view)}
    maps = {f"map.{path.stem}" for path in (bundle.folder / "maps").glob("*.csv")}
    splits = {f"split.{path.stem}" for path in (bundle.folder / "splits").glob("*.json")}
    members = {f"split.{path.stem}" for path in (bundle.folder / "splits").glob("*.csv")}
    yield _listed("maps", {name for name in reads if name.startswith("map.")}, maps)
    yield _listed("splits", {name for name in reads if name.startswith("split.")}, splits)
    yield _listed("membership", set() if bundle.index["withheld"] else splits, members)
    for name in sorted(splits & members):
        yield from _membership(bundle, name.partition(".")[2])
    digests = {name: _rule_digest(bundle, name) for name in sorted(maps | splits)}
    for name, found in digests.items():
        yield same(name, found, {**lineage["maps"], **lineage["splits"]}.get(name))
    prints = rule_fingerprints(bundle.catalog, views, digests.get)
    locks = released()
    for view in views:
        yield same(f"rule {view.name}", prints[view.name], lineage["views"].get(view.name))
        if view.name in locks:
            yield same(f"lock {view.name}", prints[view.name], locks[view.name]["rule"])
    yield same("rule of the task", prints[bundle.view.name], index["rule"])
    for name, entry in bundle.manifest["views"].items():
        yield same(f"manifest {name}", entry["rule"], prints.get(name))
    stored = {view.name for view in views if view.stored}
    yield _listed("stored views", stored, set(bundle.manifest["views"]))


def said(bundle: Opened, notes: list[str]) -> Iterator[Link]:
    """What the archive says of its data set and of itself; what this installation says otherwise becomes a note."""
    card, citation = bundle.json("card.json"), bundle.json("citation.json")
    yield same("card.json (data set)", card["slug"], bundle.spec.data["dataset"])
    cited = citation["dataset"]
    for name in ("title", "licence", "citation", "also_cite", "source_url"):
        yield same(f"citation.json ({name})", cited[name], card.get(name))
    yield same("citation.json (task)", citation["task"], bundle.index["task"])
    yield same("citation.json (spec)", citation["spec"]["digest"], bundle.index["spec"])
    for name in ("views", "maps", "splits"):
        known, stated = bundle.entry["lineage"][name], citation["rules"][name]
        other = sorted(each for each in {*known, *stated} if known.get(each) != stated.get(each))
        yield same(f"citation.json ({name})", ", ".join(other) or "the manifest's", "the manifest's")
    if not bundle.index["withheld"]:
        yield same("card.json (labels_may_be_shared)", card.get("labels_may_be_shared"), True)
    if card["slug"] in datasets() and card_of(card["slug"]) != card:
        notes.append(f"card.json: this installation's card of {card['slug']} is another one")
    ours = [spec for spec in specs() if spec.name == bundle.spec.name]
    if ours and ours[0].digest != bundle.spec.digest:
        notes.append(f"spec.json: this installation's spec of {bundle.spec.name} is another one")


def _membership(bundle: Opened, stem: str) -> Iterator[Link]:
    """Who is in which part, where the declaration, and with it the rule, fixes that: its lines below the head."""
    declared = bundle.json(f"splits/{stem}.json").get("sha256")
    if declared is not None:
        lines = bundle.archive.read(f"splits/{stem}.csv").partition(b"\n")[2]
        yield same(f"splits/{stem}.csv (declared sha256)", hashlib.sha256(lines).hexdigest(), declared)


def _rule_digest(bundle: Opened, name: str) -> str:
    kind, _, stem = name.partition(".")
    if kind == "map":
        return hashlib.sha256(bundle.archive.read(f"maps/{stem}.csv")).hexdigest()
    return declared_digest(bundle.json(f"splits/{stem}.json"))


def labels(bundle: Opened, notes: list[str]) -> Iterator[Link]:
    """The Parquet file against the manifest, and its counts against those that are stated."""
    stated = bundle.json("counts.json")
    yield same("counts.json (task)", stated["task"], bundle.index["task"])
    if LABELS not in bundle.archive.sizes:
        notes.append(f"labels: not in this archive ({bundle.index['withheld']}), so not counted")
        return
    yield same(f"{LABELS} (sha256)", bundle.archive.digest(LABELS), bundle.entry["sha256"])
    with locked([bundle.folder]) as con:
        file = bundle.archive.extract(LABELS, bundle.folder / LABELS)
        con.execute(f"CREATE VIEW task AS SELECT * FROM {parquet((file,))}")
        columns = {name: kind for name, kind, *_ in con.execute("DESCRIBE task").fetchall()}
        yield same(f"{LABELS} (columns)", columns, bundle.entry["columns"])
        rows, instances = con.execute("SELECT count(*), count(DISTINCT instance_id) FROM task").fetchall()[0]
        yield same(f"{LABELS} (rows)", rows, bundle.entry["rows"])
        yield same(f"{LABELS} (instances)", instances, rows)
        parts = {row[0] for row in con.execute("SELECT DISTINCT part FROM task").fetchall()}
        yield _listed(f"{LABELS} (parts)", parts - {None, *PARTS, NO_PART}, set())
        counted = Counts(bundle.spec, None, count_rows(con, bundle.spec), [], []).as_json()["parts"]
    for part in dict.fromkeys([*stated["parts"], *counted]):
        yield same(f"counts of {part}", counted.get(part), stated["parts"].get(part))


def same(name: str, found: Any, expected: Any) -> Link:
    return Link(name, True) if found == expected else Link(name, False, str(found), str(expected))


def _listed(name: str, expected: set, found: set) -> Link:
    """Two sets of names; what only one of them has is said."""
    if found == expected:
        return Link(name, True)
    return Link(
        name,
        False,
        f"without {', '.join(map(str, sorted(expected - found, key=str))) or 'none'}, "
        f"besides {', '.join(map(str, sorted(found - expected, key=str))) or 'none'}",
        "those that the task's view rests on",
    )
