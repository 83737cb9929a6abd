"""Does loading hold the training of a heartbeat classifier up? Cutting, reading, changing, and a step on a batch.

CPU µs a heartbeat on one of torch's threads, on a synthetic release. *Cutting* is what the first command pays once;
*reading* and *changing* (seeded shift, scale and noise) are what every epoch pays, a batch ahead of the step.
"""

from __future__ import annotations

import importlib.util
import tempfile

from tests.bench.measure import measure

BATCH = 256

LOADED = """
import sys
from pathlib import Path
from warehouse.home import Home
from warehouse.load.mitbih import load
from warehouse.materialize import materialize
from warehouse.synthetic import write_mitbih_release
place = Path(sys.argv[1])
write_mitbih_release(place / "release", seconds=240)
load(Home(place / "data"), place / "release", workers=1)
materialize(Home(place / "data"), ["task.ecg_heartbeat_arrhythmia_v0"])
result = None
"""

HEAD = """
import shutil, sys, time
from functools import partial
from pathlib import Path
import numpy as np
import torch
from models import make
from pipelines.kind import counting_rows
from pipelines.train.device import autocast
from pipelines.train.inputs import read_ahead, split
from pipelines.train.loop import changed
from pipelines.train.signals import segment_inputs
from warehouse.home import Home
from warehouse.task import read_task
torch.set_num_threads(1)
home, size = Home(Path(sys.argv[1]) / "data"), int(sys.argv[2])
task = read_task(home, "ecg-heartbeat-arrhythmia@0")
rows = counting_rows(task.instances, "train")
n = len(rows)
order = split(np.random.default_rng(0).permutation(n), size)
def cpu_us(work, times=1):
    began = time.process_time()
    for _ in range(times):
        work()
    return 1e6 * (time.process_time() - began) / times / n
def read(change=None):
    for _ in read_ahead(inputs.data, order, change):
        pass
inputs = segment_inputs(home, task, rows)
"""

LOADING = (
    HEAD
    + """
shutil.rmtree(home.path / "cache")
cutting = cpu_us(lambda: segment_inputs(home, task, rows))
read()
change = partial(changed, 0, 0)
result = {"n": n, "cutting": cutting, "reading": cpu_us(read, 5), "changing": cpu_us(lambda: read(change), 5)}
"""
)

STEPS = (
    HEAD
    + """
half = {"fp32": None, "bf16": torch.bfloat16}[sys.argv[4]]
model = make(sys.argv[3], 5)
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
targets = torch.as_tensor(task.targets[inputs.rows]).argmax(dim=1)
def steps():
    for places, batch in read_ahead(inputs.data, order[:12], partial(changed, 0, 0)):
        with autocast(torch.device("cpu"), half):
            logits = model(torch.from_numpy(batch))
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(logits.float(), targets[places]).backward()
        optimiser.step()
steps()
result = cpu_us(steps, 2) * n / sum(map(len, order[:12]))
"""
)


def table() -> str:
    if importlib.util.find_spec("torch") is None:
        return "beats: not measured, the extra `train` is not installed"
    with tempfile.TemporaryDirectory() as place:
        measure(LOADED, place, runs=1)
        loading = measure(LOADING, place, BATCH).result
        steps = {
            (model, half): measure(STEPS, place, BATCH, model, half, runs=1).result
            for model in ("kachuee", "beatnet")
            for half in ("fp32", "bf16")
        }
    lines = [
        f"training on {loading['n']:,} heartbeats of 187 samples, CPU µs a heartbeat, one thread",
        f"  cutting, once               {loading['cutting']:8.1f}",
        f"  reading, every epoch        {loading['reading']:8.1f}",
        f"  reading and changing        {loading['changing']:8.1f}",
    ]
    for (model, half), step in steps.items():
        share = 100 * loading["changing"] / step
        lines.append(
            f"  and a step, {model} {half:<9}{step:8.1f}   reading and changing is {share:.0f} % of it"
        )
    return "\n".join(lines)
