"""The four forms in which an encoder may give its features, as one pair."""

from __future__ import annotations

from typing import Any

import torch

from models.encoders.card import EncoderError

EXPECTED = (
    "expected a tuple (sequence (B, T, D), pooled (B, D)), a dict with the keys seq and pooled, "
    "pooled features (B, D), or sequence features (B, T, D)"
)


def features_of(output: Any, batch: int, feature_dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequence features (B, T, D) and pooled ones (B, D) of what an encoder returned.

    The form says what is what, never a size: a tuple is (sequence, pooled) in this order, a dict has both keys, one
    tensor is pooled with two dimensions (its sequence is that one vector) and a sequence with three (pooled by the
    mean over time). Both are float32. EncoderError for any other form, for a batch or feature dimension other than
    declared, and for features that are no floats.
    """
    if isinstance(output, torch.Tensor):
        if output.ndim == 2:
            sequence, pooled = output[:, None, :], output
        elif output.ndim == 3:
            sequence, pooled = output, None
        else:
            raise _wrong(f"a tensor of {output.ndim} dimensions")
    elif isinstance(output, dict):
        if set(output) != {"seq", "pooled"}:
            raise _wrong(f"a dict with the keys {', '.join(map(str, output)) or '(none)'}")
        sequence, pooled = output["seq"], output["pooled"]
    elif isinstance(output, tuple):
        if len(output) != 2:
            raise _wrong(f"a tuple of {len(output)}")
        sequence, pooled = output
    else:
        raise _wrong(type(output).__name__)
    _hold("sequence features", sequence, (batch, None, feature_dim))
    if isinstance(output, torch.Tensor) and pooled is None:
        pooled = sequence.mean(1, dtype=torch.float32)
    _hold("pooled features", pooled, (batch, feature_dim))
    return sequence.float(), pooled.float()


def _wrong(found: str) -> EncoderError:
    return EncoderError(f"the encoder returned {found}; {EXPECTED}")


def _hold(what: str, found: Any, shape: tuple[int | None, ...]) -> None:
    if not isinstance(found, torch.Tensor):
        raise _wrong(f"{type(found).__name__} as {what}")
    fits = found.ndim == len(shape) and all(
        want in (None, got) for want, got in zip(shape, found.shape, strict=True)
    )
    if not fits or not found.is_floating_point() or 0 in found.shape:
        wanted = ", ".join("T" if size is None else str(size) for size in shape)
        raise _wrong(f"{what} {tuple(found.shape)} of {found.dtype}, where ({wanted}) of floats was declared")
