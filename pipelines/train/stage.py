"""`train`: from a task's labels and its inputs to a folder with a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.train import folder
from pipelines.train.device import described, find_device, need_torch, precision, slow_half
from pipelines.train.images import image_inputs, sampled_moments
from pipelines.train.inputs import Inputs
from pipelines.train.labels import PARTS, trained_rows
from pipelines.train.objective import OneClass, objective_of
from pipelines.train.record import Training, epoch_line, finish
from pipelines.train.settings import BALANCE, Settings
from pipelines.train.signals import segment_inputs, window_inputs
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
    objective = objective_of(data, settings.choose)
    if isinstance(objective, OneClass):
        objective.smoothing = settings.smoothing
    elif settings.balance == "resample":
        raise UsageError(f"{data.spec.name}: found balance resample; expected a multiclass task for it")
    objective.learn_from(data.targets[rows["train"]], balance=BALANCE[settings.balance])
    with torch_set_up(threads):
        where = find_device(device)
        half = precision(settings.amp, where)
        if slow := slow_half(where, half):
            watch.say(slow)
        inputs = {}
        for part in PARTS:
            progress = watch.bar(f"inputs of part {part}", len(rows[part]))
            inputs[part] = inputs_of(home, data, rows[part], settings, images, workers, progress)
        begin = folder.read_training(home, settings.init_from) if settings.init_from else None
        planned = Training.of(data, settings, objective, inputs, run, begin)
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
    from models import INPUTS

    if INPUTS[settings.model] == "segments":
        return segment_inputs(home, task, rows, progress)
    if INPUTS[settings.model] == "windows":
        return window_inputs(home, task, rows, progress)
    if "image" not in task.spec.data.get("input", {}):
        raise UsageError(
            f"{task.spec.name}: found a task without images; expected one for model {settings.model}, which reads "
            "images"
        )
    return image_inputs(
        home, task, rows, settings.input_scale, folder=images, workers=workers, progress=progress
    )


def first_model(
    home: Home, settings: Settings, task: TaskData, inputs: Inputs
) -> tuple[nn.Module, dict[str, Any] | None]:
    """The model before its first step, and the weights it starts from. HomeError for weights that cannot be had."""
    import torch

    from models import INPUTS, WeightsError, make

    torch.manual_seed(settings.seed)
    model = make(settings.model, len(task.classes), **settings.model_options())
    if INPUTS[settings.model] != "images":
        start = transferred(home, model, settings) if settings.init_from else None
        if settings.freeze == "conv":
            model.freeze()
        return model, start
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


def transferred(home: Home, model: nn.Module, settings: Settings) -> dict[str, Any]:
    """Give a model the convolutions of the one that it begins with; returns what was loaded. The dense layers stay
    as they were drawn. UsageError for a model of another kind."""
    from pipelines.train import checkpoint

    record = folder.read_training(home, settings.init_from)
    path = folder.model_file(home, settings.init_from, record)
    state = checkpoint.load(path, "model", "train it again")
    try:
        kept = model.take_features(state)
    except (KeyError, RuntimeError) as error:
        raise UsageError(
            f"--init-from {settings.init_from}: found a {record['settings']['model']} with other convolutions; "
            f"expected a {settings.model}",
            f"pass --model {record['settings']['model']}",
        ) from error
    return {
        "run": settings.init_from,
        "task": record["task"],
        "sha256": record["files"][folder.MODEL],
        "not_loaded": kept,
        "frozen": settings.freeze == "conv",
    }


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
    model, start = first_model(home, settings, planned.task, inputs["train"])
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
