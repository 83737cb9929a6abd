"""The heartbeat paper's own balanced test, read literally, beside the one that was held out.

``python -m pipelines.train.literal RUN [--data DIR]``

The paper tests on as many beats of each class, or on all of a class that has fewer; of the rarest that is every beat
there is. No split can hold those out and leave some to learn from. So here the literal number of each class is filled
with beats that the model never saw, then with those that its epoch was chosen on, then with those that it was trained
on: the fewest seen beats that are possible, and how many they are.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.class_measures import confusion_matrix, of_confusion
from pipelines.train import folder
from pipelines.train.objective import objective_of
from pipelines.train.predict import probabilities_of
from pipelines.train.settings import Settings
from pipelines.train.stage import inputs_of
from warehouse.errors import LeadhouseError, UsageError
from warehouse.home import Home

PREFERRED = ("test", "validation", "train")
"""Parts, those first that a model saw least."""


def literal_rows(parts: np.ndarray, labels: np.ndarray, per_class: int) -> np.ndarray:
    """Positions of `per_class` instances of each class, or of all it has, least seen first; `parts` and `labels`
    (n,), a label -1 for none."""
    rank = np.full(len(parts), len(PREFERRED))
    for number, part in enumerate(PREFERRED):
        rank[parts == part] = number
    order = np.argsort(rank, kind="stable")
    order = order[(rank[order] < len(PREFERRED)) & (labels[order] >= 0)]
    chosen = [order[labels[order] == each][:per_class] for each in np.unique(labels[labels >= 0])]
    return np.sort(np.concatenate(chosen))


def literal_reading(home: Home, run: str, threads: int | None = None) -> dict[str, Any]:
    """How a model does on the literal test, on what of it was held out and on the rest, and how many beats it saw.

    Accuracy, and macro recall over the classes that are there, in percent. UsageError for a task whose spec states no
    ``protocol.literal_per_class``.
    """
    from warehouse.task import read_task

    record = folder.read_training(home, run)
    data = read_task(home, record["task"])
    folder.of_task(data, run, record)
    per_class = data.spec.data["protocol"].get("literal_per_class")
    if per_class is None:
        raise UsageError(f"{data.spec.name}: found no protocol.literal_per_class; expected a balanced task")
    known = (np.nansum(data.targets, axis=1) == 1) & data.instances["length"].is_not_null().to_numpy()
    labels = np.where(known, np.nan_to_num(data.targets).argmax(axis=1), -1)
    parts = np.array(data.instances["part"].fill_null("").to_list())
    rows = literal_rows(parts, labels, per_class)
    settings = Settings(**record["settings"])
    inputs = inputs_of(home, data, rows, settings, None, None, lambda steps: None)
    objective = objective_of(data)
    path = folder.model_file(home, run, record)
    found = probabilities_of(objective, settings, path, inputs, "auto", threads)
    named = objective.predictions(found, [record["thresholds"][name] for name in data.classes]).argmax(axis=1)
    held = parts[rows] == "test"
    k = len(data.classes)
    figures = {
        name: {
            metric: value
            for metric, value in of_confusion(
                confusion_matrix(labels[rows][some], named[some], k), "gold"
            ).items()
            if metric in ("accuracy", "macro_recall")
        }
        for name, some in (("all", np.ones(len(rows), bool)), ("held out", held), ("seen", ~held))
        if some.any()
    }
    seen = {
        part: {
            name: int(((parts[rows] == part) & (labels[rows] == j)).sum())
            for j, name in enumerate(data.classes)
        }
        for part in PREFERRED
    }
    return {"task": data.spec.name, "run": run, "beats": len(rows), "parts": seen, "figures": figures}


def render_literal(reading: dict[str, Any]) -> str:
    """A reading for a terminal."""
    trained, chosen = (sum(reading["parts"][part].values()) for part in ("train", "validation"))
    lines = [
        f"model {reading['run']} on the literal test of {reading['task']}: {reading['beats']:,} beats",
        f"  {trained:,} of them were trained on, on {chosen:,} its epoch was chosen",
    ]
    for part, counts in reading["parts"].items():
        lines.append(f"  {part:<12} " + "  ".join(f"{name} {count:,}" for name, count in counts.items()))
    for name, figures in reading["figures"].items():
        told = ", ".join(f"{metric} {value:.2f}" for metric, value in figures.items())
        lines.append(f"  {name:<12} {told}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m pipelines.train.literal")
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    try:
        print(render_literal(literal_reading(Home.resolve(given.data), given.run)))
    except LeadhouseError as error:
        raise SystemExit(f"leadhouse: {error}") from error


if __name__ == "__main__":
    main()
