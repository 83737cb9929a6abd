"""Which instance of a task a word of the command line means, and the nearest ones where it means none."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from warehouse.database import parquet
from warehouse.errors import UsageError
from warehouse.spec import Spec

SHOWN = 10
"""How many ids a message lists."""

NEAREST = 5
CONTRACT = ("instance_id", "record_id", "group_id", "part", "fold", "scored", "left_out")
PLACE = ("start_s", "duration_s", "sample", "end_sample")
"""Columns that say where an instance lies in its record: seconds, or samples."""


def find_instance(con: duckdb.DuckDBPyConnection, spec: Spec, file: str, text: str) -> dict[str, object]:
    """The row of the task's Parquet ``file`` that ``text`` names: contract, place and class columns by name.

    ``text`` is an instance_id, a record_id that has one instance, or ``RECORD:PLACE``: a second of the record (a sample
    where instances are placed by samples), for the instance that covers it and begins last. Raises UsageError with the
    record's instances where it has several, with the nearest ids where nothing fits.
    """
    columns = {name: kind for name, kind, *_ in con.execute(f"DESCRIBE FROM {parquet((file,))}").fetchall()}
    wanted = [name for name in (*CONTRACT, *PLACE, *spec.classes) if name in columns]
    of_record = f"record_id = TRY_CAST(? AS {columns['record_id']})"
    listed = ", ".join(f'"{name}"' for name in wanted)
    source = parquet((file,))

    def rows(condition: str, *values: object, order: str = "instance_id", limit: int = SHOWN) -> list[dict]:
        query = f"SELECT {listed} FROM {source} WHERE {condition} ORDER BY {order} LIMIT {limit}"
        return [dict(zip(wanted, row, strict=True)) for row in con.execute(query, values).fetchall()]

    found = rows("instance_id = ?", text)
    record, colon, place = text.rpartition(":")
    if not found and colon:
        begin, end = _bounds(columns)
        covers = f"TRY_CAST(? AS DOUBLE) >= {begin} AND TRY_CAST(? AS DOUBLE) < {end}"
        condition = f"{of_record} AND {covers}"
        found = rows(condition, record, place, place, order=f"{begin} DESC", limit=1)
    if not found:
        found = rows(of_record, text)
    if len(found) == 1:
        return found[0]
    if found:
        ((number,),) = con.execute(f"SELECT count(*) FROM {source} WHERE {of_record}", [text]).fetchall()
        listed = ", ".join(str(row["instance_id"]) for row in found) + (", …" if number > SHOWN else "")
        raise UsageError(
            f"{spec.name}: found {number} instances of record {text!r}; expected one: {listed}",
            "name one of them, or RECORD:PLACE with a second (or sample) of the record",
        )
    raise UsageError(
        f"{spec.name}: found no instance {text!r}; expected an instance_id or a record_id of "
        f"{spec.view}; the nearest: {', '.join(_nearest(con, source, record or text))}",
        f'list them with `sql "SELECT instance_id FROM {spec.view}"`',
    )


def _bounds(columns: Mapping[str, str]) -> tuple[str, str]:
    """Where an instance begins and ends, in SQL; NULL where it is a whole record."""
    if "sample" in columns:
        return "sample", "end_sample"
    return ("start_s", "start_s + duration_s") if "start_s" in columns else ("NULL", "NULL")


def _nearest(con: duckdb.DuckDBPyConnection, source: str, text: str) -> list[str]:
    """The ids that need the fewest edits, of instances or of records, each once; ties by name."""
    shortened = text[:64]
    ((number, records),) = con.execute(f"SELECT count(*), count(DISTINCT record_id) FROM {source}").fetchall()
    names = ["CAST(record_id AS VARCHAR)"] if records < number else []
    union = " UNION ".join(f"SELECT {name} AS id FROM {source}" for name in ("instance_id", *names))
    query = f"SELECT id FROM ({union}) ORDER BY levenshtein(id, ?), id LIMIT {NEAREST}"
    return [name for (name,) in con.execute(query, [shortened]).fetchall()]
