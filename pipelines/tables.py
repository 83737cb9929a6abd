"""Reading a submitted table: CSV, gzipped CSV, JSON lines or Parquet, every cell still as it was written.

CSV cells stay text, because a type that a reader guesses hides what was submitted: ``0,5`` and ``n/a`` must
come out as the row's fault. A JSON column keeps its type when all its values share one that a table has;
else what is no text is JSON text. What can be wrong with the file as a file is an error here.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from warehouse.errors import InputError, Problem, UsageError

SUFFIXES = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")

LONGEST = 1 << 26
"""Characters of a CSV field: a model's answer is longer than Python's csv takes by itself."""


@dataclass(frozen=True)
class Table:
    """A file's cells, the sha256 of its bytes, and a Parquet file's own key-value notes."""

    path: Path
    frame: pl.DataFrame
    sha256: str
    notes: dict[str, str] = field(default_factory=dict)


def read_table(path: str | Path) -> Table:
    """Read `path` by its suffix; at least one row.

    UsageError when there is no such file or its suffix is unknown, InputError when its content cannot be
    read: empty, another encoding, cut off, not what the suffix says, ragged or doubly named columns.
    """
    path = Path(path)
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no file"
        raise UsageError(f"{path}: found {what}; expected a submission ({', '.join(SUFFIXES)})")
    if not path.name.lower().endswith(SUFFIXES):
        raise UsageError(
            f"{path}: found the suffix {path.suffix or '(none)'!r}; expected one of {', '.join(SUFFIXES)}",
            "write the submission as CSV, JSON lines or Parquet and name it so",
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    if not content:
        raise _fault(path, "an empty file", "a header and a row for every instance")
    notes: dict[str, str] = {}
    if path.suffix.lower() == ".parquet":
        frame, notes = _read_parquet(path, content)
    else:
        text = _text_of(path, content)
        frame = (_read_csv if ".csv" in path.name.lower()[-7:] else _read_jsonl)(path, text)
    if frame.is_empty():
        raise _fault(path, "a header without rows", "a row for every instance")
    return Table(path, frame, hashlib.sha256(content).hexdigest(), notes)


def _fault(
    path: Path, found: str, expected: str, row: int | None = None, step: str | None = None
) -> InputError:
    return InputError("the submission cannot be read", [Problem(path.name, found, expected, row)], step)


def _read_parquet(path: Path, content: bytes) -> tuple[pl.DataFrame, dict[str, str]]:
    try:
        notes = pl.read_parquet_metadata(io.BytesIO(content))
        return pl.read_parquet(io.BytesIO(content)), notes
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise _fault(path, f"no whole Parquet file ({reason})", "Parquet", step="write it again") from error


def _text_of(path: Path, content: bytes) -> str:
    if path.suffix.lower() == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise _fault(path, f"no whole gzip ({error})", "a gzipped file", step="pack it again") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        byte = content[error.start]
        raise _fault(
            path, f"byte 0x{byte:02x}, which is no UTF-8", "UTF-8 text", line, "save the file as UTF-8"
        ) from error
    if not text.strip() or "\0" in text:
        found = "NUL characters" if "\0" in text else "an empty file"
        raise _fault(path, found, "UTF-8 text with a header and a row for every instance")
    return text


def _read_csv(path: Path, text: str) -> pl.DataFrame:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))
    rows = csv.reader(io.StringIO(text, newline=""))
    header = [name.strip() for name in next(rows)]
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise _fault(path, f"two columns named {', '.join(twice)}", "every column once", 1)
    columns: list[list[str]] = []
    try:
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise _fault(path, f"{len(row)} fields", f"{len(header)}, as in the header", rows.line_num)
            columns.append(row)
    except csv.Error as error:
        raise _fault(path, f"{error}", "CSV", rows.line_num) from error
    schema = dict.fromkeys(header, pl.String)
    return pl.DataFrame(columns, schema=schema, orient="row").with_columns(pl.all().str.strip_chars())


def _read_jsonl(path: Path, text: str) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _fault(path, f"no JSON ({error})", "a JSON object a line", number) from error
        if not isinstance(row, dict):
            raise _fault(path, f"JSON that is no object: {line[:40]}", "a JSON object a line", number)
        rows.append(row)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pl.DataFrame([_json_column(name, [row.get(name) for row in rows]) for name in names])


def _json_column(name: str, values: Sequence[Any]) -> pl.Series:
    """One type when all values share it, text otherwise; lone surrogates, which no table holds, become '?'."""
    kinds = {type(value) for value in values if value is not None}
    items = {type(item) for value in values if isinstance(value, list) for item in value}
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if kinds and kinds <= {int, float} and all(abs(value or 0) < 2**63 for value in values):
        return pl.Series(name, values, dtype=pl.Float64 if float in kinds else pl.Int64, strict=False)
    if kinds == {list} and items <= {str}:
        cells = [None if value is None else [_sound(item) for item in value] for value in values]
        return pl.Series(name, cells, dtype=pl.List(pl.String))
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(name, [None if text is None else _sound(text) for text in texts], dtype=pl.String)


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def texts(column: pl.Series) -> pl.Series:
    """Cells as text, null where a cell is no plain value."""
    if column.dtype.is_nested() or column.dtype == pl.Binary:
        return pl.Series(column.name, [None] * len(column), dtype=pl.String)
    return column.cast(pl.String).str.strip_chars()


def numbers(column: pl.Series) -> pl.Series:
    """Cells as float64, null where a cell is no number."""
    if not column.dtype.is_numeric():
        column = pl.Series(column.name, [None] * len(column)) if column.dtype == pl.Boolean else texts(column)
    return column.cast(pl.Float64, strict=False)


def delimiter_hint(columns: Sequence[str]) -> str | None:
    """What to do about a table whose only column holds another delimiter."""
    odd = len(columns) == 1 and any(mark in columns[0] for mark in ";\t")
    return "separate the columns with commas" if odd else None
