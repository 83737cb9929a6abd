"""A submission against its task: which row is which instance, and everything that is wrong with it at once.

A row is named by ``instance_id``, or by ``case_id`` (``caseid``, ``record_id``) and ``start_s``. Scores stand
in a column per class, named as the spec names it; a task with one class also accepts ``score``. Other
columns are ignored.

Every instance that counts in the part (scored, not left out) needs exactly one row with a score in [0, 1].
Rows of the task's other instances are ignored and counted, whatever their scores are, but no instance may
come twice and no row may name an instance that the task does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from pipelines.tables import Table, read_table
from warehouse.errors import SHOWN, InputError, Problem, UsageError

RECORD_COLUMNS = ("case_id", "caseid", "record_id")
SCORE = "score"


@dataclass(frozen=True)
class Submission:
    """Scores of the instances that count.

    `rows` are positions in the task's instances, ascending, (n,); `scores` a float64 matrix (n, k) in the
    order of the task's classes; `ignored` counts the other rows by why they are ignored.
    """

    file: str
    sha256: str
    rows: np.ndarray
    scores: np.ndarray
    ignored: dict[str, int]
    notes: dict[str, str]


def counting_rows(instances: pl.DataFrame, part: str) -> np.ndarray:
    """Positions of the instances that count in `part`: scored and not left out.

    UsageError when the task has no such part.
    """
    parts = instances["part"].drop_nulls().unique().sort().to_list()
    if part not in parts:
        raise UsageError(f"found no part {part!r}; expected one of: {', '.join(parts)}")
    counts = (pl.col("part") == part) & pl.col("scored") & pl.col("left_out").is_null()
    return np.flatnonzero(instances.select(counts.fill_null(False)).to_series().to_numpy())


def read_submission(
    path: str | Path, instances: pl.DataFrame, classes: Sequence[str], part: str
) -> Submission:
    """Read a file and match it with the task's instances.

    InputError lists every kind of fault with its number of rows and the first ten keys; UsageError when
    there is no such file or part.
    """
    wanted = counting_rows(instances, part)
    table = read_table(path)
    faults = _Faults(table.path.name)
    columns = _score_columns(table, classes)
    keys, found = _match(table, instances, faults)

    why = _why_ignored(instances, part)
    twice = keys.filter(found.is_not_null() & found.is_duplicated()).unique(maintain_order=True)
    faults.add(twice, "instances that come more than once", "one row for every instance")
    absent = pl.Series(wanted).is_in(found.drop_nulls().unique().implode())
    missing = instances["instance_id"].gather(wanted).filter(~absent)
    faults.add(missing, "instances without a row", f"a row for every scored instance of part {part}")

    first = found.is_not_null() & found.is_first_distinct()
    position = found.filter(first).to_numpy().astype(np.int64)
    used = why[position] == ""
    line = np.flatnonzero(first.to_numpy())[used]
    order = np.argsort(position[used], kind="stable")
    named = keys.gather(line)
    read = [_numbers(table.frame[column].gather(line), named, column, faults) for column in columns]
    faults.raise_any()

    reasons, counts = np.unique(why[position[~used]], return_counts=True)
    return Submission(
        file=table.path.name,
        sha256=table.sha256,
        rows=position[used][order],
        scores=np.stack(read, axis=1)[order],
        ignored=dict(zip(reasons.tolist(), counts.tolist(), strict=True)),
        notes=table.notes,
    )


class _Faults:
    """Faults by kind; the message names the first ten keys of each kind."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []

    def add(self, keys: pl.Series, found: str, expected: str) -> None:
        if not len(keys):
            return
        count = f"{len(keys)}, the first {SHOWN} of them" if len(keys) > SHOWN else len(keys)
        shown = ", ".join(key or "(none)" for key in keys.cast(pl.String).head(SHOWN).to_list())
        self.problems.append(Problem(self.file, f"{found} ({count}): {shown}", expected))

    def raise_any(self) -> None:
        if self.problems:
            raise InputError(
                f"{self.file}: the submission is rejected", self.problems, "mend these rows and score again"
            )


def _reject(table: Table, found: str, expected: str, step: str | None = None) -> InputError:
    problem = Problem(table.path.name, found, expected)
    return InputError(f"{table.path.name}: the submission is rejected", [problem], step)


def _score_columns(table: Table, classes: Sequence[str]) -> list[str]:
    """The columns that hold the classes' scores, in the order of the classes."""
    present = table.frame.columns
    if len(classes) == 1 and SCORE in present:
        if classes[0] in present:
            raise _reject(table, f"both columns {classes[0]} and {SCORE}", "one score column", "drop one")
        return [SCORE]
    absent = [name for name in classes if name not in present]
    if absent:
        either = f" (or {SCORE})" if len(classes) == 1 else ""
        found = f"no column {', '.join(absent)}{either} among: {', '.join(present)}"
        raise _reject(table, found, "a column of scores named as the class", _delimiter_hint(present))
    return list(classes)


def _delimiter_hint(columns: Sequence[str]) -> str | None:
    odd = len(columns) == 1 and any(mark in columns[0] for mark in ";\t")
    return "separate the columns with commas" if odd else None


def _match(table: Table, instances: pl.DataFrame, faults: _Faults) -> tuple[pl.Series, pl.Series]:
    """Each row's key as text, and its position in the instances (null where unknown)."""
    frame = table.frame
    record = [name for name in RECORD_COLUMNS if name in frame.columns]
    if len(record) > 1:
        raise _reject(table, f"columns {' and '.join(record)}", "one of them", "drop one")
    by_id = "instance_id" in frame.columns
    by_start = bool(record) and "start_s" in frame.columns and "start_s" in instances.columns
    if not by_id and not by_start:
        found = f"neither instance_id nor case_id with start_s among the columns {', '.join(frame.columns)}"
        raise _reject(table, found, "columns that name an instance", _delimiter_hint(frame.columns))
    found = keys = None
    if by_id:
        keys = _text(frame["instance_id"])
        found = _positions(pl.DataFrame({"id": keys}), pl.DataFrame({"id": _text(instances["instance_id"])}))
    if by_start:
        rows = pl.DataFrame({"record": _record(frame[record[0]]), "start": _float(frame["start_s"])})
        theirs = pl.DataFrame(
            {"record": _record(instances["record_id"]), "start": _float(instances["start_s"])}
        )
        place = _positions(rows, theirs)
        if found is None:
            found = place
            keys = _text(frame[record[0]]).fill_null("") + "_" + _text(frame["start_s"]).fill_null("")
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


def _text(column: pl.Series) -> pl.Series:
    """Cells as text, null where a cell is no plain value."""
    if column.dtype.is_nested() or column.dtype == pl.Binary:
        return pl.Series(column.name, [None] * len(column), dtype=pl.String)
    return column.cast(pl.String).str.strip_chars()


def _record(column: pl.Series) -> pl.Series:
    """Record names as text; a whole number written as 12.0 (a frame's habit with nulls about) is 12."""
    return _text(column).str.replace(r"^(\d+)\.0+$", "$1")


def _float(column: pl.Series) -> pl.Series:
    """Cells as float64, null where a cell is no number."""
    if not column.dtype.is_numeric():
        column = pl.Series(column.name, [None] * len(column)) if column.dtype == pl.Boolean else _text(column)
    return column.cast(pl.Float64, strict=False)


def _numbers(cells: pl.Series, keys: pl.Series, column: str, faults: _Faults) -> np.ndarray:
    """The scores of one column, float64 (n,); what is no number in [0, 1] becomes a fault."""
    values = _float(cells)
    number = values.is_not_null() & values.is_not_nan()
    expected = f"a number in [0, 1] in column {column}"
    faults.add(keys.filter(~number), f"rows with no number in {column}, be it empty, NaN or text", expected)
    outside = number & ~values.is_between(0, 1).fill_null(True)
    faults.add(keys.filter(outside), f"rows with a score out of range in {column}", expected)
    return values.to_numpy() + 0.0  # no negative zero: equal scores shall have equal bytes


def _why_ignored(instances: pl.DataFrame, part: str) -> np.ndarray:
    """Why an instance's row does not count, '' where it does: its part, else no label, else an exclusion."""
    why = (
        pl.when((pl.col("part") == part).fill_null(False).not_())
        .then(pl.lit("other part"))
        .when(pl.col("scored").fill_null(False).not_())
        .then(pl.lit("not scored"))
        .when(pl.col("left_out").is_not_null())
        .then(pl.lit("left out"))
        .otherwise(pl.lit(""))
    )
    return instances.select(why).to_series().to_numpy()
