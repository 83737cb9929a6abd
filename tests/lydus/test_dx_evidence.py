"""Every label is an aggregate of its evidence: lost without it, kept with it alone, explained where it is missing."""

from __future__ import annotations

import numpy as np
import pytest
from bench.dx_lines import templates
from dx_views import COLUMNS, DxViews

from warehouse.views import Catalog

LABEL = "lydus.record_label_v0"
EVIDENCE = "lydus.class_evidence_v0"
NAMES = {name: column for column, name in COLUMNS.items()}


def records(n: int = 600) -> dict[str, list[str]]:
    """Records of one to six lines, of all templates: hedged, compared, listed, unknown words among them."""
    rng = np.random.default_rng(3)
    kinds = [text.replace("DATE", "14-FEB-2011") for text in templates()]
    kinds += [
        "Possible Atrial fibrillation",
        "** ** ACUTE MI ** **",
        "Sinus rhythm, normal ECG",
        "xyzzy LVH",
        ".",
    ]
    return {
        f"r{number:04d}": [kinds[place] for place in rng.choice(len(kinds), rng.integers(1, 7))]
        for number in range(n)
    }


@pytest.fixture(scope="module")
def views() -> DxViews:
    """The views, with evidence and label as tables and a view over `shown` evidence in the evidence's place."""
    views = DxViews(LABEL).fill(records())
    con = views.con
    con.execute(f"CREATE TABLE evidence AS SELECT * FROM {EVIDENCE}")
    con.execute(f"CREATE TABLE label AS SELECT * FROM {LABEL}")
    return views


def relabel(views: DxViews, evidence: str) -> None:
    """Table `relabelled`: the label view's own text over other evidence."""
    views.con.execute(f"CREATE OR REPLACE TABLE shown AS {evidence}")
    text = Catalog.read()[LABEL].sql.replace(EVIDENCE, "shown")
    views.con.execute(f"CREATE OR REPLACE TABLE relabelled AS {text}")


def labels(views: DxViews, table: str) -> set[tuple[str, str]]:
    return {
        (record, name)
        for name, column in NAMES.items()
        for (record,) in views.rows(f"SELECT record_id FROM {table} WHERE {column}")
    }


def test_the_set_says_something(views):
    found = {name for _, name in labels(views, "label")}
    assert found == set(NAMES)
    reasons = {
        reason for (reason,) in views.rows("SELECT DISTINCT reason FROM evidence WHERE reason IS NOT NULL")
    }
    assert {
        "hedged_seed",
        "serial_comparison",
        "acute_mi",
        "either_or",
        "not_listed",
        "part_of_line",
    } <= reasons
    assert any("serial_comparison + " in reason for reason in reasons)


def test_every_label_is_lost_without_its_accepted_evidence(views):
    """All at once: a class hangs on its own rows alone, but Old MI comes back where Acute MI's rows go."""
    relabel(views, "SELECT * FROM evidence WHERE NOT accepted")
    assert labels(views, "relabelled") == set()


def test_every_label_stays_with_nothing_but_its_accepted_evidence(views):
    relabel(views, "SELECT * FROM evidence WHERE accepted OR kind = 'exclusion'")
    assert labels(views, "relabelled") == labels(views, "label")


@pytest.mark.parametrize("name", sorted(NAMES))
def test_one_class_hangs_on_its_own_evidence(views, name):
    relabel(views, f"SELECT * FROM evidence WHERE class <> '{name}' OR kind = 'exclusion' OR NOT accepted")
    kept = {pair for pair in labels(views, "label") if pair[1] != name}
    assert labels(views, "relabelled") == kept
    relabel(views, f"SELECT * FROM evidence WHERE class = '{name}'")
    assert labels(views, "relabelled") == labels(views, "label") - kept


def test_a_class_that_is_missing_has_a_reason_or_no_candidate(views):
    given = labels(views, "label")
    candidates: dict[tuple[str, str], list] = {}
    for record, name, kind, accepted, reason in views.rows(
        "SELECT record_id, class, kind, accepted, reason FROM evidence"
    ):
        assert accepted is (reason is None)
        candidates.setdefault((record, name), []).append((kind, accepted, reason))
    assert given <= set(candidates)
    for pair, rows in candidates.items():
        if pair not in given:
            refusals = [reason for kind, _, reason in rows if reason]
            assert refusals, pair


def test_accepting_every_reason_gives_the_candidates_class(views):
    relabel(views, "SELECT * REPLACE (TRUE AS accepted, NULL AS reason) FROM evidence")
    wanted = set(views.rows("SELECT DISTINCT record_id, class FROM evidence WHERE kind = 'candidate'"))
    assert labels(views, "relabelled") == wanted


def test_accepting_one_reason_leaves_those_with_another(views):
    """A hedge in the comparison section stays refused when hedges count, and when comparisons do."""
    for accepted in ("hedged_seed", "serial_comparison"):
        relabel(
            views,
            f"SELECT * REPLACE (accepted OR reason = '{accepted}' AS accepted) FROM evidence",
        )
        gained = labels(views, "relabelled") - labels(views, "label")
        assert gained
        for record, name in gained:
            rows = views.rows(
                "SELECT reason FROM evidence WHERE record_id = "
                f"'{record}' AND class = '{name}' AND kind = 'candidate'"
            )
            assert (accepted,) in rows


def test_acute_mi_does_not_need_an_infarct_and_a_hedge_does_not_take_it():
    found = (
        DxViews(LABEL)
        .fill(
            {
                "listed": ["ST elevation, probably due to early repolarization"],
                "hedged": [
                    "Possible anterior infarct",
                    "ST ELEVATION, CONSIDER LATERAL INJURY OR ACUTE INFARCT.",
                ],
                "beside_old": ["** ** ACUTE MI / STEMI ** **", "Inferior infarct, old"],
                "compared": ["When compared with ECG of 1-JAN-2010", "** ** ACUTE MI / STEMI ** **"],
                "begins": ["ST elevation, consider early repolarization"],
                "near": ["** ** ACUTE MI ** **"],
                "more": ["** ** ACUTE MI / STEMI ** ** Inferior"],
            }
        )
        .classes()
    )
    assert found == {
        "listed": {"Acute MI", "STTC"},
        "hedged": {"Acute MI", "STTC"},
        "beside_old": {"Acute MI"},
        "compared": set(),
        "begins": {"STTC"},
        "near": {"Old MI"},
        "more": {"Old MI"},
    }


def test_params_are_what_if_switches():
    """Each constant of ours that decides a reading changes the labels when its literal is replaced."""
    catalog = Catalog.read()
    for view, constant, lines, before, after in (
        (
            "lydus.dx_finding_v0",
            "hedge_digitalis",
            ["ST abnormality, possible digitalis effect"],
            {"STTC"},
            set(),
        ),
        (
            "lydus.class_evidence_v0",
            "count_comparison_tinv",
            ["T wave inversion now evident in Lateral leads"],
            set(),
            {"STTC"},
        ),
    ):
        views = DxViews(LABEL)
        assert views.fill({"r": lines}).classes() == {"r": before}
        text = catalog[view].sql
        assert text.count(f"FALSE AS {constant}") == 1
        changed = text.replace(f"FALSE AS {constant}", f"TRUE AS {constant}")
        views.con.execute(f"CREATE OR REPLACE VIEW {view} AS {changed}")
        assert views.fill({"r": lines}).classes() == {"r": after}
