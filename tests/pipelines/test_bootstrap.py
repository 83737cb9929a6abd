import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from pipelines import bootstrap
from pipelines.bootstrap import differences, draws, intervals, replicates, sorted_groups
from pipelines.metrics import METRICS, categories

CLOSE = 1e-12


def _golden(shared):
    cases = json.loads((shared / "golden/vitaldb/metrics_golden.json").read_text())["cases"]
    return [case for case in cases if case.get("bootstrap")]


def test_draws_equal_the_golden(shared):
    for case in _golden(shared):
        contract = case["bootstrap"]
        groups, _ = sorted_groups(case["subject"])
        assert groups.tolist() == contract["subjects_sorted"]
        first = [groups[drawn].tolist() for drawn in draws(len(groups), 3, contract["seed"])]
        assert first == contract["first_three_draws"]


def test_limits_equal_the_golden(shared):
    cases = _golden(shared)
    assert len(cases) >= 5
    for case in cases:
        contract = case["bootstrap"]
        made = replicates(
            np.array(case["y"]),
            [np.array(case["score"])],
            case["subject"],
            n=contract["n"],
            seed=contract["seed"],
        )
        for name, found in intervals(made).items():
            expected = contract["ci95"][name]
            for key, value in expected.items():
                if value is None:
                    assert getattr(found, key) is None, (case["name"], name, key)
                else:
                    assert getattr(found, key) == pytest.approx(value, abs=CLOSE, rel=0), (case["name"], name)


def slow(y, score, groups, n, seed, threshold=0.5):
    """The same contract written out: rows repeated, scikit-learn called, NaN where undefined."""
    names = sorted(set(groups))
    rng = np.random.default_rng(seed)
    values = {name: [] for name in METRICS}
    for _ in range(n):
        drawn = rng.integers(0, len(names), size=len(names))
        rows = np.concatenate([np.flatnonzero(np.array(groups) == names[i]) for i in drawn])
        t, s = y[rows], score[rows]
        flagged = s >= threshold
        some, both = t.any(), t.any() and not t.all()
        values["auroc"].append(sk.roc_auc_score(t, s) if both else np.nan)
        values["auprc"].append(sk.average_precision_score(t, s) if some else np.nan)
        values["brier"].append(sk.brier_score_loss(t, s, pos_label=1))
        values["accuracy"].append(sk.accuracy_score(t, flagged))
        values["sensitivity"].append(sk.recall_score(t, flagged) if some else np.nan)
        values["specificity"].append(sk.recall_score(t, flagged, pos_label=0) if not t.all() else np.nan)
        values["f1"].append(sk.f1_score(t, flagged, zero_division=0) if some or flagged.any() else np.nan)
    return {name: np.array(column) for name, column in values.items()}


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 8), st.sampled_from([1, 3, 10, 1000]), st.integers(0, 2**32 - 1))
def test_every_replicate_equals_scikit_learn(rows, groups, levels, seed):
    """`levels` sets how many scores tie: 1 means that all of them do, at 0 or 1."""
    rng = np.random.default_rng(seed)
    y = (rng.random(rows) < rng.random()).astype(int)
    score = np.round(rng.random(rows) * levels) / levels
    group = rng.integers(0, groups, rows).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = slow(y, score, group, 12, seed)
    made = replicates(y, [score], group, n=12, seed=seed)
    for name in METRICS:
        np.testing.assert_allclose(made.metrics[name][0], expected[name], rtol=0, atol=CLOSE, err_msg=name)


def _example(n=300, groups=17, seed=5):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    score = np.clip(np.round(0.2 * y + rng.normal(0.4, 0.2, n), 2), 0, 1)
    return y, score, rng.integers(100, 100 + groups, n)


def test_chunks_do_not_change_a_bit():
    y, score, group = _example()
    whole = replicates(y, [score], group, n=50, seed=1)
    for cells in (1, 7 * len(y), 50 * len(y) - 1):
        parts = replicates(y, [score], group, n=50, seed=1, cells=cells)
        for name in METRICS:
            assert whole.metrics[name].tobytes() == parts.metrics[name].tobytes()


def test_row_order_does_not_matter_for_the_areas():
    y, score, group = _example()
    order = np.random.default_rng(3).permutation(len(y))
    made = replicates(y, [score], group, n=40, seed=1)
    shuffled = replicates(y[order], [score[order]], group[order], n=40, seed=1)
    for name in ("auroc", "auprc", "f1"):
        assert made.metrics[name].tobytes() == shuffled.metrics[name].tobytes()


def test_integers_sort_as_integers_also_as_text():
    assert sorted_groups(np.array([10, 9, 100]))[0].tolist() == [9, 10, 100]
    assert sorted_groups(["10", "9", "100"])[0].tolist() == [9, 10, 100]
    assert sorted_groups(["010", "9", "100"])[0].tolist() == ["010", "100", "9"]
    assert sorted_groups(np.array(["b", "a"], dtype=object))[0].tolist() == ["a", "b"]
    y, score, group = _example()
    numbers = replicates(y, [score], group, n=20, seed=1)
    texts = replicates(y, [score], group.astype(str), n=20, seed=1)
    assert numbers.metrics["auroc"].tobytes() == texts.metrics["auroc"].tobytes()


def test_shares_are_counted_on_the_same_draws():
    y, score, group = _example()
    cats = categories(np.where(y, "red", "plain").tolist(), y, {"red": True, "plain": False, "green": True})
    made = replicates(y, [score], group, n=30, seed=2, cats=cats)
    red, plain, green = made.shares[0].T
    np.testing.assert_allclose(red, made.metrics["sensitivity"][0], rtol=0, atol=CLOSE)
    np.testing.assert_allclose(plain, 1 - made.metrics["specificity"][0], rtol=0, atol=CLOSE)
    assert np.isnan(green).all()


def test_replicates_without_a_class_are_counted_not_dropped_in_silence():
    y, score = np.array([1, 1, 0, 0]), np.array([0.9, 0.3, 0.2, 0.6])
    found = intervals(replicates(y, [score], ["a", "a", "b", "b"], n=200, seed=20261029))
    assert 0 < found["auroc"].n_undefined < 200
    assert found["auroc"].n_defined + found["auroc"].n_undefined == 200
    assert found["specificity"].n_undefined == found["auprc"].n_trivial > 0
    assert found["auprc"].n_undefined == found["sensitivity"].n_undefined > 0
    assert found["brier"].n_undefined == 0


def test_a_paired_difference_is_the_difference_on_the_same_draws():
    y, score, group = _example()
    other = np.clip(score * 0.5 + np.random.default_rng(9).random(len(y)) * 0.5, 0, 1)
    both = replicates(y, [score, other], group, n=60, seed=4)
    for name in METRICS:
        alone = [replicates(y, [s], group, n=60, seed=4).metrics[name][0] for s in (score, other)]
        assert both.metrics[name].tobytes() == np.stack(alone).tobytes()
        expected = np.percentile(alone[0] - alone[1], [2.5, 97.5])
        found = differences(both)[name]
        assert (found.lo, found.hi) == tuple(expected)


def test_a_submission_does_not_differ_from_itself():
    y, score, group = _example()
    for found in differences(replicates(y, [score, score.copy()], group, n=60, seed=4)).values():
        assert (found.lo, found.hi, found.mean) == (0.0, 0.0, 0.0)


def test_no_rows_and_no_replicates_give_no_interval():
    none = intervals(replicates(np.array([], dtype=int), [np.array([])], [], n=5, seed=1))
    assert all((x.lo, x.n_defined, x.n_undefined) == (None, 0, 5) for x in none.values())
    y, score, group = _example()
    zero = intervals(replicates(y, [score], group, n=0, seed=1))
    assert all((x.hi, x.n_defined, x.n_undefined) == (None, 0, 0) for x in zero.values())


def test_memory_is_bounded_by_the_cells(monkeypatch):
    y, score, group = _example()
    sizes = []
    kept = bootstrap.multiplicities

    def watched(k, n, seed, size):
        sizes.append(size)
        yield from kept(k, n, seed, size)

    monkeypatch.setattr(bootstrap, "multiplicities", watched)
    replicates(y, [score], group, n=1000, seed=1, cells=3 * len(y))
    assert sizes == [3]
