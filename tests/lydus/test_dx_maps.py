"""The maps of dx statements: codes that exist, no contradiction, no phrase that cannot match, how much they cover."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest
from dx_views import DxViews
from oracle import dx

from warehouse.maps import map_files, map_rows

KINDS = {
    "finding", "infarct", "hedged", "age", "summary", "reset", "or", "either", "negation", "filler",
}  # fmt: skip
KEYS = {
    "dx_phrase": ("phrase",),
    "dx_hedge": ("phrase",),
    "dx_code": ("code",),
    "lydus_whole_line": ("key",),
    "lydus_line_pattern": ("pattern",),
    "lydus_reason": ("reason",),
    "lydus_reviewed": ("field", "value"),
    "ptbxl_code": ("code",),
    "ptbxl_superclass": ("diagnostic_class",),
    "ptbxl_acute_statement": ("statement_no",),
}
"""Map → what may stand in it once."""
GOAL = 0.98


def phrases() -> list[str]:
    return [row["phrase"] for name in ("dx_phrase", "dx_hedge") for row in map_rows(name)]


def faults(rows: dict[str, list[dict[str, str]]]) -> list[str]:
    """What is wrong with maps, in words: the tests below hold the registry's to none, and broken ones to some."""
    found = []
    for name, keys in KEYS.items():
        counts = Counter(tuple(row[key] for key in keys) for row in rows[name])
        found += [f"{name}: {' '.join(key)} stands twice" for key, count in counts.items() if count > 1]
    both = {row["phrase"] for row in rows["dx_phrase"]} & {row["phrase"] for row in rows["dx_hedge"]}
    found += [f"dx_hedge: {phrase} is in dx_phrase too" for phrase in sorted(both)]
    known = {row["code"] for row in rows["dx_code"]}
    for row in rows["dx_phrase"]:
        found += [
            f"dx_phrase: {row['phrase']}: unknown code {code}"
            for code in row["codes"].split()
            if code not in known
        ]
        if row["kind"] not in KINDS:
            found.append(f"dx_phrase: {row['phrase']}: unknown kind {row['kind']}")
        if row["codes"] and row["kind"] not in ("finding", "infarct", "hedged", "age"):
            found.append(f"dx_phrase: {row['phrase']}: a {row['kind']} has no codes")
    for name in ("dx_phrase", "dx_hedge"):
        for row in rows[name]:
            said = dx.parse(dx.undated(row["phrase"])).said
            if said != row["phrase"]:
                found.append(f"{name}: {row['phrase']} can never match: a line would say {said!r}")
    for row in rows["lydus_whole_line"]:
        if dx.parse(dx.undated(row["text"])).key != row["key"]:
            found.append(f"lydus_whole_line: {row['key']} can never match: its text has another key")
    return found


def registry() -> dict[str, list[dict[str, str]]]:
    return {name: [dict(row) for row in map_rows(name)] for name in KEYS}


def test_the_maps_have_no_fault():
    assert faults(registry()) == []


@pytest.mark.parametrize(
    ("name", "row", "fault"),
    [
        (
            "dx_phrase",
            {"phrase": "sinus rhythm", "kind": "filler", "codes": ""},
            "dx_phrase: sinus rhythm stands twice",
        ),
        (
            "dx_phrase",
            {"phrase": "odd rhythm", "kind": "finding", "codes": "1234567"},
            "dx_phrase: odd rhythm: unknown code 1234567",
        ),
        (
            "dx_phrase",
            {"phrase": "A-V block", "kind": "finding", "codes": ""},
            "dx_phrase: A-V block can never match: a line would say 'av block'",
        ),
        (
            "dx_phrase",
            {"phrase": "myocardial infarction", "kind": "infarct", "codes": ""},
            "dx_phrase: myocardial infarction can never match: a line would say 'myocardial infarct'",
        ),
        (
            "dx_phrase",
            {"phrase": "noise", "kind": "sound", "codes": ""},
            "dx_phrase: noise: unknown kind sound",
        ),
        (
            "dx_phrase",
            {"phrase": "very", "kind": "filler", "codes": "164889003"},
            "dx_phrase: very: a filler has no codes",
        ),
        ("dx_hedge", {"phrase": "with", "source": "seed"}, "dx_hedge: with is in dx_phrase too"),
        (
            "dx_code",
            {"code": "164889003", "class": "TACHY"},
            "dx_code: 164889003 stands twice",
        ),
        (
            "lydus_whole_line",
            {"key": "normal ecg", "text": "Normal ECG"},
            "lydus_whole_line: normal ecg can never match: its text has another key",
        ),
    ],
)
def test_each_fault_is_found(name, row, fault):
    rows = registry()
    rows[name].append(row)
    assert faults(rows) == [fault]


def test_every_map_reads_with_the_columns_of_its_header():
    """Nothing in a map may lead DuckDB's CSV reader to another separator or type."""
    views = DxViews("lydus.record_label_v0", "task.lydus_ecg_image_v0", "lydus.agreement_v0")
    for name in KEYS:
        if f"map.{name}" in {read for view in views.lineage for read in view.reads}:
            described = views.rows(f"DESCRIBE map.{name}")
            header = map_files()[name].read_text(encoding="utf-8").splitlines()[0].split(",")
            assert [row[0] for row in described] == header, name
            (count,) = views.rows(f"SELECT count(*) FROM map.{name}")[0]
            assert count == len(map_rows(name)), name
    assert dict(row[:2] for row in views.rows("DESCRIBE map.dx_phrase"))["codes"] == "VARCHAR"
    assert dict(row[:2] for row in views.rows("DESCRIBE map.dx_code"))["code"] == "BIGINT"


def test_codes_are_those_of_the_challenge_2021_tables(shared: Path):
    known = {}
    for part in ("scored", "unscored"):
        with (shared / "data" / "reference" / f"dx_mapping_{part}.csv").open(encoding="utf-8") as file:
            known |= {row["SNOMEDCTCode"]: row["Abbreviation"] for row in csv.DictReader(file)}
    assert {row["code"]: row["abbreviation"] for row in map_rows("dx_code")}.items() <= known.items()


def test_every_finding_of_a_phrase_alone_is_found_and_definite():
    """The phrase, written as a line, gives its own codes, unless its words hedge it."""
    for row in map_rows("dx_phrase"):
        if row["kind"] not in ("finding", "infarct", "hedged"):
            continue
        line = dx.parse(row["phrase"])
        assert sorted(finding.code for finding in line.findings) == sorted(map(int, row["codes"].split()))
        assert {bool(finding.reasons) for finding in line.findings} <= {row["kind"] == "hedged"}, row[
            "phrase"
        ]
        assert line.unmapped == ()


def test_overlapping_phrases_are_reported_not_guessed():
    """A pair of which one's end is the other's begin: the first is read, the second refused."""
    line = dx.parse("acute mi inferior infarct")
    assert [finding.phrase for finding in line.findings] == ["acute mi inferior"]
    assert line.unmapped == ("infarct",)
    views = DxViews("lydus.dx_hit_v0").fill({"r": ["acute mi inferior infarct"]})
    assert views.rows("SELECT phrase, accepted, reason FROM lydus.dx_hit_v0 ORDER BY place") == [
        ("acute mi inferior", True, None),
        ("inferior infarct", False, "overlap"),
    ]


def test_no_statement_that_we_know_of_has_an_overlap(shared: Path):
    reference = shared / "data" / "reference" / "12slv23ToSNOMED.csv"
    with reference.open(encoding="utf-8-sig") as file:
        texts = [row["FullText"] for row in csv.DictReader(file) if row["FullText"]]
    with (shared / "facts" / "lydus" / "dx_map_draft.csv").open(encoding="utf-8") as file:
        texts += [row["text"].replace("<DATE>", "14-FEB-2011") for row in csv.DictReader(file)]
    with (shared / "golden" / "lydus" / "tricky_lines.csv").open(encoding="utf-8") as file:
        texts += [row["line"] for row in csv.DictReader(file)]
    views = DxViews("lydus.dx_hit_v0").fill({"r": list(dict.fromkeys(texts))})
    assert views.rows("SELECT phrase FROM lydus.dx_hit_v0 WHERE reason = 'overlap'") == []


def test_the_12sl_table_is_mapped(shared: Path, capsys):
    """Each text of PTB-XL+'s table once: the goal is 98 %, the rest is told."""
    reference = shared / "data" / "reference" / "12slv23ToSNOMED.csv"
    with reference.open(encoding="utf-8-sig") as file:
        texts = sorted({row["FullText"] for row in csv.DictReader(file) if row["FullText"]})
    views = DxViews("lydus.unmapped_line_v0").fill({"r": texts})
    left = views.rows("SELECT wording, words FROM lydus.unmapped_line_v0 ORDER BY wording")
    share = 1 - len(left) / len(texts)
    with capsys.disabled():
        print(
            f"\n12SL table: {len(texts) - len(left)} of {len(texts)} texts mapped ({share:.1%}); left {left}"
        )
    assert share >= GOAL
    assert left == [(", possibly acute", "acute")]


def test_seed_hedges_are_marked_and_the_others_too():
    sources = {row["phrase"]: row["source"] for row in map_rows("dx_hedge")}
    assert {phrase for phrase, source in sources.items() if source == "seed"} == {
        "possible",
        "cannot rule out",
        "consider",
        "suspected",
    }
    assert set(sources.values()) == {"seed", "clinical"}


def test_reasons_of_the_views_are_in_the_map():
    views = DxViews("lydus.class_evidence_v0", "lydus.dx_hit_v0", "lydus.exclusion_v0")
    views.fill(
        {
            "a": [
                "Possible LVH", "Probable LVH", "LVH -or- RVH", "LVH or RVH", "No LVH", "LVH is now present",
                "Critical test result: LVH", "acute MI", "normal ECG and LVH", "** ** ACUTE MI / STEMI ** **",
                "acute embolism", "acute mi inferior infarct",
            ],
            "b": [],
        },
        signal_fact=[{"record_id": "b", "flat": True}],
    )  # fmt: skip
    found = {
        part
        for view in ("class_evidence_v0", "dx_hit_v0", "exclusion_v0")
        for (reason,) in views.rows(f"SELECT DISTINCT reason FROM lydus.{view} WHERE reason IS NOT NULL")
        for part in reason.split(" + ")
    }
    known = {row["reason"] for row in map_rows("lydus_reason")}
    assert found == known - {"not_sampled", "no_class", "no_candidate"}
