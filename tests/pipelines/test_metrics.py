import json

import numpy as np
import pytest

from pipelines import metrics
from pipelines.metrics import METRICS, binary_metrics, categories, confusion, share_flagged
from warehouse.errors import RegistryError

OURS_UNDEFINED = {
    ("single_class_positive_only", "auroc"),
    ("single_class_positive_only", "auprc"),
    ("single_class_positive_only", "specificity"),
    ("single_class_negative_only", "auroc"),
    ("single_class_negative_only", "auprc"),
    ("single_class_negative_only", "sensitivity"),
}
"""Where the golden keeps scikit-learn's placeholder and the rule says undefined."""


def test_points_equal_the_golden(shared):
    golden = json.loads((shared / "golden/vitaldb/metrics_golden.json").read_text())
    compared = 0
    for case in golden["cases"]:
        y, score = np.array(case["y"]), np.array(case["score"], dtype=float)
        expected = case["sklearn"]
        if np.isnan(score).any():
            keep = ~np.isnan(score)
            y, score, expected = y[keep], score[keep], case["sklearn_nan_rows_dropped"]
        found = binary_metrics(y, score, golden["threshold"])
        assert confusion(y, score, golden["threshold"]) == expected["confusion"]
        for name, point in found.items():
            if (case["name"], name) in OURS_UNDEFINED:
                assert point.value is None
                assert point.reason
            else:
                assert point.value == expected[name], (case["name"], name)
                assert point.reason is None
                compared += 1
    assert compared >= 30


ONES, ZEROS, BOTH = [1, 1], [0, 0], [0, 1]


@pytest.mark.parametrize(
    ("name", "y", "score", "value", "reason"),
    [
        ("auroc", ONES, [0.2, 0.7], None, metrics.NO_NEGATIVES),
        ("auroc", ZEROS, [0.2, 0.7], None, metrics.NO_POSITIVES),
        ("auprc", ZEROS, [0.2, 0.7], None, metrics.NO_POSITIVES),
        ("auprc", ONES, [0.2, 0.7], None, metrics.TRIVIAL),
        ("sensitivity", ZEROS, [0.2, 0.7], None, metrics.NO_POSITIVES),
        ("sensitivity", ONES, [0.2, 0.7], 0.5, None),
        ("specificity", ONES, [0.2, 0.7], None, metrics.NO_NEGATIVES),
        ("specificity", ZEROS, [0.2, 0.7], 0.5, None),
        ("f1", BOTH, [0.1, 0.2], 0.0, None),
        ("f1", ZEROS, [0.1, 0.7], 0.0, None),
        ("f1", ZEROS, [0.1, 0.2], None, metrics.NOTHING_FLAGGED),
        ("brier", ONES, [1.0, 0.5], 0.125, None),
        ("brier", ZEROS, [0.0, 0.5], 0.125, None),
        ("accuracy", ZEROS, [0.2, 0.7], 0.5, None),
        *[(name, [], [], None, metrics.NO_ROWS) for name in METRICS],
    ],
)
@pytest.mark.filterwarnings("error")
def test_undefined_is_none_with_a_reason(name, y, score, value, reason):
    point = binary_metrics(np.array(y, dtype=int), np.array(score), names=[name])[name]
    assert (point.value, point.reason) == (value, reason)


def test_a_score_at_the_threshold_is_flagged():
    assert confusion(np.array([1, 0]), np.array([0.5, np.nextafter(0.5, 0)])) == {
        "tp": 1,
        "fp": 0,
        "tn": 1,
        "fn": 0,
    }


@pytest.mark.parametrize("bad", [np.nan, -0.1, 1.1, np.inf])
def test_a_score_that_is_none_is_never_counted(bad):
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        binary_metrics(np.array([0, 1]), np.array([0.5, bad]))


def test_a_label_that_is_none_is_never_counted():
    with pytest.raises(ValueError, match="0 or 1"):
        binary_metrics(np.array([0, np.nan]), np.array([0.5, 0.5]))


def test_an_unknown_metric_is_the_specs_fault():
    with pytest.raises(RegistryError, match="kappa"):
        binary_metrics(np.array([0, 1]), np.array([0.5, 0.5]), names=["auroc", "kappa"])


def test_a_row_counts_in_every_category_of_its_own_label():
    y = np.array([1, 1, 0, 0, 1])
    cats = categories(["red", "blue|red", "plain", "plain", "plain|red"], y, {"red": True, "plain": False})
    table = {
        row["name"]: row for row in share_flagged(cats, np.array([0.9, 0.1, 0.8, 0.2, 0.7]), [7, 7, 8, 8, 9])
    }
    assert [*table] == ["red", "plain", "blue"]
    assert (table["red"]["rows"], table["red"]["flagged"], table["red"]["value"]) == (3, 2, 2 / 3)
    assert (table["plain"]["rows"], table["plain"]["value"]) == (2, 0.5)
    assert [row["groups"] for row in table.values()] == [2, 1, 1]
    assert (table["blue"]["rows"], table["blue"]["positive"]) == (1, None)


def test_a_declared_category_without_rows_is_undefined():
    cats = categories([None, "red"], np.array([0, 1]), {"green": True, "red": True})
    green, red = share_flagged(cats, np.array([0.9, 0.9]), ["a", "b"])
    assert (green["value"], green["reason"]) == (None, metrics.NO_ROWS)
    assert red["value"] == 1.0
