"""The verbs `train` and `predict` as they are typed, on a small release that was loaded, built and rendered."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import cli
from warehouse.home import Home

torch = pytest.importorskip("torch", reason="needs the extra `train`")
tiny = pytest.importorskip("tiny")

TASK = "lydus-ecg-image"
SETTINGS = ["--weights", "none", "--input-scale", "0.125", "--epochs", "2", "--batch", "8", "--threads", "1"]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    from pipelines.render.stage import render_task
    from warehouse.load.lydus import load
    from warehouse.materialize import materialize
    from warehouse.synthetic import write_lydus_release

    place = tmp_path_factory.mktemp("verbs")
    home = Home(place / "data")
    write_lydus_release(place / "release", records=36)
    load(home, place / "release")
    materialize(home, ["task.lydus_ecg_image_v0"])
    render_task(home, TASK, workers=1)
    return home.path


@pytest.fixture
def run(data, monkeypatch):
    monkeypatch.setattr("models.make", tiny.make)

    def run(*args, code=0):
        result = CliRunner().invoke(cli.main, [*map(str, args), "--data", str(data)], catch_exceptions=False)
        assert result.exit_code == code, result.output
        return result

    return run


def test_from_images_to_the_leaderboard(run, tmp_path):
    first = run("train", TASK, *SETTINGS, "--run", "first")
    assert "model first in " in first.stdout
    assert "apart from the published setting: weights none (published imagenet), " in first.stdout
    assert "next: predict lydus-ecg-image@0 --run first" in first.stdout
    assert first.stderr.count("\nepoch ") == 2
    record = json.loads(run("train", TASK, *SETTINGS, "--run", "first", "--json").stdout)
    assert record["task"] == "lydus-ecg-image@0"
    assert record["rows"]["train"] > 15
    assert [record["inputs"]["settings"][name] for name in ("height", "width")] == [212, 275]

    file = run("predict", TASK, "--run", "first", "--out", tmp_path / "mine.parquet").stdout.strip()
    assert file == str(tmp_path / "mine.parquet")
    made = json.loads(run("predict", TASK, "--run", "first", "--json").stdout)
    assert Path(made["file"]).read_bytes() == (tmp_path / "mine.parquet").read_bytes()
    scored = json.loads(run("score", TASK, file, "--json").stdout)
    assert scored["made_by"]["model"] == "first"
    assert f"model first, {scored['run']}, " in run("leaderboard", TASK).stdout
    assert "every link holds" in run("verify", scored["run"]).stdout


def test_a_note_stands_on_stderr(run):
    run("train", TASK, *SETTINGS, "--run", "first")
    result = run("predict", TASK, "--run", "first", "--part", "validation")
    assert "note: part validation took part in the training" in result.stderr
    assert "note" not in result.stdout


def test_wrong_usage(run):
    assert "found no model 'none'" in run("predict", TASK, "--run", "none", code=2).stderr
    assert "found epochs 0; expected 1 to" in run("train", TASK, "--epochs", 0, code=2).stderr
    assert "found no such file" in run("train", TASK, "--weights", "gone.pt", code=2).stderr
    assert "no rendered images of cinc2024" not in run("train", "no-task", code=2).stderr


def test_images_of_another_folder_and_none_at_all(run, data, tmp_path):
    found = run("train", TASK, *SETTINGS, "--images", tmp_path, code=2).stderr
    assert f"{tmp_path}: found no rendered images of lydus-ecg-image@0; expected some" in found
    folder = tmp_path / "few"
    run("render", TASK, "--part", "train", "--limit", 3, "--out", folder, "--workers", 1)
    found = run("train", TASK, *SETTINGS, "--images", folder, code=1).stderr
    assert "found no image of " in found
