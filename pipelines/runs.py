"""Run records: a score with everything that it depends on, in ``data/runs/<run>/``.

===================  ===============================================================================
predictions.parquet  instance_id and the kind's columns, one a class first: the rows that were asked for, in
                     the task's order
score.json           what `pipelines.evaluate` made of them
run.json             the links, their hash, who made the predictions (as their file says), package versions, when
===================  ===============================================================================

The links are the task, the part, the spec's digests (ours and the published one), the fingerprint of the
task view and of what it was built from (raw tables too), the labels that counted, the predictions and the draws;
where it applies, how many of the first instances were asked for, and how a language model's answers were
asked for and read. The run's id ends in the first 12 hex digits of their hash, so the same predictions on the same
build are the same run.
A record appears whole or not at all and is never written over.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import os
import platform
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pipelines.evaluate import kind_of
from pipelines.kind import bootstrap_plan
from warehouse.errors import CheckFailed, UsageError
from warehouse.home import Home, sync, writing

if TYPE_CHECKING:
    from warehouse.task import TaskData

PREDICTIONS, SCORE, RUN = FILES = ("predictions.parquet", "score.json", "run.json")
PACKAGES = ("leadhouse", "numpy", "scikit-learn", "polars", "duckdb")

RAW = "inputs"
"""Where a build's lineage, and so a record's, has the digests of its raw tables."""

MOST_DRAWS = 1_000_000
"""Bootstrap replicates of a record that `verify` draws again; a damaged one may ask for any number."""

TEXT = (str, type(None))
RECORD = {"run": str, "content": str, "links": dict, "files": dict, "made_by": dict, "packages": dict}
LINKS = {
    "task": str,
    "part": str,
    "spec": str,
    "published spec": TEXT,
    "inputs": dict,
    "view": str,
    "labels": str,
    "predictions": str,
    "bootstrap": dict,
}
"""What a record and its links consist of; at times there is more."""

MADE_BY = {"baseline": TEXT, "model": TEXT, "file": TEXT, "sha256": TEXT}
TRAINED = {"run": str, "task": str, "labels": dict}
"""What a record may say of who made the predictions; ``trained`` stands in those of a trained model."""


def dump(value: Any) -> str:
    """JSON that reads back to the same floats; NaN is refused."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def package_versions() -> dict[str, str | None]:
    """Versions of what takes part in a score; None where a package is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def links(
    task: TaskData,
    rows: np.ndarray,
    scores: np.ndarray,
    part: str,
    n: int | None,
    *,
    first: int | None = None,
    answers: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Everything that a score of `scores` (len(rows), m) on `rows` of the task depends on."""
    at_times = {"first": first, "answers": answers}
    return {
        "task": task.spec.name,
        "part": part,
        "spec": task.spec.digest,
        "published spec": task.spec.published_digest,
        "inputs": task.inputs,
        "view": task.fingerprint,
        "labels": labels_digest(task, rows),
        "predictions": _matrix_digest(task, rows, scores),
        "bootstrap": bootstrap_plan(task.spec.data, n),
    } | {name: value for name, value in at_times.items() if value is not None}


def labels_digest(task: TaskData, rows: np.ndarray) -> str:
    """sha256 over key, group and label of the instances that count."""
    groups = "\n".join(map(str, task.instances["group_id"].gather(rows).to_list()))
    labels = kind_of(task).labels(task, rows)
    return digest(_matrix_digest(task, rows, labels).encode() + groups.encode())


def _matrix_digest(task: TaskData, rows: np.ndarray, matrix: np.ndarray) -> str:
    """sha256 over instance ids and a matrix (n, k), by value: the file format does not count."""
    keys = "\n".join(map(str, task.instances["instance_id"].gather(rows).to_list()))
    return digest(keys.encode() + b"\0" + np.ascontiguousarray(matrix, dtype="<f8").tobytes())


def content_hash(linked: Mapping[str, Any]) -> str:
    return digest(json.dumps(linked, sort_keys=True, ensure_ascii=False, allow_nan=False).encode())


def predictions_file(task: TaskData, rows: np.ndarray, scores: np.ndarray) -> bytes:
    """The predictions that were asked for, as Parquet."""
    columns = kind_of(task).stored(task.classes, scores)
    frame = pl.DataFrame({"instance_id": task.instances["instance_id"].gather(rows), **columns})
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def stored_predictions(task: TaskData, rows: np.ndarray, content: bytes) -> np.ndarray:
    """The reverse of `predictions_file`, for the rows that are asked for now. CheckFailed when it is of others."""
    frame = pl.read_parquet(io.BytesIO(content))
    scores = None
    if frame.columns[:1] == ["instance_id"]:
        scores = kind_of(task).restored(task.classes, frame.drop("instance_id"))
    if scores is None:
        raise CheckFailed(f"columns {', '.join(frame.columns)} where the task has {', '.join(task.classes)}")
    if scores.dtype != np.float64 or not np.isfinite(scores).all():
        raise CheckFailed("predictions that are no finite numbers")
    if not frame["instance_id"].equals(task.instances["instance_id"].gather(rows)):
        raise CheckFailed("predictions of other instances than those that count now")
    return scores


def record_run(
    home: Home,
    task: TaskData,
    rows: np.ndarray,
    scores: np.ndarray,
    score: Mapping[str, Any],
    *,
    n: int | None = None,
    made_by: Mapping[str, Any],
    ignored: Mapping[str, int],
    name: str | None = None,
    answers: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the record, or find the one that is there; returns its ``run.json``.

    UsageError when `name` belongs to another run, CheckFailed when the record that is there is damaged,
    HomeError when the home cannot be written.
    """
    linked = links(task, rows, scores, score["part"], n, first=score.get("first"), answers=answers)
    content = content_hash(linked)
    run = f"{task.spec.slug}-v{task.spec.version}-{content[:12]}" if name is None else check_name(name)
    present = _present(home, run, content)
    if present is not None:
        return present
    predictions = predictions_file(task, rows, scores)
    record = {
        "run": run,
        "content": content,
        "links": linked,
        "files": {PREDICTIONS: digest(predictions), SCORE: digest(dump(score).encode())},
        "made_by": dict(made_by),
        "ignored": dict(ignored),
        "packages": package_versions(),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    contents = (predictions, dump(score).encode(), dump(record).encode())
    with writing(home.runs), _alone(home):
        if not _publish(home.runs / run, dict(zip(FILES, contents, strict=True))):
            return _present(home, run, content) or record
    return record


def check_name(name: str) -> str:
    """A run's name: letters, digits, ``-``, ``_`` and ``.``, not first. UsageError for any other."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", name):
        raise UsageError(f"found the run name {name!r}; expected letters, digits, '-', '_' and '.'")
    return name


def _present(home: Home, run: str, content: str) -> dict[str, Any] | None:
    """The record that already has this name, if it is this run and whole."""
    folder = home.runs / run
    if not folder.exists():
        return None
    try:
        record = read_record(folder)
        whole = all(digest((folder / file).read_bytes()) == known for file, known in record["files"].items())
    except (CheckFailed, OSError):
        record, whole = None, False
    if record is None or not whole:
        raise CheckFailed(
            f"run {run}: found a damaged record; expected the files that its run.json names",
            f"`verify {run}` says what is broken; move the folder away, or score under another name",
        )
    if record["content"] != content:
        raise UsageError(
            f"found a run named {run} already, of other predictions or another build",
            "choose another name; a record is never written over",
        )
    return record


@contextmanager
def _alone(home: Home) -> Iterator[None]:
    """One writer of records at a time, for moments: a draft that is there then is what a killed one left."""
    from filelock import FileLock

    home.runs.mkdir(parents=True, exist_ok=True)
    with FileLock(home.path / ".runs.lock"):
        for draft in home.runs.glob(".*"):
            if re.fullmatch(r"\..+\.[0-9a-f]{12}", draft.name) and draft.is_dir():
                shutil.rmtree(draft, ignore_errors=True)
        yield


def _publish(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Write a folder whole or not at all; False when another process was first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:12]}")
    try:
        draft.mkdir()
        for name, content in files.items():
            with (draft / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        sync(draft)
        try:
            draft.rename(folder)
        except OSError:
            if folder.exists():
                return False
            raise
        sync(folder.parent)
        return True
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def run_names(home: Home) -> list[str]:
    """Names of the run folders, in order; hidden ones are drafts of a killed process."""
    if not home.runs.is_dir():
        return []
    return sorted(f.name for f in home.runs.iterdir() if f.is_dir() and not f.name.startswith("."))


def run_folder(home: Home, run: str) -> Path:
    """The folder of a run. UsageError with the list when there is none."""
    known = run_names(home)
    if run not in known:
        raise UsageError(f"found no run {run!r}; expected one of: {', '.join(known) or '(there are none)'}")
    return home.runs / run


def read_record(folder: Path) -> dict[str, Any]:
    """A folder's ``run.json``. CheckFailed when it is missing or no record."""
    try:
        record = json.loads((folder / RUN).read_text(encoding="utf-8"))
        dump(record).encode()  # NaN and half characters, which a record cannot hold, are ValueErrors
        reason = next(_damage(record), None)
    except (OSError, ValueError, RecursionError) as error:
        reason = str(error)
    if reason is not None:
        raise CheckFailed(
            f"{folder / RUN}: found no run record ({reason}); expected the file that `score` wrote"
        )
    return record


def missing_links(linked: Mapping[str, Any]) -> list[str]:
    """What a record's links lack."""
    return [name for name in LINKS if name not in linked]


def _damage(record: Any) -> Iterator[str]:
    """What is wrong with the shape of a record. Links may be missing but for the task and the part."""
    if not isinstance(record, dict) or not record.keys() >= {*RECORD, "created_at"}:
        yield "keys are missing"
        return
    yield from _misshapen("", record, RECORD | {"created_at": str})
    if record["files"].keys() != {PREDICTIONS, SCORE}:
        yield "keys are missing in files"
    yield from _misshapen("files.", record["files"], {PREDICTIONS: str, SCORE: str})
    yield from _misshapen("made_by.", record["made_by"], MADE_BY)
    trained = record["made_by"].get("trained", dict.fromkeys(TRAINED))
    if not isinstance(trained, dict) or not trained.keys() >= TRAINED.keys():
        yield "keys are missing in made_by.trained"
    elif "trained" in record["made_by"]:
        yield from _misshapen("made_by.trained.", trained, TRAINED)
    linked = record["links"]
    if not linked.keys() >= {"task", "part"}:
        yield "links do not name a task and a part"
    yield from _misshapen("links.", linked, LINKS | {"first": int})
    yield from _misshapen("links.inputs.", linked.get("inputs", {}), {RAW: dict})
    yield from _misshapen("links.bootstrap.", linked.get("bootstrap", {}), {"n": int})
    n = linked.get("bootstrap", {"n": 0}).get("n")
    if n is None or not 0 <= n <= MOST_DRAWS:
        yield f"links.bootstrap.n is {n!r:.40}"


def _misshapen(prefix: str, found: Mapping[str, Any], shape: Mapping[str, Any]) -> Iterator[str]:
    for name, kind in shape.items():
        if name in found and (not isinstance(found[name], kind) or isinstance(found[name], bool)):
            yield f"{prefix}{name} is {found[name]!r:.40}"
