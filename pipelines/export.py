"""``export TASK OUT``: a task's labels for other people's tools, as a folder that appears whole or not at all.

=============================  =====================================================================================
``--format csv``               ``labels.csv``: instance_id, part, scored, then a column a class: 1, 0, empty = unknown
``--format wfdb``              ``<part>/<instance_id>.hea``: a record line without signals and ``# Labels: A, B``, as
                               the Challenge 2024's tools and ``score-folders`` read them
``classes.json`` (both)        the classes in order, what the columns are, counts, notes, licence, citation
=============================  =====================================================================================

Instances that are left out of their part, or in none, are not written. An instance that is not scored is written: its
classes stand as the task view has them (in a header: no names), and every tool that scores passes it over. Ids are the
task's, opaque where the spec says so: no name of a record and no group goes out.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.folders import MARK, SUFFIX
from warehouse.caveats import caveats
from warehouse.contracts import schema_name
from warehouse.counts import PARTS
from warehouse.digests import file_digest
from warehouse.errors import RegistryError, UsageError
from warehouse.home import Home, take_place, writing
from warehouse.load.cards import card_of
from warehouse.task import TaskData, read_task

if TYPE_CHECKING:
    import polars as pl

SCHEMA = schema_name("export")
FORMATS = ("csv", "wfdb")
LABELS, CLASSES = "labels.csv", "classes.json"
ID = re.compile(r"\w[\w.-]*", re.ASCII)
"""An instance's id that can be a file's name."""


@dataclass(frozen=True)
class Export:
    """What was written, and what the task's numbers must be read with. ``left_out``: instances that are not there."""

    folder: Path
    about: Mapping[str, Any]
    left_out: int
    stale: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        kept = ("task", "format", "parts", "files", "digest", "notes")
        return {
            "folder": str(self.folder),
            **{name: self.about[name] for name in kept},
            "left_out": self.left_out,
        }

    def as_text(self) -> str:
        from warehouse.table import as_text

        head = ("part", "instances", "scored", *self.about["classes"])
        rows = [
            (part, row["instances"], row["scored"], *row["classes"].values())
            for part, row in self.about["parts"].items()
        ]
        lines = [f"{self.folder}: {CLASSES} and {self.about['files']:,} of labels", as_text(head, rows)]
        if self.left_out:
            lines.append(f"note: {self.left_out:,} instances that are left out, or in no part, are not there")
        return "\n".join([*lines, *(f"note: {note}" for note in self.about["notes"])])


def export(home: Home, task: str, out: Path, *, format: str = "csv", part: str | None = None) -> Export:
    """Write the labels of a built task, or of one part, to the folder ``out``.

    Raises UsageError for a part that the task has not, for headers of a task whose instances are pieces of records,
    and when ``out`` is there and is not an export as it was written; HomeError when the task is not built or ``out``
    cannot be written.
    """
    out = out.absolute()
    built = read_task(home, task)
    if format == "wfdb":
        _refuse_pieces(built)
    _refuse_foreign(out)
    frame, left_out = _used(built, part)
    parts = _parts(frame, built.classes)
    draft = out.with_name(f".{out.name}.{uuid.uuid4().hex[:12]}")
    with writing(out.parent, "OUT"):
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            draft.mkdir()
            (_write_csv if format == "csv" else _write_headers)(draft, frame, built)
            files = sum(1 for _ in _files(draft))
            about = _about(home, built, format, parts) | {"files": files, "digest": _digest(draft)}
            text = json.dumps(about, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
            (draft / CLASSES).write_text(text, encoding="utf-8")
            take_place(draft, out)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return Export(out, about, left_out, built.stale)


def _used(built: TaskData, part: str | None) -> tuple[pl.DataFrame, int]:
    """instance_id, part, scored and the classes of what is written, in the task's order; how many are not used."""
    import polars as pl

    frame = built.instances.select("instance_id", "part", "scored", "left_out").with_columns(
        pl.Series(name, built.targets[:, n]) for n, name in enumerate(built.classes)
    )
    known = [name for name in PARTS if (frame["part"] == name).any()]
    if part is not None and part not in known:
        raise UsageError(f"{built.spec.name}: found no part {part!r}; expected one of: {', '.join(known)}")
    if part is not None:
        frame = frame.filter(pl.col("part") == part)
    used = frame.filter(pl.col("left_out").is_null() & pl.col("part").is_not_null())
    return used.drop("left_out"), frame.height - used.height


def _parts(frame: pl.DataFrame, classes: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Counts of what is written, per part: classes are those of scored instances, as in ``counts``."""
    import polars as pl

    found = {}
    for name in PARTS:
        rows = frame.filter(pl.col("part") == name)
        scored = rows.filter(pl.col("scored"))
        if rows.height:
            positive = {each: int((scored[each] == 1).sum()) for each in classes}
            found[name] = {"instances": rows.height, "scored": scored.height, "classes": positive}
    return found


def _write_csv(folder: Path, frame: pl.DataFrame, built: TaskData) -> None:
    """Classes as 1, 0 and empty; the values of a regression as they are."""
    import polars as pl

    whole = [pl.col(name).fill_nan(None) for name in built.classes]
    if built.spec.data["kind"] != "regression":
        whole = [column.cast(pl.Int8) for column in whole]
    frame.with_columns(pl.col("scored").cast(pl.Int8), *whole).write_csv(
        folder / LABELS, line_terminator="\n"
    )


def _write_headers(folder: Path, frame: pl.DataFrame, built: TaskData) -> None:
    strange = [name for name in built.classes if re.search(r"[,\n\r]", name) or name != name.strip()]
    strange += [one for one in frame["instance_id"].to_list() if not ID.fullmatch(one)][:5]
    if strange:
        raise RegistryError(
            f"{built.spec.view}: found {', '.join(map(repr, strange))}; expected classes without commas and "
            "instances that can name a file"
        )
    for part in frame["part"].unique().to_list():
        (folder / part).mkdir()
    for instance, part, scored, *values in frame.iter_rows():
        names = [name for name, value in zip(built.classes, values, strict=True) if scored and value == 1]
        text = f"{instance} 0\n{MARK}{''.join(f' {name},' for name in names).removesuffix(',')}\n"
        with (folder / part / f"{instance}{SUFFIX}").open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)


def _about(home: Home, built: TaskData, format: str, parts: Mapping[str, Any]) -> dict[str, Any]:
    spec = built.spec
    card = card_of(spec.data["dataset"])
    return {
        "schema": SCHEMA,
        "task": spec.name,
        "title": spec.data.get("title"),
        "kind": spec.data["kind"],
        "spec": spec.digest,
        "view": spec.view,
        "rule": built.fingerprint,
        "format": format,
        "classes": list(built.classes),
        "columns": {
            "instance_id": "the instance",
            "part": "train, validation or test",
            "scored": "1: it has a label; 0: no metric counts it",
            "classes": "1: it has the class, 0: it has not, empty: unknown",
        },
        "parts": parts,
        "notes": caveats(home, spec),
        "licence": card["licence"],
        "citation": [card["citation"], *card["also_cite"]],
    }


def _refuse_pieces(built: TaskData) -> None:
    if built.instances["record_id"].is_duplicated().any():
        raise UsageError(
            f"{built.spec.name}: found a task of pieces of records; expected one whose instances are whole records, "
            "for a WFDB header stands for a record",
            "use --format csv",
        )


def _refuse_foreign(out: Path) -> None:
    """UsageError unless ``out`` is free, an empty folder, or an export that nobody has changed."""
    if not os.path.lexists(out) or (out.is_dir() and not out.is_symlink() and not any(out.iterdir())):
        return
    try:
        about = json.loads((out / CLASSES).read_text(encoding="utf-8"))
        if about["schema"] == SCHEMA and about["digest"] == _digest(out) and not out.is_symlink():
            return
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise UsageError(
        f"{out}: found files that are no export, or that were changed since; expected a new folder, or an export to "
        "replace",
        "pass another OUT, or move what is there",
    )


def _files(folder: Path) -> Iterator[Path]:
    """Every file of an export but the one that tells of it, by name."""
    found = [Path(place, name) for place, _, names in os.walk(folder) for name in names]
    return iter(sorted(path for path in found if path != folder / CLASSES))


def _digest(folder: Path) -> str:
    """sha256 over the names and digests of an export's files."""
    lines = (f"{path.relative_to(folder).as_posix()} {file_digest(path)}\n" for path in _files(folder))
    return hashlib.sha256("".join(lines).encode()).hexdigest()
