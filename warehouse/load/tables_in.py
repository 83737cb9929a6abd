"""Tables of a release in whatever file they come: CSV or TSV, packed or not, a workbook, Parquet. All as text.

A text file is read as UTF-8 (with or without a byte-order mark) or else as CP949, strictly: nothing is
replaced, and a byte that fits neither is named with its line and offset. Rows count as a spreadsheet counts
them: the header is row 1, the first record row 2, whatever line feeds stand inside the cells.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import lzma
import mmap
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from warehouse.digests import source_digest
from warehouse.errors import InputError, Problem, UsageError
from warehouse.load.columns import from_texts

SUFFIXES = (".csv", ".csv.xz", ".csv.gz", ".tsv", ".tsv.xz", ".tsv.gz", ".xlsx", ".parquet")
ENCODINGS = ("utf-8-sig", "utf-8", "cp949")
BOM = codecs.BOM_UTF8
_PIECE = 1 << 20


@dataclass(frozen=True)
class TextTable:
    """``table`` has text columns (lists of text where Parquet has lists), named as in the file."""

    name: str
    sha256: str
    size: int
    encoding: str | None
    """None where the format carries its own."""
    table: pa.Table

    def as_source(self) -> dict:
        """The entry for ``sources`` of a load's report."""
        return {
            "file": self.name,
            "sha256": self.sha256,
            "bytes": self.size,
            "rows": self.table.num_rows,
            "encoding": self.encoding,
        }


def is_table(path: Path) -> bool:
    return path.name.lower().endswith(SUFFIXES)


def read_table(path: Path, *, encoding: str | None = None, code: str = "") -> TextTable:
    """Read a whole table.

    ``encoding`` overrides the search; ``code`` stands before messages about bytes that cannot be decoded.
    Raises InputError with file and row for what is no table, UsageError for a suffix or encoding not known.
    """
    kind = _kind(path)
    if encoding is not None and encoding not in ENCODINGS:
        raise UsageError(f"found encoding {encoding!r}; expected one of {', '.join(ENCODINGS)}")
    size, digest = path.stat().st_size, source_digest(path)
    used = None
    if kind == "parquet":
        table = _read_parquet(path)
    elif kind == "xlsx":
        table = _read_workbook(path)
    else:
        data = _unpacked(path)
        used = _encoding_of(path.name, data, encoding, code)
        table = _read_text(path.name, data, used)
    doubled = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
    if doubled:
        raise _rejected(path.name, f"column {', '.join(map(repr, doubled))} twice", "each column once", 1)
    return TextTable(path.name, digest, size, used, table)


def header_of(path: Path) -> tuple[str, ...]:
    """The column names alone; empty when the file is no table."""
    try:
        kind = _kind(path)
        if kind == "parquet":
            return tuple(pq.read_schema(path).names)
        if kind == "xlsx":
            return tuple(_text_of(cell) or "" for cell in next(iter(_sheet(path).iter_rows()), ()))
        with _opened(path) as file:
            first = file.readline(1 << 16)
        for name in ENCODINGS:
            try:
                return tuple(_header(first.decode(name)))
            except UnicodeDecodeError:
                continue
    except (
        OSError,
        EOFError,
        lzma.LZMAError,
        zlib.error,
        pa.ArrowInvalid,
        InputError,
        UsageError,
        csv.Error,
    ):
        pass
    return ()


def file_as_source(path: Path, rows: int) -> dict:
    """The entry for ``sources`` of a load's report."""
    return {"file": path.name, "sha256": source_digest(path), "bytes": path.stat().st_size, "rows": rows}


def files_as_source(name: str, files: Iterable[Path], rows: int) -> dict:
    """The entry for ``sources`` of many files: one digest over their names and digests."""
    digest, size = hashlib.sha256(), 0
    for path in files:
        digest.update(f"{path.name} {source_digest(path)}\n".encode())
        size += path.stat().st_size
    return {"file": name, "sha256": digest.hexdigest(), "bytes": size, "rows": rows}


def _kind(path: Path) -> str:
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix.strip(".").split(".")[0]
    raise UsageError(f"{path}: found no table that can be read; expected a file in {', '.join(SUFFIXES)}")


def _rejected(name: str, found: str, expected: str, row: int | str | None = None, step: str | None = None):
    return InputError(
        f"{name}: rejected, nothing loaded",
        [Problem(name, found, expected, row)],
        step or "mend the file, or copy it again",
    )


def _opened(path: Path):
    if path.suffix.lower() == ".xz":
        return lzma.open(path)
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


def _unpacked(path: Path) -> bytes | mmap.mmap:
    """The file's text as bytes; a plain file stays on the disk."""
    if path.stat().st_size == 0:
        raise _rejected(path.name, "an empty file", "a header and at least one row", 1)
    if path.suffix.lower() not in (".xz", ".gz"):
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        with _opened(path) as file:
            return file.read()
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise _rejected(
            path.name,
            f"a packed stream that breaks off ({error})",
            "a whole file",
            step="copy the file again",
        ) from None


def _encoding_of(name: str, data: bytes | mmap.mmap, asked: str | None, code: str) -> str:
    """The first encoding of :data:`ENCODINGS` that decodes every byte."""
    where = f"{code} {name}".strip()
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or data[: 1 << 16].find(b"\0") >= 0:
        raise _rejected(where, "UTF-16 text or bytes of no text", "UTF-8 or CP949 text", 1)
    refusals = {}
    with_mark = data[:3] == BOM
    asking = (asked,) if asked else ("utf-8-sig" if with_mark else "utf-8", "cp949")
    for encoding in asking:
        offset = _first_undecodable(data, encoding)
        if offset is None:
            return encoding
        refusals[encoding] = offset
    encoding, offset = max(refusals.items(), key=lambda each: each[1])
    others = "; ".join(f"{each} fails at offset {place:,}" for each, place in refusals.items())
    raise _rejected(
        where,
        f"byte 0x{data[offset]:02x} at offset {offset:,}, which is not {encoding} ({others})",
        " or ".join(asking) + " text",
        f"line {1 + data[:offset].count(bytes([10])):,}",
        "save the table as UTF-8 and load again, or name its encoding in lydus.toml",
    )


def _first_undecodable(data: bytes | mmap.mmap, encoding: str) -> int | None:
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    for start in range(0, len(data), _PIECE):
        held = len(decoder.getstate()[0])
        piece = data[start : start + _PIECE]
        try:
            decoder.decode(piece, final=start + _PIECE >= len(data))
        except UnicodeDecodeError as error:
            return start - held + error.start
    return None


def _header(line: str) -> list[str]:
    line = line.rstrip("\r\n")
    return next(csv.reader([line], delimiter=_delimiter(line)), [])


def _delimiter(header: str) -> str:
    return "\t" if "\t" in header else ","


def _read_text(name: str, data: bytes | mmap.mmap, encoding: str) -> pa.Table:
    if encoding == "cp949":
        data = bytes(data).decode("cp949").encode("utf-8")
    end = data.find(b"\n")
    first = data[: end if end >= 0 else len(data)].decode("utf-8-sig")
    names = _header(first)
    if not any(names):
        raise _rejected(name, "a first line without column names", "a header", 1)
    delimiter = _delimiter(first)
    try:
        return pa_csv.read_csv(
            pa.py_buffer(data),
            pa_csv.ReadOptions(block_size=16 * _PIECE),
            pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        raise _ragged(name, data, delimiter, len(names), str(error)) from None


def _ragged(name: str, data: bytes | mmap.mmap, delimiter: str, width: int, said: str) -> InputError:
    """Say which rows Arrow did not like."""
    problems = []
    try:
        reader = csv.reader(
            io.StringIO(bytes(data).decode("utf-8-sig"), newline=""), delimiter=delimiter, strict=True
        )
        for row, fields in enumerate(reader, start=1):
            if fields and len(fields) != width:
                problems.append(Problem(name, f"{len(fields)} fields", f"{width}, as in the header", row))
    except csv.Error as error:
        problems.append(Problem(name, f"{error}", "quotes that close", row + 1))
    return InputError(
        f"{name}: rejected, nothing loaded",
        problems or [Problem(name, said, "a table of text")],
        "the file looks half copied or edited: copy it again",
    )


def _read_parquet(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise _rejected(path.name, str(error), "a whole Parquet file", step="copy the file again") from None
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        is_list = pa.types.is_list(field.type) or pa.types.is_large_list(field.type)
        try:
            columns.append(pc.cast(column, pa.list_(pa.string()) if is_list else pa.string()))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            raise _rejected(
                path.name, f"column {field.name!r} of type {field.type}", "text, numbers or lists of text"
            ) from None
    return pa.table(columns, names=table.column_names)


def _sheet(path: Path):
    import python_calamine

    try:
        return python_calamine.CalamineWorkbook.from_path(path).get_sheet_by_index(0)
    except (python_calamine.CalamineError, OSError) as error:
        raise _rejected(path.name, str(error), "a whole workbook", step="copy the file again") from None


def _read_workbook(path: Path) -> pa.Table:
    """The first sheet. Whole numbers lose the ``.0`` that a workbook gives them."""
    rows = [[_text_of(cell) for cell in row] for row in _sheet(path).iter_rows()]
    if not rows or not any(rows[0]):
        raise _rejected(path.name, "a first sheet without column names", "a header", 1)
    while rows and not any(rows[-1]):
        rows.pop()
    names = [name or "" for name in rows[0]]
    return pa.table(
        [from_texts([row[place] for row in rows[1:]]) for place in range(len(names))], names=names
    )


def _text_of(cell: object) -> str | None:
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return str(cell).replace("_x000D_", "") if cell not in (None, "") else None
