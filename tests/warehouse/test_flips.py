"""Two readings of a task beside each other: counts, flips with their evidence, moves, instances of one side."""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import pytest

from warehouse.counts import count
from warehouse.errors import RegistryError, UsageError
from warehouse.flips import Comparison, compare
from warehouse.home import Home
from warehouse.variant import Variant
from warehouse.views import Catalog

TASK = "vitaldb-arrhythmia-abnormal@0"
VIEW = "task.vitaldb_arrhythmia_abnormal_v0"
WHY = "task.vitaldb_arrhythmia_abnormal_why_v0"
CONTEXT = "vitaldb.normal_context_v0"
EVIDENCE = "vitaldb.segment_evidence_v0"
LABEL = "vitaldb.segment_label_v0"
CATALOG = Catalog.read()
SHORTER = Variant({CONTEXT: CATALOG[CONTEXT].sql.replace("45 AS normal_context_s", "20 AS normal_context_s")})


def of(view: str, select: str) -> Variant:
    """A select list over one view."""
    return Variant(columns={view: select})


def without(view: str, condition: str) -> Variant:
    """One view without some of its rows."""
    return Variant({view: f"SELECT * FROM ({CATALOG[view].sql}\n) WHERE NOT ({condition})"})


@pytest.fixture(scope="module")
def shorter(synthetic_home: Home) -> Comparison:
    return compare(synthetic_home, TASK, Variant(), SHORTER)


def test_a_rule_beside_itself(synthetic_home: Home):
    found = compare(synthetic_home, TASK, SHORTER, SHORTER)
    assert found.before.as_json() == found.after.as_json()
    assert (found.flip_count, found.flipped, found.move_count, found.missing) == (
        0,
        0,
        0,
        {"before": 0, "after": 0},
    )
    assert (found.flips(), found.moves(), found.by_class, found.relabelled) == ([], [], {}, False)


def test_counts_are_those_of_the_command(synthetic_home: Home, shorter: Comparison):
    assert shorter.before.as_json() == count(synthetic_home, TASK).as_json()
    assert shorter.instances == sum(
        part["records"] + part["left_out"] for part in shorter.after.as_json()["parts"].values()
    )


def test_flips_are_the_differing_labels(synthetic_home: Home, shorter: Comparison):
    """Against a plain comparison of both task views in Python."""
    sides = [
        dict(shorter.con.execute(f"SELECT instance_id, abnormal FROM {side}.{VIEW}").fetchall())
        for side in ("before", "after")
    ]
    wanted = [
        {"instance_id": name, "class": "abnormal", "before": sides[0][name], "after": sides[1][name]}
        for name in sorted(sides[0])
        if sides[0][name] is not sides[1][name]
    ]
    assert wanted, "else this shows nothing"
    assert shorter.flips(evidence=False) == wanted
    assert shorter.flip_count == shorter.flipped == len(wanted)
    assert shorter.by_class == {"abnormal": {"unknown_to_no": len(wanted)}}
    assert shorter.flips(2, evidence=False) == wanted[:2]


def test_every_flip_is_explained_by_what_only_one_side_accepts(shorter: Comparison):
    assert shorter.explained
    assert shorter.unexplained() == []
    for flip in shorter.flips():
        assert {row["side"] for row in flip["evidence"]} == {"after"}
        assert {(row["kind"], row["rule"], row["class"]) for row in flip["evidence"]} == {
            ("candidate", "normal_context", "normal")
        }


def test_the_first_flips_have_the_evidence_that_they_have_among_all(shorter: Comparison):
    assert shorter.flips(3) == shorter.flips()[:3]


def test_an_exclusion_that_one_side_alone_has(synthetic_home: Home):
    lifted = of(EVIDENCE, "* REPLACE (accepted OR coalesce(rule = 'premature', FALSE) AS accepted)")
    found = compare(synthetic_home, TASK, Variant(), lifted)
    flips = found.flips()
    assert flips
    assert {(row["side"], row["kind"], row["rule"]) for flip in flips for row in flip["evidence"]} == {
        ("before", "exclusion", "premature")
    }


def test_a_why_view_that_keeps_something_back_is_found_out(synthetic_home: Home):
    """The check can fail: without the candidates of normal rhythm no row explains a flip."""
    rule = "rule = 'normal_context'"
    before, after = without(WHY, rule), Variant({**SHORTER.views, **without(WHY, rule).views})
    found = compare(synthetic_home, TASK, before, after)
    assert len(found.unexplained()) == found.flip_count > 0


def test_a_label_view_that_adds_up_otherwise(synthetic_home: Home):
    """The evidence is the same on both sides, and is said to be."""
    found = compare(
        synthetic_home, TASK, Variant(), of(LABEL, "* REPLACE (nullif(label, 'normal') AS label)")
    )
    assert found.relabelled
    flips = found.flips()
    assert flips
    assert all(flip["before"] is False and flip["after"] is None for flip in flips)
    assert {row["side"] for flip in flips for row in flip["evidence"]} == {"both"}
    assert found.unexplained() == []


def test_parts_and_exclusions_that_move_are_no_flips(synthetic_home: Home):
    found = compare(synthetic_home, TASK, Variant(), of(VIEW, "* REPLACE ('test' AS part)"))
    assert found.flip_count == 0
    (wanted,) = found.con.execute(
        f"SELECT count(*) FROM before.{VIEW} WHERE part IS DISTINCT FROM 'test'"
    ).fetchone()
    assert found.move_count == len(found.moves()) == wanted > 0
    first = found.moves(1)[0]
    assert first["before"]["part"] != first["after"]["part"] == "test"


def test_an_instance_that_a_change_doubles_is_an_error(synthetic_home: Home):
    """Each of its flips would be counted as often as it stands there."""
    text = Catalog.read()[VIEW].sql
    twice = Variant({VIEW: f"SELECT * FROM ({text}\n) UNION ALL (SELECT * FROM ({text}\n) LIMIT 1)"})
    with pytest.raises(RegistryError, match=r"after the change: found instance .* in 2 rows"):
        compare(synthetic_home, TASK, Variant(), twice)


def test_instances_that_one_side_alone_has_are_no_flips(synthetic_home: Home):
    gone = without(VIEW, "start_s % 10 = 0")
    found = compare(synthetic_home, TASK, Variant(), gone)
    assert (found.flip_count, found.move_count, found.missing["after"]) == (0, 0, 0)
    assert found.missing["before"] == len(found.only("before")) > 0
    assert found.only("after") == []
    back = compare(synthetic_home, TASK, gone, Variant(), evidence=False)
    assert back.only("after") == found.only("before")
    assert back.instances == found.instances


def test_without_evidence_no_why_view_is_opened(synthetic_home: Home):
    broken = Variant({**SHORTER.views, WHY: "SELECT nothing FROM vitaldb.annotation_v0"})
    found = compare(synthetic_home, TASK, Variant(), broken, evidence=False)
    assert (found.explained, found.flip_count > 0) == (False, True)
    assert all(flip["evidence"] == [] for flip in found.flips())


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_flips_in_a_file(shorter: Comparison, tmp_path: Path, suffix: str):
    file = tmp_path / f"flips{suffix}"
    shorter.write_flips(file)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    if suffix == ".csv":
        with file.open(encoding="utf-8", newline="") as text:
            rows = [
                (row["instance_id"], row["evidence_side"], row["evidence_words"])
                for row in csv.DictReader(text)
            ]
    else:
        rows = duckdb.sql(
            f"SELECT instance_id, evidence_side, evidence_words FROM '{file}' ORDER BY instance_id"
        ).fetchall()
    assert rows == [
        (flip["instance_id"], row["side"], row["words"])
        for flip in shorter.flips()
        for row in flip["evidence"]
    ]


def test_several_classes_flip_each_for_itself(lydus_home: Home):
    """A record with two hedged classes has two flips, each with the evidence of its class."""
    hedged = "coalesce(reason = 'hedged_seed', FALSE)"
    accepted = of(
        "lydus.class_evidence_v0",
        f"* REPLACE (accepted OR {hedged} AS accepted, CASE WHEN NOT {hedged} THEN reason END AS reason)",
    )
    found = compare(lydus_home, "lydus-ecg-image", Variant(), accepted)
    assert len(found.by_class) > 1
    assert found.unexplained() == []
    for flip in found.flips():
        assert {row["class"] for row in flip["evidence"]} == {flip["class"]}


def test_a_task_that_is_not_there(synthetic_home: Home):
    with pytest.raises(UsageError, match="found no task 'nothing'"):
        compare(synthetic_home, "nothing", Variant(), Variant())
