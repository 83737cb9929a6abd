"""The other readings of the real 482 files: the published effects, with every segment that flips and why."""

from __future__ import annotations

import pytest

from tests.oracle import label_case, read_folder, rule
from warehouse.flips import Comparison, compare
from warehouse.home import Home
from warehouse.variant import Variant
from warehouse.views import Catalog
from warehouse.whatif import Answer, what_if

TASK = "vitaldb-arrhythmia-abnormal"
VIEW = "task.vitaldb_arrhythmia_abnormal_v0"
CONTEXT = "vitaldb.normal_context_v0"


def read_as(home: Home, version: int) -> Comparison:
    """Version 0 of the normal context beside another one in its place."""
    text = Catalog.read()[f"vitaldb.normal_context_v{version}"].sql
    return compare(home, TASK, Variant(), Variant({CONTEXT: text}))


def labels(found: Comparison, side: str) -> tuple[int, int]:
    """(abnormal, normal) segments, left-out ones too."""
    whole = found.whole[side]
    return whole["classes"]["abnormal"], whole["scored"] - whole["classes"]["abnormal"]


@pytest.mark.parametrize(
    ("version", "change", "flip", "side"),
    [(1, 2_002, (None, False), "after"), (2, -6_220, (False, None), "before")],
)
def test_another_reading_of_the_normal_context(real_home: Home, version, change, flip, side):
    found = read_as(real_home, version)
    assert labels(found, "before") == (40_246, 52_173)
    assert labels(found, "after") == (40_246, 52_173 + change)
    flips = found.flips()
    assert len({each["instance_id"] for each in flips}) == len(flips) == found.flip_count == abs(change)
    assert {(each["class"], each["before"], each["after"]) for each in flips} == {("abnormal", *flip)}
    assert (found.move_count, found.missing) == (0, {"before": 0, "after": 0})
    assert found.unexplained() == []
    rows = [row for each in flips for row in each["evidence"]]
    assert {(row["side"], row["kind"], row["class"], row["rule"]) for row in rows} == {
        (side, "candidate", "normal", "normal_context")
    }
    assert all(
        row["source_file"].startswith("Annotation_file_") and row["first_row"] <= row["last_row"]
        for row in rows
    )


def test_a_flip_that_is_known_by_hand(real_home: Home):
    """Case 1018, 1735 s: markers of bad signal quality stand inside the run of lines 2 to 271."""
    flips = {each["instance_id"]: each for each in read_as(real_home, 1).flips()}
    (row,) = flips["1018_1735"]["evidence"]
    assert (row["source_file"], row["first_row"], row["last_row"]) == ("Annotation_file_1018.csv", 2, 271)


def _sums(answer: Answer) -> tuple[int, int]:
    """How many more normal segments: used ones, and with left-out ones."""
    found = answer.as_json()
    used, whole = (
        {
            side: sum(entry["scored"] - entry["classes"]["abnormal"] for entry in entries)
            for side, entries in (
                (side, found[side]["parts"].values() if key == "used" else [found["with_left_out"][side]])
                for side in ("before", "after")
            )
        }
        for key in ("used", "whole")
    )
    return used["after"] - used["before"], whole["after"] - whole["before"]


def test_premature_accepted(real_home: Home):
    """5,568, left-out segments among them; of the 6,901 that were refused for it first the others have no long run."""
    answer = what_if(real_home, TASK, accept=["premature"])
    assert _sums(answer) == (5_525, 5_568)
    assert answer.as_json()["flips"] == 5_568
    (line,) = (line for line in answer.as_text().splitlines() if line.startswith("not abnormal"))
    assert "51,727 → 57,252 (+5,525)" in line
    assert line.endswith("52,173 → 57,741 (+5,568)")


def test_another_constant_beside_the_oracle(real_home: Home, shared, monkeypatch: pytest.MonkeyPatch):
    """The rule in plain Python with 30 s in its place, on the same files."""
    monkeypatch.setattr(rule, "NORMAL_CONTEXT", 30 * rule.SECOND)
    cases = read_folder(shared / "data" / "arrdb")
    wanted = sum(segment.label == "normal" for rows in cases.values() for segment in label_case(rows))
    answer = what_if(real_home, TASK, constants=["normal_context_s=30"])
    assert 52_173 + _sums(answer)[1] == wanted
