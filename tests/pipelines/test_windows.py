"""Windows of a lead by time, against a plain reading of the signal Parquet."""

import shutil
from dataclasses import replace
from statistics import quantiles

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from pipelines.kind import counting_rows
from pipelines.train.settings import Settings
from pipelines.windows import CLIP, HZ, LEAST_SPREAD_MV, _made, read_windows
from warehouse.home import Home
from warehouse.task import read_task

TASK = "vitaldb-arrhythmia-abnormal@0"


def plainly(raw: list[float], by: int) -> list[float]:
    """One window by loops: means of what is known, 0 for nothing, median and spread of the means."""
    means = []
    for at in range(0, len(raw), by):
        known = [value for value in raw[at : at + by] if not np.isnan(value)]
        means.append(sum(known) / len(known) if known else None)
    there = [value for value in means if value is not None]
    if not there:
        return [0.0] * len(means)
    cuts = quantiles(there, n=20, method="inclusive")
    middle = quantiles(there, n=2, method="inclusive")[0]
    spread = max(cuts[-1] - cuts[0], LEAST_SPREAD_MV)
    return [0.0 if value is None else max(-CLIP, min(CLIP, (value - middle) / spread)) for value in means]


def test_windows_are_what_the_parquet_says(signal_home):
    task = read_task(signal_home, TASK)
    rows = counting_rows(task.instances, "train")
    made = read_windows(signal_home, task, rows)
    assert made.values.shape == (len(rows), 5 * HZ)
    assert made.there.all()
    samples = {}
    for path in sorted((signal_home.loaded("vitaldb-arrhythmia") / "signal").glob("*.parquet")):
        for row in pq.read_table(path).to_pylist():
            case = samples.setdefault(row["case_id"], {})
            case |= {row["first_sample"] + n: value for n, value in enumerate(row["samples"])}
    for place in range(0, len(rows), max(1, len(rows) // 25)):
        instance = task.instances.row(int(rows[place]), named=True)
        begin = int(instance["start_s"] * 500)
        case = samples[instance["record_id"]]
        raw = [case.get(begin + n, np.nan) for n in range(2500)]
        assert made.values[place] == pytest.approx(plainly(raw, 4), abs=1e-4)
        assert made.missing[place] == pytest.approx(np.isnan(raw).mean())


def test_missing_and_constant_samples():
    """A hole inside a mean is left out, a hole of a whole mean is 0, beyond the record too; nothing at all is told."""
    samples = np.arange(16, dtype=np.float32)
    samples[[1, 4, 5]] = np.nan
    values, missing, constant = _made(samples, np.array([0, 12, 40, -4]), 4, 2)
    assert missing.tolist() == pytest.approx([3 / 8, 1 / 2, 1, 1 / 2 + 1 / 8])
    assert values[0].tolist() == pytest.approx(plainly([0, np.nan, 2, 3, np.nan, np.nan, 6, 7], 2))
    assert values[0][2] == 0
    assert values[1][2:].tolist() == [0, 0]
    assert values[2].tolist() == [0] * 4
    assert not constant.any()
    values, missing, constant = _made(np.full(8, 2.5, np.float32), np.array([0]), 4, 2)
    assert (values == 0).all()
    assert constant.tolist() == [True]
    assert _made(np.empty(0, np.float32), np.array([0]), 4, 2)[1].tolist() == [1]


def test_a_record_without_a_signal(synthetic_home, tmp_path):
    from pipelines.train.signals import window_inputs
    from warehouse.errors import InputError

    shutil.copytree(synthetic_home.path, tmp_path / "data", symlinks=True)
    home = Home(tmp_path / "data")
    task = read_task(home, TASK)
    with pytest.raises(InputError, match=r"found no signal of the .* instances(.|\n)*with its signals"):
        window_inputs(home, task, counting_rows(task.instances, "train"))


def test_a_trained_baseline(signal_home, tmp_path):
    """On the synthetic release: rhythms can be seen, so a short training ranks them well; scored as any file."""
    pytest.importorskip("torch", reason="needs the extra `train`")
    from pipelines.score import score_submission
    from pipelines.train.predict import predict
    from pipelines.train.stage import train

    shutil.copytree(signal_home.path, tmp_path / "data", symlinks=True)
    home = Home(tmp_path / "data")
    settings = replace(Settings.of("rhythmnet"), epochs=4)
    record = train(home, TASK, settings, run="rhythm", threads=1)
    assert record["inputs"]["settings"]["kind"] == "windows"
    assert set(record["odd"]["train"]) == {"with missing samples", "all missing", "constant"}
    made = predict(home, TASK, "rhythm", threads=1)
    assert pl.read_parquet(made["file"]).columns == ["instance_id", "abnormal"]
    assert score_submission(home, TASK, made["file"])["metrics"]["auroc"]["value"] > 0.75
