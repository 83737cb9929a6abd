"""``bundle TASK``: a built task as one archive, with everything that its labels rest on but the raw data.

==================  ===================================================================================================
README.md           what it is, for whoever finds it in an archive of data
index.json          task, view, versions; every member with its sha256, bytes and what it is
spec.json           the task spec; card.json the data set's licence and citation; citation.json exact versions
sql/, maps/         the view files of the whole lineage, the maps that they read
splits/             the declaration of the split and, where labels may be shared, the membership
manifest.json       of every stored view behind the task: rows, columns, digests, fingerprints
labels.parquet      the task view as it was built, a row an instance, where labels may be shared
counts.json         the same as ``counts --json``
==================  ===================================================================================================

No signals, no raw annotations, no paths, nothing of the machine; no time, so equal input gives equal bytes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import duckdb

from pipelines.bundle.archive import MOST_BYTES, NAME, write_archive
from pipelines.bundle.readme import render_readme
from pipelines.made_up import made_up
from warehouse.cite import cite
from warehouse.contracts import schema_name
from warehouse.counts import count
from warehouse.database import ENGINE, Input, inputs, parquet
from warehouse.errors import HomeError, RegistryError, UsageError
from warehouse.fingerprints import build_fingerprints
from warehouse.home import Home, read_pinned
from warehouse.load.cards import card_of
from warehouse.load.report import read_report
from warehouse.manifest import read_manifest
from warehouse.project import project_root, registry_path
from warehouse.spec import Spec, find_spec
from warehouse.task import as_built, task_file
from warehouse.views import Catalog, View

SCHEMA = schema_name("bundle")
LABELS = "labels.parquet"
INDEX = "index.json"
WITHHELD = "the data set's card does not say that its labels may be shared"
KINDS = {
    "LICENSE": "licence of the rules (Apache-2.0)",
    "README.md": "what this is and how to use it",
    "card.json": "the data set: licence, citation, known releases",
    "citation.json": "what to cite, and the exact versions",
    "counts.json": "records and classes per part",
    LABELS: "the task view: a row an instance",
    "manifest.json": "rows, columns, digests and fingerprints of the build",
    "spec.json": "the task spec",
    "maps": "a map that the views read",
    "splits": "a split: how it is drawn (.json), who is in which part (.csv)",
    "sql": "a view",
}
"""Member, or its folder → what it is."""
FOLDERS = {
    "maps": "the maps that the views read",
    "splits": "the split: how it is drawn (.json), who is in which part (.csv)",
    "sql": "the views, a file each",
}


@dataclass(frozen=True)
class Bundle:
    """What was written: the file, its sha256, its size in bytes, its members; why labels are not in it, or None."""

    task: str
    file: Path
    sha256: str
    bytes: int
    members: int
    withheld: str | None

    def as_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "file": str(self.file),
            "sha256": self.sha256,
            "bytes": self.bytes,
            "members": self.members,
            "withheld": self.withheld,
        }

    def as_text(self) -> str:
        lines = [f"{self.file}: {self.members} members, {self.bytes:,} bytes", f"  sha256  {self.sha256}"]
        if self.withheld:
            lines.append(f"  without labels and membership: {self.withheld}")
        return "\n".join([*lines, f"  check it anywhere with: leadhouse verify {self.file.name}"])


def bundle(home: Home, task: str, out: Path | None = None) -> Bundle:
    """Write the archive of a built task to ``out``, a file or a folder; default ``<slug>-v<N>.zip`` here.

    Raises UsageError for an unknown task or a file in the way that is no bundle, HomeError when the task is not built
    of what is there now or OUT cannot be written.
    """
    spec = find_spec(task)
    name = f"{spec.slug}-v{spec.version}.zip"
    out = Path(name) if out is None else out / name if out.is_dir() else out
    _refuse_foreign(out)
    members, withheld = read_pinned(home, lambda pinned: _members(pinned, spec))
    digest = write_archive(out, members)
    return Bundle(spec.name, out, digest, out.stat().st_size, len(members), withheld)


def _refuse_foreign(out: Path) -> None:
    from pipelines.bundle.archive import open_archive

    if not out.parent.is_dir():
        raise UsageError(f"{out}: found no folder {out.parent}; expected one that is there")
    if not out.exists():
        return
    try:
        with open_archive(out) as archive:
            ours = INDEX in archive.sizes
    except Exception:
        ours = False
    if not ours:
        raise UsageError(
            f"{out}: found a file that is no bundle; expected a new name, or a bundle to replace",
            "pass another OUT",
        )


def _members(home: Home, spec: Spec) -> tuple[dict[str, bytes], str | None]:
    """Every member by name, and why labels are withheld, if they are."""
    catalog = Catalog.read()
    lineage = catalog.lineage([spec.view])
    entry, path = task_file(home, spec)
    present = inputs(home)
    built = _built(home, lineage, present)
    card = card_of(spec.data["dataset"])
    withheld = None if card.get("labels_may_be_shared") is True else WITHHELD
    labels = as_built(Path(path), entry["sha256"])
    report = read_report(home, spec.data["dataset"])
    citation = cite(home, spec.name)
    if citation["loaded"]:
        del citation["loaded"]["notes"]  # they may name files and addresses
    counts = count(home, spec.name).as_json()
    counts.pop("agreement", None)  # it names readers

    texts = {
        "LICENSE": _licence(),
        "spec.json": spec.path.read_bytes(),
        "card.json": registry_path("datasets", f"{card['slug']}.json").read_bytes(),
        "citation.json": as_json(citation),
        "counts.json": as_json(counts),
        "manifest.json": as_json({"engine": ENGINE, "views": built}),
    }
    texts |= {f"sql/{view.schema}/{view.path.name}": view.path.read_bytes() for view in lineage}
    texts |= {
        f"maps/{_stem(name)}.csv": registry_path("maps", f"{_stem(name)}.csv").read_bytes()
        for name in entry["lineage"]["maps"]
    }
    for name in entry["lineage"]["splits"]:
        texts[f"splits/{_stem(name)}.json"] = registry_path("splits", f"{_stem(name)}.json").read_bytes()
        if not withheld:
            texts[f"splits/{_stem(name)}.csv"] = membership(present[name])
    texts["README.md"] = render_readme(
        spec=spec,
        card=card,
        citation=citation,
        counts=counts,
        entry=entry,
        lineage=lineage,
        members=[*texts, INDEX, *([] if withheld else [LABELS])],
        kinds={**KINDS, **FOLDERS},
        withheld=withheld,
        unchecked=_unchecked(Path(path), entry),
        synthetic=made_up(home, report) is not None,
    ).encode()
    large = [name for name, content in texts.items() if len(content) > MOST_BYTES]
    strange = [name for name in texts if not NAME.fullmatch(name)]
    if large or strange:
        raise RegistryError(
            f"found {', '.join(large + strange)}; expected members of at most {MOST_BYTES:,} bytes with plain names"
        )
    members = texts if withheld else {**texts, LABELS: labels}
    members[INDEX] = as_json(_index(spec, entry, members, withheld))
    return members, withheld


def _built(home: Home, lineage: list[View], present: Mapping[str, Input]) -> dict[str, dict]:
    """The manifest entries of the stored views behind a task. HomeError where one is of other rules or data."""
    manifest = read_manifest(home)["views"]
    prints = build_fingerprints(lineage, present)
    stored = [view.name for view in lineage if view.stored]
    other = [
        name
        for name in stored
        if name not in manifest or name not in prints or manifest[name]["fingerprint"] != prints[name]
    ]
    if other:
        raise HomeError(
            f"{home.path}: found {', '.join(other)} built of other rules, data or another DuckDB than are here now; "
            "expected a build of the present ones",
            "run materialize, then bundle again",
        )
    return {name: manifest[name] for name in sorted(stored)}


def membership(split: Input) -> bytes:
    """A split's table as CSV, rows as `load` wrote them. HomeError when its files are not those."""
    if not split.is_intact:
        raise HomeError(
            f"{split.files[0]}: found it changed or missing; expected the Parquet file that `load` wrote",
            "load the data set again",
        )
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    rows = duckdb.connect().execute(f"SELECT * FROM {parquet(split.files)}")
    writer.writerow([column[0] for column in rows.description])
    writer.writerows(
        [("true" if v else "false") if isinstance(v, bool) else v for v in row] for row in rows.fetchall()
    )
    return text.getvalue().encode()


def _unchecked(labels: Path, entry: Mapping[str, Any]) -> dict[str, int]:
    """Columns of the task view that say 'not checked', with how many instances they say it of."""
    columns = [name for name, kind in entry["columns"].items() if kind == "VARCHAR"]
    counted = ", ".join(f"count(*) FILTER (\"{name}\" = 'not checked')" for name in columns)
    found = duckdb.connect().execute(f"SELECT {counted} FROM {parquet((labels,))}").fetchall()
    return {name: number for name, number in zip(columns, found[0], strict=True) if number}


def _index(
    spec: Spec, entry: Mapping[str, Any], members: Mapping[str, bytes], withheld: str | None
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "task": spec.name,
        "title": spec.data.get("title"),
        "spec": spec.digest,
        "view": spec.view,
        "rule": entry["rule"],
        "leadhouse": metadata.version("leadhouse"),
        "engine": ENGINE,
        "withheld": withheld,
        "members": {
            name: {
                "sha256": hashlib.sha256(content).hexdigest(),
                "bytes": len(content),
                "what": KINDS.get(name) or KINDS[name.split("/")[0]],
            }
            for name, content in sorted(members.items())
        },
    }


def _licence() -> bytes:
    """The licence's text, from the checkout or from what was installed."""
    path = project_root() / "LICENSE"
    text = path.read_text(encoding="utf-8") if path.is_file() else None
    text = text or metadata.distribution("leadhouse").read_text("licenses/LICENSE")
    if text is None:
        raise HomeError(
            f"{project_root()}: found no LICENSE; expected the text that rules are shared under",
            "install leadhouse again",
        )
    return text.encode()


def _stem(name: str) -> str:
    """``map.dx_code`` → ``dx_code``."""
    return name.partition(".")[2]


def as_json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
