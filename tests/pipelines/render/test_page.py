"""The printed page: the golden ones, a matplotlib figure's, and what stands on it whatever the record holds."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import matplotlib
import numpy as np
import pytest
from golden_records import NAMES, golden_draws, golden_leads, golden_page, read_leads
from page_figure import draw_figure

from pipelines.render import page as page_module
from pipelines.render import press as press_module
from pipelines.render.page import draw_page
from pipelines.render.settings import PageSettings
from warehouse.errors import UsageError

EIGHT = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6")
TWELVE = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")


def made_up(hz: int, kind: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng([hz, len(kind)])
    n = 10 * hz
    if kind == "walk":
        values = rng.normal(0, 0.2 / np.sqrt(hz / 100), (12, n)).cumsum(axis=1)
    elif kind == "noise":
        values = rng.normal(0, 0.5, (12, n))
    elif kind == "high":
        values = 25 * np.sin(np.arange(n) / hz * 9) * np.arange(-3, 9)[:, None]
    elif kind == "flat":
        values = np.repeat(np.arange(12)[:, None] * 0.0371 - 0.2, n, axis=1)
    else:
        values = rng.normal(0, 0.1, (12, n)).cumsum(axis=1)
        values[rng.random((12, n)) < 0.02] = np.nan
        values[0, : hz // 2] = values[3, -hz:] = values[1, 3 * hz : 4 * hz] = np.nan
        values[8] = values[5] = np.nan
    return dict(zip(TWELVE, values, strict=True))


def differing(found: np.ndarray, expected: np.ndarray) -> int:
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype == np.uint8
    return int((found != expected).any(axis=-1).sum())


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_the_generators(shared, name):
    leads, hz = golden_leads(shared, name)
    page = draw_page(leads, hz, golden_draws(shared)[name]["trace_grey"])
    assert differing(page.pixels, golden_page(shared, name)) == 0


def test_a_page_nobody_showed_us(shared):
    """``s0010_20s``: its image was not handed over, only the digest; the record is resampled from PTB's own."""
    from scipy.signal import resample_poly

    from pipelines.render.augment import augment
    from pipelines.render.draws import draw

    stored, hz = read_leads(shared / "data/ptbdb/s0010_re")
    leads = {
        lead: np.round(resample_poly(values, 1, 2)[10_000:15_000] * 1000) / 1000
        for lead, values in stored.items()
    }
    assert hz == 1000
    golden = golden_draws(shared)["s0010_20s"]
    pixels, _ = augment(draw_page(leads, 500, golden["trace_grey"]).pixels, draw(golden["seed"]))
    assert hashlib.sha256(pixels.tobytes()).hexdigest() == golden["sha256_pixels"]


@pytest.mark.parametrize("kind", ["walk", "noise", "high", "flat", "gaps"])
@pytest.mark.parametrize("hz", [100, 500, 1000])
def test_the_press_draws_what_a_figure_draws(hz, kind):
    """Text aside, whose shapes depend on the release of matplotlib."""
    leads = made_up(hz, kind)
    with patch.object(page_module, "print_words"):
        page = draw_page(leads, hz, 0.13)
    assert differing(page.pixels, draw_figure(leads, hz, 0.13, text=False)) == 0


@pytest.mark.parametrize("dpi", [72, 100, 150, 300])
def test_the_press_draws_what_a_figure_draws_at_other_resolutions(dpi):
    """At 72 and 150 dpi a figure's white tick marks reach into the first column of the frame; ours has none."""
    leads = made_up(500, "walk")
    with patch.object(page_module, "print_words"):
        page = draw_page(leads, 500, 0.2, PageSettings(dpi=dpi))
    assert page.pixels.shape == (8.5 * dpi, 11 * dpi, 3)
    figure = draw_figure(leads, 500, 0.2, dpi, text=False)
    assert differing(page.pixels[:, 1:], figure[:, 1:]) == 0
    assert differing(page.pixels, figure) == 0 or dpi in (72, 150)


@pytest.mark.skipif(matplotlib.__version__ != "3.8.4", reason="the lettering is that of matplotlib 3.8.4")
@pytest.mark.parametrize("dpi", [72, 96, 100, 150, 200, 250, 300, 400, 600])
def test_text_is_that_of_its_release(dpi):
    leads = made_up(100, "walk")
    page = draw_page(leads, 100, 0.05, PageSettings(dpi=dpi))
    assert differing(page.pixels[:, 1:], draw_figure(leads, 100, 0.05, dpi)[:, 1:]) == 0


def test_eight_leads_give_the_page_of_the_twelve(shared):
    """Whole microvolts, so that halves are what the stored leads were rounded from."""
    leads, hz = golden_leads(shared, "syn_flat0")
    eight = {lead: leads[lead] for lead in EIGHT}
    assert differing(draw_page(eight, hz, 0.1).pixels, draw_page(leads, hz, 0.1).pixels) == 0
    ramp = np.linspace(-1, 1, 5000)
    eight = {lead: np.round(ramp * place, 3) for place, lead in enumerate(EIGHT)}
    one, two = eight["I"], eight["II"]
    derived = {"III": two - one, "aVR": -(one + two) / 2, "aVL": one - two / 2, "aVF": two - one / 2}
    assert differing(draw_page(eight, 500, 0.1).pixels, draw_page(eight | derived, 500, 0.1).pixels) == 0


def test_neither_order_nor_case_of_leads_counts(shared):
    leads, hz = golden_leads(shared, "s0010_00s")
    backwards = {lead.upper(): leads[lead] for lead in reversed(leads)}
    assert next(iter(backwards)) == "V6"
    assert differing(draw_page(backwards, hz, 0.1).pixels, draw_page(leads, hz, 0.1).pixels) == 0


def test_a_gap_is_a_gap_and_shifts_nothing():
    leads = dict.fromkeys(TWELVE, np.zeros(5000))
    with_gap = leads | {"V5": np.where(np.abs(np.arange(5000) / 500 - 8.5) < 0.5, np.nan, 0.0)}
    whole, gap = (draw_page(each, 500, 0.0).pixels.astype(int) for each in (leads, with_gap))
    rows, columns = np.nonzero((whole != gap).any(axis=-1))
    second = (columns + 0.5) / 2200 * 11.176 - 0.6
    assert 8.0 - 0.01 < second.min() < 8.02
    assert 8.98 < second.max() < 9.0 + 0.01
    assert abs(rows.mean() + 0.5 - 991.67) < 1


def test_a_lead_without_a_value_keeps_its_name_and_separator():
    zeros = dict.fromkeys(TWELVE, np.zeros(5000))
    whole, lost = (
        draw_page(each, 500, 0.0).pixels for each in (zeros, zeros | {"V2": np.full(5000, np.nan)})
    )
    assert (lost[964:1019, 1099:1105] == 0).all(), "the bar before V2"
    name = lost[1020:1050, 1100:1160]
    assert (name == whole[1020:1050, 1100:1160]).all()
    assert (name.sum(axis=-1) == 0).sum() > 50
    trace = slice(990, 994), slice(1110, 1585)
    assert (whole[trace].max(axis=-1) < 60).any(axis=0).all()
    assert not (lost[trace].max(axis=-1) < 60).any()


def test_traces_of_a_black_and_white_page_are_black():
    leads = made_up(500, "walk")
    settings = PageSettings(palette="bw")
    light, dark = draw_page(leads, 500, 0.2, settings).pixels, draw_page(leads, 500, 0.0, settings).pixels
    assert (light == dark).all()
    assert (light[..., 0] == light[..., 1]).all()
    assert (light[..., 0] == light[..., 2]).all()


@pytest.mark.parametrize("grey", [-0.1, 1.5, float("nan"), None])
def test_a_grey_that_is_none(grey):
    with pytest.raises(UsageError, match="grey"):
        draw_page(made_up(100, "walk"), 100, grey)


def test_threads_do_not_mix_pages_up():
    jobs = [(made_up(hz, kind), hz, PageSettings(dpi=dpi)) for hz, kind, dpi in
            [(100, "walk", 100), (500, "gaps", 72), (500, "walk", 100), (250, "high", 100)] * 3]  # fmt: skip

    def drawn(job):
        leads, hz, settings = job
        return hashlib.sha256(draw_page(leads, hz, 0.1, settings).pixels).hexdigest()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(drawn, jobs)) == [drawn(job) for job in jobs]


def test_no_matplotlibrc_changes_a_page(shared):
    leads, hz = golden_leads(shared, "ptbxl00001_100hz")
    settings = {
        "path.simplify": False,
        "path.snap": False,
        "path.sketch": (5, 100, 2),
        "lines.linewidth": 9,
        "lines.antialiased": False,
        "lines.solid_capstyle": "butt",
        "text.hinting": "none",
        "text.antialiased": False,
        "font.family": "monospace",
        "axes.linewidth": 5,
    }
    press_module._of_thread.press = None
    with matplotlib.rc_context(settings):
        page = draw_page(leads, hz, golden_draws(shared)["ptbxl00001_100hz"]["trace_grey"])
    press_module._of_thread.press = None
    assert differing(page.pixels, golden_page(shared, "ptbxl00001_100hz")) == 0


def test_the_one_line_that_would_is_refused():
    press_module._of_thread.press = None
    with (
        matplotlib.rc_context({"agg.path.chunksize": 200}),
        pytest.raises(UsageError, match="chunksize"),
    ):
        draw_page(made_up(100, "walk"), 100, 0.1)


@pytest.mark.parametrize("size", [1e3, 1e9, 1e30, 1e308])
def test_values_far_beyond_the_paper(size):
    """Off the canvas as on it: the lines that lead there are drawn, nothing breaks, and the next page is clean."""
    leads = dict.fromkeys(TWELVE, np.zeros(1000))
    spike = np.zeros(1000)
    spike[[40, 41, 60]] = size, -size, -size
    page = draw_page(leads | {"I": spike}, 100, 0.0).pixels
    assert differing(page[:, 700:], draw_page(leads, 100, 0.0).pixels[:, 700:]) == 0
    if size < 1e300:
        x = round((0.6 + 0.4) * 196.85)
        assert (page[5:700, x - 3 : x + 4].max(axis=-1) < 60).any(axis=1).all()


def test_a_page_is_the_callers_own():
    leads = made_up(100, "walk")
    first = draw_page(leads, 100, 0.1, PageSettings(dpi=72)).pixels
    kept = first.copy()
    draw_page(made_up(100, "noise"), 100, 0.1, PageSettings(dpi=72)).pixels[...] = 0
    assert (first == kept).all()
