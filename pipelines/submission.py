"""A submission against its task: which row is which instance, and everything that is wrong with it at once.

A row is named by ``instance_id``, or by ``case_id`` (``caseid``, ``record_id``) and ``start_s``. What is
predicted stands in the columns that the task's kind reads (`pipelines.binary`, `pipelines.label_cells`);
other columns are ignored.

No instance may come twice and no row may name an instance that the task does not have. Rows of instances
that are not asked for are ignored and counted, whatever their cells are. An instance that is asked for and
has no row is a fault, or what the task's kind makes of it where the spec says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pipelines.binary import Binary
from pipelines.faults import Faults
from pipelines.kind import Kind
from pipelines.tables import Table, delimiter_hint, numbers, read_table, texts
from warehouse.table import one_line

RECORD_COLUMNS = ("case_id", "caseid", "record_id")


@dataclass(frozen=True)
class Submission:
    """Predictions for the instances that are asked for.

    `rows` are positions in the task's instances, ascending, (n,); `scores` the kind's matrix (n, m), classes
    first in the task's order; `ignored` counts the other rows by why they are ignored; `stated` is what the
    file itself says of who answered, and how.
    """

    file: str
    sha256: str
    rows: np.ndarray
    scores: np.ndarray
    ignored: dict[str, int]
    notes: dict[str, str]
    stated: dict[str, Any] | None = None


def read_submission(
    path: str | Path,
    instances: pl.DataFrame,
    classes: Sequence[str],
    part: str,
    *,
    kind: Kind | None = None,
    missing_row: str = "error",
    first: int | None = None,
) -> Submission:
    """Read a file and match it with the task's instances.

    `kind` is the task's (binary where None), `missing_row` the spec's rule. InputError lists every kind of
    fault with its number of rows and the first ten keys; UsageError when there is no such file or part.
    """
    kind = kind or Binary()
    wanted = kind.rows(instances, part, first)
    table = read_table(path)
    file = one_line(table.path.name)
    faults = Faults(file)
    reader = kind.reader(table, classes, faults)
    keys, found = _match(table, instances, faults)

    why = _why_ignored(instances, part, kind.rows(instances, part), wanted, first)
    twice = keys.filter(found.is_not_null() & found.is_duplicated()).unique(maintain_order=True)
    faults.add(twice, "instances that come more than once", "one row for every instance")
    missing = wanted[~pl.Series(wanted).is_in(found.drop_nulls().unique().implode()).to_numpy()]
    if missing_row == "error":
        expected = f"a row for every scored instance of part {part}"
        faults.add(instances["instance_id"].gather(missing), "instances without a row", expected)

    chosen = found.is_not_null() & found.is_first_distinct()
    position = found.filter(chosen).to_numpy().astype(np.int64)
    used = why[position] == ""
    lines = np.flatnonzero(chosen.to_numpy())[used]
    read = None if reader is None else reader(lines, keys.gather(lines))
    faults.raise_any()

    rows = np.concatenate([position[used], missing])
    scores = np.concatenate([read, kind.absent(len(missing), len(classes))])
    order = np.argsort(rows, kind="stable")
    reasons, counts = np.unique(why[position[~used]], return_counts=True)
    return Submission(
        file=file,
        sha256=table.sha256,
        rows=rows[order],
        scores=scores[order],
        ignored=dict(zip(reasons.tolist(), counts.tolist(), strict=True)),
        notes=table.notes,
        stated=kind.stated(table),
    )


def _match(table: Table, instances: pl.DataFrame, faults: Faults) -> tuple[pl.Series, pl.Series]:
    """Each row's key as text, and its position in the instances (null where unknown)."""
    frame = table.frame
    record = [name for name in RECORD_COLUMNS if name in frame.columns]
    if len(record) > 1:
        faults.add_file(f"columns {' and '.join(record)}", "one of them", "drop one")
        faults.raise_any()
    by_id = "instance_id" in frame.columns
    by_start = bool(record) and "start_s" in frame.columns and "start_s" in instances.columns
    if not by_id and not by_start:
        wanted = (
            "neither instance_id nor case_id with start_s"
            if "start_s" in instances.columns
            else "no instance_id"
        )
        found = f"{wanted} among the columns {', '.join(frame.columns)}"
        faults.add_file(found, "columns that name an instance", delimiter_hint(frame.columns))
        faults.raise_any()
    found = keys = None
    if by_id:
        keys = texts(frame["instance_id"])
        found = _positions(pl.DataFrame({"id": keys}), pl.DataFrame({"id": texts(instances["instance_id"])}))
    if by_start:
        rows = pl.DataFrame({"record": _record(frame[record[0]]), "start": numbers(frame["start_s"])})
        theirs = pl.DataFrame(
            {"record": _record(instances["record_id"]), "start": numbers(instances["start_s"])}
        )
        place = _positions(rows, theirs)
        if found is None:
            found = place
            keys = texts(frame[record[0]]).fill_null("") + "_" + texts(frame["start_s"]).fill_null("")
        else:
            contradict = keys.filter(found.is_not_null() & found.ne_missing(place))
            expected = f"instance_id, {record[0]} and start_s that name the same instance"
            faults.add(contradict, f"rows whose {record[0]} and start_s say another instance", expected)
    faults.add(keys.filter(found.is_null()), "rows of unknown instances", "instances of the task")
    return keys, found


def _positions(rows: pl.DataFrame, instances: pl.DataFrame) -> pl.Series:
    """For each row the position of the instance with the same columns, null where there is none."""
    known = instances.with_row_index("position")
    joined = rows.join(known, on=rows.columns, how="left", maintain_order="left", nulls_equal=False)
    return joined["position"].cast(pl.Int64)


def _record(column: pl.Series) -> pl.Series:
    """Record names as text; a whole number written as 12.0 (a frame's habit with nulls about) is 12."""
    return texts(column).str.replace(r"^(\d+)\.0+$", "$1")


def _why_ignored(
    instances: pl.DataFrame, part: str, asked: np.ndarray, wanted: np.ndarray, first: int | None
) -> np.ndarray:
    """Why an instance's row does not count, '' where it does: its part, else no label, else an exclusion.

    `asked` are the positions that the kind asks for, `wanted` those of them that are among the first.
    """
    why = (
        pl.when((pl.col("part") == part).fill_null(False).not_())
        .then(pl.lit("other part"))
        .when(pl.col("scored").fill_null(False).not_())
        .then(pl.lit("not scored"))
        .when(pl.col("left_out").is_not_null())
        .then(pl.lit("left out"))
        .otherwise(pl.lit(""))
    )
    found = instances.select(why).to_series().to_numpy().astype(object)
    found[asked] = f"not among the first {first}"
    found[wanted] = ""
    return found
