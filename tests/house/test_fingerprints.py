"""What a view's fingerprint sees and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from warehouse.fingerprints import build_fingerprints, lineage_digests, rule_fingerprints
from warehouse.views import Catalog, fingerprint_sql

SQL = """WITH params AS (
    SELECT 45.0 AS normal_context_s
)

SELECT
    case_id
    , time_s AS from_s
FROM vitaldb.annotation_v0
CROSS JOIN params
WHERE rhythm = 'N' AND time_s >= params.normal_context_s
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SELECT\n    case_id", "-- why\nSELECT /* here */ case_id"),
        ("\n", " "),
        ("\n    ", "\n\t\t"),
        ("SELECT", "select"),
        (" AND ", " and "),
        ("CROSS JOIN", "Cross Join"),
    ],
)
def test_comments_layout_and_case_of_keywords_do_not_count(old, new):
    assert old in SQL
    assert fingerprint_sql(SQL.replace(old, new)) == fingerprint_sql(SQL)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("45.0", "45.1"),
        ("45.0", "45"),
        ("45.0", "-45.0"),
        ("'N'", "'n'"),
        ("'N'", "'N '"),
        ("'N'", '"N"'),
        ("AS from_s", "AS since_s"),
        ("AS from_s", "AS From_s"),
        (", time_s AS", ", row_no AS"),
        (">=", ">"),
        (" AND ", " OR "),
        ("CROSS JOIN", "INNER JOIN"),
        ("annotation_v0", "annotation_v1"),
        ("case_id\n    , time_s AS from_s", "time_s AS from_s\n    , case_id"),
        ("WHERE", "-- WHERE"),
    ],
)
def test_a_change_of_the_rule_is_seen(old, new):
    assert SQL.count(old) == 1
    assert fingerprint_sql(SQL.replace(old, new)) != fingerprint_sql(SQL)


def test_a_column_renamed_without_as_is_seen():
    assert fingerprint_sql("SELECT time_s from_s FROM a") != fingerprint_sql("SELECT time_s FROM_S FROM a")


@pytest.mark.parametrize(
    ("one", "other"), [("ab c", "a bc"), ("'a' 'b'", "'a b'"), ("1 2", "12"), ("a.b", "a b")]
)
def test_tokens_do_not_run_together(one, other):
    assert fingerprint_sql(f"SELECT {one}") != fingerprint_sql(f"SELECT {other}")


def changed(tmp_path: Path, file: str, old: str, new: str) -> set[str]:
    """The views whose rule fingerprint moves with an edit of one file."""
    import shutil

    from warehouse.project import sql_root

    before = rule_fingerprints(Catalog.read())
    shutil.copytree(sql_root(), tmp_path / "sql")
    path = tmp_path / "sql" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    after = rule_fingerprints(Catalog.read(tmp_path / "sql"))
    return {name for name in before if before[name] != after[name]}


def test_an_edit_moves_the_view_and_all_that_read_it(tmp_path):
    moved = changed(tmp_path, "vitaldb/missing_ecg_v0.sql", "SELECT 0.1 AS", "SELECT 0.2 AS")
    catalog = Catalog.read()
    readers = {
        name for name in catalog if "vitaldb.missing_ecg_v0" in [v.name for v in catalog.lineage([name])]
    }
    assert moved == readers
    assert {
        "vitaldb.missing_ecg_v0",
        "vitaldb.segment_label_v0",
        "task.vitaldb_arrhythmia_abnormal_v0",
    } <= moved
    assert "vitaldb.annotation_v0" not in moved


def test_a_comment_moves_nothing(tmp_path):
    assert changed(tmp_path, "vitaldb/annotation_v0.sql", "-- One row", "-- A row") == set()


def test_raw_data_move_the_build_and_not_the_rule(signal_home, synthetic_home):
    from warehouse.database import inputs

    catalog = Catalog.read()
    one, other = (
        build_fingerprints(catalog.values(), inputs(home)) for home in (signal_home, synthetic_home)
    )
    assert set(one) == set(other)
    moved = {name for name in one if one[name] != other[name]}
    assert {"vitaldb.record_v0", "vitaldb.clock_offset_v0", "vitaldb.segment_evidence_v0"} <= moved
    assert "vitaldb.normal_context_v0" not in moved  # the annotations are the same


def test_to_store_a_view_or_not_moves_its_build_and_its_readers_and_no_rule(tmp_path, synthetic_home):
    from warehouse.database import inputs

    path = "vitaldb/annotation_gap_v0.sql"
    assert changed(tmp_path, path, "-- stored: yes", "-- stored: no") == set()
    one, other = (
        build_fingerprints(catalog.values(), inputs(synthetic_home))
        for catalog in (Catalog.read(), Catalog.read(tmp_path / "sql"))
    )
    moved = {name for name in one if one[name] != other[name]}
    assert {"vitaldb.annotation_gap_v0", "vitaldb.segment_evidence_v0", "vitaldb.segment_label_v0"} <= moved
    assert moved.isdisjoint({"vitaldb.annotation_v0", "vitaldb.segment_v0", "vitaldb.segment_rhythm_v0"})


def test_a_score_is_tied_to_views_maps_and_split():
    catalog = Catalog.read()
    digests = lineage_digests(catalog, catalog["task.vitaldb_arrhythmia_abnormal_v0"])
    assert set(digests) == {"views", "maps", "splits"}
    assert set(digests["maps"]) == {"map.vitaldb_beat", "map.vitaldb_reason", "map.vitaldb_rhythm"}
    assert set(digests["splits"]) == {"split.vitaldb"}
    assert "vitaldb.segment_evidence_v0" in digests["views"]
