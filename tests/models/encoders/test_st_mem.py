"""ST-MEM's pitfalls: which features are normed, separators that take part, tensors with two names, a decoder."""

import copy

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch
from torch import nn

from models import encoders
from models.encoders import st_mem
from models.encoders.card import Rules
from models.encoders.keys import match
from tests.models.encoders import weights
from tests.models.encoders.compare import deviation, outputs

DECODER = ("to_decoder_embedding.", "mask_embedding", "decoder_")
ALIASES = [f"to_patch_embedding.{place}.{leaf}" for place in (1, 2, 3) for leaf in ("weight", "bias")]


@pytest.fixture(scope="module")
def filled():
    """Two of the twelve blocks, which differ in nothing but their weights."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st_mem, "BLOCKS", 2)
        return weights.filled("st_mem")


@pytest.fixture
def encoder(filled):
    return copy.deepcopy(filled)


@pytest.fixture(scope="module")
def whole():
    """All twelve, without memory or values."""
    with torch.device("meta"):
        return encoders.create("st_mem")


def seen_by(encoder, module, x):
    """What goes into a module and what comes out."""
    seen = []
    hook = module.register_forward_hook(lambda module, given, output: seen.append((given[0], output)))
    outputs(encoder, x)
    hook.remove()
    return seen[0]


# Features


def test_tokens_are_not_normed_and_their_mean_is(encoder):
    x = weights.window(encoder, 2)
    _, out = seen_by(encoder, encoder.net.encoder.block1, x)
    sequence, pooled = outputs(encoder, x)
    assert sequence.shape == (2, 96, 768)
    inside = out.reshape(2, 12, 10, 768)[:, :, 1:9]
    assert torch.equal(sequence.reshape(2, 12, 8, 768), inside)
    mean = inside.mean((1, 2))
    norm = encoder.net.encoder.norm
    centred = mean - mean.mean(-1, keepdim=True)
    scaled = centred / (mean.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
    assert torch.allclose(pooled, scaled * norm.weight + norm.bias, atol=1e-5)
    assert deviation(sequence.mean(1), pooled) > 0.1


def test_separators_stand_around_the_patches_of_each_lead(encoder):
    inside = encoder.net.encoder
    x = weights.window(encoder, 2)
    _, patches = seen_by(encoder, inside.to_patch_embedding, x)
    tokens, _ = seen_by(encoder, inside.block0, x)
    assert patches.shape == (2, 12, 8, 768)
    assert tokens.shape == (2, 120, 768)
    for lead in range(12):
        own = tokens.reshape(2, 12, 10, 768)[:, lead] - inside.lead_embeddings[lead]
        for end in (0, 9):
            assert torch.allclose(own[:, end], inside.sep_embedding.expand(2, -1), atol=1e-6)
        expected = patches[:, lead] + inside.pos_embedding[0, 1:9]
        assert torch.allclose(own[:, 1:9], expected, atol=1e-6)


@pytest.mark.parametrize(("row", "token"), [(0, 0), (31, 9)])
def test_a_separators_position_is_the_first_or_the_last_row_of_the_table(encoder, row, token):
    """Both rows are zeros, so that no golden shows which one is taken; a row after the patches would not be zero."""
    inside = encoder.net.encoder
    x = weights.window(encoder, 1)
    before, _ = seen_by(encoder, inside.block0, x)
    with torch.no_grad():
        inside.pos_embedding[0, row] += 1
    after, _ = seen_by(encoder, inside.block0, x)
    moved = (before != after).any(-1).reshape(12, 10)
    assert moved.nonzero().tolist() == [[lead, token] for lead in range(12)]


def test_separators_take_part_in_the_attention(encoder):
    x = weights.window(encoder, 1)
    before = outputs(encoder, x)[0]
    with torch.no_grad():
        encoder.net.encoder.sep_embedding += torch.linspace(-1, 1, 768)
    assert deviation(outputs(encoder, x)[0], before) > 1e-3


def test_every_token_sees_every_other(encoder):
    """There is no mask: a change in one patch arrives in all leads and at all times in one block."""
    x = weights.window(encoder, 1)
    other = x.clone()
    other[0, 4, 3 * 75 : 4 * 75] *= -2
    block = encoder.net.encoder.block0
    (_, before), (_, after) = seen_by(encoder, block, x), seen_by(encoder, block, other)
    assert float((after - before).abs().amax(-1).min()) > 1e-5


def test_heads_and_thirds_of_the_projection_are_where_the_checkpoint_has_them(encoder):
    attention = encoder.net.encoder.block1.attn.fn
    x = torch.randn(2, 120, 768, generator=torch.Generator().manual_seed(4))
    state = attention.state_dict()
    q, k, v = (x @ state["to_qkv.weight"].T + state["to_qkv.bias"]).chunk(3, -1)
    heads = []
    for head in range(12):
        part = slice(head * 64, (head + 1) * 64)
        scores = q[..., part] @ k[..., part].transpose(1, 2) / 8
        heads.append(scores.softmax(-1) @ v[..., part])
    expected = torch.cat(heads, -1) @ state["to_out.0.weight"].T + state["to_out.0.bias"]
    assert deviation(outputs(attention, x), expected) < 1e-5


def test_patches_are_75_samples_of_a_lead_normed_before_and_after(encoder):
    embedding = encoder.net.encoder.to_patch_embedding
    x = weights.window(encoder, 1)
    state = {name: value.detach() for name, value in embedding.state_dict().items()}

    def normed(y, place):
        y = (y - y.mean(-1, keepdim=True)) / (y.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        return y * state[f"{place}.weight"] + state[f"{place}.bias"]

    patch = normed(x[0, 7, 2 * 75 : 3 * 75], 1) @ state["2.weight"].T + state["2.bias"]
    assert torch.allclose(outputs(embedding, x)[0, 7, 2], normed(patch, 3), atol=1e-5)


def test_the_net_takes_up_to_thirty_patches_a_lead(encoder):
    """What it was trained on, 9 s; the right separator keeps its row."""
    x = torch.randn(1, 12, 2250, generator=torch.Generator().manual_seed(8))
    sequence, pooled = outputs(encoder.net.encoder, x)
    assert sequence.shape == (1, 360, 768)
    assert pooled.shape == (1, 768)
    with pytest.raises(RuntimeError):
        outputs(encoder.net.encoder, x[..., :2249])


def test_windows_do_not_see_each_other(encoder):
    x = weights.window(encoder, 2)
    together = outputs(encoder, x)[0]
    for place in range(2):
        assert deviation(outputs(encoder, x[place : place + 1])[0][0], together[place]) < 1e-5


# Positions, names and norms


def test_positions_are_fixed_between_two_rows_of_zeros(encoder):
    for table in (encoder.net.encoder.pos_embedding, encoder.net.decoder_pos_embed):
        half = table.shape[-1] // 2
        assert table.shape[:2] == (1, 32)
        assert not table.requires_grad
        assert not table[0, [0, 31]].any()
        frequency = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
        for patch in (0, 1, 7, 29):
            expected = torch.cat((torch.sin(patch * frequency), torch.cos(patch * frequency)))
            assert torch.allclose(table[0, patch + 1].double(), expected, rtol=0, atol=1e-7)


def test_the_patch_embedding_is_one_module_with_two_names(whole, encoder):
    state = whole.net.state_dict(keep_vars=True)
    assert len(state) == 228
    assert len({id(each) for each in state.values()}) == 222
    assert sum(each.numel() for each in whole.parameters()) == 88_534_753
    copied = copy.deepcopy(encoder).net
    loaded = copied.state_dict()
    for key in ALIASES:
        assert copied.get_parameter(key) is copied.get_parameter(f"encoder.{key}")
        loaded[key] = loaded[f"encoder.{key}"] = loaded[key] + 1
    copied.load_state_dict(loaded)
    assert torch.equal(copied.encoder.to_patch_embedding[1].bias, loaded["to_patch_embedding.1.bias"])


def test_only_the_decoders_last_norm_has_another_epsilon(whole):
    found = {name: each.eps for name, each in whole.net.named_modules() if isinstance(each, nn.LayerNorm)}
    assert found.pop("decoder_norm") == 1e-6
    assert set(found.values()) == {1e-5}
    assert {"encoder.norm", "encoder.block11.ff.norm", "encoder.to_patch_embedding.3"} <= set(found)


# Training


def test_training_has_no_dropout_and_reaches_every_weight_but_the_decoders(encoder):
    x = weights.window(encoder, 2)
    expected = outputs(encoder, x)[1]
    encoder.train()
    _, pooled = encoder(x)
    assert torch.allclose(pooled.detach(), expected, rtol=0, atol=1e-5)
    towards = torch.randn(pooled.shape, generator=torch.Generator().manual_seed(2))
    (pooled * towards).sum().backward()
    for name, each in encoder.net.named_parameters():
        if name.startswith(DECODER) or not each.requires_grad:
            assert each.grad is None, name
        else:
            assert float(each.grad.abs().max()) > 0, name


def test_frozen_it_gives_no_gradients(encoder):
    encoder.freeze()
    encoder.train()
    assert not encoder.training
    assert not encoder(weights.window(encoder, 1))[1].requires_grad


def test_the_decoder_has_no_influence_and_is_in_the_unused_group(encoder, whole):
    x = weights.window(encoder, 1)
    before = outputs(encoder, x)
    with torch.no_grad():
        for name, each in encoder.net.named_parameters():
            if name.startswith(DECODER):
                each.fill_(torch.nan)
    after = outputs(encoder, x)
    assert torch.equal(before[0], after[0])
    assert torch.equal(before[1], after[1])

    groups = whole.layer_groups()
    sizes = {name: (len(group), sum(each.numel() for each in group)) for name, group in groups.items()}
    assert sizes["early"] == (56, 21_358_230)
    assert sizes["late"] == (110, 63_792_384)
    assert sizes["unused"][1] == 3_384_139
    unused = {id(each) for each in groups["unused"]}
    names = [name for name, each in whole.net.named_parameters() if id(each) in unused]
    assert all(name.startswith(DECODER) for name in names)


# The checkpoint


def trees(net):
    """The published file, and the one of the encoder alone, whose keys lack their prefix."""
    state = net.state_dict()
    alone = {
        key.removeprefix("encoder."): value for key, value in state.items() if key.startswith("encoder.")
    }
    return {"full": {"model": dict(state)}, "alone": {"model": alone, "config": {}}}


@pytest.mark.parametrize("kind", ["full", "alone"])
def test_both_published_files_fill_the_whole_encoder(whole, kind):
    rules = encoders.card("st_mem").rules
    tree = trees(whole.net)[kind]
    found = match(tree, rules, whole.net)
    assert found.whole, found.faults()
    filled = {*found.used, *found.filled}
    assert {key for key in whole.net.state_dict() if key.startswith(("encoder.", *ALIASES))} <= filled
    assert all(key.startswith(DECODER) for key in found.lacking)

    lost = next(key for key in tree["model"] if key.endswith("block7.ff.fn.net.3.bias"))
    del tree["model"][lost]
    assert match(tree, rules, whole.net).missing == ["encoder.block7.ff.fn.net.3.bias"]


def test_without_its_names_being_put_right_the_encoder_alone_would_load_next_to_nothing(whole):
    """What a loader that is not strict makes of it: six tensors of 166, and no word."""
    found = match(trees(whole.net)["alone"], Rules(containers=("model",)), whole.net)
    assert sorted(found.used) == sorted(ALIASES)
    assert not found.whole
    assert len(found.unexpected) == 160
