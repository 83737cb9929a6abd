"""What `sql` prints: every value without loss, in batches, and an error whenever it comes."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

import cli
from warehouse.errors import UsageError
from warehouse.stream import stream
from warehouse.table import as_text, csv_pieces, json_pieces, text_pieces

ROOT = Path(__file__).parents[2]

VALUES = [
    ("1", 1, "1"),
    ("true", True, "true"),
    ("NULL", None, ""),
    ("'a\nb,\"c'", 'a\nb,"c', 'a\nb,"c'),
    ("0.1::DOUBLE", 0.1, "0.1"),
    ("'nan'::DOUBLE", None, "nan"),
    ("'-inf'::FLOAT", None, "-inf"),
    ("170141183460469231731687303715884105727", 2**127 - 1, str(2**127 - 1)),
    ("18446744073709551615::UBIGINT", 2**64 - 1, str(2**64 - 1)),
    (
        "12345678901234567890123456789012.12345::DECIMAL(38,5)",
        Decimal("12345678901234567890123456789012.12345"),
        "12345678901234567890123456789012.12345",
    ),
    ("0.0000001::DECIMAL(18,10)", Decimal("0.0000001000"), "0.0000001000"),
    ("INTERVAL '1 month'", "1 month", "1 month"),
    ("DATE 'infinity'", "infinity", "infinity"),
    ("TIMESTAMP '-infinity'", "-infinity", "-infinity"),
    ("DATE '12000-01-01'", "12000-01-01", "12000-01-01"),
    (
        "TIMESTAMP_NS '2020-01-01 00:00:00.123456789'",
        "2020-01-01 00:00:00.123456789",
        "2020-01-01 00:00:00.123456789",
    ),
    ("'\\x00\\xffab'::BLOB", "\\x00\\xFFab", "\\x00\\xFFab"),
    ("'101'::BIT", "101", "101"),
    ("TIME '10:00:00.5'", "10:00:00.5", "10:00:00.5"),
    ("UUID '00000000-0000-0000-0000-000000000001'", f"{'0' * 8}-0000-0000-0000-{'0' * 11}1", None),
    ("[1.5, NULL]", [Decimal("1.5"), None], "[1.5, null]"),
    ("['nan'::DOUBLE]", [None], "[null]"),
    ("[1, 2]::INTEGER[2]", [1, 2], "[1, 2]"),
    ("[[INTERVAL '1 day']]", [["1 day"]], '[["1 day"]]'),
    (
        """{'x "y"': DATE 'infinity', 'n': NULL, 'e': 'b'::ENUM ('a', 'b')}""",
        {'x "y"': "infinity", "n": None, "e": "b"},
        None,
    ),
    ("MAP {DATE 'infinity': 1.5}", {"infinity": Decimal("1.5")}, '{"infinity": 1.5}'),
    ("MAP {[1]: 2}", {"[1]": 2}, '{"[1]": 2}'),
    ("'{\"a\": 1}'::JSON", '{"a": 1}', '{"a": 1}'),
]


def said(home, text: str, pieces) -> str:
    answer = stream(home, text)
    return "".join(pieces(answer.columns, answer.batches))


def run(home, *args: str):
    return CliRunner().invoke(cli.main, ["sql", *args, "--data", str(home.path)], catch_exceptions=False)


def test_no_value_is_lost(synthetic_home):
    query = f"SELECT {', '.join(f'{sql} AS v{n}' for n, (sql, _, _) in enumerate(VALUES))}"
    (found,) = json.loads(said(synthetic_home, query, json_pieces), parse_float=Decimal)
    _, cells = csv.reader(io.StringIO(said(synthetic_home, query, csv_pieces)))
    for (sql, in_json, in_csv), value, cell in zip(VALUES, found.values(), cells, strict=True):
        in_json = Decimal(repr(in_json)) if isinstance(in_json, float) else in_json
        assert (value, type(value)) == (in_json, type(in_json)), sql
        if isinstance(in_json, dict | list):
            assert json.loads(cell, parse_float=Decimal) == in_json, sql
        if in_csv is not None:
            assert cell == in_csv, sql


@pytest.mark.parametrize(
    "text",
    [
        "SELECT DATE '2020-01-01' AS a; -- a comment; in é",
        "SELECT DATE '2020-01-01' AS a /* ; */ ;;",
        "WITH t AS (SELECT DATE '2020-01-01' AS a) FROM t",
        "SELECT DATE '2020-01-01' AS a -- at the end",
    ],
)
def test_a_statement_ends_where_it_ends(synthetic_home, text):
    assert json.loads(said(synthetic_home, text, json_pieces)) == [{"a": "2020-01-01"}]


def test_rows_keep_their_order_when_a_column_is_cast(synthetic_home):
    text = "SELECT i, TO_MINUTES(i) AS m FROM range(50000) r (i) ORDER BY hash(i)"
    rows = [row for batch in stream(synthetic_home, text).batches for row in batch]
    plain = stream(synthetic_home, "SELECT i FROM range(50000) r (i) ORDER BY hash(i)")
    assert [row[0] for row in rows] == [i for batch in plain.batches for (i,) in batch]


def test_no_rows(synthetic_home):
    assert said(synthetic_home, "SELECT 1 AS a WHERE false", json_pieces) == "[]\n"
    assert said(synthetic_home, "SELECT 1 AS a WHERE false", csv_pieces) == "a\n"
    assert said(synthetic_home, "SELECT 1 AS a WHERE false", text_pieces) == "a\n─\n"


def test_batches_are_one_answer(synthetic_home):
    text = "SELECT i, i % 7 AS j FROM range(25) r (i)"
    for pieces in (json_pieces, csv_pieces):
        answer = stream(synthetic_home, text, batch=4)
        assert "".join(pieces(answer.columns, answer.batches)) == said(synthetic_home, text, pieces)


def test_a_table_keeps_its_lines():
    assert as_text(["a\nb"], [("x\ry",), ("\x1b[31m\u202e",)]).split("\n") == [
        "a\\nb",
        "──────────────",
        "x\\ry",
        "\\x1b[31m\\u202e",
    ]
    answer = "".join(text_pieces(["a"], [[(1,)], [("a longer one",)]]))
    assert answer == "a\n─\n1\na longer one\n"


def test_columns_of_one_name(synthetic_home):
    result = run(synthetic_home, "--json", "SELECT 1 AS a, 2 AS a, 3 AS b, 4 AS b, 5 AS c")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "found more than one column named a, b;" in result.stderr
    dates = "SELECT 1 AS a, DATE '2020-01-01' AS a"
    assert run(synthetic_home, "--csv", dates).stdout == "a,a\n1,2020-01-01\n"


def test_one_shape_at_a_time(synthetic_home):
    result = run(synthetic_home, "--json", "--csv", "SELECT 1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "found --json with --csv" in result.stderr


@pytest.mark.parametrize("shape", [[], ["--json"], ["--csv"]])
@pytest.mark.parametrize("column", ["i", "DATE '2020-01-01'"])
def test_an_error_that_comes_late(synthetic_home, shape, column):
    late = f"SELECT CASE WHEN i = 499999 THEN error('late') ELSE i END, {column} FROM range(500000) r (i)"
    result = run(synthetic_home, *shape, late)
    assert result.exit_code == 2
    assert "the query fails: Invalid Input Error: late" in result.stderr
    assert "do not use them" in result.stderr
    if shape == ["--json"]:
        with pytest.raises(ValueError, match=r"Expecting"):
            json.loads(result.stdout)


def test_a_query_that_cannot_be_bound(synthetic_home):
    with pytest.raises(UsageError, match=r"the query fails: .*no_such_table"):
        stream(synthetic_home, "SELECT * FROM no_such_table")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("shape", ["", "--json", "--csv"])
def test_a_long_answer_is_not_held(synthetic_home, shape):
    """300,000 rows with 600 letters each: 180 MB and more if they were. A process without rows has 110 MiB."""
    query = "SELECT i, repeat('x', 600) AS t, TO_MINUTES(i) AS m FROM range(300000) r (i)"
    script = f"""
import pathlib, sys, cli
cli.main(["sql", {query!r}, "--data", {str(synthetic_home.path)!r}] + {shape.split()!r}, standalone_mode=False)
print(pathlib.Path("/proc/self/status").read_text(), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", done.stderr)
    assert int(peak) < 200 * 1024
