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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.train import checkpoint
from pipelines.train.device import autocast
from pipelines.train.inputs import Inputs, read_ahead, split
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
        history, best = last["history"], last["best"]

    targets = {
        "train": torch.as_tensor(objective.task.targets[train.rows], dtype=torch.float32),
        "validation": torch.as_tensor(objective.task.targets[validation.rows], dtype=torch.float32),
    }
    steps = len(split(np.arange(len(train)), settings.batch))
    for epoch in range(len(history), settings.epochs):
        began = time.perf_counter(), time.process_time()
        rng = np.random.default_rng([settings.seed, epoch])
        order = rng.permutation(len(train))
        torch.manual_seed(int(rng.integers(2**63)))
        model.train()
        total = 0.0
        progress = watch.bar(f"epoch {epoch + 1}", len(train))
        for step, (places, batch) in enumerate(read_ahead(train.data, split(order, settings.batch))):
            for group in optimiser.param_groups:
                group["lr"] = cosine(settings.lr, epoch * steps + step, settings.epochs * steps)
            with autocast(device, half):
                logits = model(torch.from_numpy(batch).to(device, non_blocking=True))
            loss = objective.loss(logits.float(), targets["train"][places].to(device))
            optimiser.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.step(optimiser)
            scaler.update()
            total += loss.item() * len(places)
            if not math.isfinite(total):
                raise CheckFailed(
                    f"epoch {epoch + 1}, step {step + 1}: found a loss that is no number",
                    "train with a smaller --lr, or without --amp",
                )
            progress(len(places))
        logits = infer(model, validation, settings.batch, machine)
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
                "model": {name: value.cpu().clone() for name, value in model.state_dict().items()},
                "probabilities": torch.from_numpy(probabilities),
            }
        state = {"content": content, "model": model.state_dict(), "optimiser": optimiser.state_dict()}
        checkpoint.save(keep, state | {"scaler": scaler.state_dict(), "history": history, "best": best})
        told(line)
    assert best is not None
    return Fitted(best["model"], best["probabilities"].numpy(), best["epoch"], history)


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
