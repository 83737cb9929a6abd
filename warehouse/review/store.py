"""Where verdicts are kept: ``data/raw/review/verdict/*.parquet``, to which rows are added and none is taken away.

A file an addition; a new generation of the folder holds the files of the one before, unchanged, and the new one, so
a writer that is killed loses nothing and readers see all of an addition or nothing of it.

==============  ===========================================================================================
``verdict_no``  1, 2, … in the order in which they were stored
``task``        ``slug@version``
``instance_id``, ``class``, ``agree``, ``reader``, ``reason``
                who says of which label whether it is right, and why (NULL where nothing was written)
``verdict_at``  when it was given; midnight where only a day was said
``label_seen``  what the task said of the class when the verdict was stored
``label_rule``  the task view's rule fingerprint at that time
``source_file``, ``row_no``
                the imported file and line; NULL for `review add`
==============  ===========================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from warehouse.database import parquet, sql_text
from warehouse.digests import files_digest
from warehouse.errors import HomeError
from warehouse.home import Home, generation, read_pinned, writing
from warehouse.load.report import LoadReport, read_report, write_report
from warehouse.review.home import DATASET, has_verdicts

TABLE = "verdict"
VERDICT = pa.schema(
    [
        ("verdict_no", pa.int32()),
        ("task", pa.string()),
        ("instance_id", pa.string()),
        ("class", pa.string()),
        ("agree", pa.bool_()),
        ("reader", pa.string()),
        ("reason", pa.string()),
        ("verdict_at", pa.timestamp("us")),
        ("label_seen", pa.bool_()),
        ("label_rule", pa.string()),
        ("source_file", pa.string()),
        ("row_no", pa.int32()),
    ]
)
_TYPES = {"int32": "INTEGER", "string": "VARCHAR", "bool": "BOOLEAN", "timestamp[us]": "TIMESTAMP"}


def verdict_files(home: Home) -> tuple[Path, ...]:
    """The files of all verdicts, none where there are none. Raises HomeError when they are not those that were
    stored."""
    report = read_report(home, DATASET) if has_verdicts(home) else None
    if report is None:
        return ()
    entry = report["tables"][TABLE]
    files = tuple(home.loaded(DATASET) / TABLE / name for name in entry["files"])
    if files_digest(files) != entry["sha256"]:
        raise HomeError(
            f"{home.raw / DATASET / TABLE}: found other files than `review` wrote; expected those, unchanged",
            "bring the folder back from a copy: nothing else holds these verdicts",
        )
    return files


def define_verdicts(con: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
    """Create ``raw_review.verdict`` over the files, without rows where there are none."""
    con.execute("CREATE SCHEMA IF NOT EXISTS raw_review")
    columns = ", ".join(f'CAST(NULL AS {_TYPES[str(field.type)]}) AS "{field.name}"' for field in VERDICT)
    rows = f"SELECT * FROM {parquet(tuple(files))}" if files else f"SELECT {columns} WHERE FALSE"
    con.execute(f"CREATE OR REPLACE VIEW raw_review.{TABLE} AS {rows}")


def append(home: Home, rows: Sequence[dict]) -> int:
    """Store verdicts behind those that are there, all or none, and say how many there are now.

    ``rows``: the columns of VERDICT without ``verdict_no``. Call it inside ``home.writer``.
    """
    with writing(home.path), generation(home.raw / DATASET, keep=True) as folder:
        before = verdict_files(home)
        (folder / TABLE).mkdir()
        _carry(before, folder / TABLE)
        target = folder / TABLE / f"{TABLE}-{len(before) + 1:06d}.parquet"
        con = duckdb.connect(config={"threads": 1})
        define_verdicts(con, before)
        ((known,),) = con.execute(f"SELECT coalesce(max(verdict_no), 0) FROM raw_review.{TABLE}").fetchall()
        _write(con, [{**row, "verdict_no": known + number} for number, row in enumerate(rows, 1)], target)
        files = (*sorted((folder / TABLE).glob("*.parquet")),)
        report = LoadReport(
            DATASET, DATASET, notes=["readers' verdicts; `review add` and `review import` add to them"]
        )
        report.tables[TABLE] = {
            "files": [file.name for file in files],
            "rows": known + len(rows),
            "sha256": files_digest(files),
        }
        write_report(folder, report)
    return known + len(rows)


def stored(home: Home, task: str) -> list[dict]:
    """All verdicts on a task in the order in which they were stored, as dicts of VERDICT's columns."""

    def read(pinned: Home) -> list[dict]:
        con = duckdb.connect(config={"threads": 1})
        define_verdicts(con, verdict_files(pinned))
        found = con.execute(f"SELECT * FROM raw_review.{TABLE} WHERE task = ? ORDER BY verdict_no", [task])
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    return read_pinned(home, read)


def _carry(files: Sequence[Path], folder: Path) -> None:
    from warehouse.home import carry

    for file in files:
        carry(file, folder / file.name)


def _write(con: duckdb.DuckDBPyConnection, rows: list[dict], target: Path) -> None:
    columns = ", ".join(f'"{field.name}" {_TYPES[str(field.type)]}' for field in VERDICT)
    con.execute(f"CREATE TABLE added ({columns})")
    con.executemany(
        f"INSERT INTO added VALUES ({', '.join('?' * len(VERDICT))})",
        [[row[field.name] for field in VERDICT] for row in rows],
    )
    con.execute(
        f"COPY (SELECT * FROM added ORDER BY verdict_no) TO {sql_text(target)} (FORMAT parquet, COMPRESSION zstd)"
    )
