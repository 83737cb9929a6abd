"""What a training leaves, in ``data/models/<run>/``.

==================  ================================================================================
model.pt            the chosen epoch's weights, a state dict
training.json       task, labels, inputs, settings, every epoch, thresholds, versions, time; see `stage`
validation.parquet  instance_id, a probability a class: what the thresholds were chosen on
loss.png            losses and the metric by epoch
classes.png         how each class came out on validation; of a multiclass task confusion.png
==================  ================================================================================

While it is trained the folder is ``.<run>.training``, with ``started.json`` and ``checkpoint.pt`` after every epoch;
it gets its name when everything is in it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.runs import check_name, dump
from warehouse.digests import file_digest
from warehouse.errors import CheckFailed, HomeError, UsageError
from warehouse.home import Home, sync, write_text, writing

if TYPE_CHECKING:
    from warehouse.task import TaskData

MODEL, RECORD, VALIDATION = "model.pt", "training.json", "validation.parquet"
STARTED, CHECKPOINT = "started.json", "checkpoint.pt"
KEYS = (
    "run",
    "content",
    "depends_on",
    "task",
    "classes",
    "labels",
    "inputs",
    "settings",
    "thresholds",
    "files",
)


def model_names(home: Home) -> list[str]:
    """Trained models, in order; hidden folders are trainings that have not ended."""
    if not home.models.is_dir():
        return []
    return sorted(each.name for each in home.models.iterdir() if each.is_dir() and each.name[0] != ".")


def read_training(home: Home, run: str) -> dict[str, Any]:
    """A model's ``training.json``. UsageError when there is no such model, CheckFailed when it is damaged."""
    if run not in (known := model_names(home)):
        begun = home.models / f".{run}.training"
        more = (
            ", a training that has not ended: the same `train` command goes on with it"
            if begun.is_dir()
            else ""
        )
        raise UsageError(
            f"found no model {run!r}{more}; expected one of: {', '.join(known) or '(none is trained)'}",
            "`train TASK` trains one",
        )
    path = home.models / run / RECORD
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        missing = [key for key in KEYS if key not in record]
        if missing:
            raise ValueError(f"no {', '.join(missing)}")
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise CheckFailed(
            f"{path}: found a damaged record ({error}); expected what `train` wrote", "train it again"
        ) from error
    return record


def model_file(home: Home, run: str, record: Mapping[str, Any]) -> Path:
    """The file of weights. CheckFailed when it is not the one that the record names."""
    path = home.models / run / MODEL
    found, expected = file_digest(path), record["files"].get(MODEL)
    if found != expected:
        raise CheckFailed(
            f"{path}: found {f'sha256 {found[:12]}…' if found else 'no file'}; expected {str(expected)[:12]}…, as "
            f"{RECORD} says: the model is damaged",
            "move the folder away and train it again",
        )
    return path


def of_task(task: TaskData, run: str, record: Mapping[str, Any]) -> None:
    """UsageError when a model is another task's."""
    if (record["task"], tuple(record["classes"])) != (task.spec.name, task.classes):
        raise UsageError(
            f"model {run}: found a model of {record['task']} with classes {', '.join(record['classes'])}; expected "
            f"one of {task.spec.name} with {', '.join(task.classes)}",
            f"`train {task.spec.name}` trains one",
        )


@contextmanager
def training_folder(home: Home, run: str) -> Iterator[Path]:
    """Hold a training's folder. HomeError when another process trains it, or the home cannot be written."""
    from filelock import FileLock, Timeout

    folder = home.models / f".{check_name(run)}.training"
    with writing(home.models):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(home.models / f".{run}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise HomeError(
                f"{folder}: another process trains {run}; found the lock taken, expected it free",
                "wait until it has finished, or train under another --run",
            ) from None
    try:
        for draft in folder.glob(".*"):  # what a killed process was writing
            draft.unlink(missing_ok=True)
        yield folder
    finally:
        lock.release()


def begin(folder: Path, run: str, content: str, depends_on: Mapping[str, Any]) -> None:
    """Note what is trained here. UsageError when the folder holds another training."""
    path = folder / STARTED
    try:
        started = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        started = None
    if started is None or (started.get("content") != content and not (folder / CHECKPOINT).exists()):
        with writing(folder):
            write_text(path, dump({"content": content, "depends_on": depends_on}))
    elif started.get("content") != content:
        raise another(run, started.get("depends_on"), depends_on, "begun", folder)


def another(run: str, found: Any, expected: Any, state: str, folder: Path) -> UsageError:
    """The error for a name that is taken."""
    differ = "; ".join(f"{name} {one}, now {two}" for name, one, two in differences(found, expected))
    return UsageError(
        f"found a training named {run} already {state}, with {differ or 'other content'}",
        f"pass another --run, or remove {folder}",
    )


def differences(one: Any, two: Any, prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two trees of dictionaries differ: path, the one, the other."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        for key in [*one, *(key for key in two if key not in one)]:
            yield from differences(one.get(key), two.get(key), f"{prefix} {key}".strip())
    elif one != two:
        yield prefix, one, two


def publish(home: Home, folder: Path, run: str) -> None:
    """Give a finished training its name, then remove what was needed to go on."""
    published = home.models / run
    with writing(home.models):
        for path in folder.iterdir():
            sync(path)
        sync(folder)
        folder.rename(published)
        sync(home.models)
    tidy(published)


def tidy(published: Path) -> None:
    """Remove what a process that was killed right after publishing left."""
    for name in (CHECKPOINT, STARTED):
        with suppress(OSError):
            (published / name).unlink(missing_ok=True)


def abandon(folder: Path) -> None:
    """Remove a training's folder that holds no epoch yet."""
    if not (folder / CHECKPOINT).exists():
        shutil.rmtree(folder, ignore_errors=True)
