"""Constants of views: found in their own text, replaced at their token."""

from __future__ import annotations

from dataclasses import replace

import pytest

from warehouse.errors import UsageError
from warehouse.params import changes, constants, rewritten
from warehouse.views import Catalog, View

CATALOG = Catalog.read()
TRICKY = """WITH params AS (
    SELECT
        45 AS normal_context_s  -- not 30 AS normal_context_s
        , -0.5 AS shift
        , 'it''s -- no comment, é' AS word
        , false AS strict
        , greatest(1, 2) AS larger
)

, other AS (SELECT 45 AS normal_context_s FROM params)

SELECT * FROM other"""


def view(sql: str) -> View:
    return replace(CATALOG["vitaldb.normal_context_v0"], sql=sql)


def shown(sql: str) -> list[tuple[str, str, str]]:
    return [(each.name, each.literal, each.kind) for each in constants(view(sql))]


def test_every_kind_is_found_in_its_order():
    assert shown(TRICKY) == [
        ("normal_context_s", "45", "number"),
        ("shift", "-0.5", "number"),
        ("word", "'it''s -- no comment, é'", "text"),
        ("strict", "false", "truth"),
        ("larger", "greatest(1, 2)", "expression"),
    ]


def test_without_params_there_is_none():
    assert shown("SELECT 45 AS normal_context_s") == []
    assert constants(CATALOG["vitaldb.premature_beat_v0"]) == []


def test_where_a_literal_stands_is_where_its_bytes_are():
    for each in CATALOG.values():
        for constant in constants(each):
            assert each.sql.encode()[constant.start : constant.end].decode() == constant.literal


@pytest.mark.parametrize(
    ("asked", "old", "new"),
    [
        ({"normal_context_s": "30"}, "        45 AS", "        30 AS"),
        ({"shift": "1.25"}, "-0.5 AS shift", "1.25 AS shift"),
        ({"word": "it's ü"}, "'it''s -- no comment, é'", "'it''s ü'"),
        ({"strict": "True"}, "false AS strict", "TRUE AS strict"),
    ],
)
def test_the_token_alone_is_replaced(asked, old, new):
    found = rewritten(view(TRICKY), changes([view(TRICKY)], asked))
    assert found == TRICKY.replace(old, new, 1) != TRICKY


def test_several_in_one_text_and_one_in_several_texts():
    one = rewritten(view(TRICKY), changes([view(TRICKY)], {"word": "longer than it was", "shift": "7"}))
    assert shown(one)[1:3] == [("shift", "7", "number"), ("word", "'longer than it was'", "text")]
    lineage = CATALOG.lineage(["task.vitaldb_arrhythmia_abnormal_v0"])
    assert [each.constant.view for each in changes(lineage, {"max_annotation_gap_s": "20"})] == [
        "vitaldb.annotation_gap_v0",
        "vitaldb.normal_context_v0",
    ]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"normal_contxt_s": "30"},
            r"no constant 'normal_contxt_s'; expected one of these:\n  - normal_context_s = 45",
        ),
        (
            {"normal_context_s": "30 s"},
            "found '30 s' for normal_context_s, which is 45 in vitaldb.*expected a number",
        ),
        ({"normal_context_s": "1; DROP TABLE x"}, "expected a number"),
        ({"normal_context_s": ""}, "expected a number"),
        ({"strict": "1"}, "expected TRUE or FALSE"),
        ({"larger": "3"}, "that is an expression"),
    ],
)
def test_wrong_names_and_kinds(asked, message):
    with pytest.raises(UsageError, match=message):
        changes([view(TRICKY)], asked)


def test_a_task_without_constants_says_so():
    with pytest.raises(UsageError, match="the views behind the task have none"):
        changes([CATALOG["vitaldb.premature_beat_v0"]], {"x": "1"})
