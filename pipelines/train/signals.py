"""Pieces of a lead as a model reads them: heartbeats as `pipelines.segments` cuts them, windows by time.

A part's pieces become one float32 memory map in ``data/cache/signals/<view>/``, named by a hash of the instances and
the loaded signal files; delete the cache and nothing is lost. The digest of inputs is that of the values themselves.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipelines.segments import NEEDED, read_segments
from pipelines.train.inputs import Inputs
from pipelines.windows import read_windows
from warehouse.errors import InputError, UsageError
from warehouse.home import Home, sync, writing

if TYPE_CHECKING:
    from warehouse.task import TaskData

VERSION = 1
"""Of what is cached: it grows when the same files would give other values."""

WINDOW = ("record_id", "start_s", "duration_s")


def segment_inputs(
    home: Home, task: TaskData, rows: np.ndarray, progress: Callable[[int], object] | None = None
) -> Inputs:
    """Heartbeats (n, samples) float32 from 0 to 1 of the instances at positions `rows`.

    ``odd`` counts segments of one value, which are all zeros, and those with missing samples, which are 0 there.
    Raises as `pipelines.segments.read_segments`.
    """
    _need(task, NEEDED, "segments of a record")

    def read() -> tuple[np.ndarray, dict]:
        made = read_segments(home, task, rows)
        odd = {"constant": int(made.constant.sum()), "with missing samples": int(made.holes.sum())}
        return made.values, {"odd": odd, "there": list(range(len(rows)))}

    data, told = _cached(home, task, rows, NEEDED, read)
    if progress is not None:
        progress(len(rows))
    described = {"kind": "segments", "samples": data.shape[1], "rule": task.spec.data["segments"].get("rule")}
    return Inputs(rows, data, _digest(data), described, odd=told["odd"])


def window_inputs(
    home: Home, task: TaskData, rows: np.ndarray, progress: Callable[[int], object] | None = None
) -> Inputs:
    """Windows (n, samples) float32 of the instances at positions `rows`, as `pipelines.windows` makes them.

    An instance whose record has no loaded signal is absent; InputError when that is all of them.
    """
    _need(task, WINDOW, "windows by time")

    def read() -> tuple[np.ndarray, dict]:
        made = read_windows(home, task, rows, progress)
        odd = {
            "with missing samples": int((made.missing > 0).sum()),
            "all missing": int((made.missing == 1).sum()),
            "constant": int(made.constant.sum()),
        }
        return made.values[made.there], {"odd": odd, "there": np.flatnonzero(made.there).tolist()}

    data, told = _cached(home, task, rows, WINDOW, read)
    there = np.array(told["there"], dtype=np.int64)
    if not len(there):
        raise InputError(
            f"{task.spec.name}: found no signal of the {len(rows):,} instances that are asked for",
            next_step=f"load {task.spec.data['dataset']} again with its signals, then materialize",
        )
    lacking = np.setdiff1d(np.arange(len(rows)), there)
    ids = task.instances["instance_id"].gather(rows[lacking]).cast(str).to_list()
    described = {"kind": "windows", "samples": data.shape[1], "scale": "median 0, 5th to 95th percentile 1"}
    absent = dict.fromkeys(ids, "its record has no signal")
    return Inputs(rows[there], data, _digest(data), described, absent, told["odd"])


def _need(task: TaskData, columns: tuple[str, ...], what: str) -> None:
    missing = [name for name in columns if name not in task.instances.columns]
    if missing:
        raise UsageError(
            f"{task.spec.name}: found no column {', '.join(missing)}; expected a task whose instances are {what}",
            "pass another --model",
        )


def _digest(data: np.ndarray) -> str:
    """sha256 of shape and values."""
    made = hashlib.sha256(str(data.shape).encode())
    made.update(np.ascontiguousarray(data).data)
    return made.hexdigest()


def _cached(
    home: Home,
    task: TaskData,
    rows: np.ndarray,
    columns: tuple[str, ...],
    read: Callable[[], tuple[np.ndarray, dict]],
) -> tuple[np.ndarray, dict]:
    """What `read` makes, from the cache where it is there and whole."""
    key = hashlib.sha256(f"{VERSION} {task.spec.data['segments']}".encode())
    for file in sorted((home.loaded(task.spec.data["dataset"]) / "signal").glob("*.parquet")):
        state = file.resolve().stat()
        key.update(f"{file.resolve()} {state.st_size} {state.st_mtime_ns}\n".encode())
    frame = task.instances.select("instance_id", *columns)[rows]
    key.update(frame.write_csv().encode())
    place = home.path / "cache" / "signals" / task.spec.view.removeprefix("task.")
    path = place / f"{key.hexdigest()[:16]}.npy"
    with suppress(OSError, ValueError, EOFError, KeyError):
        told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        data = np.load(path, mmap_mode="r")
        if list(data.shape) == told["shape"]:
            return data, told
    data, told = read()
    told["shape"] = list(data.shape)
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
        _write(path, lambda file: np.save(file, data))
        _write(path.with_suffix(".json"), lambda file: file.write(json.dumps(told).encode()))
        sync(place)
    return np.load(path, mmap_mode="r"), told


def _write(path: Path, put: Callable) -> None:
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        with draft.open("wb") as file:
            put(file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
