"""A query with its answer: what a page shows, and the SQL by which a reader gets the same."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb

from warehouse.errors import RegistryError


@dataclass(frozen=True)
class Answer:
    """``rows`` are dictionaries by column, in the order of the query."""

    sql: str
    rows: tuple[dict[str, Any], ...]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def only(self) -> dict[str, Any]:
        """The row of a query that has one."""
        (row,) = self.rows
        return row


def plain(sql: str) -> str:
    """A query without the indentation that it has in a Python file."""
    return textwrap.dedent(sql).strip()


def ask(con: duckdb.DuckDBPyConnection, sql: str) -> Answer:
    """Run one SELECT; the answer keeps its text, fit to be run again.

    Raises RegistryError where a view or a map that it reads fails on what is loaded.
    """
    sql = plain(sql)
    try:
        found = con.execute(sql)
        columns = [column[0] for column in found.description]
        return Answer(sql, tuple(dict(zip(columns, row, strict=True)) for row in found.fetchall()))
    except duckdb.DataError as error:
        raise RegistryError(
            f"found {error}; expected an answer to\n{sql}", "mend the view or the map"
        ) from error
