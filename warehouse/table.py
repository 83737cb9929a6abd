"""Rows for a terminal, for CSV and for JSON, batch by batch: nothing is held that was written.

Values are those of :mod:`warehouse.stream`: None, booleans, integers, floats, decimals, text, and lists and
dictionaries of them. What is no text or number in a table or in CSV (a list, a struct, a map) is JSON there.
"""

from __future__ import annotations

import csv
import decimal
import io
import json
import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from warehouse.errors import UsageError

Row = Sequence[object]


def as_text(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """Aligned columns with a rule below the head; numbers to the right, NULL shown as such."""
    return "".join(text_pieces(columns, [list(rows)])).removesuffix("\n")


def text_pieces(columns: Sequence[str], batches: Iterable[Sequence[Row]]) -> Iterator[str]:
    """The same for rows that come in batches. The first one sets the widths; a longer cell later moves its line."""
    columns = [one_line(name) for name in columns]
    widths = [len(name) for name in columns]
    right = [True] * len(columns)

    def line(values: Sequence[str]) -> str:
        padded = (
            value.rjust(width) if is_right else value.ljust(width)
            for value, width, is_right in zip(values, widths, right, strict=True)
        )
        return "  ".join(padded).rstrip() + "\n"

    first = True
    for rows in batches:
        cells = [[_shown(value) for value in row] for row in rows]
        if first:
            widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
            right = [all(_is_number(row[n]) for row in rows) for n in range(len(columns))]
            yield line(columns) + "  ".join("─" * width for width in widths) + "\n"
            first = False
        yield "".join(map(line, cells))
    if first:
        yield from text_pieces(columns, [[]])


def csv_pieces(columns: Sequence[str], batches: Iterable[Sequence[Row]]) -> Iterator[str]:
    """Comma-separated, LF, NULL as the empty field."""
    yield _csv([columns])
    for rows in batches:
        yield _csv([_cell(value) for value in row] for row in rows)


def json_pieces(columns: Sequence[str], batches: Iterable[Sequence[Row]]) -> Iterator[str]:
    """One array with an object a row. Integers and decimals are exact numbers, NaN and infinity are null.

    UsageError when two columns have the same name, of which an object keeps one.
    """
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise UsageError(
            f"found more than one column named {', '.join(twice)}; expected every name once in JSON",
            "name them with AS, or ask for --csv",
        )
    keys = [json.dumps(name, ensure_ascii=False) + ": " for name in columns]
    start = "["
    for rows in batches:
        if rows:
            objects = (
                "{" + ", ".join(key + json_text(value) for key, value in zip(keys, row, strict=True)) + "}"
                for row in rows
            )
            yield start + ",\n".join(objects)
            start = ",\n"
    yield "[]\n" if start == "[" else "]\n"


def one_line(text: str) -> str:
    """Text without what breaks a line or hides in it: control, format and separator signs as escapes."""
    if text.isprintable():
        return text
    return "".join(
        sign.encode("unicode_escape").decode()
        if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else sign
        for sign in text
    )


def json_text(value: object) -> str:
    """A value as JSON; a decimal keeps all its digits."""
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "null"
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(json_text, value)) + "]"
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json_text(str(key))}: {json_text(item)}" for key, item in value.items()) + "}"
        )
    return json.dumps(str(value), ensure_ascii=False)


def _csv(rows: Iterable[Row]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool | decimal.Decimal | list | tuple | dict):
        return json_text(value)
    return value


def _shown(value: object) -> str:
    if value is None:
        return "NULL"
    return one_line(str(_cell(value)))


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool))
