"""Books of several homes, written once."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb
import pytest
from book_page import BookPage

from pipelines.book.write import write_book
from warehouse.home import Home
from warehouse.query import connect
from warehouse.review.verdicts import add

HOMES = ("scored_home", "lydus_home", "heartbeat_home", "real_home", "ptbxl_home")
"""Synthetic releases, and the real annotation files and records where they are."""


@dataclass
class Book:
    home: Home
    folder: Path

    @cached_property
    def pages(self) -> dict[str, BookPage]:
        """File below the book → its page."""
        found = sorted(self.folder.rglob("*.html"))
        return {
            str(path.relative_to(self.folder)): BookPage(path.read_text(encoding="utf-8")) for path in found
        }

    @cached_property
    def con(self) -> duckdb.DuckDBPyConnection:
        """What a reader has who opened a DuckDB shell in the home."""
        con = connect(self.home)
        con.execute(f"SET file_search_path = '{self.home.path}'")
        return con


@pytest.fixture(scope="session")
def scored_home(signal_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Synthetic VitalDB cases with signals, two scored baselines and the verdicts of two readers."""
    from pipelines.baseline import write_baseline
    from pipelines.score import score_submission

    home = Home(tmp_path_factory.mktemp("scored") / "data")
    shutil.copytree(signal_home.path, home.path, symlinks=True)
    for name in ("prior", "rr-detected"):
        file = write_baseline(home, "vitaldb-arrhythmia-abnormal", name)
        score_submission(home, "vitaldb-arrhythmia-abnormal", file, n_bootstrap=20)
    query = "SELECT instance_id, abnormal FROM task.vitaldb_arrhythmia_abnormal_v0 WHERE scored ORDER BY ALL"
    found = connect(home).execute(query).fetchall()
    yes, no = ([name for name, label in found if label is wanted][:3] for wanted in (True, False))
    task = "vitaldb-arrhythmia-abnormal@0"
    for number, name in enumerate([*yes, *no]):
        add(home, task, name, "abnormal", number != 1, "first", day=f"2026-01-0{number + 1}")
    add(home, task, yes[0], "abnormal", True, "second", day="2026-01-01")
    return home


@pytest.fixture(scope="session")
def book_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """The book of a home by the name of its fixture."""
    books: dict[str, Book] = {}

    def book(name: str) -> Book:
        if name not in books:
            home = request.getfixturevalue(name)
            books[name] = Book(home, write_book(home, tmp_path_factory.mktemp("book") / name))
        return books[name]

    return book


@pytest.fixture(scope="session", params=HOMES)
def book(request: pytest.FixtureRequest, book_of) -> Book:
    return book_of(request.param)
