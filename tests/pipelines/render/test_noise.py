"""Noise: the plain path and the compiled one give the same bytes, and either is found by itself."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pairs
import pytest

from pipelines.render.noise import STRIPE, add_noise, noise_generator

has_numba = pytest.mark.skipif(find_spec("numba") is None, reason="no numba: pip install -e '.[fast]'")


def by_the_book(pixels, seed, sd, top, left):
    """imgaug's steps, one after the other on the whole page."""
    height, width = pixels.shape[:2]
    field = np.round((sd * noise_generator(seed).standard_normal((height, width))).astype(np.float32))
    noisy = np.clip(pixels + field[..., np.newaxis], 0, 255).astype(np.uint8)
    return noisy[top : height - top, left : width - left]


@pytest.mark.parametrize("height", [1, STRIPE - 1, STRIPE, STRIPE + 1, 3 * STRIPE + 7])
@pytest.mark.parametrize("sd", [0, 1, 37, 255])
def test_stripes_do_not_show(height, sd):
    page = pairs.pixels(np.random.default_rng(height), height, 211)
    for top, left in ((0, 0), (min(3, (height - 1) // 2), 5)):
        np.testing.assert_array_equal(add_noise(page, 9, sd, top, left), by_the_book(page, 9, sd, top, left))


@has_numba
def test_compiled_gives_the_same_bytes():
    from pipelines.render.noise_compiled import add_noise_compiled

    random = np.random.default_rng(11)
    pages = [
        pairs.printed(random, 0.1),
        *(pairs.pixels(random, *random.integers(20, 400, 2)) for _ in range(12)),
    ]
    for page in pages:
        top, left = (int(side) for side in random.integers(0, 9, 2))
        seed, sd = int(random.integers(2**31)), int(random.integers(1, 256))
        one, other = (adder(page, seed, sd, top, left) for adder in (add_noise, add_noise_compiled))
        np.testing.assert_array_equal(one, other)


def chosen(before: str) -> str:
    code = (
        f"import sys; {before}; from pipelines.render.noise import noise_adder; print(noise_adder().__name__)"
    )
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_without_numba_the_plain_path_is_taken():
    assert chosen("sys.modules['numba'] = None") == "add_noise"


@has_numba
def test_with_numba_the_compiled_path_is_taken():
    assert chosen("pass") == "add_noise_compiled"
