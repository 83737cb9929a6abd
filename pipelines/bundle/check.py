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
from pipelines.bundle.contents import labels, rules, said, same
from pipelines.bundle.opened import open_rules
from pipelines.bundle.rows import same_rows
from pipelines.bundle.stage import INDEX, LABELS, SCHEMA
from pipelines.verify import Link
from warehouse.errors import InputError, LeadhouseError
from warehouse.home import Home

ALWAYS = ("README.md", "card.json", "citation.json", "counts.json", "manifest.json", "spec.json")
PLACE = re.compile(
    rf"LICENSE|{'|'.join(map(re.escape, (*ALWAYS, LABELS)))}|sql/\w+/\w+\.sql|maps/\w+\.csv|splits/\w+\.(csv|json)"
)
"""Where a bundle has members, beside the index."""
STATED = {"task": str, "view": str, "spec": str, "rule": str, "withheld": (str, type(None)), "members": dict}
"""What an index must say, beside its schema."""


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
        opened = open_rules(archive, folder, index)
    except (LeadhouseError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        yield Link("rules", False, _words(error, folder), "spec, manifest and views that can be read")
        return
    for links in (rules(opened), said(opened, result.notes), labels(opened, result.notes)):
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
    except (
        duckdb.Error,
        LeadhouseError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
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
    for name, entry in listed.items():
        expected = entry.get("sha256") if isinstance(entry, dict) else None
        if name not in archive.sizes:
            yield Link(name, False, "no such member", "the member that the index names")
            continue
        found = archive.digest(name) or "bytes that contradict the archive's own checksum"
        yield Link(name, True) if found == expected else Link(name, False, found, str(expected))
    strange = [name for name in archive.sizes if name not in listed and name != INDEX]
    strange += [name for name in listed if not PLACE.fullmatch(name)]
    yield same("members that no bundle has", ", ".join(strange) or "none", "none")
    needed = [*ALWAYS, *([] if index.get("withheld") else [LABELS])]
    yield same("members of every bundle", ", ".join(n for n in needed if n not in listed) or "all", "all")


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
