"""Every given/expect case of every view; see README.md beside this file."""

from __future__ import annotations

from pathlib import Path

import pytest
from sql_cases import ROOT, Case, Rows, bench, difference, find_cases

from warehouse.errors import RegistryError
from warehouse.release_checks import CASES_EXPECTED
from warehouse.views import Catalog

CATALOG = Catalog.read()
CASES = find_cases()


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_view_gives_what_the_case_expects(case: Case):
    differing = bench().failure(CATALOG[case.view], case)
    assert not differing, f"{case.id}\n{differing}"


@pytest.mark.parametrize(
    "view", [view.name for view in CATALOG.values() if view.layer in (*CASES_EXPECTED, "task")]
)
def test_evidence_label_and_task_views_have_cases(view: str):
    assert [case for case in CASES if case.view == view]


@pytest.mark.parametrize("view", [view.name for view in CATALOG.values() if view.layer == "audit"])
def test_every_audit_has_a_case_in_which_it_finds_something(view: str):
    assert [case for case in CASES if case.view == view and case.expect.rows]


def test_every_folder_is_a_case():
    folders = {path for path in ROOT.glob("*/*/*") if path.is_dir() and "__pycache__" not in path.parts}
    assert {path.parent for path in ROOT.glob("*/*/*/expect.csv")} == folders
    assert {f"{folder.parent.parent.name}.{folder.parent.name}" for folder in folders} <= set(CATALOG)


def test_a_failure_shows_the_differing_rows_only():
    shown = difference(("a", "b"), [(1, None), (2, "x")], [(1, None), (2, "y"), (3, "z")])
    assert shown.splitlines() == ["  a, b", "- 2, x", "+ 2, y", "+ 3, z"]


def test_a_table_that_the_view_does_not_read_is_refused():
    case = Case(
        "vitaldb.noise_v0",
        "wrong",
        {"vitaldb.segment_v0": Rows(Path("x"), (), ())},
        Rows(Path("x"), ("row_no",), ()),
    )
    with pytest.raises(RegistryError, match=r"reads vitaldb\.annotation_v0"):
        bench().run(CATALOG[case.view], case)


def test_a_column_that_the_table_does_not_have_is_refused():
    rows = Rows(Path("given.csv"), ("beat",), (("N",),))
    case = Case(
        "vitaldb.noise_v0", "wrong", {"vitaldb.annotation_v0": rows}, Rows(Path("x"), ("row_no",), ())
    )
    with pytest.raises(RegistryError, match="no column beat"):
        bench().run(CATALOG[case.view], case)
