"""Baselines: predictions by name, written like anybody's submission.

================  ==================================================================================
prior             what a score must beat: for a binary task the prevalence in the train part for every
                  instance, for a multiclass task the most frequent class there, for a multilabel task every
                  class for every image
rr-annotated      logistic regression on RR intervals between *annotated* beats. A reference, no model
                  of a signal: an anaesthesiologist placed the beats. It reads their times alone,
                  neither beat types nor rhythms
rr-detected       the same on R peaks that `load --signals` detected
================  ==================================================================================

What is fitted is fitted on the train part's scored instances that are not left out; every instance of the
part asked for is predicted, scored or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pipelines.evaluate import kind_of
from pipelines.kind import counting_rows
from pipelines.makers import NOTE
from pipelines.predictions import check_out, write_predictions
from pipelines.rr import segment_features
from warehouse.errors import HomeError, InputError, UsageError
from warehouse.home import Home, read_pinned

if TYPE_CHECKING:
    from warehouse.task import TaskData

BEATS = {
    "rr-annotated": """
        SELECT case_id, time_s FROM vitaldb.annotation_v0 WHERE is_beat ORDER BY case_id, time_s, row_no
    """,
    "rr-detected": """
        SELECT case_id, sample / hz AS time_s FROM raw_vitaldb.detected_peak ORDER BY case_id, sample
    """,
}


def write_baseline(home: Home, task: str, name: str, part: str = "test", out: Path | None = None) -> Path:
    """Fit baseline `name` and write its predictions as Parquet; returns the file.

    `out` is the file to write, ``predictions/<slug>_v<N>/<name>-<part>.parquet`` in the home where None.
    The home keeps the file's digest, so that its name is believed (`pipelines.makers`); a home that cannot be
    written still gives a file elsewhere. UsageError for an unknown name or part or an unfit `out`, HomeError where
    its input is not loaded, InputError when the train part cannot be fitted.
    """
    from warehouse.task import read_task

    if name not in BASELINES:
        raise UsageError(f"found no baseline {name!r}; expected one of: {', '.join(BASELINES)}")
    check_out(out, f"{name}.parquet")
    data = read_task(home, task)
    counting_rows(data.instances, part)
    rows = np.flatnonzero((data.instances["part"] == part).fill_null(False).to_numpy())
    scores = BASELINES[name](home, data, rows)
    columns = kind_of(data).stored(data.classes, scores)
    frame = pl.DataFrame({"instance_id": data.instances["instance_id"].gather(rows), **columns})
    return write_predictions(home, data, frame, f"{name}-{part}", out, notes={NOTE: name}, maker=name)


def _train(task: TaskData) -> np.ndarray:
    """Positions to fit on. InputError when there are none."""
    parts = task.instances["part"].unique().to_list()
    train = counting_rows(task.instances, "train") if "train" in parts else np.empty(0, dtype=np.int64)
    if not len(train):
        raise InputError(f"{task.spec.name}: found no scored instance in part train; expected some to fit on")
    return train


def _prior(home: Home, task: TaskData, rows: np.ndarray) -> np.ndarray:
    return kind_of(task).prior(task, rows, lambda: _train(task))


def _rr(beats: str) -> Callable[..., np.ndarray]:
    def predict(home: Home, task: TaskData, rows: np.ndarray) -> np.ndarray:
        if "max_annotation_gap_s" not in task.spec.data.get("segments", {}):
            raise UsageError(
                f"{task.spec.name}: found no segments; baseline {beats} expects a task on pieces of a rhythm",
                "use the baseline prior",
            )
        train = _train(task)
        needed = np.union1d(train, rows)
        frame = task.instances[needed]
        gap_s = float(task.spec.data["segments"]["max_annotation_gap_s"])
        features = segment_features(
            frame["record_id"].cast(pl.String).to_numpy(),
            frame["start_s"].cast(pl.Float64).to_numpy(),
            frame["duration_s"].cast(pl.Float64).to_numpy(),
            _beat_times(home, beats),
            gap_s,
        )
        seed, name = int(task.spec.data["split"]["seed"]), task.spec.name
        here, there = np.searchsorted(needed, train), np.searchsorted(needed, rows)
        columns = [
            _logistic(features[here], task.targets[train, j], features[there], seed, f"{name}, {label}")
            for j, label in enumerate(task.classes)
        ]
        return np.stack(columns, axis=1)

    return predict


def _beat_times(home: Home, beats: str) -> Mapping[str, np.ndarray]:
    """Beat times in seconds by record, ascending. HomeError where they are not loaded."""
    import duckdb

    from warehouse.query import connect

    def read(pinned: Home) -> tuple[dict[str, np.ndarray], str]:
        with connect(pinned) as con:
            try:
                return con.execute(BEATS[beats]).fetchnumpy(), "the table has no rows"
            except duckdb.CatalogException as error:
                return {"case_id": np.empty(0), "time_s": np.empty(0)}, str(error).splitlines()[0]

    found, reason = read_pinned(home, read)
    records, times = found["case_id"], np.asarray(found["time_s"], dtype=np.float64)
    if not len(records):
        step = "load the release with --signals DIR" if beats == "rr-detected" else "load the release"
        raise HomeError(f"baseline {beats}: found no beats in {home.path} ({reason}); expected some", step)
    first = np.flatnonzero(np.append(True, records[1:] != records[:-1]))
    return {str(records[at]): part for at, part in zip(first, np.split(times, first[1:]), strict=True)}


def _logistic(train: np.ndarray, y: np.ndarray, features: np.ndarray, seed: int, what: str) -> np.ndarray:
    """Probability of the class (n,) from features (n, f).

    A missing feature takes the train part's median and sets an indicator column of its own, so that the
    absence itself can count; a feature that train never has is left out.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    known = ~np.isnan(y)
    classes = np.unique(y[known])
    if len(classes) < 2:
        raise InputError(
            f"{what}: found one label alone in part train; expected both to fit on",
            next_step="load more cases, or use the baseline prior",
        )
    used = ~np.isnan(train[known]).all(axis=0)
    if not used.any():
        raise InputError(f"{what}: found no interval between two beats in part train; expected some")
    model = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True),
        StandardScaler(),
        LogisticRegression(max_iter=2000, random_state=seed),
    )
    model.fit(train[known][:, used], y[known])
    return model.predict_proba(features[:, used])[:, 1]


BASELINES: dict[str, Callable[..., Any]] = {
    "prior": _prior,
    "rr-annotated": _rr("rr-annotated"),
    "rr-detected": _rr("rr-detected"),
}
