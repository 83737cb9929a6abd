"""One DuckDB for the small work of a process: to parse views, to write a catalog.

Making a DuckDB takes longer than either. Who reads or sorts tables has one of his own, with threads and memory.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import duckdb


@cache
def engine() -> duckdb.DuckDBPyConnection:
    """The process's DuckDB, in memory, with one thread."""
    return duckdb.connect(config={"threads": 1})


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
