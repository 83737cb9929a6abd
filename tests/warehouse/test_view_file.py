"""A stored view's file is in the order of its grain, the same bytes in whatever order its rows come."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from warehouse.view_file import write_view
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


def shop(order: str, threads: int = 2) -> duckdb.DuckDBPyConnection:
    """Shops of 1,000 lines each, in an order of their own."""
    con = duckdb.connect(config={"threads": threads})
    con.execute("CREATE SCHEMA raw_shop; CREATE SCHEMA map")
    con.execute("CREATE TABLE map.word AS SELECT range AS code, 'w' || range AS word FROM range(7)")
    con.execute(
        f"""CREATE TABLE raw_shop.line AS
        SELECT CAST(range // 1000 AS INTEGER) AS shop_id, CAST(range % 1000 AS INTEGER) AS row_no, range % 9 AS code
        FROM range({ROWS}) ORDER BY {order}"""
    )
    return con


def keys(file: Path) -> list[tuple]:
    return duckdb.connect().execute(f"SELECT shop_id, row_no FROM read_parquet('{file}')").fetchall()


@pytest.mark.parametrize(
    ("order", "threads"),
    [
        ("shop_id, row_no", 1),
        ("shop_id, row_no", 7),
        ("shop_id DESC, row_no", 2),
        ("row_no, shop_id", 2),
        ("shop_id, row_no DESC", 7),
        ("hash(range)", 1),
    ],
)
def test_rows_in_any_order_give_one_file_in_the_order_of_the_grain(
    line: View, tmp_path: Path, order, threads
):
    target, other = tmp_path / "line.parquet", tmp_path / "other.parquet"
    assert write_view(shop(order, threads), line, target, "rule") == ROWS
    assert keys(target) == [(row // 1000, row % 1000) for row in range(ROWS)]
    write_view(shop("shop_id, row_no"), line, other, "rule")
    assert target.read_bytes() == other.read_bytes()
