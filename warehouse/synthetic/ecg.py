"""A lead II that agrees with its beats: Gaussians for P, QRS and T at each beat, from ``vitaldb_wave.csv``.

The sum-of-Gaussians picture follows McSharry et al., IEEE Trans Biomed Eng 2003;50:289-294, without its
differential equations: every wave simply stands at its distance from the beat's stamp.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from warehouse.synthetic.beats import TICKS_PER_S, Beats
from warehouse.synthetic.rows import Stretch
from warehouse.synthetic.words import Words

HZ = 500
MARGIN_S = 15
"""The recording holds signal this long before the first row and after the last."""
LSB_MV = 0.009875
"""The step of the converter in VitalDB lead II, as a real 60 s fragment of it shows."""
FLOOR_NOISE_MV = 0.012
BAD_NOISE_MV = 0.13
"""RMS inside a flagged stretch: ugly, and beats can still be seen."""
WIDTHS = 4
"""A Gaussian is drawn this many standard deviations to either side."""


@dataclass(frozen=True)
class Signal:
    """``samples`` (n,) float32 mV, NaN where missing, at :data:`HZ`; sample 0 lies ``begin_s`` into a
    recording that is ``recording_s`` long. ``rate_bpm`` (m,) is the heart rate at ``rate_at_s`` (m,)."""

    samples: np.ndarray
    begin_s: int
    recording_s: int
    rate_at_s: np.ndarray
    rate_bpm: np.ndarray

    def shifted(self, late_s: float) -> Signal:
        """The same waveform ``late_s`` later; what leaves at one end comes back at the other."""
        return replace(self, samples=np.roll(self.samples, round(late_s * HZ)))


def lead_ii(beats: Beats, stretches: list[Stretch], words: Words, rng: np.random.Generator) -> Signal:
    """Synthesise the lead over all beats and :data:`MARGIN_S` more on either side.

    Beats of a rhythm without symbols leave no wave: there is nothing but noise to see. ``missing`` stretches
    are NaN, ``flat`` ones hold the value that they begin with.
    """
    begin = int(beats.tick[0] // TICKS_PER_S) - MARGIN_S
    end = int(-(-beats.tick[-1] // TICKS_PER_S)) + MARGIN_S
    n = (end - begin) * HZ
    at, beat = _with_margins(beats, begin, end)
    time = np.arange(n, dtype=np.float32) / HZ
    samples = _waves(at - begin, beat, beats, words, n, rng)

    edges = np.clip((beats.bounds[1:-1] / TICKS_PER_S - begin) * HZ, 0, n).astype(np.int64)
    lengths = np.diff(np.concatenate([[0], edges, [n]]))
    rhythm_at = beats.rhythm[np.minimum(np.searchsorted(beats.tick, beats.bounds[:-1]), len(beats.tick) - 1)]
    kinds = [words.rhythms[index] for index in rhythm_at]
    noise = np.repeat([np.hypot(kind.noise_mv, FLOOR_NOISE_MV) for kind in kinds], lengths).astype(np.float32)
    for stretch in stretches:
        if stretch.kind == "noisy":
            noise[_span(stretch, begin, n)] = BAD_NOISE_MV
    white = rng.standard_normal(n + 3, dtype=np.float32)
    samples += noise * (white[3:] + white[2:-1] + white[1:-2] + white[:-3]) / 2
    if any(kind.f_wave_mv for kind in kinds):
        height = np.repeat([kind.f_wave_mv for kind in kinds], lengths).astype(np.float32)
        phase = rng.uniform(5.2, 6.6) * time + 0.8 * np.sin(2 * np.pi * 0.13 * time, dtype=np.float32)
        samples += height * (np.sin(2 * np.pi * phase) + 0.4 * np.sin(4 * np.pi * phase + 1))
    breath, drift = rng.uniform(0.18, 0.28), rng.uniform(0.03, 0.08)
    samples += 0.06 * np.sin(2 * np.pi * breath * time) + 0.08 * np.sin(
        2 * np.pi * (drift * time + rng.random())
    )

    samples = np.round(samples / LSB_MV).astype(np.float32) * np.float32(LSB_MV) + 0
    for stretch in stretches:
        span = _span(stretch, begin, n)
        if stretch.kind == "missing":
            samples[span] = np.nan
        elif stretch.kind == "flat":
            samples[span] = samples[span.start]
    return Signal(samples, begin, end, at[1:], 60 / np.diff(at))


def _with_margins(beats: Beats, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Times (s) of all beats and of those that the annotators did not see; ``beat`` indexes ``beats``."""
    seen = beats.tick / TICKS_PER_S
    first, last = max(beats.rr_s[0], 0.4), max(beats.rr_s[-1], 0.4)
    before = np.arange(seen[0] - first, begin, -first)[::-1]
    after = np.arange(seen[-1] + last, end, last)
    beat = np.arange(len(seen))
    index = np.concatenate([np.full(len(before), 0), beat, np.full(len(after), len(seen) - 1)])
    return np.concatenate([before, seen, after]), index


def _waves(
    at: np.ndarray, beat: np.ndarray, beats: Beats, words: Words, n: int, rng: np.random.Generator
) -> np.ndarray:
    """(n,) float32: the sum of all waves. ``at`` in s from sample 0."""
    gain = rng.uniform(0.8, 1.25)
    symbol, rr = beats.symbol[beat], beats.rr_s[beat]
    of_rhythm = {
        name: np.array([getattr(kind, name) for kind in words.rhythms])[beats.rhythm[beat]]
        for name in ("p_wave", "p_spread", "pr_extra_ms", "p_in_pause", "pause_factor")
    }
    each = gain * (1 + 0.03 * rng.standard_normal(len(at)))
    spread = of_rhythm["p_spread"] * rng.standard_normal(len(at)).clip(-2, 2)
    total = np.zeros(n)
    for part, waves in words.waves.items():
        for which, at_ms, sd_ms, mv in waves:
            mine = symbol == which
            centre = np.full(len(at), at_ms)
            height = each * mv
            if part == "atrial":
                height = height * of_rhythm["p_wave"] * (1 + spread)
                centre = centre - of_rhythm["pr_extra_ms"] + 18 * spread
                lost = mine & beats.paused[beat] & (of_rhythm["p_in_pause"] > 0)
                since = rr[lost] * (1 - 1 / of_rhythm["pause_factor"][lost])
                _add(total, at[lost] - since + centre[lost] / 1000, sd_ms / 1000, height[lost])
            elif part == "recovery":
                centre = centre * np.sqrt(rr.clip(0.3, 1.2))
            _add(total, at[mine] + centre[mine] / 1000, sd_ms / 1000, height[mine])
    return total.astype(np.float32)


def _add(total: np.ndarray, centre_s: np.ndarray, sd_s: float, height_mv: np.ndarray) -> None:
    """Add Gaussians of one width to ``total`` in place."""
    reach = int(np.ceil(WIDTHS * sd_s * HZ))
    places = np.round(centre_s * HZ).astype(np.int64)[:, None] + np.arange(-reach, reach + 1)
    distance = (places / HZ - centre_s[:, None]) / sd_s
    values = height_mv[:, None] * np.exp(-0.5 * distance**2)
    inside = (places >= 0) & (places < len(total))
    total += np.bincount(places[inside], weights=values[inside], minlength=len(total))


def _span(stretch: Stretch, begin: int, n: int) -> slice:
    edges = [round((tick / TICKS_PER_S - begin) * HZ) for tick in (stretch.begin, stretch.end)]
    return slice(max(edges[0], 0), min(edges[1], n))
