"""``counts``: how many records and labels a task has in each part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from warehouse.caveats import ALONE, GROUP_FROM, caveats
from warehouse.database import inputs, parquet, unreadable
from warehouse.errors import UsageError
from warehouse.home import Home, read_pinned
from warehouse.query import connect
from warehouse.review.home import has_verdicts
from warehouse.spec import Spec, find_spec
from warehouse.task import as_built, older_than, task_file
from warehouse.views import Catalog, View

if TYPE_CHECKING:
    from warehouse.review.agreement import Agreement

NUMBER = re.compile(r"-?[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?", re.ASCII)
VIEWS = "SELECT schema_name, view_name FROM duckdb_views()"

PARTS = ("train", "validation", "test")
NO_PART = "unassigned"
"""The part of instances whose group is in no part (no subject known)."""


@dataclass(frozen=True)
class Counts:
    """Counts of a task; ``rows`` are (group value, part, records, left_out, scored, one count per class)."""

    spec: Spec
    column: str | None
    rows: list[tuple]
    stale: list[str]
    notes: list[str]
    agreement: Sequence[Agreement] = ()
    """Readers against labels, where somebody has reviewed the task."""

    def as_json(self) -> dict:
        """``{"task", "parts": {part: {"records", "left_out", "scored", "classes"}}, "notes"}``.

        With a column: ``by`` and ``groups`` (value → parts) in place of ``parts``. Where somebody has reviewed the
        task, ``agreement`` too: a list of :class:`warehouse.review.agreement.Agreement`.
        """
        reviewed = {"agreement": [each.as_json() for each in self.agreement]} if self.agreement else {}
        if self.column is None:
            return {"task": self.spec.name, "parts": self._parts(self.rows), "notes": self.notes, **reviewed}
        groups: dict[str, list[tuple]] = {}
        for row in self.rows:
            groups.setdefault("unknown" if row[0] is None else str(row[0]), []).append(row)
        return {
            "task": self.spec.name,
            "by": self.column,
            "groups": {value: {"parts": self._parts(rows)} for value, rows in groups.items()},
            "notes": self.notes,
            **reviewed,
        }

    def as_text(self) -> str:
        """A table: one line a part, and a value of the column where one was asked for."""
        from warehouse.table import as_text

        head = ["part", "records", "left out", "scored", *self.spec.classes]
        rows: list[tuple] = [row[1:] for row in self.rows]
        if self.column is None:
            rows.append(("total", *(sum(column) for column in list(zip(*rows, strict=True))[1:])))
        else:
            head.insert(0, self.column)
            rows = [("unknown" if row[0] is None else row[0], *row[1:]) for row in self.rows]
        lines = [self.spec.name, as_text(head, rows), *(f"note: {note}" for note in self.notes)]
        if self.agreement:
            from warehouse.review.agreement import table

            lines += ["", "readers against today's labels", as_text(*table(self.agreement))]
        return "\n".join(lines)

    def _parts(self, rows: list[tuple]) -> dict:
        return {
            part: {
                "records": records,
                "left_out": left_out,
                "scored": scored,
                "classes": dict(zip(self.spec.classes, classes, strict=True)),
            }
            for _, part, records, left_out, scored, *classes in rows
        }


def count(home: Home, task: str, by: str | None = None) -> Counts:
    """Count a built task.

    ``records`` are the rows used in the part, ``left_out`` those that are not, ``scored`` and the classes the used
    ones with a label. ``by`` is a column of the task view, of ``<schema>.record_facts`` (age in bands of ten years,
    sex, device, rhythm, … where the data set has them), or of the record view behind the task; ``rhythm`` also finds a
    column ``rhythms``. Raises UsageError with the list of columns when there is no such column, HomeError when the
    task is not built.
    """
    return read_pinned(home, lambda pinned: _count(pinned, find_spec(task), by))


def _count(home: Home, spec: Spec, by: str | None) -> Counts:
    entry, name = task_file(home, spec)
    path = Path(name)
    as_built(path, entry["sha256"])
    con = duckdb.connect()
    try:
        con.execute(f"CREATE VIEW task AS SELECT * FROM {parquet((path,))}")
    except duckdb.Error as error:
        raise unreadable(path, error) from error
    notes: list[str] = []
    if by is None:
        source, value = "task", "NULL"
    elif by in (own := _columns(con, "task")):
        source, value = "task", f'task."{by}"'
    else:
        con, source, value, notes = _by_record(home, spec, path, by, own)
    rows = count_rows(con, spec, source, value)
    reviewed: Sequence[Agreement] = ()
    if has_verdicts(home):
        from warehouse.review.agreement import agreement

        reviewed = agreement(home, spec.name)
    return Counts(
        spec, by, rows, older_than(home, spec.view), [*caveats(home, spec, *alone(con)), *notes], reviewed
    )


def count_rows(
    con: duckdb.DuckDBPyConnection, spec: Spec, source: str = "task", value: str = "NULL"
) -> list[tuple]:
    """The rows of :class:`Counts`, parts in their order.

    ``source``: a FROM clause with the instances as ``task``; ``value``: the SQL expression to group by.
    """
    used = "task.left_out IS NULL"
    classes = "".join(f', count(*) FILTER ({used} AND task."{name}")' for name in spec.classes)
    rows = con.execute(
        f"""
        SELECT
            CAST({value} AS VARCHAR)
            , coalesce(task.part, '{NO_PART}')
            , count(*) FILTER ({used})
            , count(*) FILTER (NOT ({used}))
            , count(*) FILTER ({used} AND task.scored)
            {classes}
        FROM {source}
        GROUP BY ALL
        """
    ).fetchall()
    order = {part: place for place, part in enumerate((*PARTS, NO_PART))}
    rows.sort(key=lambda row: (_place(row[0]), order[row[1]]))
    return rows


def _place(value: str | None) -> tuple:
    """Where a value stands among others: numbers by size, then other text, then what is unknown."""
    if value is None:
        return (2,)
    return (0, float(value), value) if NUMBER.fullmatch(value) else (1, value)


def alone(con: duckdb.DuckDBPyConnection, source: str = "task") -> tuple[int, int]:
    """How many instances are of a record without a known patient, of how many."""
    if GROUP_FROM not in _columns(con, source):
        return 0, 0
    query = f"SELECT count(*) FILTER ({GROUP_FROM} = '{ALONE}'), count(*) FROM {source}"
    return con.execute(query).fetchall()[0]


def _columns(con: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    return [row[0] for row in con.execute(f"DESCRIBE {table}").fetchall()]


def _by_record(
    home: Home, spec: Spec, path: Path, by: str, own: list[str]
) -> tuple[duckdb.DuckDBPyConnection, str, str, list[str]]:
    """A connection, the FROM clause and the expression to count by a column that the task view does not have itself,
    and notes on where the column is from.

    Facts go before the record view, for they have ages in bands; the task's plural comes last.
    """
    catalog = Catalog.read()
    record = next((view for view in catalog.lineage([spec.view]) if view.stem == "record"), None)
    con = connect(home, catalog=catalog)
    con.execute(f"CREATE TEMP VIEW task AS SELECT * FROM {parquet((path,))}")
    known = {f"{schema}.{name}" for schema, name in con.execute(VIEWS).fetchall()}
    facts = catalog.newest().get(f"{record.schema}.record_facts") if record else None
    lacking = [] if facts is None or facts.name in known else [_lacking(home, catalog, facts)]
    theirs = [(view, _columns(con, view.name)) for view in (facts, record) if view and view.name in known]
    for view, columns in theirs:
        if by in columns:
            (key,) = view.grain
            source = f"task LEFT JOIN {view.name} AS record ON task.record_id = record.{key}"
            return con, source, f'record."{by}"', lacking if view is record else []
    if f"{by}s" in own:
        return con, "task", f'task."{by}s"', lacking
    listed = ", ".join(dict.fromkeys([*own, *(name for _, columns in theirs for name in columns)]))
    raise UsageError(
        f"found no column {by!r} for {spec.name}; expected one of: {listed}{''.join(f'. {note}' for note in lacking)}"
    )


def _lacking(home: Home, catalog: Catalog, facts: View) -> str:
    """Why a home that was loaded before the facts had all their tables counts by other values, in words."""
    read = {name for view in catalog.lineage([facts.name]) for name in catalog.inputs(view)}
    missing = ", ".join(sorted(read - set(inputs(home)))) or "a view behind it"
    return (
        f"{facts.name} cannot be read, for this home lacks {missing}: age, sex and device "
        "stand as the records have them, if they do; load the data set again"
    )
