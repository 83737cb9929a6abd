"""Every setting puts the right lead in the right place: each lead has a level and moments of its own, found again as
pixels where millimetres on paper say they should be."""

import numpy as np
import pytest

from pipelines.render.page import draw_page
from pipelines.render.settings import PALETTES, PageSettings

LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
ROWS = {
    "3x4": ["I aVR V1 V4", "II aVL V2 V5", "III aVF V3 V6"],
    "6x2": ["I V1", "II V2", "III V3", "aVR V4", "aVL V5", "aVF V6"],
    "12x1": list(LEADS),
}
SECONDS = {"3x4": 2.5, "6x2": 5.0, "12x1": 10.0}
HZ = 500
SPIKE_MV = 0.5
PAPER_MM = 215.9


def level(lead: str) -> float:
    return (LEADS.index(lead) - 6) * 0.05


def spikes(lead: str) -> np.ndarray:
    """Seconds: four moments, one in each quarter of the page, that no other lead has."""
    return np.arange(4) * 2.5 + 0.4 + 0.12 * LEADS.index(lead)


def signals() -> dict[str, np.ndarray]:
    found = {}
    for lead in LEADS:
        values = np.full(10 * HZ, level(lead))
        values[np.rint(spikes(lead) * HZ).astype(int)] += SPIKE_MV
        found[lead] = values
    return found


def places(settings: PageSettings) -> list[tuple[str, float, float, float]]:
    """Lead, first second, mm from the left edge to its first sample, mm from the bottom to its baseline."""
    rows, strips = [row.split() for row in ROWS[settings.layout]], settings.rhythm
    speed = settings.paper_mm_per_s
    pitch = PAPER_MM / (len(rows) + len(strips) + 2)
    width = 279.4 + 10 * max(0, speed - 25)
    margin = (width - 10 * speed) / 2 // 5 * 5 + 0.2 * speed
    found = []
    for number, row in enumerate(rows):
        up = pitch * (max(len(strips), 1) + len(rows) - 1 - number + 0.5)
        for column, lead in enumerate(row):
            begin = column * SECONDS[settings.layout]
            found.append((lead, begin, margin + begin * speed, up))
    for number, lead in enumerate(strips):
        found.append((lead, 0.0, margin, pitch * (len(strips) - number - 0.5) + 3))
    return found


def check(settings: PageSettings) -> None:
    leads = signals()
    with_leads = draw_page(leads, HZ, 0.0, settings).pixels.astype(int)
    only_one = np.full(10 * HZ, np.nan)
    only_one[-1] = 0.0
    without = draw_page(dict.fromkeys(LEADS, only_one), HZ, 0.0, settings).pixels
    height = len(with_leads)
    px = settings.dpi / 25.4
    assert height == round(8.5 * settings.dpi)
    ink = (with_leads != without).any(axis=-1) & (with_leads.max(axis=-1) < 128)
    seconds = 10.0 if settings.layout == "12x1" else SECONDS[settings.layout]
    seen = places(settings)
    assert sorted(lead for lead, *_ in seen) == sorted([*LEADS, *settings.rhythm])
    for number, (lead, begin, left, up) in enumerate(seen):
        shown = 10.0 if number >= 12 else seconds
        flat = height - (up + level(lead) * settings.gain_mm_per_mv) * px
        top = flat - SPIKE_MV * settings.gain_mm_per_mv * px
        own = [at for at in spikes(lead) if begin < at < begin + shown]
        assert own
        for at in own:
            x = (left + (at - begin) * settings.paper_mm_per_s) * px
            beside = ink[round(flat) - 4 : round(flat) + 5, round(x + 0.05 * settings.paper_mm_per_s * px)]
            assert abs(np.flatnonzero(beside).mean() + round(flat) - 4 + 0.5 - flat) <= 1, (lead, at, "level")
            tip = ink[round(top) : round(top) + 4, round(x) - 3 : round(x) + 4]
            assert tip.any(), (lead, at, "spike")
            assert abs(np.nonzero(tip)[1].mean() + round(x) - 3 + 0.5 - x) <= 1, (lead, at, "second")


@pytest.mark.parametrize("layout", list(ROWS))
@pytest.mark.parametrize("rhythm", [("II",), (), ("V1", "II", "V5")], ids=["II", "none", "three"])
def test_layouts(layout, rhythm):
    check(PageSettings(layout=layout, rhythm=rhythm))


@pytest.mark.parametrize("dpi", [100, 150, 300, 233])
def test_resolutions(dpi):
    check(PageSettings(dpi=dpi))


@pytest.mark.parametrize("speed", [12.5, 50, 100])
def test_paper_speeds(speed):
    check(PageSettings(paper_mm_per_s=speed))


@pytest.mark.parametrize("gain", [5, 20])
def test_gains(gain):
    check(PageSettings(gain_mm_per_mv=gain))


@pytest.mark.parametrize("palette", list(PALETTES))
def test_palettes(palette):
    check(PageSettings(palette=palette))


@pytest.mark.parametrize(("palette", "major", "minor"), [
    ("1", (109, 50, 47), (150, 107, 101)), ("2", (255, 203, 221), (254, 237, 248)), ("3", (0, 0, 102), (0, 0, 179)),
    ("4", (0, 77, 0), (0, 204, 77)), ("5", (255, 0, 0), (254, 223, 219)), ("bw", (102, 102, 102), (191, 191, 191)),
])  # fmt: skip
def test_grid_colours(palette, major, minor):
    """Horizontal lines of the blank band: the 5-mm line at row 46, a 1-mm line at 39, paper at 35."""
    leads = dict.fromkeys(LEADS, np.zeros(5000))
    page = draw_page(leads, 500, 0.1, PageSettings(palette=palette)).pixels
    assert np.abs(page[46, 60].astype(int) - major).max() <= 1
    assert np.abs(page[39, 60].astype(int) - minor).max() <= 1
    assert (page[35, 60] == 255).all()


def test_the_grid_is_where_the_sheet_has_it():
    """Of the published page: the centre of every line in both directions, by the rule and by the rows it lists."""
    leads = dict.fromkeys(LEADS, np.zeros(5000))
    page = draw_page(leads, 500, 0.1).pixels[:600].astype(int)
    px = 200 / 25.4
    columns = [int(np.floor(k * px + 0.5)) for k in range(5, 280, 5)]
    rows = [int(np.floor(1700 - k * px + 0.5)) for k in range(140, 216)]
    assert columns[:5] == [39, 79, 118, 157, 197]
    assert columns[-1] == 2165
    assert rows[-1] == 7
    between = page[34, 20:2180]
    red = np.flatnonzero((between == (255, 0, 0)).all(axis=-1)) + 20
    assert red.tolist() == [column for column in columns if 20 <= column < 2180]
    down = page[:, 60]
    lines = np.flatnonzero((down == (255, 0, 0)).all(axis=-1) | (down == (254, 223, 219)).all(axis=-1))
    assert lines.tolist() == sorted(row for row in rows if row < 600)


def test_names_and_scale_are_printed_where_they_belong():
    """Ink of the published page as the fact sheet measured it."""
    leads = dict.fromkeys(LEADS, np.zeros(5000))
    page = draw_page(leads, 500, 0.1)
    black = (page.pixels < 90).all(axis=-1)
    for left, right, top, bottom in ((612, 669, 741, 762), (1104, 1138, 741, 762), (397, 514, 1639, 1663),
                                     (792, 944, 1639, 1663)):  # fmt: skip
        rows, columns = np.nonzero(black[top - 5 : bottom + 6, left - 5 : right + 6])
        assert abs(rows.min() + top - 5 - top) <= 1
        assert abs(rows.max() + top - 5 - bottom) <= 1
        assert abs(columns.min() + left - 5 - left) <= 2
        assert abs(columns.max() + left - 5 - right) <= 2


def test_scale_texts_follow_the_settings():
    from pipelines.render.layout import lay_out
    from pipelines.render.page import words_of

    words = words_of(lay_out(PageSettings(paper_mm_per_s=12.5, gain_mm_per_mv=5)))
    assert [each.text for each in words[-2:]] == ["12.5mm/s", "5mm/mV"]
    assert words[0].text == "III"
    assert [each.text for each in words[12:13]] == ["II"]
