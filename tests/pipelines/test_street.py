"""The stages on a small synthetic release, through the real loader, views and builds."""

from pathlib import Path

import polars as pl
import pytest

from pipelines.baseline import write_baseline
from pipelines.leaderboard import leaderboard
from pipelines.score import render_score, score_submission
from pipelines.verify import verify_run
from warehouse.home import Home
from warehouse.load.vitaldb_arrhythmia import load
from warehouse.materialize import materialize
from warehouse.query import connect
from warehouse.synthetic import write_vitaldb_release
from warehouse.task import read_task

TASK = "vitaldb-arrhythmia-abnormal@0"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    write_vitaldb_release(folder, cases=24, seconds=120, signals=False)
    return folder


@pytest.fixture(scope="module")
def street(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("home"))
    load(home, release)
    materialize(home)
    return home


def test_baselines_are_scored_and_ranked(street):
    prior = score_submission(street, TASK, write_baseline(street, TASK, "prior"))
    path = write_baseline(street, TASK, "rr-annotated")
    rr = score_submission(street, TASK, path, against=prior["run"])
    task = read_task(street, TASK)
    test = task.instances.filter(pl.col("part") == "test")
    used = test.filter(pl.col("scored") & pl.col("left_out").is_null())
    assert rr["rows"]["used"] == used.height > 50
    assert rr["groups"]["n"] == used["group_id"].n_unique()
    assert sum(rr["rows"]["ignored"].values()) == test.height - used.height > 0
    assert prior["metrics"]["auroc"]["value"] == 0.5
    assert rr["against"]["metrics"]["auroc"]["value"] == rr["metrics"]["auroc"]["value"] - 0.5 > 0
    assert [line["run"] for line in leaderboard(street, TASK)] == [rr["run"], prior["run"]]
    assert rr["spec"]["published_digest"] in render_score(rr)


def test_shares_per_rhythm_are_those_of_a_query(street):
    path = write_baseline(street, TASK, "rr-annotated")
    result = score_submission(street, TASK, path)
    con = connect(street)
    rows = con.execute(
        f"""
        SELECT name, count(*), count(*) FILTER (WHERE scores.abnormal >= 0.5), count(DISTINCT task.group_id)
        FROM (
            SELECT *, unnest(string_split(rhythms, '|')) AS name FROM {read_task(street, TASK).spec.view}
        ) AS task
        INNER JOIN read_parquet('{path}') AS scores USING (instance_id)
        WHERE part = 'test' AND scored AND left_out IS NULL
        GROUP BY name
        """
    ).fetchall()
    expected = {name: (total, flagged, groups) for name, total, flagged, groups in rows}
    found = {r["name"]: (r["rows"], r["flagged"], r["groups"]) for r in result["by_rhythm"] if r["rows"]}
    assert found == expected
    assert len(found) > 3


def test_a_run_holds_until_other_annotations_are_loaded(release, tmp_path):
    home = Home(tmp_path / "home")
    load(home, release)
    materialize(home)
    run = score_submission(home, TASK, write_baseline(home, TASK, "prior"), n_bootstrap=20)["run"]
    found = verify_run(home, run)
    assert found["ok"], found["broken"]
    assert {"maps", "splits", "views"} <= {link["name"].split()[0] for link in found["links"]}

    fewer = tmp_path / "fewer"
    write_vitaldb_release(fewer, cases=18, seconds=120, signals=False)
    load(home, fewer)
    materialize(home)
    found = verify_run(home, run)
    assert found["broken"].startswith("raw_vitaldb.annotation: found ")
    assert "labels" in [link["name"] for link in found["links"] if not link["ok"]]
    stale = {line["run"]: line["stale"] for line in leaderboard(home, TASK)}
    assert stale[run] == "changed since: raw tables, labels"
