"""Words: cut ones from the package, others by the installed matplotlib, blended as the renderer blends them."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import RendererAgg

from pipelines.render import lettering
from pipelines.render.cut_lettering import DPI, WORDS
from pipelines.render.lettering import PrintedWord, place, print_words, word
from pipelines.render.settings import PUBLISHED


def test_every_word_that_should_be_cut_is_cut(monkeypatch):
    def refuse(*_):
        raise AssertionError("set by the installed matplotlib")

    monkeypatch.setattr(lettering, "_set", refuse)
    lettering.word.cache_clear()
    assert PUBLISHED.dpi in DPI
    for dpi in DPI:
        for text in WORDS:
            cut = word(text, dpi)
            rows = np.flatnonzero(cut.mask.any(axis=1))
            assert cut.mask.max() > 150
            assert rows[-1] - rows[0] + 1 == pytest.approx(11 / 72 * dpi * 0.75, abs=0.2 * 11 / 72 * dpi)


def test_a_cut_letter_has_the_size_of_the_fact_sheet():
    """Capitals 22 px high at 200 dpi, standing on the baseline."""
    printed = place("V1", (1102.36, 763.45), 200)
    assert np.abs(np.subtract(printed.ink, (1104, 741, 1139, 763))).max() <= 1, (
        "the faintest edge counts here"
    )
    assert place("I", (118.11, 763.45), 200).ink == (121, 741, 124, 763)


def test_other_texts_are_set_by_the_installed_matplotlib():
    """They stand where the cut ones stand and have their size; only the shapes may differ a little."""
    for text in ("aVR", "25mm/s", "V6"):
        cut, own = word(text, 200), lettering._set(text, 200)
        pen = (100.3, 200.2)
        one, other = (PrintedWord(text, each.mask, box(each, pen)).ink for each in (cut, own))
        assert np.abs(np.subtract(one, other)).max() <= 2
        assert abs(int(own.mask.sum()) - int(cut.mask.sum())) < 0.15 * cut.mask.sum()
    assert word("33mm/s", 200).mask.any()
    assert word("V1", 233).mask.any()


def box(cut, pen):
    height, width = cut.mask.shape
    left, bottom = round(pen[0] + cut.x), round(pen[1] + cut.y) + 1
    return left, bottom - height, left + width, bottom


def test_blending_is_aggs():
    """Every coverage over every grey, against the renderer itself."""
    cover = np.arange(256, dtype=np.uint8)
    renderer = RendererAgg(256, 256, 100)
    canvas = np.asarray(renderer.buffer_rgba())
    canvas[...] = np.arange(256)[:, None, None]
    canvas[..., 3] = 255
    before = canvas[..., :3].copy()
    mask = np.repeat(cover[None], 256, axis=0)
    renderer._renderer.draw_text_image(mask, 0, 256, 0, renderer.new_gc())
    print_words(before, [PrintedWord("", mask, (0, 0, 256, 256))])
    assert (before == canvas[..., :3]).all()


def test_words_are_cut_off_by_the_edge():
    page = np.full((20, 20, 3), 255, np.uint8)
    mask = np.full((10, 10), 255, np.uint8)
    print_words(
        page, [PrintedWord("", mask, box) for box in ((-5, -5, 5, 5), (15, 15, 25, 25), (30, 0, 40, 10))]
    )
    expected = np.full((20, 20), 255)
    expected[:5, :5] = expected[15:, 15:] = 0
    assert (page == expected[..., None]).all()
