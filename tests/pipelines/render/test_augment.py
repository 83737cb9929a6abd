"""Augmentation and JPEG: the golden sha256, pure functions, the map, the light, nothing in a file but pixels."""

import hashlib
import json
import random
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pairs
import pytest

from pipelines.render.augment import augment, crop_pixels
from pipelines.render.draws import draw, seed_of
from pipelines.render.jpeg import encode, encode_png
from pipelines.render.light import light_table, multipliers
from pipelines.render.opencv import cv2
from pipelines.render.page import draw_page
from warehouse.leads import LEADS


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def image_of(seed: int) -> str:
    """sha256 of the JPEG of a small page; at the module's top so that a worker can import it."""
    page = pairs.lines(np.random.default_rng(seed), 340, 440)
    return sha256(encode(augment(page, draw(seed))[0]))


@pytest.fixture(scope="module")
def golden(shared):
    folder = shared / "golden" / "render"
    draws = json.loads((folder / "draws.json").read_text(encoding="utf-8"))
    jpegs = json.loads((folder / "augmented_jpeg_sha256.json").read_text(encoding="utf-8"))
    pages = {name: cv2.imread(str(folder / "plain" / f"{name}-0.png"))[..., ::-1] for name in jpegs}
    return draws, jpegs, pages


def test_the_golden_images_to_the_byte(golden):
    draws, jpegs, pages = golden
    assert len(jpegs) == 8
    for name, expected in jpegs.items():
        drawn = draw(seed_of(name))
        pixels, _ = augment(pages[name], drawn)
        assert sha256(pixels.tobytes()) == draws[name]["sha256_pixels"], name
        encoded = encode(pixels)
        assert (sha256(encoded), len(encoded)) == (expected["jpeg_sha256"], expected["bytes"]), name


def test_the_crop_in_pixels_is_the_golden_one(golden):
    for name, expected in golden[0].items():
        found = crop_pixels(1700, 2200, draw(seed_of(name)).crop)
        assert found == (expected["crop_px_top_bottom"], expected["crop_px_left_right"])


def test_the_same_for_any_number_of_threads_of_opencv():
    page = pairs.lines(np.random.default_rng(3), 850, 1100)
    before = cv2.getNumThreads()
    try:
        found = set()
        for threads in (1, 2, 3, 8):
            cv2.setNumThreads(threads)
            found.add(sha256(encode(augment(page, replace(draw(3), rotation=2))[0])))
    finally:
        cv2.setNumThreads(before)
    assert len(found) == 1


def test_importing_sets_one_thread():
    code = "import pipelines.render.augment, cv2; print(cv2.getNumThreads())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_the_same_in_any_order_and_in_any_process():
    seeds = list(range(12))
    alone = [image_of(seed) for seed in seeds]
    assert [image_of(seed) for seed in reversed(seeds)] == alone[::-1]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(image_of, seeds)) == alone
    assert len(set(alone)) == len(seeds)


def test_no_global_generator_is_read_or_moved():
    page = pairs.lines(np.random.default_rng(5), 200, 300)
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist(), np.random.get_state()[2]
    one = augment(page, draw(5))[0]
    assert (random.getstate(), np.random.get_state()[1].tolist(), np.random.get_state()[2]) == before
    np.random.seed(2)
    np.testing.assert_array_equal(augment(page, draw(5))[0], one)


def test_the_page_itself_stays_as_it_was():
    page = pairs.lines(np.random.default_rng(6), 200, 300)
    copy = page.copy()
    for crop in (0.0, 0.01):
        pixels, _ = augment(page, replace(draw(6), crop=crop, rotation=1))
        assert not np.shares_memory(pixels, page)
        np.testing.assert_array_equal(page, copy)


@pytest.mark.parametrize("crop", [0.0, 0.01])
def test_the_result_may_take_the_place_of_the_page(crop):
    page = pairs.lines(np.random.default_rng(6), 200, 300)
    drawn = replace(draw(6), crop=crop, rotation=1)
    expected, _ = augment(page, drawn)
    found, _ = augment(page, drawn, out=page)
    assert found is page
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "out", [np.zeros((200, 301, 3), np.uint8), np.zeros((200, 600, 3), np.uint8)[:, ::2]]
)
def test_a_result_that_would_be_lost_is_refused(out):
    page = pairs.lines(np.random.default_rng(6), 200, 300)
    with pytest.raises(ValueError, match="out: found"):
        augment(page, draw(6), out=out)


def test_a_page_that_is_a_view_of_another_array():
    page = pairs.pixels(np.random.default_rng(8), 120, 200)
    np.testing.assert_array_equal(
        augment(page[..., ::-1], draw(8))[0], augment(page[..., ::-1].copy(), draw(8))[0]
    )
    page.flags.writeable = False
    augment(page, draw(8))


@pytest.mark.parametrize("crop", [0.0, 0.0004, 0.005, 0.01, 0.1])
@pytest.mark.parametrize("rotation", [0, 4, -90])
def test_the_map_finds_a_mark(crop, rotation):
    """The centre of a dark disc on the page lies where the map says, within a tenth of a pixel."""
    height, width = 400, 560
    y, x = np.mgrid[:height, :width] + 0.5
    for at in ((281.3, 204.2), (230.0, 120.5), (330.0, 300.0)):
        ink = np.exp(-(((x - at[0]) / 6) ** 2 + ((y - at[1]) / 6) ** 2))
        page = np.repeat((240 - 200 * ink).round().astype(np.uint8)[..., np.newaxis], 3, axis=2)
        pixels, plain_to_image = augment(page, replace(draw(1), noise=1, crop=crop, rotation=rotation))
        green = pixels[..., 1].astype(float)
        paper = np.median(green)
        expected = plain_to_image @ (*at, 1)
        near = np.hypot(x - expected[0], y - expected[1]) < 30
        weight = np.where(near & (green < paper - 12), paper - green, 0)
        found = np.array([(weight * x).sum(), (weight * y).sum()]) / weight.sum()
        np.testing.assert_allclose(found, expected, atol=0.1)


@pytest.mark.parametrize("rotation", [0, -5, 8])
def test_the_geometry_of_a_page_stays_right(rotation):
    """A spike in every lead: the image is dark below the place that the mapped geometry gives its tip, not above."""
    mv, peaks = np.zeros(5000), (625, 1875, 3125, 4375)
    for peak in peaks:
        mv[peak - 3 : peak + 4] = (0.4, 0.8, 1.2, 1.5, 1.2, 0.8, 0.4)
    page = draw_page(dict.fromkeys(LEADS, mv), 500, 0.0)
    pixels, plain_to_image = augment(page.pixels, replace(draw(4), noise=5, crop=0.009, rotation=rotation))
    geometry = page.geometry.mapped(plain_to_image)
    darkness = 255 - pixels.max(axis=2).astype(int)
    for lead, peak in zip(("III", "aVF", "V2", "V4"), peaks, strict=True):
        tip, below, above = (geometry.to_pixel(lead, peak / 500, height) for height in (1.5, 1.35, 1.65))
        dark = [darkness[round(float(y) - 0.5), round(float(x) - 0.5)] for x, y in (tip, below, above)]
        assert min(dark[:2]) > 100 > 60 > dark[2]


def test_the_map_of_a_crop():
    drawn = replace(draw(1), crop=0.01)
    _, plain_to_image = augment(np.full((1700, 2200, 3), 255, np.uint8), drawn)
    np.testing.assert_allclose(plain_to_image @ (22, 17, 1), (0, 0), atol=1e-9)
    np.testing.assert_allclose(plain_to_image @ (2200 - 22, 1700 - 17, 1), (2200, 1700), atol=1e-9)


def test_light():
    """The anchors of the fact sheet, white to the colour of the light, black stays black."""
    assert light_table(2000)[:, 255].tolist() == [255, 137, 18]
    assert light_table(10000)[:, 255].tolist() == [204, 219, 255]
    assert light_table(17000)[:, 255].tolist() == [174, 200, 255]
    assert light_table(3999)[:, 0].tolist() == [0, 0, 0]
    assert multipliers(2550)[1] == pytest.approx((161 + 165) / 2 / 255, abs=3 / 255)
    for kelvin in range(2000, 4000):
        assert light_table(kelvin)[0].tolist() == list(range(256))
    for kelvin in (999, 40001):
        with pytest.raises(ValueError, match="expected 1000 to 40000"):
            multipliers(kelvin)


def test_noise_is_the_same_in_the_three_channels_and_as_wide_as_drawn(monkeypatch: pytest.MonkeyPatch):
    white = np.tile(np.arange(256, dtype=np.uint8), (3, 1))
    monkeypatch.setattr("pipelines.render.augment.light_table", lambda kelvin: white)
    page = np.full((600, 800, 3), 128, np.uint8)
    pixels = augment(page, replace(draw(2), noise=20, crop=0.0))[0].astype(int)
    assert (pixels == pixels[..., :1]).all()
    assert pixels.std() == pytest.approx(20, rel=0.01)
    assert pixels.mean() == pytest.approx(128, abs=0.1)


@pytest.mark.parametrize(
    "pixels", [np.zeros((5, 5), np.uint8), np.zeros((5, 5, 4), np.uint8), np.zeros((5, 5, 3), np.float32)]
)
def test_other_pixels_are_refused(pixels):
    for act in (lambda: augment(pixels, draw(1)), lambda: encode(pixels), lambda: encode_png(pixels)):
        with pytest.raises(ValueError, match=r"expected uint8 \(height, width, 3\)"):
            act()


def test_draws_of_a_plain_image_are_refused():
    with pytest.raises(ValueError, match="plain image"):
        augment(np.zeros((5, 5, 3), np.uint8), draw(1, plain=True))


def test_a_jpeg_holds_pixels_and_nothing_else():
    """No EXIF, no comment, no colour profile: the only application segment is JFIF's, without a thumbnail."""
    data = encode(augment(pairs.lines(np.random.default_rng(1), 300, 400), draw(1))[0])
    segments, at = [], 2
    assert data[:2] == b"\xff\xd8"
    while data[at + 1] != 0xDA:
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        segments.append((data[at + 1], data[at + 4 : at + 2 + length]))
        at += 2 + length
    assert [body for marker, body in segments if 0xE0 <= marker <= 0xEF or marker == 0xFE] == [
        b"JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    ]
    assert {marker for marker, _ in segments} == {0xE0, 0xDB, 0xC0, 0xC4}
    assert data.endswith(b"\xff\xd9")


def test_a_png_gives_the_pixels_back_and_holds_nothing_else():
    page = pairs.pixels(np.random.default_rng(2), 50, 70)
    data = encode_png(page)
    np.testing.assert_array_equal(
        cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)[..., ::-1], page
    )
    kinds, at = [], 8
    while at < len(data):
        kinds.append(data[at + 4 : at + 8])
        at += 12 + int.from_bytes(data[at : at + 4], "big")
    assert set(kinds) == {b"IHDR", b"IDAT", b"IEND"}


def test_quality_decides_the_size():
    page = pairs.pixels(np.random.default_rng(2), 50, 70)
    assert len(encode(page, 50)) < len(encode(page)) == len(encode(page, 90)) < len(encode(page, 98))


@pytest.mark.parametrize(
    ("missing", "act", "next_step"),
    [
        ("imgaug", "from pipelines.render.imgaug_compat import load_imgaug; load_imgaug()", "extra `imgaug`"),
        ("cv2", "import pipelines.render.augment", "opencv-python-headless"),
    ],
)
def test_a_missing_library_is_said_in_words(missing, act, next_step):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from warehouse.errors import LeadhouseError\n"
        f"try:\n    {act}\n"
        "except LeadhouseError as error:\n    print(error.exit_code, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("2 ")
    assert next_step in done.stdout
