import json
import shutil

import numpy as np
import polars as pl
import pytest
from toy import COUNTING, GOOD

from pipelines import runs
from pipelines.leaderboard import leaderboard, render_leaderboard
from pipelines.score import score_submission
from pipelines.verify import render_verification, verify_run
from warehouse.errors import CheckFailed, UsageError

TASK = "toy-arrhythmia@0"


@pytest.fixture
def run(built, home, write) -> str:
    return score_submission(home, TASK, write())["run"]


def edit(path, change):
    value = json.loads(path.read_text())
    change(value)
    path.write_text(runs.dump(value))


def test_a_record_says_what_the_score_depends_on(built, home, write, run, task):
    folder = home.runs / run
    assert sorted(file.name for file in folder.iterdir()) == sorted(runs.FILES)
    record = runs.read_record(folder)
    linked = record["links"]
    assert linked["spec"] == task.spec.digest
    assert linked["published spec"] == "0123456789ab"
    assert linked["view"] == task.fingerprint
    assert linked["inputs"] == task.inputs
    assert linked["bootstrap"] == {"n": 200, "seed": 20261029, "by": "subjectid"}
    assert record["made_by"]["file"] == "mine.csv"
    assert record["made_by"]["sha256"] == runs.digest(write().read_bytes())
    assert {"python", "numpy", "scikit-learn", "polars"} <= record["packages"].keys()
    assert record["created_at"].endswith("+00:00")
    stored = pl.read_parquet(folder / runs.PREDICTIONS)
    assert stored.rows() == list(zip(COUNTING, GOOD, strict=True))


def test_the_same_predictions_are_the_same_run(built, home, write, run):
    record = runs.read_record(home.runs / run)
    assert run == f"toy-arrhythmia-v0-{record['content'][:12]}"
    shuffled = write(keys=[*COUNTING[::-1], "2_10"], scores=[*GOOD[::-1], 0.3], name="again.csv")
    assert score_submission(home, TASK, shuffled)["run"] == run
    assert runs.read_record(home.runs / run) == record
    assert runs.run_names(home) == [run]


@pytest.mark.parametrize(
    "change",
    [
        {"fingerprint": "e" * 64},
        {"inputs": {"views": {}, "maps": {}, "splits": {}}},
        {"stale": ()},
    ],
)
def test_another_build_is_another_run(built, home, write, run, change):
    built.change(**change)
    same = score_submission(home, TASK, write())["run"] == run
    assert same == ("stale" in change)


def test_other_labels_scores_and_draws_are_other_runs(built, home, write, run, task):
    found = {run, score_submission(home, TASK, write(), n_bootstrap=5)["run"]}
    found.add(score_submission(home, TASK, write(scores=[0.91, *GOOD[1:]]))["run"])
    targets = task.targets.copy()
    targets[0] = 0
    built.change(targets=targets)
    found.add(score_submission(home, TASK, write())["run"])
    assert len(found) == 4


def test_a_named_run_is_never_written_over(built, home, write):
    first = score_submission(home, TASK, write(), name="mine")
    assert first["run"] == "mine"
    assert score_submission(home, TASK, write(), name="mine")["run"] == "mine"
    before = {file.name: file.read_bytes() for file in (home.runs / "mine").iterdir()}
    with pytest.raises(UsageError, match="a run named mine already"):
        score_submission(home, TASK, write(scores=GOOD[::-1]), name="mine")
    assert {file.name: file.read_bytes() for file in (home.runs / "mine").iterdir()} == before
    assert verify_run(home, "mine")["ok"]


@pytest.mark.parametrize("name", ["../mine", ".hidden", "a/b", "", "a b"])
def test_names_that_are_no_folder(built, home, write, name):
    with pytest.raises(UsageError, match="run name"):
        score_submission(home, TASK, write(), name=name)
    assert not home.runs.exists()


def test_scoring_again_does_not_heal_a_damaged_record(built, home, write, run):
    (home.runs / run / runs.SCORE).write_text("{}")
    with pytest.raises(CheckFailed, match="damaged record"):
        score_submission(home, TASK, write())
    assert (home.runs / run / runs.SCORE).read_text() == "{}"


@pytest.mark.parametrize("fail_at", range(1, 7))
def test_a_record_is_whole_or_not_there(built, home, write, monkeypatch, fail_at):
    """Every sync of a file or folder fails in turn, as on a full disk."""
    calls = iter(range(1, 100))
    kept = runs.os.fsync

    def fsync(handle):
        if next(calls) == fail_at:
            raise OSError(28, "No space left on device")
        kept(handle)

    monkeypatch.setattr("os.fsync", fsync)
    result = score_submission(home, TASK, write(), name="mine")
    assert (result["run"], result["not_kept"] is None) in (("mine", True), (None, False))
    assert result["run"] is None or fail_at > 5
    monkeypatch.undo()
    names = [file.name for file in home.runs.iterdir()]
    assert names in ([], ["mine"])
    if names:
        assert {file.name for file in (home.runs / "mine").iterdir()} == set(runs.FILES)


def test_a_record_appears_by_its_rename_alone(built, home, write, monkeypatch):
    def refuse(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.rename", refuse)
    assert "no space left" in score_submission(home, TASK, write())["not_kept"]
    assert list(home.runs.iterdir()) == []


def test_two_at_once_keep_the_first(built, home, write, run, monkeypatch):
    """The other process publishes between our look and our rename."""
    elsewhere = home.path / "elsewhere"
    shutil.move(home.runs / run, elsewhere)
    kept = runs._publish

    def late(folder, files):
        shutil.move(elsewhere, folder)
        return kept(folder, files)

    monkeypatch.setattr(runs, "_publish", late)
    first = runs.read_record(elsewhere)
    assert score_submission(home, TASK, write())["run"] == run
    assert runs.read_record(home.runs / run) == first
    assert [file.name for file in home.runs.iterdir()] == [run]


def test_a_whole_run_verifies(built, home, run):
    found = verify_run(home, run)
    assert found["ok"]
    assert found["broken"] is None
    names = [link["name"] for link in found["links"]]
    assert "views toy.segment_v0" in names
    assert "maps colour" in names
    assert "splits vitaldb" in names
    assert names[-1] == "metrics"
    assert found["packages"] == {}
    text = render_verification(found)
    assert text.endswith("every link holds")
    assert text.count("  ok  ") == len(names)


def test_edited_predictions(built, home, run):
    path = home.runs / run / runs.PREDICTIONS
    frame = pl.read_parquet(path)
    frame.with_columns(odd=pl.lit(0.9)).write_parquet(path)
    broken = verify_run(home, run)
    assert not broken["ok"]
    assert broken["broken"].startswith("predictions.parquet: found ")
    assert render_verification(broken).endswith(f"first broken link: {broken['broken']}")


def test_edited_predictions_with_a_matching_digest(built, home, run):
    """Who edits the digests as well still breaks the hash that gives the run its name."""
    folder = home.runs / run
    frame = pl.read_parquet(folder / runs.PREDICTIONS).with_columns(odd=1 - pl.col("odd"))
    frame.write_parquet(folder / runs.PREDICTIONS)
    content = (folder / runs.PREDICTIONS).read_bytes()
    edit(folder / runs.RUN, lambda r: r["files"].update({runs.PREDICTIONS: runs.digest(content)}))
    assert verify_run(home, run)["broken"].startswith("predictions (values): found ")


def test_an_edited_score(built, home, run):
    folder = home.runs / run
    edit(
        folder / runs.SCORE,
        lambda s: s["metrics"]["auroc"].update(value=np.nextafter(s["metrics"]["auroc"]["value"], 1)),
    )
    assert verify_run(home, run)["broken"].startswith("score.json: found ")
    content = (folder / runs.SCORE).read_bytes()
    edit(folder / runs.RUN, lambda r: r["files"].update({runs.SCORE: runs.digest(content)}))
    assert verify_run(home, run)["broken"].startswith("metrics: found metrics.auroc.value = ")


def test_an_edited_record(built, home, run):
    path = home.runs / run / runs.RUN
    edit(path, lambda r: r["links"].update(spec="0" * 12))
    assert verify_run(home, run)["broken"].startswith("run.json (hash of its links): found ")
    edit(path, lambda r: r["links"].pop("bootstrap"))
    assert verify_run(home, run)["broken"].startswith("run.json (hash of its links): found ")
    edit(path, lambda r: r.update(run="another"))
    assert any(
        link["name"] == "run.json (name)" and not link["ok"] for link in verify_run(home, run)["links"]
    )


def test_a_record_that_names_no_files(built, home, run):
    edit(home.runs / run / runs.RUN, lambda r: r.update(files={}))
    assert verify_run(home, run)["broken"].startswith("run.json: found ")
    assert "keys are missing" in leaderboard(home, TASK)[0]["broken"]


@pytest.mark.parametrize("name", runs.FILES)
def test_a_missing_or_broken_file(built, home, run, name):
    path = home.runs / run / name
    path.write_bytes(b"no more")
    assert verify_run(home, run)["broken"].startswith(name)
    path.unlink()
    found = verify_run(home, run)
    assert not found["ok"]
    assert "No such file" in found["broken"]


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({"fingerprint": "e" * 64}, "task view: found eeee"),
        ({"inputs": {"views": {"toy.segment_v0": "f" * 64}}}, "views toy.segment_v0: found ffff"),
        ({"inputs": {"views": {"toy.segment_v0": "a" * 64}, "maps": {}}}, "maps colour: found None"),
        ({"stale": ("toy.segment_v0",)}, "build: found changed since: toy.segment_v0"),
    ],
)
def test_a_changed_build(built, home, run, task, change, broken):
    if "inputs" in change:
        change = {"inputs": task.inputs | change["inputs"]}
    built.change(**change)
    assert verify_run(home, run)["broken"].startswith(broken)


def test_a_changed_spec(built, home, run):
    built.change_spec(note="another wording of the rule")
    assert verify_run(home, run)["broken"].startswith("spec: found ")
    built.change_spec(follows={"digest": "ba9876543210"})
    links = {link["name"]: link for link in verify_run(home, run)["links"]}
    assert links["published spec"]["found"] == "ba9876543210"


def test_changed_labels_under_the_same_fingerprints(built, home, run, task):
    """Other raw files, the same rules: no fingerprint moves, the labels do."""
    targets = task.targets.copy()
    targets[COUNTING.index("2_5")] = 1
    built.change(targets=targets)
    found = verify_run(home, run)
    assert found["broken"].startswith("labels: found ")
    assert not found["links"][-1]["ok"]


def test_other_instances_under_the_same_fingerprints(built, home, run, task):
    built.change(instances=task.instances[1:], targets=task.targets[1:])
    found = verify_run(home, run)
    assert found["broken"].startswith("labels: found ")
    assert "predictions of other instances" in found["links"][-1]["found"]


def test_other_packages_are_told_and_break_nothing(built, home, run):
    edit(home.runs / run / runs.RUN, lambda r: r["packages"].update(numpy="0.1"))
    found = verify_run(home, run)
    assert found["ok"]
    assert found["packages"]["numpy"] == ["0.1", np.__version__]
    assert f"scored with numpy 0.1, checked with {np.__version__}" in render_verification(found)


def test_a_run_that_is_not_there(built, home, run):
    with pytest.raises(UsageError, match=f"no run 'absent'; expected one of: {run}"):
        verify_run(home, "absent")


def run_in(line: str) -> bool:
    return ".csv, " in line or "broken, " in line


def test_leaderboard_order_and_marks(built, home, write, task):
    good = score_submission(home, TASK, write())["run"]
    best = score_submission(home, TASK, write(scores=[0.9, 0.8, 0.1, 0.2, 0.3, 0.7]))["run"]
    worst = score_submission(home, TASK, write(scores=[0.1, 0.2, 0.9, 0.8, 0.7, 0.3]))["run"]
    score_submission(home, TASK, write("instance_id,odd\n6_0,0.5\n"), part="validation")
    broken = score_submission(home, TASK, write(scores=[0.5] * 6), name="broken")["run"]
    (home.runs / broken / runs.SCORE).write_text("{}")
    (home.runs / ".draft").mkdir()
    lines = leaderboard(home, TASK)
    assert [line["run"] for line in lines] == [best, good, worst, broken]
    assert [line["value"] for line in lines[:3]] == pytest.approx([1.0, 7 / 9, 0.0])
    assert all(line["stale"] is None for line in lines)
    assert "not the one that was recorded" in lines[3]["broken"]
    assert (lines[0]["rows"], lines[0]["groups"], lines[0]["made_by"]["file"]) == (6, 3, "mine.csv")
    assert [line["value"] for line in leaderboard(home, TASK, part="validation")] == [None]

    built.change(fingerprint="e" * 64)
    fresh = score_submission(home, TASK, write())["run"]
    text = render_leaderboard(leaderboard(home, TASK)).splitlines()
    assert [line.split()[0] for line in text if run_in(line)] == [
        "1.0000",
        "0.7778",
        "0.7778",
        "0.0000",
        "broken",
    ]
    assert sum("stale" in line for line in text) == 3
    marks = {line["run"]: line["stale"] for line in leaderboard(home, TASK)}
    assert marks[fresh] is None
    assert marks[good] == marks[best] == "changed since: view"


def test_leaderboard_puts_undefined_after_all_and_low_errors_first(built, home, write, task):
    metrics = task.spec.data["metrics"]
    built.change_spec(metrics=metrics | {"primary": "brier", "secondary": ["auroc"]})
    worse = score_submission(home, TASK, write(scores=[0.5] * 6))["run"]
    better = score_submission(home, TASK, write())["run"]
    assert [line["run"] for line in leaderboard(home, TASK)] == [better, worse]

    built.change_spec(metrics=metrics)
    defined = score_submission(home, TASK, write())["run"]
    built.change(targets=np.where(np.isnan(task.targets), np.nan, 1.0))
    undefined = score_submission(home, TASK, write())["run"]
    lines = {line["run"]: line for line in leaderboard(home, TASK)}
    assert [*lines].index(undefined) > [*lines].index(defined)
    assert lines[undefined]["reason"]
    assert f"undefined: {lines[undefined]['reason']}" in render_leaderboard([*lines.values()])
    assert "labels" in lines[defined]["stale"]


def test_an_empty_leaderboard(built, home):
    assert leaderboard(home, TASK) == []
    assert "no runs yet" in render_leaderboard([])
