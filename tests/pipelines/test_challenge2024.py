"""The Challenge's macro F: its own tool's results bit by bit, cases by hand, lists against matrices."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.challenge2024 import NOTHING, macro, score_lists, score_matrices


def golden(shared):
    return json.loads((shared / "golden/challenge2024/scorer_golden.json").read_text())["cases"]


def lists(case):
    """Reference and output names by record; a record absent from the output has no file."""
    pairs = [(names or [], case["output"].get(record)) for record, names in case["reference"].items()]
    return [a for a, _ in pairs], [b for _, b in pairs]


def same_bits(found, expected):
    return math.isnan(found) if expected is None else found == expected


def test_every_golden_case_to_the_last_bit(shared):
    cases = [case for case in golden(shared) if case["expected"]["error"] is None]
    assert len(cases) >= 29
    for case in cases:
        expected = case["expected"]
        found = score_lists(*lists(case))
        assert same_bits(found.macro, expected["macro_f"]), case["name"]
        assert math.isnan(found.macro) == expected["macro_is_nan"], case["name"]
        assert list(found.classes) == expected["classes"], case["name"]
        assert found.classes == expected["per_class_f"], case["name"]
        assert {name: repr(value) for name, value in found.classes.items()} == expected["per_class_f_repr"]


def test_the_matrices_give_the_golden_bits_too(shared):
    """All cases but those with NaN names, which no matrix of named columns can hold."""
    cases = [case for case in golden(shared) if case["expected"]["error"] is None]
    for case in cases:
        if case["name"] == "nan_names":
            continue
        expected = case["expected"]
        reference, output = lists(case)
        # '' alone is no label; beside another name it is a class.
        reference = [names if any(names) else [] for names in reference]
        names = sorted({name for record in (*reference, *output) for name in record or () if name} | {""})
        truth, predicted = (one_hot(side, names) for side in (reference, output))
        predicted[:, 0] &= truth[:, 0].any()
        found = score_matrices(truth, predicted, names)
        assert same_bits(found.macro, expected["macro_f"]), case["name"]
        assert found.classes == expected["per_class_f"], case["name"]


def one_hot(records, names):
    matrix = np.array([[name in (record or ()) for name in names] for record in records], dtype=bool)
    return matrix.reshape(len(records), len(names))


A, B, C = ["a"], ["b"], ["c"]


@pytest.mark.parametrize(
    ("reference", "output", "macro_f", "classes"),
    [
        ([A, B], [A, B], 1.0, {"a": 1.0, "b": 1.0}),
        ([A, A, B], [A, B, B], 2 / 3, {"a": 2 / 3, "b": 2 / 3}),
        ([A, B], [A, None], 0.5, {"a": 1.0, "b": 0.0}),
        ([A, B], [A, []], 0.5, {"a": 1.0, "b": 0.0}),
        ([A, []], [A, ["a", "b"]], 1.0, {"a": 1.0}),  # nothing counts on a record without a label
        ([A, [""]], [A, A], 1.0, {"a": 1.0}),
        ([A], [["a", "b"]], 1.0, {"a": 1.0}),  # b is no class
        ([A, B], [C, None], 0.0, {"a": 0.0, "b": 0.0}),  # one name anywhere is enough for a 0
        ([A, B], [None, [""]], None, {}),
        ([A], [[]], None, {}),
        ([[], [""]], [A, B], None, {}),
        ([], [], None, {}),
        ([["a", "a"]], [["a", "a", "a"]], 1.0, {"a": 1.0}),
        ([A], [["A"]], 0.0, {"a": 0.0}),
        ([["a", ""], B], [A, B], 2 / 3, {"": 0.0, "a": 1.0, "b": 1.0}),
        ([["a", ""], B], [["a", ""], [""]], 1 * (2 / 3 + 1) / 3, {"": 2 / 3, "a": 1.0, "b": 0.0}),
        ([["NaN"], ["nan"]], [["-nan"], None], 2 / 3, {"NaN": 2 / 3, "nan": 2 / 3}),
        ([["b"], ["B"], ["a"]], [["b"], ["B"], ["a"]], 1.0, {"B": 1.0, "a": 1.0, "b": 1.0}),
    ],
)
def test_cases_by_hand(reference, output, macro_f, classes):
    found = score_lists(reference, output)
    assert same_bits(found.macro, macro_f)
    assert found.classes == classes
    assert list(found.classes) == sorted(classes)


def test_records_must_be_paired():
    with pytest.raises(ValueError, match="zip"):
        score_lists([A, B], [A])


NAMES = ("b", "a", "B", "d c", "e")


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 12), st.integers(1, 5), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_lists_and_matrices_are_the_same_function(records, k, some, other, seed):
    rng = np.random.default_rng(seed)
    names = NAMES[:k]
    truth, predicted = rng.random((records, k)) < some, rng.random((records, k)) < other
    found = score_matrices(truth, predicted, names)
    as_lists = [[[names[j] for j in np.flatnonzero(row)] for row in side] for side in (truth, predicted)]
    expected = score_lists(*as_lists)
    assert repr(found) == repr(expected)


def test_a_large_matrix_has_the_bits_of_the_lists():
    """More than eight classes: numpy sums them in another order than a loop would."""
    rng = np.random.default_rng(5)
    names = [f"class {j:02d}" for j in rng.permutation(29)]
    truth, predicted = rng.random((400, 29)) < 0.1, rng.random((400, 29)) < 0.2
    as_lists = [[[names[j] for j in np.flatnonzero(row)] for row in side] for side in (truth, predicted)]
    assert score_matrices(truth, predicted, names) == score_lists(*as_lists)


def test_fixed_classes_stay_without_a_positive():
    found = score_lists([A, A], [A, B], classes=["a", "b", "c"])
    assert found.classes["a"] == 2 / 3
    assert found.classes["b"] == 0.0
    assert math.isnan(found.classes["c"])
    assert found.macro == (2 / 3 + 0.0) / 2
    assert score_lists([A], [None], classes=["a"]) is NOTHING


def test_the_mean_skips_what_is_undefined():
    values = np.array([[1.0, np.nan, 0.5], [np.nan, np.nan, np.nan]])
    assert macro(values).tolist()[0] == 0.75
    assert np.isnan(macro(values)[1])
