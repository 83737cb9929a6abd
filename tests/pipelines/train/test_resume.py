"""A training that is killed goes on, and ends as one that was not: bit for bit."""

import json
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from small_disk import fill, tmpfs
from toy_street import QUICK, patched

from pipelines.train.folder import CHECKPOINT, MODEL, STARTED, VALIDATION, training_folder
from pipelines.train.loop import cosine
from pipelines.train.predict import predict
from pipelines.train.stage import train
from pipelines.train.watch import Watch
from warehouse.errors import CheckFailed, HomeError, UsageError
from warehouse.home import Home

torch = pytest.importorskip("torch", reason="needs the extra `train`")
tiny = pytest.importorskip("tiny")

TASK = "toy-pages@0"
CHILD = Path(__file__).with_name("killed_child.py")
TIMES = ("wall_s", "cpu_s")


@pytest.fixture
def unbroken(street):
    """The record of a training in one go, on one thread, under another name."""
    return train(street.home, TASK, QUICK, run="unbroken", threads=1)


def killed(home, moment: str) -> None:
    done = subprocess.run([sys.executable, CHILD, home.path, moment], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


def same(home, record, unbroken) -> None:
    """Weights, probabilities, every epoch's figures and the predictions."""
    first, second = (
        torch.load(home.models / name / MODEL, weights_only=True) for name in ("first", "unbroken")
    )
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    tables = [pl.read_parquet(home.models / name / VALIDATION) for name in ("first", "unbroken")]
    assert tables[0].equals(tables[1])
    lines = [
        [{name: value for name, value in line.items() if name not in TIMES} for line in each["epochs"]]
        for each in (record, unbroken)
    ]
    assert lines[0] == lines[1]
    assert record["thresholds"] == unbroken["thresholds"]
    files = [predict(home, TASK, name, threads=1)["file"] for name in ("first", "unbroken")]
    assert pl.read_parquet(files[0]).equals(pl.read_parquet(files[1]))


@pytest.mark.parametrize(
    ("moment", "epochs"), [("epoch 3", 3), ("writing 5", 4), ("writing 9", 8)], ids=lambda value: str(value)
)
def test_killed_and_resumed(street, unbroken, moment, epochs):
    killed(street.home, moment)
    folder = street.home.models / ".first.training"
    assert len(torch.load(folder / CHECKPOINT, weights_only=True)["history"]) == epochs
    assert not (street.home.models / "first").exists()
    with pytest.raises(UsageError, match=r"no model 'first', a training that has not ended"):
        predict(street.home, TASK, "first")
    record = train(street.home, TASK, QUICK, run="first", threads=1)
    assert not folder.exists()
    same(street.home, record, unbroken)


def test_killed_when_all_was_done(street, unbroken):
    killed(street.home, "published")
    assert (street.home.models / "first" / CHECKPOINT).exists()
    record = train(street.home, TASK, QUICK, run="first", threads=1)
    assert not (street.home.models / "first" / CHECKPOINT).exists()
    same(street.home, record, unbroken)


class Stopped(Exception):
    pass


@pytest.fixture
def stopped(street, monkeypatch):
    """A training named `first` that was stopped after two epochs."""
    from pipelines.train import checkpoint

    save, calls = checkpoint.save, []

    def stops(path, content):
        save(path, content)
        calls.append(path)
        if len(calls) == 2:
            raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", stops)
        with pytest.raises(Stopped):
            train(street.home, TASK, QUICK, run="first", threads=1)
    return street


def test_other_settings_do_not_go_on(stopped):
    with pytest.raises(UsageError, match=r"named first already begun, with settings seed 0, now 1"):
        train(stopped.home, TASK, replace(QUICK, seed=1), run="first")


def test_a_damaged_checkpoint(stopped):
    path = stopped.home.models / ".first.training" / CHECKPOINT
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(CheckFailed, match=r"found a damaged checkpoint(.|\n)*remove the folder"):
        train(stopped.home, TASK, QUICK, run="first")


def test_a_checkpoint_of_another_training(stopped):
    folder = stopped.home.models / ".first.training"
    path = folder / CHECKPOINT
    torch.save(torch.load(path, weights_only=True) | {"content": "0" * 64}, path)
    with pytest.raises(CheckFailed, match="found a checkpoint of another training"):
        train(stopped.home, TASK, QUICK, run="first")


def test_a_note_without_an_epoch_is_no_obstacle(street):
    folder = street.home.models / ".first.training"
    folder.mkdir(parents=True)
    (folder / STARTED).write_text(json.dumps({"content": "0" * 64, "depends_on": {}}))
    (folder / ".checkpoint.pt.0123456789ab").write_bytes(b"half")
    assert train(street.home, TASK, replace(QUICK, epochs=1), run="first")["run"] == "first"


def test_two_processes_do_not_train_one_model(street):
    with (
        training_folder(street.home, "first"),
        pytest.raises(HomeError, match="another process trains first"),
    ):
        train(street.home, TASK, replace(QUICK, epochs=1), run="first")


def test_a_disk_that_is_full_when_images_are_decoded(monkeypatch, tmp_path):
    with tmpfs(tmp_path / "disk", "4m") as disk:
        street = patched(monkeypatch, Home(disk / "data"))
        monkeypatch.setattr("models.make", tiny.make)
        filler = fill(disk, leave=16_384)
        with pytest.raises(HomeError, match="found no space left on the disk"):
            train(street.home, TASK, replace(QUICK, epochs=1), run="first")
        assert not list(street.home.path.rglob("*.npy*"))
        filler.unlink()
        assert train(street.home, TASK, replace(QUICK, epochs=1), run="first")["run"] == "first"


def test_a_disk_that_fills_up_while_a_model_is_trained(monkeypatch, tmp_path, street, unbroken):
    with tmpfs(tmp_path / "disk", "4m") as disk:
        full = patched(monkeypatch, Home(disk / "data"))

        class Fills(Watch):
            def say(self, text: str) -> None:
                if text.startswith("epoch   4 "):
                    fill(disk, leave=8_192)

        with pytest.raises(HomeError, match="found no space left on the disk"):
            train(full.home, TASK, QUICK, run="first", threads=1, watch=Fills())
        (disk / "filler").unlink()
        record = train(full.home, TASK, QUICK, run="first", threads=1)
        shutil.copytree(full.home.models / "first", street.home.models / "first")
        same(street.home, record, unbroken)


def test_a_note_that_was_damaged_costs_no_epoch(stopped):
    (stopped.home.models / ".first.training" / STARTED).write_text("{")
    lines = []

    class Kept(Watch):
        def say(self, text: str) -> None:
            lines.append(text)

    train(stopped.home, TASK, QUICK, run="first", threads=1, watch=Kept())
    assert lines[0].endswith(", going on")
    assert sum(line.startswith("epoch") for line in lines) == QUICK.epochs - 2


def test_the_learning_rate_falls_along_a_cosine():
    assert cosine(3e-4, 0, 100) == 3e-4
    assert cosine(3e-4, 50, 100) == pytest.approx(1.5e-4)
    assert 0 < cosine(3e-4, 99, 100) < 1e-7
