"""``why TASK INSTANCE [CLASS]``: the evidence behind a label, read from the task's why view.

Nothing is decided here. A class that an instance has is explained by the candidates that were accepted; one that it
has not by what excludes it and by the nearest candidate: the one with the fewest reasons of its own against it, ties
in the order of their place in the source. Where no candidate names the class, that is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from warehouse.database import inputs, parquet, sql_text
from warehouse.errors import HomeError, UsageError
from warehouse.fingerprints import rule_fingerprints
from warehouse.home import Home, read_pinned
from warehouse.instance import PLACE, find_instance
from warehouse.manifest import built_file, read_manifest
from warehouse.narrow import define_record
from warehouse.spec import Spec, find_spec
from warehouse.task import older_than, task_file
from warehouse.views import Catalog
from warehouse.why_view import ANY, why_view

Row = dict[str, object]
"""One row of a why view by column, without the instance."""

TOGETHER = " + "
"""What stands between the reasons of one row."""


@dataclass(frozen=True)
class ClassWhy:
    """What speaks for and against one class: rows of the why view in the order of their source.

    ``accepted`` and ``refused`` are candidates, ``excluded_by`` the exclusions that stand against the class, those of
    every class among them.
    """

    has: bool
    accepted: list[Row]
    refused: list[Row]
    excluded_by: list[Row]

    @property
    def nearest(self) -> Row | None:
        """Of a class that the instance has not: the candidate with the fewest reasons; None without a candidate."""
        candidates = [] if self.has else [*self.accepted, *self.refused]
        return min(candidates, key=lambda row: (len(reasons(row)), *_place(row)), default=None)

    @property
    def against(self) -> list[str]:
        """What keeps the nearest candidate from counting, every reason once: its own, then the exclusions'."""
        nearest = self.nearest
        rows = [] if nearest is None else [nearest, *self.excluded_by]
        return list(dict.fromkeys(reason for row in rows for reason in reasons(row)))

    def as_json(self) -> dict:
        nearest = self.nearest
        return {
            "has": self.has,
            "accepted": self.accepted,
            "refused": self.refused,
            "excluded_by": self.excluded_by,
            "nearest": nearest and {"evidence": nearest["evidence"], "reasons": self.against},
        }


@dataclass(frozen=True)
class Why:
    """The answer for one instance.

    ``instance`` is its row of the task view (contract, place, classes), ``left_out_by`` the rows that keep it out of
    its part, ``other`` candidates that name no class, ``views`` the rule fingerprint of every view that is quoted,
    ``stale`` the rule files and raw tables that changed since the build.
    """

    spec: Spec
    instance: Row
    classes: dict[str, ClassWhy]
    left_out_by: list[Row]
    other: list[Row]
    views: dict[str, str]
    stale: list[str]

    def as_json(self) -> dict:
        """The structure that docs/auditing.md documents."""
        return {
            "task": self.spec.name,
            "instance": self.instance["instance_id"],
            "record": self.instance["record_id"],
            "group": self.instance["group_id"],
            "part": self.instance["part"],
            "place": {name: self.instance[name] for name in PLACE if name in self.instance},
            "scored": self.instance["scored"],
            "left_out": self.instance["left_out"],
            "left_out_by": self.left_out_by,
            "classes": {name: each.as_json() for name, each in self.classes.items()},
            "other": self.other,
            "views": self.views,
        }


def reasons(row: Row) -> list[str]:
    """The reasons of a row; none when it is accepted."""
    return str(row["reason"]).split(TOGETHER) if row["reason"] else []


def _place(row: Row) -> tuple:
    return row["source_no"], row["evidence"]


def why(home: Home, task: str, instance: str, label: str | None = None) -> Why:
    """Why INSTANCE of TASK has its classes, or the class ``label`` alone.

    Raises UsageError for an unknown task, instance (with the nearest ids) or class (with the list), HomeError when the
    task or something that its evidence is read from is not built.
    """
    spec = find_spec(task)
    try:
        return read_pinned(home, lambda pinned: _why(pinned, spec, instance, label))
    except duckdb.Error as error:
        raise HomeError(
            f"{home.path}: the evidence of {spec.name} cannot be read: {str(error).splitlines()[0]}",
            f"load the data set again where a file of raw/ is named, else run `materialize {spec.name}`",
        ) from error


def _why(home: Home, spec: Spec, text: str, label: str | None) -> Why:
    _, file = task_file(home, spec)
    con = duckdb.connect(config={"threads": 1})  # a record is a few row groups: more threads only cost
    instance = find_instance(con, spec, file, text)
    catalog = Catalog.read()
    lineage = catalog.lineage([why_view(spec)])
    read = {name for view in lineage for name in view.reads}
    present = {name: source for name, source in inputs(home).items() if name in read}
    manifest = read_manifest(home)["views"]
    stored_at = built_file(home, manifest)
    target, shard = catalog[why_view(spec)], catalog[spec.view].shard
    define_record(con, home, catalog, present, stored_at, target, shard, instance)
    rows = _rows(con, spec, instance)
    classes = [*spec.classes, *_others(con, spec, [stored_at(catalog[name]) for name in _saying(rows)])]
    if label is not None:
        classes = {_named(spec, classes, label): None}
    changed = older_than(home, spec.view)
    for row in rows:
        if row["words"] is None:  # the evidence is the build's, its words are of what is loaded now
            row["words"] = f"No words: {', '.join(changed) or 'something'} changed since this was built."
    rules = rule_fingerprints(catalog, lineage)
    quoted = dict.fromkeys([spec.view, why_view(spec), *(row["view"] for row in rows)])
    return Why(
        spec=spec,
        instance=instance,
        classes={name: _class(spec, instance, rows, name) for name in classes},
        left_out_by=[row for row in rows if row["kind"] == "left_out"],
        other=[row for row in rows if row["class"] is None and row["kind"] != "left_out"],
        views={name: manifest[name]["rule"] if name in manifest else rules[name] for name in quoted},
        stale=changed,
    )


def _rows(con: duckdb.DuckDBPyConnection, spec: Spec, instance: Row) -> list[Row]:
    """The instance's rows, candidates before exclusions, each class in the order of its source."""
    found = con.execute(
        f"SELECT * EXCLUDE (instance_id, record_id) FROM {why_view(spec)} "
        f"WHERE instance_id = {sql_text(instance['instance_id'])} ORDER BY kind, class, source_no, evidence"
    )
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _saying(rows: list[Row]) -> list[str]:
    """The evidence views that rows of a class come from."""
    return sorted({str(row["view"]) for row in rows if row["class"] is not None})


def _others(con: duckdb.DuckDBPyConnection, spec: Spec, files: list[Path | None]) -> list[str]:
    """Of a binary task: the class that its stored evidence gives in the place of the one that the spec names."""
    if spec.data["kind"] != "binary" or None in files:
        return []
    found = con.execute(
        f"SELECT DISTINCT class FROM {parquet(tuple(files))} WHERE kind = 'candidate' ORDER BY class"
    )
    return [name for (name,) in found.fetchall() if name not in spec.classes]


def _named(spec: Spec, classes: list[str], label: str) -> str:
    for name in classes:
        if name.casefold() == label.casefold():
            return name
    raise UsageError(f"{spec.name}: found no class {label!r}; expected one of: {', '.join(classes)}")


def _class(spec: Spec, instance: Row, rows: list[Row], name: str) -> ClassWhy:
    """``has`` is what the task view says: a class column that is true, or the one column of a binary task that is
    false."""
    own = name in spec.classes
    has = instance[name] is True if own else instance[spec.classes[0]] is False
    return ClassWhy(has, *(list(found) for found in _parted(rows, name)))


def _parted(rows: list[Row], name: str) -> Iterator[Iterator[Row]]:
    candidates = [row for row in rows if row["kind"] == "candidate" and row["class"] == name]
    yield (row for row in candidates if row["accepted"])
    yield (row for row in candidates if not row["accepted"])
    yield (
        row
        for row in rows
        if row["kind"] == "exclusion" and row["class"] in (name, ANY) and not row["accepted"]
    )
