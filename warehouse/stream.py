"""The answer to a SELECT, batch by batch, in values that lose nothing.

Booleans, integers, floats, decimals and text come as Python has them. Dates, times, intervals, blobs and every
other type come as the text that DuckDB casts them to: Python would make 30 days of a month, cut nanoseconds and
turn an infinite date into one of the year 9999. Lists, structs and maps keep their shape, their leaves likewise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb

from warehouse.errors import UsageError
from warehouse.home import Home
from warehouse.query import prepare

BATCH = 10_000

NATIVE = frozenset(
    {"boolean", "float", "double", "decimal", "varchar", "enum", "null"}
    | {"tinyint", "smallint", "integer", "bigint", "hugeint"}
    | {"utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"}
)
"""DuckDB's types, by the id of its Python package, that Python holds without loss."""


@dataclass(frozen=True)
class Stream:
    """``columns`` are names, as often as they come; ``batches`` are read once."""

    columns: list[str]
    batches: Iterator[list[tuple]]


def stream(home: Home, text: str, batch: int = BATCH) -> Stream:
    """Begin to run one SELECT. UsageError as in `query.select`, also when the query fails in a later batch."""
    con = prepare(home, text)
    try:
        relation = con.sql(text)
        columns, types = relation.columns, relation.types
        casts = [_cast(n, kind) for n, kind in enumerate(types, 1)]
        if any(casts):
            chosen = ", ".join(cast or f"#{n}" for n, cast in enumerate(casts, 1))
            text = f"SELECT {chosen} FROM (\n{_bare(text)}\n)"
        con.execute(text)
    except duckdb.Error as error:
        raise UsageError(f"the query fails: {error}") from error
    return Stream(columns, _batches(con, batch))


def _batches(con: duckdb.DuckDBPyConnection, size: int) -> Iterator[list[tuple]]:
    try:
        while rows := con.fetchmany(size):
            yield rows
    except duckdb.Error as error:
        raise UsageError(
            f"the query fails: {error}", "rows that came before are written; do not use them"
        ) from error


def _bare(text: str) -> str:
    """One statement without the semicolon at its end and what follows it. Tokens are counted in bytes."""
    content = text.encode()
    ends = [
        at for at, kind in duckdb.tokenize(text) if kind.name == "operator" and content[at : at + 1] == b";"
    ]
    return content[: ends[0]].decode() if ends else text


def _cast(number: int, kind: duckdb.sqltypes.DuckDBPyType) -> str | None:
    """The column as an expression of a type that Python can hold; None where it is of one."""
    target = _target(kind)
    return None if target == str(kind) else f"CAST(#{number} AS {target})"


def _target(kind: duckdb.sqltypes.DuckDBPyType) -> str:
    if kind.id in NATIVE:
        return str(kind)
    if kind.id == "list":
        return f"{_target(kind.children[0][1])}[]"
    if kind.id == "array":
        (_, child), (_, size) = kind.children
        return f"{_target(child)}[{size}]"
    if kind.id == "map":
        return f"MAP(VARCHAR, {_target(kind.children[1][1])})"
    if kind.id == "struct" and all(name for name, _ in kind.children):
        fields = (f'"{name.replace(chr(34), chr(34) * 2)}" {_target(child)}' for name, child in kind.children)
        return f"STRUCT({', '.join(fields)})"
    return "VARCHAR"
