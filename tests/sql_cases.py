"""Given/expect cases of the label views for the tests: what runs them stands in ``warehouse/cases.py``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from warehouse import cases
from warehouse.cases import Bench, Case, Rows, create_map, create_table, difference
from warehouse.database import computable, inputs, of_loaded
from warehouse.home import Home
from warehouse.raw_columns import raw_columns
from warehouse.views import Catalog, View

ROOT = Path(__file__).parent / "sql"

__all__ = [
    "ROOT", "Bench", "Case", "Rows", "bench", "create_map", "create_table", "difference", "find_cases", "raw_columns",
    "table_columns", "views_of",
]  # fmt: skip


def find_cases(root: Path = ROOT) -> list[Case]:
    """Every case, in order."""
    return cases.find_cases(root)


@cache
def bench() -> Bench:
    """One database for all cases."""
    return Bench(Catalog.read())


@cache
def table_columns() -> dict[str, list[tuple[str, str]]]:
    """Raw table, map or view → its columns and types."""
    catalog = Catalog.read()
    names = {*raw_columns(), *catalog, *(name for view in catalog.values() for name in view.reads)}
    return {name: bench().columns(name) for name in sorted(names)}


def views_of(home: Home) -> list[View]:
    """The views whose inputs are loaded in a home, parents first: those of one data set."""
    catalog = Catalog.read()
    able = computable(of_loaded(home, catalog), inputs(home))
    return [view for view in catalog.values() if view.name in able]
