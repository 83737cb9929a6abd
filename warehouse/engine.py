"""The DuckDB of a process: making one takes longer than to parse every view or to write a catalog.

Who reads or sorts tables asks for :func:`working`, with threads of its own; while that is open, or for who needs no
more than a parser, :func:`engine` has it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

_shared: list[duckdb.DuckDBPyConnection] = []
"""The process's DuckDB, when it has one."""


def engine() -> duckdb.DuckDBPyConnection:
    """A DuckDB in memory, with one thread where it is made here. What it is asked leaves nothing in its catalog."""
    if not _shared:
        _shared.append(duckdb.connect(config={"threads": 1}))
    return _shared[0]


@contextmanager
def working(threads: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB in memory for one piece of work; ``threads``: as many as there are cores, or this many."""
    con = duckdb.connect(config={"threads": threads} if threads else {})
    shared = not _shared
    if shared:
        _shared.append(con)
    try:
        yield con
    finally:
        if shared:
            _shared.clear()
        con.close()


@contextmanager
def new_file(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a database file that is not there yet; whole on the disk, without a log beside it, in the end.

    All of it is one transaction: a file that could not be completed has nothing in it.
    """
    place, name = str(file).replace("'", "''"), f"file_{uuid.uuid4().hex}"
    con = engine().cursor()
    try:
        con.execute(f"ATTACH '{place}' AS {name}; USE {name}; BEGIN")
        yield con
        con.execute(f"COMMIT; CHECKPOINT {name}")
    finally:
        con.close()
        engine().execute(f"DETACH DATABASE IF EXISTS {name}")
