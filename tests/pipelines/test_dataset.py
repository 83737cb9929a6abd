"""Our labels for somebody else's network: the README's lines, as they stand there."""

import re
from pathlib import Path

import numpy as np
import pytest

from pipelines.kind import counting_rows
from pipelines.segments import read_segments
from warehouse.errors import UsageError
from warehouse.home import Home
from warehouse.task import read_task

torch = pytest.importorskip("torch", reason="needs the extra `train`")

TASK = "ecg-heartbeat-arrhythmia@0"


@pytest.fixture(scope="module")
def home(heartbeat_home, tmp_path_factory) -> Home:
    """Labels and signals by link, and a cache of its own."""
    place = tmp_path_factory.mktemp("dataset") / "data"
    place.mkdir()
    for name in ("raw", "built"):
        (place / name).symlink_to((heartbeat_home.path / name).resolve(), target_is_directory=True)
    return Home(place)


def test_values_and_targets_are_the_tasks(home):
    from pipelines.dataset import open_dataset

    train = open_dataset(home.path, TASK, "train")
    task = read_task(home, TASK)
    rows = counting_rows(task.instances, "train")
    assert len(train) == len(rows)
    assert train.classes == task.classes
    assert train.instance_ids == task.instances["instance_id"].gather(rows).to_list()
    expected = read_segments(home, task, rows).values
    for place in (0, len(rows) // 2, len(rows) - 1):
        values, targets = train[place]
        assert np.array_equal(values.numpy(), expected[place])
        assert np.array_equal(targets.numpy(), task.targets[rows[place]])
    values, targets = next(iter(torch.utils.data.DataLoader(train, batch_size=16)))
    assert np.array_equal(values.numpy(), expected[:16])
    assert targets.shape == (16, 5)
    with pytest.raises(UsageError, match="found no part 'exam'"):
        open_dataset(home.path, TASK, "exam")


def test_the_lines_of_the_readme(home, monkeypatch, tmp_path):
    """They train something, and the loss goes down."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (code,) = [each for each in re.findall(r"```python\n(.*?)```", readme, re.S) if "open_dataset" in each]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(home.path, target_is_directory=True)
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    loss = torch.nn.functional.cross_entropy(names["net"](names["values"]), names["targets"])
    assert torch.isfinite(loss)
    assert loss < np.log(5)
