"""Pixel ↔ lead, second, mV: the golden geometry, round trips, and peaks found on the picture itself."""

import json

import numpy as np
import pytest
from golden_records import NAMES, golden_draws, golden_leads
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.render.augment import augment, crop_map
from pipelines.render.draws import draw
from pipelines.render.opencv import cv2
from pipelines.render.page import draw_page
from pipelines.render.settings import LAYOUTS, PageSettings

LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")


@pytest.fixture(scope="module")
def flat():
    return draw_page(dict.fromkeys(LEADS, np.zeros(5000)), 500, 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_where_the_generator_says(shared, name):
    golden = json.loads((shared / "golden/render/geometry.json").read_text())[name]
    leads, hz = golden_leads(shared, name)
    geometry = draw_page(leads, hz, 0.1).geometry
    assert (geometry.width, geometry.height) == (golden["width"], golden["height"])
    assert len(golden["leads"]) == len(geometry.leads) == 13
    for expected, placed in zip(golden["leads"], geometry.leads, strict=True):
        assert placed.panel.lead == expected["lead_name"]
        assert (placed.first_sample, placed.end_sample) == (expected["start_sample"], expected["end_sample"])
        x, y = geometry.sample_pixels(placed, leads[placed.panel.lead])
        every = np.column_stack([y, x])[::250]
        assert np.abs(every - expected["pixels_yx_every_250"]).max() < 0.0051
        assert np.abs([y[-1] - expected["last"][0], x[-1] - expected["last"][1]]).max() < 0.0051


def test_scale_and_baselines_of_the_published_page(flat):
    geometry = flat.geometry
    assert geometry.px_per_s == pytest.approx(196.850394, abs=1e-6)
    assert geometry.px_per_mv == pytest.approx(78.740157, abs=1e-6)
    found = {placed.panel.row: placed.baseline for placed in geometry.leads}
    assert [found[row] for row in range(4)] == pytest.approx([708.333, 991.667, 1275.0, 1534.711], abs=1e-3)
    starts = [geometry.find(lead).left for lead in ("I", "aVR", "V1", "V4")]
    assert starts == pytest.approx([118.110, 610.236, 1102.362, 1594.488], abs=1e-3)
    assert geometry.find("II", rhythm=True).panel.end_s == 10


CROPS = st.tuples(st.integers(0, 17), st.integers(0, 22)).map(lambda cut: crop_map(1700, 2200, *cut))
TURNS = st.floats(-30, 30).map(lambda degrees: cv2.getRotationMatrix2D((1100, 850), degrees, 1.0))


@given(
    st.sampled_from([(lead, False) for lead in LEADS] + [("II", True)]),
    st.lists(st.tuples(st.floats(0, 1), st.floats(-15, 15)), min_size=1, max_size=20),
    st.lists(st.one_of(CROPS, TURNS), max_size=3),
)
@settings(deadline=None)
def test_there_and_back(flat, which, points, maps):
    geometry = flat.geometry
    for each in maps:
        geometry = geometry.mapped(each)
    placed = geometry.find(*which)
    share, mv = np.array(points).T
    second = placed.panel.begin_s + share * (placed.panel.end_s - placed.panel.begin_s)
    x, y = geometry.to_pixel(which[0], second, mv, which[1])
    back = geometry.to_signal(which[0], x, y, which[1])
    assert np.allclose(back, (second, mv), atol=1e-9)


@given(st.floats(0, 2200), st.floats(0, 1700), st.lists(st.one_of(CROPS, TURNS), max_size=2))
@settings(deadline=None)
def test_what_a_pixel_says_lies_at_that_pixel(flat, x, y, maps):
    geometry = flat.geometry
    for each in maps:
        geometry = geometry.mapped(each)
    reading = geometry.at(x, y)
    plain_x = np.linalg.solve(np.vstack([geometry.to_image, [0, 0, 1]]), [x, y, 1])[0]
    assert (reading is None) == (not 118.1102 <= plain_x < 2086.6142) or abs(plain_x - 118.1102) < 1e-3
    if reading:
        found = geometry.to_pixel(reading.lead, reading.second, reading.mv, reading.rhythm)
        assert np.allclose(found, (x, y), atol=1e-6)


def test_the_pixel_of_a_point_names_its_lead(flat):
    geometry = flat.geometry.mapped(crop_map(1700, 2200, 16, 20))
    for placed in geometry.leads:
        panel = placed.panel
        x, y = geometry.to_pixel(panel.lead, panel.begin_s + 1.25, 0.4, panel.rhythm)
        reading = geometry.at(x, y)
        assert (reading.lead, reading.rhythm) == (panel.lead, panel.rhythm)
        assert reading.second == pytest.approx(panel.begin_s + 1.25)
        assert reading.mv == pytest.approx(0.4)
    assert geometry.at(3, 900) is None


def test_a_second_that_a_lead_does_not_show(flat):
    assert flat.geometry.to_pixel("aVR", 2.5, 0)[0] == pytest.approx(610.236, abs=1e-3)
    with pytest.raises(ValueError, match=r"seconds from 2\.5 to 5"):
        flat.geometry.to_pixel("aVR", [3, 5.01], [0, 0])
    with pytest.raises(KeyError, match="no strip V1"):
        flat.geometry.to_pixel("V1", 3, 0, rhythm=True)


def r_peaks(leads, geometry, hz):
    """Samples that stand out of a second of their lead by 0.4 mV above everything beside the peak, and are drawn."""
    for placed in geometry.leads:
        mv = leads[placed.panel.lead]
        for at in range(placed.first_sample + int(0.3 * hz), placed.end_sample - int(0.3 * hz)):
            beside = mv[at - int(0.25 * hz) : at + int(0.25 * hz)]
            if mv[at] == beside.max() > np.median(beside) + 0.4 and (beside == mv[at]).sum() == 1:
                yield placed, at, mv[at]


def tip(dark: np.ndarray, x: float, y: float) -> tuple[float, float]:
    """The uppermost dark pixel of what is dark and hangs together below (x, y): its middle, and its upper edge."""
    left, top = int(x) - 6, int(y) - 8
    window = dark[top : top + 30, left : left + 13]
    rows = np.flatnonzero(window.any(axis=1))
    columns = np.flatnonzero(window[rows[0]])
    return left + columns.mean() + 0.5, top + float(rows[0])


HALF_LINE = 0.75 * 200 / 72 / 2


@pytest.mark.parametrize("cut", [(0, 0), (1, 22), (17, 3)])
@pytest.mark.parametrize("name", ["s0010_00s", "s0010_10s", "syn_sinus75", "ptbxl00001_500hz"])
def test_r_peaks_are_found_on_the_picture(shared, name, cut):
    """Within a pixel, on the plain page and after a crop of the published size.

    A line with round joins reaches half its width above the peak, more where it is steep.
    """
    leads, hz = golden_leads(shared, name)
    page = draw_page(leads, hz, 0.0)
    top, left = cut
    pixels = page.pixels[top : 1700 - top, left : 2200 - left]
    if cut != (0, 0):
        pixels = cv2.resize(pixels, (2200, 1700), interpolation=cv2.INTER_AREA)
    geometry = page.geometry.mapped(crop_map(1700, 2200, top, left))
    dark = pixels.max(axis=-1) < 100
    found = 0
    for placed, at, mv in r_peaks(leads, geometry, hz):
        x, y = (
            float(each) for each in geometry.to_pixel(placed.panel.lead, at / hz, mv, placed.panel.rhythm)
        )
        seen_x, seen_y = tip(dark, x, y)
        assert abs(seen_x - x) <= 1, (placed.panel.lead, at)
        assert abs(seen_y + HALF_LINE - y) <= 1, (placed.panel.lead, at)
        found += 1
    assert found >= 12


def test_r_peaks_are_found_on_the_augmented_image(shared):
    """Crop 15 and 11 px, noise 1: dark is a third of the paper's brightness."""
    name = "s0010_10s"
    leads, hz = golden_leads(shared, name)
    drawn = draw(golden_draws(shared)[name]["seed"])
    page = draw_page(leads, hz, drawn.grey)
    image, plain_to_image = augment(page.pixels, drawn)
    geometry = page.geometry.mapped(plain_to_image)
    dark = image[..., 0] < 100
    peaks = list(r_peaks(leads, geometry, hz))
    assert len(peaks) >= 12
    moved = 0
    for placed, at, mv in peaks:
        x, y = (
            float(each) for each in geometry.to_pixel(placed.panel.lead, at / hz, mv, placed.panel.rhythm)
        )
        seen_x, seen_y = tip(dark, x, y)
        assert abs(seen_x - x) <= 1
        assert abs(seen_y + HALF_LINE - y) <= 1
        moved += abs(page.geometry.to_pixel(placed.panel.lead, at / hz, mv, placed.panel.rhythm)[0] - x) > 3
    assert moved >= 6, "without the crop's map these would not be found"


def test_the_dictionary_is_json_and_on_the_image(shared):
    leads, hz = golden_leads(shared, "s0010_00s")
    lost = leads | {"V3": np.full(5000, np.nan), "I": np.where(np.arange(5000) < 700, np.nan, leads["I"])}
    page = draw_page(lost, hz, 0.1)
    geometry = page.geometry.mapped(crop_map(1700, 2200, 10, 20))
    told = json.loads(json.dumps(geometry.as_dict(), allow_nan=False))
    assert told["px_per_s"] == pytest.approx(196.850394 * 2200 / 2160)
    assert told["px_per_mv"] == pytest.approx(78.740157 * 1700 / 1680)
    assert told["plain_to_image"][0] == pytest.approx([2200 / 2160, 0, -20 * 2200 / 2160])
    assert told["plain_to_image"][1] == pytest.approx([0, 1700 / 1680, -10 * 1700 / 1680])
    by_lead = {(each["lead"], each["rhythm"]): each for each in told["leads"]}
    assert len(by_lead) == 13
    assert by_lead["V3", False]["box"] is None
    (x0, y0), (x1, y1) = by_lead["aVR", False]["baseline"]
    assert (x0, y0) == pytest.approx(geometry.to_pixel("aVR", 2.5, 0), abs=1e-3)
    assert (x1, y1) == pytest.approx(geometry.to_pixel("aVR", 5.0, 0), abs=1e-3)
    ink = page.pixels.max(axis=-1) < 60
    plain = page.geometry.find("V6")
    left, top, right, bottom = (round(edge) for edge in plain.box)
    assert ink[top - 2 : bottom + 2, left:right].any(axis=0).all()
    assert not ink[top - 12 : top - 2, left + 5 : right].any()


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_cells_tile_and_names_lie_on_their_ink(layout):
    page = draw_page(dict.fromkeys(LEADS, np.zeros(5000)), 500, 0.0, PageSettings(layout=layout))
    black = page.pixels.max(axis=-1) < 60
    for placed in page.geometry.leads:
        left, top, right, bottom = placed.name_box
        assert black[top:bottom, left:right].any()
        assert placed.cell[0] == placed.left
        assert placed.cell[1] < placed.baseline < placed.cell[3]
    cells = [placed.cell for placed in page.geometry.leads if not placed.panel.rhythm]
    for one in cells:
        for other in cells:
            if one is not other:
                wide = min(one[2], other[2]) - max(one[0], other[0])
                high = min(one[3], other[3]) - max(one[1], other[1])
                assert wide < 1e-6 or high < 1e-6, "cells do not overlap"
