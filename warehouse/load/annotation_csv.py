"""The annotation files of the VitalDB Arrhythmia Database, each read after its own header.

The real files have three layouts (480 files, case 2453, case 3828); a file is matched by the header that it
carries, nothing is read by position. Files of one layout are read by Arrow in one go and checked as whole
columns; only when Arrow refuses something, or a column breaks the contract, is a file walked line by line to
say where.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from warehouse.errors import InputError, Problem
from warehouse.load.columns import from_numbers, from_texts, places_of, plain, to_numbers, words_of
from warehouse.load.fields import LATEST_S, SECONDS_IN_RANGE, quoted, seconds
from warehouse.load.folder import bytes_of
from warehouse.maps import map_column

NAME = re.compile(r"Annotation_file_([0-9]+)\.csv")
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

BATCH = 1 << 20
"""Arrow parses into as much memory again as it is given at once."""

TRUE, FALSE = ("True", "TRUE"), ("False", "FALSE")

WORDS = pa.dictionary(pa.int32(), pa.string())
"""Columns of few words are checked and counted by their dictionary."""
COLUMNS = {
    "time_second": pa.float64(),
    "beat_type": WORDS,
    "rhythm_label": WORDS,
    "bad_signal_quality": pa.bool_(),
    "bad_signal_quality_label": WORDS,
}
ANNOTATION = pa.schema(
    [
        pa.field("case_id", pa.int32(), nullable=False),
        pa.field("row_no", pa.int32(), nullable=False),
        *(pa.field(name, kind, nullable=kind == WORDS) for name, kind in COLUMNS.items()),
        pa.field("source_file", WORDS, nullable=False),
    ]
)
"""The raw table. ``row_no`` is the line in the file, the header is line 1."""
_PARSE = pa_csv.ParseOptions(quote_char=False, ignore_empty_lines=False)
_CONVERT = pa_csv.ConvertOptions(
    column_types={**COLUMNS, "caseid": WORDS},
    null_values=[""],
    strings_can_be_null=True,
    true_values=list(TRUE),
    false_values=list(FALSE),
)
_MARKER = re.compile(r"(Start|End)[0-9]{1,9}")

_RHYTHM = "rhythm "
_LONE_CR = ("a carriage return that ends no line", "lines that end in LF or CR LF")


@dataclass(frozen=True)
class AnnotationFile:
    """One file as found; ``rows`` are its lines below the header."""

    case_id: int
    name: str
    sha256: str
    size: int
    header: tuple[str, ...]
    has_bom: bool
    rows: int

    @property
    def layout(self) -> str:
        return LAYOUTS[self.header]


_Read = tuple[AnnotationFile, bytes]
"""A file with its bytes after the byte order mark."""


class _Unreadable(Exception):
    """A file that does not even begin as one of ours: its problems."""


def read_annotations(paths: dict[int, Path]) -> tuple[list[AnnotationFile], pa.Table]:
    """Read the files (case id → path) in their order.

    Returns the files and one table of all rows after ANNOTATION. Raises InputError with everything that is wrong, by
    file and row.
    """
    try:
        files, table = _stack(paths)
        kept, why = _keeps_contract(table), "columns that break the contract"
    except (pa.ArrowInvalid, _Unreadable) as error:
        kept, why = False, str(error)
    if not kept:
        problems = _walk_all(paths) or _said_by_arrow(paths, why)
        broken = len({problem.where for problem in problems})
        raise InputError(
            f"{broken} of {len(paths)} annotation files rejected, nothing loaded",
            problems,
            _next_step(problems),
        )
    return files, pa.Table.from_arrays(table.select(ANNOTATION.names).columns, schema=ANNOTATION)


def _next_step(problems: list[Problem]) -> str:
    unknown = [problem for problem in problems if problem.found.startswith(_RHYTHM)]
    steps = []
    if len(unknown) < len(problems):
        steps.append("copy the files again, whole, or mend the rows")
    if unknown:
        steps.append("a new rhythm name belongs into registry/maps/vitaldb_rhythm.csv")
    return "; ".join(steps)


def _open(path: Path, case_id: int) -> _Read:
    """Raises _Unreadable."""
    try:
        data = bytes_of(path)
    except OSError as error:
        problem = Problem(path.name, f"a file that cannot be read ({error.strerror})", "a readable file")
        raise _Unreadable(problem) from None
    text = data.removeprefix(BOM)
    try:
        if not text.isascii():  # which is all of them: ten times faster than to decode
            text.decode("utf-8")
        end = text.find(b"\n")
        line = text[: end if end >= 0 else len(text)].removesuffix(b"\r")
        if b"\r" in line:
            raise _Unreadable(Problem(path.name, *_LONE_CR, 1))
        header = tuple(line.decode("ascii").split(","))
    except UnicodeDecodeError:
        raise _Unreadable(_encoding_problem(path.name, text)) from None
    if header not in LAYOUTS:
        expected = " or ".join(",".join(known) for known in LAYOUTS)
        raise _Unreadable(Problem(path.name, f"header {quoted(','.join(header))}", expected, 1))
    lines = np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    rows = int(lines) - text.endswith(b"\n")
    digest = hashlib.sha256(data).hexdigest()
    return AnnotationFile(case_id, path.name, digest, len(data), header, len(text) < len(data), rows), text


def _stack(paths: dict[int, Path]) -> tuple[list[AnnotationFile], pa.Table]:
    """The files and all rows in their order; no more than a batch of the files is in memory as text.

    Raises ArrowInvalid when rows and lines do not go together, _Unreadable.
    """
    files: list[AnnotationFile] = []
    tables = []
    for header, batch in _batches(_open(path, case_id) for case_id, path in paths.items()):
        files += [file for file, _ in batch]
        tables.append(_parse(header, batch))
    stacked = pa.concat_tables(tables).unify_dictionaries()
    sizes = [file.rows for file in files]
    place = np.repeat(np.arange(len(files), dtype=np.int32), sizes)
    row_no = np.arange(2, sum(sizes) + 2, dtype=np.int32)
    row_no -= np.repeat(np.cumsum([0, *sizes[:-1]], dtype=np.int32), sizes)
    case_id = np.repeat(np.array([file.case_id for file in files], np.int32), sizes)
    source_file = pa.DictionaryArray.from_arrays(
        from_numbers(place), from_texts([file.name for file in files])
    )
    return files, (
        stacked.set_column(0, "time_second", plain(stacked["time_second"]))
        .add_column(0, "row_no", from_numbers(row_no))
        .add_column(0, "case_id", from_numbers(case_id))
        .append_column("source_file", source_file)
    )


def _batches(files: Iterable[_Read]) -> Iterator[tuple[tuple[str, ...], list[_Read]]]:
    """Neighbours of one header, some BATCH bytes at a time."""
    for header, run in groupby(files, key=lambda each: each[0].header):
        batch: list[_Read] = []
        for each in run:
            batch.append(each)
            if sum(len(text) for _, text in batch) >= BATCH:
                yield header, batch
                batch = []
        if batch:
            yield header, batch


def _parse(header: tuple[str, ...], files: list[_Read]) -> pa.Table:
    """The rows of some files of one header: COLUMNS and ``caseid``. Raises ArrowInvalid."""
    if not all(file.rows for file, _ in files):
        raise pa.ArrowInvalid("a file without rows")
    lines = [memoryview(text)[text.index(b"\n") + 1 :] for _, text in files]
    body = b"".join(part for line in lines for part in ((line,) if line[-1:] == b"\n" else (line, b"\n")))
    if body.startswith(BOM):  # which Arrow would pass over
        raise pa.ArrowInvalid("a byte order mark before a row")
    read = pa_csv.ReadOptions(column_names=header, use_threads=False, block_size=len(body) + 1)
    table = pa_csv.read_csv(pa.py_buffer(body), read, _PARSE, _CONVERT)
    rows = sum(file.rows for file, _ in files)
    if table.num_rows != rows:
        raise pa.ArrowInvalid(f"{table.num_rows} rows in {rows} lines")
    for name in (*COLUMNS, "caseid"):
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows, WORDS))
    return table.select([*COLUMNS, "caseid"])


def _keeps_contract(table: pa.Table) -> bool:
    """The same rules as :func:`_fault`, on whole columns."""
    if table["time_second"].null_count or table["bad_signal_quality"].null_count:
        return False
    times, case_id = to_numbers(table["time_second"]), to_numbers(table["case_id"])
    falls = (times[1:] < times[:-1]) & (case_id[1:] == case_id[:-1])
    spellings, named = words_of(table["caseid"]), places_of(table["caseid"])
    pairs = {(case_id[at], spellings[named[at]]) for at in np.flatnonzero(named >= 0)}
    return (
        bool((times >= 0).all() and (times <= LATEST_S).all() and not falls.any())
        and _all_in(table["rhythm_label"], map_column("vitaldb_rhythm", "spelling"))
        and _all_in(table["beat_type"], map_column("vitaldb_beat", "beat_type"))
        and all(map(_MARKER.fullmatch, words_of(table["bad_signal_quality_label"])))
        and all(text in _case_spellings(case) for case, text in pairs)
    )


def _all_in(column: pa.ChunkedArray, known: tuple[str, ...]) -> bool:
    return set(words_of(column)) <= set(known)


def _case_spellings(case_id: int) -> tuple[str, ...]:
    return (str(case_id), f"{case_id}.0")


def _encoding_problem(name: str, text: bytes) -> Problem:
    if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return Problem(name, "UTF-16 or UTF-32 text", "UTF-8", 1)
    for number, line in enumerate(text.split(b"\n"), start=1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            return Problem(name, f"byte 0x{line[error.start]:02x}, which is not UTF-8", "UTF-8 text", number)
    return Problem(name, "a header that is not ASCII", "the column names in plain letters", 1)


def _walk_all(paths: dict[int, Path]) -> list[Problem]:
    problems: list[Problem] = []
    for case_id, path in paths.items():
        try:
            _, text = _open(path, case_id)
            problems += _walk(path.name, case_id, text)
        except _Unreadable as error:
            problems += error.args
    return problems


def _said_by_arrow(paths: dict[int, Path], said: str) -> list[Problem]:
    """What Arrow refuses though the walk found nothing, file by file, with the row where Arrow names it."""
    problems = []
    for case_id, path in paths.items():
        try:
            if not _keeps_contract(_stack({case_id: path})[1]):
                problems.append(
                    Problem(path.name, "a row that breaks the contract", "rows as its header says")
                )
        except pa.ArrowInvalid as error:
            row = re.search(r"Row #(\d+)", str(error))
            problems.append(
                Problem(path.name, str(error), "rows as its header says", int(row[1]) + 1 if row else None)
            )
    return problems or [Problem("annotation files", said, "rows as their headers say")]


def _walk(name: str, case_id: int, text: bytes) -> list[Problem]:
    """Say row by row what :func:`_keeps_contract` only knows of all of them."""
    lines = text.decode("utf-8").removesuffix("\n").split("\n")
    header = lines[0].removesuffix("\r").split(",")
    problems: list[Problem] = []
    before = -math.inf
    for number, line in enumerate(lines[1:], start=2):
        line = line.removesuffix("\r")
        if "\r" in line:
            problems.append(Problem(name, *_LONE_CR, number))
            continue
        fields = line.split(",")
        if len(fields) != len(header):
            problems.append(Problem(name, f"{len(fields)} fields", f"{len(header)}", number))
            continue
        row = dict(zip(header, fields, strict=True))
        fault = _fault(row, case_id, before)
        if fault is not None:
            problems.append(Problem(name, *fault, number))
        else:
            before = seconds(row["time_second"])
    if before == -math.inf and not problems:
        problems.append(Problem(name, "no rows", "at least one annotation row"))
    return problems


def _fault(row: dict[str, str], case_id: int, before: float) -> tuple[str, str] | None:
    """What is wrong with a row: (found, expected)."""
    rhythms, beats = map_column("vitaldb_rhythm", "spelling"), map_column("vitaldb_beat", "beat_type")
    time = seconds(row["time_second"])
    if time is None:
        return f"time {quoted(row['time_second'])}", SECONDS_IN_RANGE
    if time < before:
        return f"time {time!r} after {before!r}", "rows in the order of time"
    if row["rhythm_label"] not in ("", *rhythms):
        return f"{_RHYTHM}{quoted(row['rhythm_label'])}", f"one of {', '.join(rhythms)}, or empty"
    if row["beat_type"] not in ("", *beats):
        return f"beat type {quoted(row['beat_type'])}", f"one of {', '.join(beats)}, or empty"
    if row["bad_signal_quality"] not in TRUE + FALSE:
        return f"bad_signal_quality {quoted(row['bad_signal_quality'])}", "True or False"
    marker = row.get("bad_signal_quality_label", "")
    if marker and not _MARKER.fullmatch(marker):
        return (
            f"bad_signal_quality_label {quoted(marker)}",
            "Start or End with a number of at most 9 digits, or empty",
        )
    if row.get("caseid", "") not in ("", *_case_spellings(case_id)):
        return f"caseid {quoted(row['caseid'])}", f"{case_id}, as the file's name says, or empty"
    return None
