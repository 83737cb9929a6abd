"""Given/expect cases: small tables that a view is run on, and the rows that it must give.

``tests/sql/<schema>/<view>_v<N>/<case>/given/<table>.csv`` and ``expect.csv``; the README there says how they are
written. The tests run every case, `release` those of the view that it locks: the same code.
"""

from __future__ import annotations

import csv
import difflib
from dataclasses import dataclass
from pathlib import Path

import duckdb

from warehouse.database import sql_text
from warehouse.errors import RegistryError
from warehouse.maps import map_files
from warehouse.views import Catalog, View


@dataclass(frozen=True)
class Rows:
    """A case's CSV file: column names and rows of text; None is NULL."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


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


def read_rows(path: Path) -> Rows:
    """Lines that begin with # are remarks, blanks around a field are layout, an empty field is NULL.

    Raises RegistryError for a ragged row or a column without a name.
    """
    with path.open(encoding="utf-8", newline="") as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    header, *rows = [
        [field.strip() or None for field in line] for line in csv.reader(lines, skipinitialspace=True)
    ] or [[]]
    if not header or not all(header):
        raise RegistryError(f"{path}: found a column without a name; expected a header that names all")
    for row in rows:
        if len(row) != len(header):
            raise RegistryError(f"{path}: {row} has not {len(header)} fields")
    return Rows(path, tuple(header), tuple(tuple(row) for row in rows))


def find_cases(root: Path, view: View | None = None) -> list[Case]:
    """Every ``<schema>/<view>_v<N>/<case>/`` below ``root``, or those of one view, in order."""
    pattern = "*/*" if view is None else f"{view.schema}/{view.stem}_v{view.version}"
    return [
        Case(
            view=f"{folder.parent.parent.name}.{folder.parent.name}",
            name=folder.name,
            given={path.stem: read_rows(path) for path in sorted((folder / "given").glob("*.csv"))},
            expect=read_rows(folder / "expect.csv"),
        )
        for folder in sorted(path.parent for path in root.glob(f"{pattern}/*/expect.csv"))
    ]


class Bench:
    """One database on which cases run, each on tables that it makes anew; types are those of ``load`` and the views.

    A view stands on empty tables when somebody asks for its columns, and is one for those that read it: a chain of
    views would be bound again at every step.
    """

    def __init__(self, catalog: Catalog) -> None:
        from warehouse.raw_columns import raw_columns

        self._catalog = catalog
        self._columns: dict[str, list[tuple[str, str]]] = dict(raw_columns())
        self._con = duckdb.connect(config={"threads": 1})
        self._typing = duckdb.connect(config={"threads": 1})
        self._standing: set[str] = set()

    def columns(self, name: str) -> list[tuple[str, str]]:
        """The columns and types of a raw table, map, split, table of images or view; RegistryError when unknown."""
        self._stand(name)
        return self._columns[name]

    def failure(self, view: View, case: Case) -> str:
        """The rows that differ, ``-`` expected and ``+`` found; empty when the view gives what is expected."""
        return difference(case.expect.columns, self.expected(view, case), self.run(view, case))

    def run(self, view: View, case: Case) -> list[tuple]:
        """What the view's own text makes of the case's tables: the expected columns, ordered by grain.

        Maps are the registry's; an input without a given file is empty.
        """
        needless = sorted(set(case.given) - set(view.reads))
        if needless:
            raise RegistryError(
                f"{case.id}: given {', '.join(needless)}, but {view.name} reads {', '.join(view.reads)}"
            )
        for name in view.reads:
            if name.startswith("map.") and name not in case.given:
                create_map(self._con, name[4:])
                continue
            create_table(self._con, name, self.columns(name))
            if name in case.given:
                self._fill(name, case.given[name])
        columns = ", ".join(map(quoted, case.expect.columns))
        try:
            return self._con.execute(
                f"SELECT {columns} FROM ({view.sql}\n) ORDER BY {', '.join(view.grain)}"
            ).fetchall()
        except duckdb.Error as error:
            raise RegistryError(f"{case.id}: {view.name} fails: {error}") from error

    def expected(self, view: View, case: Case) -> list[tuple]:
        """``expect.csv`` with the view's types."""
        return self._typed(view.name, case.expect)

    def _stand(self, name: str) -> None:
        if name in self._standing:
            return
        if name in self._catalog:
            view = self._catalog[name]
            for parent in view.reads:
                self._stand(parent)
            described = self._typing.execute(f"DESCRIBE {view.sql}").fetchall()
            self._columns[name] = [(column, kind) for column, kind, *_ in described]
        if name.startswith("map."):
            create_map(self._typing, name[4:])
            described = self._typing.execute(f"DESCRIBE {name}").fetchall()
            self._columns[name] = [(column, kind) for column, kind, *_ in described]
        elif name in self._columns:
            create_table(self._typing, name, self._columns[name])
        else:
            raise RegistryError(f"{name}: found in no loader's tables; add it to warehouse/raw_columns.py")
        self._standing.add(name)

    def _typed(self, name: str, rows: Rows) -> list[tuple]:
        known = dict(self.columns(name))
        strange = [column for column in rows.columns if column not in known]
        if strange:
            raise RegistryError(f"{rows.path}: no column {', '.join(strange)}; {name} has {', '.join(known)}")
        if not rows.rows:
            return []
        places = ", ".join(f"({', '.join('?' * len(rows.columns))})" for _ in rows.rows)
        fields = ", ".join(f"CAST({quoted(column)} AS {known[column]})" for column in rows.columns)
        query = f"SELECT {fields} FROM (VALUES {places}) AS given ({', '.join(map(quoted, rows.columns))})"
        return self._con.execute(query, [field for row in rows.rows for field in row]).fetchall()

    def _fill(self, name: str, rows: Rows) -> None:
        """Insert a file's rows; columns that it lacks stay NULL."""
        listed, places = ", ".join(map(quoted, rows.columns)), ", ".join("?" * len(rows.columns))
        for row in self._typed(name, rows):
            self._con.execute(f"INSERT INTO {name} ({listed}) VALUES ({places})", row)


def difference(columns: tuple[str, ...], wanted: list[tuple], found: list[tuple]) -> str:
    """The differing rows in words, ``-`` expected and ``+`` found; empty when there is none."""
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


def quoted(column: str) -> str:
    """A class is a column under its own name, which can hold a slash or a blank."""
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
        f"CREATE OR REPLACE TABLE map.{name} AS SELECT * FROM read_csv({sql_text(map_files()[name])}, header = true)"
    )
