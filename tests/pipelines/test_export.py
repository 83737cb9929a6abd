"""`export`: the labels that go out are those of the task view, and come back as the perfect answer."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import wfdb
from click.testing import CliRunner

import cli
from pipelines.export import export
from pipelines.folders import score_folders
from pipelines.score import score_submission
from warehouse.counts import count
from warehouse.errors import HomeError, UsageError
from warehouse.home import Home
from warehouse.task import read_task

LYDUS, VITALDB = "lydus-ecg-image@0", "vitaldb-arrhythmia-abnormal@0"


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("fixture", "task"),
    [("lydus_home", LYDUS), ("synthetic_home", VITALDB), ("heartbeat_home", "ecg-heartbeat-balanced@0")],
)
def test_a_csv_holds_every_used_instance_as_the_task_has_it(request, tmp_path, fixture, task):
    home = request.getfixturevalue(fixture)
    made = export(home, task, tmp_path / "out")
    built = read_task(home, task)
    found = {row["instance_id"]: row for row in rows(tmp_path / "out")}
    used = built.instances["left_out"].is_null() & built.instances["part"].is_not_null()
    assert list(found) == built.instances.filter(used)["instance_id"].to_list()
    assert made.left_out == built.instances.height - len(found) > 0
    for n, row in enumerate(built.instances.iter_rows(named=True)):
        if row["instance_id"] in found:
            told = found[row["instance_id"]]
            assert told["part"] == row["part"]
            assert told["scored"] == str(int(row["scored"]))
            for name, value in zip(built.classes, built.targets[n], strict=True):
                assert told[name] == ("" if np.isnan(value) else str(int(value)))
    about = json.loads((tmp_path / "out" / "classes.json").read_text())
    assert list(found[next(iter(found))])[3:] == about["classes"] == list(built.classes)
    for part, counted in count(home, task).as_json()["parts"].items():
        if counted["records"]:
            expected = {
                "instances": counted["records"],
                "scored": counted["scored"],
                "classes": counted["classes"],
            }
            assert about["parts"][part] == expected
    assert about["licence"]
    assert about["citation"]


def test_no_name_of_a_record_goes_out(lydus_home, tmp_path):
    for kind in ("csv", "wfdb"):
        export(lydus_home, LYDUS, tmp_path / kind, format=kind)
    built = read_task(lydus_home, LYDUS).instances
    text = "".join(f"{path.name}\n{path.read_text()}" for path in tmp_path.rglob("*") if path.is_file())
    names = {*built["record_id"].to_list(), *built["group_id"].to_list()}
    assert len(names) > 100
    assert not [name for name in names if name in text]


def test_a_csv_is_the_perfect_answer(synthetic_home, lydus_home, heartbeat_home, tmp_path):
    for home, task, metric in (
        (synthetic_home, VITALDB, "auroc"),
        (lydus_home, LYDUS, "macro_f_measure"),
        (heartbeat_home, "ecg-heartbeat-arrhythmia@0", "accuracy"),
    ):
        folder = tmp_path / task
        export(home, task, folder, part="test")
        place = Home(tmp_path / f"home {task}")
        place.path.mkdir()
        for name in ("raw", "built"):
            (place.path / name).symlink_to((home.path / name).resolve())
        found = score_submission(place, task, folder / "labels.csv", n_bootstrap=10)["metrics"][metric][
            "value"
        ]
        assert found == pytest.approx(100 if metric == "accuracy" else 1), task


@pytest.mark.parametrize(
    ("fixture", "task"), [("lydus_home", LYDUS), ("ptbxl_home", "cinc2024-ptbxl-image@0")]
)
def test_headers_are_what_the_challenge_s_tool_scores_as_perfect(request, tmp_path, fixture, task):
    home = request.getfixturevalue(fixture)
    made = export(home, task, tmp_path / "out", format="wfdb")
    counted = count(home, task).as_json()["parts"]
    for part, row in counted.items():
        result = score_folders(tmp_path / "out" / part, tmp_path / "out" / part)
        assert result.result.macro == 1
        assert (result.records, result.scored) == (row["records"], row["scored"])
        assert set(result.result.classes) == {name for name, number in row["classes"].items() if number}
        assert result.warnings == ()
    assert score_folders(tmp_path / "out", tmp_path / "out").records == made.about["files"]


def test_headers_are_wfdb_s(lydus_home, tmp_path):
    export(lydus_home, LYDUS, tmp_path / "out", format="wfdb", part="test")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["classes.json", "test"]
    built = read_task(lydus_home, LYDUS)
    numbers = {one: n for n, one in enumerate(built.instances["instance_id"])}
    headers = sorted((tmp_path / "out" / "test").glob("*.hea"))
    without = 0
    for path in headers:
        header = wfdb.rdheader(str(path.with_suffix("")))
        assert header.record_name == path.stem
        assert header.n_sig == 0
        values = built.targets[numbers[path.stem]]
        names = [name for name, value in zip(built.classes, values, strict=True) if value == 1]
        assert header.comments == [f"Labels: {', '.join(names)}".strip()]
        without += not names
    assert 0 < without < len(headers)


@pytest.mark.parametrize(
    ("fixture", "task"), [("heartbeat_home", "ecg-heartbeat-mi@1"), ("synthetic_home", VITALDB)]
)
def test_pieces_of_records_have_no_headers(request, tmp_path, fixture, task):
    with pytest.raises(UsageError, match="a task of pieces of records"):
        export(request.getfixturevalue(fixture), task, tmp_path / "out", format="wfdb")
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_written_over(lydus_home, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    export(lydus_home, LYDUS, out)
    first = (out / "labels.csv").read_bytes()
    export(lydus_home, LYDUS, out, format="wfdb")
    assert not (out / "labels.csv").exists()
    export(lydus_home, LYDUS, out)
    assert (out / "labels.csv").read_bytes() == first
    for spoil in (
        lambda: (out / "notes.txt").write_text("mine"),
        lambda: (out / "labels.csv").write_text("corrected by hand"),
        lambda: (out / "classes.json").write_text("[]"),
        lambda: shutil.rmtree(out) or out.write_text("a file"),
    ):
        export(lydus_home, LYDUS, out)
        spoil()
        before = {path: path.read_bytes() for path in (out, *out.rglob("*")) if path.is_file()}
        with pytest.raises(UsageError, match="no export"):
            export(lydus_home, LYDUS, out)
        assert {path: path.read_bytes() for path in (out, *out.rglob("*")) if path.is_file()} == before
        shutil.rmtree(out) if out.is_dir() else out.unlink()
    other = tmp_path / "elsewhere"
    other.mkdir()
    out.symlink_to(other)
    with pytest.raises(UsageError, match="no export"):
        export(lydus_home, LYDUS, out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "out"], "no draft stays"


def test_the_folder_that_one_stands_in(lydus_home, tmp_path, monkeypatch):
    """An empty one is taken by any of its names; it has none in `.`."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert export(lydus_home, LYDUS, Path()).folder == tmp_path / "here"
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"labels.csv", "classes.json"}
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_an_export_that_fails_leaves_the_one_before(lydus_home, tmp_path, monkeypatch):
    from pipelines import export as module

    out = tmp_path / "out"
    export(lydus_home, LYDUS, out)
    before = (out / "labels.csv").read_bytes()

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_digest", full)
    monkeypatch.setattr(module, "_refuse_foreign", lambda out: None)
    with pytest.raises(HomeError, match="no space left"):
        export(lydus_home, LYDUS, out)
    assert (out / "labels.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_on_the_command_line(lydus_home, tmp_path):
    def run(*args: object):
        return CliRunner().invoke(
            cli.main, [*map(str, args), "--data", str(lydus_home.path)], catch_exceptions=False
        )

    made = run("export", LYDUS, tmp_path / "out", "--format", "wfdb", "--part", "test", "--json")
    assert made.exit_code == 0
    assert json.loads(made.stdout)["parts"]["test"]["instances"] == json.loads(made.stdout)["files"]
    assert run("score-folders", tmp_path / "out", tmp_path / "out").exit_code == 0
    assert "left out" in run("export", LYDUS, tmp_path / "csv").stdout
    wrong = run("export", LYDUS, tmp_path / "x", "--part", "tests")
    assert (wrong.exit_code, "expected one of: train, validation, test" in wrong.stderr) == (2, True)
    assert run("export", "lydus", tmp_path / "x").exit_code == 2
    assert run("export", VITALDB, tmp_path / "x").exit_code == 2
