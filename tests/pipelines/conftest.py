"""The toy task as a stage finds it, and a data home to keep runs in."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from toy import COUNTING, GOOD, SEGMENTS, SPEC

from warehouse.home import Home
from warehouse.spec import Spec
from warehouse.task import TaskData


@pytest.fixture
def task(tmp_path: Path) -> TaskData:
    record, group, part, start, label, left_out, colours = zip(*SEGMENTS, strict=True)
    instances = pl.DataFrame(
        {
            "instance_id": [f"{a}_{b}" for a, b in zip(record, start, strict=True)],
            "record_id": record,
            "group_id": group,
            "part": part,
            "fold": pl.Series([None] * len(part), dtype=pl.Int64),
            "scored": [value is not None for value in label],
            "left_out": left_out,
            "start_s": start,
            "duration_s": [5] * len(part),
            "rhythms": colours,
        }
    )
    targets = np.array([[np.nan if value is None else value] for value in label], dtype=np.float64)
    inputs = {
        "views": {"toy.segment_v0": "a" * 64},
        "maps": {"colour": "b" * 64},
        "splits": {"vitaldb": "c" * 64},
    }
    spec = Spec(SPEC["slug"], SPEC["version"], SPEC, tmp_path / "toy.json")
    return TaskData(
        spec=spec,
        instances=instances,
        targets=targets,
        classes=("odd",),
        fingerprint="d" * 64,
        inputs=inputs,
        stale=(),
    )


class Warehouse:
    """Stands in for what is built: `task` is what `read_task` finds; a test may change it."""

    def __init__(self, task: TaskData) -> None:
        self.task = task

    def change(self, **fields) -> None:
        self.task = replace(self.task, **fields)

    def change_spec(self, **entries) -> None:
        data = json.loads(json.dumps(self.task.spec.data)) | entries
        self.change(spec=replace(self.task.spec, data=data))


@pytest.fixture
def built(task: TaskData, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    warehouse = Warehouse(task)
    monkeypatch.setattr("warehouse.task.read_task", lambda home, name: warehouse.task)
    return warehouse


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def write(tmp_path: Path):
    """Writes a CSV from keys and scores, or any text or bytes as they are; returns its path."""

    def write(content=None, *, keys=COUNTING, scores=GOOD, column="odd", name="mine.csv") -> Path:
        path = tmp_path / name
        if content is None:
            rows = [f"{key},{score}" for key, score in zip(keys, scores, strict=True)]
            content = "\n".join([f"instance_id,{column}", *rows]) + "\n"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
