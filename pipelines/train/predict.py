"""`predict`: a trained model's predictions of a part, as the table that `score` takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pipelines.evaluate import kind_of
from pipelines.predictions import check_out, write_predictions
from pipelines.train import checkpoint, folder
from pipelines.train.device import find_device, need_torch, precision
from pipelines.train.inputs import Inputs
from pipelines.train.labels import NOTE, trained_labels
from pipelines.train.objective import Objective, objective_of
from pipelines.train.settings import Settings
from pipelines.train.stage import inputs_of, torch_set_up
from pipelines.train.watch import Watch
from warehouse.errors import CheckFailed, InputError
from warehouse.home import Home

if TYPE_CHECKING:
    from warehouse.task import TaskData


def predict(
    home: Home,
    task: str,
    run: str,
    *,
    part: str = "test",
    out: Path | None = None,
    device: str = "auto",
    images: Path | None = None,
    workers: int | None = None,
    threads: int | None = None,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """Write the model's predictions of a part; returns ``file``, ``rows``, ``notes`` and what says who made them.

    The table has ``instance_id``, the columns that the task's kind scores, and for decisions the probability behind
    each. Every instance that the kind asks for has a row, but those that have no input. UsageError for an
    unknown model or part and for a model of another task; CheckFailed for a damaged model and for inputs of other
    settings than it was trained on; InputError and HomeError as `pipelines.train.images`.
    """
    from warehouse.task import read_task

    need_torch()
    check_out(out, f"{run}.parquet")
    record = folder.read_training(home, run)
    data = read_task(home, task)
    folder.of_task(data, run, record)
    path = folder.model_file(home, run, record)
    rows = kind_of(data).rows(data.instances, part)
    if not len(rows):
        raise InputError(f"{data.spec.name}: found no instance of part {part} to predict")
    settings = Settings(**record["settings"] | {"weights": "none"})
    progress = (watch or Watch()).bar(f"inputs of part {part}", len(rows))
    inputs = inputs_of(home, data, rows, settings, images, workers, progress)
    _same_settings(run, record, inputs)

    objective = objective_of(data)
    probabilities = probabilities_of(objective, settings, path, inputs, device, threads)
    thresholds = [record["thresholds"][name] for name in data.classes]
    matrix = objective.predictions(probabilities, thresholds)
    columns = kind_of(data).stored(data.classes, matrix)
    columns |= {
        f"probability of {name}": pl.Series(probabilities[:, j])
        for j, name in enumerate(data.classes)
        if columns[name].dtype == pl.Boolean
    }
    said = {
        "run": run,
        "task": record["task"],
        "labels": record["labels"],
        "model": record["files"][folder.MODEL],
        "inputs": {name: record["inputs"][name] for name in ("train", "validation")} | {part: inputs.digest},
    }
    ids = data.instances["instance_id"].gather(inputs.rows)
    frame = pl.DataFrame({"instance_id": ids, **columns})
    written = write_predictions(
        home, data, frame, f"{run}-{part}", out, notes={NOTE: json.dumps(said)}, maker=f"model {run}"
    )
    return {
        "task": data.spec.name,
        "run": run,
        "part": part,
        "file": str(written),
        "rows": len(inputs),
        "absent": inputs.absent,
        "notes": list(_notes(data, record, part, inputs)),
    }


def probabilities_of(
    objective: Objective, settings: Settings, path: Path, inputs: Inputs, device: str, threads: int | None
) -> np.ndarray:
    """(n, k), float64. CheckFailed when the file is no model of the settings' kind."""
    from models import make
    from pipelines.train.loop import Machine, infer

    with torch_set_up(threads):
        where = find_device(device)
        machine = Machine(where, precision(settings.amp, where))
        step = "move the folder away and train it again"
        weights = checkpoint.load(path, "model", step)
        model = make(settings.model, len(objective.classes), **settings.model_options())
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise CheckFailed(f"{path}: found no {settings.model} ({reason:.200})", step) from error
        logits = infer(model.to(where), inputs, settings.batch, machine)
        return objective.probabilities(logits).numpy().astype(np.float64)


def _same_settings(run: str, record: dict[str, Any], inputs: Inputs) -> None:
    """CheckFailed when the model was trained on inputs of other settings than these."""
    differ = folder.differences(record["inputs"]["settings"], inputs.described)
    told = "; ".join(f"{name}: trained on {one}, found {two}" for name, one, two in differ)
    if told:
        raise CheckFailed(
            f"model {run} was trained on inputs of other settings ({told})",
            "predict on inputs of the model's settings, or train a model on these",
        )


def _notes(task: TaskData, record: dict[str, Any], part: str, inputs: Inputs) -> Iterator[str]:
    now = trained_labels(task)
    changed = [name for name, known in record["labels"].items() if now.get(name) != known]
    if changed:
        yield f"labels of part {' and '.join(changed)} changed since the training: `score` refuses the predictions"
    if part in now:
        yield f"part {part} took part in the training: a score on it says little about other records"
    if inputs.absent:
        yield f"{len(inputs.absent):,} instances have no input and get no row"
