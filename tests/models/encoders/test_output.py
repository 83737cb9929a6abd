"""The four forms of features, and that nothing is guessed from a size."""

import collections
import re

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch

from models.encoders import EncoderError
from models.encoders.output import features_of

SEQUENCE = torch.arange(2 * 3 * 4, dtype=torch.float32).reshape(2, 3, 4)
POOLED = -torch.arange(2 * 4, dtype=torch.float32).reshape(2, 4)
Pair = collections.namedtuple("Pair", "features summary")


def held(output):
    return features_of(output, batch=2, feature_dim=4)


@pytest.mark.parametrize(
    "output",
    [
        (SEQUENCE, POOLED),
        Pair(SEQUENCE, POOLED),
        {"seq": SEQUENCE, "pooled": POOLED},
        collections.OrderedDict(pooled=POOLED, seq=SEQUENCE),
    ],
)
def test_a_pair_is_taken_as_it_is(output):
    sequence, pooled = held(output)
    assert torch.equal(sequence, SEQUENCE)
    assert torch.equal(pooled, POOLED)


def test_pooled_features_are_their_own_sequence():
    sequence, pooled = held(POOLED)
    assert torch.equal(sequence, POOLED[:, None])
    assert torch.equal(pooled, POOLED)


def test_a_sequence_is_pooled_by_its_mean_over_time():
    sequence, pooled = held(SEQUENCE)
    assert torch.equal(sequence, SEQUENCE)
    assert pooled.tolist() == [[4, 5, 6, 7], [16, 17, 18, 19]]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("pooled", [POOLED, None])
def test_features_are_float32(dtype, pooled):
    given = SEQUENCE.to(dtype)
    found = held(given if pooled is None else (given, pooled.to(dtype)))
    assert [each.dtype for each in found] == [torch.float32, torch.float32]
    assert torch.equal(found[0], SEQUENCE)


def test_a_mean_of_half_floats_does_not_overflow():
    sequence = torch.full((2, 3, 4), 60_000.0, dtype=torch.float16)
    assert torch.equal(held(sequence)[1], torch.full((2, 4), float(sequence[0, 0, 0])))


def test_gradients_go_through():
    sequence = SEQUENCE.clone().requires_grad_()
    held(sequence)[1].sum().backward()
    assert torch.allclose(sequence.grad, torch.full_like(SEQUENCE, 1 / 3))


WRONG = {
    "nothing": (None, "returned NoneType"),
    "a list": ([SEQUENCE, POOLED], "returned list"),
    "a tuple of one": ((SEQUENCE,), "returned a tuple of 1"),
    "a tuple of three": ((SEQUENCE, POOLED, POOLED), "returned a tuple of 3"),
    "swapped": ((POOLED, SEQUENCE), "returned sequence features (2, 4)"),
    "no pooled features": ((SEQUENCE, None), "returned NoneType as pooled features"),
    "two sequences": ((SEQUENCE, SEQUENCE), "returned pooled features (2, 3, 4)"),
    "other keys": (
        {"sequence": SEQUENCE, "pooled": POOLED},
        "returned a dict with the keys sequence, pooled",
    ),
    "a key more": (
        {"seq": SEQUENCE, "pooled": POOLED, 7: POOLED},
        "returned a dict with the keys seq, pooled, 7",
    ),
    "an empty dict": ({}, "returned a dict with the keys (none)"),
    "a vector": (POOLED[0], "returned a tensor of 1 dimensions"),
    "a picture": (SEQUENCE[None], "returned a tensor of 4 dimensions"),
    "channels before time": (
        SEQUENCE.transpose(1, 2),
        "(2, 4, 3) of torch.float32, where (2, T, 4) of floats",
    ),
    "another width": (POOLED[:, :3], "(2, 1, 3)"),
    "another batch": (SEQUENCE[:1], "(1, 3, 4)"),
    "two batches": (
        (SEQUENCE, POOLED[:1]),
        "pooled features (1, 4) of torch.float32, where (2, 4) of floats",
    ),
    "no token": (SEQUENCE[:, :0], "(2, 0, 4)"),
    "integers": (SEQUENCE.long(), "of torch.int64"),
    "complex": (SEQUENCE.to(torch.complex64), "of torch.complex64"),
}


@pytest.mark.parametrize("case", WRONG)
def test_any_other_form_is_refused(case):
    output, found = WRONG[case]
    with pytest.raises(EncoderError, match=re.escape(found)) as refused:
        held(output)
    assert "expected a tuple (sequence (B, T, D), pooled (B, D)), a dict with the keys seq" in str(
        refused.value
    )
