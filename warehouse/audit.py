"""``audit``: queries that must return no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from warehouse.damage import changed_built, changed_raw, may_come_of_damage
from warehouse.database import Input, inputs
from warehouse.errors import HomeError
from warehouse.home import Home
from warehouse.images import SCHEMA, changed_files, images_folder
from warehouse.leakage import FORBIDDEN, checks_of, forbidden_columns
from warehouse.manifest import read_manifest
from warehouse.query import connect
from warehouse.review.home import has_verdicts
from warehouse.spec import find_spec, specs
from warehouse.views import Catalog, View

SHOWN = 10
DECLARED = ", a leak that the spec declares"
NOT_RENDERED = "not rendered: render the task to run it"


@dataclass(frozen=True)
class Finding:
    """One audit's outcome. ``rows`` holds the first ten rows, ``count`` how many there are; None: not run."""

    name: str
    what: str
    columns: tuple[str, ...]
    rows: tuple[tuple, ...]
    count: int | None
    note: str | None = None
    declared: bool = False
    """Whether a spec declares what the audit looks for as a known leak: it is shown and passes."""

    @property
    def passed(self) -> bool:
        return self.count == 0 or (self.declared and self.count is not None)

    def as_json(self) -> dict:
        return {
            "audit": self.name,
            "what": self.what,
            "rows": self.count,
            "note": self.note,
            "declared": self.declared,
            "first": [dict(zip(self.columns, map(_plain, row), strict=True)) for row in self.rows],
        }


def audit(home: Home, task: str | None = None) -> list[Finding]:
    """Run every audit view, or those of a task: of its data set, and those that read it or what it is made of.

    The house itself adds audits that no view can hold: the grain of a stored view and of the staging behind it is
    unique (a word that a map has twice doubles rows), and built files, raw files and rendered images are the ones that
    were written (each is read, images too: 32 GB for a whole LYDUS task).
    An audit whose inputs are not built is listed with a note and no count.
    """
    home = home.pin()
    catalog = Catalog.read()
    manifest = read_manifest(home)["views"]
    con = connect(home, catalog=catalog)
    wanted = [view for view in catalog.values() if view.layer == "audit"]
    stored = [view for view in catalog.values() if view.name in manifest]
    if task is not None:
        lineage = {view.name for view in catalog.lineage([find_spec(task).view])}
        schemas = {name.split(".")[0] for name in lineage} - {"task"}
        wanted = [
            view
            for view in wanted
            if view.schema in schemas or lineage & {parent.name for parent in catalog.parents(view)}
        ]
        stored = [view for view in stored if view.name in lineage]
    if not stored:
        raise HomeError(
            f"{home.path}: found nothing built to audit; expected a build", "run materialize first"
        )
    present = inputs(home)
    behind = catalog.lineage(view.name for view in stored)
    files = [_files(home, manifest, stored), _raw_files(catalog, behind, present)]
    damaged = any(finding.count for finding in files)
    findings = [_audit_view(con, view, present, damaged) for view in wanted]
    for view in [*stored, *(view for view in behind if view.layer == "staging" and view not in stored)]:
        keys = ", ".join(view.grain)
        findings.append(
            _run(
                con,
                f"{view.name}: grain",
                f"rows that share {keys}",
                f"SELECT {keys}, count(*) AS n FROM {view.name} GROUP BY {keys} HAVING count(*) > 1",
                damaged,
            )
        )
    for spec in specs() if task is None else [find_spec(task)]:
        if FORBIDDEN in checks_of(spec) and spec.view in manifest:
            what = "columns that the spec keeps from images"
            query = forbidden_columns(spec)
            findings.append(_run(con, f"{spec.view}: forbidden columns", what, query, damaged))
    findings += files
    findings += [_verdict_files(home)] if has_verdicts(home) else []
    folders = [images_folder(home, find_spec(task))] if task is not None else sorted(home.images.glob("*"))
    return [*findings, _image_files(folders)] if any(folder.is_dir() for folder in folders) else findings


def as_text(findings: list[Finding]) -> str:
    """One line an audit, the first rows of those that found something below it."""
    from warehouse.table import as_text as table

    lines = []
    for finding in findings:
        mark = "–" if finding.count is None else "✓" if finding.passed else "✗"
        found = finding.note or f"{finding.count:,} rows{DECLARED if finding.declared else ''}"
        lines.append(f"{mark} {finding.name}: {found}")
        if finding.count:
            lines.append(f"    {finding.what}")
            lines += [f"    {line}" for line in table(finding.columns, finding.rows).splitlines()]
    return "\n".join(lines)


def _audit_view(
    con: duckdb.DuckDBPyConnection, view: View, present: Mapping[str, Input], damaged: bool
) -> Finding:
    what = view.description.splitlines()[0]
    if any(name.startswith(f"{SCHEMA}.") and name not in present for name in view.reads):
        return Finding(view.name, what, (), (), None, NOT_RENDERED)
    found = _run(con, view.name, what, f"SELECT * FROM {view.name}", damaged)
    return replace(found, declared=view.name in declared_leaks())


def declared_leaks() -> set[str]:
    """The audit views of the leaks that specs declare: ``known_leak: patient`` of task x@0 means
    ``task.x_patient_in_two_parts_v0``."""
    return {
        f"{spec.view.removesuffix(f'_v{spec.version}')}_{leak}_in_two_parts_v{spec.version}"
        for spec in specs()
        if (leak := spec.data.get("known_leak"))
    }


def _run(con: duckdb.DuckDBPyConnection, name: str, what: str, query: str, damaged: bool) -> Finding:
    """``damaged``: some file is not the one that was written, which is a finding of its own."""
    try:
        found = con.execute(query)
        columns = tuple(column[0] for column in found.description)
        rows = found.fetchall()
    except duckdb.CatalogException:
        return Finding(name, what, (), (), None, "not run: what it reads is not built")
    except duckdb.Error as error:
        if damaged and may_come_of_damage(error):
            return Finding(name, what, (), (), None, "not run: what it reads is damaged, see the files below")
        raise HomeError(
            f"audit {name}: found {str(error).splitlines()[0]}; expected readable files",
            "run materialize: it builds anew what is damaged",
        ) from error
    return Finding(name, what, columns, tuple(rows[:SHOWN]), len(rows))


def _files(home: Home, manifest: dict, stored: list[View]) -> Finding:
    changed = changed_built(home, manifest, (view.name for view in stored))
    what = "Parquet files that are not the ones of the manifest"
    return Finding("built files", what, ("view", "file"), tuple(changed[:SHOWN]), len(changed))


def _raw_files(catalog: Catalog, views: list[View], present: Mapping[str, Input]) -> Finding:
    read = sorted({name for view in views for name in catalog.inputs(view) if name in present})
    changed = [(name,) for name in changed_raw(present, read)]
    what = "raw tables whose Parquet files are not the ones that load wrote"
    return Finding("raw files", what, ("table",), tuple(changed[:SHOWN]), len(changed))


def _verdict_files(home: Home) -> Finding:
    from warehouse.review.store import verdict_files

    what = "readers' verdicts whose files are not the ones that review wrote"
    try:
        verdict_files(home)
        changed = []
    except HomeError:
        changed = [("raw_review.verdict",)]
    return Finding("verdict files", what, ("table",), tuple(changed), len(changed))


def _image_files(folders: list[Path]) -> Finding:
    changed = [(f"{SCHEMA}.{folder.name}", *found) for folder in folders for found in changed_files(folder)]
    what = "rendered images and their tables that are not the ones that render wrote: render again"
    columns = ("table", "file", "problem")
    return Finding("image files", what, columns, tuple(changed[:SHOWN]), len(changed))


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | str | bool | type(None)) else str(value)
