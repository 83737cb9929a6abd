"""What a training depends on, and what its folder says of it.

``training.json`` holds ``run``; ``content``, a hash of ``depends_on`` (task, spec, classes, settings, digests of the
train and validation labels, digests and settings of the inputs, the model that it begins with), whose entries stand
beside it too; ``view`` (the task view's fingerprint); ``rows``, ``positives``, ``absent`` (instances without an input)
and ``odd`` (those that are not as they should be) a part; ``start`` (the weights that it began with); ``epochs``
(losses, metric, wall and CPU seconds, device, precision, threads); ``chosen``, one of them; ``thresholds``;
``without_positives`` (classes that part train never shows); ``apart_from_published``; ``seconds``; ``packages``;
``files`` (name → sha256).
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from pipelines.class_measures import confusion_matrix
from pipelines.runs import check_name, content_hash, digest, dump, package_versions
from pipelines.train import checkpoint, folder
from pipelines.train.inputs import Inputs
from pipelines.train.labels import PARTS, trained_labels
from pipelines.train.objective import Objective, OneClass
from pipelines.train.pictures import classes_picture, confusion_picture, loss_picture
from pipelines.train.settings import Settings
from warehouse.digests import source_digest
from warehouse.errors import InputError
from warehouse.home import Home, writing

if TYPE_CHECKING:
    from pipelines.train.loop import Fitted
    from warehouse.task import TaskData

PACKAGES = ("torch", "torchvision", "opencv-python-headless")


@dataclass(frozen=True)
class Training:
    """A training before it begins: what it depends on, its name, and the hash that stands for both."""

    task: TaskData
    settings: Settings
    objective: Objective
    inputs: Mapping[str, Inputs]
    run: str
    content: str
    depends_on: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        task: TaskData,
        settings: Settings,
        objective: Objective,
        inputs: Mapping[str, Inputs],
        run: str | None,
        begin: Mapping[str, Any] | None = None,
    ) -> Training:
        """`run` is made of the content where None, `begin` the record of the model that it begins with. UsageError for
        an unfit name."""
        described = [inputs[part].described for part in PARTS]
        if described[0] != described[1]:
            raise InputError(f"{task.spec.name}: found other inputs in part validation than in part train")
        own = settings.weights not in ("imagenet", "none")
        weights = source_digest(Path(settings.weights)) if own else settings.weights
        depends_on = {
            "task": task.spec.name,
            "spec": task.spec.digest,
            "classes": list(task.classes),
            "settings": settings.as_dict() | {"weights": weights},
            "labels": trained_labels(task),
            "inputs": {part: inputs[part].digest for part in PARTS} | {"settings": described[0]},
        }
        if begin is not None:
            depends_on["begins_with"] = begin["files"][folder.MODEL]
        content = content_hash(depends_on)
        name = f"{task.spec.slug}-v{task.spec.version}-{settings.model}-{content[:12]}"
        return cls(task, settings, objective, inputs, check_name(run or name), content, depends_on)


def finish(place: Path, planned: Training, fitted: Fitted, start: Mapping[str, Any] | None) -> dict[str, Any]:
    """Write a training's files into its folder, the record last; returns it."""
    task, inputs, objective = planned.task, planned.inputs, planned.objective
    rows = inputs["validation"].rows
    truth = task.targets[rows]
    thresholds = objective.thresholds(fitted.probabilities, truth)
    record: dict[str, Any] = {
        "run": planned.run,
        "content": planned.content,
        "depends_on": planned.depends_on,
        **planned.depends_on,
        "view": task.fingerprint,
        "rows": {part: len(inputs[part]) for part in PARTS},
        "positives": {part: _positives(task, inputs[part]) for part in PARTS},
        "absent": {part: inputs[part].absent for part in PARTS},
        "odd": {part: inputs[part].odd for part in PARTS},
        "without_positives": objective.without_positives,
        "start": start,
        "primary": "+".join(objective.metrics),
        "epochs": fitted.history,
        "chosen": fitted.history[fitted.chosen - 1],
        "thresholds": dict(zip(task.classes, thresholds, strict=True)),
        "apart_from_published": planned.settings.apart_from_published(),
        "seconds": {
            name: round(sum(line[name] for line in fitted.history), 3) for name in ("wall_s", "cpu_s")
        },
        "packages": package_versions() | {name: _version(name) for name in PACKAGES},
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    contents = {
        folder.VALIDATION: _table(task, inputs["validation"], fitted),
        "loss.png": loss_picture(record),
    }
    if isinstance(objective, OneClass):
        named = objective.predictions(fitted.probabilities, thresholds).argmax(axis=1)
        confusion = confusion_matrix(truth.argmax(axis=1), named, len(task.classes))
        contents["confusion.png"] = confusion_picture(task.classes, confusion)
    else:
        contents["classes.png"] = classes_picture(task.classes, fitted.probabilities, truth, thresholds)
    checkpoint.save(place / folder.MODEL, fitted.weights)
    record["files"] = {folder.MODEL: source_digest(place / folder.MODEL)}
    record["files"] |= {name: digest(content) for name, content in contents.items()}
    with writing(place):
        for name, content in contents.items():
            (place / name).write_bytes(content)
        (place / folder.RECORD).write_text(dump(record), encoding="utf-8")
    return record


def _table(task: TaskData, inputs: Inputs, fitted: Fitted) -> bytes:
    """The validation probabilities as Parquet."""
    columns = {name: fitted.probabilities[:, j] for j, name in enumerate(task.classes)}
    table = pl.DataFrame({"instance_id": task.instances["instance_id"].gather(inputs.rows), **columns})
    buffer = io.BytesIO()
    table.write_parquet(buffer, statistics=False)
    return buffer.getvalue()


def _positives(task: TaskData, inputs: Inputs) -> dict[str, int]:
    counts = (task.targets[inputs.rows] == 1).sum(axis=0).tolist()
    return dict(zip(task.classes, counts, strict=True))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def epoch_line(line: Mapping[str, Any], planned: Training) -> str:
    """What is told of an epoch."""
    primary = "+".join(planned.objective.metrics)
    return (
        f"epoch {line['epoch']:>3} of {planned.settings.epochs}: loss {line['loss']:.4f}, "
        f"validation {line['validation_loss']:.4f}, {primary} {_number(line['metric'])}; "
        f"{line['wall_s']:.1f} s, {line['cpu_s']:.1f} CPU s"
    )


def _number(metric: float | None) -> str:
    return "undefined" if metric is None else f"{metric:.4f}"


def render_training(home: Home, record: Mapping[str, Any]) -> str:
    """A record for a terminal."""
    chosen, rows = record["chosen"], record["rows"]
    lines = [
        f"model {record['run']} in {home.models / record['run']}",
        f"  {record['task']}: {rows['train']:,} instances of part train, {rows['validation']:,} of validation",
        f"  epoch {chosen['epoch']} of {len(record['epochs'])} chosen: validation {record['primary']} "
        f"{_number(chosen['metric'])}",
        f"  {record['seconds']['wall_s']:,.0f} s, {record['seconds']['cpu_s']:,.0f} CPU s on {chosen['device']}",
    ]
    if record["apart_from_published"]:
        lines.append(f"  apart from the published setting: {', '.join(record['apart_from_published'])}")
    if record["without_positives"]:
        names = ", ".join(record["without_positives"])
        lines.append(f"  never predicted, since part train never shows it: {names}")
    absent = sum(len(record["absent"][part]) for part in PARTS)
    if absent:
        lines.append(f"  left out, since they have no input: {absent:,} instances")
    return "\n".join([*lines, f"  next: predict {record['task']} --run {record['run']}"])
