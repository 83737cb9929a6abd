"""Scores for a page: the leaderboard, and the stored scores of the runs at its top."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines import makers, runs
from pipelines.leaderboard import leaderboard
from pipelines.metrics import LOWER_IS_BETTER
from warehouse.home import Home

if TYPE_CHECKING:
    from warehouse.spec import Spec

COMPARED = 2
"""So many runs of the top are drawn beside each other."""


@dataclass(frozen=True)
class Run:
    """A stored run: its line of the leaderboard, its ``score.json`` and its ``run.json``."""

    line: Mapping[str, Any]
    score: Mapping[str, Any]
    record: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Who made the predictions: the baseline, else the submitted file."""
        return maker(self.line)


@dataclass(frozen=True)
class Results:
    """``lines`` is the whole leaderboard, ``top`` the runs that are drawn, best first."""

    lines: tuple[Mapping[str, Any], ...]
    top: tuple[Run, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(self.top[0].score["metrics"]) if self.top else ()

    @property
    def lower_is_better(self) -> frozenset[str]:
        return LOWER_IS_BETTER

    def metric_rows(self) -> list[tuple]:
        """What `charts.intervals` draws: a row a metric, a mark a run; no metric that goes beyond 1."""
        rows = []
        for name in self.metrics:
            if any((run.score["metrics"][name]["value"] or 0) > 1 for run in self.top):
                continue
            marks = [(f"run{n}", run.score["metrics"][name]) for n, run in enumerate(self.top)]
            rows.append((name, "lower is better" if name in LOWER_IS_BETTER else "", marks))
        return rows

    def rhythm_rows(self) -> list[tuple]:
        """The same for the shares flagged of the best run: a row a category."""
        shares = self.top[0].score.get("by_rhythm", []) if self.top else []
        kinds = {True: "positive", False: "negative", None: "run0"}
        return [(share["name"], _note(share), [(kinds[share["positive"]], share)]) for share in shares]

    def class_rows(self) -> list[tuple]:
        """The same for the F-measures of the best run: a row a class."""
        classes = self.top[0].score.get("by_class", []) if self.top else []
        marked = [(each, [("run0", each | {"value": each["f_measure"]})]) for each in classes]
        return [(each["name"], each["reason"] or "", marks) for each, marks in marked]


def read_results(home: Home, spec: Spec, part: str) -> Results:
    """The leaderboard of a task's part, and the runs at its top whose labels are today's."""
    lines = leaderboard(home, spec.name, part)
    sound = [line for line in lines if line["broken"] is None and line["value"] is not None]
    current = [line for line in sound if line["stale"] is None] or sound
    top = []
    for line in current[:COMPARED]:
        folder = runs.run_folder(home, line["run"])
        score = json.loads((folder / runs.SCORE).read_text(encoding="utf-8"))
        top.append(Run(line, score, runs.read_record(folder)))
    return Results(tuple(lines), tuple(top))


def maker(line: Mapping[str, Any]) -> str:
    """Who made a leaderboard line's predictions, in words."""
    return makers.maker(line["made_by"], otherwise=line["run"])


def _note(share: Mapping[str, Any]) -> str:
    groups = "1 patient" if share["groups"] == 1 else f"{share['groups']:,} patients"
    return f"{share['rows']:,} segments, {groups}"
