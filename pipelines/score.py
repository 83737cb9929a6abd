"""Score a submission: read it, evaluate it, keep a run record, and say it in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from pipelines import makers, runs
from pipelines.evaluate import KINDS, evaluate, kind_of
from pipelines.kind import score_line
from pipelines.prompts import find_prompt
from pipelines.submission import Submission, read_submission
from pipelines.train import labels
from warehouse.caveats import ALONE, GROUP_FROM, caveats
from warehouse.digests import file_digest
from warehouse.errors import CheckFailed, HomeError, UsageError
from warehouse.home import Home

if TYPE_CHECKING:
    from warehouse.task import TaskData

UNCHECKED = "not checked"
"""What a task column says where the check that it reports could not be made."""

CHECKS = {"ecg": ("missing ECG", "no signal loaded"), "flat": ("flat signal", "no signal loaded")}
"""What such a column checks, and why it could not, in words; others are named."""


def score_submission(
    home: Home,
    task: str,
    path: str | Path,
    *,
    against: str | Path | None = None,
    part: str = "test",
    name: str | None = None,
    n_bootstrap: int | None = None,
    first: int | None = None,
) -> dict[str, Any]:
    """Score the file `path` and keep the run.

    `against` is a second file, or the name of a run of the same task and part; it adds the paired
    difference, on the same draws, and is itself kept as a run when it is a file. `n_bootstrap` replaces the
    spec's number of replicates; `first` scores the first so many instances by id alone. Returns what
    `pipelines.evaluate` made, with ``run``, ``kind``, ``made_by``, digests, ``rows.ignored``, ``notes`` and,
    where there are any, ``answers`` and ``against``; all of it fit for JSON. Where the home cannot be written,
    ``run`` is None and ``not_kept`` says why.

    InputError for a submission that breaks its contract; CheckFailed for predictions of a model that was trained
    on other labels than the task has now; UsageError for a file, part or run that does not exist.
    """
    from warehouse.task import read_task

    data = read_task(home, task)
    kind = kind_of(data)
    if first is not None and len(kind.rows(data.instances, part, first)) == len(
        kind.rows(data.instances, part)
    ):
        first = None  # the first of so many are all of them
    how = {"kind": kind, "missing_row": kind.missing_row(data), "first": first}
    one = read_submission(path, data.instances, data.classes, part, **how)
    two = None
    if against is not None:
        two = read_submission(_file(home, data, against, part), data.instances, data.classes, part, **how)
    for each in (one, two):
        model = None if each is None else labels.stated(each.notes)
        if model is not None:
            labels.refuse_other_labels(data, model, each.file)
    made = evaluate(
        data,
        one.rows,
        one.scores,
        part,
        n=n_bootstrap,
        other=None if two is None else two.scores,
        first=first,
    )
    run, not_kept = _record(home, data, one, made.score, n_bootstrap, name)
    result: dict[str, Any] = {
        "run": run,
        **made.score,
        "made_by": makers.believed(home, _made_by(one)),
        "not_kept": not_kept,
    }
    result["kind"] = data.spec.data["kind"]
    result["rows"] = made.score["rows"] | {"ignored": one.ignored}
    result["spec"] = {"digest": data.spec.digest, "published_digest": data.spec.published_digest}
    result["view"] = {"fingerprint": data.fingerprint}
    result["notes"] = [*_notes(home, data, one, part), *kind.notes(made.score)]
    if one.stated is not None:
        result["answers"] = _answers(data, one)
    if two is not None and made.against is not None:
        if Path(against).is_file():
            other = evaluate(data, two.rows, two.scores, part, n=n_bootstrap, first=first).score
            run, _ = _record(home, data, two, other, n_bootstrap, None)
            by = _made_by(two)
        else:
            run = str(against)
            by = runs.read_record(home.runs / run)["made_by"]
        result["against"] = {"run": run, "made_by": makers.believed(home, by), **made.against}
    return result


def _file(home: Home, task: TaskData, against: str | Path, part: str) -> Path:
    """The file behind ``--against``: the path itself, or the predictions of a run."""
    if Path(against).is_file() or str(against) not in runs.run_names(home):
        return Path(against)
    folder = home.runs / str(against)
    record = runs.read_record(folder)
    linked = record["links"]
    found, expected = (linked["task"], linked["part"]), (task.spec.name, part)
    if found != expected:
        raise UsageError(f"run {against}: found {' part '.join(found)}; expected {' part '.join(expected)}")
    trained = record["made_by"].get("trained")
    if trained is not None:
        labels.refuse_other_labels(task, trained, f"run {against}")
    path = folder / runs.PREDICTIONS
    if file_digest(path) != record["files"][runs.PREDICTIONS]:
        raise CheckFailed(
            f"run {against}: {runs.PREDICTIONS} is missing or not the one that was recorded",
            f"see `verify {against}`",
        )
    return path


def _record(
    home: Home, task: TaskData, made: Submission, score: Mapping[str, Any], n: int | None, name: str | None
) -> tuple[str | None, str | None]:
    """Keep the run; returns its name, or why it could not be kept: a score is not lost with a full disk."""
    try:
        record = runs.record_run(
            home,
            task,
            made.rows,
            made.scores,
            score,
            n=n,
            made_by=_made_by(made),
            ignored=made.ignored,
            name=name,
            answers=_answers(task, made),
        )
    except HomeError as error:
        return None, str(error)
    return record["run"], None


def _answers(task: TaskData, made: Submission) -> dict[str, Any] | None:
    """How answers were read, what they say of themselves, and the prompt that the task declares."""
    if made.stated is None:
        return None
    declared = find_prompt(task.spec)
    return made.stated | {"declared": None if declared is None else declared.as_json()}


def _made_by(made: Submission) -> dict[str, Any]:
    """What the file says of itself; whether that can be believed, `pipelines.makers` decides for whoever reads."""
    said: dict[str, Any] = {"baseline": made.notes.get(makers.NOTE), "file": made.file, "sha256": made.sha256}
    model = labels.stated(made.notes)
    return said if model is None else said | {"model": model["run"], "trained": model}


def _notes(home: Home, task: TaskData, made: Submission, part: str) -> Iterator[str]:
    """What a reader of the numbers must know: where the split is from, what was not checked or not used."""
    alone = 0
    if GROUP_FROM in task.instances.columns:
        alone = int((task.instances[GROUP_FROM].gather(made.rows) == ALONE).sum())
    yield from caveats(home, task.spec, alone, len(made.rows))
    for column in (name for name, dtype in task.instances.schema.items() if dtype == pl.String):
        seen = task.instances[column].gather(made.rows)
        unchecked = int((seen == UNCHECKED).sum())
        if unchecked:
            what, why = CHECKS.get(column, (column, "what it rests on is not loaded"))
            yield f"{what} was not checked for {unchecked:,} of {len(seen):,} rows ({why})"
    if "clock" in task.instances.columns:
        shifted = int((task.instances["clock"].gather(made.rows) == "beyond").sum())
        if shifted:
            yield f"{shifted:,} rows are of records whose annotation clock is off the waveform's (`audit`)"
    by = makers.believed(home, _made_by(made))
    if by["remark"]:
        yield f"baseline {made.notes[makers.NOTE]} {by['remark']}"
    if by["says"]:
        verb = "predict" if by.get("trained") else "baseline"
        yield f"{made.file} says that it is {makers.called(by['says'])}; `{verb}` did not write it in this home"
    if by.get("trained") and part in labels.PARTS:
        yield f"part {part} took part in the training of the model: the score says little about other records"
    if task.stale:
        yield f"the labels are older than {', '.join(task.stale)}: run `materialize`, then score again"
    answers = _answers(task, made)
    if answers is not None:
        declared = (answers["declared"] or {}).get("prompt_id")
        if answers["prompt_id"] is None:
            yield f"the answers do not say by which prompt they were asked for (the task's is {declared})"
        elif answers["prompt_id"] != declared:
            yield f"the answers were given to prompt {answers['prompt_id']}; the task's is {declared}"
        if answers["decoding"] is None:
            yield "the answers do not say with which settings they were decoded"
    if made.ignored:
        counts = ", ".join(f"{count:,} {why}" for why, count in sorted(made.ignored.items()))
        yield f"rows of the submission that do not count: {counts}"


def render_score(result: Mapping[str, Any]) -> str:
    """The result of `score_submission` for a terminal."""
    draws, kind = result["bootstrap"], KINDS[result["kind"]]
    published = result["spec"]["published_digest"]
    follows = f", follows {published}" if published else ""
    lines = [
        f"{result['task']}, part {result['part']}: {kind.headline(result)}",
        f"run {result['run'] or '(not kept)'}; spec {result['spec']['digest']}{follows}",
        "",
        f"  {'metric':<42} {'value':>8}   95 % interval, {draws['n']:,} resamples over {draws['by']}",
    ]
    for name, metric in result["metrics"].items():
        label = name + (" (primary)" if name == result["primary"] else "")
        lines.append(score_line(label, metric, draws["n"]))
    lines += kind.tables(result)
    if "against" in result:
        other = result["against"]["run"] or makers.maker(result["against"]["made_by"])
        lines += ["", f"  difference from {other}, on the same resamples"]
        for name, metric in result["against"]["metrics"].items():
            lines.append(score_line(name, metric, draws["n"], sign="+"))
    if result["notes"]:
        lines += ["", *(f"note: {note}" for note in result["notes"])]
    return "\n".join(lines)
