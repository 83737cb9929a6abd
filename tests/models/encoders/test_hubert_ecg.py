"""HuBERT-ECG: what is done to a window before the net, where its norms stand, and the files that it comes in."""

import pickle

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch

from models import encoders
from models.encoders import hubert_ecg
from models.encoders.card import EncoderError
from models.encoders.hubert_ecg import preprocess
from models.encoders.keys import match
from tests.models.encoders import golden, intermediate, weights


@pytest.fixture(scope="module")
def hubert():
    """Shared: a test leaves its weights as they are."""
    made = encoders.create("hubert_ecg")
    weights.fill(made.state_module)
    return made


@pytest.fixture(scope="module")
def x():
    """float32 (2, 12, 500), noise in mV over a wander that the band does not have."""
    noise = np.random.default_rng(7).standard_normal((2, 12, 500)).cumsum(-1) * 0.05
    return torch.from_numpy(noise.astype(np.float32))


# Before the net


def band_pass(x):
    """(T,) through the band-pass twice, written out: the taps by their formula, the ends by point reflection, and
    before an end's first sample that sample for ever."""
    place = np.arange(31) - 15
    taps = (np.sinc(0.94 * place) * 0.94 - np.sinc(0.001 * place) * 0.001) * np.hamming(31)
    taps /= (taps * np.cos(np.pi * place * (0.94 + 0.001) / 2)).sum()
    y = np.concatenate((2 * x[0] - x[93:0:-1], x, 2 * x[-1] - x[-2:-95:-1]))
    for _ in range(2):
        y = np.convolve(np.concatenate((np.full(30, y[0]), y)), taps, "valid")[::-1]
    return y[93:-93]


def test_a_window_is_band_passed_and_each_lead_scaled_by_its_extremes(x):
    found = preprocess(x)
    assert found.dtype == torch.float32
    for record in range(2):
        for lead in range(12):
            passed = band_pass(x[record, lead].double().numpy())
            expected = 2 * (passed - passed.min()) / (np.ptp(passed) + 1e-8) - 1
            assert np.abs(found[record, lead].numpy() - expected).max() < 1e-6


@golden.needs_golden
def test_it_is_the_references():
    window = golden.module("golden_init").golden_input(100, 500)
    expected = np.load(golden.GOLDEN / "hubert_ecg_golden.npz")["preprocessed"]
    assert np.abs(preprocess(window).numpy() - expected).max() < 1e-7


def test_a_constant_lead_becomes_minus_one_and_disturbs_no_other(x):
    flat = x.clone()
    flat[0, 3], flat[0, 5], flat[1, 0] = 0.0, 5.3, -0.3
    found, before = preprocess(flat), preprocess(x)
    for record, lead in ((0, 3), (0, 5), (1, 0)):
        assert (found[record, lead] + 1).abs().max() < 1e-5
        before[record, lead] = found[record, lead]
    assert torch.equal(found, before)


def test_a_lead_of_next_to_nothing_is_not_blown_up(x):
    """1e-8 is added to the lead's range, so that rounding does not fill [-1, 1]."""
    assert ((preprocess(1e-11 * x) + 1).abs() < 0.01).all()


def test_the_amplitude_is_lost(x):
    assert torch.allclose(preprocess(3 * x), preprocess(x), atol=1e-6)


def test_a_window_is_not_scaled_as_its_record_is(x):
    assert not torch.allclose(preprocess(x)[..., :250], preprocess(x[..., :250]), atol=0.05)


def test_what_it_cannot_do_it_says(x):
    with pytest.raises(EncoderError, match="wants its gradient"):
        preprocess(x.clone().requires_grad_())
    with pytest.raises(EncoderError, match="found 93 samples; the band-pass needs more than 93"):
        preprocess(x[..., :93])


def test_the_leads_follow_one_another(hubert, x):
    seen = []
    handle = hubert.net.feature_extractor.register_forward_hook(
        lambda _, given, made: seen.append((given[0], made))
    )
    with torch.no_grad():
        sequence, pooled = hubert(x)
    handle.remove()
    given, made = seen[0]
    assert torch.equal(given, torch.cat(preprocess(x).unbind(1), -1)[:, None])
    assert made.shape == (2, 512, 93)
    assert sequence.shape == (2, 93, 768)
    assert torch.allclose(pooled, sequence.mean(1), atol=1e-6)


# The net


def test_only_the_first_convolution_is_normed_by_channel_over_time():
    made = hubert_ecg._FeatureExtractor().double()
    y = x = torch.randn(2, 1, 6000, dtype=torch.float64)
    lengths = []
    with torch.no_grad():
        for place, (kernel, stride) in enumerate(((10, 4), (3, 2), (3, 2), (2, 2), (2, 2))):
            layer = made.conv_layers[place]
            y = torch.nn.functional.conv1d(y, layer.conv.weight, stride=stride)
            if place == 0:
                norm = layer.layer_norm
                norm.weight.uniform_(0.5, 2)
                norm.bias.uniform_(-1, 1)
                y = (y - y.mean(-1, keepdim=True)) / (y.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()
                y = y * norm.weight[:, None] + norm.bias[:, None]
            y = y * 0.5 * (1 + torch.erf(y / 2**0.5))
            lengths.append(y.shape[-1])
            assert layer.conv.weight.shape[-1] == kernel
        assert torch.allclose(made(x), y, atol=1e-12)
    assert lengths == [1498, 748, 373, 186, 93]


def test_a_layer_is_normed_after_each_sum():
    layer = hubert_ecg._Layer()
    weights.fill(layer)
    x = torch.randn(2, 9, 768)
    with torch.no_grad():
        y = layer.layer_norm(x + layer.attention(x))
        feed = layer.feed_forward
        z = feed.intermediate_dense(y)
        z = feed.output_dense(z * 0.5 * (1 + torch.erf(z / 2**0.5)))
        assert torch.allclose(layer(x), layer.final_layer_norm(y + z), atol=1e-5)


def test_the_first_norm_is_over_the_sum_with_the_positions(hubert, x):
    seen = {}
    transformer = hubert.net.encoder
    modules = (
        hubert.net.feature_projection,
        transformer.pos_conv_embed,
        transformer.layer_norm,
        transformer.layers[0],
    )
    handles = [
        each.register_forward_hook(lambda module, given, made: seen.update({module: (given[0], made)}))
        for each in modules
    ]
    with torch.no_grad():
        hubert(x)
    for handle in handles:
        handle.remove()
    projection, positions, norm, first = (seen[each] for each in modules)
    assert torch.equal(positions[0], projection[1])
    assert torch.equal(norm[0], projection[1] + positions[1])
    assert torch.equal(first[0], norm[1])


@golden.needs_golden
def test_what_its_modules_give_is_the_references():
    assert intermediate.hold(encoders.create("hubert_ecg"), "hubert_ecg", prefix="encoder.") == 8


# Training


def test_all_that_a_feature_depends_on_gets_a_gradient_and_train_mode_changes_nothing(hubert, x):
    """No frame is masked and no layer skipped, which the authors' code does in train mode."""
    with torch.no_grad():
        expected = hubert(x[:1])[0]
    hubert.train()
    sequence, _ = hubert(x[:1])
    hubert.eval()
    assert torch.allclose(sequence, expected, atol=1e-5)
    sequence[:, :40].square().sum().backward()
    without = {
        name for name, each in hubert.net.named_parameters() if each.grad is None or not each.grad.any()
    }
    hubert.zero_grad(set_to_none=True)
    assert without == {
        "masked_spec_embed",
        "final_proj.0.weight",
        "final_proj.0.bias",
        "label_embedding.0.weight",
    }


# Its files

CONFIG = {
    "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
    "hidden_act": "gelu", "layer_norm_eps": 1e-05, "feat_extract_norm": "group", "do_stable_layer_norm": False,
    "conv_dim": [512] * 5, "conv_kernel": [10, 3, 3, 2, 2], "conv_stride": [4, 2, 2, 2, 2], "conv_bias": False,
    "num_conv_pos_embeddings": 128, "num_conv_pos_embedding_groups": 16, "mask_time_prob": 0.33,
}  # fmt: skip


@pytest.fixture(scope="module")
def rules():
    return encoders.card("hubert_ecg").rules


def old_spelling(state):
    names = {"parametrizations.weight.original0": "weight_g", "parametrizations.weight.original1": "weight_v"}
    return {
        next((k.replace(new, old) for new, old in names.items() if new in k), k): v for k, v in state.items()
    }


@pytest.mark.parametrize("spell", [dict, old_spelling], ids=["parametrizations", "weight_g"])
@pytest.mark.parametrize("hold", [dict, lambda state: {"model_config": CONFIG, "model_state_dict": state}])
def test_both_spellings_and_both_containers_are_whole(hubert, rules, spell, hold):
    state = hubert.state_module.state_dict()
    found = match(hold(spell(state)), rules, hubert.state_module)
    assert found.whole
    assert set(found.used) == set(state)
    for key in state:
        if "original" in key:
            assert torch.equal(found.weights[key], state[key])


def test_it_may_lack_the_heads_and_nothing_else(hubert, rules):
    state = dict(hubert.state_module.state_dict())
    for key in ("masked_spec_embed", "final_proj.0.weight", "final_proj.0.bias", "label_embedding.0.weight"):
        del state[key]
    assert match(state, rules, hubert.state_module).whole
    del state["encoder.layers.3.final_layer_norm.bias"]
    found = match(state, rules, hubert.state_module)
    assert found.missing == ["encoder.layers.3.final_layer_norm.bias"]


class Config:
    """As a configuration is when it was pickled as an object."""


def test_a_configuration_of_this_net_is_accepted_in_any_form(hubert):
    an_object = Config()
    vars(an_object).update(CONFIG)
    for config in (
        CONFIG,
        an_object,
        {**CONFIG, "conv_dim": (512,) * 5},
        pickle.loads(pickle.dumps(an_object)),
    ):
        assert hubert.configure_from(config) == [
            "14 of 17 points of the net are in the checkpoint's configuration and agree"
        ]
    assert hubert.configure_from({}) == [
        "0 of 17 points of the net are in the checkpoint's configuration and agree"
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("do_stable_layer_norm", True),
        ("feat_extract_norm", "layer"),
        ("layer_norm_eps", 1e-6),
        ("conv_stride", [5, 2]),
        ("hidden_size", torch.tensor([768, 768])),
        ("conv_dim", [torch.ones(2)] * 5),
        ("conv_bias", 0),
    ],
)
def test_a_configuration_of_another_net_is_refused_whatever_its_shapes(hubert, name, value):
    with pytest.raises(EncoderError, match=f"hubert_ecg: found another net .*: {name} "):
        hubert.configure_from({**CONFIG, name: value})


def test_a_file_without_a_configuration_is_not_asked(hubert):
    assert hubert.configure_from(None) == []
