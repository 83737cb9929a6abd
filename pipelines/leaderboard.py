"""The leaderboard: the run records of a task in the order of its primary metric."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipelines import runs
from pipelines.evaluate import kind_of
from pipelines.makers import believed, maker
from pipelines.metrics import LOWER_IS_BETTER
from warehouse.errors import CheckFailed
from warehouse.home import Home
from warehouse.table import one_line

if TYPE_CHECKING:
    from warehouse.task import TaskData


HUGE = 1e300
"""No metric is that large; a damaged record may hold any number."""


def leaderboard(home: Home, task: str, part: str = "test") -> list[dict[str, Any]]:
    """A dict per run of the task's part: best first, undefined after them, unreadable records last.

    Runs of the first instances alone are not among them: their numbers do not compare with the others.
    ``stale`` says what has changed since the run was scored (None: nothing): its number was measured on
    other labels and does not compare with the others. ``made_by`` names a baseline only where this home wrote
    its file (`pipelines.makers`); ``broken`` says why a record cannot be read.
    """
    from warehouse.task import read_task

    data = read_task(home, task)
    present = {
        "spec": data.spec.digest,
        "view": data.fingerprint,
        "inputs": _without_raw(data.inputs),
        "raw tables": data.inputs.get(runs.RAW),
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
        measured = _measured(json.loads(content), primary)
        missing = runs.missing_links(linked)
        if missing:
            raise CheckFailed(f"{runs.RUN} has no link {', '.join(missing)}")
    except (CheckFailed, OSError, ValueError, RecursionError) as error:
        return line | {"broken": (str(error) or type(error).__name__).splitlines()[0]}
    then = linked | {"inputs": _without_raw(linked["inputs"]), "raw tables": linked["inputs"].get(runs.RAW)}
    if then["raw tables"] is None:  # a record from before they were links
        then["raw tables"] = present["raw tables"]
    changed = [name for name, value in present.items() if then[name] != value]
    changed += [f"{name} (not materialized yet)" for name in task.stale]
    return line | {
        **measured,
        "made_by": believed(home, record["made_by"]),
        "created_at": record["created_at"],
        "stale": f"changed since: {', '.join(changed)}" if changed else None,
    }


def _without_raw(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in inputs.items() if name != runs.RAW}


def _measured(score: Any, primary: str) -> dict[str, Any]:
    """What a line shows of a score. ValueError when it is none."""
    try:
        metric = score["metrics"][primary]
        found = {key: metric[key] for key in ("value", "lo", "hi", "reason")}
        found |= {"rows": score["rows"]["used"], "groups": score["groups"]["n"]}
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{runs.SCORE} is no score with {primary}") from error
    numbers = [found[key] for key in ("value", "lo", "hi")]
    whole = [found[key] for key in ("rows", "groups")]
    if (
        not all(number is None or (type(number) in (int, float) and abs(number) < HUGE) for number in numbers)
        or (found["lo"] is None) != (found["hi"] is None)
        or not all(type(number) is int for number in whole)
        or not isinstance(found["reason"], str | None)
    ):
        raise ValueError(f"{runs.SCORE} holds no numbers")
    return found


def render_leaderboard(rows: Sequence[Mapping[str, Any]]) -> str:
    """The lines of `leaderboard` for a terminal."""
    if not rows:
        return "no runs yet: `score TASK FILE` keeps one"
    lines = [f"  {rows[0]['metric']:>8}   95 % interval        rows / groups     made by, run, when"]
    for row in rows:
        told = f"{maker(row['made_by'])}, {row['run']}, {row['created_at'] or '-'}"
        if row["broken"] is not None:
            lines.append(f"  {'broken':>8}   {told}: {row['broken']}")
            continue
        value = "-" if row["value"] is None else f"{row['value']:.4f}"
        limits = "-" if row["lo"] is None else f"{row['lo']:.4f} … {row['hi']:.4f}"
        size = f"{row['rows']:,} / {row['groups']:,}"
        lines.append(f"  {value:>8}   {limits:<18}   {size:<15}   {told}")
        if row["reason"] is not None:
            lines.append(f"  {'':>8}   undefined: {row['reason']}")
        if row["made_by"]["remark"] is not None:
            lines.append(f"  {'':>8}   {row['made_by']['remark']}")
        if row["stale"] is not None:
            lines.append(f"  {'':>8}   stale, does not compare with the others; {row['stale']}")
    return "\n".join(map(one_line, lines))
