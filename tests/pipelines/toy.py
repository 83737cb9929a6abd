"""A task of twelve segments, small enough to score by hand."""

SPEC = {
    "slug": "toy-arrhythmia",
    "version": 0,
    "kind": "binary",
    "classes": ["odd"],
    "follows": {"digest": "0123456789ab"},
    "label": {"odd": ["red", "blue"], "normal": ["plain"]},
    "segments": {"max_annotation_gap_s": 10},
    "split": {"name": "vitaldb", "seed": 20261029},
    "metrics": {
        "primary": "auroc",
        "secondary": ["auprc", "brier", "accuracy", "sensitivity", "specificity", "f1"],
        "threshold": 0.5,
        "bootstrap": {"by": "subjectid", "n": 200},
        "by_category": "share flagged per colour",
    },
}

# record, group, part, start_s, label (None: not scored), left out, colours
SEGMENTS = [
    (1, 11, "test", 0, 1, None, "red"),
    (1, 11, "test", 5, 1, None, "blue|red"),
    (1, 11, "test", 10, None, None, None),
    (2, 12, "test", 0, 0, None, "plain"),
    (2, 12, "test", 5, 0, None, "plain"),
    (2, 12, "test", 10, 1, "flagged quality", "red"),
    (3, 13, "test", 5, 0, None, "plain"),
    (3, 13, "test", 10, 1, None, "plain|red"),
    (4, 14, "train", 0, 1, None, "blue"),
    (4, 14, "train", 5, 0, None, "plain"),
    (5, 15, "train", 0, 0, None, "plain"),
    (6, 16, "validation", 0, 1, None, "red"),
]
COUNTING = ["1_0", "1_5", "2_0", "2_5", "3_5", "3_10"]
"""Instances of the test part that count, in the task's order."""
TRUTH = [1, 1, 0, 0, 0, 1]
GOOD = [0.9, 0.5, 0.25, 0.75, 0.1, 0.6]
