"""The LYDUS views over hand-made records: raw tables in memory, stored views as tables, in the order of the street."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
from sql_cases import create_map, create_table, raw_columns

from warehouse.views import Catalog

COLUMNS = {
    "afib_afl": "AFIB/AFL",
    "acute_mi": "Acute MI",
    "brady": "BRADY",
    "cd": "CD",
    "hyp": "HYP",
    "norm": "NORM",
    "old_mi": "Old MI",
    "pac": "PAC",
    "pvc": "PVC",
    "sttc": "STTC",
    "tachy": "TACHY",
}
"""Column of the label view → class."""


class DxViews:
    """A database with every view that ``names`` need. ``fill`` replaces its records."""

    def __init__(self, *names: str) -> None:
        catalog = Catalog.read()
        self.con = duckdb.connect(config={"threads": 1})
        self.lineage = catalog.lineage(list(names))
        inputs = sorted({name for view in self.lineage for name in catalog.inputs(view)})
        columns = raw_columns()
        self.raw = [name for name in inputs if not name.startswith("map.")]
        for name in inputs:
            if name.startswith("map."):
                create_map(self.con, name[4:])
            else:
                create_table(self.con, name, columns[name])
        for view in self.lineage:
            self.con.execute(f"CREATE SCHEMA IF NOT EXISTS {view.schema}")
            self.con.execute(f"CREATE {'TABLE' if view.stored else 'VIEW'} {view.name} AS {view.sql}")

    def fill(self, records: Mapping[str, Sequence[str]], **tables: Sequence[Mapping]) -> DxViews:
        """``records``: id → lines. Further raw tables by their name without schema, rows as dictionaries."""
        ids: dict[str, int] = {}
        lines = [
            (record, number, ids.setdefault(text, len(ids) + 1))
            for record, texts in records.items()
            for number, text in enumerate(texts, start=1)
        ]
        given = {
            "raw_lydus.record": [{"record_id": record} for record in records],
            "raw_lydus.dx_line": [
                dict(zip(("record_id", "line_no", "text_id"), line, strict=True)) for line in lines
            ],
            "raw_lydus.dx_text": [
                {"text_id": number, "text": text, "lines": sum(line[2] == number for line in lines)}
                for text, number in ids.items()
            ],
        }
        for name in self.raw:
            stem = "split" if name == "split.lydus" else name.partition(".")[2]
            self._insert(name, tables.get(stem, given.get(name, [])))
        for view in self.lineage:
            if view.stored:
                self.con.execute(f"DELETE FROM {view.name}")
                self.con.execute(f"INSERT INTO {view.name} {view.sql}")
        return self

    def _insert(self, name: str, rows: Sequence[Mapping]) -> None:
        self.con.execute(f"DELETE FROM {name}")
        for row in rows:
            places = ", ".join("?" * len(row))
            self.con.execute(f"INSERT INTO {name} ({', '.join(row)}) VALUES ({places})", list(row.values()))

    def rows(self, query: str) -> list[tuple]:
        return self.con.execute(query).fetchall()

    def classes(self) -> dict[str, set[str]]:
        """Record → its classes by the label view."""
        found = self.rows(f"SELECT record_id, {', '.join(COLUMNS)} FROM lydus.record_label_v0")
        return {
            record: {name for name, is_given in zip(COLUMNS.values(), flags, strict=True) if is_given}
            for record, *flags in found
        }
