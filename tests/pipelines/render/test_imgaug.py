"""The default augmentation beside imgaug itself. Without imgaug these tests skip: `make test` installs it."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pairs
import pytest

from pipelines.render.augment import augment
from pipelines.render.draws import draw
from pipelines.render.imgaug_compat import load_imgaug

if find_spec("imgaug") is None:
    pytest.skip(
        "no imgaug; `make test` installs it: pip install --no-deps imgaug==0.4.0", allow_module_level=True
    )

from pipelines.render import imgaug_reference


def test_no_byte_differs():
    differences = [
        (number, pairs.differing(*pair)) for number, pair in enumerate(pairs.pairs(16, root_seed=4))
    ]
    assert [pair for pair in differences if pair[1]] == []


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pipelines.render.noise.SKIPPED_WORDS", 11)
    assert pairs.main(["--n", "2"]) == 1


def test_a_turn_is_imgaugs():
    page = pairs.lines(np.random.default_rng(1), 500, 700)
    for degrees in (-180, -90, -7, 1, 30, 90):
        drawn = replace(draw(5), rotation=degrees)
        ours, turned = augment(page, drawn)
        theirs, also = imgaug_reference.augment(page, drawn)
        np.testing.assert_array_equal(turned, also)
        # On NumPy 2 imgaug's matrix is in single precision, so a few of its pixels fall a count off.
        apart = np.abs(ours.astype(int) - theirs)
        assert apart.max() <= (1 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 0)
        assert (apart > 0).mean() < 0.002


def test_global_generators_stay_as_they_were():
    import random

    imgaug = load_imgaug()

    def states():
        numpy_state = np.random.get_state()
        imgaug_state = imgaug.random.get_global_rng().state
        return random.getstate(), numpy_state[1].tolist(), numpy_state[2:], repr(imgaug_state)

    before = states()
    imgaug_reference.augment(np.full((40, 50, 3), 200, np.uint8), draw(3))
    assert states() == before


def test_numpy_is_left_as_it_was():
    load_imgaug()
    assert np.lib.NumpyVersion(np.__version__) < "2.0.0" or not hasattr(np, "sctypes")
