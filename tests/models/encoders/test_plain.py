"""Every encoder against its plain form: fused, cached and reordered as it is, it computes what the sheet says."""

import gc

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch

from models import encoders
from tests.models.encoders import plain, weights

PUBLISHED = [name for name in encoders.names() if name != "dummy"]


def test_every_published_encoder_has_a_plain_form():
    assert set(PUBLISHED) <= set(plain.FORMS)


@pytest.mark.parametrize("name", PUBLISHED)
def test_it_equals_its_plain_form(name):
    encoder = encoders.create(name)
    weights.fill(encoder.state_module)
    noise = torch.randn(1, 12, encoder.model_seq_len, generator=torch.Generator().manual_seed(7))
    x = weights.window(encoder, 1) + 0.3 * noise
    with torch.no_grad():
        found = encoder(x)
        expected = plain.FORMS[name](encoder.state_module.state_dict(), x)
    for got, want in zip(found, expected, strict=True):
        assert got.shape == want.shape
        assert float((got - want).abs().max() / want.abs().max()) < 1e-5
    del encoder
    gc.collect()
