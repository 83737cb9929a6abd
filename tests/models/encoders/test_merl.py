"""MERL's pitfalls: no pool in the stem, a linear layer that nothing goes through, groups of the paper."""

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch

from models import encoders
from models.encoders.checkpoint import check
from tests.models.encoders import golden, intermediate, weights

LAYERS = ["layer1", "layer2", "layer3", "layer4"]


@pytest.fixture(scope="module")
def encoder():
    return weights.filled("merl")


@pytest.fixture(scope="module")
def features(encoder):
    with torch.no_grad():
        return encoder(weights.window(encoder, 2))


def test_pooled_is_the_mean_of_79_tokens_after_the_last_relu(features):
    sequence, pooled = features
    assert sequence.shape == (2, 79, 512)
    assert torch.allclose(pooled, sequence.mean(1), atol=1e-6)
    assert sequence.min() == 0 < sequence.max()


def test_the_stem_halves_once(encoder):
    assert intermediate.lengths(encoder, ["conv1", "bn1", *LAYERS]) == [625, 625, 625, 313, 157, 79]


def test_a_shortcut_has_weights_where_the_width_changes(encoder):
    shortcuts = {
        key.partition(".shortcut.")[0] for key in encoder.state_module.state_dict() if ".shortcut." in key
    }
    assert shortcuts == {"layer2.0", "layer3.0", "layer4.0"}


def test_the_linear_layer_has_no_influence(encoder, features):
    linear = encoder.state_module.linear
    kept = {key: value.clone() for key, value in linear.state_dict().items()}
    try:
        with torch.no_grad():
            linear.weight.fill_(9)
            linear.bias.fill_(9)
            assert torch.equal(encoder(weights.window(encoder, 2))[0], features[0])
    finally:
        linear.load_state_dict(kept)


def test_gradients_reach_all_but_the_linear_layer(encoder):
    encoder(weights.window(encoder, 2))[0].square().sum().backward()
    without = {
        name
        for name, each in encoder.state_module.named_parameters()
        if each.grad is None or not each.grad.abs().sum()
    }
    encoder.zero_grad(set_to_none=True)
    assert without == {"linear.weight", "linear.bias"}


def test_groups_are_those_of_the_papers_repository(encoder):
    names = {id(each): name.partition(".")[0] for name, each in encoder.state_module.named_parameters()}
    groups = {
        group: {names[id(each)] for each in parameters}
        for group, parameters in encoder.layer_groups().items()
    }
    assert groups == {
        "early": {"conv1", "bn1", "layer1", "layer2"},
        "late": {"layer3", "layer4"},
        "unused": {"linear"},
    }


def test_training_follows_the_batch_and_freezing_does_not(encoder, features):
    made = encoders.create("merl")
    made.state_module.load_state_dict(encoder.state_module.state_dict())
    x = weights.window(made, 2)
    with torch.no_grad():
        assert torch.equal(made.freeze().train()(x)[0], features[0])
        made.frozen = False
        assert not torch.allclose(made.train()(x)[0], features[0], atol=1e-2)
    assert int(made.net.bn1.num_batches_tracked) == 1


def test_values_go_in_as_they_are(encoder, features):
    with torch.no_grad():
        for other in (weights.window(encoder, 2) * 2, weights.window(encoder, 2) + 1):
            assert (encoder(other)[0] - features[0]).abs().max() > 0.1


@pytest.mark.parametrize("container", ["state_dict", None])
@pytest.mark.parametrize("classes", [None, 1, 2])
def test_the_published_file_loads_whole_with_any_linear_layer_or_none(encoder, container, classes, tmp_path):
    state = {
        key: value
        for key, value in encoder.state_module.state_dict().items()
        if not key.startswith("linear.")
    }
    if classes:
        state |= {"linear.weight": torch.ones(classes, 512), "linear.bias": torch.ones(classes)}
    path = tmp_path / "merl.pth"
    torch.save(state if container is None else {container: state}, path)
    made = encoders.create("merl")
    report = check(made, path, encoders.card("merl"))
    assert report.ok, report.faults()
    assert report.parameters == 3_848_832
    loaded = made.state_module.state_dict()
    assert all(
        torch.equal(value, loaded[key]) for key, value in state.items() if not key.startswith("linear.")
    )


@golden.needs_golden
def test_what_is_inside_is_the_references(encoder):
    try:
        assert intermediate.hold(encoder, "merl") == 6
    finally:
        weights.fill(encoder.state_module)
