"""A label file that was rewritten scores nothing; a run names the raw table that changed under it."""

from __future__ import annotations

import re
import shutil

import polars as pl
import pytest

from pipelines.baseline import write_baseline
from pipelines.book.write import write_book
from pipelines.leaderboard import leaderboard
from pipelines.score import score_submission
from pipelines.verify import verify_run
from warehouse.counts import count
from warehouse.errors import HomeError
from warehouse.home import Home
from warehouse.task import read_task

TASK = "vitaldb-arrhythmia-abnormal"
VIEW = "task.vitaldb_arrhythmia_abnormal_v0"


@pytest.fixture
def home(synthetic_home, tmp_path) -> Home:
    shutil.copytree(synthetic_home.path, tmp_path / "data", symlinks=True)
    return Home(tmp_path / "data")


def touched(path):
    """The same rows in other bytes."""
    pl.read_parquet(path).write_parquet(path)


def test_a_forged_label_file_scores_nothing(home, tmp_path):
    file = write_baseline(home, TASK, "prior")
    run = score_submission(home, TASK, file)["run"]
    path = home.built / "task" / "vitaldb_arrhythmia_abnormal_v0.parquet"
    frame = pl.read_parquet(path)
    frame.with_columns(abnormal=pl.col("abnormal").not_()).write_parquet(path)
    for stage in (
        lambda: score_submission(home, TASK, file),
        lambda: leaderboard(home, TASK),
        lambda: verify_run(home, run),
        lambda: write_baseline(home, TASK, "prior"),
    ):
        with pytest.raises(HomeError, match=r"changed since it was built.*\n  next: run materialize"):
            stage()
    path.unlink()
    with pytest.raises(HomeError, match="No such file"):
        read_task(home, TASK)


def test_a_raw_table_that_changed_is_a_broken_link(home):
    run = score_submission(home, TASK, write_baseline(home, TASK, "prior"))["run"]
    found = verify_run(home, run)
    assert found["ok"]
    assert "raw_vitaldb.annotation" in [link["name"] for link in found["links"]]
    touched(home.raw / "vitaldb-arrhythmia" / "annotation" / "annotation.parquet")
    assert verify_run(home, run)["broken"].startswith("raw_vitaldb.annotation: found ")


def test_a_load_since_the_build_makes_it_stale(home, tmp_path):
    from releases import small_release

    from warehouse.load.vitaldb_arrhythmia import load
    from warehouse.materialize import materialize

    run = score_submission(home, TASK, write_baseline(home, TASK, "prior"))["run"]
    load(home, small_release(tmp_path / "other", seed=7))
    assert "raw_vitaldb.annotation" in read_task(home, TASK).stale
    assert "raw_vitaldb.annotation" in count(home, TASK).stale
    page = (write_book(home, tmp_path / "book") / "tasks" / "vitaldb-arrhythmia-abnormal_v0.html").read_text()
    assert "raw_vitaldb.annotation" in re.search(r"The labels are older than ([^:]*):", page)[1]
    assert verify_run(home, run)["broken"].startswith("raw_vitaldb.annotation: found ")
    assert "raw_vitaldb.annotation (not materialized yet)" in leaderboard(home, TASK)[0]["stale"]
    materialize(home, [VIEW])
    assert read_task(home, TASK).stale == ()
    assert count(home, TASK).stale == []
    assert verify_run(home, run)["broken"].startswith("raw_vitaldb.annotation: found ")


def test_a_home_that_keeps_the_build_alone(home):
    run = score_submission(home, TASK, write_baseline(home, TASK, "prior"))["run"]
    shutil.rmtree(home.raw)
    assert verify_run(home, run)["ok"]
