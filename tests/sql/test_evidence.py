"""The evidence is sufficient and necessary, for every instance: the label view's own text over altered evidence.

A label is lost when its accepted candidates are taken away and stays when only they are kept; a segment without a
label names every reason, and accepting them all gives the candidates' label, or says that there is no candidate.
"""

from __future__ import annotations

import duckdb
import pytest

from warehouse.query import connect
from warehouse.views import Catalog

LABEL = "vitaldb.segment_label_v0"
EVIDENCE = "vitaldb.segment_evidence_v0"
HOMES = ("real_home", "synthetic_home", "signal_home")


@pytest.fixture(scope="module", params=HOMES)
def built(request) -> duckdb.DuckDBPyConnection:
    """A built home with ``evidence`` and ``label`` as they are, to alter copies of."""
    con = connect(request.getfixturevalue(request.param))
    con.execute(f"CREATE TABLE evidence AS SELECT * FROM {EVIDENCE}")
    con.execute(f"CREATE TABLE label AS SELECT * FROM {LABEL}")
    return con


def relabel(con: duckdb.DuckDBPyConnection, altered: str) -> None:
    """Table ``relabelled``: the label view's text with ``altered`` in the place of the evidence."""
    con.execute(f"CREATE OR REPLACE TABLE altered AS {altered}")
    con.execute(f"CREATE OR REPLACE VIEW {EVIDENCE} AS SELECT * FROM altered")
    con.execute(f"CREATE OR REPLACE TABLE relabelled AS {Catalog.read()[LABEL].sql}")


def rows(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple]:
    return con.execute(query).fetchall()


def test_unaltered_evidence_gives_the_same_labels(built):
    relabel(built, "SELECT * FROM evidence")
    assert rows(built, "SELECT * FROM relabelled EXCEPT ALL SELECT * FROM label") == []
    assert rows(built, "SELECT count(*) FROM relabelled") == rows(built, "SELECT count(*) FROM label")


def test_every_label_is_lost_without_its_accepted_candidates(built):
    relabel(
        built,
        """SELECT evidence.* FROM evidence INNER JOIN label USING (case_id, start_s)
        WHERE NOT (evidence.kind = 'candidate' AND evidence.accepted AND evidence.class = label.label)
            OR label.label IS NULL""",
    )
    assert rows(built, "SELECT case_id, start_s, label FROM relabelled WHERE label IS NOT NULL") == []


def test_every_label_stays_with_nothing_but_its_accepted_candidates(built):
    relabel(
        built,
        """SELECT evidence.* FROM evidence INNER JOIN label USING (case_id, start_s)
        WHERE evidence.kind = 'candidate' AND evidence.accepted AND evidence.class = label.label""",
    )
    changed = (
        "SELECT label.*, relabelled.label FROM label INNER JOIN relabelled USING (case_id, start_s) WHERE "
    )
    assert rows(built, changed + "label.label IS DISTINCT FROM relabelled.label") == []
    assert (
        rows(built, changed + "label.label IS NOT NULL AND label.rhythms IS DISTINCT FROM relabelled.rhythms")
        == []
    )


def test_every_segment_without_a_label_has_a_reason_and_the_first_by_rank_is_shown(built):
    unexplained = rows(
        built,
        """SELECT label.case_id, label.start_s, label.reason, first.reason
        FROM label LEFT JOIN (
            SELECT case_id, start_s, arg_min(reason, rank) AS reason
            FROM evidence INNER JOIN map.vitaldb_reason USING (reason) WHERE NOT accepted GROUP BY ALL
        ) AS first USING (case_id, start_s)
        WHERE label.label IS NULL AND (first.reason IS NULL OR label.reason IS DISTINCT FROM first.reason)""",
    )
    assert unexplained == []
    assert rows(built, "SELECT * FROM evidence WHERE accepted IS DISTINCT FROM (reason IS NULL)") == []


def test_accepting_every_reason_gives_the_candidates_label_or_there_is_none(built):
    relabel(
        built,
        """SELECT evidence.* REPLACE (
            CASE WHEN label.label IS NULL THEN TRUE ELSE accepted END AS accepted
            , CASE WHEN label.label IS NOT NULL THEN evidence.reason END AS reason
        ) FROM evidence INNER JOIN label USING (case_id, start_s)""",
    )
    built.execute(
        """CREATE OR REPLACE TABLE candidates AS
        SELECT case_id, start_s
            , bool_or(kind = 'candidate' AND class = 'abnormal') AS abnormal
            , bool_or(kind = 'candidate' AND class = 'normal') AS normal
        FROM evidence GROUP BY ALL"""
    )
    wrong = """SELECT label.case_id, label.start_s, relabelled.label, abnormal, normal
        FROM label INNER JOIN relabelled USING (case_id, start_s) INNER JOIN candidates USING (case_id, start_s)
        WHERE label.label IS NULL
            AND relabelled.label IS DISTINCT FROM CASE WHEN abnormal THEN 'abnormal' WHEN normal THEN 'normal' END"""
    assert rows(built, wrong) == []
    labelled = "label.label IS NOT NULL AND label.label IS DISTINCT FROM relabelled.label"
    assert (
        rows(built, f"SELECT * FROM label INNER JOIN relabelled USING (case_id, start_s) WHERE {labelled}")
        == []
    )


def test_no_candidate_row_means_that_no_rhythm_says_so(built):
    silent = rows(
        built,
        """SELECT case_id, start_s FROM evidence GROUP BY ALL
        HAVING bool_or(kind = 'candidate') = bool_or(rule = 'no_rhythm')""",
    )
    assert silent == []


def test_accepting_premature_beats_adds_what_the_readings_say(request, shared):
    built = connect(request.getfixturevalue("real_home"))
    built.execute(f"CREATE TABLE evidence AS SELECT * FROM {EVIDENCE}")
    built.execute(f"CREATE TABLE label AS SELECT * FROM {LABEL}")
    relabel(
        built,
        "SELECT * REPLACE (accepted OR coalesce(reason = 'premature', FALSE) AS accepted) FROM evidence",
    )
    count = "SELECT label, count(*) FROM {} GROUP BY label ORDER BY label NULLS LAST"
    assert rows(built, count.format("label")) == [("abnormal", 40_246), ("normal", 52_173), (None, 15_001)]
    assert rows(built, count.format("relabelled")) == [
        ("abnormal", 40_246),
        ("normal", 57_741),
        (None, 9_433),
    ]
