"""Baselines on forty invented records: a positive record beats irregularly."""

import duckdb
import numpy as np
import polars as pl
import pytest

from pipelines.baseline import write_baseline
from pipelines.score import score_submission
from warehouse.errors import HomeError, InputError, UsageError

TASK = "toy-arrhythmia@0"
RECORDS = 40


@pytest.fixture
def beats() -> dict[int, np.ndarray]:
    rng = np.random.default_rng(6)
    spread = {0: 0.02, 1: 0.3}
    return {r: np.cumsum(1 + rng.uniform(-1, 1, 60) * spread[r % 2]) for r in range(RECORDS)}


@pytest.fixture
def many(built, task):
    """Every record has four segments; every fourth record is test, the last segments of all have no label."""
    rows = [(r, s) for r in range(RECORDS) for s in (0, 5, 10, 15)]
    record, start = zip(*rows, strict=True)
    scored = [s < 15 for _, s in rows]
    instances = pl.DataFrame(
        {
            "instance_id": [f"{r}_{s}" for r, s in rows],
            "record_id": record,
            "group_id": record,
            "part": ["test" if r % 4 < 2 else "train" for r, _ in rows],
            "scored": scored,
            "left_out": pl.Series([None] * len(rows), dtype=pl.String),
            "start_s": start,
            "duration_s": [5] * len(rows),
        }
    )
    targets = np.array(
        [[float(r % 2) if known else np.nan] for (r, _), known in zip(rows, scored, strict=True)]
    )
    built.change(instances=instances, targets=targets)
    return built


@pytest.fixture
def connected(beats, monkeypatch):
    """A warehouse whose views hold the beats; the annotation view also has what a baseline must not read."""
    con = duckdb.connect()
    case_id = np.repeat(list(beats), [len(times) for times in beats.values()])
    frame = pl.DataFrame({"case_id": case_id, "time_s": np.concatenate(list(beats.values()))})
    con.register("beats", frame.to_arrow())
    con.execute("CREATE SCHEMA vitaldb")
    con.execute(
        "CREATE TABLE vitaldb.annotation_v0 AS"
        " SELECT case_id, time_s, row_number() OVER () AS row_no, true AS is_beat"
        " FROM beats UNION ALL SELECT case_id, time_s + 0.01, 9999, false FROM beats"
    )
    monkeypatch.setattr("warehouse.query.connect", lambda home: con.cursor())
    return con


def test_prior_is_the_prevalence_of_the_train_labels(built, home):
    path = write_baseline(home, TASK, "prior")
    frame = pl.read_parquet(path)
    assert frame.columns == ["instance_id", "odd"]
    assert frame["instance_id"].to_list() == ["1_0", "1_5", "1_10", "2_0", "2_5", "2_10", "3_5", "3_10"]
    assert set(frame["odd"]) == {1 / 3}
    result = score_submission(home, TASK, path)
    assert result["metrics"]["auroc"]["value"] == 0.5
    assert result["made_by"]["baseline"] == "prior"
    assert result["rows"]["ignored"] == {"left out": 1, "not scored": 1}


def test_rr_on_annotated_beats_learns_irregularity(many, connected, home):
    path = write_baseline(home, TASK, "rr-annotated")
    result = score_submission(home, TASK, path)
    assert result["rows"]["used"] == 60
    assert result["metrics"]["auroc"]["value"] > 0.99
    assert result["made_by"]["baseline"] == "rr-annotated"
    first = path.read_bytes()
    assert write_baseline(home, TASK, "rr-annotated").read_bytes() == first


def test_rr_reads_beat_times_alone(many, connected, home):
    """The view has no column for beat types or rhythms here, and rows that are no beats change nothing."""
    first = write_baseline(home, TASK, "rr-annotated").read_bytes()
    connected.execute("DELETE FROM vitaldb.annotation_v0 WHERE NOT is_beat")
    assert write_baseline(home, TASK, "rr-annotated").read_bytes() == first


def test_a_record_without_beats_still_gets_a_score(many, connected, home):
    connected.execute("DELETE FROM vitaldb.annotation_v0 WHERE case_id = 0")
    frame = pl.read_parquet(write_baseline(home, TASK, "rr-annotated"))
    scores = frame.filter(pl.col("instance_id").str.starts_with("0_"))["odd"]
    assert len(scores) == 4
    assert scores.is_between(0, 1).all()
    assert score_submission(home, TASK, write_baseline(home, TASK, "rr-annotated"))["rows"]["used"] == 60


def test_rr_on_detected_peaks_needs_signals(many, connected, home):
    with pytest.raises(HomeError, match=r"found no beats.*detected_peak") as error:
        write_baseline(home, TASK, "rr-detected")
    assert "--signals" in str(error.value)
    connected.execute("CREATE SCHEMA raw_vitaldb")
    connected.execute("CREATE TABLE raw_vitaldb.detected_peak (case_id INTEGER, sample BIGINT, hz INTEGER)")
    with pytest.raises(HomeError, match="the table has no rows"):
        write_baseline(home, TASK, "rr-detected")
    assert not (home.path / "predictions").exists()


def test_rr_on_detected_peaks_is_the_same_model(many, connected, home):
    connected.execute("CREATE SCHEMA raw_vitaldb")
    connected.execute(
        "CREATE TABLE raw_vitaldb.detected_peak AS"
        " SELECT case_id, CAST(round(time_s * 500) AS BIGINT) AS sample, 500 AS hz FROM beats"
    )
    detected = pl.read_parquet(write_baseline(home, TASK, "rr-detected"))["odd"]
    annotated = pl.read_parquet(write_baseline(home, TASK, "rr-annotated"))["odd"]
    np.testing.assert_allclose(detected, annotated, atol=0.02)


def test_what_cannot_be_fitted(many, connected, home, task):
    many.change(targets=np.where(np.isnan(many.task.targets), np.nan, 1.0))
    with pytest.raises(InputError, match="found one label alone in part train"):
        write_baseline(home, TASK, "rr-annotated")
    instances = many.task.instances.with_columns(scored=pl.col("scored") & (pl.col("part") != "train"))
    many.change(instances=instances)
    for name in ("prior", "rr-annotated"):
        with pytest.raises(InputError, match="no scored instance in part train"):
            write_baseline(home, TASK, name)


def test_wrong_usage(built, home):
    with pytest.raises(UsageError, match="expected one of: prior, rr-annotated, rr-detected"):
        write_baseline(home, TASK, "resnet")
    with pytest.raises(UsageError, match="no part 'tset'"):
        write_baseline(home, TASK, "prior", part="tset")


def test_a_file_of_ones_own(built, home, tmp_path):
    path = write_baseline(home, TASK, "prior", part="train", out=tmp_path / "deep" / "mine.parquet")
    assert path == tmp_path / "deep" / "mine.parquet"
    assert pl.read_parquet(path)["instance_id"].to_list() == ["4_0", "4_5", "5_0"]
    assert [file.name for file in path.parent.iterdir()] == ["mine.parquet"]
