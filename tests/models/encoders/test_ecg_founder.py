"""ECGFounder's pitfalls: batch norms that are not computed, odd pads, a pool against zero, channels out of nothing."""

import math

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch
from torch.nn import functional

from models import encoders
from models.encoders.checkpoint import check
from models.encoders.ecg_founder import _Block, _Same
from tests.models.encoders import golden, intermediate, weights

STAGES = [f"stage_list.{place}" for place in range(7)]


@pytest.fixture(scope="module")
def encoder():
    return weights.filled("ecg_founder")


@pytest.fixture(scope="module")
def features(encoder):
    with torch.no_grad():
        return encoder(weights.window(encoder, 2))


def test_pooled_is_the_mean_of_five_tokens_that_no_activation_has_bent(encoder, features):
    sequence, pooled = features
    assert sequence.shape == (2, 5, 1024)
    assert torch.allclose(pooled, sequence.mean(1))
    sums = intermediate.outputs(encoder, STAGES[-1:], weights.window(encoder, 2))[STAGES[-1]]
    assert torch.equal(sequence, sums.transpose(1, 2))


def test_each_of_eight_halvings_rounds_up(encoder):
    assert intermediate.lengths(encoder, ["first_conv", *STAGES]) == [625, 313, 157, 79, 40, 20, 10, 5]


def test_batch_norms_are_in_the_state_and_not_in_the_features(encoder, features):
    state = encoder.state_module.state_dict()
    norms = [key for key in state if ".bn" in key or key.startswith("first_bn")]
    assert len(norms) == 5 * (1 + 3 * 20)
    kept = {key: state[key].clone() for key in norms}
    try:
        for key in norms:
            state[key].fill_(7)
        with torch.no_grad():
            assert torch.equal(encoder(weights.window(encoder, 2))[0], features[0])
    finally:
        encoder.state_module.load_state_dict(kept, strict=False)


def test_training_has_no_dropout_and_follows_no_batch(encoder, features):
    before = {key: value.clone() for key, value in encoder.state_module.named_buffers()}
    encoder.train()
    try:
        with torch.no_grad():
            assert torch.equal(encoder(weights.window(encoder, 2))[0], features[0])
    finally:
        encoder.eval()
    assert all(torch.equal(value, before[key]) for key, value in encoder.state_module.named_buffers())


def test_gradients_reach_all_but_the_batch_norms(encoder):
    encoder(weights.window(encoder, 2))[0].square().sum().backward()
    without = {
        name
        for name, each in encoder.state_module.named_parameters()
        if each.grad is None or not each.grad.abs().sum()
    }
    encoder.zero_grad(set_to_none=True)
    assert without == {
        name
        for name, _ in encoder.state_module.named_parameters()
        if name.split(".")[-2] in ("first_bn", "bn1", "bn2", "bn3")
    }


def test_values_go_in_as_they_are(encoder, features):
    with torch.no_grad():
        for other in (weights.window(encoder, 2) * 2, weights.window(encoder, 2) + 1):
            assert (encoder(other)[0] - features[0]).abs().max() > 0.1


@pytest.mark.parametrize("samples", [1, 5, 10, 79, 313, 625, 1250])
@pytest.mark.parametrize("stride", [1, 2])
def test_an_odd_zero_of_the_pad_stands_behind(samples, stride):
    """Every output by its definition: tap k of output t reads sample t · stride + k − floor(pad / 2)."""
    torch.manual_seed(samples)
    convolution = _Same(32, 32, 16, stride, groups=2).double()
    x = torch.randn(1, 32, samples, dtype=torch.float64)
    outputs = math.ceil(samples / stride)
    pad = max(0, (outputs - 1) * stride + 16 - samples)
    reads = torch.arange(outputs)[:, None] * stride + torch.arange(16) - pad // 2
    there = (reads >= 0) & (reads < samples)
    taken = torch.where(there, x[..., reads.clamp(0, samples - 1)], 0.0)
    grouped = taken.reshape(1, 2, 16, outputs, 16)
    kernel = convolution.conv.weight.reshape(2, 16, 16, 16)
    expected = torch.einsum("bgitk,goik->bgot", grouped, kernel).reshape(1, 32, outputs)
    expected = expected + convolution.conv.bias[:, None]
    with torch.no_grad():
        assert torch.allclose(convolution(x[:, :, None])[:, :, 0], expected, atol=1e-12)


def test_a_width_of_one_is_a_convolution_too():
    torch.manual_seed(0)
    layer, x = _Same(12, 20, 1), torch.randn(2, 12, 1, 30)
    expected = functional.conv1d(x[:, :, 0], layer.conv.weight, layer.conv.bias)
    assert torch.allclose(layer(x)[:, :, 0], expected, atol=1e-6)


def test_the_shortcut_pools_an_odd_end_against_zero():
    block = _Block(16, 16, 2, first=False)
    x = torch.tensor([-5.0, -3, -2, -1, -4]).expand(1, 16, 1, 5)
    assert block._identity(x)[0, 0, 0].tolist() == [-3, -1, 0]
    assert block._identity(x[..., :4])[0, 0, 0].tolist() == [-3, -1]


def test_the_shortcut_adds_empty_channels_on_both_sides():
    added = _Block(64, 160, 1, first=False)._identity(torch.ones(1, 64, 1, 3))[0, :, 0].sum(1)
    assert added.tolist() == [0] * 48 + [3] * 64 + [0] * 48


def test_only_the_first_block_of_all_has_no_swish_in_front(encoder):
    """What goes into a block, and what into its first convolution."""
    seen = {}

    def keep(name, module, given):
        seen[name] = given[0].clone()

    blocks = {
        (stage, place): block
        for stage, each in enumerate(encoder.net.stage_list)
        for place, block in enumerate(each.block_list)
    }
    hooks = []
    for at, block in blocks.items():
        for part, module in (("block", block), ("conv1", block.conv1)):
            hooks.append(
                module.register_forward_pre_hook(
                    lambda inner, given, name=(at, part): keep(name, inner, given)
                )
            )
    with torch.no_grad():
        encoder(weights.window(encoder, 1))
    for each in hooks:
        each.remove()
    bare = [at for at in blocks if torch.equal(seen[at, "conv1"], seen[at, "block"])]
    swished = [at for at in blocks if torch.equal(seen[at, "conv1"], functional.silu(seen[at, "block"]))]
    assert bare == [(0, 0)]
    assert len(swished) == len(blocks) - 1 == 19


def test_channels_are_weighted_by_their_mean_over_time():
    """With weights of zero and biases of 0 the sigmoid is a half: the block is half its main path and its shortcut."""
    torch.manual_seed(0)
    block = _Block(32, 32, 1, first=True)
    x = torch.randn(2, 32, 1, 9)
    for layer in (block.se_fc1, block.se_fc2):
        torch.nn.init.zeros_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    with torch.no_grad():
        main = block.conv3(functional.silu(block.conv2(functional.silu(block.conv1(x)))))
        assert torch.allclose(block(x), x + main / 2, atol=1e-6)
        torch.nn.init.normal_(block.se_fc1.weight)
        torch.nn.init.normal_(block.se_fc2.weight)
        gate = (block(x) - x) / main
        assert (gate - gate[..., :1]).abs().max() < 1e-3, "the weight is another at another time"
        hidden = functional.silu(block.se_fc1(main.mean(-1)[:, :, 0]))
        assert torch.allclose(gate[..., 0, 0], torch.sigmoid(block.se_fc2(hidden)), atol=1e-3)


@pytest.mark.parametrize("container", ["state_dict", "model", None])
def test_the_published_container_loads_whole_without_its_head(encoder, container, tmp_path):
    """The tensors are views of one number each, which keeps the file small."""
    state = {
        key: value.flatten()[0].clone().expand(value.shape) for key, value in encoder.net.state_dict().items()
    }
    state |= {"dense.weight": torch.zeros(1).expand(150, 1024), "dense.bias": torch.zeros(1).expand(150)}
    path = tmp_path / "founder.pth"
    torch.save(state if container is None else {container: state, "epoch": 3}, path)
    made = encoders.create("ecg_founder")
    report = check(made, path, encoders.card("ecg_founder"))
    assert report.ok, report.faults()
    assert report.parameters == 30_665_264
    assert all(torch.equal(value, state[key]) for key, value in made.net.state_dict().items())


@golden.needs_golden
def test_what_is_inside_is_the_references(encoder):
    try:
        assert intermediate.hold(encoder, "ecg_founder") == 9
    finally:
        weights.fill(encoder.state_module)
