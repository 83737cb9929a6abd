"""The synthetic release has the real files' formats and each of their oddities, and the numbers agree."""

from __future__ import annotations

import csv
import filecmp
import io
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from warehouse.errors import UsageError
from warehouse.splits import draw
from warehouse.synthetic import write_vitaldb_release

USUAL = "time_second,beat_type,rhythm_label,bad_signal_quality,bad_signal_quality_label"
SWAPPED = "time_second,beat_type,rhythm_label,bad_signal_quality_label,bad_signal_quality"
CASEID_FIRST = "caseid,beat_type,time_second,rhythm_label,bad_signal_quality"
BOM = b"\xef\xbb\xbf"


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("release")
    write_vitaldb_release(out, signals=False)
    return out


def raw_files(release: Path) -> dict[int, bytes]:
    folder = release / "annotations"
    return {int(path.stem.rsplit("_", 1)[1]): path.read_bytes() for path in sorted(folder.glob("*.csv"))}


def rows_of(raw: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline="")))


@pytest.fixture(scope="module")
def cases(release) -> dict[int, list[dict[str, str]]]:
    return {case_id: rows_of(raw) for case_id, raw in raw_files(release).items()}


@pytest.fixture(scope="module")
def usual(cases) -> dict[int, list[dict[str, str]]]:
    return {case_id: rows for case_id, rows in cases.items() if "bad_signal_quality_label" in rows[0]}


def test_three_layouts_stand_in_the_release_as_often_as_in_the_scenarios(release):
    headers = Counter(raw.removeprefix(BOM).splitlines()[0].decode() for raw in raw_files(release).values())
    assert headers == {USUAL: 22, SWAPPED: 1, CASEID_FIRST: 1}


def test_byte_habits_of_each_layout(release):
    for raw in raw_files(release).values():
        if raw.startswith(CASEID_FIRST.encode()):
            assert raw.count(b"\r\n") == raw.count(b"\n") > 100
            assert raw.endswith(b"E")
            assert b"TRUE" in raw
            assert b"True" not in raw
        else:
            assert raw.startswith(BOM)
            assert b"\r" not in raw
            assert b'"' not in raw
            assert raw.endswith(b"\n")


def test_stamps_are_python_floats_on_the_lattice_in_ascending_order(usual):
    for rows in usual.values():
        stamps = [row["time_second"] for row in rows]
        assert [repr(round(float(stamp) * 360) / 360) for stamp in stamps] == stamps
        assert sorted(stamps, key=float) == stamps


def test_the_caseid_first_file_is_as_odd_as_the_real_one(cases):
    (rows,) = [rows for rows in cases.values() if "caseid" in rows[0]]
    markers = [row for row in rows if row["beat_type"] in ("Start", "End")]
    assert [row["beat_type"] for row in markers] == ["Start", "End"] * 3
    assert {row["bad_signal_quality"] for row in markers} == {"TRUE"}
    assert {row["caseid"] for row in markers} == {""}
    others = [row for row in rows if row not in markers]
    assert {row["bad_signal_quality"] for row in others} == {"FALSE"}
    orphans = [row for row in others if not row["caseid"]]
    assert len(orphans) == 2
    assert all(row["rhythm_label"] == "" and row["beat_type"] in ("S", "V") for row in orphans)
    assert all(row["caseid"].endswith(".0") for row in others if row["caseid"])
    assert [float(row["time_second"]) for row in rows] == sorted(float(row["time_second"]) for row in rows)
    assert {row["rhythm_label"] for row in rows} == {"N", "SVTA", "VT", "Unclassifiable", ""}


def test_every_rhythm_in_new_and_where_it_has_one_in_old_spelling(cases):
    found = {row["rhythm_label"] for rows in cases.values() for row in rows}
    new = {"N", "AFIB/AFL", "AVB", "SND", "SVTA", "VT", "Unclassifiable", "Noise", "WAP/MAT"}
    new |= {"Patterned Ventricular Ectopy", "Patterned Atrial Ectopy"}
    assert found == new | {"SR-mPVC-BT", "SR-mPAC-BT", "MAT", ""}
    for rows in cases.values():
        names = {row["rhythm_label"] for row in rows}
        assert not (names & {"SR-mPVC-BT", "SR-mPAC-BT", "MAT"} and names & {"WAP/MAT"})


def test_every_beat_symbol_and_premature_beats_inside_normal_rhythm(usual):
    pairs = Counter((row["rhythm_label"], row["beat_type"]) for rows in usual.values() for row in rows)
    assert {beat for _, beat in pairs} == {"N", "S", "V", "U", "P", ""}
    assert pairs["N", "S"] >= 5
    assert pairs["N", "V"] >= 5
    assert pairs["N", "P"] == 1
    of_fibrillation = {beat: n for (rhythm, beat), n in pairs.items() if rhythm == "AFIB/AFL"}
    assert of_fibrillation["S"] > 0.9 * sum(of_fibrillation.values())
    assert {beat for rhythm, beat in pairs if rhythm == "Noise"} == {""}


def test_markers_pair_by_number_and_the_flag_follows_them(usual):
    """As measured on the real files: a row is flagged exactly between Start k and End k."""
    for rows in usual.values():
        stamp = {row["bad_signal_quality_label"]: float(row["time_second"]) for row in rows}
        pairs = [
            (stamp[name], stamp[f"End{name[5:]}"])
            for name in stamp
            if name.startswith("Start") and f"End{name[5:]}" in stamp
        ]
        for row in rows:
            inside = any(begin <= float(row["time_second"]) <= end for begin, end in pairs)
            assert row["bad_signal_quality"] == str(inside)


def test_unpaired_markers_at_the_end_and_numbers_off_by_one(usual):
    marks = {
        case_id: [row["bad_signal_quality_label"] for row in rows if row["bad_signal_quality_label"]]
        for case_id, rows in usual.items()
    }
    assert ["Start1"] in marks.values()
    off_by_one = ["End1", "Start1", "End2", "Start2", "End3"]
    (case_id,) = [case_id for case_id, found in marks.items() if found == off_by_one]
    assert {row["bad_signal_quality"] for row in usual[case_id]} == {"False"}


def test_rows_without_a_rhythm_are_markers_and_beats(usual):
    empty = [row for rows in usual.values() for row in rows if not row["rhythm_label"]]
    assert any(row["bad_signal_quality_label"] and not row["beat_type"] for row in empty)
    assert any(row["beat_type"] for row in empty)


def test_noise_rows_carry_no_beat_some_flagged_some_not(usual):
    flags = Counter(
        row["bad_signal_quality"] for rows in usual.values() for row in rows if row["rhythm_label"] == "Noise"
    )
    assert min(flags["True"], flags["False"]) >= 5


def test_duplicate_stamps_of_a_marker_with_a_beat_and_of_identical_rows(usual):
    kinds = Counter()
    for rows in usual.values():
        for one, other in pairwise(rows):
            if one["time_second"] == other["time_second"]:
                if one == other:
                    kinds["same"] += 1
                else:
                    words = [row["bad_signal_quality_label"].rstrip("123") or "beat" for row in (one, other)]
                    kinds[" ".join(words)] += 1
    assert kinds == {"same": 1, "Start beat": 2, "beat End": 2}


def test_gaps_over_ten_seconds_and_a_beat_exactly_on_the_grid(usual):
    stamps = {case_id: [float(row["time_second"]) for row in rows] for case_id, rows in usual.items()}
    gaps = [b - a for each in stamps.values() for a, b in pairwise(each) if b - a > 10]
    assert len(gaps) == 2
    assert all(14 < gap < 18 for gap in gaps)
    assert any(stamp % 5 == 0 for each in stamps.values() for stamp in each)


def test_metadata_agrees_with_the_files(release, cases):
    raw = (release / "metadata.csv").read_bytes()
    assert not raw.startswith(BOM)
    assert b"\r" not in raw
    rows = list(csv.DictReader(io.StringIO(raw.decode())))
    assert [row["case_id"] for row in rows] == sorted(str(case_id) for case_id in cases)
    for row in rows:
        annotated = cases[int(row["case_id"])]
        first, last = float(annotated[0]["time_second"]), float(annotated[-1]["time_second"])
        assert float(row["analysis_start_time_sec"]) == first
        assert float(row["analysis_end_time_sec"]) == last
        assert float(row["analyzed_duration_sec"]) == last - first
        assert int(row["total_beats"]) == len(annotated)
        names = sorted({each["rhythm_label"] for each in annotated} - {""})
        assert row["rhythm_classes"] == ", ".join(names)
        assert 95 < first < 130
        assert 235 < last - first <= 240


def test_subjects_cover_the_parts_of_the_split_and_one_has_two_cases(release, cases):
    rows = list(csv.DictReader((release / "clinical_data.csv").open(encoding="utf-8")))
    assert list(rows[0])[:2] == ["caseid", "subjectid"]
    people = {int(row["caseid"]): int(row["subjectid"]) for row in rows}
    assert people.keys() > cases.keys()
    split = draw("vitaldb")
    part_of = dict(zip(split.units.tolist(), split.parts.tolist(), strict=True))
    subjects = [people[case_id] for case_id in cases]
    assert Counter(part_of[subject] for subject in subjects) == {"train": 13, "validation": 3, "test": 8}
    assert sorted(Counter(subjects).values()) == [1] * 22 + [2]


def test_same_arguments_give_same_bytes_and_another_seed_other_ones(release, tmp_path):
    write_vitaldb_release(tmp_path / "again", signals=False)
    write_vitaldb_release(tmp_path / "other", signals=False, seed=1)
    names = sorted(str(path.relative_to(release)) for path in release.rglob("*.csv"))
    assert len(names) == 26
    match, mismatch, errors = filecmp.cmpfiles(release, tmp_path / "again", names, shallow=False)
    assert (len(match), mismatch, errors) == (26, [], [])
    assert (tmp_path / "other/metadata.csv").read_bytes() != (release / "metadata.csv").read_bytes()


@pytest.mark.parametrize(("cases", "seconds"), [(0, 240), (3, 59)])
def test_a_release_too_small_is_refused(tmp_path, cases, seconds):
    with pytest.raises(UsageError, match=f"found {cases} cases of {seconds} s"):
        write_vitaldb_release(tmp_path, cases=cases, seconds=seconds)


@pytest.mark.parametrize("seed", range(3))
def test_a_longer_release_repeats_the_scenarios_with_other_hearts(tmp_path, seed):
    write_vitaldb_release(tmp_path, cases=50, seconds=60, seed=seed, signals=False)
    sizes = {case_id: len(rows_of(raw)) for case_id, raw in raw_files(tmp_path).items()}
    assert len(sizes) == 50
    assert min(sizes.values()) > 30
