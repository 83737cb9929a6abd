"""The literal test takes as few seen instances as it can, and all of a class that has too few."""

import numpy as np

from pipelines.train.literal import literal_rows


def test_least_seen_first():
    parts = np.array(["train", "test", "validation", "train", "test", "", "train", "train"])
    labels = np.array([0, 0, 0, 0, 1, 0, 1, -1])
    assert literal_rows(parts, labels, 1).tolist() == [1, 4]
    assert literal_rows(parts, labels, 2).tolist() == [1, 2, 4, 6]
    assert literal_rows(parts, labels, 3).tolist() == [0, 1, 2, 4, 6]
    assert literal_rows(parts, labels, 9).tolist() == [0, 1, 2, 3, 4, 6]
