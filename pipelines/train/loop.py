"""Epochs: seeded, chosen on validation, each of them a point to go on from.

What epoch *e* does follows from the weights, the optimiser's state and (seed, e) alone: the order of the instances
and every random number are drawn anew for it, and the learning rate is a function of the step. So a training that
was killed and goes on gives what an unbroken one gives; on a CPU, with as many threads, bit for bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.train import checkpoint
from pipelines.train.augment import augmented
from pipelines.train.device import autocast
from pipelines.train.inputs import Inputs, evenly, read_ahead, split
from pipelines.train.objective import Objective
from pipelines.train.settings import Settings
from pipelines.train.watch import Watch
from warehouse.errors import CheckFailed

if TYPE_CHECKING:
    import torch
    from torch import nn


@dataclass(frozen=True)
class Machine:
    """The device and its half precision, None for none."""

    device: torch.device
    dtype: torch.dtype | None


@dataclass
class Fitted:
    """The chosen epoch's weights, its validation probabilities (n, k), and what every epoch measured."""

    weights: dict[str, torch.Tensor]
    probabilities: np.ndarray
    chosen: int
    history: list[dict[str, Any]]


def fit(
    model: nn.Module,
    objective: Objective,
    train: Inputs,
    validation: Inputs,
    settings: Settings,
    machine: Machine,
    *,
    keep: Path,
    content: str,
    session: dict[str, Any],
    watch: Watch,
    told: Callable[[dict[str, Any]], object],
) -> Fitted:
    """Train, beginning after the last epoch that the file `keep` holds.

    `content` names everything that the result depends on; `keep` is of the same. `told` gets a dictionary an epoch:
    epoch, loss, validation_loss, metric, wall_s, cpu_s and `session`. CheckFailed for a damaged `keep` and for a
    loss that is no number.
    """
    import torch

    device, half = machine.device, machine.dtype
    model.to(device)
    weights = [each for each in model.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=settings.lr, weight_decay=settings.weight_decay)
    average = averaged(model, settings.average)
    scaler = torch.amp.GradScaler(device.type, enabled=half == torch.float16)
    history: list[dict[str, Any]] = []
    best: dict[str, Any] | None = None
    if keep.exists():
        step = f"remove the folder {keep.parent} and train again from the beginning"
        last = checkpoint.load(keep, "checkpoint", step)
        if last.get("content") != content:
            raise CheckFailed(f"{keep}: found a checkpoint of another training", step)
        model.load_state_dict(last["model"])
        optimiser.load_state_dict(last["optimiser"])
        scaler.load_state_dict(last["scaler"])
        if average is not None:
            average.load_state_dict(last["average"])
        history, best = last["history"], last["best"]

    targets = {
        "train": torch.as_tensor(objective.task.targets[train.rows], dtype=torch.float32),
        "validation": torch.as_tensor(objective.task.targets[validation.rows], dtype=torch.float32),
    }
    steps = len(split(np.arange(len(train)), settings.batch))
    labels = targets["train"].nan_to_num().argmax(dim=1).numpy() if settings.balance == "resample" else None
    for epoch in range(len(history), settings.epochs):
        if settings.patience and best is not None and epoch - best["epoch"] >= settings.patience:
            watch.say(f"no better epoch than {best['epoch']} in {settings.patience}: the training ends")
            break
        began = time.perf_counter(), time.process_time()
        rng = np.random.default_rng([settings.seed, epoch])
        order = rng.permutation(len(train)) if labels is None else evenly(labels, rng)
        torch.manual_seed(int(rng.integers(2**63)))
        model.train()
        total = 0.0
        progress = watch.bar(f"epoch {epoch + 1}", len(train))
        change = None
        if settings.augment == "beats":
            change = partial(changed, settings.seed, epoch)
        for step, (places, batch) in enumerate(read_ahead(train.data, split(order, settings.batch), change)):
            done = epoch * steps + step
            rise = min(1.0, (done + 1) / (settings.warmup * steps)) if settings.warmup else 1.0
            for group in optimiser.param_groups:
                group["lr"] = rise * cosine(settings.lr, done, settings.epochs * steps)
            with autocast(device, half):
                logits = model(torch.from_numpy(batch).to(device, non_blocking=True))
            loss = objective.loss(logits.float(), targets["train"][places].to(device))
            optimiser.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.step(optimiser)
            scaler.update()
            if average is not None:
                average.update_parameters(model)
            total += loss.item() * len(places)
            if not math.isfinite(total):
                raise CheckFailed(
                    f"epoch {epoch + 1}, step {step + 1}: found a loss that is no number",
                    "train with a smaller --lr, or without --amp",
                )
            progress(len(places))
        judged = model if average is None else average.module
        logits = infer(judged, validation, settings.batch, machine)
        found = objective.loss(logits, targets["validation"]).item()
        probabilities = objective.probabilities(logits).numpy().astype(np.float64)
        limits = objective.thresholds(probabilities, objective.task.targets[validation.rows])
        metric = objective.measure(validation.rows, probabilities, limits)
        line = {
            "epoch": epoch + 1,
            "loss": total / len(train),
            "validation_loss": found,
            "metric": metric,
            "wall_s": round(time.perf_counter() - began[0], 3),
            "cpu_s": round(time.process_time() - began[1], 3),
            **session,
        }
        history = [*history, line]
        if best is None or objective.is_better((metric, found), (best["metric"], best["validation_loss"])):
            best = {
                "epoch": epoch + 1,
                "metric": metric,
                "validation_loss": found,
                "model": {name: value.cpu().clone() for name, value in judged.state_dict().items()},
                "probabilities": torch.from_numpy(probabilities),
            }
        state = {"content": content, "model": model.state_dict(), "optimiser": optimiser.state_dict()}
        state |= {"scaler": scaler.state_dict(), "history": history, "best": best}
        if average is not None:
            state["average"] = average.state_dict()
        checkpoint.save(keep, state)
        told(line)
    assert best is not None
    return Fitted(best["model"], best["probabilities"].numpy(), best["epoch"], history)


def changed(seed: int, epoch: int, batch: np.ndarray, places: np.ndarray, before: np.ndarray) -> np.ndarray:
    return augmented(batch, seed, epoch, places, before)


def averaged(model: nn.Module, keep: float) -> torch.optim.swa_utils.AveragedModel | None:
    """A running mean of weights and batch statistics, which a step moves by 1 - `keep`, and more at first."""
    from torch.optim.swa_utils import AveragedModel

    if not keep:
        return None

    def mean(old: torch.Tensor, new: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        if not old.is_floating_point():
            return new
        share = min(keep, (1 + int(steps)) / (10 + int(steps)))
        return old.lerp(new, 1 - share)

    return AveragedModel(model, avg_fn=mean, use_buffers=True)


def cosine(lr: float, step: int, steps: int) -> float:
    """The learning rate of a step, from `lr` at the first towards 0 after the last."""
    return 0.5 * lr * (1 + math.cos(math.pi * step / steps))


def infer(model: nn.Module, inputs: Inputs, size: int, machine: Machine) -> torch.Tensor:
    """Logits float32 (n, outputs) on the CPU, in the order of the inputs."""
    import torch

    model.eval()
    found = []
    with torch.inference_mode():
        for _, batch in read_ahead(inputs.data, split(np.arange(len(inputs)), size)):
            with autocast(machine.device, machine.dtype):
                logits = model(torch.from_numpy(batch).to(machine.device, non_blocking=True))
            found.append(logits.float().cpu())
    return torch.cat(found)
