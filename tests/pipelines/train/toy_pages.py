"""A toy image task that a small network learns in seconds: which marks are on a page, and a folder of its images."""

import hashlib
import json
from pathlib import Path

import numpy as np
import polars as pl

from pipelines.render.jpeg import encode, encode_png
from warehouse.images import MANIFEST, TABLE, images_digest
from warehouse.spec import Spec
from warehouse.task import TaskData

CLASSES = ("left", "right", "both ends")
HEIGHT, WIDTH = 64, 96

SPEC = {
    "slug": "toy-pages",
    "version": 0,
    "kind": "multilabel",
    "classes": list(CLASSES),
    "input": {"image": {"width": WIDTH, "height": HEIGHT}},
    "split": {"seed": 7},
    "metrics": {
        "primary": "macro_f_measure",
        "secondary": ["parse_rate", "error_rate", "mean_labels_predicted"],
        "bootstrap": {"by": "group", "n": 50},
        "missing_row": "no label",
    },
}
BINARY = {
    **SPEC,
    "slug": "toy-page",
    "kind": "binary",
    "classes": ["left"],
    "metrics": {
        "primary": "auroc",
        "secondary": ["brier"],
        "threshold": 0.5,
        "bootstrap": {"by": "group", "n": 50},
    },
}


def pages(n=72, spec=SPEC, seed=3) -> TaskData:
    """A third of the instances each in train, validation and test, in turn; one of them has no label."""
    rng = np.random.default_rng(seed)
    marks = rng.random((n, 2)) < 0.5
    targets = np.column_stack([marks, marks.all(axis=1)]).astype(float)
    none = ~targets.any(axis=1)
    if spec["kind"] == "binary":
        targets, none = targets[:, :1], np.zeros(n, bool)
    instances = pl.DataFrame(
        {
            "instance_id": [f"{number:04x}" for number in range(n)],
            "record_id": [f"r{number}" for number in range(n)],
            "group_id": [f"g{number // 2}" for number in range(n)],
            "part": [("train", "validation", "test")[number % 3] for number in range(n)],
            "fold": pl.Series([None] * n, dtype=pl.Int64),
            "scored": (~none).tolist(),
            "left_out": pl.Series([None] * n, dtype=pl.String),
        }
    )
    return TaskData(
        spec=Spec(spec["slug"], spec["version"], spec, Path("toy.json")),
        instances=instances,
        targets=targets,
        classes=tuple(spec["classes"]),
        fingerprint="d" * 64,
        inputs={"views": {}, "maps": {}, "splits": {}},
        stale=(),
    )


def page(left: bool, right: bool, rng: np.random.Generator, height=HEIGHT, width=WIDTH) -> np.ndarray:
    """uint8 (h, w, 3): noise on white, a dark mark on either side."""
    pixels = 235 + rng.integers(-15, 16, (height, width))
    for here, x in ((left, width // 4), (right, 3 * width // 4)):
        if here:
            y = int(rng.integers(8, height - 24))
            pixels[y : y + 16, x - 8 : x + 8] -= 160
    return np.repeat(pixels.astype(np.uint8)[:, :, None], 3, axis=2)


def write_pages(
    folder: Path, task: TaskData, *, skip=(), failed=(), settings=None, image="jpeg", seed=1
) -> Path:
    """A folder as `render` leaves it (`warehouse.images`): every instance but `skip` and `failed`."""
    rows = []
    marks = np.random.default_rng(3).random((task.instances.height, 2)) < 0.5
    for number, name in enumerate(task.instances["instance_id"]):
        if name in skip or name in failed:
            continue
        pixels = page(*marks[number], np.random.default_rng([seed, number]))
        content = encode(pixels) if image == "jpeg" else encode_png(pixels)
        file = f"{name[:2]}/{name}.{'jpg' if image == 'jpeg' else 'png'}"
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        rows.append((name, file, image, WIDTH, HEIGHT, len(content), sha256))
    columns = ["instance_id", "file", "format", "width", "height", "bytes", "sha256"]
    table = pl.DataFrame(rows, schema=columns, orient="row").sort("instance_id")
    table.write_parquet(folder / TABLE)
    manifest = {
        "version": 1,
        "task": task.spec.name,
        "settings": settings or {"dpi": 200, "palette": "5"},
        "settings_digest": "0" * 64,
        "digest": images_digest(table.select("instance_id", "sha256").iter_rows()),
        "images": table.height,
        "tables": {TABLE: {"sha256": hashlib.sha256((folder / TABLE).read_bytes()).hexdigest()}},
        "parts": {},
        "failed": [{"instance_id": name, "found": "no signal", "expected": "one"} for name in failed],
    }
    (folder / MANIFEST).write_text(json.dumps(manifest))
    return folder
