"""A record becomes pages of ten seconds, or a reason why not."""

import numpy as np
import pytest

from pipelines.render.leads import NoPage, one_page, pages, samples_on_page
from pipelines.render.page import draw_page
from pipelines.render.settings import PageSettings

LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
EIGHT = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6")
SMALL = PageSettings(dpi=72)


def counted(n: int, names=LEADS) -> dict[str, np.ndarray]:
    """Every sample its own value."""
    return {lead: np.arange(n) * 1e-4 + place for place, lead in enumerate(names)}


def test_twelve_leads_in_the_usual_order_whatever_they_were_given_in():
    given = {lead.lower(): values for lead, values in reversed(counted(5000).items())}
    twelve = one_page(given | {"vx": np.zeros(5000)}, 500)
    assert tuple(twelve) == LEADS
    for place, lead in enumerate(LEADS):
        assert twelve[lead].dtype == np.float64
        assert (twelve[lead] == np.arange(5000) * 1e-4 + place).all()


def test_four_leads_follow_from_two():
    eight = counted(1000, EIGHT)
    eight["I"][3] = np.nan
    twelve = one_page(eight, 100)
    one, two = eight["I"], eight["II"]
    for lead, expected in {
        "III": two - one,
        "aVR": -(one + two) / 2,
        "aVL": one - two / 2,
        "aVF": two - one / 2,
    }.items():
        assert np.isnan(twelve[lead][3])
        assert np.array_equal(twelve[lead], expected, equal_nan=True)


def test_a_stored_lead_is_not_derived_again():
    leads = counted(1000)
    assert (one_page(leads, 100)["aVF"] == leads["aVF"]).all()


@pytest.mark.parametrize("hz", [100, 128, 250, 257, 360, 500, 1000, 99.9])
def test_a_page_per_ten_seconds(hz):
    leads = counted(int(34.9 * hz))
    found = list(pages(leads, hz))
    assert [begin for begin, _ in found] == [0, 10, 20]
    for begin, piece in found:
        first = int(np.ceil(begin * hz - 1e-6))
        assert len(piece["V6"]) == samples_on_page(hz) == int(10 * hz)
        assert (piece["V6"] == leads["V6"][first : first + int(10 * hz)]).all()
        assert one_page(piece, hz)["V6"] is not None


@pytest.mark.parametrize("hz", [50, 128, 257, 360, 1000, 99.9])
def test_any_sampling_rate_draws_the_columns_of_one_time(hz):
    """A spike at 2.6 s stands in the second column alone, at its second, whether or not 2.5 s is a whole sample."""
    n = int(10 * hz)
    at = round(6.3 * hz)
    values = np.zeros(n)
    values[at] = 1.0
    geometry = draw_page(dict.fromkeys(LEADS, values), hz, 0.0, SMALL).geometry
    spans = [(placed.first_sample, placed.end_sample) for placed in geometry.leads if placed.panel.row == 0]
    assert [first for first, _ in spans[1:]] == [end for _, end in spans[:-1]]
    assert spans[0][0] == 0
    assert spans[-1][1] in (n, n + 1)
    page = draw_page(dict.fromkeys(LEADS, values), hz, 0.0)
    dark = page.pixels.max(axis=-1) < 60
    for row, baseline in enumerate((708, 992, 1275)):
        tip = dark[baseline - 79 : baseline - 70, 125:2090]
        columns = np.flatnonzero(tip.any(axis=0)) + 125
        inside = columns[(columns > 130)]
        assert len(inside), row
        assert abs(inside.mean() + 0.5 - (0.6 + at / hz) * 196.850394) < 1.5


def reason(leads, hz=100, how=one_page) -> str:
    with pytest.raises(NoPage) as caught:
        list(how(leads, hz))
    assert caught.value.exit_code == 1
    assert "expected" in str(caught.value)
    return caught.value.reason


def test_reasons():
    whole = counted(1000)
    assert reason(counted(999)) == "short"
    assert reason(counted(999), how=pages) == "short"
    assert reason({}, how=pages) == "leads"
    assert reason(dict.fromkeys(LEADS, np.empty(0)), how=pages) == "short"
    assert reason(counted(1001)) == "long"
    assert reason({lead: whole[lead] for lead in LEADS if lead != "V3"}) == "leads"
    assert reason(counted(1000, ("II", "V1"))) == "leads"
    assert reason(counted(1000, ("MLII", "V1"))) == "leads"
    assert reason(whole | {"avr": np.zeros(1000)}) == "leads"
    assert reason(whole | {"V1": np.zeros(900)}) == "shape"
    assert reason(whole | {"V1": np.zeros((1000, 2))}) == "shape"
    assert reason(whole | {"V1": ["a"] * 1000}) == "shape"
    assert reason(whole | {"II": np.full(1000, np.inf)}) == "infinite"
    assert reason(whole | {"II": np.full(1000, -np.inf)}, how=pages) == "infinite"
    assert reason(dict.fromkeys(LEADS, np.full(1000, np.nan))) == "no_signal"


@pytest.mark.parametrize("hz", [0, -500, float("nan"), float("inf"), 19, 1e6, "500", None])
def test_rates_that_are_none(hz):
    assert reason(counted(1000), hz) == "rate"
    assert reason(counted(1000), hz, pages) == "rate"


def test_the_message_names_what_is_missing():
    with pytest.raises(NoPage, match=r"without V3.*expected the twelve leads, or I, II and V1–V6"):
        one_page({lead: values for lead, values in counted(1000).items() if lead != "V3"}, 100)


def test_pages_before_a_bad_one_are_printed():
    """The second ten seconds are empty, the third hold an infinite value."""
    leads = {lead: values.copy() for lead, values in counted(3000).items()}
    for values in leads.values():
        values[1000:2000] = np.nan
    found = pages(leads, 100)
    assert next(found)[0] == 0
    with pytest.raises(NoPage, match="no value in any lead"):
        next(found)


def test_constant_leads_are_drawn():
    page = draw_page(dict.fromkeys(LEADS, np.full(1000, 0.5)), 100, 0.0, SMALL)
    assert page.pixels.shape == (612, 792, 3)
