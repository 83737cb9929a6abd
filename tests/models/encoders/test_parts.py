"""The blocks that HuBERT-ECG and ECG-FM share, against torch's own weight norm and attention written out."""

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch
from torch import nn

from models.encoders.parts import PositionalConv, SelfAttention


@pytest.fixture
def reference():
    """torch's weight norm by tap, with gains that are not what the directions have."""
    torch.manual_seed(2)
    conv = nn.Conv1d(32, 32, 128, padding=64, groups=16)
    made = nn.utils.parametrizations.weight_norm(conv, dim=2)
    with torch.no_grad():
        made.parametrizations.weight.original0.mul_(torch.rand(1, 1, 128) + 0.5)
    return made


def test_the_positional_convolution_is_torchs_weight_norm_without_the_last_sample(reference):
    ours = PositionalConv(32)
    ours.load_state_dict(reference.state_dict(), strict=True)
    x = torch.randn(2, 93, 32)
    with torch.no_grad():
        expected = nn.functional.gelu(reference(x.transpose(1, 2))[..., :-1]).transpose(1, 2)
        assert torch.allclose(ours(x), expected, atol=1e-5)
        assert torch.allclose(ours.weight(), reference.weight, atol=1e-6)


def test_gain_and_direction_get_the_gradients_of_torchs(reference):
    ours = PositionalConv(32)
    ours.load_state_dict(reference.state_dict(), strict=True)
    x = torch.randn(2, 40, 32)
    ours(x).square().sum().backward()
    nn.functional.gelu(reference(x.transpose(1, 2))[..., :-1]).square().sum().backward()
    expected = dict(reference.named_parameters())
    for name, each in ours.named_parameters():
        assert torch.allclose(each.grad, expected[name].grad, rtol=1e-3, atol=1e-4), name


def test_a_new_weight_is_used_at_once(reference):
    ours = PositionalConv(32).eval()
    x = torch.randn(1, 20, 32)
    with torch.no_grad():
        before = ours(x)
        ours.load_state_dict(reference.state_dict())
        expected = nn.functional.gelu(reference(x.transpose(1, 2))[..., :-1]).transpose(1, 2)
        assert torch.allclose(ours(x), expected, atol=1e-5)
    assert not torch.allclose(before, expected, atol=1e-2)


def test_a_new_module_has_the_gains_of_its_directions():
    made = PositionalConv(32)
    assert torch.allclose(made.weight(), made.parametrizations["weight"].original1, atol=1e-6)


def test_the_attention_is_that_of_the_formula():
    torch.manual_seed(4)
    made = SelfAttention(24, 3).double()
    x = torch.randn(2, 7, 24, dtype=torch.float64)
    with torch.no_grad():
        q, k, v = (each(x).reshape(2, 7, 3, 8) for each in (made.q_proj, made.k_proj, made.v_proj))
        scores = torch.einsum("bihd,bjhd->bhij", q * 8**-0.5, k)
        mixed = torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v).reshape(2, 7, 24)
        assert torch.allclose(made(x), made.out_proj(mixed), atol=1e-12)
