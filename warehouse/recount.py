"""``verify TASK``: every number that a spec states, counted again from the views.

``registry/recounts/<slug>@<version>.json`` says how: a list of entries, each with ``sql`` that gives one number and
either ``path``, a place in the task spec (``counts.{part}.{class}``: names in braces stand for every key there, and
become ``$part`` and ``$class`` in the SQL; a list's places count from 0), or ``what`` and ``expected``, for a number
that is stated elsewhere, then with its ``source``. ``decimals`` rounds what is found.

``release`` names the release that the numbers hold for. On another one they are shown beside each other, and a
difference is no failure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from warehouse.errors import RegistryError, UsageError
from warehouse.home import Home, read_pinned
from warehouse.load.report import read_report
from warehouse.project import registry_path
from warehouse.query import connect
from warehouse.spec import Spec, find_spec
from warehouse.task import task_file


@dataclass(frozen=True)
class Number:
    """One stated number and what the views give; ``found`` is None where they give no row."""

    what: str
    stated: float
    found: float | None
    source: str

    @property
    def same(self) -> bool:
        return self.found == self.stated


@dataclass(frozen=True)
class Recount:
    """All numbers of a task; ``holds`` says whether the loaded release is the one that they hold for."""

    task: str
    release: str
    loaded: str
    holds: bool
    numbers: tuple[Number, ...]

    @property
    def different(self) -> list[Number]:
        return [number for number in self.numbers if not number.same]

    def as_json(self) -> dict:
        return {
            "task": self.task,
            "release": self.release,
            "loaded": self.loaded,
            "holds": self.holds,
            "different": len(self.different),
            "numbers": [
                {"what": each.what, "stated": each.stated, "found": each.found, "same": each.same}
                for each in self.numbers
            ],
        }

    def as_text(self) -> str:
        from warehouse.table import as_text

        rows = [
            ("✓" if each.same else "✗" if self.holds else "≠", each.what, each.stated, each.found)
            for each in self.numbers
        ]
        lines = [
            f"{self.task}: {len(self.numbers)} stated numbers, {len(self.different)} differ",
            as_text(("", "number", "stated", "found"), rows),
        ]
        if not self.holds:
            lines.append(
                f"note: the numbers hold for {self.release}; loaded is {self.loaded}, so they may well differ"
            )
        return "\n".join(lines)


def recount(home: Home, task: str) -> Recount:
    """Count again what the spec of a built task states.

    Raises UsageError when the task has no recounts, HomeError when it is not built, RegistryError when an entry
    names a path that is not in the spec or a query that fails.
    """
    return read_pinned(home, lambda pinned: _recount(pinned, find_spec(task)))


def _recount(home: Home, spec: Spec) -> Recount:
    path = registry_path("recounts", f"{spec.name}.json")
    if not path.exists():
        raise UsageError(
            f"{spec.name}: found no {path.name} in registry/recounts; its spec states no number to count"
        )
    task_file(home, spec)
    declared = json.loads(path.read_text(encoding="utf-8"))
    con = connect(home)
    numbers = tuple(
        number for entry in declared["entries"] for number in _numbers(con, spec, entry, path.name)
    )
    report = read_report(home, spec.data["dataset"]) or {"release": {}}
    loaded = report["release"].get("name")
    return Recount(
        spec.name, declared["release"], loaded or "another release", loaded == declared["release"], numbers
    )


def _numbers(con: duckdb.DuckDBPyConnection, spec: Spec, entry: Mapping, file: str) -> Iterator[Number]:
    if "path" in entry:
        stated = list(leaves(spec.data, entry["path"]))
        if not stated:
            raise RegistryError(f"{file}: found path {entry['path']!r}; expected one that the spec has")
        source = spec.name
    else:
        stated = [(entry["what"], {}, entry["expected"])]
        source = entry["source"]
    for what, names, value in stated:
        try:
            row = con.execute(entry["sql"], names).fetchone()
        except duckdb.Error as error:
            raise RegistryError(
                f"{file}, {what}: the query fails: {error}",
                "run materialize if a view is not built, else mend the query",
            ) from error
        found = None if row is None or row[0] is None else row[0]
        if found is not None and "decimals" in entry:
            found = round(float(found), entry["decimals"])
        yield Number(what, value, 0 if found is None and isinstance(value, int) else found, source)


def leaves(data: Any, pattern: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Every number of ``data`` under a path, with the names that the path's braces stood for."""

    def walk(node: Any, parts: list[str], path: list[str], names: dict) -> Iterator:
        if not parts:
            if isinstance(node, int | float) and not isinstance(node, bool):
                yield ".".join(path), names, node
            return
        part, *rest = parts
        children = dict(enumerate(node)) if isinstance(node, list) else node
        if not isinstance(children, Mapping):
            return
        name = re.fullmatch(r"\{(\w+)\}", part)
        for key, child in children.items():
            if name is not None or str(key) == part:
                yield from walk(child, rest, [*path, str(key)], {**names, name[1]: key} if name else names)

    yield from walk(data, pattern.split("."), [], {})
