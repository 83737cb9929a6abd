"""Rows for a terminal, for CSV and for JSON."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
from collections.abc import Iterable, Sequence


def as_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Aligned columns with a rule below the head; numbers to the right, NULL shown as such."""
    rows = list(rows)
    cells = [[_shown(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    right = [all(_is_number(row[n]) for row in rows) for n in range(len(columns))]

    def line(values: Sequence[str]) -> str:
        padded = (
            value.rjust(width) if is_right else value.ljust(width)
            for value, width, is_right in zip(values, widths, right, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join([line(columns), "  ".join("─" * width for width in widths), *map(line, cells)])


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Comma-separated, LF, NULL as the empty field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def as_json(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[dict]:
    """One object a row; dates and decimals as text or numbers that JSON knows, NaN and infinity as None."""
    return [dict(zip(columns, map(_plain, row), strict=True)) for row in rows]


def _shown(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}"
    return str(value)


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool))


def _plain(value: object) -> object:
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, datetime.date | datetime.time | bytes):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if isinstance(value, int | str | bool | type(None)) else str(value)
