"""``verify BUNDLE``: is an archive what it says? Link by link, with nothing but the archive and this installation.

The shape of the archive comes first (`archive`), then every member against the index, then what the members say of
each other: spec, fingerprints of the rules from the SQL and maps themselves, locks of released views, labels and their
counts. With a data home the archive's own views run on the raw tables that are loaded there, and give the same rows.

Nothing of an archive is trusted: its SQL runs in a database that reads the raw tables and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from pipelines.bundle.archive import Archive, open_archive
from pipelines.bundle.rows import locked, same_rows
from pipelines.bundle.stage import INDEX, LABELS, SCHEMA
from pipelines.verify import Link
from warehouse.counts import NO_PART, PARTS, Counts, count_rows
from warehouse.database import parquet
from warehouse.errors import InputError, LeadhouseError, RegistryError
from warehouse.fingerprints import rule_fingerprints
from warehouse.home import Home
from warehouse.release import released
from warehouse.spec import Spec, read_spec
from warehouse.splits import declared_digest
from warehouse.views import Catalog, View

ALWAYS = ("README.md", "card.json", "citation.json", "counts.json", "manifest.json", "spec.json")
PLACE = re.compile(
    rf"LICENSE|{'|'.join(map(re.escape, (*ALWAYS, LABELS)))}|sql/\w+/\w+\.sql|maps/\w+\.csv|splits/\w+\.(csv|json)"
)
"""Where a bundle has members, beside the index."""
STATED = {"task": str, "view": str, "spec": str, "rule": str, "withheld": (str, type(None)), "members": dict}
"""What an index must say, beside its schema."""


@dataclass(frozen=True)
class Opened:
    """A bundle's parts that can be read without unpacking labels. ``folder`` holds its rules as files."""

    archive: Archive
    folder: Path
    index: Mapping[str, Any]
    manifest: Mapping[str, Any]
    spec: Spec
    catalog: Catalog

    @property
    def view(self) -> View:
        return self.catalog[self.index["view"]]

    @property
    def entry(self) -> Mapping[str, Any]:
        """The task view's entry in the manifest."""
        return self.manifest["views"][self.index["view"]]

    def json(self, name: str) -> Any:
        return json.loads(self.archive.read(name))


@dataclass
class _Result:
    links: list[Link] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    task: str | None = None


def verify_bundle(path: Path, home: Home | None = None) -> dict[str, Any]:
    """Check an archive link by link; with ``home`` also the rows, from the raw tables that are loaded there.

    Returns ``bundle``, ``task``, ``sha256`` (of the archive), ``ok``, ``links``, ``broken`` (the first link that is not
    ok, in words, or None) and ``notes``. What hangs on a broken link is not looked at. Raises UsageError when there is
    no such file, InputError for one that is no archive of ours, HomeError when ``home`` lacks the data set.
    """
    result = _Result()
    with open_archive(path) as archive, tempfile.TemporaryDirectory(prefix="leadhouse-bundle-") as folder:
        for link in _links(archive, Path(folder), home, result):
            result.links.append(link)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    broken = next((str(link) for link in result.links if not link.ok), None)
    return {
        "bundle": path.name,
        "task": result.task,
        "sha256": digest,
        "ok": broken is None,
        "links": [asdict(link) for link in result.links],
        "broken": broken,
        "notes": result.notes,
    }


def _links(archive: Archive, folder: Path, home: Home | None, result: _Result) -> Iterator[Link]:
    """Group after group; a group with a broken link is the last."""
    index = _index(archive)
    result.task = index["task"]
    broken = False

    def each(links: Iterator[Link]) -> Iterator[Link]:
        nonlocal broken
        for link in links:
            broken |= not link.ok
            yield link

    yield from each(_members(archive, index))
    if broken:
        return
    try:
        opened = _open(archive, folder, index)
    except (LeadhouseError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        yield Link("rules", False, _words(error, folder), "spec, manifest and views that can be read")
        return
    for links in (_rules(opened), _labels(opened, result)):
        yield from each(_guarded(links, folder))
        if broken:
            return
    if home is not None:
        yield from same_rows(opened, home, result.notes)
    else:
        result.notes.append(
            "rows: not computed again; that takes a data home with the raw data (--data HOME)"
        )


def _guarded(links: Iterator[Link], folder: Path) -> Iterator[Link]:
    """The links, and a broken one where a member has not the shape that is relied on."""
    try:
        yield from links
    except (duckdb.Error, LeadhouseError, ValueError, KeyError, TypeError, AttributeError) as error:
        yield Link("contents", False, _words(error, folder), "members as `bundle` writes them")


def _words(error: Exception, folder: Path) -> str:
    """An error in one line, with members by their names in the archive."""
    text = " ".join(str(error).replace(f"{folder}/", "").split())
    return f"{type(error).__name__}: {text[:300]}"


def _index(archive: Archive) -> dict[str, Any]:
    """The index. Raises InputError when the archive has none that can be read."""
    what = f"a bundle: an archive with an {INDEX} of schema {SCHEMA}"
    if INDEX not in archive.sizes:
        raise InputError(f"{archive.path}: found no {INDEX}; expected {what}")
    try:
        index = json.loads(archive.read(INDEX))
        schema = index.get("schema")
        lacking = [
            name
            for name, kind in STATED.items()
            if not isinstance(index.get(name), kind) or name not in index
        ]
    except (ValueError, AttributeError, RecursionError) as error:
        raise InputError(f"{archive.path}, {INDEX}: found {error}; expected {what}") from error
    if schema != SCHEMA:
        raise InputError(
            f"{archive.path}, {INDEX}: found schema {schema!r}; expected {what}",
            next_step="check it with the release of leadhouse that wrote it" if schema else None,
        )
    if lacking:
        raise InputError(f"{archive.path}, {INDEX}: found no {', '.join(lacking)}; expected {what}")
    return index


def _members(archive: Archive, index: Mapping[str, Any]) -> Iterator[Link]:
    """Each member of the index is there with its bytes, and no other."""
    listed = index["members"]
    for name, said in listed.items():
        expected = said.get("sha256") if isinstance(said, dict) else None
        if name not in archive.sizes:
            yield Link(name, False, "no such member", "the member that the index names")
            continue
        found = archive.digest(name) or "bytes that contradict the archive's own checksum"
        yield Link(name, True) if found == expected else Link(name, False, found, str(expected))
    strange = [name for name in archive.sizes if name not in listed and name != INDEX]
    strange += [name for name in listed if not PLACE.fullmatch(name)]
    yield _same("members that no bundle has", ", ".join(strange) or "none", "none")
    needed = [*ALWAYS, *([] if index.get("withheld") else [LABELS])]
    yield _same("members of every bundle", ", ".join(n for n in needed if n not in listed) or "all", "all")


def _open(archive: Archive, folder: Path, index: Mapping[str, Any]) -> Opened:
    """Write the rules into ``folder`` (names were checked) and read them."""
    for name in archive.sizes:
        if name.startswith(("sql/", "maps/", "splits/")) or name == "spec.json":
            archive.extract(name, folder / name)
    manifest = json.loads(archive.read("manifest.json"))
    catalog = Catalog.read(folder / "sql")
    if index["view"] not in catalog:
        raise RegistryError(f"found no view {index['view']}; expected the task's view in sql/")
    catalog.lineage([index["view"]])  # each view is parsed, and what it reads is looked up
    return Opened(archive, folder, index, manifest, read_spec(folder / "spec.json"), catalog)


def _rules(bundle: Opened) -> Iterator[Link]:
    """Spec, views, maps and splits against the manifest, and against the locks of this installation."""
    index, lineage = bundle.index, bundle.entry["lineage"]
    yield _same("spec.json (task)", bundle.spec.name, index["task"])
    yield _same("spec.json (digest)", bundle.spec.digest, index["spec"])
    yield _same("spec.json (view)", bundle.spec.view, index["view"])
    quoted = [name for name in bundle.spec.classes if '"' in name]
    yield _same("spec.json (names of classes)", ", ".join(quoted) or "plain", "plain")
    views = bundle.catalog.lineage([bundle.view.name])
    yield _listed("views", {view.name for view in views}, set(bundle.catalog))
    reads = {name for view in views for name in bundle.catalog.inputs(view)}
    maps = {f"map.{path.stem}" for path in (bundle.folder / "maps").glob("*.csv")}
    splits = {f"split.{path.stem}" for path in (bundle.folder / "splits").glob("*.json")}
    members = {f"split.{path.stem}" for path in (bundle.folder / "splits").glob("*.csv")}
    yield _listed("maps", {name for name in reads if name.startswith("map.")}, maps)
    yield _listed("splits", {name for name in reads if name.startswith("split.")}, splits)
    yield _listed("membership", set() if bundle.index["withheld"] else splits, members)
    digests = {name: _rule_digest(bundle, name) for name in sorted(maps | splits)}
    for name, found in digests.items():
        yield _same(name, found, {**lineage["maps"], **lineage["splits"]}.get(name))
    prints = rule_fingerprints(bundle.catalog, views, digests.get)
    locks = released()
    for view in views:
        yield _same(f"rule {view.name}", prints[view.name], lineage["views"].get(view.name))
        if view.name in locks:
            yield _same(f"lock {view.name}", prints[view.name], locks[view.name]["rule"])
    yield _same("rule of the task", prints[bundle.view.name], index["rule"])
    for name, entry in bundle.manifest["views"].items():
        yield _same(f"manifest {name}", entry["rule"], prints.get(name))
    stored = {view.name for view in views if view.stored}
    yield _listed("stored views", stored, set(bundle.manifest["views"]))


def _rule_digest(bundle: Opened, name: str) -> str:
    kind, _, stem = name.partition(".")
    if kind == "map":
        return hashlib.sha256(bundle.archive.read(f"maps/{stem}.csv")).hexdigest()
    return declared_digest(bundle.json(f"splits/{stem}.json"))


def _labels(bundle: Opened, result: _Result) -> Iterator[Link]:
    """The Parquet file against the manifest, and its counts against those that are stated."""
    stated = bundle.json("counts.json")
    yield _same("counts.json (task)", stated["task"], bundle.index["task"])
    if LABELS not in bundle.archive.sizes:
        result.notes.append(f"labels: not in this archive ({bundle.index['withheld']}), so not counted")
        return
    yield _same(f"{LABELS} (sha256)", bundle.archive.digest(LABELS), bundle.entry["sha256"])
    with locked([bundle.folder]) as con:
        file = bundle.archive.extract(LABELS, bundle.folder / LABELS)
        con.execute(f"CREATE VIEW task AS SELECT * FROM {parquet((file,))}")
        columns = {name: kind for name, kind, *_ in con.execute("DESCRIBE task").fetchall()}
        yield _same(f"{LABELS} (columns)", columns, bundle.entry["columns"])
        rows, instances = con.execute("SELECT count(*), count(DISTINCT instance_id) FROM task").fetchall()[0]
        yield _same(f"{LABELS} (rows)", rows, bundle.entry["rows"])
        yield _same(f"{LABELS} (instances)", instances, rows)
        parts = {row[0] for row in con.execute("SELECT DISTINCT part FROM task").fetchall()}
        yield _listed(f"{LABELS} (parts)", parts - {None, *PARTS, NO_PART}, set())
        counted = Counts(bundle.spec, None, count_rows(con, bundle.spec), [], []).as_json()["parts"]
    for part in dict.fromkeys([*stated["parts"], *counted]):
        yield _same(f"counts of {part}", counted.get(part), stated["parts"].get(part))


def _same(name: str, found: Any, expected: Any) -> Link:
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


def render_bundle(result: Mapping[str, Any]) -> str:
    """The result of `verify_bundle` for a terminal: broken links and how many hold."""
    held = sum(link["ok"] for link in result["links"])
    lines = [f"bundle {result['bundle']}: {result['task']}", f"  sha256  {result['sha256']}"]
    for link in result["links"]:
        if not link["ok"]:
            lines += [
                f"  BROKEN  {link['name']}",
                f"          found    {link['found']}",
                f"          expected {link['expected']}",
            ]
    lines += [f"  note: {note}" for note in result["notes"]]
    ending = "every link holds" if result["ok"] else f"first broken link: {result['broken']}"
    return "\n".join([*lines, f"{held} of {len(result['links'])} links hold", ending])
