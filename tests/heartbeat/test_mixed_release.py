"""The release that the transfer is shown on: real infarctions beside synthetic controls, loaded as any other."""

from __future__ import annotations

import numpy as np
from heartbeat.mixed_release import write_mixed_release

from warehouse.home import Home
from warehouse.load.ptbdb import load
from warehouse.materialize import materialize
from warehouse.task import read_task


def test_both_classes_are_there_in_both_parts(shared, tmp_path):
    real, controls = write_mixed_release(tmp_path / "release", shared / "data" / "ptbdb")
    home = Home(tmp_path / "data")
    load(home, tmp_path / "release")
    materialize(home)
    task = read_task(home, "ecg-heartbeat-mi@0")
    assert task.instances["record_id"].n_unique() == real + controls
    for part in ("train", "validation", "test"):
        of_part = (task.instances["part"] == part).fill_null(False).to_numpy()
        assert set(np.unique(task.targets[of_part])) >= {0.0, 1.0}, part
