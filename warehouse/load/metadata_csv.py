"""The two tables beside the annotations: metadata.csv (one row a case) and VitalDB's clinical table (subjects)."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from warehouse.errors import InputError, Problem
from warehouse.load.columns import from_rows

METADATA = pa.schema(
    [
        ("case_id", pa.int32()),
        ("analysis_start_time_sec", pa.float64()),
        ("analysis_end_time_sec", pa.float64()),
        ("analyzed_duration_sec", pa.float64()),
        ("total_beats", pa.int32()),
        ("rhythm_classes", pa.string()),
        ("source_file", pa.string()),
        ("row_no", pa.int32()),
    ]
)

DESCRIPTIONS = ("age", "sex", "asa", "department", "optype")
"""Clinical columns that are kept, as text, where the table has them (age can be '>89')."""

CLINICAL = pa.schema(
    [
        ("case_id", pa.int32()),
        ("subject_id", pa.int32()),
        *((name, pa.string()) for name in DESCRIPTIONS),
        ("source_file", pa.string()),
        ("row_no", pa.int32()),
    ]
)


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and fields of a CSV with a header. Raises InputError on another encoding or a ragged row."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path.name}: rejected",
            [Problem(path.name, f"a byte that is not UTF-8 ({error.reason})", "UTF-8 text")],
            "save the table as UTF-8 and load again",
        ) from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    for row in reader:
        if None in row or None in row.values():
            raise InputError(
                f"{path.name}: rejected",
                [
                    Problem(
                        path.name, "another number of fields than the header's", "as many", reader.line_num
                    )
                ],
                "the file looks half copied or edited: copy it again",
            )
        yield reader.line_num, row


def header_of(path: Path) -> tuple[str, ...]:
    """The column names, empty for a file that is no UTF-8 text."""
    with path.open("rb") as file:
        first = file.readline(1 << 16)
    try:
        return tuple(next(csv.reader([first.decode("utf-8-sig").strip()]), ()))
    except UnicodeDecodeError:
        return ()


def read_metadata(path: Path) -> pa.Table:
    """metadata.csv after METADATA: columns by name, others ignored (release 1.0.0 joins the clinical table)."""
    names = [field.name for field in METADATA if field.name not in ("source_file", "row_no")]
    _require(path, names)
    rows, problems = [], []
    for number, row in read_rows(path):
        try:
            case_id, total = int(row["case_id"]), int(row["total_beats"])
            times = [float(row[name]) for name in names[1:4]]
            if not all(map(math.isfinite, times)):
                raise ValueError("a time that is not finite")
        except ValueError as error:
            problems.append(
                Problem(path.name, str(error), "whole case_id and total_beats, times in s", number)
            )
            continue
        rows.append([case_id, *times, total, row["rhythm_classes"], path.name, number])
    return _table(rows, METADATA, path, problems)


def read_clinical(path: Path, case_column: str = "caseid") -> pa.Table:
    """VitalDB's clinical table after CLINICAL: case and ``subjectid`` are required, the rest is kept where present."""
    names = header_of(path)
    _require(path, [case_column, "subjectid"])
    rows, problems = [], []
    for number, row in read_rows(path):
        try:
            case_id, subject = int(row[case_column]), int(row["subjectid"])
        except ValueError as error:
            problems.append(Problem(path.name, str(error), f"whole {case_column} and subjectid", number))
            continue
        described = [row[name] or None if name in names else None for name in DESCRIPTIONS]
        rows.append([case_id, subject, *described, path.name, number])
    return _table(rows, CLINICAL, path, problems)


def _require(path: Path, names: list[str]) -> None:
    present = header_of(path)
    missing = [name for name in names if name not in present]
    if missing:
        raise InputError(
            f"{path.name}: rejected",
            [Problem(path.name, f"columns {', '.join(present[:12])}", f"also {', '.join(missing)}", 1)],
        )


def _table(rows: list[list], schema: pa.Schema, path: Path, problems: list[Problem]) -> pa.Table:
    seen: dict[int, int] = {}
    for row in rows:
        if row[0] in seen:
            problems.append(Problem(path.name, f"case {row[0]} again", f"once (row {seen[row[0]]})", row[-1]))
        seen.setdefault(row[0], row[-1])
    if problems:
        raise InputError(
            f"{path.name}: {len(problems)} rows rejected", problems, "mend the rows and load again"
        )
    return from_rows(sorted(rows, key=lambda row: row[0]), schema)
