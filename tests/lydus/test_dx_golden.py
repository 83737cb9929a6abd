"""The golden lines of the grammar: codes, hedges, classes and the Acute MI rule of every one."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from dx_views import DxViews
from oracle import dx

OPENS = "When compared with ECG of 01-APR-2015 09:30,"
NO_HEDGE = {"serial_comparison", "header_or_signature", "negated"}


@pytest.fixture(scope="module")
def golden(shared: Path) -> list[dict[str, str]]:
    with (shared / "golden" / "lydus" / "tricky_lines.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def lines_of(row: dict[str, str]) -> list[str]:
    """The record that a golden line stands in: behind the opening of a comparison where its context says so."""
    return [OPENS, row["line"]] if row["context"] == "cmp" else [row["line"]]


@pytest.fixture(scope="module")
def views(golden) -> DxViews:
    views = DxViews("lydus.record_label_v0", "lydus.line_verdict_v0", "lydus.dx_code_evidence_v0")
    return views.fill({f"r{number}": lines_of(row) for number, row in enumerate(golden)})


def codes(text: str) -> set[str]:
    return set(filter(None, text.split(";")))


def test_there_are_golden_lines(golden):
    assert len(golden) >= 52


def test_classes(golden, views):
    wanted = {f"r{number}": codes(row["expected_classes"]) for number, row in enumerate(golden)}
    assert views.classes() == wanted


def test_codes_and_hedged_codes(golden, views):
    found = views.rows(
        """SELECT line.record_id, CAST(code.code AS VARCHAR), code.accepted, code.reason,
            verdict.verdict = 'comparison'
        FROM raw_lydus.dx_line AS line
        INNER JOIN lydus.dx_text_v0 AS wording USING (text_id)
        INNER JOIN lydus.dx_code_evidence_v0 AS code USING (statement_id)
        INNER JOIN lydus.line_verdict_v0 AS verdict USING (record_id, line_no)"""
    )
    for number, row in enumerate(golden):
        mine = [rest for record, *rest in found if record == f"r{number}"]
        definite = {code for code, accepted, _, compared in mine if accepted and not compared}
        hedged = {
            code
            for code, accepted, reason, compared in mine
            if not accepted and not compared and not NO_HEDGE & set(reason.split(" + "))
        }
        assert definite == codes(row["expected_codes"]), row["line"]
        assert hedged == codes(row["hedged_codes"]), row["line"]
        assert bool(hedged) == (row["hedged"] == "1"), row["line"]


def test_acute_mi_rule(golden, views):
    acute = views.rows("SELECT record_id FROM lydus.class_evidence_v0 WHERE class = 'Acute MI' AND accepted")
    wanted = [f"r{number}" for number, row in enumerate(golden) if row["acute_rule"] == "1"]
    assert sorted(record for (record,) in acute) == sorted(wanted)


def test_every_word_is_known(views):
    assert views.rows("SELECT text FROM lydus.line_verdict_v0 WHERE unmapped_words > 0") == []


def test_the_oracle_says_the_same(golden):
    for row in golden:
        assert dx.classes(lines_of(row)) == codes(row["expected_classes"]), row["line"]


def test_the_draft_map_agrees(shared):
    """Facts for the map: each of its statements gives the stated codes and classes, as a line of its own."""
    with (shared / "facts" / "lydus" / "dx_map_draft.csv").open(encoding="utf-8", newline="") as file:
        draft = list(csv.DictReader(file))
    for row in draft:
        text = row["text"].replace("<DATE>", "14-FEB-2011")
        line = dx.parse(dx.undated(text))
        definite = {str(finding.code) for finding in line.findings if not finding.reasons}
        hedged = {str(finding.code) for finding in line.findings if finding.reasons}
        assert (definite, hedged) == (codes(row["codes_definite"]), codes(row["codes_hedged"])), text
        assert dx.classes([text]) == codes(row["classes"]), text
        assert line.unmapped == (), text
