"""Loss, thresholds, and which epoch is the better one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_pages import BINARY, pages

from pipelines.train.objective import UNDECIDED, best_threshold, objective_of
from warehouse.errors import InputError, UsageError

torch = pytest.importorskip("torch", reason="needs the extra `train`")


def f_measure(scores, truth, limit):
    named, known = scores >= limit, ~np.isnan(truth)
    hits = (named & (truth == 1)).sum()
    total = (named & known).sum() + (truth == 1).sum()
    return 2 * hits / total if total else 0.0


@given(st.lists(st.tuples(st.integers(0, 8), st.sampled_from([0.0, 1.0, np.nan])), min_size=1, max_size=30))
def test_no_threshold_has_a_larger_f(rows):
    scores, truth = np.array([a / 8 for a, _ in rows]), np.array([b for _, b in rows])
    limit = best_threshold(scores, truth)
    if not (truth == 1).any():
        assert limit == UNDECIDED
        return
    best = max(f_measure(scores, truth, other) for other in [*scores, 2.0])
    assert f_measure(scores, truth, limit) == best
    larger = [other for other in scores if other > limit]
    assert all(
        f_measure(scores, truth, other) < best for other in larger if f_measure(scores, truth, other) != best
    )


def test_a_threshold_lies_between_two_scores():
    assert best_threshold(np.array([0.9, 0.8, 0.3, 0.1]), np.array([1, 1, 0, 0])) == pytest.approx(0.55)
    assert best_threshold(np.array([0.2, 0.4]), np.array([1, 1])) == pytest.approx(0.1)
    assert best_threshold(np.array([0.5, 0.5, 0.1]), np.array([1, 0, 0])) == pytest.approx(0.3)


def test_unknown_labels_are_no_part_of_the_loss():
    objective = objective_of(pages())
    logits = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.0, -3.0]])
    targets = torch.tensor([[1.0, float("nan"), 0.0], [float("nan"), 1.0, 0.0]])
    known = ~torch.isnan(targets)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(logits[known], targets[known])
    assert objective.loss(logits, targets) == pytest.approx(expected.item())
    assert objective.loss(logits, torch.full((2, 3), torch.nan)) == 0
    logits.requires_grad_()
    objective.loss(logits, targets).backward()
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad[~known] == 0).all()


def test_balance_weighs_positives():
    objective = objective_of(pages())
    targets = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 0], [0, np.nan, 0]], dtype=float)
    objective.learn_from(targets, balance=True)
    assert objective.positive_weights.tolist() == [3.0, 1.0, 1.0]
    assert objective.without_positives == ["both ends"]
    one = objective.loss(torch.zeros(1, 3), torch.tensor([[1.0, 1.0, 0.0]]))
    assert one.item() == pytest.approx((3 + 1 + 1) * np.log(2) / 3)
    objective.learn_from(targets, balance=False)
    assert objective.positive_weights is None


def test_a_class_that_train_never_shows_is_never_predicted():
    objective = objective_of(pages())
    objective.learn_from(np.array([[1, 1, 0], [0, 0, 0]], dtype=float), balance=False)
    probabilities = np.array([[0.9, 0.2, 0.99], [0.1, 0.7, 0.99]])
    limits = objective.thresholds(probabilities, np.array([[1, 0, 1], [0, 1, 1]], dtype=float))
    assert limits[2] is None
    assert objective.predictions(probabilities, limits).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]


@pytest.mark.parametrize("value", [0.0, 1.0, np.nan])
def test_labels_that_teach_nothing(value):
    with pytest.raises(
        InputError, match="no class with positives and negatives among 4 instances of part train"
    ):
        objective_of(pages()).learn_from(np.full((4, 3), value), balance=False)


def test_a_binary_task_is_scored_by_its_probabilities():
    objective = objective_of(pages(spec=BINARY))
    scores = np.array([[0.3], [0.9]])
    assert objective.predictions(scores, [0.5]).tolist() == scores.tolist()


def test_a_kind_that_nothing_is_trained_for(monkeypatch):
    task = pages(spec=BINARY | {"kind": "regression"})
    with pytest.raises(UsageError, match="found kind regression; only binary, multiclass and multilabel"):
        objective_of(task)


def test_the_better_epoch():
    objective = objective_of(pages())
    assert objective.is_better((0.5, 1.0), (0.4, 0.1))
    assert not objective.is_better((0.4, 0.1), (0.5, 1.0))
    assert objective.is_better((0.5, 0.1), (0.5, 1.0))  # equal metric: the smaller loss
    assert not objective.is_better((0.5, 1.0), (0.5, 1.0))  # all equal: the earlier epoch
    assert objective.is_better((0.0, 9.0), (None, 0.1))
    lower = objective_of(pages(spec=BINARY | {"metrics": BINARY["metrics"] | {"primary": "brier"}}))
    assert lower.is_better((0.1, 1.0), (0.2, 1.0))
    assert not lower.is_better((None, 1.0), (0.2, 1.0))
