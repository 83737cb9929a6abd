"""What every encoder is held to: its declarations, its groups of parameters, freezing, and modules of others."""

import copy
import re

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch
from torch import nn

from models import encoders
from models.encoders import EncoderError
from models.encoders.contract import Encoder, adopt


class Small(Encoder):
    """1 s at 100 Hz → 25 tokens of 8, with a batch norm and dropout."""

    chunk_seconds, model_fs, model_seq_len, feature_dim = 1.0, 100, 100, 8
    early = ("0.", "1.")

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(12, 8, 5, 2, 2), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Conv1d(8, 8, 5, 2, 2)
        )

    def encode(self, x):
        return self.net(x).transpose(1, 2)


class Theirs(nn.Module):
    """A module in the benchmark's form: it has no base class of ours, and resamples nothing."""

    chunk_seconds, model_fs, model_seq_len, feature_dim = 1.0, 100, 100, 8

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv1d(12, 8, 5, 2, 2)
        self.norm = nn.BatchNorm1d(8)
        self.body = nn.Conv1d(8, 8, 5, 2, 2)

    def forward(self, x):
        y = self.body(self.norm(self.stem(x))).transpose(1, 2)
        return y, y.mean(1)


class Grouped(Theirs):
    def get_layer_groups(self):
        return {
            "early": [*self.stem.parameters(), *self.norm.parameters()],
            "late": list(self.body.parameters()),
        }


def windows(batch: int = 4) -> torch.Tensor:
    return torch.randn(batch, 12, 100, generator=torch.Generator().manual_seed(3))


def names_of(encoder: Encoder) -> dict[str, list[str]]:
    name = {id(parameter): name for name, parameter in encoder.state_module.named_parameters()}
    return {
        group: [name[id(each)] for each in parameters] for group, parameters in encoder.layer_groups().items()
    }


def test_one_pair_of_features_comes_out():
    sequence, pooled = Small().eval()(windows(), fs=100)
    assert sequence.shape == (4, 25, 8)
    assert torch.allclose(pooled, sequence.mean(1))


def test_a_window_does_not_depend_on_its_batch():
    encoder = Small().eval()
    together = encoder(windows())[0]
    alone = torch.cat([encoder(each[None])[0] for each in windows()])
    assert torch.allclose(together, alone, atol=1e-6)


def test_what_encode_returns_is_held_to_the_declaration():
    class Wide(Small):
        feature_dim = 9

    with pytest.raises(
        EncoderError, match=re.escape("(4, 25, 8) of torch.float32, where (4, T, 9) of floats")
    ):
        Wide()(windows())


def test_an_encoder_without_encode_says_so():
    class Bare(Encoder):
        chunk_seconds, model_fs, model_seq_len, feature_dim = 1.0, 100, 100, 8

    with pytest.raises(NotImplementedError, match=r"Bare defines no encode\(self, x\)"):
        Bare()(windows())


DECLARATIONS = {
    "no feature_dim": ({"feature_dim": None}, "declares no feature_dim; expected chunk_seconds, model_fs"),
    "no chunk_seconds": ({"chunk_seconds": None}, "declares no chunk_seconds"),
    "samples of another rate": (
        {"model_seq_len": 250},
        "found model_seq_len 250; expected chunk_seconds × model_fs, 100",
    ),
    "a rate below zero": ({"model_fs": -100}, "found model_fs -100; expected a positive number"),
    "half a feature": ({"feature_dim": 7.5}, "found feature_dim 7.5; expected a positive integer"),
    "seconds in words": ({"chunk_seconds": "1"}, "found chunk_seconds '1'"),
    "no features": ({"feature_dim": 0}, "found feature_dim 0"),
    "true": ({"model_seq_len": True}, "found model_seq_len True"),
}


@pytest.mark.parametrize("case", DECLARATIONS)
@pytest.mark.parametrize("base", [Encoder, nn.Module])
def test_a_wrong_declaration_is_refused_where_the_encoder_is_made(case, base):
    changed, message = DECLARATIONS[case]
    declared = {"chunk_seconds": 1.0, "model_fs": 100, "model_seq_len": 100, "feature_dim": 8} | changed
    kind = type("Odd", (base,), {name: value for name, value in declared.items() if value is not None})
    with pytest.raises(EncoderError, match=re.escape(f"Odd{':' if 'found' in message else ''} {message}")):
        kind() if base is Encoder else adopt(kind())


def test_groups_are_by_beginnings_and_late_is_the_rest():
    assert names_of(Small()) == {
        "early": ["0.weight", "0.bias", "1.weight", "1.bias"],
        "late": ["3.weight", "3.bias"],
    }


def test_the_longer_beginning_wins_and_unused_is_a_group_of_its_own():
    class Mixed(Small):
        early, late, unused = ("0.",), ("",), ("0.bias", "1.")

    assert names_of(Mixed()) == {
        "early": ["0.weight"],
        "late": ["3.weight", "3.bias"],
        "unused": ["0.bias", "1.weight", "1.bias"],
    }


def test_a_parameter_in_two_groups_is_an_error():
    class Twice(Small):
        late = ("", "1.")

    with pytest.raises(EncoderError, match=r"the parameter 1\.weight is in early and late"):
        Twice().layer_groups()


def test_a_parameter_in_no_group_is_an_error():
    class Lost(Small):
        late = ("3.w",)

    with pytest.raises(EncoderError, match=r"the parameter 3\.bias is in no group"):
        Lost().layer_groups()


def test_a_parameter_outside_the_state_module_is_an_error():
    class Projected(Small):
        def __init__(self):
            super().__init__()
            self.projection = nn.Linear(8, 8)

    with pytest.raises(EncoderError, match=r"outside state_module, in no group: projection\.weight"):
        Projected().layer_groups()


@pytest.mark.parametrize("made", [Small, lambda: adopt(Theirs())])
def test_frozen_is_frozen_whatever_train_says(made):
    encoder = made().freeze()
    before, expected = copy.deepcopy(encoder.state_dict()), encoder(windows())[0]
    around = nn.Sequential(encoder).train()
    assert around.training
    assert not any(each.training for each in encoder.modules())
    assert not any(each.requires_grad for each in encoder.parameters())
    for _ in range(2):
        assert torch.equal(encoder.train()(windows())[0], expected)
    after = encoder.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_one_that_is_not_frozen_trains():
    encoder = Small().train()
    mean = encoder.net[1].running_mean.clone()
    first, second = encoder(windows())[0], encoder(windows())[0]
    assert not torch.equal(first, second), "no dropout"
    assert not torch.equal(mean, encoder.net[1].running_mean)
    first.sum().backward()
    assert all(each.grad is not None for each in encoder.parameters())


def test_a_gradient_goes_through_a_frozen_encoder():
    x = windows().requires_grad_()
    Small().freeze()(x)[1].square().sum().backward()
    assert x.grad.abs().sum() > 0


def test_a_module_in_the_benchmarks_form_is_adopted_with_its_window():
    theirs = Theirs().eval()
    encoder = adopt(theirs).eval()
    assert (encoder.chunk_seconds, encoder.model_fs, encoder.model_seq_len, encoder.feature_dim) == (
        1.0,
        100,
        100,
        8,
    )
    assert encoder.state_module is theirs
    for found, expected in zip(encoder(windows(), fs=100), theirs(windows()), strict=True):
        assert torch.equal(found, expected)
    assert encoder(windows().repeat_interleave(2, -1), fs=200)[0].shape == (4, 25, 8)
    with pytest.raises(EncoderError, match="found 8 leads"):
        encoder(windows()[:, :8])


def test_an_adopted_module_names_its_groups():
    assert names_of(adopt(Grouped())) == {
        "early": ["stem.weight", "stem.bias", "norm.weight", "norm.bias"],
        "late": ["body.weight", "body.bias"],
    }


def test_an_adopted_module_without_groups_is_late():
    assert names_of(adopt(Theirs())) == {
        "early": [],
        "late": [name for name, _ in Theirs().named_parameters()],
    }


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (
            lambda m: {"early": [*m.stem.parameters()], "late": [*m.body.parameters()]},
            "found 4 parameters in early, late",
        ),
        (
            lambda m: {"early": [*m.stem.parameters()], "late": [*m.parameters()]},
            "found 8 parameters in early, late",
        ),
        (lambda m: {"late": [*m.parameters()]}, "found 6 parameters in late; expected each of 6 once"),
        (lambda m: {}, "found 0 parameters in no group"),
        (
            lambda m: {"early": [], "late": [], "head": [*m.parameters()]},
            "found 6 parameters in early, late, head",
        ),
    ],
)
def test_groups_of_an_adopted_module_that_are_not_whole_are_an_error(groups, message):
    theirs = Theirs()
    theirs.get_layer_groups = lambda: groups(theirs)
    with pytest.raises(EncoderError, match=message):
        adopt(theirs).layer_groups()


def test_what_is_no_module_is_not_adopted():
    with pytest.raises(EncoderError, match="found function; expected a torch module"):
        adopt(lambda x: x)


def test_create_makes_an_encoder_in_eval_mode_by_its_name():
    encoder = encoders.create("dummy", nan="zero", resample="linear")
    assert (encoder.name, encoder.training) == ("dummy", False)
    assert (encoder.preparation.nan, encoder.preparation.resample) == ("zero", "linear")
    assert torch.equal(encoder.net[0].weight, encoders.create("dummy").net[0].weight)
    with pytest.raises(EncoderError, match=r"found no encoder 'dumy'; expected one of: .*dummy"):
        encoders.create("dumy")


def test_parity_is_linear_zero_and_any_length_and_each_may_be_set():
    how = encoders.create("dummy", parity=True).preparation
    assert (how.resample, how.nan, how.any_length) == ("linear", "zero", True)
    how = encoders.create("dummy", parity=True, nan="error", resample="band_limited").preparation
    assert (how.resample, how.nan, how.any_length) == ("band_limited", "error", True)
    how = encoders.create("dummy").preparation
    assert (how.resample, how.nan, how.any_length) == ("band_limited", "error", False)
