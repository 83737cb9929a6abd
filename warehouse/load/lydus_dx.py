"""Statement cells to lines: one separator for the whole file, found once; each distinct wording stored once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.errors import Problem, UsageError
from warehouse.load.columns import constant, from_numbers, plain, to_numbers, true_where
from warehouse.load.report import LoadReport

SEPARATORS = {"newline": "\n", "literal-newline": "\\n", "pipe": "|"}
"""Name → what stands between two lines. ``;`` and ``,`` stand inside statements and never part them."""
NONE = "none"
LONGEST = 300
FEWEST = 1.5
SHOWN = 20


@dataclass(frozen=True)
class Lines:
    """(n,) lines of all records. ``text`` is NFKC; ``record`` and ``row_no`` (n,) ascending: the record's place
    in its table and the row that the line stands in."""

    record: np.ndarray
    row_no: np.ndarray
    text: pa.Array
    separator: str

    def numbers(self) -> np.ndarray:
        """(n,) int32: 1, 2, … within each record."""
        place = np.arange(len(self.record))
        first = np.concatenate([[True], self.record[1:] != self.record[:-1]]) if len(place) else place == 0
        return (place - np.maximum.accumulate(np.where(first, place, 0)) + 1).astype(np.int32)


def split_cells(cells: pa.ChunkedArray, asked: str | None, where: str, report: LoadReport) -> Lines:
    """Lines of a column with a row a record: text cells, or lists of lines."""
    cells = plain(cells)
    if pa.types.is_list(cells.type):
        lists, name = cells, "list column"
    else:
        name = asked or find_separator(cells, report)
        if name not in (*SEPARATORS, NONE):
            raise UsageError(f"found dx separator {name!r}; expected one of {', '.join((*SEPARATORS, NONE))}")
        if name == "newline":
            cells = pc.replace_substring(pc.replace_substring(cells, "\r\n", "\n"), "\r", "\n")
        lists = pc.split_pattern(cells, SEPARATORS[name] if name != NONE else "\0")
    record = to_numbers(pc.list_parent_indices(lists))
    return _kept(record, record + 2, pc.list_flatten(lists), name)


def join_rows(record: np.ndarray, row_no: np.ndarray, texts: pa.Array) -> Lines:
    """Lines of a table with a row a line, in the order of ``record``."""
    return _kept(record, row_no, texts, "a row a line")


def _kept(record: np.ndarray, row_no: np.ndarray, texts: pa.Array, separator: str) -> Lines:
    """Without blank lines: they stand where a cell ends in a separator."""
    texts = pc.utf8_trim_whitespace(pc.utf8_normalize(pc.fill_null(texts, constant("")), "NFKC"))
    kept = to_numbers(pc.utf8_length(texts)) > 0
    if not kept.all():
        texts, record, row_no = texts.take(from_numbers(np.flatnonzero(kept))), record[kept], row_no[kept]
    return Lines(record, row_no, texts, separator)


def find_separator(cells: pa.Array, report: LoadReport) -> str:
    """The separator that the most cells hold; the others are noted where they occur."""
    counts = {}
    for name, mark in SEPARATORS.items():
        has = pc.match_substring(cells, mark)
        if name == "newline":
            has = pc.or_(has, pc.match_substring(cells, "\r"))
        counts[name] = int(true_where(has).sum())
    best = max(counts, key=counts.get)
    if not counts[best]:
        return NONE
    for name, count in counts.items():
        if name != best:
            report.odd(
                f"dx cell that holds a {name} too", count, handled=f"kept inside its line; {best} parts lines"
            )
    return best


def check_lines(lines: Lines, n_records: int, where: str, asked: str | None) -> list[Problem]:
    """E11: signs that the separator is not the release's. One line a record is believed when it was asked for."""
    problems = []
    counts = np.bincount(lines.record, minlength=n_records)
    spoken = counts[counts > 0]
    median = float(np.median(spoken)) if len(spoken) else 0.0
    if median < FEWEST and asked != NONE:
        problems.append(
            Problem(
                f"E11 {where}",
                f"{median:g} lines in the median record (separator: {lines.separator})",
                f"at least {FEWEST}; another --dx-separator may part them, and '{NONE}' takes a cell as one line",
            )
        )
    length = to_numbers(pc.utf8_length(lines.text))
    problems += [
        Problem(
            f"E11 {where}",
            f"a line of {length[place]} characters ({lines.text[place].as_py()[:40]!r}…)",
            f"at most {LONGEST}; another separator may part it, see --dx-separator",
            int(lines.row_no[place]),
        )
        for place in np.flatnonzero(length > LONGEST)[:SHOWN].tolist()
    ]
    return problems


def dictionary(lines: Lines) -> tuple[np.ndarray, pa.Table]:
    """(n,) int32 text ids, and ``dx_text``: ids follow the order of the texts, whatever the order of the rows."""
    encoded = pc.dictionary_encode(lines.text)
    order = to_numbers(pc.cast(pc.sort_indices(encoded.dictionary), pa.int64()))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    codes = rank[to_numbers(encoded.indices)] if len(lines.text) else np.empty(0, np.int32)
    table = pa.table(
        {
            "text_id": from_numbers(np.arange(len(order), dtype=np.int32)),
            "text": encoded.dictionary.take(from_numbers(order)),
            "lines": from_numbers(np.bincount(codes, minlength=len(order)).astype(np.int64)),
        }
    )
    return codes, table
