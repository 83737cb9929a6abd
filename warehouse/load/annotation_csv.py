"""One annotation file of the VitalDB Arrhythmia Database, read after its own header.

The real files have three layouts (480 files, case 2453, case 3828); each file is matched by the header that
it carries, nothing is read by position. A file is read by Arrow; only one that Arrow refuses, or that breaks
the contract, is walked line by line to say where.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from warehouse.errors import Problem
from warehouse.load.columns import from_numbers, to_numbers
from warehouse.maps import map_column

NAME = re.compile(r"Annotation_file_(\d+)\.csv")
BOM = b"\xef\xbb\xbf"

LAYOUTS = {
    (
        "time_second",
        "beat_type",
        "rhythm_label",
        "bad_signal_quality",
        "bad_signal_quality_label",
    ): "standard",
    ("caseid", "beat_type", "time_second", "rhythm_label", "bad_signal_quality"): "caseid",
    ("time_second", "beat_type", "rhythm_label", "bad_signal_quality_label", "bad_signal_quality"): "swapped",
}
"""Header → the layout's name in ``_load.json``."""

TRUE, FALSE = ("True", "TRUE"), ("False", "FALSE")

COLUMNS = {
    "time_second": pa.float64(),
    "beat_type": pa.string(),
    "rhythm_label": pa.string(),
    "bad_signal_quality": pa.bool_(),
    "bad_signal_quality_label": pa.string(),
}
_READ = pa_csv.ReadOptions(use_threads=False)
_PARSE = pa_csv.ParseOptions(quote_char=False, ignore_empty_lines=False)
_CONVERT = pa_csv.ConvertOptions(
    column_types={**COLUMNS, "caseid": pa.string()},
    null_values=[""],
    strings_can_be_null=True,
    true_values=list(TRUE),
    false_values=list(FALSE),
)
_MARKER = re.compile(r"(Start|End)\d+")


@dataclass(frozen=True)
class AnnotationFile:
    """What was read: ``table`` has ``row_no`` (the line in the file, the header is line 1) and COLUMNS."""

    case_id: int
    name: str
    sha256: str
    size: int
    layout: str
    has_bom: bool
    table: pa.Table


def read_annotation_file(path: Path, case_id: int) -> AnnotationFile | list[Problem]:
    """Read one file, or say everything that is wrong with it."""
    data = path.read_bytes()
    text = data.removeprefix(BOM)
    first = text.split(b"\n", 1)[0].rstrip(b"\r")
    try:
        text.decode("utf-8")
        header = tuple(first.decode("ascii").split(","))
    except UnicodeDecodeError:
        return _encoding_problems(path.name, text)
    if header not in LAYOUTS:
        expected = " or ".join(",".join(known) for known in LAYOUTS)
        return [Problem(path.name, f"header {','.join(header)!r}", expected, 1)]
    try:
        table = pa_csv.read_csv(pa.py_buffer(data), _READ, _PARSE, _CONVERT)
    except pa.ArrowInvalid as error:
        return _walk(path.name, case_id, text) or [
            Problem(path.name, str(error), "a CSV of five fields a row")
        ]
    if not _keeps_contract(table, case_id, text):
        return _walk(path.name, case_id, text)
    if "bad_signal_quality_label" not in table.column_names:
        nothing = pa.nulls(table.num_rows, pa.string())
        table = table.append_column("bad_signal_quality_label", nothing)
    table = table.select(list(COLUMNS))
    row_no = from_numbers(np.arange(2, table.num_rows + 2, dtype=np.int32))
    return AnnotationFile(
        case_id,
        path.name,
        hashlib.sha256(data).hexdigest(),
        len(data),
        LAYOUTS[header],
        data.startswith(BOM),
        table.add_column(0, "row_no", row_no),
    )


def _keeps_contract(table: pa.Table, case_id: int, text: bytes) -> bool:
    """The same rules as :func:`_fault`, on whole columns."""
    if table["time_second"].null_count or table.num_rows == 0:
        return False
    times = to_numbers(table["time_second"])
    labels = table["bad_signal_quality_label"] if "bad_signal_quality_label" in table.column_names else None
    return (
        table["bad_signal_quality"].null_count == 0
        and bool(np.isfinite(times).all() and times[0] >= 0 and (np.diff(times) >= 0).all())
        and _all_in(table["rhythm_label"], map_column("vitaldb_rhythm", "spelling"))
        and _all_in(table["beat_type"], map_column("vitaldb_beat", "beat_type"))
        and (
            labels is None
            or all(_MARKER.fullmatch(value) for value in pc.unique(labels).to_pylist() if value)
        )
        and ("caseid" not in table.column_names or _all_in(table["caseid"], _case_spellings(case_id)))
    )


def _all_in(column: pa.ChunkedArray, known: tuple[str, ...]) -> bool:
    return set(pc.unique(column).to_pylist()) <= {None, *known}


def _case_spellings(case_id: int) -> tuple[str, ...]:
    return (str(case_id), f"{case_id}.0")


def _encoding_problems(name: str, text: bytes) -> list[Problem]:
    if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return [Problem(name, "UTF-16 text", "UTF-8", 1)]
    for number, line in enumerate(text.split(b"\n"), start=1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            return [
                Problem(name, f"byte 0x{line[error.start]:02x}, which is not UTF-8", "UTF-8 text", number)
            ]
    return [Problem(name, "a header that is not ASCII", "the column names in plain letters", 1)]


def _walk(name: str, case_id: int, text: bytes) -> list[Problem]:
    """Say row by row what :func:`_keeps_contract` only knows of the whole file."""
    lines = io.StringIO(text.decode("utf-8"), newline="")
    reader = csv.reader(lines, quoting=csv.QUOTE_NONE)
    header = next(reader)
    problems: list[Problem] = []
    before = -math.inf
    for number, fields in enumerate(reader, start=2):
        if len(fields) != len(header):
            problems.append(Problem(name, f"{len(fields)} fields", f"{len(header)}", number))
            continue
        row = dict(zip(header, fields, strict=True))
        fault = _fault(row, case_id, before)
        if fault is not None:
            problems.append(Problem(name, *fault, number))
        else:
            before = float(row["time_second"])
    if before == -math.inf and not problems:
        problems.append(Problem(name, "no rows", "at least one annotation row"))
    return problems


def _fault(row: dict[str, str], case_id: int, before: float) -> tuple[str, str] | None:
    """What is wrong with a row: (found, expected)."""
    rhythms, beats = map_column("vitaldb_rhythm", "spelling"), map_column("vitaldb_beat", "beat_type")
    try:
        time = float(row["time_second"])
    except ValueError:
        return f"time {row['time_second']!r}", "a number of seconds"
    if not math.isfinite(time) or time < 0:
        return f"time {row['time_second']!r}", "a finite number of seconds, not negative"
    if time < before:
        return f"time {time!r} after {before!r}", "rows in the order of time"
    if row["rhythm_label"] not in ("", *rhythms):
        return f"rhythm {row['rhythm_label']!r}", f"one of {', '.join(rhythms)}, or empty"
    if row["beat_type"] not in ("", *beats):
        return f"beat type {row['beat_type']!r}", f"one of {', '.join(beats)}, or empty"
    if row["bad_signal_quality"] not in TRUE + FALSE:
        return f"bad_signal_quality {row['bad_signal_quality']!r}", "True or False"
    marker = row.get("bad_signal_quality_label", "")
    if marker and not _MARKER.fullmatch(marker):
        return f"bad_signal_quality_label {marker!r}", "Start or End with a number, or empty"
    if row.get("caseid", "") not in ("", *_case_spellings(case_id)):
        return f"caseid {row['caseid']!r}", f"{case_id}, as the file's name says, or empty"
    return None
