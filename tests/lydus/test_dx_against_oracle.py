"""The chain of views against the plain-Python grammar: random lines from the maps' own words, and everything between.

Lines are drawn as pieces: phrases, hedges, connectives, ages with dates, unknown words, comparisons, listed whole
lines, each with the spellings that the normal forms must undo. Many records go through the views at once.
"""

from __future__ import annotations

import pytest
from dx_views import DxViews
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st
from oracle import dx

from warehouse.maps import map_rows

PHRASES = [row["phrase"] for row in map_rows("dx_phrase")]
STATED = [row["phrase"] for row in map_rows("dx_phrase") if row["kind"] in dx.STATED]
HEDGES = [row["phrase"] for row in map_rows("dx_hedge")]
WHOLE = [row["text"] for row in map_rows("lydus_whole_line")]
VERBS = [
    row["pattern"].replace("%", " x ") for row in map_rows("lydus_line_pattern") if row["kind"] != "section"
]
OPENS = ["When compared with ECG of 01-APR-2015 09:30,", "WHEN COMPARED WITH ECG OF 1-apr-15"]
GLUE = [
    "with",
    "or",
    "-or-",
    ";",
    "?",
    "&",
    "and",
    ",",
    ", plus",
    "/",
    "(",
    ")",
    "***",
    ".",
    "no",
    "xyzzy",
    "evidnt",
]
AGES = [
    ", old",
    ", possibly acute",
    ", acute",
    "(cited on or before 14-FEB-2011)",
    ", age undetermined",
    ", new",
]
SPELLED = ["A-V block", "1st degree A-V block", "first degree A-V block", "non-specific T wave abnormality",
    "Premature ventricular contractions", "anterior infarction", "lateral ischaemia",
    "intra-ventricular block"]  # fmt: skip
STAMPS = ["", " 14-FEB-2011", " 2011-02-14 09:30", " 03/04/2012 9:05 pm"]

piece = st.one_of(
    st.sampled_from(STATED),
    st.sampled_from(STATED),
    st.sampled_from(PHRASES),
    st.sampled_from(HEDGES),
    st.sampled_from(GLUE),
    st.sampled_from(AGES),
    st.sampled_from(SPELLED),
    st.text("abcdefgst -*/.,()'", max_size=8),
)
spelling = st.sampled_from(
    [str, str.upper, str.title, lambda text: text.replace(" ", "  "), lambda text: f" {text}."]
)


@st.composite
def lines(draw) -> str:
    kind = draw(st.integers(0, 11))
    if kind == 0:
        text = draw(st.sampled_from(WHOLE))
    elif kind == 1:
        text = draw(st.sampled_from(OPENS))
    else:
        text = " ".join(draw(st.lists(piece, min_size=1, max_size=6)))
        if kind == 2:
            text += draw(st.sampled_from(VERBS)) + draw(st.sampled_from(STATED))
        if kind == 3:
            text += " " + draw(st.sampled_from(OPENS)) + " " + draw(st.sampled_from(STATED))
        if kind == 4:
            text += draw(st.sampled_from(STAMPS)) + draw(st.sampled_from(STAMPS)) + " present"
    return draw(spelling)(text)


records = st.lists(st.lists(lines(), min_size=0, max_size=5), min_size=1, max_size=25)


@pytest.fixture(scope="module")
def views() -> DxViews:
    return DxViews("lydus.record_label_v0", "lydus.dx_unmapped_v0", "lydus.dx_code_evidence_v0")


def by_text(views: DxViews, query: str) -> dict[str, list[tuple]]:
    """Rows by the line that they are of; the query gives statement_id first."""
    texts = dict(views.rows("SELECT text_id, text FROM raw_lydus.dx_text"))
    found: dict[str, list[tuple]] = {text: [] for text in texts.values()}
    of = {}
    for text_id, statement_id in views.rows("SELECT text_id, statement_id FROM lydus.dx_text_v0"):
        of.setdefault(statement_id, []).append(texts[text_id])
    for statement_id, *rest in views.rows(query):
        for text in of[statement_id]:
            found[text].append(tuple(rest))
    return found


@given(records)
@example([["Sinus rhythm with 1st degree A-V block", *OPENS, "Atrial fibrillation"], [], ["."], WHOLE])
@example([[f"{hedge} {a} or {b} with {a}"] for hedge in HEDGES for a, b in [("lvh", "rvh")]])
@example([[text, "Normal ECG"] for text in WHOLE])
@example([[phrase] for phrase in PHRASES])
@example([["or lvh"], ["possible lvh or rvh"], ["lvh or rvh with or lae"], [*OPENS, "lvh"], ["lvh", *OPENS]])
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_the_views_say_what_the_oracle_says(views, drawn):
    drawn = [[text for text in record if text.strip()] for record in drawn]
    views.fill({f"r{number}": record for number, record in enumerate(drawn)})
    codes = by_text(
        views,
        "SELECT statement_id, place, phrase, code, coalesce(reason, '') FROM lydus.dx_code_evidence_v0 "
        "ORDER BY statement_id, place, code",
    )
    unmapped = by_text(
        views, "SELECT statement_id, word FROM lydus.dx_unmapped_v0 ORDER BY statement_id, place"
    )
    for text in {text for record in drawn for text in record}:
        line = dx.parse(dx.undated(text))
        before = ["serial_comparison"] * line.comparison + ["header_or_signature"] * line.remark
        wanted = [
            (finding.place, finding.phrase, finding.code, " + ".join([*before, *finding.reasons]))
            for finding in sorted(line.findings, key=lambda each: (each.place, each.code))
        ]
        note(repr(text))
        assert codes[text] == wanted
        assert [word for (word,) in unmapped[text]] == list(line.unmapped)
    assert views.classes() == {f"r{number}": dx.classes(record) for number, record in enumerate(drawn)}


def test_random_lines_meet_every_class_and_reason():
    """The records above would say little if they never came to a label."""
    classes: set[str] = set()
    reasons: set[str] = set()

    @given(records)
    @settings(max_examples=300, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def look(drawn):
        for record in drawn:
            classes.update(dx.classes(record))
            for text in record:
                for finding in dx.parse(dx.undated(text)).findings:
                    reasons.update(finding.reasons)

    look()
    assert classes == set(dx.CLASSES)
    assert reasons == {"negated", "hedged_seed", "hedged_clinical", "either_or", "or_alternative"}
