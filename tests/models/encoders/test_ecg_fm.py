"""ECG-FM: where its norms stand, what a checkpoint's configuration decides, and that it can be trained."""

import gc
import json
from argparse import Namespace
from enum import Enum
from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch

from models import encoders
from models.encoders import EncoderError, fairseq
from models.encoders.checkpoint import load
from models.encoders.ecg_fm import EcgFm
from tests.models.encoders import golden, weights

SEED = {"layer_norm_first": True, "groups": 1, "decided_by_checkpoint": False}
NAMED = {
    "layer_norm_first": False,
    "extractor_mode": "default",
    "conv_feature_layers": "[(256, 2, 2)] * 4",
    "encoder_layers": 12,
    "encoder_embed_dim": 768,
    "encoder_ffn_embed_dim": 3072,
    "encoder_attention_heads": 12,
    "in_d": 12,
    "conv_bias": False,
    "conv_pos": 128,
    "conv_pos_groups": 16,
    "activation_fn": "gelu",
}
"""The model's part of a configuration, by fairseq-signals' names, as upstream trains ECG-FM."""


@pytest.fixture(scope="module", params=["ecg_fm", "ecg_fm_seed"])
def encoder(request):
    made = encoders.create(request.param)
    weights.fill(made.state_module)
    yield made
    gc.collect()


@pytest.fixture
def changed(encoder):
    """Sets parameters of the module's encoder for one test: ``changed("name", value)``."""
    parameters, before = dict(encoder.net.named_parameters()), {}

    def change(name, value):
        before.setdefault(name, parameters[name].detach().clone())
        with torch.no_grad():
            parameters[name].copy_(torch.as_tensor(value).expand_as(parameters[name]))

    yield change
    with torch.no_grad():
        for name, value in before.items():
            parameters[name].copy_(value)


def upstreams(encoder):
    return encoder.name == "ecg_fm"


def features(encoder, batch=1):
    with torch.no_grad():
        return encoder(weights.window(encoder, batch))


def unbuilt(**options):
    """An encoder without memory for its weights: for what is decided before they come."""
    with torch.device("meta"):
        return EcgFm(**options)


def test_the_first_norm_is_a_channels_own_upstream_and_one_for_all_in_the_seed(encoder, changed):
    extractor, x = encoder.net.feature_extractor.conv_layers[0], weights.window(encoder, 1)
    with torch.no_grad():
        before = extractor(x)
        louder = encoder.net.feature_extractor.conv_layers[0][0].weight.clone()
        louder[0] *= 4
        changed("feature_extractor.conv_layers.0.0.weight", louder)
        moved = (extractor(x) - before).abs().amax((0, 2)) / before.abs().max()
    assert bool((moved < 1e-3).all()) == upstreams(encoder)
    assert bool((moved[1:] > 1e-3).any()) != upstreams(encoder)


def test_the_last_word_is_the_last_layers_norm_upstream_and_the_transformers_in_the_seed(encoder, changed):
    changed("encoder.layers.11.final_layer_norm.weight", 0.0)
    changed("encoder.layers.11.final_layer_norm.bias", 2.5)
    assert bool((features(encoder)[0] == 2.5).all()) == upstreams(encoder)
    changed("encoder.layer_norm.weight", 0.0)
    changed("encoder.layer_norm.bias", -1.5)
    assert bool((features(encoder)[0] == -1.5).all()) != upstreams(encoder)


def test_the_same_weights_give_other_features_in_the_other_form(encoder):
    net = encoder.net
    norm = net.feature_extractor.conv_layers[0][2]
    own, groups = features(encoder, 2)[1], norm.num_groups
    net.encoder.norm_first, norm.num_groups = not net.encoder.norm_first, 257 - groups
    other = features(encoder, 2)[1]
    net.encoder.norm_first, norm.num_groups = not net.encoder.norm_first, groups
    u, s = (own, other) if upstreams(encoder) else (other, own)
    assert float((s - u).norm() / u.norm()) == pytest.approx(1.20, abs=0.02)  # the sheet's figure


def test_its_groups_are_the_sheets(encoder):
    groups = {
        name: (len(group), sum(each.numel() for each in group))
        for name, group in encoder.layer_groups().items()
    }
    assert groups == {"early": (109, 47_844_480), "late": (98, 42_528_768)}


def test_training_reaches_every_parameter_that_has_influence(encoder):
    encoder.train()
    _, pooled = encoder(weights.window(encoder, 1))
    (pooled * torch.linspace(-1, 1, 768)).sum().backward()
    still = []
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert bool(torch.isfinite(parameter.grad).all()), name
        if float(parameter.grad.abs().max()) < 1e-7 * float(encoder.net.layer_norm.weight.grad.abs().max()):
            still.append(name)
    encoder.zero_grad(set_to_none=True)
    encoder.eval()
    # A constant on every key leaves the softmax as it is.
    assert set(still) <= {f"net.encoder.layers.{place}.self_attn.k_proj.bias" for place in range(12)}


def test_the_only_dropout_is_a_tenth_between_the_two_dense_layers(encoder):
    dropouts = {name: each.p for name, each in encoder.named_modules() if isinstance(each, torch.nn.Dropout)}
    assert dropouts == {f"net.encoder.layers.{place}.activation_dropout": 0.1 for place in range(12)}
    x = weights.window(encoder, 1)
    layer, feed = encoder.net.encoder.layers[0], torch.randn(1, 4, 768)
    seen = []
    hook = layer.fc2.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    layer.train()
    layer(feed, norm_first=False)
    hook.remove()
    assert 0.05 < float((seen[0] == 0).float().mean()) < 0.15
    encoder.eval()
    for each in encoder.modules():
        if isinstance(each, torch.nn.Dropout):
            each.p = 0.0
    with torch.no_grad():
        quiet, trained = encoder(x)[1], encoder.train()(x)[1]
    for each in encoder.modules():
        if isinstance(each, torch.nn.Dropout):
            each.p = 0.1
    encoder.eval()
    assert torch.equal(quiet, trained)


def test_frozen_it_stays_in_eval_mode():
    encoder = unbuilt().freeze().train()
    assert not any(each.training for each in encoder.modules())
    assert not any(each.requires_grad for each in encoder.parameters())


@golden.needs_golden
def test_what_happens_inside_is_the_references(encoder):
    reference = "ecg_fm_upstream" if upstreams(encoder) else "ecg_fm"
    kept = json.loads((golden.GOLDEN / f"{reference}_golden.json").read_text())
    expected = kept["rules"]["B"]["intermediate"]  # the rule of `weights`
    found, hooks = {}, []
    for name in expected:
        inside = encoder.net.get_submodule(name.removeprefix("model."))
        hooks.append(inside.register_forward_hook(lambda _, __, out, name=name: found.update({name: out})))
    features(encoder, 2)
    for hook in hooks:
        hook.remove()
    if not upstreams(encoder):  # the benchmark's module adds its input itself
        found["model.conv_pos"] = found["model.conv_pos"] + found["model.post_extract_proj"]
    assert set(found) == set(expected)
    for name, facts in expected.items():
        got = found[name].double()
        assert sorted(got.shape) == sorted(facts["shape"]), name  # fairseq's layers have time first
        within = 1e-5 * facts["absmax"]
        assert float(got.mean()) == pytest.approx(facts["mean"], abs=within), name
        assert float(got.std(correction=0)) == pytest.approx(facts["std"], abs=within), name
        assert float(got.abs().max()) == pytest.approx(facts["absmax"], abs=within), name
        assert got.flatten()[:4].tolist() == pytest.approx(facts["first4"], abs=within), name


class _Mode(Enum):
    DEFAULT = "default"


def _nodes(values):
    """A configuration as omegaconf pickles it: nodes in ``_content``, each with its value in ``_val``."""
    return SimpleNamespace(_content={name: SimpleNamespace(_val=value) for name, value in values.items()})


class _Items:
    """Items and nothing else: no mapping, no attributes."""

    def __init__(self, values):
        self.__dict__["_"] = values

    def __getitem__(self, name):
        return self.__dict__["_"][name]


FORMS = {
    "a dict": lambda model: {"model": model},
    "the file's cfg and args": lambda model: {"args": None, "cfg": {"model": model}},
    "a namespace in cfg": lambda model: {"model": Namespace(**model)},
    "the old args": lambda model: Namespace(arch="wav2vec2_cmsc", model="wav2vec2", **model),
    "the old args in a file": lambda model: {"cfg": None, "args": Namespace(**model)},
    "omegaconf's nodes": lambda model: SimpleNamespace(_content={"model": _nodes(model)}),
    "items alone": lambda model: _Items({"model": _Items(model)}),
    "an enumeration": lambda model: {"model": {**model, "extractor_mode": _Mode.DEFAULT}},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", [False, True])
def test_the_checkpoints_configuration_places_the_norms(form, first):
    encoder = unbuilt()
    encoder.net.encoder.norm_first = not first
    lines = encoder.configure_from(FORMS[form]({**NAMED, "layer_norm_first": first}))
    assert encoder.net.encoder.norm_first is first
    assert len(lines) == 1
    assert f"layer_norm_first {first}" in lines[0]


@pytest.mark.parametrize(
    "silent", [None, {}, {"model": {"_name": "wav2vec2_cmsc"}}, {"cfg": None, "args": None}]
)
def test_without_a_word_on_it_the_norms_stay_and_that_is_said(silent):
    encoder = unbuilt()
    encoder.configure_from({"model": {"layer_norm_first": True}})  # of another file
    lines = encoder.configure_from(silent)
    assert encoder.net.encoder.norm_first is False
    why = "the file has no configuration: the norms stay at the beginning"
    assert (why if silent is None else "does not name layer_norm_first") in lines[0]


def shared():
    """A list of two to the sixty parts, were each looked at by itself."""
    made = [12]
    for _ in range(60):
        made = [made, made]
    return made


ENDLESS = {
    "a tensor": torch.tensor([12, 12]),
    "parts that share themselves": shared(),
    "a long text": "-" * 200_000 + "1",
    "a deep text": "-" * 900 + "1",
    "a large number": 1 << 100_000,
    "layers of parts that share themselves": [shared()] * 4,
    "layers of tensors": [torch.ones(3)] * 4,
    "layers of large numbers": [(1 << 100_000, 2, 2)] * 4,
}


@pytest.mark.parametrize("value", ENDLESS)
@pytest.mark.parametrize(
    "name", ["encoder_layers", "conv_feature_layers", "extractor_mode", "layer_norm_first"]
)
def test_whatever_a_configuration_holds_is_refused_at_once_and_in_few_words(name, value):
    with pytest.raises(EncoderError, match=f"(?s){name}.*expected") as caught:
        unbuilt().configure_from({"model": {**NAMED, "layer_norm_first": True, name: ENDLESS[value]}})
    assert len(str(caught.value)) < 600
    (line,) = unbuilt(**SEED).configure_from({"model": {name: ENDLESS[value]}})
    assert len(line) < 600


def test_a_bare_file_after_another_takes_the_declared_form(tmp_path):
    """What a file has said of its norms is not kept for the next one."""
    encoder, card = unbuilt(), encoders.card("ecg_fm")
    encoder.net.to_empty(device="cpu")
    state = {
        key: torch.full((1,) * value.ndim, 0.5).expand(value.shape)
        for key, value in encoder.net.state_dict().items()
    }
    torch.save({"cfg": {"model": {"layer_norm_first": True}}, "model": state}, tmp_path / "first.pt")
    torch.save(state, tmp_path / "bare.pt")
    assert "norms before" in load(encoder, tmp_path / "first.pt", card).notes[0]
    assert encoder.net.encoder.norm_first is True
    assert load(encoder, tmp_path / "bare.pt", card).notes == [
        "the file has no configuration: the norms stay at the beginning and after each block"
    ]
    assert encoder.net.encoder.norm_first is False


WRONG = {
    "layer_norm_first": ["False", None, 1],
    "extractor_mode": ["layer_norm", None],
    "conv_feature_layers": ["[(512, 10, 5)] + [(512, 3, 2)] * 4", "[(256, 2, 2)] * 5", "__import__('os')", 4],
    "encoder_layers": [24],
    "encoder_embed_dim": [1024],
    "encoder_ffn_embed_dim": [4096],
    "encoder_attention_heads": [16],
    "in_d": [1],
    "conv_bias": [True],
    "conv_pos": [95],
    "conv_pos_groups": [8],
    "activation_fn": ["relu"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_configuration_of_another_net_is_refused(name, value):
    encoder = unbuilt()
    with pytest.raises(EncoderError, match=rf"(?s){name}.*expected"):
        encoder.configure_from({"model": {**NAMED, "layer_norm_first": True, name: value}})
    assert encoder.net.encoder.norm_first is False


@pytest.mark.parametrize("first", [False, True])
def test_the_seeds_form_stays_and_says_what_the_configuration_says(first):
    encoder = unbuilt(**SEED)
    (line,) = encoder.configure_from({"model": {**NAMED, "layer_norm_first": first}})
    assert encoder.net.encoder.norm_first is True
    assert "says otherwise" in line
    assert "extractor_mode 'default'" in line
    assert ("layer_norm_first False" in line) is not first
    assert "keeps its form" in encoder.configure_from(None)[0]


def test_conv_layers_are_read_without_being_run(tmp_path):
    assert fairseq.conv_layers("[(512, 10, 5)] + [(512, 3, 2)] * 2") == [
        (512, 10, 5),
        (512, 3, 2),
        (512, 3, 2),
    ]
    assert fairseq.conv_layers([[256, 2, 2]]) == [(256, 2, 2)]
    trap = tmp_path / "trap"
    for text in (
        f"[open({str(trap)!r}, 'w')]",
        "[(1, 2, 3)] * 10 ** 9",
        "[(1, 2, 3)] * 1000000000",
        "[1.5",
        "(" * 500,
    ):
        with pytest.raises(EncoderError, match="conv_feature_layers"):
            fairseq.conv_layers(text)
    assert not trap.exists()
