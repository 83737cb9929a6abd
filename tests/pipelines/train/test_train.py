"""train, predict and score on toy pages: what is kept, what is refused, who is named."""

import json
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from toy_pages import CLASSES, write_pages
from toy_street import QUICK

from pipelines.evaluate import evaluate
from pipelines.leaderboard import leaderboard, render_leaderboard
from pipelines.runs import read_record
from pipelines.score import render_score, score_submission
from pipelines.train.folder import read_training
from pipelines.train.labels import NOTE, trained_labels
from pipelines.train.predict import predict
from pipelines.train.record import render_training
from pipelines.train.settings import Settings
from pipelines.train.stage import train
from pipelines.verify import verify_run
from warehouse.errors import CheckFailed, InputError, UsageError

torch = pytest.importorskip("torch", reason="needs the extra `train`")

TASK, BINARY = "toy-pages@0", "toy-page@0"


@pytest.fixture
def trained(street):
    """The street with a model named `first`."""
    train(street.home, TASK, QUICK, run="first")
    return street


def test_from_pages_to_a_score(street):
    record = train(street.home, TASK, QUICK)
    folder = street.home.models / record["run"]
    assert {path.name for path in folder.iterdir()} == {
        "model.pt",
        "training.json",
        "validation.parquet",
        "loss.png",
        "classes.png",
    }
    assert (
        json.loads((folder / "training.json").read_text())
        == record
        == read_training(street.home, record["run"])
    )
    assert [path.name for path in street.home.models.iterdir() if path.is_dir()] == [record["run"]]
    assert record["rows"] == {"train": 19, "validation": 16}
    assert record["labels"] == trained_labels(street.tasks[TASK])
    assert len(record["epochs"]) == QUICK.epochs
    best = max(line["metric"] for line in record["epochs"])
    assert record["chosen"]["metric"] == best > 0.9
    assert "lr 0.05 (published 0.0003)" in record["apart_from_published"]
    for name in ("loss.png", "classes.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")

    made = predict(street.home, TASK, record["run"])
    table = pl.read_parquet(made["file"])
    assert table.columns == ["instance_id", *CLASSES, *(f"probability of {name}" for name in CLASSES)]
    assert table.height == 24  # one without a label as well: the kind asks for it
    for name in CLASSES:
        decided = table[f"probability of {name}"] >= record["thresholds"][name]
        assert table[name].equals(decided.rename(name))
    result = score_submission(street.home, TASK, made["file"])
    assert result["metrics"]["macro_f_measure"]["value"] > result["prior"]["value"] + 0.1
    assert result["made_by"]["model"] == record["run"]
    assert result["made_by"]["trained"]["labels"] == record["labels"]
    assert result["made_by"]["trained"]["model"] == record["files"]["model.pt"]
    kept = read_record(street.home.runs / result["run"])
    assert kept["made_by"]["model"] == record["run"]
    text = render_leaderboard(leaderboard(street.home, TASK))
    assert f"model {record['run']}, {result['run']}, " in text
    assert verify_run(street.home, result["run"])["ok"]


def test_the_thresholds_and_the_metric_follow_from_the_kept_probabilities(trained):
    record = read_training(trained.home, "first")
    task = trained.tasks[TASK]
    kept = pl.read_parquet(trained.home.models / "first" / "validation.parquet")
    rows = np.array([task.instances["instance_id"].to_list().index(name) for name in kept["instance_id"]])
    limits = np.array([record["thresholds"][name] for name in CLASSES])
    decided = kept.select(CLASSES).to_numpy() >= limits
    matrix = np.column_stack([decided, np.zeros(len(rows))])
    score = evaluate(task, rows, matrix, "validation", n=0).score
    assert score["metrics"]["macro_f_measure"]["value"] == record["chosen"]["metric"]


def test_a_binary_task_keeps_probabilities(street):
    record = train(street.home, BINARY, QUICK, run="one")
    assert record["primary"] == "auroc"
    table = pl.read_parquet(predict(street.home, BINARY, "one")["file"])
    assert table.columns == ["instance_id", "left"]
    assert table["left"].dtype == pl.Float64
    assert table["left"].n_unique() > 10
    assert (
        score_submission(street.home, BINARY, predict(street.home, BINARY, "one")["file"])["metrics"][
            "auroc"
        ]["value"]
        > 0.9
    )


def test_the_same_again_gives_the_same_model(trained):
    again = train(trained.home, TASK, QUICK, run="again")
    first = read_training(trained.home, "first")
    assert first["content"] == again["content"]
    weights = [
        torch.load(trained.home.models / name / "model.pt", weights_only=True) for name in ("first", "again")
    ]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    other = train(trained.home, TASK, replace(QUICK, seed=1), run="other")
    assert other["epochs"][0]["loss"] != first["epochs"][0]["loss"]


def test_a_model_that_is_there_is_not_trained_again(trained, monkeypatch):
    monkeypatch.setattr("pipelines.train.stage._train", None)
    assert train(trained.home, TASK, QUICK, run="first") == read_training(trained.home, "first")


def test_a_name_that_another_training_has(trained):
    with pytest.raises(UsageError, match=r"named first already finished, with settings epochs 8, now 3\n"):
        train(trained.home, TASK, replace(QUICK, epochs=3), run="first")


@pytest.mark.parametrize("name", ["../first", ".hidden", "a/b", ""])
def test_a_name_that_is_no_folder(street, name):
    if name:
        with pytest.raises(UsageError, match="found the run name"):
            train(street.home, TASK, QUICK, run=name)
    assert not street.home.models.exists()


def test_other_training_labels_are_refused(trained):
    file = predict(trained.home, TASK, "first")["file"]
    run = score_submission(trained.home, TASK, file)["run"]
    targets = trained.tasks[TASK].targets.copy()
    targets[0, 2] = 1 - targets[0, 2]
    trained.change(TASK, targets=targets)
    with pytest.raises(
        CheckFailed, match=r"other labels of part train than toy-pages@0 has now(.|\n)*train again"
    ):
        score_submission(trained.home, TASK, file)
    with pytest.raises(CheckFailed, match=r"run .* other labels of part train"):
        score_submission(trained.home, TASK, _anonymous(trained, file), against=run)
    made = predict(trained.home, TASK, "first")
    assert any("labels of part train changed" in note for note in made["notes"])
    found = verify_run(trained.home, run)
    assert found["broken"].startswith("trained labels of train: found")


def test_other_validation_labels_are_refused(trained):
    file = predict(trained.home, TASK, "first")["file"]
    instances = trained.tasks[TASK].instances
    one = instances.filter(pl.col("part") == "validation", "scored")["instance_id"][0]
    scored = pl.col("scored") & (pl.col("instance_id") != one)
    trained.change(TASK, instances=instances.with_columns(scored))
    with pytest.raises(CheckFailed, match="other labels of part validation"):
        score_submission(trained.home, TASK, file)


def test_other_test_labels_are_not(trained):
    file = predict(trained.home, TASK, "first")["file"]
    targets = trained.tasks[TASK].targets.copy()
    targets[2] = [1, 0, 0]
    trained.change(TASK, targets=targets)
    assert score_submission(trained.home, TASK, file)["made_by"]["model"] == "first"


def test_predictions_of_a_model_for_another_task(trained, tmp_path):
    file = predict(trained.home, TASK, "first")["file"]
    notes = json.loads(pl.read_parquet_metadata(file)[NOTE])
    path = tmp_path / "other.parquet"
    pl.read_parquet(file).write_parquet(path, metadata={NOTE: json.dumps(notes | {"task": "else@1"})})
    with pytest.raises(CheckFailed, match="trained for else@1; expected one of toy-pages@0"):
        score_submission(trained.home, TASK, path)


def test_a_file_that_calls_itself_a_models(trained, tmp_path):
    file = predict(trained.home, TASK, "first")["file"]
    path = tmp_path / "mine.parquet"
    notes = {NOTE: pl.read_parquet_metadata(file)[NOTE]}
    pl.read_parquet(file).write_parquet(path, metadata=notes, compression="snappy")
    result = score_submission(trained.home, TASK, path)
    assert (result["made_by"]["model"], result["made_by"]["says"]) == (None, "model first")
    assert "mine.parquet says that it is model first; `predict` did not write it" in render_score(result)
    (line,) = leaderboard(trained.home, TASK)
    assert "mine.parquet (which says it is model first), " in render_leaderboard([line])


@pytest.mark.parametrize("note", ["", "null", "[]", "{}", '{"run": 1}', "{" * 9000])
def test_a_note_that_is_none(trained, tmp_path, note):
    path = tmp_path / "mine.parquet"
    pl.read_parquet(predict(trained.home, TASK, "first")["file"]).write_parquet(path, metadata={NOTE: note})
    assert (
        "model"
        not in read_record(trained.home.runs / score_submission(trained.home, TASK, path)["run"])["made_by"]
    )


def _anonymous(street, file):
    path = street.home.path / "anonymous.csv"
    pl.read_parquet(file).with_columns(left=pl.lit(True)).write_csv(path)
    return path


def test_a_score_on_what_was_trained_on_says_so(trained):
    made = predict(trained.home, TASK, "first", part="validation")
    assert made["notes"] == [
        "part validation took part in the training: a score on it says little about other records"
    ]
    result = score_submission(trained.home, TASK, made["file"], part="validation")
    assert any("part validation took part in the training" in note for note in result["notes"])


def test_instances_without_an_image(street):
    write_pages(street.images(TASK), street.tasks[TASK], failed=("0000", "0002"))
    record = train(street.home, TASK, QUICK, run="first")
    assert record["absent"] == {"train": {"0000": "no signal"}, "validation": {}}
    assert record["rows"]["train"] == 18
    assert "left out, since they have no input: 1 instances" in render_training(street.home, record)
    made = predict(street.home, TASK, "first")
    assert made["absent"] == {"0002": "no signal"}
    assert "1 instances have no input and get no row" in made["notes"]
    result = score_submission(street.home, TASK, made["file"])  # the spec takes a missing row for no label
    assert result["rows"]["missing"] == 1


def test_images_of_other_settings_than_the_models(trained):
    write_pages(trained.images(TASK), trained.tasks[TASK], settings={"dpi": 200, "palette": "bw"})
    with pytest.raises(CheckFailed, match=r"other settings \(settings palette: trained on 5, found bw\)"):
        predict(trained.home, TASK, "first")


@pytest.mark.parametrize("content", [b"", b"no weights", None])
def test_a_damaged_model(trained, content):
    path = trained.home.models / "first" / "model.pt"
    path.write_bytes(path.read_bytes()[:-9] if content is None else content)
    with pytest.raises(CheckFailed, match=r"first/model.pt: found sha256 .*the model is damaged"):
        predict(trained.home, TASK, "first")


def test_a_model_file_that_is_of_another_network(trained):
    import hashlib

    folder = trained.home.models / "first"
    torch.save({"net.1.weight": torch.zeros(3)}, folder / "model.pt")
    record = read_training(trained.home, "first")
    record["files"]["model.pt"] = hashlib.sha256((folder / "model.pt").read_bytes()).hexdigest()
    (folder / "training.json").write_text(json.dumps(record))
    with pytest.raises(CheckFailed, match=r"model.pt: found no resnet18 \("):
        predict(trained.home, TASK, "first")


def test_a_damaged_record(trained):
    (trained.home.models / "first" / "training.json").write_text("{}")
    with pytest.raises(CheckFailed, match="found a damaged record"):
        predict(trained.home, TASK, "first")


def test_a_model_of_another_task(trained):
    with pytest.raises(
        UsageError, match=r"found a model of toy-pages@0 with classes left, .*; expected one of toy-page@0"
    ):
        predict(trained.home, BINARY, "first")


def test_an_unknown_model(trained):
    with pytest.raises(
        UsageError, match=r"found no model 'second'; expected one of: first\n  next: `train TASK`"
    ):
        predict(trained.home, TASK, "second")


def test_a_part_that_is_not_there(trained):
    with pytest.raises(UsageError, match="found no part 'dev'"):
        predict(trained.home, TASK, "first", part="dev")


def test_no_validation_part(street):
    task = street.tasks[TASK]
    part = pl.col("part").replace("validation", "train")
    street.change(TASK, instances=task.instances.with_columns(part))
    with pytest.raises(UsageError, match="found no part 'validation'"):
        train(street.home, TASK, QUICK)


def test_no_scored_validation_instance(street):
    task = street.tasks[TASK]
    scored = pl.col("scored") & (pl.col("part") != "validation")
    street.change(TASK, instances=task.instances.with_columns(scored))
    with pytest.raises(
        InputError, match="no scored instance in part validation; expected some to choose the epoch"
    ):
        train(street.home, TASK, QUICK)


def test_a_class_that_train_never_shows(street):
    task = street.tasks[TASK]
    targets = task.targets.copy()
    targets[(task.instances["part"] == "train").to_numpy(), 2] = 0
    street.change(TASK, targets=targets)
    record = train(street.home, TASK, QUICK, run="first")
    assert record["thresholds"]["both ends"] is None
    assert "never predicted, since part train never shows it: both ends" in render_training(
        street.home, record
    )
    table = pl.read_parquet(predict(street.home, TASK, "first")["file"])
    assert not table["both ends"].any()


def test_a_task_without_images(street):
    spec = street.tasks[TASK].spec
    street.change(TASK, spec=replace(spec, data=dict(spec.data) | {"input": {}}))
    with pytest.raises(UsageError, match="found a task without images"):
        train(street.home, TASK, QUICK)


def test_weights_that_do_not_fit_leave_nothing(street, tmp_path):
    torch.save({"a": torch.zeros(1)}, tmp_path / "weights.pt")
    with pytest.raises(Exception, match="there are no weights"):
        train(street.home, TASK, replace(QUICK, weights=str(tmp_path / "weights.pt")))
    assert [path for path in street.home.models.iterdir() if path.is_dir()] == []


def test_a_loss_that_is_no_number(street, monkeypatch):
    monkeypatch.setattr(
        "pipelines.train.objective.EachClass.loss", lambda self, logits, targets: logits.sum() * torch.nan
    )
    with pytest.raises(CheckFailed, match="epoch 1, step 1: found a loss that is no number"):
        train(street.home, TASK, QUICK)


def test_a_device_that_is_not_there(street):
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    with pytest.raises(
        UsageError, match=r"--device cuda: found no such device here; expected one of: auto, "
    ):
        train(street.home, TASK, QUICK, device="cuda")


def test_without_torch(street, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for verb in (lambda: train(street.home, TASK, QUICK), lambda: predict(street.home, TASK, "first")):
        with pytest.raises(
            UsageError, match=r"no torch and no torchvision; .*extra `train`(.|\n)*\.\[train\]"
        ):
            verb()


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch": 0},
        {"lr": 0.0},
        {"lr": float("nan")},
        {"input_scale": 1.5},
        {"seed": -1},
        {"amp": "half"},
    ],
)
def test_settings_that_no_training_can_have(wrong):
    (name,) = wrong
    with pytest.raises(UsageError, match=f"found {name} "):
        Settings(**wrong)


def test_a_weights_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="found no such file; expected imagenet, none or a file"):
        Settings(weights=str(tmp_path / "none.pt"))


def test_a_cache_may_go(trained):
    before = pl.read_parquet(predict(trained.home, TASK, "first")["file"])
    shutil.rmtree(trained.home.path / "cache")
    assert pl.read_parquet(predict(trained.home, TASK, "first")["file"]).equals(before)


def test_half_precision_on_the_cpu(street):
    record = train(street.home, TASK, replace(QUICK, amp="bf16", epochs=2), run="half")
    assert record["chosen"]["amp"] == "bfloat16"
    full = train(street.home, TASK, replace(QUICK, epochs=2), run="full")
    assert full["chosen"]["amp"] is None
    assert record["epochs"][0]["loss"] == pytest.approx(full["epochs"][0]["loss"], abs=0.05)
    assert record["epochs"][0]["loss"] != full["epochs"][0]["loss"]


def test_imitated_half_precision_is_told(monkeypatch):
    """On a CPU that computes no bfloat16 a step took 24 times as long with it as without."""
    from pipelines.train.device import slow_half

    cpu = torch.device("cpu")
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False, raising=False)
    assert "24 times" in slow_half(cpu, torch.bfloat16)
    assert slow_half(cpu, None) is None
    assert slow_half(torch.device("cuda"), torch.bfloat16) is None
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True, raising=False)
    assert slow_half(cpu, torch.bfloat16) is None
