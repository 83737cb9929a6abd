"""`train`: from a task's labels and its inputs to a folder with a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.train import folder
from pipelines.train.device import described, find_device, need_torch, precision
from pipelines.train.images import image_inputs, sampled_moments
from pipelines.train.inputs import Inputs
from pipelines.train.labels import PARTS, trained_rows
from pipelines.train.objective import objective_of
from pipelines.train.record import Training, epoch_line, finish
from pipelines.train.settings import Settings
from pipelines.train.watch import Watch
from warehouse.errors import HomeError, UsageError
from warehouse.home import Home

if TYPE_CHECKING:
    from torch import nn

    from warehouse.task import TaskData


def train(
    home: Home,
    task: str,
    settings: Settings,
    *,
    run: str | None = None,
    device: str = "auto",
    images: Path | None = None,
    workers: int | None = None,
    threads: int | None = None,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """Train, or go on with a training that was stopped, or find the one that is there; returns its record
    (`pipelines.train.record`).

    `run` is its name, made of the content where None; `images` a folder of images instead of the home's; `threads`
    are torch's, `workers` those that decode images. UsageError without torch,
    for an unknown device, and for a name that another training has; HomeError without images or weights; InputError
    for labels that teach nothing and for damaged images; CheckFailed for a damaged checkpoint.
    """
    from warehouse.task import read_task

    need_torch()
    watch = watch or Watch()
    data = read_task(home, task)
    rows = {part: trained_rows(data, part) for part in PARTS}
    objective = objective_of(data)
    objective.learn_from(data.targets[rows["train"]], balance=settings.balance == "weights")
    with torch_set_up(threads):
        where = find_device(device)
        half = precision(settings.amp, where)
        inputs = {}
        for part in PARTS:
            progress = watch.bar(f"inputs of part {part}", len(rows[part]))
            inputs[part] = inputs_of(home, data, rows[part], settings, images, workers, progress)
        planned = Training.of(data, settings, objective, inputs, run)
        if planned.run in folder.model_names(home):
            record = folder.read_training(home, planned.run)
            if record["content"] != planned.content:
                there = home.models / planned.run
                raise folder.another(planned.run, record["depends_on"], planned.depends_on, "finished", there)
            folder.tidy(home.models / planned.run)
            watch.say(f"{planned.run} is trained already")
            return record
        with folder.training_folder(home, planned.run) as place:
            folder.begin(place, planned.run, planned.content, planned.depends_on)
            try:
                return _train(home, planned, place, where, half, watch)
            except BaseException:
                folder.abandon(place)
                raise


@contextmanager
def torch_set_up(threads: int | None) -> Iterator[None]:
    """So many threads, and convolutions that give the same each time; as it was afterwards."""
    import torch

    before = torch.get_num_threads(), torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic
    torch.set_num_threads(threads or before[0])
    torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = False, True
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = before[1:]


def inputs_of(
    home: Home,
    task: TaskData,
    rows: np.ndarray,
    settings: Settings,
    images: Path | None,
    workers: int | None,
    progress: Callable[[int], object],
) -> Inputs:
    """What the settings' model reads of the instances at `rows`. UsageError when the task has no such input."""
    if "image" not in task.spec.data.get("input", {}):
        raise UsageError(
            f"{task.spec.name}: found a task without images; expected one for model {settings.model}, which reads "
            "images"
        )
    return image_inputs(
        home, task, rows, settings.input_scale, folder=images, workers=workers, progress=progress
    )


def first_model(
    settings: Settings, task: TaskData, inputs: Inputs
) -> tuple[nn.Module, dict[str, Any] | None]:
    """The model before its first step, and the weights it starts from. HomeError for weights that cannot be had."""
    import torch

    from models import WeightsError, make

    torch.manual_seed(settings.seed)
    model = make(settings.model, len(task.classes))
    if settings.weights == "none":
        model.normalise(*sampled_moments(inputs.data))
        return model, None
    try:
        return model, model.start_from(settings.weights)
    except WeightsError as error:
        raise HomeError(
            f"--weights {settings.weights}: {error}",
            "pass --weights PATH with a file of weights, or --weights none to begin with random ones",
        ) from error


def _train(
    home: Home,
    planned: Training,
    place: Path,
    where: Any,
    half: Any,
    watch: Watch,
) -> dict[str, Any]:
    from pipelines.train.loop import Machine, fit

    settings, inputs = planned.settings, planned.inputs
    session = described(where, half)
    model, start = first_model(settings, planned.task, inputs["train"])
    n = len(inputs["train"])
    begun = ", going on" if (place / folder.CHECKPOINT).exists() else ""
    watch.say(f"{planned.run}: {n:,} instances, {settings.epochs} epochs on {session['device']}{begun}")
    fitted = fit(
        model,
        planned.objective,
        inputs["train"],
        inputs["validation"],
        settings,
        Machine(where, half),
        keep=place / folder.CHECKPOINT,
        content=planned.content,
        session=session,
        watch=watch,
        told=lambda line: watch.say(epoch_line(line, planned)),
    )
    record = finish(place, planned, fitted, start)
    folder.publish(home, place, planned.run)
    return record
