"""ECGFM-KED's pitfalls: a nested checkpoint that loads nothing, keys that are there twice, a pool in the shortcut."""

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch
from torch import nn

from models import encoders
from models.encoders.checkpoint import check
from models.encoders.ecgfm_ked import _Block
from models.encoders.keys import look_at_values, match
from tests.models.encoders import golden, intermediate, weights


@pytest.fixture(scope="module")
def encoder():
    return weights.filled("ecgfm_ked")


@pytest.fixture(scope="module")
def features(encoder):
    with torch.no_grad():
        return encoder(weights.window(encoder, 1))


def matched(encoder, tree):
    """How a file of ``tree`` fits the encoder, by the card's rules."""
    found = match(tree, encoders.card("ecgfm_ked").rules, encoder.state_module)
    if found.whole:
        look_at_values(found, encoder.state_module)
    return found


def test_pooled_is_the_mean_of_157_tokens_after_the_last_relu(features):
    sequence, pooled = features
    assert sequence.shape == (1, 157, 768)
    assert torch.allclose(pooled, sequence.mean(1), atol=1e-6)
    assert sequence.min() == 0 < sequence.max()


def test_each_of_five_halvings_rounds_up(encoder):
    expected = [2500, 2500, 2500, 1250, 1250, 625, 313, 157]
    assert intermediate.lengths(encoder, [*"01234567"]) == expected


def test_a_bottleneck_is_in_the_state_twice_and_counted_once(encoder):
    state = encoder.state_module.state_dict(keep_vars=True)
    pairs = [(key, key.replace(".convs.", ".convpath.0.")) for key in state if ".convs." in key]
    assert len(pairs) == 33 * 3 * 6
    assert all(state[one] is state[other] for one, other in pairs)
    assert len(state) == 1224
    assert len({id(value) for value in state.values()}) == 630
    assert not any("convpath" in name for name, _ in encoder.state_module.named_parameters())


def test_the_shortcuts_convolution_stands_behind_its_pool(encoder):
    shortcuts = {key.rpartition(".")[0] for key in encoder.state_module.state_dict() if ".idpath." in key}
    assert shortcuts == {
        f"{at}.{part}" for at in ("4.0.idpath.0", "5.0.idpath.1", "7.0.idpath.1") for part in (0, 1)
    }
    kinds = {at: [type(each) for each in encoder.net[at][0].idpath] for at in (4, 5, 6, 7)}
    assert kinds == {
        4: [nn.Sequential],
        5: [nn.AvgPool2d, nn.Sequential],
        6: [nn.AvgPool2d],
        7: [nn.AvgPool2d, nn.Sequential],
    }


def test_a_last_half_window_is_the_mean_of_what_is_there():
    block = _Block(16, 4, 2)
    x = torch.arange(1.0, 6).expand(1, 16, 1, 5)
    assert block.idpath(x)[0, 0, 0].tolist() == [1.5, 3.5, 5]


def test_the_sum_of_both_ways_is_bent():
    torch.manual_seed(0)
    block = _Block(16, 4, 1).eval()
    x = torch.randn(2, 16, 1, 9)
    before = x.clone()
    with torch.no_grad():
        assert torch.equal(block(x), torch.relu(block.convs(x) + x))
    assert torch.equal(x, before), "the block changed what it was given"


def test_gradients_reach_all(encoder):
    """On 1.3 s: the net takes any length."""
    encoder.encode(weights.window(encoder, 1)[..., :640]).square().sum().backward()
    without = [
        name
        for name, each in encoder.state_module.named_parameters()
        if each.grad is None or not each.grad.abs().sum()
    ]
    encoder.zero_grad(set_to_none=True)
    assert not without


def test_training_follows_the_batch_and_freezing_does_not(encoder, features):
    made = encoders.create("ecgfm_ked")
    made.state_module.load_state_dict(encoder.state_module.state_dict())
    x = weights.window(made, 1)
    with torch.no_grad():
        assert torch.equal(made.freeze().train()(x)[0], features[0])
        made.frozen = False
        assert not torch.allclose(made.train()(x)[0], features[0], atol=1e-2)
    assert int(made.net[7][0].convs[0][1].num_batches_tracked) == 1


def test_values_go_in_as_they_are(encoder, features):
    with torch.no_grad():
        for other in (weights.window(encoder, 1) * 2, weights.window(encoder, 1) + 1):
            assert (encoder(other)[0] - features[0]).abs().max() > 0.1


def test_the_authors_nested_file_loads_whole(encoder, tmp_path):
    """As their training script saves it; ``model`` is the query network, which is no part of the encoder."""
    tree = {
        "model": {"decoder.weight": torch.zeros(3)},
        "ecg_model": encoder.state_module.state_dict(),
        "text_encoder": {"embedding.weight": torch.zeros(3)},
        "optimizer": {"state": {}, "param_groups": []},
        "lr_scheduler": {},
        "config": {"batch_size": 64},
        "epoch": 3,
    }
    path = tmp_path / "ked.pt"
    torch.save(tree, path)
    made = encoders.create("ecgfm_ked")
    report = check(made, path, encoders.card("ecgfm_ked"))
    assert report.ok, report.faults()
    assert report.parameters == 7_865_984
    state = made.state_module.state_dict()
    assert all(torch.equal(value, state[key]) for key, value in encoder.state_module.state_dict().items())


def test_a_flat_file_and_a_bare_one_fit_whole(encoder):
    state = encoder.state_module.state_dict()
    flat = {f"ecg_model.{key}": value for key, value in state.items()}
    for tree in (flat | {"model.decoder.weight": torch.zeros(3)}, flat, dict(state)):
        found = matched(encoder, tree)
        assert found.whole, found.faults()
        assert sorted(found.used) == sorted(state)


def test_a_file_that_holds_only_the_query_network_does_not_fit(encoder):
    for tree in ({"model": {"decoder.weight": torch.zeros(3)}}, {"model.decoder.weight": torch.zeros(3)}):
        found = matched(encoder, tree)
        assert not found.whole
        assert not found.used


def test_a_bottleneck_with_two_values_is_refused(encoder):
    state = {key: value.clone() for key, value in encoder.state_module.state_dict().items()}
    state["6.4.convpath.0.1.0.weight"] += 1
    found = matched(encoder, {"ecg_model": state})
    assert found.unequal == {"6.4.convpath.0.1.0.weight": "6.4.convs.1.0.weight"}
    assert not found.whole


@golden.needs_golden
def test_what_is_inside_is_the_references(encoder):
    try:
        assert intermediate.hold(encoder, "ecgfm_ked") == 7
    finally:
        weights.fill(encoder.state_module)
