"""From any recording's window to what an encoder takes: leads by name, missing samples, resampling. All are checked."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from models.encoders.card import EncoderError

if TYPE_CHECKING:
    from models.encoders.contract import Encoder

LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
"""The standard order of the twelve leads, as PTB-XL and the benchmark have it."""

HIGHEST = 1_000_000
"""Hz; more is a mistake."""

RESAMPLE = ("band_limited", "linear")
NAN = ("error", "zero")


@dataclass(frozen=True)
class Preparation:
    """``resample`` and ``nan`` as in `models.encoders.create`; ``any_length`` takes what is given for a window."""

    resample: str = "band_limited"
    nan: str = "error"
    any_length: bool = False

    @classmethod
    def of(cls, *, parity: bool, resample: str | None, nan: str | None) -> Preparation:
        if not isinstance(parity, bool):
            raise EncoderError(f"parity: found {parity!r}; expected True or False")
        for what, given, known in (("resample", resample, RESAMPLE), ("nan", nan, NAN)):
            if given is not None and given not in known:
                raise EncoderError(f"{what}: found {given!r}; expected one of: {', '.join(known)}")
        return cls(
            resample=resample or ("linear" if parity else "band_limited"),
            nan=nan or ("zero" if parity else "error"),
            any_length=parity,
        )


def prepare(
    x: torch.Tensor, encoder: Encoder, *, fs: float | None, leads: list[str] | tuple[str, ...] | None
) -> tuple[torch.Tensor, int]:
    """(B, the encoder's leads, model_seq_len), and how many missing samples were filled.

    float32 until the end, then on the parameters' device and in their type.

    In this order: leads are chosen, NaN is refused or filled, the rate is changed. ``fs`` is any real number, numpy's
    too. EncoderError names what was found and expected.
    """
    _hold_form(x)
    how, fs = encoder.preparation, _rate(fs)
    x = _select(x, encoder, leads, as_is=how.any_length).to(torch.float32)
    _hold_length(x, encoder, fs, any_length=how.any_length)
    x, filled = _fill(x, encoder, how.nan)
    if x.shape[-1] != encoder.model_seq_len or (fs not in (None, encoder.model_fs)):
        x = _linear(x, encoder) if how.resample == "linear" else _band_limited(x, encoder, fs)
    parameter = next(encoder.parameters(), None)
    return (x if parameter is None else x.to(parameter.device, parameter.dtype)), filled


def _hold_form(x: object) -> None:
    if not isinstance(x, torch.Tensor):
        raise EncoderError(f"found {type(x).__name__}; expected a torch tensor (B, leads, T)")
    if x.layout != torch.strided or x.is_meta:
        raise EncoderError(
            f"found a {'meta' if x.is_meta else 'sparse'} tensor; expected one with its values"
        )
    if x.ndim != 3:
        raise EncoderError(f"found a tensor {tuple(x.shape)}; expected three dimensions (B, leads, T)")
    if not x.is_floating_point():
        raise EncoderError(
            f"found {x.dtype}; expected floats in mV: divide raw counts by their gain and subtract the baseline first"
        )
    if not x.shape[0]:
        raise EncoderError("found an empty batch; expected at least one window")
    if not x.shape[-1]:
        raise EncoderError("found windows without a sample")


def _rate(fs: object) -> float | None:
    """numpy's numbers are numbers too."""
    if fs is None:
        return None
    if isinstance(fs, bool) or not isinstance(fs, numbers.Real) or not 1 <= fs <= HIGHEST:
        raise EncoderError(
            f"fs: found {repr(fs)[:40]}; expected samples a second (Hz), a number from 1 to {HIGHEST:,}"
        )
    return float(fs)


def _select(
    x: torch.Tensor, encoder: Encoder, leads: list[str] | tuple[str, ...] | None, *, as_is: bool
) -> torch.Tensor:
    channels = x.shape[1]
    if leads is None:
        if as_is and channels == len(encoder.leads):
            return x
        if channels != len(LEADS):
            raise EncoderError(
                f"found {channels} leads; expected {len(LEADS)} in the order {', '.join(LEADS)}, or leads=[...] with a "
                f"name a channel, {', '.join(encoder.leads)} among them"
            )
        leads = LEADS
    if not isinstance(leads, (list, tuple)):
        raise EncoderError(f"leads: found {leads!r}; expected a list with a name a channel")
    standard = {lead.upper(): lead for lead in LEADS}
    given = [standard.get(str(lead).strip().upper(), str(lead)) for lead in leads]
    if len(given) != channels:
        raise EncoderError(
            f"found {channels} channels and {len(given)} names of leads; expected a name a channel"
        )
    if twice := sorted({lead for lead in given if given.count(lead) > 1}):
        raise EncoderError(f"found the lead {', '.join(twice)} twice; expected each once")
    if absent := [lead for lead in encoder.leads if lead not in given]:
        raise EncoderError(
            f"found no lead {', '.join(absent)} among {', '.join(given)}; {encoder.name} needs "
            f"{', '.join(encoder.leads)}"
        )
    places = [given.index(lead) for lead in encoder.leads]
    return x if places == list(range(channels)) else x[:, places]


def samples_needed(chunk_seconds: float, fs: float) -> int:
    """Samples of a window at a rate: as many as cover it. One less will do where they end between two samples."""
    return math.ceil(round(chunk_seconds * fs, 6))


def _hold_length(x: torch.Tensor, encoder: Encoder, fs: float | None, *, any_length: bool) -> None:
    found = x.shape[-1]
    if fs is None:
        if any_length or found == encoder.model_seq_len:
            return
        raise EncoderError(
            f"found {found} samples and no rate; expected {encoder.model_seq_len} at {encoder.model_fs} Hz, or fs=..."
        )
    needed = samples_needed(encoder.chunk_seconds, fs)
    if found in (needed, math.floor(round(encoder.chunk_seconds * fs, 6))):
        return
    fault = "too short" if found < needed else "too long"
    step = (
        "pad it knowingly, or take another encoder"
        if found < needed
        else "cut it into windows of that length first"
    )
    raise EncoderError(
        f"found {found} samples at {fs:g} Hz, {found / fs:g} s, which is {fault}: {encoder.name} takes windows of "
        f"{encoder.chunk_seconds:g} s, here {needed} samples; {step}"
    )


def _fill(x: torch.Tensor, encoder: Encoder, nan: str) -> tuple[torch.Tensor, int]:
    finite = torch.isfinite(x)
    if bool(finite.all()):
        return x, 0
    missing = torch.isnan(x)
    infinite = int((~finite & ~missing).sum())
    if infinite:
        raise EncoderError(f"found {infinite} infinite samples; expected values in mV")
    count = int(missing.sum())
    empty = missing.flatten(1).all(1).nonzero().flatten().tolist()
    if empty:
        raise EncoderError(
            f"found no sample but NaN in window {', '.join(map(str, empty[:5]))}; nothing to encode"
        )
    if nan == "error":
        window, lead, sample = missing.nonzero()[0].tolist()
        raise EncoderError(
            f"found {count} NaN samples, the first in window {window}, lead {encoder.leads[lead]}, sample {sample}; "
            "expected none: fill them, or pass nan='zero' to have them counted and set to zero"
        )
    return torch.where(missing, torch.zeros((), dtype=x.dtype, device=x.device), x), count


def _linear(x: torch.Tensor, encoder: Encoder) -> torch.Tensor:
    return functional.interpolate(x, size=encoder.model_seq_len, mode="linear", align_corners=False)


def _band_limited(x: torch.Tensor, encoder: Encoder, fs: float | None) -> torch.Tensor:
    """scipy's polyphase filter (Kaiser window, beta 5), the ends carried on along the line through the first and the
    last sample, so that there is no jump. A window that was cut a part of a sample short is filled up with its last
    value.

    The ratio of the rates is the nearest fraction whose denominator is at most 10,000 or two windows: the last sample
    is half a sample off at most, and not at all for a rate in whole Hz.
    """
    from scipy.signal import resample_poly

    if x.requires_grad and torch.is_grad_enabled():
        raise EncoderError(
            "found an input that wants its gradient; band-limited resampling gives none: bring it to "
            f"{encoder.model_fs} Hz first, or pass resample='linear'"
        )
    if fs is None:
        raise EncoderError("found no fs; expected the rate that the window has")
    ratio = (Fraction(encoder.model_fs) / Fraction(fs)).limit_denominator(max(10_000, 2 * x.shape[-1]))
    made = resample_poly(
        x.detach().cpu().double().numpy(), ratio.numerator, ratio.denominator, axis=-1, padtype="line"
    )
    resampled = torch.from_numpy(made[..., : encoder.model_seq_len])
    lacking = encoder.model_seq_len - resampled.shape[-1]
    return functional.pad(resampled, (0, lacking), mode="replicate").to(x)
