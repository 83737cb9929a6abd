"""Any task as a torch ``Dataset``: train your own network on our labels.

::

    from pipelines.dataset import open_dataset
    from torch.utils.data import DataLoader

    train = open_dataset("data", "ecg-heartbeat-arrhythmia@0", "train")
    for values, targets in DataLoader(train, batch_size=256, shuffle=True): ...

``train.classes`` names the targets' columns, ``train.instance_ids`` the instances.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

from pipelines.kind import counting_rows
from pipelines.train.inputs import Inputs
from pipelines.train.settings import Settings, model_for
from pipelines.train.stage import inputs_of
from warehouse.home import Home
from warehouse.task import TaskData, read_task


class TaskDataset(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Pairs of an instance's values and its targets (k,) float32, NaN = unknown.

    Values are what our own models read: grey pages (h, w) uint8, heartbeats (samples,) float32 from 0 to 1, windows of
    a lead (samples,) float32. They come from a memory map, so worker processes of a ``DataLoader`` share them.
    """

    def __init__(self, task: TaskData, inputs: Inputs) -> None:
        self.task, self.inputs, self.classes = task, inputs, task.classes
        self.targets = torch.as_tensor(task.targets[inputs.rows], dtype=torch.float32)
        self.instance_ids = task.instances["instance_id"].gather(inputs.rows).cast(str).to_list()

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, place: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.from_numpy(np.array(self.inputs.data[place])), self.targets[place]

    def __getitems__(self, places: list[int]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """A batch in one read; ``DataLoader`` asks for it where it is there."""
        values = torch.from_numpy(np.take(self.inputs.data, places, axis=0))
        return list(zip(values, self.targets[places], strict=True))


def open_dataset(data: Path | str, task: str, part: str, *, input_scale: float = 0.5) -> TaskDataset:
    """The scored instances of a part that are not left out; of images `input_scale` is the size.

    ``data`` is the data home. Instances without an input (``.inputs.absent``) are not in it. UsageError for an
    unknown task or part, HomeError when it is not built, or its images or signals are not there.
    """
    home = Home.resolve(data)
    read = read_task(home, task)
    model = model_for(read.spec.data)
    settings = Settings.of(model).with_known(input_scale=input_scale)
    rows = counting_rows(read.instances, part)
    return TaskDataset(read, inputs_of(home, read, rows, settings, None, None, lambda steps: None))
