"""Does loading hold training up? An image to the model's input, from the cache, and a step of ResNet-18 on it.

CPU ms an image at 0.25 of the page's width and height (550 × 425), two of torch's threads. *Decoding* is what the first
command pays once; *reading* is what every epoch pays, random places of the memory map, a batch ahead of the step. A
step costs seconds, so it is measured in one run, after an epoch that warms up.
"""

from __future__ import annotations

import importlib.util
import tempfile

from tests.bench.measure import measure

IMAGES, BATCH = 16, 8
SCALE = 0.25

RENDERED = """
import sys
from pathlib import Path
from pipelines.render.stage import render_task
from warehouse.home import Home
from warehouse.load.lydus import load
from warehouse.materialize import materialize
from warehouse.synthetic import write_lydus_release
place, home = Path(sys.argv[1]), Home(Path(sys.argv[1]) / "data")
write_lydus_release(place / "release", records=3 * int(sys.argv[2]))
load(home, place / "release")
materialize(home, ["task.lydus_ecg_image_v0"])
result = render_task(home, "lydus-ecg-image", part="train", workers=1).as_json()
"""

HEAD = """
import shutil, sys, time
from pathlib import Path
import numpy as np
from pipelines.kind import counting_rows
from pipelines.train.images import image_inputs
from pipelines.train.inputs import read_ahead, split
from warehouse.home import Home
from warehouse.task import read_task
home, scale, n, size = Home(Path(sys.argv[1]) / "data"), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
task = read_task(home, "lydus-ecg-image")
rows = counting_rows(task.instances, "train")[:n]
read = lambda: image_inputs(home, task, rows, scale, workers=1)
def cpu_ms(work, times=1):
    began = time.process_time()
    for _ in range(times):
        work()
    return 1000 * (time.process_time() - began) / times / n
"""

LOADING = (
    HEAD
    + """
read()
shutil.rmtree(home.path / "cache")
decoding = cpu_ms(read)
inputs = read()
order = split(np.random.default_rng(0).permutation(n), size)
def epoch():
    for _, batch in read_ahead(inputs.data, order):
        pass
epoch()
result = {"decoding": decoding, "reading": cpu_ms(epoch, 20)}
"""
)

STEPS = (
    HEAD
    + """
import torch
from models import make
from pipelines.train.device import autocast
from pipelines.train.objective import objective_of
half = {"fp32": None, "bf16": torch.bfloat16}[sys.argv[5]]
torch.set_num_threads(2)
model, objective, inputs = make("resnet18", len(task.classes)), objective_of(task), read()
optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4)
targets = torch.as_tensor(task.targets[inputs.rows], dtype=torch.float32)
order = split(np.random.default_rng(0).permutation(n), size)
def epoch():
    for places, batch in read_ahead(inputs.data, order):
        with autocast(torch.device("cpu"), half):
            logits = model(torch.from_numpy(batch))
        optimiser.zero_grad()
        objective.loss(logits.float(), targets[places]).backward()
        optimiser.step()
epoch()
result = cpu_ms(epoch)
"""
)


def table() -> str:
    if importlib.util.find_spec("torch") is None:
        return "training: not measured, the extra `train` is not installed"
    with tempfile.TemporaryDirectory() as place:
        measure(RENDERED, place, IMAGES, runs=1)
        given = (place, SCALE, IMAGES, BATCH)
        loading = measure(LOADING, *given).result
        steps = {name: measure(STEPS, *given, name, runs=1).result for name in ("fp32", "bf16")}
    lines = [
        f"training ResNet-18 on images at {SCALE} of their size, CPU ms an image",
        f"  decoding, once              {loading['decoding']:8.1f}",
        f"  reading, every epoch        {loading['reading']:8.2f}",
    ]
    for name, step in steps.items():
        share = 100 * loading["reading"] / step
        lines.append(f"  reading and a step, {name}    {step:8.1f}   reading is {share:.2f} % of it")
    return "\n".join(lines)
