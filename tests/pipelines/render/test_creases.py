"""Creases, wrinkles and header text: where they fall, that nothing moves, that they are off unless asked for."""

from dataclasses import replace

import numpy as np
import pairs
import pytest

from pipelines.render.augment import augment
from pipelines.render.creases import crease_light, shade, wrinkle_texture
from pipelines.render.draws import AugmentSettings, draw
from pipelines.render.header import print_header
from pipelines.render.page import draw_page
from pipelines.render.settings import PageSettings
from warehouse.leads import LEADS


def test_level_creases_divide_the_page_evenly():
    light = crease_light(400, 600, 0, across=3, down=2)
    for profile, extent, number in ((light[:, 250], 400, 3), (light[50], 600, 2)):
        middle = np.flatnonzero(profile > 1.24)
        creases = np.split(middle, np.flatnonzero(np.diff(middle) > 1) + 1)
        centres = [crease.mean() + 0.5 for crease in creases]
        expected = [extent * part / (number + 1) for part in range(1, number + 1)]
        np.testing.assert_allclose(centres, expected, atol=1)
    assert light.max() == pytest.approx(1.25)
    assert light.min() == 1
    assert (light == 1).mean() > 0.6


@pytest.mark.parametrize("degrees", [1, 30, 45, 60, 89])
def test_creases_rise_to_the_right_and_cross_at_a_right_angle(degrees):
    """Two creases in all: on either, steps along it stay on the middle of the crease."""
    height, width = 500, 500
    sin, cos = np.sin(np.deg2rad(degrees)), np.cos(np.deg2rad(degrees))
    light = crease_light(height, width, degrees, across=1, down=1)
    for along_x, along_y in ((cos, -sin), (-sin, -cos)):
        steps = np.linspace(-200, 200, 81)
        x, y = width / 2 + steps * along_x, height / 2 + steps * along_y
        assert (light[np.floor(y).astype(int), np.floor(x).astype(int)] > 1.2).all()


def test_wrinkles_shade_and_move_nothing():
    page = np.full((425, 550, 3), 255, np.uint8)
    page[200:204] = 0
    copy = page.copy()
    drawn = draw(4, AugmentSettings(wrinkles=True))
    shaded = shade(page, drawn)
    np.testing.assert_array_equal(page, copy)
    assert (shaded[200:204] == 0).all()
    assert 255 * 0.6 < shaded[:195].mean() < 255 * 0.95
    assert shaded[:195].std() > 10
    plain, creased = augment(page, replace(drawn, crease_angle=None))[1], augment(page, drawn)[1]
    np.testing.assert_array_equal(plain, creased)


def test_twenty_textures_each_its_own():
    textures = [wrinkle_texture(number) for number in range(1, 21)]
    assert len({texture.tobytes() for texture in textures}) == 20
    assert all(abs(float(texture.mean()) - 0.4) < 0.02 for texture in textures)
    wrinkle_texture.cache_clear()
    np.testing.assert_array_equal(wrinkle_texture(7), textures[6])


def test_off_unless_asked_for():
    page = pairs.lines(np.random.default_rng(1), 200, 300)
    assert draw(1).crease_angle is None
    assert not np.array_equal(
        augment(page, draw(1, AugmentSettings(wrinkles=True)))[0], augment(page, draw(1))[0]
    )


def test_header_text_stands_in_the_upper_left_corner():
    pixels = np.full((1700, 2200, 3), 255, np.uint8)
    words = print_header(pixels, [["First line", "second column"], [], ["third line"]])
    assert [word.text for word in words] == ["First line", "second column", "third line"]
    ink = (pixels < 128).all(axis=2)
    for word in words:
        left, top, right, bottom = word.ink
        assert ink[top:bottom, left:right].any()
        ink[top:bottom, left:right] = False
    assert not ink.any()
    assert words[0].ink[0] == pytest.approx(1.25 / 25.4 * 200, abs=4)
    assert words[1].ink[0] - words[0].ink[0] == pytest.approx(75 / 25.4 * 200, abs=4)
    assert words[2].box[3] - words[0].box[3] == pytest.approx(10 / 25.4 * 200, abs=8)


def test_header_text_follows_the_resolution_and_is_cut_off_at_the_edge():
    pixels = np.full((850, 1100, 3), 255, np.uint8)
    words = print_header(pixels, [["a", "b", "c", "M" * 60]], PageSettings(dpi=100))
    assert words[1].ink[0] == pytest.approx((1.25 + 75) / 25.4 * 100, abs=4)
    assert (pixels[:, -5:] < 128).any()


@pytest.mark.parametrize("text", ["two\nlines", "a\ttab", "\x00"])
def test_text_without_glyphs_is_refused(text):
    with pytest.raises(ValueError, match="header row 2: found"):
        print_header(np.full((300, 300, 3), 255, np.uint8), [["fine"], [text]])


def test_a_page_has_no_header_of_its_own():
    """The upper band of a page is paper and grid: equal to that of any other record."""
    random = np.random.default_rng(0)
    pages = [
        draw_page({lead: random.normal(0, 0.1, 5000) for lead in LEADS}, 500, 0.1).pixels for _ in range(2)
    ]
    np.testing.assert_array_equal(pages[0][:600], pages[1][:600])
    assert (pages[0][3:600, 3:-3].max(axis=2) >= 250).all()
