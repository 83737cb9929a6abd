"""One DuckDB a process, and database files that are whole or not there."""

from __future__ import annotations

import duckdb
import pytest

from warehouse import engine as engines
from warehouse.engine import engine, new_file, working


@pytest.fixture
def bare(monkeypatch) -> None:
    """A process that has no DuckDB yet."""
    monkeypatch.setattr(engines, "_shared", [])


def test_the_first_piece_of_work_is_the_engine_while_it_lasts(bare):
    with working(threads=2) as con:
        assert engine() is con
        with working() as other:
            assert engine() is con
            assert other is not con
        assert con.execute("SELECT 1").fetchall() == [(1,)]
    assert engine() is not con


def test_work_beside_an_engine_leaves_it(bare):
    before = engine()
    with working() as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS one")
        assert engine() is before
    with pytest.raises(duckdb.CatalogException):
        before.execute("FROM t")


def test_work_that_fails_does_not_stay_the_engine(bare):
    with pytest.raises(ZeroDivisionError), working() as con:
        raise ZeroDivisionError
    assert engine() is not con
    assert engine().execute("SELECT 1").fetchall() == [(1,)]


def test_a_new_file_is_complete_and_belongs_to_nobody(bare, tmp_path):
    file = tmp_path / "it's new.duckdb"
    with new_file(file) as con:
        con.execute(
            "CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 7 AS n; CREATE VIEW s.v AS SELECT n + 1 AS m FROM s.t"
        )
    assert [path.name for path in tmp_path.iterdir()] == [file.name], "a log was left beside it"
    moved = file.rename(tmp_path / "other.duckdb")
    with duckdb.connect(str(moved), read_only=True) as con:
        assert con.execute("FROM s.v").fetchall() == [(8,)]


def test_a_file_that_fails_has_nothing_in_it_and_can_be_written_again(bare, tmp_path):
    file = tmp_path / "draft.duckdb"
    with pytest.raises(duckdb.BinderException), new_file(file) as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS one; CREATE VIEW v AS SELECT two FROM t")
    with duckdb.connect(str(file)) as con:
        assert con.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall() == []
    file.unlink()
    with new_file(file) as con:
        con.execute("CREATE TABLE t AS SELECT 2 AS one")
    with duckdb.connect(str(file)) as con:
        assert con.execute("FROM t").fetchall() == [(2,)]


def test_two_files_at_once(bare, tmp_path):
    with new_file(tmp_path / "a.duckdb") as one, new_file(tmp_path / "b.duckdb") as two:
        one.execute("CREATE TABLE t AS SELECT 1 AS n")
        two.execute("CREATE TABLE t AS SELECT 2 AS n")
    for name, number in (("a", 1), ("b", 2)):
        with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as con:
            assert con.execute("FROM t").fetchall() == [(number,)]


def test_a_view_in_a_file_does_not_see_the_work_beside_it(bare, tmp_path):
    with working() as con:
        con.execute("CREATE SCHEMA s; CREATE TABLE s.only_here AS SELECT 1 AS n")
        with pytest.raises(duckdb.CatalogException), new_file(tmp_path / "x.duckdb") as file:
            file.execute("CREATE SCHEMA s; CREATE VIEW s.v AS SELECT n FROM s.only_here")
