"""Lead II of cases into Parquet: what is stored, what is said of it, and that a bad file costs one case."""

from __future__ import annotations

import csv
import gzip
import shutil
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from vitaldb.utils import VitalFile

from warehouse.errors import InputError
from warehouse.load import vital
from warehouse.load.vital import CaseWindow, find_signal_files, load_signals, stored_span
from warehouse.load.vital_tables import SCHEMAS
from warehouse.load.vital_track import TRACK
from warehouse.synthetic import write_vitaldb_release

START = 4_102_444_800.0


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("release")
    write_vitaldb_release(out, cases=6, seconds=90)
    return out


@pytest.fixture(scope="module")
def windows(release) -> list[CaseWindow]:
    with (release / "metadata.csv").open(encoding="utf-8") as handle:
        return [
            CaseWindow(
                int(row["case_id"]),
                float(row["analysis_start_time_sec"]),
                float(row["analysis_end_time_sec"]),
            )
            for row in csv.DictReader(handle)
        ]


@pytest.fixture(scope="module")
def files(release) -> dict[int, Path]:
    return find_signal_files(release / "vital")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory, windows, files) -> Path:
    out = tmp_path_factory.mktemp("loaded")
    report = load_signals(windows, files, out)
    assert report.problems == []
    assert report.loaded == sorted(files)
    return out


def rows(out: Path, name: str) -> list[dict]:
    return pq.read_table(out / name).to_pylist()


def samples_of(out: Path, case_id: int) -> np.ndarray:
    blocks = [row for row in rows(out, "signal") if row["case_id"] == case_id]
    return np.concatenate([np.array(row["samples"], dtype=np.float32) for row in blocks])


def build(path: Path, samples: np.ndarray, seconds: int) -> Path:
    file = VitalFile()
    file.dtstart, file.dtend = START, START + seconds
    recs = [{"dt": START + k, "val": values} for k, values in enumerate(samples.reshape(-1, 500))]
    file.add_track(TRACK, recs, srate=500, unit="mV")
    file.to_vital(str(path))
    return path


def heart(seconds: int) -> np.ndarray:
    at = np.arange(seconds * 500, dtype=np.float32) / 500
    return np.exp(-(((at % 0.8) - 0.4) ** 2) / 0.0002).astype(np.float32)


def test_every_table_has_exactly_its_columns_also_without_a_single_case(loaded, tmp_path):
    report = load_signals([], {}, tmp_path)
    assert (report.loaded, report.problems) == ([], [])
    for name, schema in SCHEMAS.items():
        assert pq.read_schema(next((loaded / name).glob("*.parquet"))).remove_metadata() == schema
        empty = pq.read_table(tmp_path / name)
        assert (empty.num_rows, empty.schema) == (0, schema)


def test_the_stored_window_lies_on_the_grid_with_its_margin(loaded, windows, files):
    cases = {row["case_id"]: row for row in rows(loaded, "signal_case")}
    assert cases.keys() == files.keys()
    for window in windows:
        case = cases[window.case_id]
        begin, end = case["first_sample"] / 500, (case["first_sample"] + case["n_samples"]) / 500
        assert begin == window.start_s // 5 * 5 - 10
        assert end == min(window.end_s // 5 * 5 + 15, case["recording_s"])
        assert (case["track"], case["loader"], case["hz"]) == (TRACK, f"vitaldb {version('vitaldb')}", 500)
        assert case["source_file"] == f"{window.case_id}.vital"


def test_blocks_are_minutes_that_join_to_the_samples_of_the_file(loaded, files):
    cases = {row["case_id"]: row for row in rows(loaded, "signal_case")}
    for case_id, path in files.items():
        case = cases[case_id]
        blocks = [row for row in rows(loaded, "signal") if row["case_id"] == case_id]
        assert [row["block_no"] for row in blocks] == list(range(len(blocks)))
        assert {len(row["samples"]) for row in blocks[:-1]} == {30_000}
        assert [row["first_sample"] for row in blocks] == [
            case["first_sample"] + 30_000 * k for k in range(len(blocks))
        ]
        whole = VitalFile(str(path), [TRACK]).get_track_samples(TRACK, 1 / 500)
        expected = whole[case["first_sample"] :][: case["n_samples"]]
        np.testing.assert_array_equal(samples_of(loaded, case_id), expected)


def test_missing_samples_are_runs_that_sum_to_the_count_of_the_case(loaded):
    gone = {row["case_id"]: 0 for row in rows(loaded, "signal_case")}
    for row in rows(loaded, "signal_run"):
        if row["kind"] == "missing":
            assert row["value_mv"] is None
            gone[row["case_id"]] += row["n_samples"]
    assert gone == {row["case_id"]: row["n_missing"] for row in rows(loaded, "signal_case")}
    assert sorted(gone.values()) == [0, 0, 0, 0, 0, 2000]


def test_a_run_is_where_the_file_has_it(tmp_path):
    samples = heart(40)
    samples[10_000:11_500] = np.nan
    samples[13_000:13_500] = 0.25
    samples[15_000:15_499] = 0.5
    path = build(tmp_path / "7.vital", samples, 40)
    report = load_signals([CaseWindow(7, 12.0, 28.0)], {7: path}, tmp_path / "out")
    assert report.problems == []
    stored = rows(tmp_path / "out", "signal_case")[0]
    assert (stored["first_sample"], stored["n_samples"], stored["n_missing"]) == (0, 20_000, 1_500)
    found = [
        (row["kind"], row["first_sample"], row["n_samples"], row["value_mv"])
        for row in rows(tmp_path / "out", "signal_run")
        if row["value_mv"] != 0
    ]
    assert found == [("missing", 10_000, 1_500, None), ("constant", 13_000, 500, 0.25)]


def test_peaks_count_from_the_begin_of_the_recording(tmp_path):
    path = build(tmp_path / "7.vital", heart(60), 60)
    load_signals([CaseWindow(7, 31.0, 44.0)], {7: path}, tmp_path / "out")
    peaks = rows(tmp_path / "out", "detected_peak")
    assert {(row["hz"], row["detector"].split()[0]) for row in peaks} == {(500, "sleepecg")}
    at = np.array([row["sample"] for row in peaks]) / 500
    assert at.min() >= 20
    assert at.max() < 55
    assert len(at) >= 40
    np.testing.assert_allclose((at - 0.4) % 0.8, np.where((at - 0.4) % 0.8 > 0.4, 0.8, 0), atol=0.02)


@pytest.mark.parametrize(
    ("start_s", "end_s", "n_samples", "expected"),
    [
        (12.0, 28.0, 50_000, (0, 20_000)),
        (15.0, 29.999, 50_000, (2_500, 20_000)),
        (100.0, 130.0, 100_000, (45_000, 72_500)),
        (100.0, 130.0, 66_000, (45_000, 66_000)),
        (0.0, 13_120 / 500, 13_121, (0, 13_121)),
    ],
)
def test_stored_span(start_s, end_s, n_samples, expected):
    """The segment of the last row is whole: a row exactly at 130 s opens the segment from 130 to 135."""
    assert stored_span(CaseWindow(1, start_s, end_s), n_samples) == expected


@pytest.mark.parametrize(("start_s", "end_s"), [(-0.1, 10), (5, 26.242), (5, 1e6), (11, 10)])
def test_a_window_outside_the_recording_is_refused(start_s, end_s):
    with pytest.raises(InputError, match="case 1: found annotations from") as caught:
        stored_span(CaseWindow(1, start_s, end_s), 13_121)
    assert "0 to 26.242 s" in str(caught.value)


def test_each_bad_file_costs_its_own_case_and_is_named(release, windows, files, tmp_path):
    folder = tmp_path / "vital"
    shutil.copytree(release / "vital", folder)
    cut, other, short, nothing, sound, absent = sorted(files)
    raw = (folder / f"{cut}.vital").read_bytes()
    (folder / f"{cut}.vital").write_bytes(raw[: len(raw) // 2])
    (folder / f"{other}.vital").write_bytes(gzip.compress(b"something else"))
    build(folder / f"{short}.vital", heart(50), 50)
    build(folder / f"{nothing}.vital", np.full(10 * 500, 1, np.float32), 400)
    (folder / f"{absent}.vital").unlink()
    shutil.copy(folder / f"{sound}.vital", folder / "9999.vital")

    report = load_signals(windows, find_signal_files(folder), tmp_path / "out")
    assert report.loaded == [sound]
    assert report.without_file == [absent]
    assert report.without_annotation == [9999]
    found = {problem.where: problem.found for problem in report.problems}
    assert list(found) == [f"case {case}, {case}.vital" for case in (cut, other, short, nothing)]
    for case, words in (
        (cut, "cut off"),
        (other, "begins b'some'"),
        (short, "annotations from"),
        (nothing, "no sample in the annotated window"),
    ):
        assert words in found[f"case {case}, {case}.vital"]
    for name in SCHEMAS:
        assert {row["case_id"] for row in rows(tmp_path / "out", name)} <= {sound}
    assert len(report.notes) == 4
    assert report.notes[-1].endswith("9999")


def test_a_file_that_cannot_be_read_is_a_problem_of_its_case(tmp_path):
    report = load_signals([CaseWindow(5, 0, 1)], {5: tmp_path / "5.vital"}, tmp_path / "out")
    assert report.problems[0].found == "a file that cannot be read (No such file or directory)"


def test_two_workers_write_the_same_bytes_as_one_and_report_progress(
    loaded, windows, files, tmp_path, monkeypatch
):
    monkeypatch.setattr(vital, "POOL_PAYS_BYTES", 0)
    ticks = []
    load_signals(list(reversed(windows)), files, tmp_path, workers=2, progress=ticks.append)
    assert ticks == [1] * len(files)
    for name in SCHEMAS:
        (one,), (two,) = ((list((folder / name).iterdir())) for folder in (loaded, tmp_path))
        assert one.name == two.name
        assert one.read_bytes() == two.read_bytes()


def test_a_shard_holds_32_cases(tmp_path):
    path = build(tmp_path / "1.vital", heart(20), 20)
    windows = [CaseWindow(case_id, 6, 9) for case_id in range(1, 66)]
    load_signals(windows, {window.case_id: path for window in windows}, tmp_path / "out")
    for name in ("signal", "signal_case", "detected_peak", "signal_run"):
        shards = sorted((tmp_path / "out" / name).iterdir())
        assert [shard.name for shard in shards] == [f"{name}-000{k}.parquet" for k in range(3)]
    sizes = [pq.read_metadata(p).num_rows for p in sorted((tmp_path / "out/signal_case").iterdir())]
    assert sizes == [32, 32, 1]
    assert pq.read_metadata(tmp_path / "out/signal/signal-0000.parquet").num_row_groups == 32


def test_exactly_32_cases_are_one_shard(tmp_path):
    path = build(tmp_path / "1.vital", heart(20), 20)
    windows = [CaseWindow(case_id, 6, 9) for case_id in range(1, 33)]
    load_signals(windows, {window.case_id: path for window in windows}, tmp_path / "out")
    for name in SCHEMAS:
        assert len(list((tmp_path / "out" / name).iterdir())) == 1


def test_signal_files_are_found_at_any_depth_by_their_case(tmp_path):
    for name in ("12.vital", "a/b/7.vital", "a/case7.vital", "a/7.vital.part", "a/7.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert find_signal_files(tmp_path) == {7: tmp_path / "a/b/7.vital", 12: tmp_path / "12.vital"}


def test_a_case_twice_is_refused(tmp_path):
    for name in ("7.vital", "a/07.vital", "8.vital"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"case 7: found 7\.vital and a/07\.vital; expected one"):
        find_signal_files(tmp_path)
