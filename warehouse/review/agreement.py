"""Readers against labels: every verdict beside today's label, and Cohen's kappa for each class and reader.

Of the verdicts that count (a reader's latest on an instance and class) four numbers are taken: label and reader both
yes (a), the label alone (b), the reader alone (c), neither (d), n = a + b + c + d. What the reader holds to be right
does not change when the label does: a verdict is read against today's label.

    p_o = (a + d) / n,   p_e = ((a + b)(a + c) + (c + d)(b + d)) / n²,   kappa = (p_o − p_e) / (1 − p_e)

(Cohen 1960, doi:10.1177/001316446002000104.) Where label and reader say the same one thing of every instance, p_e is 1
and kappa is not defined: NULL, with the reason. Kappa is of the instances that were read: where somebody read those
with the label alone, it is 0 or not defined whatever they think, and the four numbers say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb

from warehouse.database import define_view, parquet, sql_text
from warehouse.home import Home, read_pinned
from warehouse.manifest import read_manifest
from warehouse.review.home import has_verdicts
from warehouse.review.store import define_verdicts, verdict_files
from warehouse.spec import Spec, find_spec
from warehouse.views import Catalog

VIEW = "review.verdict_v0"
LISTED = (
    "verdict_no", "instance_id", "class", "reader", "verdict", "date", "reason", "label_seen", "label_now", "state",
)  # fmt: skip
"""Columns of :func:`verdicts`."""


@dataclass(frozen=True)
class Agreement:
    """A reader and the label on one class. ``changed``: verdicts whose label is another one now; ``lost``: verdicts on
    instances that have no label now, which are not among the ``n``."""

    klass: str
    reader: str
    n: int
    both: int
    label_only: int
    reader_only: int
    neither: int
    kappa: float | None
    undefined: str | None
    changed: int
    lost: int

    def as_json(self) -> dict:
        """The fields, ``klass`` as ``class``."""
        return {
            "class": self.klass,
            **{name: value for name, value in asdict(self).items() if name != "klass"},
        }


HEAD = (
    "class",
    "reader",
    "n",
    "both",
    "label only",
    "reader only",
    "neither",
    "kappa",
    "label changed",
    "no label",
)


def table(found: Sequence[Agreement]) -> tuple[tuple[str, ...], list[tuple]]:
    """Head and rows for a terminal; a kappa that is not defined is NULL."""
    rows = [
        (each.klass, each.reader, each.n, each.both, each.label_only, each.reader_only, each.neither,
         None if each.kappa is None else f"{each.kappa:.3f}", each.changed, each.lost)
        for each in found
    ]  # fmt: skip
    return HEAD, rows


def cohen_kappa(
    both: int, label_only: int, reader_only: int, neither: int
) -> tuple[float | None, str | None]:
    """Kappa of a 2 × 2 table, or None and why it is not defined."""
    n = both + label_only + reader_only + neither
    if n == 0:
        return None, "no verdict on an instance that has a label now"
    chance = (both + label_only) * (both + reader_only) + (reader_only + neither) * (label_only + neither)
    if chance == n * n:
        return None, f"label and reader say {'yes' if both else 'no'} of all {n:,}: nothing is left to chance"
    return (n * (both + neither) - chance) / (n * n - chance), None


def agreement(home: Home, task: str) -> list[Agreement]:
    """Class by class in the spec's order, reader by reader; empty where nobody has reviewed the task.

    Raises HomeError when verdicts are there and the task is not built, or when their files were changed.
    """
    if not has_verdicts(home):
        return []
    spec = find_spec(task)
    return read_pinned(home, lambda pinned: _agreement(pinned, spec))


def verdicts(home: Home, task: str) -> list[tuple]:
    """All verdicts on a task as LISTED, in the order in which they were stored.

    ``state``: ``counts`` or ``replaced``, and after a comma ``label changed`` where the label is another one now,
    ``no label`` where there is none, ``rule changed`` where the label is the same by another rule.
    """
    spec = find_spec(task)
    if not has_verdicts(home):
        return []
    return read_pinned(home, lambda pinned: _verdicts(pinned, spec))


def _agreement(home: Home, spec: Spec) -> list[Agreement]:
    rows = (
        _beside_labels(home, spec)
        .execute(
            """
            SELECT
                class
                , reader
                , count(*) FILTER (reader_says AND label_now)
                , count(*) FILTER (NOT reader_says AND label_now)
                , count(*) FILTER (reader_says AND NOT label_now)
                , count(*) FILTER (NOT reader_says AND NOT label_now)
                , count(*) FILTER (label_now <> label_seen)
                , count(*) FILTER (label_now IS NULL)
            FROM beside
            WHERE accepted
            GROUP BY class, reader
            ORDER BY reader
            """
        )
        .fetchall()
    )
    place = {name: number for number, name in enumerate(spec.classes)}
    found = []
    for klass, reader, *cells, changed, lost in sorted(rows, key=lambda row: place.get(row[0], len(place))):
        kappa, undefined = cohen_kappa(*cells)
        found.append(Agreement(klass, reader, sum(cells), *cells, kappa, undefined, changed, lost))
    return found


def _verdicts(home: Home, spec: Spec) -> list[tuple]:
    return (
        _beside_labels(home, spec)
        .execute(
            """
            SELECT
                verdict_no
                , instance_id
                , class
                , reader
                , CASE WHEN agree THEN 'agrees' ELSE 'disagrees' END
                , CAST(verdict_at AS VARCHAR)
                , said
                , label_seen
                , label_now
                , CASE WHEN accepted THEN 'counts' ELSE 'replaced' END
                || CASE
                    WHEN label_now IS NULL THEN ', no label'
                    WHEN label_now <> label_seen THEN ', label changed'
                    WHEN label_rule <> rule_now THEN ', rule changed'
                    ELSE ''
                END
            FROM beside
            ORDER BY verdict_no
            """
        )
        .fetchall()
    )


def _beside_labels(home: Home, spec: Spec) -> duckdb.DuckDBPyConnection:
    """A connection with ``beside``: the task's verdicts as the view has them, with ``label_now`` and ``rule_now``."""
    con = duckdb.connect()
    define_verdicts(con, verdict_files(home))
    define_view(con, Catalog.read()[VIEW], None)
    entry = read_manifest(home)["views"].get(spec.view)
    if entry is None:  # nothing is built: every verdict stands beside no label
        task, rule, label = "(SELECT NULL AS instance_id WHERE FALSE)", "NULL", "NULL"
    else:
        task, rule = parquet((Path(home.built / entry["file"]),)), sql_text(entry["rule"])
        cases = " ".join(f'WHEN {sql_text(name)} THEN task."{name}"' for name in spec.classes)
        label = f"CASE verdict.class {cases} END"
    con.execute(
        f"""
        CREATE TEMP TABLE beside AS
        SELECT verdict.*, CAST({label} AS BOOLEAN) AS label_now, CAST({rule} AS VARCHAR) AS rule_now
        FROM {VIEW} AS verdict
        LEFT JOIN {task} AS task ON verdict.instance_id = task.instance_id
        WHERE verdict.task = {sql_text(spec.name)}
        """
    )
    return con
