"""ECG-JEPA's pitfalls: the mask is a cross and holds at inference, positions come before every block, eight leads."""

import copy
import json

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch

from models import encoders
from models.encoders import ecg_jepa
from models.encoders.ecg_jepa import cross_attention
from models.encoders.keys import match
from tests.models.encoders import golden, weights
from tests.models.encoders.compare import deviation, outputs

SELECTED = [0, 1, 6, 7, 8, 9, 10, 11]


@pytest.fixture(scope="module")
def filled():
    """Two of the twelve blocks, which differ in nothing but their weights."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ecg_jepa, "BLOCKS", 2)
        return weights.filled("ecg_jepa")


@pytest.fixture
def encoder(filled):
    return copy.deepcopy(filled)


@pytest.fixture(scope="module")
def whole():
    """All twelve, without memory or values."""
    with torch.device("meta"):
        return encoders.create("ecg_jepa")


# The attention


def mask_of(leads, patches):
    token = torch.arange(leads * patches)
    lead, patch = token // patches, token % patches
    return (lead[:, None] == lead) | (patch[:, None] == patch)


def dense(q, k, v):
    """The same by all pairs of tokens and the mask, as the sheet has it."""
    leads, patches, width = q.shape[-3:]
    q, k, v = (each.flatten(-3, -2) for each in (q, k, v))
    scores = q @ k.transpose(-1, -2) * width**-0.5
    scores = scores.masked_fill(~mask_of(leads, patches), -torch.inf)
    return (scores.softmax(-1) @ v).unflatten(-2, (leads, patches))


def drawn(*shape, scale=1.0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(11)
    return [torch.randn(*shape, generator=generator, dtype=dtype) * scale for _ in range(3)]


SHAPES = [(2, 3, 8, 50, 48), (1, 2, 3, 4, 5), (2, 1, 1, 6, 4), (2, 1, 6, 1, 4), (1, 1, 1, 1, 3), (5, 5, 2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_cross_is_dense_attention_under_its_mask(shape):
    q, k, v = drawn(*shape)
    assert torch.allclose(cross_attention(q, k, v), dense(q, k, v), rtol=0, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-3, 30.0])
def test_scores_near_zero_and_far_apart_are_the_dense_ones(scale):
    q, k, v = drawn(2, 2, 8, 50, 48, scale=scale)
    found, expected = cross_attention(q, k, v), dense(q, k, v)
    assert bool(found.isfinite().all())
    assert deviation(found, expected) < 1e-12


def test_in_single_precision_it_rounds_as_dense_attention_does():
    q, k, v = drawn(2, 16, 8, 50, 48, dtype=torch.float32)
    exact = dense(q.double(), k.double(), v.double())
    assert deviation(cross_attention(q, k, v), exact) < 2e-6


def test_its_gradients_are_the_dense_ones():
    given = drawn(2, 3, 8, 50, 6)
    towards = torch.randn(given[0].shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    for each in given:
        each.requires_grad_()
    found = torch.autograd.grad((cross_attention(*given) * towards).sum(), given)
    expected = torch.autograd.grad((dense(*given) * towards).sum(), given)
    for mine, other in zip(found, expected, strict=True):
        assert torch.allclose(mine, other, rtol=0, atol=1e-13)


def test_its_gradients_are_those_of_finite_differences():
    given = [each.requires_grad_() for each in drawn(1, 3, 4, 2)]
    assert torch.autograd.gradcheck(cross_attention, given)


def test_a_token_sees_itself_once():
    """With equal scores the weights are a mean over leads + patches - 1 tokens."""
    v = torch.eye(12, dtype=torch.float64).reshape(3, 4, 12)
    q = torch.zeros(3, 4, 12, dtype=torch.float64)
    seen = cross_attention(q, q, v).reshape(12, 12)
    assert torch.allclose(seen, mask_of(3, 4).double() / 6)


@pytest.mark.parametrize(("lead", "patch"), [(0, 0), (3, 7), (7, 49)])
def test_a_block_carries_a_token_to_its_lead_and_its_patch_index_only(encoder, lead, patch):
    block = encoder.net.encoder_blocks.blocks[0]
    x = torch.randn(1, 400, 768, generator=torch.Generator().manual_seed(5))
    other = x.clone()
    other[0, lead * 50 + patch] += torch.linspace(-1, 1, 768)
    moved = (outputs(block, other) - outputs(block, x)).abs().amax(-1)[0]
    there = mask_of(8, 50)[lead * 50 + patch]
    assert int(there.sum()) == 57
    assert float(moved[there].min()) > 1e-4
    assert float(moved[~there].max()) < 1e-6


def test_heads_and_thirds_of_the_projection_are_where_the_checkpoint_has_them(encoder):
    attention = encoder.net.encoder_blocks.blocks[1].attn
    x = torch.randn(3, 400, 768, generator=torch.Generator().manual_seed(6))
    state = attention.state_dict()
    assert set(state) == {"qkv.weight", "proj.weight", "proj.bias"}
    heads = (x @ state["qkv.weight"].T).reshape(3, 8, 50, 3, 16, 48).permute(3, 0, 4, 1, 2, 5)
    y = dense(*heads).permute(0, 2, 3, 1, 4).reshape(3, 400, 768)
    assert deviation(outputs(attention, x), y @ state["proj.weight"].T + state["proj.bias"]) < 1e-5


# Positions


def test_half_of_a_position_is_the_patch_and_half_the_lead(encoder):
    table = encoder.net.pos_embed.detach().double().reshape(8, 50, 4, 192)
    frequency = 10000.0 ** (-torch.arange(192, dtype=torch.float64) / 192)
    for lead, patch in ((0, 0), (0, 49), (5, 0), (7, 33)):
        expected = [
            torch.sin(patch * frequency),
            torch.cos(patch * frequency),
            torch.sin(lead * frequency),
            torch.cos(lead * frequency),
        ]
        assert torch.allclose(table[lead, patch], torch.stack(expected), rtol=0, atol=1e-7)


def test_positions_are_added_before_every_block_into_the_residual_stream(encoder):
    blocks, seen = encoder.net.encoder_blocks, []
    hooks = [
        each.register_forward_hook(lambda module, given, output: seen.append((given[0], output)))
        for each in (encoder.net.W_P, *blocks.blocks)
    ]
    outputs(encoder, weights.window(encoder, 1))
    for each in hooks:
        each.remove()
    (_, tokens), (first, after_first), (second, _) = seen
    position = encoder.net.pos_embed.detach()
    assert torch.equal(first, tokens + position)
    assert torch.equal(second, after_first + position)


def test_positions_are_fixed_and_in_the_state(encoder, whole):
    assert [name for name, each in whole.net.named_parameters() if not each.requires_grad] == ["pos_embed"]
    assert len(whole.net.state_dict()) == 137
    assert not list(whole.buffers())
    assert "pos_embed" in encoder.net.state_dict()


# Input and output


def test_it_takes_its_eight_leads_from_twelve_by_name(encoder):
    x = weights.window(encoder, 1)
    sequence, pooled = outputs(encoder, x)
    noisy = x.clone()
    noisy[:, 2:6] = torch.randn(1, 4, 2500, generator=torch.Generator().manual_seed(1))
    assert torch.equal(outputs(encoder, noisy)[0], sequence)
    with torch.no_grad():
        eight = encoder(x[:, SELECTED], leads=["I", "II", "V1", "V2", "V3", "V4", "V5", "V6"])
        turned = encoder(x[:, SELECTED[::-1]], leads=["V6", "V5", "V4", "V3", "V2", "V1", "II", "I"], fs=250)
    for found in (eight, turned):
        assert torch.equal(found[0], sequence)
        assert torch.equal(found[1], pooled)


def test_eight_channels_without_names_are_an_error_but_the_benchmarks_way(encoder):
    x = weights.window(encoder, 1)
    with pytest.raises(encoders.EncoderError, match="found 8 leads"):
        encoder(x[:, SELECTED])
    encoder.configure(parity=True)
    assert torch.equal(outputs(encoder, x[:, SELECTED])[0], outputs(encoder, x)[0])


def test_tokens_are_a_lead_after_the_other_and_normed(encoder):
    x = weights.window(encoder, 1)
    other = x.clone()
    other[0, 6, 4 * 50 : 5 * 50] += 1  # V1, the third of the eight
    seen = []
    hook = encoder.net.W_P.register_forward_hook(lambda module, given, output: seen.append(output))
    sequence, pooled = outputs(encoder, x)
    outputs(encoder, other)
    hook.remove()
    assert (seen[0] != seen[1]).any(-1).nonzero().tolist() == [[0, 2 * 50 + 4]]
    assert sequence.shape == (1, 400, 768)
    assert torch.allclose(pooled, sequence.mean(1))
    norm = encoder.net.norm
    raw = (sequence - norm.bias.detach()) / norm.weight.detach()
    assert float(raw.mean(-1).abs().max()) < 1e-4
    assert torch.allclose(raw.var(-1, correction=0), torch.ones(1, 400), atol=1e-3)


def test_windows_do_not_see_each_other(encoder):
    """Three are more than one step and no multiple of one."""
    x = weights.window(encoder, 3)
    together = outputs(encoder, x)[0]
    for place in range(3):
        assert deviation(outputs(encoder, x[place : place + 1])[0][0], together[place]) < 1e-5


# Training


def test_training_has_no_dropout_and_reaches_every_weight(encoder):
    x = weights.window(encoder, 3)
    expected = outputs(encoder, x)[1]
    encoder.train()
    sequence, pooled = encoder(x)
    assert torch.allclose(pooled.detach(), expected, rtol=0, atol=1e-5)
    towards = torch.randn(sequence.shape, generator=torch.Generator().manual_seed(2))
    (sequence * towards).sum().backward()
    for name, each in encoder.net.named_parameters():
        if name == "pos_embed":
            assert each.grad is None
        else:
            assert float(each.grad.abs().max()) > 0, name


def test_frozen_it_gives_no_gradients(encoder):
    encoder.freeze()
    encoder.train()
    assert not encoder.training
    assert not encoder(weights.window(encoder, 1))[1].requires_grad


def test_early_are_positions_patches_and_three_blocks(whole):
    groups = whole.layer_groups()
    sizes = {name: (len(group), sum(each.numel() for each in group)) for name, group in groups.items()}
    assert sizes == {"early": (36, 21_603_072), "late": (101, 63_771_648)}
    early = {id(each) for each in groups["early"]}
    names = {name for name, each in whole.net.named_parameters() if id(each) in early}
    assert {"pos_embed", "W_P.weight", "encoder_blocks.blocks.2.norm1.bias"} <= names
    assert "encoder_blocks.blocks.10.norm1.bias" not in names


# The checkpoint


@pytest.mark.parametrize("container", ["encoder", "model", "state_dict", None])
def test_a_checkpoint_is_found_in_its_containers_and_must_be_whole(whole, container):
    rules, state = encoders.card("ecg_jepa").rules, whole.net.state_dict()
    tree = {container: dict(state), "epoch": 100} if container else dict(state)
    assert match(tree, rules, whole.net).whole
    del (tree[container] if container else tree)["encoder_blocks.blocks.11.mlp.fc2.bias"]
    found = match(tree, rules, whole.net)
    assert found.missing == ["encoder_blocks.blocks.11.mlp.fc2.bias"]
    assert not found.whole


@golden.needs_golden
def test_the_sheets_keys_are_its_keys(whole):
    described = json.loads((golden.GOLDEN / "ecg_jepa_state.json").read_text())
    assert set(whole.net.state_dict()) == set(described["state"])
    assert sum(each.numel() for each in whole.parameters()) == described["total_parameters_unique"]
