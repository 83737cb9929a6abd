"""A heartbeat classifier from the labels to a score: trained, stopped, transferred, predicted."""

import json
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from pipelines.train.folder import MODEL, VALIDATION
from pipelines.train.settings import Settings
from warehouse.errors import UsageError
from warehouse.home import Home

torch = pytest.importorskip("torch", reason="needs the extra `train`")

TASK, MI = "ecg-heartbeat-arrhythmia@0", "ecg-heartbeat-mi@0"
QUICK = replace(Settings.of("beatnet"), epochs=2, batch=64, average=0.9)


@pytest.fixture(scope="module")
def home(heartbeat_home, tmp_path_factory) -> Home:
    """A copy that models may be written to."""
    place = tmp_path_factory.mktemp("training") / "data"
    shutil.copytree(heartbeat_home.path, place, symlinks=True)
    return Home(place)


@pytest.fixture(scope="module")
def trained(home):
    from pipelines.train.stage import train

    return train(home, TASK, QUICK, run="first", threads=1)


def weights(home: Home, run: str) -> dict:
    return torch.load(home.models / run / MODEL, weights_only=True)


def test_what_a_training_leaves(home, trained):
    assert {path.name for path in (home.models / "first").iterdir()} == {
        MODEL,
        VALIDATION,
        "training.json",
        "loss.png",
        "confusion.png",
    }
    assert trained["primary"] == "macro_f1+macro_recall"
    assert trained["inputs"]["settings"] == {"kind": "segments", "samples": 187, "rule": "published"}
    assert sum(trained["thresholds"].values()) == pytest.approx(1)
    assert all(set(trained["odd"][part]) == {"constant", "with missing samples"} for part in trained["odd"])
    assert trained["apart_from_published"] == []


def test_predictions_beat_always_the_same_class(home, trained):
    from pipelines.baseline import write_baseline
    from pipelines.score import score_submission
    from pipelines.train.predict import predict

    made = predict(home, TASK, "first", threads=1)
    frame = pl.read_parquet(made["file"])
    assert frame.columns == ["instance_id", "N", "S", "V", "F", "Q"]
    assert np.allclose(frame.drop("instance_id").to_numpy().sum(axis=1), 1)
    result = score_submission(home, TASK, made["file"], name="by-first")
    prior = score_submission(home, TASK, write_baseline(home, TASK, "prior"), name="by-prior")
    recall = [each["metrics"]["macro_recall"]["value"] for each in (result, prior)]
    assert recall[1] == pytest.approx(20)
    assert recall[0] > 2 * recall[1]


@pytest.mark.parametrize("balance", ["none", "resample"])
def test_a_stopped_training_goes_on_to_the_same_result(home, monkeypatch, balance):
    """Averages, augmentation and drawing by class as well: weights and probabilities, bit for bit."""
    from pipelines.train import checkpoint
    from pipelines.train.stage import train

    class Stopped(Exception):
        pass

    settings = replace(QUICK, balance=balance)
    save = checkpoint.save

    def stops(path, content):
        save(path, content)
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", stops)
        with pytest.raises(Stopped):
            train(home, TASK, settings, run=f"broken-{balance}", threads=1)
    broken = train(home, TASK, settings, run=f"broken-{balance}", threads=1)
    whole = train(home, TASK, settings, run=f"whole-{balance}", threads=1)
    one, two = weights(home, f"broken-{balance}"), weights(home, f"whole-{balance}")
    assert all(torch.equal(one[name], two[name]) for name in two)
    assert [line["loss"] for line in broken["epochs"]] == [line["loss"] for line in whole["epochs"]]
    assert broken["thresholds"] == whole["thresholds"]


def test_transfer_keeps_the_convolutions(home, trained):
    from pipelines.train.stage import train

    settings = replace(QUICK, init_from="first", freeze="conv", lr=0.02)
    record = train(home, MI, settings, run="moved", threads=1)
    assert record["start"]["run"] == "first"
    assert record["start"]["not_loaded"] == ["dense.1.weight", "dense.1.bias"]
    assert record["depends_on"]["begins_with"] == trained["files"][MODEL]
    before, after = weights(home, "first"), weights(home, "moved")
    kept = [name for name in after if name.startswith("features.")]
    assert len(kept) > 20
    assert all(torch.equal(before[name], after[name]) for name in kept)
    assert after["dense.1.weight"].shape[0] == 2


def test_convolutions_that_do_not_fit(home, trained):
    from pipelines.train.stage import train

    with pytest.raises(UsageError, match=r"--init-from first: found a beatnet with other convolutions"):
        train(home, MI, Settings.of("kachuee").with_known(init_from="first", epochs=1), threads=1)
    with pytest.raises(UsageError, match="found no model 'nobody'"):
        train(home, MI, replace(QUICK, init_from="nobody"), threads=1)


def test_the_papers_network_trains(home):
    from pipelines.train.stage import train

    settings = Settings.of("kachuee").with_known(
        epochs=1, dense_layers=1, balance="weights", choose="accuracy"
    )
    record = train(home, TASK, settings, run="paper", threads=1)
    assert record["primary"] == "accuracy"
    assert sum(value.numel() for value in weights(home, "paper").values()) == 53_957


def test_no_better_epoch_ends_it(home):
    from pipelines.train.stage import train

    quick = Settings.of("kachuee").with_known(batch=64)
    settings = replace(quick, epochs=9, lr=1e-9, patience=1, choose="accuracy")
    record = train(home, TASK, settings, run="patient", threads=1)
    assert len(record["epochs"]) < 9
    assert len(record["epochs"]) - record["chosen"]["epoch"] == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"init_from": "", "freeze": "conv"}, "found --freeze without --init-from"),
        ({"weights": "imagenet"}, "found weights for model beatnet"),
        ({"balance": "luck"}, "found balance 'luck'"),
        ({"average": 1.5}, "found average 1.5"),
    ],
)
def test_settings_that_do_not_go_together(change, words):
    with pytest.raises(UsageError, match=words):
        replace(QUICK, **change)


def test_a_metric_that_the_task_has_not(home):
    from pipelines.train.stage import train

    with pytest.raises(UsageError, match=r"--choose auroc: found no metric 'auroc'; expected of"):
        train(home, TASK, replace(QUICK, choose="auroc"), threads=1)


def test_inputs_come_from_the_cache(home, trained, monkeypatch):
    """Cut once: afterwards no signal is opened, and a damaged cache is cut again."""
    from pipelines.kind import counting_rows
    from pipelines.train import signals
    from warehouse.task import read_task

    task = read_task(home, TASK)
    rows = counting_rows(task.instances, "train")
    first = signals.segment_inputs(home, task, rows)
    with monkeypatch.context() as patch:
        patch.setattr(signals, "read_segments", lambda *args: pytest.fail("cut again"))
        again = signals.segment_inputs(home, task, rows)
    assert again.digest == first.digest
    assert again.odd == first.odd
    (path,) = (
        path
        for path in (home.path / "cache" / "signals").rglob("*.npy")
        if json.loads(path.with_suffix(".json").read_text())["shape"][0] == len(rows)
        and path.parent.name == "ecg_heartbeat_arrhythmia_v0"
    )
    path.write_bytes(path.read_bytes()[:-100])
    assert signals.segment_inputs(home, task, rows).digest == first.digest


def test_the_literal_balanced_test(home):
    """Of a release with too few beats it holds them all, those that were trained on included, and says so."""
    from pipelines.train.literal import literal_reading, render_literal
    from pipelines.train.stage import train

    task = "ecg-heartbeat-balanced@0"
    settings = Settings.of("kachuee").with_known(epochs=1, balance="resample", choose="macro_recall")
    record = train(home, task, settings, run="balanced", threads=1)
    reading = literal_reading(home, "balanced", threads=1)
    seen = reading["parts"]["train"]
    assert all(seen[name] <= record["positives"]["train"][name] for name in seen)
    assert seen["F"] == record["positives"]["train"]["F"]
    assert reading["beats"] == sum(sum(counts.values()) for counts in reading["parts"].values())
    assert f"{sum(seen.values()):,} of them were trained on" in render_literal(reading)
    with pytest.raises(UsageError, match="literal_per_class"):
        literal_reading(home, "first")


def test_every_task_has_a_model():
    """The command offers every model that there is, and takes the one that a task's instances ask for."""
    from cli import train
    from models import INPUTS
    from pipelines.train.settings import model_for
    from warehouse.spec import specs

    (offered,) = (option.type.choices for option in train.params if option.name == "model")
    assert set(offered) == set(INPUTS)
    reads = {spec.slug: INPUTS[model_for(spec.data)] for spec in specs()}
    assert reads["lydus-ecg-image"] == reads["cinc2024-ptbxl-image"] == "images"
    assert reads["vitaldb-arrhythmia-abnormal"] == "windows"
    assert {kind for slug, kind in reads.items() if slug.startswith("ecg-heartbeat")} == {"segments"}


def test_a_model_that_cannot_read_the_task(home):
    from pipelines.train.stage import train

    with pytest.raises(
        UsageError, match=r"found no column start_s, duration_s; expected a task whose instances are"
    ):
        train(home, TASK, Settings.of("rhythmnet").with_known(epochs=1), threads=1)
