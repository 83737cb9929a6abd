"""A stored view's file is in the order of its grain, whether its rows had to be sorted or not."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from warehouse import view_file
from warehouse.view_file import is_in_order, write_view
from warehouse.views import View, read_view

VIEW = """-- shop.line v0
-- layer: staging
-- grain: shop_id, row_no
-- shard: shop_id
-- stored: yes
-- status: draft
-- source: this test
--
-- Lines with the word of their code.

WITH params AS (
    SELECT 5 AS grid_s
)

SELECT
    line.shop_id
    , line.row_no
    , line.row_no * params.grid_s AS start_s
    , word.word
FROM raw_shop.line
CROSS JOIN params
LEFT JOIN map.word ON line.code = word.code
"""
ROWS = 400_000


@pytest.fixture
def line(tmp_path: Path) -> View:
    path = tmp_path / "shop" / "line_v0.sql"
    path.parent.mkdir()
    path.write_text(VIEW)
    return read_view(path)


def shop(order: str, threads: int = 2, rows: int = ROWS) -> duckdb.DuckDBPyConnection:
    """Shops of 1,000 lines each, in an order of their own."""
    con = duckdb.connect(config={"threads": threads})
    con.execute("SET preserve_insertion_order = true")
    con.execute("CREATE SCHEMA raw_shop; CREATE SCHEMA map")
    con.execute("CREATE TABLE map.word AS SELECT range AS code, 'w' || range AS word FROM range(7)")
    con.execute(
        f"""CREATE TABLE raw_shop.line AS
        SELECT CAST(range // 1000 AS INTEGER) AS shop_id, CAST(range % 1000 AS INTEGER) AS row_no, range % 9 AS code
        FROM range({rows}) ORDER BY {order}"""
    )
    return con


def digest_of_sorted(con: duckdb.DuckDBPyConnection, view: View, target: Path, monkeypatch) -> bytes:
    with monkeypatch.context() as patch:
        patch.setattr(view_file, "_is_row_by_row", lambda con, sql: False)
        write_view(con, view, target, "rule")
    return target.read_bytes()


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_rows_that_come_in_order_give_the_bytes_that_sorting_gives(
    line: View, tmp_path: Path, monkeypatch, threads
):
    con, target = shop("shop_id, row_no", threads), tmp_path / "line.parquet"
    found = []
    monkeypatch.setattr(view_file, "is_in_order", lambda *args: found.append(is_in_order(*args)) or found[-1])
    assert write_view(con, line, target, "rule") == ROWS
    assert found == [True]  # so it was not sorted
    assert target.read_bytes() == digest_of_sorted(con, line, tmp_path / "sorted.parquet", monkeypatch)


@pytest.mark.parametrize(
    "order", ["shop_id DESC, row_no", "row_no, shop_id", "shop_id, row_no DESC", "hash(range)"]
)
def test_rows_that_come_out_of_order_are_sorted(line: View, tmp_path: Path, monkeypatch, order):
    con, target = shop(order), tmp_path / "line.parquet"
    assert write_view(con, line, target, "rule") == ROWS
    assert is_in_order(con, target, line.grain)
    in_order = shop("shop_id, row_no")
    assert target.read_bytes() == digest_of_sorted(in_order, line, tmp_path / "sorted.parquet", monkeypatch)


def test_one_row_out_of_place_is_seen(line: View, tmp_path: Path):
    con, target = shop("shop_id, row_no"), tmp_path / "line.parquet"
    con.execute("INSERT INTO raw_shop.line VALUES (399, 5000, 0), (3, 5000, 0)")
    assert write_view(con, line, target, "rule") == ROWS + 2
    assert is_in_order(con, target, line.grain)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("(1, 'a'), (1, 'b'), (2, 'a')", True),
        ("(1, 'a')", True),
        ("(1, 'a'), (1, 'a')", False),
        ("(1, 'b'), (1, 'a')", False),
        ("(2, 'a'), (1, 'b')", False),
        ("(1, 'a'), (1, NULL)", False),
        ("(1, NULL), (1, 'a')", False),
        ("(NULL, 'a'), (1, 'a')", False),
        ("(1, 'a'), (NULL, 'a')", False),
    ],
)
def test_order_is_strict_and_knows_no_null(tmp_path: Path, values, expected):
    con, file = duckdb.connect(), tmp_path / "rows.parquet"
    con.execute(f"COPY (SELECT * FROM (VALUES {values}) AS row (number, word)) TO '{file}' (FORMAT parquet)")
    assert is_in_order(con, file, ("number", "word")) is expected


def test_a_file_without_rows_is_in_order(tmp_path: Path):
    con, file = duckdb.connect(), tmp_path / "rows.parquet"
    con.execute(f"COPY (SELECT 1 AS number WHERE FALSE) TO '{file}' (FORMAT parquet)")
    assert is_in_order(con, file, ("number",))
