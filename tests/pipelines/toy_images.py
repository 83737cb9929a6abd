"""A multilabel task of ten images, small enough to score by hand, and one with the published test counts."""

from pathlib import Path

import numpy as np
import polars as pl

from warehouse.spec import Spec
from warehouse.task import TaskData

CLASSES = ("Plum", "apple", "kiwi pie", "PEAR/FIG")
"""Neither sorted nor of one case: the order of the mean is another than the columns'."""

SPEC = {
    "slug": "toy-images",
    "version": 0,
    "kind": "multilabel",
    "classes": list(CLASSES),
    "follows": {"digest": "0123456789ab"},
    "split": {"seed": 7},
    "metrics": {
        "primary": "macro_f_measure",
        "secondary": ["parse_rate", "error_rate", "mean_labels_predicted"],
        "bootstrap": {"by": "group", "n": 100},
        "missing_row": "no label",
    },
}

# id, group, part, labels ("" has none and is not scored), left out
IMAGES = [
    ("d1", "g1", "test", "apple", None),
    ("c2", "g1", "test", "apple, Plum", None),
    ("b3", "g2", "test", "Plum", None),
    ("a4", "g2", "test", "", None),
    ("e5", "g3", "test", "PEAR/FIG", None),
    ("f6", "g4", "test", "apple", "flat"),
    ("g7", "g5", "train", "kiwi pie", None),
    ("h8", "g6", "train", "apple", None),
    ("i9", "g7", "validation", "Plum", None),
    ("j0", "g8", "validation", "", None),
]
ASKED = ["d1", "c2", "b3", "a4", "e5"]
"""Images of the test part that are asked for, in the task's order."""


def images(path: Path, rows=IMAGES, classes=CLASSES, spec=SPEC) -> TaskData:
    ids, groups, parts, labels, left_out = zip(*rows, strict=True)
    names = [set(filter(None, text.split(", "))) for text in labels]
    instances = pl.DataFrame(
        {
            "instance_id": ids,
            "record_id": [f"r{number}" for number in range(len(ids))],
            "group_id": groups,
            "part": parts,
            "fold": pl.Series([None] * len(ids), dtype=pl.Int64),
            "scored": [bool(held) for held in names],
            "left_out": pl.Series(left_out, dtype=pl.String),
        }
    )
    return TaskData(
        spec=Spec(spec["slug"], spec["version"], spec | {"classes": list(classes)}, path / "toy.json"),
        instances=instances,
        targets=np.array([[float(name in held) for name in classes] for held in names]),
        classes=tuple(classes),
        fingerprint="d" * 64,
        inputs={"views": {}, "maps": {}, "splits": {}},
        stale=(),
    )
