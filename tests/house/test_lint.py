"""The lint of the portable subset: each forbidden construct is named, and plain SQL passes."""

from __future__ import annotations

import pytest
import sqlglot

from warehouse.lint import FORBIDDEN, lint_sql

FROM = " FROM vitaldb.annotation_v0"


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("SELECT list_filter(x, y -> y > 1)" + FROM, "list_filter"),
        ("SELECT list_transform(x, lambda y: y + 1)" + FROM, "lambdas"),
        ("SELECT array_agg(x)" + FROM, "array_agg"),
        ("SELECT max_by(a, b)" + FROM, "max_by"),
        ("SELECT MAX_BY(a, b)" + FROM, "max_by"),
        ("SELECT min_by(a, b)" + FROM, "min_by"),
        ("SELECT arg_max(a, b)" + FROM, "arg_max"),
        ("SELECT arg_min (a, b)" + FROM, "arg_min"),
        ("SELECT random()" + FROM, "random"),
        ("SELECT now()" + FROM, "now"),
        ("SELECT current_timestamp()" + FROM, "current_timestamp"),
        ("SELECT current_date()" + FROM, "current_date"),
        ("SELECT struct_pack(a := 1)" + FROM, "struct_pack"),
        ("SELECT getvariable('a')" + FROM, "getvariable"),
        ("SELECT regexp_replace(a, 'b', 'c', 'g')" + FROM, "regexp_replace"),
        ("SELECT regexp_matches(a, 'b', 'i')" + FROM, "regexp_matches with an option"),
        ("SELECT * FROM read_csv('a.csv')", "read_csv"),
        ("SELECT * FROM read_parquet('a.parquet')", "read_parquet"),
        ("SELECT a FROM t ASOF JOIN u USING (b)", "ASOF"),
        ("SELECT a FROM t POSITIONAL JOIN u", "POSITIONAL"),
        ("SELECT a" + FROM + " QUALIFY row_number() OVER (ORDER BY a) = 1", "QUALIFY"),
        ("PIVOT t ON a USING count(*)", "PIVOT"),
        ("SELECT CAST(a / b AS INTEGER)" + FROM, "floor or round"),
        ("SELECT (a / b)::BIGINT" + FROM, "floor or round"),
        ("SELECT CAST(1.5 AS INTEGER)" + FROM, "floor or round"),
        ("SELECT {{ a }}", "templating"),
        ("SELECT $a", "templating"),
        ("SELECT 1; SELECT 2", "expected one SELECT"),
        ("CREATE MACRO f(x) AS x + 1", "expected one SELECT"),
        ("CREATE TABLE a AS SELECT 1", "expected one SELECT"),
        ("DELETE FROM a", "expected one SELECT"),
    ],
)
def test_a_forbidden_construct_is_named(sql, word):
    assert any(word.lower() in fault.lower() for fault in lint_sql(sql)), lint_sql(sql)


def test_every_forbidden_name_is_caught():
    """Whatever its arguments: as many as sqlglot takes for it."""
    for name in FORBIDDEN:
        called = f"{name}x" if name.endswith("_") else name
        faults = []
        for arguments in ("", "a", "a, b", "a, b, c"):
            try:
                faults += lint_sql(f"SELECT {called}({arguments}){FROM}")
            except sqlglot.errors.ParseError:
                continue
        assert any(fault.startswith(called) for fault in faults), name


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT [a, b]" + FROM,
        "SELECT {'a': b}" + FROM,
        "SELECT list(a)" + FROM,
        "SELECT string_split(a, '|')[1]" + FROM,
        "SELECT unnest(a)" + FROM,
        "SELECT regexp_extract(a, 'b', 0, 'i')" + FROM,
        "SELECT CAST(a * 0.5 AS INTEGER)" + FROM,
        "SELECT current_date" + FROM,
        "SELECT * FROM 'a.parquet'",
        "SELECT a" + FROM + " USING SAMPLE 10",
        "SELECT any_value(a)" + FROM,
    ],
)
def test_what_has_no_name_is_caught_too(sql):
    assert lint_sql(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT w.word, w.n FROM a CROSS JOIN unnest(string_split(a.b, '|')) WITH ORDINALITY AS w (word, n)",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r",
        "SELECT split_part(a, '|', 1), sha256(a), translate(a, '0123456789', '')" + FROM,
        "SELECT n FROM range(0, 10, 5) AS step (n)",
        "SELECT regexp_matches(lower(a), 'st elevation')" + FROM,
        "SELECT CAST(floor(a / b) AS INTEGER), CAST(round(a * 1000) AS BIGINT), CAST(a AS INTEGER)" + FROM,
        "SELECT row_number() OVER (PARTITION BY a ORDER BY b), lag(c) OVER (ORDER BY b)" + FROM,
        "SELECT now, random" + FROM,
        "SELECT 'ASOF JOIN max_by(a, b)' AS a" + FROM,
        "SELECT a -- ASOF, max_by(a, b)\n" + FROM,
    ],
)
def test_the_portable_subset_passes(sql):
    assert lint_sql(sql) == []
