"""The metadata of a LYDUS release: a row a record, and its statement lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.errors import InputError, Problem
from warehouse.load import lydus_dx
from warehouse.load.cards import card_of
from warehouse.load.columns import (
    constant,
    from_known,
    from_numbers,
    from_texts,
    plain,
    repeated,
    to_numbers,
    true_where,
)
from warehouse.load.lydus_source import MEASUREMENTS, ROLES, TEXTS, Source, columns_of
from warehouse.load.report import LoadReport
from warehouse.load.tables_in import TextTable, read_table
from warehouse.maps import map_rows

DATASET = "lydus"
SENTINELS = (29999, 32767, 65535)
"""What the device writes for a measurement that it did not make; negative numbers and 0 too, axes apart."""
SEXES = ("m", "f", "0", "1", "male", "female")
OLDEST = 120
SHOWN = 20


@dataclass(frozen=True)
class Metadata:
    """``ids`` and ``patients`` (n,) text; ``patients`` is None when the release does not name them."""

    record: pa.Table
    dx_line: pa.Table
    dx_text: pa.Table
    name: str

    @property
    def ids(self) -> list[str]:
        return self.record["record_id"].to_pylist()

    @property
    def patients(self) -> list[str] | None:
        column = self.record["patient_id"]
        return None if column.null_count == len(column) else column.to_pylist()


def read_metadata(source: Source, separator: str | None, report: LoadReport) -> Metadata:
    """Read and check the table of records and its lines. Raises InputError with everything that is wrong."""
    separator = separator or source.dx_separator
    lines_in = _read(source.dx_lines, source, report) if source.dx_lines else None
    if source.metadata is not None:
        file = _read(source.metadata, source, report)
    else:
        file = _distinct_records(lines_in, source)
    roles = columns_of(file.table.column_names, source.columns)
    if lines_in is None and "line_no" in roles and "dx" in roles:
        lines_in, file = file, _distinct_records(file, source)
        roles = columns_of(file.table.column_names, source.columns)
    _require(file, roles, ("record_id",) if lines_in is not None else ("record_id", "dx"))
    if file.table.num_rows == 0:
        raise InputError(
            f"{file.name}: nothing loaded",
            [Problem(file.name, "no rows", "at least one record", 2)],
            "copy it again",
        )
    ids = _texts(file.table[roles["record_id"]])
    problems = _check_ids(ids, file.name)
    if lines_in is None:
        cells = file.table[roles["dx"]]
        problems += _check_replacements(cells, file.name)
        lines = lydus_dx.split_cells(cells, separator, file.name, report)
        spoken_in = file.name
    else:
        lines, more = _lines_of_table(lines_in, source, ids, file.name)
        problems += more
        spoken_in = lines_in.name
    problems += lydus_dx.check_lines(lines, len(ids), spoken_in, separator)
    problems += _check_people(file, roles)
    if problems:
        raise InputError(
            f"{file.name}: {len(problems)} faults, nothing loaded",
            problems,
            "mend the rows, or name the columns and the separator in lydus.toml",
        )
    _note_columns(file, roles, report)
    report.notes.append(f"dx lines: parted by {lines.separator}")
    codes, dx_text = lydus_dx.dictionary(lines)
    silent = np.flatnonzero(_silent(lines, codes, dx_text, len(ids)))
    report.odd(
        "W15 record without an analysis",
        len(silent),
        ids.take(from_numbers(silent[:SHOWN])).to_pylist(),
        "kept; the views leave it out (lydus.exclusion_v0)",
    )
    dx_line = pa.table(
        {
            "record_id": ids.take(from_numbers(lines.record)),
            "line_no": from_numbers(lines.numbers()),
            "text_id": from_numbers(codes),
            "source_file": repeated(spoken_in, len(codes)),
            "row_no": from_numbers(lines.row_no.astype(np.int32)),
        }
    )
    return Metadata(_record_table(file, roles, ids, report), dx_line, dx_text, file.name)


def _silent(lines: lydus_dx.Lines, codes: np.ndarray, dx_text: pa.Table, n_records: int) -> np.ndarray:
    """(n,) bool: no statement line at all, or one of which the map says that nothing was analysed."""
    declared = card_of(DATASET)["silent_lines"]
    keys = [row["key"] for row in map_rows(declared["map"]) if row["kind"] == declared["kind"]]
    key = pc.replace_substring_regex(pc.utf8_lower(plain(dx_text["text"])), r"[^0-9a-z*/]", "")
    said = true_where(pc.is_in(key, from_texts(keys)))
    silent = np.bincount(lines.record, minlength=n_records) == 0
    silent[lines.record[said[codes]]] = True
    return silent


def _read(path, source: Source, report: LoadReport) -> TextTable:
    file = read_table(path, encoding=source.encoding, code="E03")
    report.sources.append(file.as_source())
    return file


def _require(file: TextTable, roles: dict[str, str], wanted: tuple[str, ...]) -> None:
    missing = [role for role in wanted if role not in roles]
    if missing:
        raise InputError(
            f"{file.name}: nothing loaded",
            [
                Problem(
                    f"E01 {file.name}",
                    f"columns {', '.join(file.table.column_names[:14])}",
                    " and ".join(f"a {role} ({', '.join(ROLES[role])})" for role in missing),
                    1,
                )
            ],
            "name the column in lydus.toml: [columns] record_id = …, dx = …",
        )


def _texts(column: pa.ChunkedArray) -> pa.Array:
    """A column of plain text without the blanks around it, an empty one NULL."""
    if pa.types.is_list(column.type):
        raise InputError("a list where text is expected; only dx may be a list")
    trimmed = pc.utf8_trim_whitespace(plain(column))
    return pc.if_else(pc.equal(trimmed, constant("")), constant(None), trimmed)


def _check_ids(ids: pa.Array, name: str) -> list[Problem]:
    problems = [
        Problem(f"E02 {name}", "an empty record id", "an id in every row", row + 2)
        for row in np.flatnonzero(true_where(pc.is_null(ids))).tolist()
    ]
    codes = pc.dictionary_encode(pc.fill_null(ids, constant(""))).indices
    codes = to_numbers(codes)
    _, first = np.unique(codes, return_index=True)
    again = np.setdiff1d(np.arange(len(codes)), first)
    if len(again):
        first_of = {codes[place]: place for place in first.tolist()}
        problems += [
            Problem(
                f"E02 {name}",
                f"record {ids[row].as_py()!r} again",
                f"once (row {first_of[codes[row]] + 2})",
                row + 2,
            )
            for row in again.tolist()
            if ids[row].is_valid
        ]
    return problems


def _check_replacements(cells: pa.ChunkedArray, name: str) -> list[Problem]:
    if pa.types.is_list(cells.type):
        cells = pc.binary_join(cells, constant("\n"))
    return [
        Problem(f"E04 {name}", "U+FFFD in dx: a character was lost before this file was written",
                "text that was never decoded with replacement", row + 2)
        for row in np.flatnonzero(true_where(pc.match_substring(cells, "\ufffd"))).tolist()
    ]  # fmt: skip


def _check_people(file: TextTable, roles: dict[str, str]) -> list[Problem]:
    """E13. Empty cells are unknown, no fault."""
    problems = []
    for role, expected in (
        ("age", f"a number from 0 to {OLDEST}, or empty"),
        ("sex", "one of M, F, 0, 1, male, female"),
    ):
        if role not in roles:
            continue
        values = _texts(file.table[roles[role]])
        if role == "age":
            number, good = _numbers(values)
            good &= (number >= 0) & (number <= OLDEST)
        else:
            good = true_where(pc.is_in(pc.utf8_lower(values), from_texts(SEXES)))
        bad = np.flatnonzero(~good & ~true_where(pc.is_null(values)))
        problems += [
            Problem(f"E13 {file.name}", f"{role} {values[row].as_py()!r}", expected, row + 2)
            for row in bad.tolist()
        ]
    return problems


def _numbers(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """(n,) float64, and whether each is a plain number below 2³¹."""
    written = pc.fill_null(pc.match_substring_regex(values, r"^[+-]?[0-9]{1,9}(\.[0-9]*)?$"), constant(False))
    number = to_numbers(pc.cast(pc.if_else(written, values, constant("0")), pa.float64()))
    return number, true_where(written)


def _lines_of_table(
    file: TextTable, source: Source, ids: pa.Array, records_in: str
) -> tuple[lydus_dx.Lines, list[Problem]]:
    """Lines of a table with a row a line, in the order of the records and of their numbers."""
    roles = columns_of(file.table.column_names, source.columns)
    _require(file, roles, ("record_id", "line_no", "dx"))
    owner, cells = _texts(file.table[roles["record_id"]]), file.table[roles["dx"]]
    number, good = _numbers(_texts(file.table[roles["line_no"]]))
    problems = [
        Problem(file.name, f"line number {file.table[roles['line_no']][row].as_py()!r}", "a number", row + 2)
        for row in np.flatnonzero(~good).tolist()
    ]
    problems += _check_replacements(cells, file.name)
    place = pc.index_in(owner, ids)
    unknown = np.flatnonzero(true_where(pc.is_null(place)))
    problems += [
        Problem(f"E08 {file.name}", f"record {owner[row].as_py()!r}", f"a record of {records_in}", row + 2)
        for row in unknown.tolist()
    ]
    record = to_numbers(pc.cast(pc.coalesce(place, from_numbers(np.zeros(1, np.int32))[0]), pa.int64()))
    order = np.lexsort([number, record])
    tied = np.flatnonzero((np.diff(record[order]) == 0) & (np.diff(number[order]) == 0))
    problems += [
        Problem(f"E02 {file.name}", f"line {number[order[each]]:g} of record {owner[order[each]].as_py()!r} again",
                "each line number once", int(order[each + 1]) + 2)
        for each in tied.tolist()
    ]  # fmt: skip
    return lydus_dx.join_rows(record[order], order + 2, plain(cells).take(from_numbers(order))), problems


def _distinct_records(lines_in: TextTable, source: Source) -> TextTable:
    """The records of a table with a row a line: the first row of each."""
    roles = columns_of(lines_in.table.column_names, source.columns)
    _require(lines_in, roles, ("record_id",))
    codes = to_numbers(
        pc.dictionary_encode(pc.fill_null(_texts(lines_in.table[roles["record_id"]]), constant(""))).indices
    )
    _, first = np.unique(codes, return_index=True)
    others = [
        name for name in lines_in.table.column_names if name not in (roles.get("dx"), roles.get("line_no"))
    ]
    table = lines_in.table.select(others).take(from_numbers(np.sort(first)))
    return TextTable(lines_in.name, lines_in.sha256, lines_in.size, lines_in.encoding, table)


def _note_columns(file: TextTable, roles: dict[str, str], report: LoadReport) -> None:
    missing = [role for role in (*TEXTS, *MEASUREMENTS) if role not in roles]
    if missing:
        report.notes.append(
            f"columns that are not there: {', '.join(missing)}; they are NULL, and checks against them are off"
        )
    ignored = [name for name in file.table.column_names if name not in roles.values()]
    if ignored:
        report.notes.append(f"columns that are not loaded: {', '.join(ignored)}")
    if file.encoding == "cp949":
        report.notes.append(f"{file.name} was read as CP949; look at a row of its Korean text to be sure")


def _record_table(file: TextTable, roles: dict[str, str], ids: pa.Array, report: LoadReport) -> pa.Table:
    n = len(ids)
    columns = {"record_id": ids}
    for role in ("patient_id", *TEXTS):
        columns[role] = _texts(file.table[roles[role]]) if role in roles else pa.nulls(n, pa.string())
    for role in MEASUREMENTS:
        if role in roles:
            columns[role] = _measurement(role, _texts(file.table[roles[role]]), ids, report)
        else:
            columns[role] = pa.nulls(n, pa.int32())
    columns["source_file"] = repeated(file.name, n)
    columns["row_no"] = from_numbers(np.arange(2, n + 2, dtype=np.int32))
    return pa.table(columns)


def _measurement(role: str, values: pa.Array, ids: pa.Array, report: LoadReport) -> pa.Array:
    """Whole numbers; W16: what says that nothing was measured becomes NULL, and is counted."""
    number, known = _numbers(values)
    number = np.floor(number + 0.5)
    unread = ~known & ~true_where(pc.is_null(values))
    sentinel = known & np.isin(number, SENTINELS)
    if not role.endswith("axis"):
        sentinel |= known & (number <= 0)
    for mask, what in ((sentinel, "sentinel"), (unread, "value that is no number")):
        places = np.flatnonzero(mask)
        found = pc.value_counts(values.take(from_numbers(places)))
        kinds = sorted((each["values"].as_py(), each["counts"].as_py()) for each in found)
        most = ", ".join(
            f"{value} × {count}" for value, count in sorted(kinds, key=lambda each: -each[1])[:5]
        )
        report.odd(
            f"W16 {role}: {what} ({most})",
            len(places),
            ids.take(from_numbers(places[:SHOWN])).to_pylist(),
            "NULL",
        )
    return from_known(number.astype(np.int32), known & ~sentinel)
