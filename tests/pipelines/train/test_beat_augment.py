"""Seeded changes of a heartbeat, and how classes are drawn evenly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.train.augment import NOISE, OFFSET, SCALE, SHIFT, augmented
from pipelines.train.inputs import copies, evenly, read_ahead

BEATS = np.zeros((400, 187), np.float32)
BEATS[:, :120] = 0.25 + 0.75 * np.sin(np.linspace(0.1, 3, 120))
PLACES, NONE = np.arange(400), np.zeros(400, int)


def test_a_draw_depends_on_its_key_alone():
    """Neither on the batch nor on the order; and on every part of the key."""
    whole = augmented(BEATS, 3, 5, PLACES, NONE)
    some = np.array([7, 399, 12])
    assert np.array_equal(augmented(BEATS[some], 3, 5, some, NONE[:3]), whole[some])
    for other in (
        augmented(BEATS, 4, 5, PLACES, NONE),
        augmented(BEATS, 3, 6, PLACES, NONE),
        augmented(BEATS, 3, 5, PLACES + 400, NONE),
        augmented(BEATS, 3, 5, PLACES, NONE + 1),
    ):
        assert not (other == whole).all(axis=1).any()


def test_amounts():
    """Shift, factor, offset and noise are as large as stated, each estimated from flat and from steep beats."""
    n = 20_000
    flat = np.ones((n, 187), np.float32)
    made = augmented(flat, 0, 0, np.arange(n), np.zeros(n, int))
    means = made.mean(axis=1)
    assert means.mean() == pytest.approx(1, abs=0.005)
    assert means.std() == pytest.approx(np.hypot(SCALE, OFFSET), rel=0.03)
    assert (made - means[:, None]).std() == pytest.approx(NOISE, rel=0.03)
    mark = np.full((n, 187), 0.1, np.float32)
    mark[:, 90] = 50
    found = augmented(mark, 0, 0, np.arange(n), np.zeros(n, int)).argmax(axis=1) - 90
    values, counts = np.unique(found, return_counts=True)
    assert values.tolist() == list(range(-SHIFT, SHIFT + 1))
    assert counts.min() > 0.9 * n / len(values)


def test_filling_stays_filling():
    made = augmented(BEATS, 0, 0, PLACES, NONE)
    assert made.dtype == np.float32
    assert (made[:, 120 + SHIFT :] == 0).all()
    assert not augmented(np.zeros((3, 187), np.float32), 0, 0, PLACES[:3], NONE[:3]).any()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 5))
def test_classes_are_drawn_evenly(labels, seed):
    labels = np.array(labels)
    order = evenly(labels, np.random.default_rng(seed))
    assert len(order) == len(labels)
    counts = np.unique(labels[order], return_counts=True)[1]
    assert counts.max() - counts.min() <= 1
    for each in np.unique(labels):  # used up before one comes again
        times = np.bincount(order[labels[order] == each], minlength=len(labels))[labels == each]
        assert times.max() - times.min() <= 1


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_copies_are_counted(order):
    seen, expected = {}, []
    for place in order:
        expected.append(seen.get(place, 0))
        seen[place] = seen.get(place, 0) + 1
    assert copies(np.array(order)).tolist() == expected


def test_batches_are_changed_by_place_and_copy():
    data = np.arange(5, dtype=float)[:, None]
    batches = [np.array([3, 1]), np.array([3, 3])]
    found = list(read_ahead(data, batches, lambda batch, places, before: batch * 10 + before[:, None]))
    assert [batch.ravel().tolist() for _, batch in found] == [[30, 10], [31, 32]]
