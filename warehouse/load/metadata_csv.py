"""The two tables beside the annotations: metadata.csv (one row a case) and VitalDB's clinical table (subjects)."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from warehouse.errors import InputError, Problem
from warehouse.load.columns import from_columns
from warehouse.load.fields import SECONDS_IN_RANGE, WHOLE_IN_RANGE, quoted, seconds, wholes
from warehouse.load.folder import bytes_of

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


def read_columns(
    path: Path, required: Sequence[str], wanted: Sequence[str]
) -> tuple[list[int], dict[str, list[str]]]:
    """Line numbers, and the texts of the ``wanted`` columns that are there, of a CSV with a header.

    Raises InputError on another encoding, a ragged row, a column that is twice there or, of ``required``, not.
    """
    text = io.StringIO(_text_of(path), newline="")
    reader = csv.reader(text, strict=True)  # so that a cut inside quotes is an error
    numbers: list[int] = []
    rows: list[list[str]] = []
    try:
        names = next(reader, [])
        _check_header(path, names, required)
        for row in reader:
            if row and len(row) != len(names):
                raise _rejected(
                    path,
                    Problem(
                        path.name, f"{len(row)} fields", f"{len(names)}, as in the header", reader.line_num
                    ),
                    "the file looks half copied or edited: copy it again",
                )
            if row:
                numbers.append(reader.line_num)
                rows.append(row)
    except csv.Error as error:
        raise _rejected(
            path,
            Problem(path.name, str(error), "a table of text", reader.line_num),
            "the file looks half copied or edited: copy it again",
        ) from None
    places = {name: names.index(name) for name in wanted if name in names}
    return numbers, {name: [row[place] for row in rows] for name, place in places.items()}


def header_of(path: Path) -> tuple[str, ...]:
    """The column names, empty for what is no UTF-8 text, no file, or cannot be read."""
    if not path.is_file():
        return ()
    try:
        with path.open("rb") as file:
            first = file.readline(1 << 16).decode("utf-8-sig")
        return tuple(next(csv.reader(io.StringIO(first.strip(), newline="")), ()))
    except (OSError, UnicodeDecodeError, csv.Error):
        return ()


def read_metadata(path: Path) -> pa.Table:
    """metadata.csv after METADATA: columns by name, others ignored (release 1.0.0 joins the clinical table)."""
    names = [field.name for field in METADATA if field.name not in ("source_file", "row_no")]
    kinds = [(name, _KINDS.get(str(METADATA.field(name).type))) for name in names]
    return _table(path, METADATA, names, kinds)


def read_clinical(path: Path, case_column: str = "caseid") -> pa.Table:
    """VitalDB's clinical table after CLINICAL: case and ``subjectid`` are required, the rest is kept where present."""
    required = [case_column, "subjectid"]
    kinds = [*((name, _KINDS["int32"]) for name in required), *((name, None) for name in DESCRIPTIONS)]
    return _table(path, CLINICAL, required, kinds)


_KINDS = {
    "int32": (wholes, WHOLE_IN_RANGE),
    "double": (lambda texts: list(map(seconds, texts)), SECONDS_IN_RANGE),
}
"""Type of a column → how its fields are read, and what is expected of them."""


def _table(
    path: Path,
    schema: pa.Schema,
    required: Sequence[str],
    kinds: Sequence[tuple[str, tuple[Callable, str] | None]],
) -> pa.Table:
    """A row a case, in the order of the cases. ``kinds``: the columns of the file in the order of ``schema``."""
    numbers, found = read_columns(path, required, [name for name, _ in kinds])
    columns: list[Sequence] = []
    problems: list[Problem] = []
    for name, kind in kinds:
        texts = found.get(name) or [""] * len(numbers)
        values = kind[0](texts) if kind else texts
        if kind and None in values:
            problems += [
                Problem(path.name, f"{name} {quoted(text)}", kind[1], number)
                for text, value, number in zip(texts, values, numbers, strict=True)
                if value is None
            ]
        columns.append(values)
    cases = columns[0]
    if len(set(cases)) < len(cases):
        problems += _again(path, cases, numbers)
    if problems:
        count = len({problem.row for problem in problems})
        problems.sort(key=lambda problem: problem.row)
        raise InputError(f"{path.name}: {count} rows rejected", problems, "mend the rows and load again")
    columns += [[path.name] * len(numbers), numbers]
    if list(cases) != sorted(cases):
        order = sorted(range(len(cases)), key=cases.__getitem__)
        columns = [[column[at] for at in order] for column in columns]
    return from_columns(columns, schema)


def _again(path: Path, cases: Sequence[int | None], numbers: Sequence[int]) -> list[Problem]:
    """The rows whose case an earlier row has."""
    first: dict[int, int] = {}
    return [
        Problem(path.name, f"case {case} again", f"once (row {first[case]})", number)
        for case, number in zip(cases, numbers, strict=True)
        if case is not None and first.setdefault(case, number) != number
    ]


def _text_of(path: Path) -> str:
    try:
        data = bytes_of(path)
    except OSError as error:
        raise _rejected(
            path,
            Problem(path.name, f"a file that cannot be read ({error.strerror})", "a readable file"),
            "check the file or the link",
        ) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise _rejected(
            path,
            Problem(path.name, f"byte 0x{data[error.start]:02x}, which is not UTF-8", "UTF-8 text", row),
            "save the table as UTF-8 and load again",
        ) from None


def _check_header(path: Path, names: Sequence[str], required: Sequence[str]) -> None:
    doubled = [name for name, count in Counter(names).items() if name and count > 1]
    if doubled:
        raise _rejected(
            path,
            Problem(path.name, f"column {', '.join(doubled)} more than once", "each column once", 1),
            "remove or rename one of them: which of the two is meant cannot be told",
        )
    missing = [name for name in required if name not in names]
    if missing:
        columns = ", ".join(names[:12]) or "none"
        raise _rejected(path, Problem(path.name, f"columns {columns}", f"also {', '.join(missing)}", 1))


def _rejected(path: Path, problem: Problem, next_step: str | None = None) -> InputError:
    return InputError(f"{path.name}: rejected, nothing loaded", [problem], next_step)
