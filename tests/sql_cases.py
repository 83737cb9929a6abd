"""Given/expect cases of the label views: folders of small CSV files, described in ``tests/sql/README.md``."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb

from warehouse.database import computable, inputs
from warehouse.home import Home
from warehouse.load.annotation_csv import COLUMNS
from warehouse.load.metadata_csv import CLINICAL, METADATA
from warehouse.load.vital_tables import SCHEMAS
from warehouse.maps import map_files
from warehouse.views import Catalog, View

ROOT = Path(__file__).parent / "sql"


@dataclass(frozen=True)
class Case:
    """One folder: ``given`` is table → rows of text, ``expect`` the rows that the view must give."""

    view: str
    name: str
    given: dict[str, Rows]
    expect: Rows

    @property
    def id(self) -> str:
        return f"{self.view}/{self.name}"


@dataclass(frozen=True)
class Rows:
    """A case's CSV file: column names and rows; None is NULL."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


def read_rows(path: Path) -> Rows:
    """Lines that begin with # are remarks, blanks around a field are layout, an empty field is NULL."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    header, *rows = (
        [field.strip() or None for field in line] for line in csv.reader(lines, skipinitialspace=True)
    )
    ragged = [row for row in rows if len(row) != len(header)]
    assert not ragged, f"{path}: {ragged[0]} has not {len(header)} fields"
    assert all(header), f"{path}: a column has no name"
    return Rows(path, tuple(header), tuple(tuple(row) for row in rows))


def find_cases(root: Path = ROOT) -> list[Case]:
    """Every ``<schema>/<view>_v<N>/<case>/`` below ``root``, in order."""
    return [
        Case(
            view=f"{folder.parent.parent.name}.{folder.parent.name}",
            name=folder.name,
            given={path.stem: read_rows(path) for path in sorted((folder / "given").glob("*.csv"))},
            expect=read_rows(folder / "expect.csv"),
        )
        for folder in sorted(path.parent for path in root.glob("*/*/*/expect.csv"))
    ]


def raw_columns() -> dict[str, list[tuple[str, str]]]:
    """The columns of what ``load`` writes, with DuckDB's types, from the loader's own schemas."""
    import pyarrow as pa

    stamped = [pa.field("source_file", pa.string()), pa.field("row_no", pa.int32())]
    schemas = {
        "raw_vitaldb.annotation": pa.schema([("case_id", pa.int32()), *COLUMNS.items(), *stamped]),
        "raw_vitaldb.metadata": METADATA,
        "raw_vitaldb.clinical": CLINICAL,
        "split.vitaldb": pa.schema([("subject_id", pa.int32()), ("part", pa.string())]),
        **{f"raw_vitaldb.{name}": schema for name, schema in SCHEMAS.items() if name != "signal"},
        **_images(),
        **_lydus(stamped),
        **_ptbxl(stamped),
        **_heartbeats(),
    }
    con = duckdb.connect()
    found = {}
    for name, schema in schemas.items():
        con.register("empty", schema.empty_table())
        found[name] = [(column, kind) for column, kind, *_ in con.execute("DESCRIBE empty").fetchall()]
    return found


def _images() -> dict:
    """What `render` writes, for every task that has images."""
    import polars as pl

    from pipelines.render.folder import schema
    from warehouse.spec import specs

    table = pl.DataFrame(schema=schema()).to_arrow().schema
    return {
        f"image.{spec.view.removeprefix('task.')}": table
        for spec in specs()
        if "render" in spec.data.get("input", {})
    }


def _lydus(stamped: list) -> dict:
    """As tests/lydus/test_raw_tables.py holds them against what `load lydus` writes."""
    import pyarrow as pa

    from warehouse.load.lydus_records import MEASUREMENTS, TEXTS
    from warehouse.load.signal_counts import FACT

    texts = ("record_id", "patient_id", *TEXTS)
    return {
        "raw_lydus.record": pa.schema(
            [
                *((name, pa.string()) for name in texts),
                *((name, pa.int32()) for name in MEASUREMENTS),
                *stamped,
            ]
        ),
        "raw_lydus.dx_line": pa.schema(
            [("record_id", pa.string()), ("line_no", pa.int32()), ("text_id", pa.int32()), *stamped]
        ),
        "raw_lydus.dx_text": pa.schema(
            [("text_id", pa.int32()), ("text", pa.string()), ("lines", pa.int64())]
        ),
        "raw_lydus.signal_fact": FACT,
        "split.lydus": pa.schema(
            [
                *((name, pa.string()) for name in ("record_id", "group_id", "part")),
                ("sampled", pa.bool_()),
            ]
        ),
    }


def _ptbxl(stamped: list) -> dict:
    """As tests/ptbxl/test_raw_tables.py holds them against what `load ptbxl` writes."""
    import pyarrow as pa

    from warehouse.load.ptbxl_tables import STATEMENT_12SL

    texts = ("scp_codes", "age", "sex", "report", "filename_lr", "filename_hr")
    return {
        "raw_ptbxl.record": pa.schema(
            [
                ("ecg_id", pa.int32()),
                ("patient_id", pa.string()),
                ("strat_fold", pa.int32()),
                *((name, pa.string()) for name in texts),
                *stamped,
            ]
        ),
        "raw_ptbxl.scp_code": pa.schema(
            [("ecg_id", pa.int32()), ("code", pa.string()), ("likelihood", pa.float64())]
        ),
        "raw_ptbxl.scp_statement": pa.schema(
            [
                ("code", pa.string()),
                ("description", pa.string()),
                *((name, pa.bool_()) for name in ("diagnostic", "form", "rhythm")),
                ("diagnostic_class", pa.string()),
                ("diagnostic_subclass", pa.string()),
            ]
        ),
        "raw_ptbxl.statement_12sl": STATEMENT_12SL,
    }


def _heartbeats() -> dict:
    """As the loader of WFDB records writes them; what it stores once for many rows is text in SQL."""
    import pyarrow as pa

    from warehouse.load.mitbih_split import SPLIT
    from warehouse.load.wfdb_tables import SCHEMAS as TABLES

    def plain(schema: pa.Schema) -> pa.Schema:
        return pa.schema(
            [(each.name, pa.string() if pa.types.is_dictionary(each.type) else each.type) for each in schema]
        )

    names = ("mitbih", "ptbdb")
    found = {f"raw_{name}.{table}": plain(schema) for name in names for table, schema in TABLES.items()}
    return {**found, "split.mitbih": plain(SPLIT)}


@cache
def table_columns() -> dict[str, list[tuple[str, str]]]:
    """Table or view → its columns and types: every view stands on empty raw tables once."""
    found = raw_columns()
    con = duckdb.connect()
    for name, columns in found.items():
        create_table(con, name, columns)
    for name in map_files():
        create_map(con, name)
        found[f"map.{name}"] = _described(con, f"map.{name}")
    for view in Catalog.read().values():
        if any(name not in found for name in view.reads):
            continue  # its loader's tables are not in raw_columns(); a case of it says so
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {view.schema}")
        con.execute(f"CREATE VIEW {view.name} AS {view.sql}")
        found[view.name] = _described(con, view.name)
    return found


def _described(con: duckdb.DuckDBPyConnection, name: str) -> list[tuple[str, str]]:
    return [(column, kind) for column, kind, *_ in con.execute(f"DESCRIBE {name}").fetchall()]


def views_of(home: Home) -> list[View]:
    """The views whose inputs are loaded in a home, parents first: those of one data set."""
    catalog = Catalog.read()
    able = computable(catalog, inputs(home))
    return [view for view in catalog.values() if view.name in able]


def quoted(column: str) -> str:
    """A class is a column under its own name: AFIB/AFL, Old MI."""
    return f'"{column}"'


def create_table(con: duckdb.DuckDBPyConnection, name: str, columns: list[tuple[str, str]]) -> None:
    """An empty table under its SQL name, in place of one that is there."""
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {name.split('.')[0]}")
    con.execute(
        f"CREATE OR REPLACE TABLE {name} ({', '.join(f'{quoted(column)} {kind}' for column, kind in columns)})"
    )


def create_map(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """A map of the registry, typed as the warehouse types it."""
    con.execute("CREATE SCHEMA IF NOT EXISTS map")
    con.execute(
        f"CREATE OR REPLACE TABLE map.{name} AS SELECT * FROM read_csv('{map_files()[name]}', header = true)"
    )


def typed(con: duckdb.DuckDBPyConnection, name: str, rows: Rows) -> list[tuple]:
    """A file's rows with the types of the table or view that it stands for."""
    assert name in table_columns(), f"{rows.path}: add what {name} reads of a loader to raw_columns()"
    known = dict(table_columns()[name])
    strange = [column for column in rows.columns if column not in known]
    assert not strange, f"{rows.path}: no column {', '.join(strange)}; {name} has {', '.join(known)}"
    if not rows.rows:
        return []
    places = ", ".join(f"({', '.join('?' * len(rows.columns))})" for _ in rows.rows)
    fields = ", ".join(f"CAST({quoted(column)} AS {known[column]})" for column in rows.columns)
    query = f"SELECT {fields} FROM (VALUES {places}) AS given ({', '.join(map(quoted, rows.columns))})"
    return con.execute(query, [field for row in rows.rows for field in row]).fetchall()


def fill(con: duckdb.DuckDBPyConnection, name: str, rows: Rows) -> None:
    """Insert a file's rows; columns that it lacks stay NULL."""
    for row in typed(con, name, rows):
        con.execute(
            f"INSERT INTO {name} ({', '.join(map(quoted, rows.columns))}) VALUES ({', '.join('?' * len(row))})",
            row,
        )


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """One database for all cases: each makes every table that its view reads anew."""
    return duckdb.connect(config={"threads": 1})


def run_case(view: View, case: Case) -> list[tuple]:
    """What the view's own text makes of the case's tables: the expected columns, ordered by grain.

    Maps are the registry's; an input without a given file is empty.
    """
    con = connection()
    needless = sorted(set(case.given) - set(view.reads))
    assert not needless, (
        f"{case.id}: given {', '.join(needless)}, but {view.name} reads {', '.join(view.reads)}"
    )
    for name in view.reads:
        if name.startswith("map.") and name not in case.given:
            create_map(con, name[4:])
            continue
        create_table(con, name, table_columns()[name])
        if name in case.given:
            fill(con, name, case.given[name])
    columns = ", ".join(map(quoted, case.expect.columns))
    return con.execute(f"SELECT {columns} FROM ({view.sql}\n) ORDER BY {', '.join(view.grain)}").fetchall()


def expected(view: View, case: Case) -> list[tuple]:
    """``expect.csv`` with the view's types."""
    return typed(connection(), view.name, case.expect)


def difference(columns: tuple[str, ...], wanted: list[tuple], found: list[tuple]) -> str:
    """The differing rows in words, ``-`` expected and ``+`` found; empty when there is none."""
    import difflib

    if wanted == found:
        return ""
    lines = [
        [", ".join("" if value is None else str(value) for value in row) for row in rows]
        for rows in (wanted, found)
    ]
    changes = [line for line in difflib.ndiff(*lines) if line[0] in "+-"]
    return "\n".join(
        [f"  {', '.join(columns)}", *(changes or ["  the same text, but other types or another order"])]
    )
