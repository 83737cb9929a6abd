"""Numbers on a page: every one is a cell of an answer, and its element says which.

``data-sql`` is the id of the SQL on the page, ``data-row`` (from 0) and ``data-column`` the cell, ``data-value`` the
value as DuckDB gave it. A table with ``data-sql`` alone shows whole rows of the answer, ``data-columns`` which columns.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

    from pipelines.answers import Answer


def sql_id(sql: str) -> str:
    """The id of a query on a page: the same text has the same id."""
    return f"q{hashlib.sha256(sql.encode()).hexdigest()[:10]}"


def cell(answer: Answer, row: int, column: str) -> Markup:
    """The attributes of an element that shows one cell."""
    from markupsafe import Markup

    value = answer.rows[row][column]
    text = 'data-sql="{}" data-row="{}" data-column="{}" data-value="{}"'
    return Markup(text).format(sql_id(answer.sql), row, column, plain_value(value))


def plain_value(value: Any) -> str:
    """A value as ``data-value`` has it; NULL is empty."""
    return "" if value is None else str(value)


def shown(value: Any, digits: int | None = None) -> str:
    """A value as a reader sees it: thousands apart, so many digits after the point, a dash for NULL."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return (
            f"{value:,.{digits}f}"
            if digits is not None
            else f"{value:,g}"
            if abs(value) < 1e6
            else f"{value:,.0f}"
        )
    return str(value)
