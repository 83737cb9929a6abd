"""What an encoder is fed: leads by name, missing samples, rates; and what is refused, in which words."""

import math
import re

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from models.encoders import EncoderError
from models.encoders.prepare import LEADS, samples_needed
from tests.models.encoders.probe import EightLeads, Probe, rate

MIDDLE = slice(20, -20)
"""Of 200 samples: where a filter of a window's ends is not felt."""


def numbered(batch: int = 2, samples: int = 200) -> torch.Tensor:
    """Windows whose leads are told apart: lead 3 of window 1 is 1.03 in all samples."""
    window, lead = torch.arange(batch)[:, None, None], torch.arange(12)[:, None] / 100
    return (window + lead).expand(batch, 12, samples).clone()


def sine(hz: float, fs: float, seconds: float = 2.0) -> torch.Tensor:
    """(1, 12, T): the tone of ``hz`` at a phase of its own in each lead."""
    time = np.arange(samples_needed(seconds, fs)) / fs
    return torch.from_numpy(np.sin(2 * np.pi * hz * time + np.arange(12)[:, None])[None])


def fed(encoder: Probe, x: torch.Tensor, **how) -> torch.Tensor:
    """The prepared window (B, leads, T)."""
    return encoder(x, **how)[0].transpose(1, 2)


BAD = {
    "no tensor": (np.zeros((1, 12, 200), np.float32), {}, "found ndarray; expected a torch tensor"),
    "two dimensions": (torch.zeros(12, 200), {}, "found a tensor (12, 200); expected three dimensions"),
    "integers": (torch.zeros(1, 12, 200, dtype=torch.int16), {}, "found torch.int16; expected floats in mV"),
    "an empty batch": (torch.zeros(0, 12, 200), {}, "found an empty batch"),
    "no samples": (torch.zeros(1, 12, 0), {}, "found windows without a sample"),
    "too short": (torch.zeros(1, 12, 400), {"fs": 250}, "1.6 s, which is too short"),
    "too long": (torch.zeros(1, 12, 1000), {"fs": 250}, "4 s, which is too long"),
    "another rate than said": (torch.zeros(1, 12, 200), {"fs": 500}, "here 1000 samples; pad it knowingly"),
    "no rate": (
        torch.zeros(1, 12, 1000),
        {},
        "found 1000 samples and no rate; expected 200 at 100 Hz, or fs=",
    ),
    "eight leads": (torch.zeros(1, 8, 200), {}, "found 8 leads; expected 12 in the order I, II, III, aVR"),
    "eight named leads": (
        torch.zeros(1, 8, 200),
        {"leads": EightLeads.leads},
        "found no lead III, aVR, aVL, aVF among I, II, V1",
    ),
    "fifteen unnamed leads": (torch.zeros(1, 15, 200), {}, "found 15 leads; expected 12"),
    "time before leads": (torch.zeros(1, 200, 12), {}, "found 200 leads"),
    "a name too few": (
        torch.zeros(1, 12, 200),
        {"leads": LEADS[:-1]},
        "found 12 channels and 11 names of leads",
    ),
    "no names": (torch.zeros(1, 12, 200), {"leads": []}, "found 12 channels and 0 names"),
    "a name twice": (
        torch.zeros(1, 12, 200),
        {"leads": ("I", *LEADS[:-1])},
        "found the lead I twice; expected each once",
    ),
    "a text for names": (torch.zeros(1, 3, 200), {"leads": "III"}, "leads: found 'III'"),
    "infinite": (
        torch.full((1, 12, 200), math.inf),
        {},
        "found 2400 infinite samples; expected values in mV",
    ),
    "all NaN": (torch.full((2, 12, 200), math.nan), {}, "found no sample but NaN in window 0, 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_window_is_refused(case):
    x, how, message = BAD[case]
    with pytest.raises(EncoderError, match=re.escape(message)):
        Probe()(x, **how)


@pytest.mark.parametrize("fs", [0, -500, 0.5, math.nan, math.inf, True, "500", torch.tensor(500)])
def test_a_rate_is_a_number_of_hz(fs):
    with pytest.raises(EncoderError, match="expected samples a second"):
        Probe()(numbered(), fs=fs)


@pytest.mark.parametrize("fs", [100, 100.0, np.int64(100), np.float32(100)])
def test_numpys_numbers_are_rates(fs):
    assert torch.equal(fed(Probe(), numbered(), fs=fs), numbered())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"resample": "cubic"}, "resample: found 'cubic'; expected one of: band_limited, linear"),
        ({"nan": "mean"}, "nan: found 'mean'; expected one of: error, zero"),
    ],
)
def test_a_setting_that_is_not_known_is_refused(setting, message):
    with pytest.raises(EncoderError, match=message):
        Probe().configure(**setting)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_at_its_own_rate_a_window_goes_in_as_it_is(dtype):
    x = numbered().to(dtype)
    found = fed(Probe(), x, fs=100)
    assert found.dtype == torch.float32
    assert torch.equal(found, x.float())


@settings(max_examples=30, deadline=None)
@given(order=st.permutations(range(12)), upper=st.lists(st.booleans(), min_size=12, max_size=12))
def test_leads_come_into_their_order_by_name_in_any_case(order, upper):
    leads = [
        (LEADS[place].upper() if up else f" {LEADS[place].lower()} ")
        for place, up in zip(order, upper, strict=True)
    ]
    assert torch.equal(fed(Probe(), numbered()[:, order], leads=leads), numbered())


def test_eight_leads_are_chosen_from_twelve_and_from_more():
    x, chosen = numbered(), [0, 1, 6, 7, 8, 9, 10, 11]
    encoder = EightLeads()
    assert torch.equal(fed(encoder, x), x[:, chosen])
    assert torch.equal(fed(encoder, x[:, chosen], leads=encoder.leads), x[:, chosen])
    with_frank = torch.cat([torch.full((2, 3, 200), 9.0), x], dim=1)
    assert torch.equal(fed(encoder, with_frank, leads=("VX", "VY", "VZ", *LEADS)), x[:, chosen])


def test_eight_unnamed_leads_are_refused_unless_the_benchmarks_adapter_would_take_them():
    x = numbered()[:, :8]
    encoder = EightLeads()
    with pytest.raises(EncoderError, match=r"found 8 leads; expected 12 .* or leads=\[\.\.\.\]"):
        encoder(x)
    encoder.configure(parity=True)
    assert torch.equal(fed(encoder, x), x)


def test_a_lead_that_is_not_read_may_be_missing():
    x = numbered()
    x[:, 2] = math.nan
    assert torch.equal(fed(EightLeads(), x), x[:, [0, 1, 6, 7, 8, 9, 10, 11]])


def test_nan_is_an_error_that_says_where():
    x = numbered()
    x[1, 8, 40:50] = math.nan
    with pytest.raises(EncoderError, match=r"10 NaN samples, the first in window 1, lead V3, sample 40"):
        Probe()(x)


def test_nan_is_filled_with_zero_on_demand_and_counted():
    x = numbered()
    x[1, 8, 40:50] = math.nan
    x[0, 3] = math.nan
    encoder = Probe()
    encoder.configure(nan="zero")
    found = fed(encoder, x)
    assert encoder.filled == 210
    assert torch.equal(found, torch.nan_to_num(x))
    assert torch.isnan(x).sum() == 210, "the caller's tensor was changed"
    encoder(numbered())
    encoder(x)
    assert encoder.filled == 420


def test_a_window_of_nothing_but_nan_is_refused_where_others_are_filled():
    x = numbered(3)
    x[1] = math.nan
    encoder = Probe()
    encoder.configure(parity=True)
    with pytest.raises(EncoderError, match="found no sample but NaN in window 1; nothing to encode"):
        encoder(x)


def test_a_fill_comes_before_the_rate_is_changed():
    x = sine(3, 250).float()
    x[0, 4, 100:110] = math.nan
    encoder = Probe()
    encoder.configure(nan="zero")
    assert torch.equal(fed(encoder, x, fs=250), fed(Probe(), torch.nan_to_num(x), fs=250))


@pytest.mark.parametrize("model_fs", [100, 240, 250, 500])
@pytest.mark.parametrize("fs", [100, 128, 257, 360, 400, 500, 977, 1000])
def test_a_band_limited_rate_gives_the_sine_that_was_sampled(fs, model_fs):
    encoder = rate(model_fs)
    found, expected = fed(encoder, sine(9, fs), fs=fs), sine(9, model_fs)
    edge = model_fs // 5
    assert found.shape == expected.shape
    assert (found - expected)[..., edge:-edge].abs().max() < 2e-3


@settings(max_examples=40, deadline=None)
@given(fs=st.one_of(st.integers(60, 2000), st.floats(60, 2000)))
@example(fs=1000 / 3)
@example(fs=333.333)
@example(fs=500.1)
@example(fs=99.9996)
def test_any_rate_keeps_time(fs):
    found, expected = fed(Probe(), sine(3, fs), fs=fs), sine(3, 100)
    assert found.shape == expected.shape
    assert (found - expected)[..., MIDDLE].abs().max() < 1e-2  # half a sample late would be 0.09


def test_a_rate_in_hz_and_a_hair_keeps_the_tolerance_of_a_whole_one():
    found = fed(Probe(), sine(3, 333.333), fs=333.333)
    assert (found - sine(3, 100))[..., MIDDLE].abs().max() < 2e-3


def test_a_tone_above_the_band_is_gone_where_a_line_folds_it_into_the_ecg():
    x = sine(88, 500)  # 12 Hz once 100 Hz is all there is
    assert fed(Probe(), x, fs=500)[..., MIDDLE].abs().max() < 5e-3
    encoder = Probe()
    encoder.configure(resample="linear")
    assert fed(encoder, x, fs=500)[..., MIDDLE].abs().max() > 0.5


@pytest.mark.parametrize("fs", [50, 128, 250, 1000])
def test_an_offset_and_a_drift_stay_to_the_ends(fs):
    samples = samples_needed(2.0, fs)
    x = (5 + torch.arange(samples) / fs).expand(1, 12, samples)
    found = fed(Probe(), x, fs=fs)[0, 0]
    expected = 5 + torch.arange(200) / 100
    inside = expected <= x[0, 0, -1]  # above 100 Hz the last sample lies beyond the last one given
    assert (found - expected)[inside].abs().max() < 7e-3  # the filter's ripple; a jump to zero would be 2.5


@pytest.mark.parametrize("samples", [50, 128, 500])
def test_linear_is_torchs_interpolation(samples):
    x = torch.randn(2, 12, samples, generator=torch.Generator().manual_seed(1))
    encoder = Probe()
    encoder.configure(resample="linear")
    expected = torch.nn.functional.interpolate(x, size=200, mode="linear", align_corners=False)
    assert torch.equal(fed(encoder, x, fs=samples / 2), expected)
    with pytest.raises(EncoderError, match="no rate"):
        encoder(x)
    encoder.configure(parity=True)
    assert torch.equal(fed(encoder, x), expected)


def test_parity_holds_the_length_where_it_is_told_the_rate():
    encoder = Probe()
    encoder.configure(parity=True)
    with pytest.raises(EncoderError, match="too long"):
        encoder(numbered(), fs=50)


def test_a_filter_has_to_know_the_rate():
    encoder = Probe()
    encoder.configure(parity=True, resample="band_limited")
    with pytest.raises(EncoderError, match="found no fs; expected the rate that the window has"):
        encoder(numbered(samples=400))


def test_a_gradient_goes_through_a_line_and_is_refused_by_the_filter():
    x = sine(3, 250).float().requires_grad_()
    with pytest.raises(EncoderError, match="band-limited resampling gives none"):
        Probe()(x, fs=250)
    with torch.no_grad():
        assert fed(Probe(), x, fs=250).shape == (1, 12, 200)
    encoder = Probe()
    encoder.configure(resample="linear")
    fed(encoder, x, fs=250).sum().backward()
    assert float(x.grad.sum()) == pytest.approx(12 * 200)
