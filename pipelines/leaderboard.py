"""The leaderboard: the run records of a task in the order of its primary metric."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipelines import runs
from pipelines.evaluate import kind_of
from pipelines.metrics import LOWER_IS_BETTER
from warehouse.errors import CheckFailed
from warehouse.home import Home

if TYPE_CHECKING:
    from warehouse.task import TaskData


def leaderboard(home: Home, task: str, part: str = "test") -> list[dict[str, Any]]:
    """A dict per run of the task's part: best first, undefined after them, unreadable records last.

    Runs of the first instances alone are not among them: their numbers do not compare with the others.
    ``stale`` says what has changed since the run was scored (None: nothing): its number was measured on
    other labels and does not compare with the others.
    """
    from warehouse.task import read_task

    data = read_task(home, task)
    present = {
        "spec": data.spec.digest,
        "view": data.fingerprint,
        "inputs": data.inputs,
        "labels": runs.labels_digest(data, kind_of(data).rows(data.instances, part)),
    }
    rows = [_row(home, run, data, part, present) for run in runs.run_names(home)]
    sign = 1 if data.spec.data["metrics"]["primary"] in LOWER_IS_BETTER else -1

    def order(row: Mapping[str, Any]) -> tuple:
        value = row["value"]
        return (
            row["broken"] is not None,
            value is None,
            sign * (value or 0.0),
            row["created_at"] or "",
            row["run"],
        )

    return sorted((row for row in rows if row is not None), key=order)


def _row(
    home: Home, run: str, task: TaskData, part: str, present: Mapping[str, Any]
) -> dict[str, Any] | None:
    """A run's line; None for a run of another task or part, or of the first instances alone."""
    primary = task.spec.data["metrics"]["primary"]
    empty = ("value", "lo", "hi", "reason", "rows", "groups", "made_by", "created_at", "stale", "broken")
    line: dict[str, Any] = {"run": run, "metric": primary, **dict.fromkeys(empty)}
    try:
        record = runs.read_record(home.runs / run)
        linked = record["links"]
        if (linked["task"], linked["part"], linked.get("first")) != (task.spec.name, part, None):
            return None
        content = (home.runs / run / runs.SCORE).read_bytes()
        if runs.digest(content) != record["files"][runs.SCORE]:
            return line | {"broken": f"{runs.SCORE} is not the one that was recorded"}
        score = json.loads(content)
        metric = score["metrics"][primary]
        changed = [name for name, value in present.items() if linked[name] != value]
    except (CheckFailed, OSError, KeyError, TypeError, ValueError) as error:
        return line | {"broken": str(error).splitlines()[0]}
    changed += [f"{name} (not materialized yet)" for name in task.stale]
    return line | {
        **{key: metric[key] for key in ("value", "lo", "hi", "reason")},
        "rows": score["rows"]["used"],
        "groups": score["groups"]["n"],
        "made_by": record["made_by"],
        "created_at": record["created_at"],
        "stale": f"changed since: {', '.join(changed)}" if changed else None,
    }


def render_leaderboard(rows: Sequence[Mapping[str, Any]]) -> str:
    """The lines of `leaderboard` for a terminal."""
    if not rows:
        return "no runs yet: `score TASK FILE` keeps one"
    lines = [f"  {rows[0]['metric']:>8}   95 % interval        rows / groups     made by, run, when"]
    for row in rows:
        who = row["made_by"] or {}
        name = who.get("baseline") or who.get("file") or "-"
        told = f"{name}, {row['run']}, {row['created_at'] or '-'}"
        if row["broken"] is not None:
            lines.append(f"  {'broken':>8}   {told}: {row['broken']}")
            continue
        value = "-" if row["value"] is None else f"{row['value']:.4f}"
        limits = "-" if row["lo"] is None else f"{row['lo']:.4f} … {row['hi']:.4f}"
        size = f"{row['rows']:,} / {row['groups']:,}"
        lines.append(f"  {value:>8}   {limits:<18}   {size:<15}   {told}")
        if row["reason"] is not None:
            lines.append(f"  {'':>8}   undefined: {row['reason']}")
        if row["stale"] is not None:
            lines.append(f"  {'':>8}   stale, does not compare with the others; {row['stale']}")
    return "\n".join(lines)
