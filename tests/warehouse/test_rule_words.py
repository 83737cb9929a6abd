"""What changed between two rule texts: no change goes unsaid, and layout is no change."""

from __future__ import annotations

import random
import re

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.diff.rules import rule_changes, view_changes
from warehouse.diff.tree import is_same, parse
from warehouse.errors import RegistryError
from warehouse.views import KEYWORDS, Catalog, read_view, tokens

CATALOG = Catalog.read()
NAMES = sorted(CATALOG)
DUCKDB = duckdb.connect()
RULE = """
WITH params AS (
    SELECT 45 AS normal_context_s, 10 AS max_gap_s
)

, long AS (
    SELECT case_id, from_s, to_s
    FROM vitaldb.normal_context_v0
    CROSS JOIN params
    WHERE to_s - from_s >= params.normal_context_s AND accepted AND NOT noisy
)

SELECT DISTINCT long.case_id, record.part, long.from_s AS begin_s, CASE WHEN x > 1 THEN 'a' ELSE 'b' END AS kind
FROM long
INNER JOIN vitaldb.record_v0 AS record ON long.case_id = record.case_id
LEFT JOIN other.table_v0 AS other ON long.case_id = other.case_id AND other.n > 5
GROUP BY long.case_id, record.part
ORDER BY long.case_id
"""


def words(before: str, after: str) -> list[str]:
    return [str(change) for change in rule_changes(before, after)]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("45 AS", "30 AS", "constant normal_context_s changed from 45 to 30"),
        (", 10 AS max_gap_s", "", "constant max_gap_s removed: it was 10"),
        (", 10 AS", ", 3 AS extra_s, 10 AS", "constant extra_s added: 3"),
        (" AND NOT noisy", "", "in CTE long: filter removed: NOT noisy"),
        (" AND NOT noisy", " AND NOT noisy AND x = 1", "in CTE long: filter added: x = 1"),
        (
            ">= params",
            "> params",
            "in CTE long: filter: was to_s - from_s >= params.normal_context_s, "
            "is to_s - from_s > params.normal_context_s",
        ),
        ("SELECT DISTINCT", "SELECT", "DISTINCT removed: equal rows are kept"),
        (", record.part,", ",", "column part removed: record.part"),
        ("AS begin_s", "AS start_s", "column begin_s is called start_s"),
        ("long.from_s AS", "long.to_s AS", "column begin_s computed otherwise: was long.from_s, is long.to_s"),
        ("x > 1", "x > 2", "column kind computed otherwise: 1 became 2"),
        ("ELSE 'b'", "ELSE 'c'", "column kind computed otherwise: 'b' became 'c'"),
        ("LEFT JOIN", "INNER JOIN", "other is read by INNER JOIN instead of LEFT JOIN"),
        (" AND other.n > 5", "", "condition of the join with other removed: other.n > 5"),
        (
            "LEFT JOIN other.table_v0 AS other ON long.case_id = other.case_id AND other.n > 5",
            "",
            "no longer joined: LEFT JOIN other.table_v0 AS other ON long.case_id = other.case_id AND other.n > 5",
        ),
        (
            "normal_context_v0",
            "normal_context_v1",
            "in CTE long: reads vitaldb.normal_context_v1 instead of vitaldb.normal_context_v0",
        ),
        ("GROUP BY long.case_id, record.part", "GROUP BY long.case_id", "no longer grouped by record.part"),
        ("ORDER BY long.case_id", "ORDER BY long.case_id DESC", "ORDER BY: long.case_id became long.case_id DESC"),
    ],
)  # fmt: skip
def test_a_change_is_said_by_one_sentence(old, new, said):
    assert old in RULE
    assert words(RULE, RULE.replace(old, new)) == [said]


def test_a_cte_that_is_called_otherwise_is_one_sentence():
    renamed = RULE.replace("long AS", "runs AS").replace("FROM long", "FROM runs").replace("long.", "runs.")
    assert words(RULE, renamed) == ["CTE long is called runs"]


def test_an_alias_that_is_called_otherwise_is_one_sentence():
    renamed = RULE.replace("AS record ON", "AS patient ON").replace("record.", "patient.")
    assert words(RULE, renamed) == ["vitaldb.record_v0 is called patient instead of record"]


def test_the_branches_of_a_union():
    before = "SELECT 'gap' AS rule, a FROM s.t_v0 UNION ALL SELECT 'noise' AS rule, b FROM s.u_v0"
    more = f"{before} UNION ALL SELECT 'late' AS rule, c FROM s.w_v0 WHERE c > 3"
    assert words(before, more) == ["UNION ALL branch added: SELECT 'late' AS rule, c FROM s.w_v0 WHERE c > 3"]
    assert words(more, before) == [
        "UNION ALL branch removed: SELECT 'late' AS rule, c FROM s.w_v0 WHERE c > 3"
    ]
    assert words(before, before.replace("u_v0", "u_v1")) == ["in branch 2: reads s.u_v1 instead of s.u_v0"]
    assert words(before, before.replace("UNION ALL", "UNION")) == ["in branch 2: UNION ALL became UNION"]


def test_the_header_is_said(tmp_path):
    view = CATALOG["vitaldb.normal_context_v0"]
    file = tmp_path / "vitaldb" / view.path.name
    file.parent.mkdir()
    header = view.path.read_text().replace("stored: yes", "stored: no").replace("case_id, run_no", "case_id")
    file.write_text(header)
    assert [str(change) for change in view_changes(view, read_view(file))] == [
        "the header says grain: case_id instead of case_id, run_no",
        "the header says stored: no instead of yes",
    ]


def relaid(sql: str, seed: int) -> str:
    """The same tokens with other spaces, comments, letter case of keywords, and quoted aliases."""
    draw = random.Random(seed)
    pieces = []
    for token in tokens(sql):
        if token.upper() in KEYWORDS:
            token = draw.choice([token.upper(), token.lower(), token.title()])
        elif pieces and pieces[-1].strip().upper() == "AS" and re.fullmatch("[a-z][a-z0-9_]*", token):
            token = draw.choice([token, f'"{token}"'])
        pieces += [token, draw.choice([" ", "\n", "\n        ", " /* a note */ ", " -- a note\n"])]
    return "".join(pieces)


@pytest.mark.parametrize("name", NAMES)
def test_layout_is_no_change(name):
    sql = CATALOG[name].sql
    for seed in range(2):
        assert words(sql, relaid(sql, seed)) == []


OPERATORS = {"=": "<>", "<>": "=", ">": ">=", ">=": ">", "<": "<=", "<=": "<", "+": "-", "-": "+", "*": "/"}
SWAPS = {
    "AND": "OR", "OR": "AND", "LEFT": "INNER", "INNER": "LEFT", "TRUE": "FALSE", "FALSE": "TRUE", "ASC": "DESC",
    "MIN": "max", "MAX": "min", "DISTINCT": "", "ALL": "", "LAG": "lead", "LEAD": "lag", "NOT": "", "FLOOR": "ceil",
    "BOOL_OR": "bool_and", "SUM": "max", "BIGINT": "SMALLINT", "INTEGER": "DOUBLE", "ROW_NUMBER": "rank",
}  # fmt: skip


def mutated(sql: str, draw: random.Random, number: int) -> tuple[str, str | None] | None:
    """The text with one token changed and, where it is a value, what stands there now; None where that fails."""
    found = [(start, kind) for start, kind in duckdb.tokenize(sql) if kind != duckdb.token_type.comment]
    data = sql.encode()
    ends = [start for start, _ in found[1:]] + [len(data)]
    place = draw.randrange(len(found))
    (start, kind), end = found[place], ends[place]
    token = data[start:end].decode().split("--")[0].rstrip()
    sign = None
    if kind == duckdb.token_type.numeric_const:
        new = sign = str(9_000_000 + number)
    elif kind == duckdb.token_type.string_const:
        sign = f"changed{number}"
        new = f"'{sign}'"
    elif token in OPERATORS:
        new = OPERATORS[token]
    elif token.upper() in SWAPS:
        new = SWAPS[token.upper()]
    elif kind == duckdb.token_type.identifier:
        new = f"{token}_x"
    else:
        return None
    tail = data[start + len(token.encode()) :]
    return (data[:start] + new.encode() + tail).decode(), sign


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(NAMES), seed=st.integers(0, 2**32), times=st.integers(1, 3))
def test_a_mutation_is_never_no_change(name, seed, times):
    draw, before = random.Random(seed), CATALOG[name].sql
    after, signs = before, []
    for number in range(times):
        for _ in range(20):
            made = mutated(after, draw, number)
            if made and is_readable(made[0]):
                after = made[0]
                signs += [made[1]] if made[1] else []
                break
    changes = rule_changes(before, after)
    assert bool(changes) is not is_same(before, after)
    assert all(str(change).strip() for change in changes)
    shown = " ".join(f"{change} {change.before} {change.after}" for change in changes)
    assert [sign for sign in signs if sign in after and sign not in shown] == []
    back = " ".join(f"{change} {change.before} {change.after}" for change in rule_changes(after, before))
    assert [sign for sign in signs if sign in after and sign not in back] == []


def is_readable(sql: str) -> bool:
    try:
        DUCKDB.extract_statements(sql)
        parse(sql)
    except (duckdb.Error, RegistryError):
        return False
    return True


@pytest.mark.parametrize("name", [name for name in NAMES if CATALOG[name].version > 0])
def test_versions_of_ours_differ_in_few_sentences(name):
    view = CATALOG[name]
    before = CATALOG[f"{view.alias}_v{view.version - 1}"]
    assert 1 <= len(rule_changes(before.sql, view.sql)) <= 12
