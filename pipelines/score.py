"""Score a submission: read it, evaluate it, keep a run record, and say it in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import runs
from pipelines.evaluate import evaluate
from pipelines.submission import Submission, read_submission
from warehouse.errors import RegistryError, UsageError
from warehouse.home import Home

if TYPE_CHECKING:
    from warehouse.task import TaskData

MADE_BY = "leadhouse.baseline"
"""The key-value note of a Parquet file by which a baseline says which one it is."""


def score_submission(
    home: Home,
    task: str,
    path: str | Path,
    *,
    against: str | Path | None = None,
    part: str = "test",
    name: str | None = None,
    n_bootstrap: int | None = None,
) -> dict[str, Any]:
    """Score the file `path` and keep the run.

    `against` is a second file, or the name of a run of the same task and part; it adds the paired
    difference, on the same draws, and is itself kept as a run when it is a file. `n_bootstrap` replaces the
    spec's number of replicates. Returns what `pipelines.evaluate` made, with ``run``, ``made_by``, digests,
    ``rows.ignored``, ``notes`` and, if asked for, ``against``; all of it fit for JSON.

    InputError for a submission that breaks its contract; UsageError for a file, part or run that does not
    exist.
    """
    from warehouse.task import read_task

    data = read_task(home, task)
    rule = data.spec.data["metrics"].get("missing_row", "error")
    if rule != "error":
        raise RegistryError(f"{data.spec.name}: found metrics.missing_row {rule!r}; expected 'error'")
    first = read_submission(path, data.instances, data.classes, part)
    second = None
    if against is not None:
        second = read_submission(_file(home, data, against, part), data.instances, data.classes, part)
    made = evaluate(
        data, first.rows, first.scores, part, n=n_bootstrap, other=None if second is None else second.scores
    )
    record = _record(home, data, first, made.score, n_bootstrap, name)
    result: dict[str, Any] = {"run": record["run"], **made.score, "made_by": _made_by(first)}
    result["rows"] = made.score["rows"] | {"ignored": first.ignored}
    result["spec"] = {"digest": data.spec.digest, "published_digest": data.spec.published_digest}
    result["view"] = {"fingerprint": data.fingerprint}
    result["notes"] = list(_notes(data, first))
    if second is not None and made.against is not None:
        if Path(against).is_file():
            other = evaluate(data, second.rows, second.scores, part, n=n_bootstrap).score
            run = _record(home, data, second, other, n_bootstrap, None)["run"]
        else:
            run = str(against)
        result["against"] = {"run": run, "made_by": _made_by(second), **made.against}
    return result


def _file(home: Home, task: TaskData, against: str | Path, part: str) -> Path:
    """The file behind ``--against``: the path itself, or the predictions of a run."""
    if Path(against).is_file() or str(against) not in runs.run_names(home):
        return Path(against)
    folder = home.runs / str(against)
    linked = runs.read_record(folder)["links"]
    found, expected = (linked["task"], linked["part"]), (task.spec.name, part)
    if found != expected:
        raise UsageError(f"run {against}: found {' part '.join(found)}; expected {' part '.join(expected)}")
    return folder / runs.PREDICTIONS


def _record(
    home: Home, task: TaskData, made: Submission, score: Mapping[str, Any], n: int | None, name: str | None
) -> dict[str, Any]:
    who = {"made_by": _made_by(made), "ignored": made.ignored}
    return runs.record_run(home, task, made.rows, made.scores, score, n=n, name=name, **who)


def _made_by(made: Submission) -> dict[str, str | None]:
    return {"baseline": made.notes.get(MADE_BY), "file": made.file, "sha256": made.sha256}


def _notes(task: TaskData, made: Submission) -> Iterator[str]:
    """What a reader of the numbers must know: where the split is from, what was not checked or not used."""
    split = task.spec.data.get("split", {})
    if "name" in split:
        from warehouse.splits import declaration

        yield f"split {split['name']}: {declaration(split['name'])['origin']}"
    if "ecg" in task.instances.columns:
        seen = task.instances["ecg"].gather(made.rows)
        unchecked = int((seen == "not checked").sum())
        if unchecked:
            yield f"missing ECG was not checked for {unchecked:,} of {len(seen):,} rows (no signal loaded)"
    if "clock" in task.instances.columns:
        shifted = int((task.instances["clock"].gather(made.rows) == "beyond").sum())
        if shifted:
            yield f"{shifted:,} rows are of records whose annotation clock is off the waveform's (`audit`)"
    if task.stale:
        yield f"the labels are older than {', '.join(task.stale)}: run `materialize`, then score again"
    if made.ignored:
        counts = ", ".join(f"{count:,} {why}" for why, count in sorted(made.ignored.items()))
        yield f"rows of the submission that do not count: {counts}"


def render_score(result: Mapping[str, Any]) -> str:
    """The result of `score_submission` for a terminal."""
    rows, groups, draws = result["rows"], result["groups"], result["bootstrap"]
    published = result["spec"]["published_digest"]
    follows = f", follows {published}" if published else ""
    lines = [
        f"{result['task']}, part {result['part']}: {rows['used']:,} rows ({rows['positive']:,} "
        f"{result['class']}, {rows['negative']:,} not) of {groups['n']:,} groups ({groups['by']})",
        f"run {result['run']}; spec {result['spec']['digest']}{follows}",
        "",
        f"  {'metric':<42} {'value':>8}   95 % interval, {draws['n']:,} resamples over {draws['by']}",
    ]
    for name, metric in result["metrics"].items():
        lines.append(_line(name + (" (primary)" if name == result["primary"] else ""), metric, draws["n"]))
    if result.get("by_rhythm"):
        lines += ["", f"  share flagged (score {result['threshold']} or above) per rhythm, rows / groups"]
        kinds = {True: "sensitivity", False: "false positives", None: "flagged"}
        for row in result["by_rhythm"]:
            label = f"{row['name']}, {row['rows']:,} / {row['groups']:,}"
            lines.append(_line(label, row, draws["n"], kinds[row["positive"]]))
    if "against" in result:
        lines += ["", f"  difference from {result['against']['run']}, on the same resamples"]
        for name, metric in result["against"]["metrics"].items():
            lines.append(_line(name, metric, draws["n"], sign="+"))
    if result["notes"]:
        lines += ["", *(f"note: {note}" for note in result["notes"])]
    return "\n".join(lines)


def _line(label: str, metric: Mapping[str, Any], n: int, remark: str = "", sign: str = "") -> str:
    """One row of a table: value, interval, in how many of `n` replicates it stood; or why it is undefined."""
    if metric["value"] is None:
        return f"  {label:<42} undefined: {metric['reason']}"
    text = f"  {label:<42} {metric['value']:>{sign}8.4f}"
    if metric["lo"] is not None:
        text += f"   {metric['lo']:>{sign}8.4f} … {metric['hi']:>{sign}7.4f}"
    if metric["n_undefined"]:
        remark = f"{remark}, " * bool(remark) + f"defined in {metric['n_defined']:,} of {n:,} resamples"
    return f"{text}   {remark}".rstrip()
