"""Any task as a torch ``Dataset``: train your own network on our labels.

::

    from pipelines.dataset import open_dataset
    from torch.utils.data import DataLoader

    train = open_dataset("data", "ecg-heartbeat-arrhythmia@0", "train")
    for values, targets in DataLoader(train, batch_size=256, shuffle=True): ...
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.kind import counting_rows
from pipelines.train.device import need_torch
from pipelines.train.settings import Settings, model_for
from pipelines.train.stage import inputs_of
from warehouse.home import Home
from warehouse.task import read_task

if TYPE_CHECKING:
    from models.dataset import Instances


def open_dataset(data: Path | str, task: str, part: str, *, input_scale: float = 0.5) -> Instances:
    """The scored instances of a part that are not left out; of images `input_scale` is the size.

    ``data`` is the data home. Values are what our own models read: grey pages (h, w) uint8, heartbeats (samples,)
    float32 from 0 to 1, windows of a lead (samples,) float32; targets (k,) float32, NaN = unknown. Instances without
    an input are not in it. UsageError without torch and for an unknown task or part, HomeError when the task is not
    built or its images or signals are not there.
    """
    need_torch()
    from models.dataset import Instances

    home = Home.resolve(data)
    read = read_task(home, task)
    settings = Settings.of(model_for(read.spec.data)).with_known(input_scale=input_scale)
    rows = counting_rows(read.instances, part)
    inputs = inputs_of(home, read, rows, settings, None, None, lambda steps: None)
    ids = read.instances["instance_id"].gather(inputs.rows).cast(str).to_list()
    return Instances(inputs.data, read.targets[inputs.rows], read.classes, ids)
