"""Images: stored counts to JPEG bytes by part, a worker's memory, images per second, beside the reference.

The generator itself is not here. Its figures were read from the fact sheet (5.7–6.2 CPU s and 405 MiB an augmented
image, on a machine like the one these goals were set on); live, in the same run, the augmentation goes through imgaug
0.4.0, as the generator does it, where the extra is installed. CPU ms are of one thread, medians over the images after
two that warm up; memory is the peak of a process that does what a worker does, imports included.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile

from tests.bench.measure import measure

IMAGES = 24
WARM_UP = 2
REFERENCE_CPU_S = (5.7, 6.2)
REFERENCE_MIB = 405
GOAL_MS, GOAL_MIB = 120, 200
TASK = "lydus-ecg-image@0"
PARTS = ("leads", "page", "augmentation", "JPEG")

HOME = """
import sys
from pathlib import Path
from warehouse.home import Home
from warehouse.load.lydus import load
from warehouse.materialize import materialize
from warehouse.synthetic import write_lydus_release
place = Path(sys.argv[1])
write_lydus_release(place / "release", records=int(sys.argv[2]))
load(Home(place / "data"), place / "release")
materialize(Home(place / "data"), ["task.lydus_ecg_image_v0"])
result = None
"""
BY_PART = """
import statistics, sys, time
from pathlib import Path
from pipelines.render.draws import draw, seed_of
from pipelines.render.job import ImageSettings, augmenter, encode
from pipelines.render.page import draw_page
from pipelines.render.signals import Group, WfdbGain, leads_of, read_group, rounded
from warehouse.spec import find_spec
(file,) = sorted((Path(sys.argv[1]) / "data" / "raw" / "lydus" / "signal").glob("*.parquet"))
table, settings = read_group(Group(file, 0)), ImageSettings(augmenter=sys.argv[2])
rule, augment = WfdbGain.of(find_spec("lydus-ecg-image")), augmenter(sys.argv[2])
spent = {"leads": [], "page": [], "augmentation": [], "JPEG": [], "image": []}
for row in range(int(sys.argv[3])):
    draws = draw(seed_of(str(row)))
    times = [time.process_time()]
    leads, hz = leads_of(table, row)
    leads, _ = rounded(leads, rule)
    times.append(time.process_time())
    pixels = draw_page(leads, hz, draws.grey, settings.page).pixels
    times.append(time.process_time())
    pixels, _ = augment(pixels, draws)
    times.append(time.process_time())
    data = encode(pixels, settings)
    times.append(time.process_time())
    for part, begin, end in zip(spent, times, times[1:]):
        spent[part].append(end - begin)
    spent["image"].append(times[-1] - times[0])
result = {part: 1000 * statistics.median(each[2:]) for part, each in spent.items()}
"""
WORKER = """
import sys
from pathlib import Path
from pipelines.render.job import ImageSettings
from pipelines.render.shard import Plan, render_shard, shards
from pipelines.render.signals import Group, WfdbGain
from warehouse.spec import find_spec
place = Path(sys.argv[1])
(file,) = sorted((place / "data" / "raw" / "lydus" / "signal").glob("*.parquet"))
(place / "worker").mkdir()
plan = Plan(place / "worker", ImageSettings(), WfdbGain.of(find_spec("lydus-ecg-image")), False)
rows = [(f"i{row}", row) for row in range(int(sys.argv[2]))]
result = sum(len(render_shard(shard)) for shard in shards(plan, Group(file, 0), rows))
"""
STREET = """
import sys
from pathlib import Path
from pipelines.render.stage import render_task
from warehouse.home import Home
place = Path(sys.argv[1])
workers = int(sys.argv[2])
report = render_task(Home(place / "data"), "lydus-ecg-image", workers=workers, out=place / f"images-{workers}")
result = [report.rendered, report.images_per_s, report.manifest["digest"]]
"""


def table() -> str:
    with tempfile.TemporaryDirectory(prefix="leadhouse-bench-") as name:
        measure(HOME, name, IMAGES + WARM_UP, runs=1)
        fused = measure(BY_PART, name, "fused", IMAGES + WARM_UP, runs=1)
        worker = measure(WORKER, name, IMAGES, runs=1)
        one, two = (measure(STREET, name, workers, runs=1).result for workers in (1, 2))
        assert one[2] == two[2], "one and two processes give other images"
        live = None
        if importlib.util.find_spec("imgaug") is not None:
            live = measure(BY_PART, name, "imgaug", 6 + WARM_UP, runs=1)
    noise = "compiled, extra fast" if importlib.util.find_spec("numba") else "NumPy"
    lines = [
        f"render: {IMAGES} synthetic 12-lead records, stored counts to JPEG bytes, one thread; noise: {noise}",
        f"{'':<64} {'CPU ms':>7} {'MiB':>6}",
    ]
    lines += [_line(part, fused.result[part]) for part in PARTS]
    image = fused.result["image"]
    lines.append(_line(f"an image (goal: {GOAL_MS} ms, {GOAL_MIB} MiB a worker)", image, worker.mib))
    if live is None:
        lines.append("imgaug is not installed: pip install -e '.[imgaug]' for the live reference")
    else:
        ratio = live.result["augmentation"] / fused.result["augmentation"]
        lines.append(_line("augmentation by imgaug, in this run", live.result["augmentation"], live.mib))
        lines.append(f"  the default path needs 1/{ratio:.1f} of it, for the same bytes")
    low, high = (1000 * seconds for seconds in REFERENCE_CPU_S)
    lines.append(
        f"{'the reference generator, as the fact sheet has it (not run here)':<64} {low:>3.0f}–{high:.0f} "
        f"{REFERENCE_MIB:>5}"
    )
    lines.append(f"  one image costs 1/{low / image:.0f} to 1/{high / image:.0f} of it")
    lines.append(
        f"render TASK, wall clock with start-up: {one[1]:.1f} images/s with 1 process, {two[1]:.1f} with 2 "
        f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}); the same bytes"
    )
    return "\n".join(lines)


def _line(label: str, cpu_ms: float, mib: float | None = None) -> str:
    return f"{label:<64} {cpu_ms:>7.1f} {'' if mib is None else f'{mib:.0f}':>6}"
