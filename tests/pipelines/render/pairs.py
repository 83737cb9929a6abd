"""Pages and seeds on which the default augmentation is compared with imgaug, byte for byte.

``python -m tests.pipelines.render.pairs --n 1000`` compares that many and exits 1 on a difference. Every second page
is a full one: ECG paper with random traces, printed by `draw_page`; the others are lines on a grid or random pixels,
of random sizes down to a few pixels, since the rounding of the crop and the stretching depend on the size.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pipelines.render.augment import augment
from pipelines.render.draws import PUBLISHED_AUGMENT, AugmentSettings, Draws, draw
from pipelines.render.page import draw_page
from warehouse.leads import LEADS

ROOT_SEED = 20261030
WIDE = AugmentSettings(noise_max=255, crop=0.2)
HZ = 500


def pairs(n: int, root_seed: int = ROOT_SEED) -> Iterator[tuple[np.ndarray, Draws]]:
    """``n`` pages with draws; the same for the same ``root_seed``."""
    random = np.random.default_rng(root_seed)
    for number in range(n):
        seed = int(random.integers(2**31))
        if number % 2 == 0:
            drawn = draw(seed)
            yield printed(random, drawn.grey), drawn
            continue
        drawn = draw(seed, (PUBLISHED_AUGMENT, WIDE)[number // 2 % 2])
        if number % 16 == 3:
            drawn = replace(drawn, crop=0.0)
        height, width = (int(side) for side in random.integers(1, 900, 2))
        yield (lines if number % 4 == 1 else pixels)(random, height, width), drawn


def printed(random: np.random.Generator, grey: float) -> np.ndarray:
    """A published page of twelve random walks, some of them with gaps."""
    leads = {}
    for lead in LEADS:
        mv = np.cumsum(random.normal(0, 0.03, 10 * HZ)) + random.normal(0, 0.3)
        if random.random() < 0.1:
            start = int(random.integers(9 * HZ))
            mv[start : start + HZ] = np.nan
        leads[lead] = mv
    return draw_page(leads, HZ, grey).pixels


def lines(random: np.random.Generator, height: int, width: int) -> np.ndarray:
    """A pink grid with dark bars across it."""
    page = np.full((height, width, 3), 255, np.uint8)
    step = int(random.integers(5, 40))
    page[::step] = page[:, ::step] = (254, 223, 219)
    for row in random.integers(0, height, 10):
        page[row : row + 2, int(random.integers(width)) :] = random.integers(0, 60)
    return page


def pixels(random: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Every value beside every other, unlike in the three channels."""
    return random.integers(0, 256, (height, width, 3), dtype=np.uint8)


def differing(page: np.ndarray, drawn: Draws) -> int:
    """Bytes that differ between the default path and imgaug."""
    from pipelines.render import imgaug_reference

    ours, _ = augment(page, drawn)
    theirs, _ = imgaug_reference.augment(page, drawn)
    return ours.size if ours.shape != theirs.shape else int((ours != theirs).sum())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1000, help="pairs to compare")
    parser.add_argument("--seed", type=int, default=ROOT_SEED, help="where pages and seeds come from")
    options = parser.parse_args(arguments)
    different, begin = 0, time.process_time()
    for number, (page, drawn) in enumerate(pairs(options.n, options.seed)):
        count = differing(page, drawn)
        if count:
            different += 1
            print(f"pair {number}: {count} bytes differ, page {page.shape}, {drawn}")
    seconds = time.process_time() - begin
    print(f"{options.n} pairs, {different} with a byte different, {seconds:.0f} CPU s")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
