"""500 real PTB-XL records: the counts that must hold, against the Challenge's rules in a dozen lines of Python."""

from __future__ import annotations

import ast
import csv
from pathlib import Path

import pytest
from sql_cases import raw_columns

from warehouse.home import Home
from warehouse.query import connect
from warehouse.spec import find_spec

CLASSES = find_spec("cinc2024-ptbxl-image@0").classes
COUNTS = {
    "NORM": 297, "Old MI": 73, "CD": 78, "HYP": 40, "STTC": 96, "PAC": 6, "PVC": 16, "AFIB/AFL": 20, "BRADY": 9,
    "TACHY": 6, "Acute MI": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def con(ptbxl_home: Home):
    return connect(ptbxl_home)


def labels(con, view: str = "task.cinc2024_ptbxl_image_v0") -> dict[int, set[str]]:
    names = ", ".join(f'"{name}"' for name in CLASSES)
    rows = con.execute(f"SELECT record_id, {names} FROM {view}").fetchall()
    return {
        record: {name for name, given in zip(CLASSES, flags, strict=True) if given} for record, *flags in rows
    }


def test_counts(con):
    found = list(labels(con).values())
    assert len(found) == 500
    assert {name: sum(name in each for each in found) for name in CLASSES} == COUNTS
    assert sum(not each for each in found) == 6


def test_scored_is_a_class_and_nothing_is_left_out(con):
    rows = con.execute("SELECT record_id, scored, left_out FROM task.cinc2024_ptbxl_image_v0").fetchall()
    assert {record for record, scored, _ in rows if scored} == {
        record for record, given in labels(con).items() if given
    }
    assert {left_out for *_, left_out in rows} == {None}


def test_every_record_as_the_rules_say(con, shared: Path):
    """The Challenge's rules once more, without a statement file: superclasses from the release's own table."""
    folder = shared / "data" / "ptbxl"
    with (folder / "scp_statements.csv").open(encoding="utf-8") as file:
        superclass = {row[""]: row["diagnostic_class"] for row in csv.DictReader(file) if row["diagnostic"]}
    names = {"MI": "Old MI", "AFLT": "AFIB/AFL", "AFIB": "AFIB/AFL", "STACH": "TACHY", "SVTAC": "TACHY",
        "PSVT": "TACHY", "SBRAD": "BRADY", "PAC": "PAC", "PVC": "PVC"}  # fmt: skip
    with (folder / "ptbxl_database_first500.csv").open(encoding="utf-8") as file:
        wanted = {}
        for row in csv.DictReader(file):
            codes = ast.literal_eval(row["scp_codes"])
            groups = {superclass[code] for code in codes if code in superclass}
            wanted[int(row["ecg_id"])] = {names.get(group, group) for group in groups} | {
                names[code] for code in codes if code in names
            }
    assert labels(con) == wanted


def test_parts_are_the_folds_and_patients_stay_together(con):
    parts = con.execute("SELECT fold, part FROM task.cinc2024_ptbxl_image_v0 GROUP BY ALL").fetchall()
    assert dict(parts) == {fold: {9: "validation", 10: "test"}.get(fold, "train") for fold in range(1, 11)}
    assert con.execute("SELECT * FROM ptbxl.patient_in_two_parts_v0").fetchall() == []


def test_acute_mi_is_said_to_be_not_checked(con):
    rules = con.execute("SELECT DISTINCT acute_mi_rule FROM task.cinc2024_ptbxl_image_v0").fetchall()
    assert rules == [("not checked",)]


def test_the_report_counts_a_second_way(con):
    rows = con.execute("SELECT class, sum(records) FROM ptbxl.class_count_v0 GROUP BY class").fetchall()
    nonzero = {name: count for name, count in COUNTS.items() if count}
    assert dict(rows) == {**nonzero, "records": 500, "scored": 494}


def test_a_label_hangs_on_its_evidence(con):
    """Lost without it, kept with it alone, for every record."""
    from warehouse.views import Catalog

    text = Catalog.read()["ptbxl.record_label_v0"].sql
    for keep, kept in (("accepted", True), ("NOT accepted", False)):
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE shown AS SELECT * FROM ptbxl.class_evidence_v0 WHERE {keep}"
        )
        changed = con.execute(text.replace("ptbxl.class_evidence_v0", "shown")).fetchall()
        given = con.execute(text).fetchall()
        assert (sorted(changed) == sorted(given)) is kept
        assert any(row[-1] for row in changed) is kept


def test_raw_tables_have_the_columns_of_the_cases(con):
    """What tests/sql_cases.py says of the loader's tables."""
    for name, columns in raw_columns().items():
        if name.startswith("raw_ptbxl."):
            found = [row[:2] for row in con.execute(f"DESCRIBE {name}").fetchall()]
            assert sorted(found) == sorted(columns), name
