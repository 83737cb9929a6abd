"""Eight stored leads of a 10-second ECG that shows its findings: Gaussians from ``lydus_wave.csv`` at each beat.

Waves of the active findings are added to the normal beat's, or take the place of its QRS and T; every lead of
one beat shape is one small matrix product, laid down at each beat. Lead III and the augmented leads follow from
I and II, as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warehouse.synthetic.lydus_words import ECTOPY, LEADS, RHYTHM, Waves, Words

HZ, SAMPLES = 500, 5000
UV_PER_COUNT = 4.88
BEFORE_S, AFTER_S = 0.4, 0.76
"""What a beat's shape covers around its R wave."""
NOISE_MV = (0.006, 0.02)
WANDER_MV = 0.05
SHORTEST_RR_S = 0.28
SLOPE_OF_FLUTTER = 3
"""Harmonics of a flutter wave; fibrillation has one."""

_GRID = np.arange(round((BEFORE_S + AFTER_S) * HZ), dtype=np.float32) / HZ - np.float32(BEFORE_S)
_PAD = len(_GRID) + HZ


@dataclass(frozen=True)
class Beats:
    """(n,) R waves in s from the first sample, and which of them come early."""

    at_s: np.ndarray
    early: np.ndarray


def draw_beats(words: Words, finding: dict[str, int], rate_bpm: float, rng: np.random.Generator) -> Beats:
    """The rhythm's intervals; every k-th beat early when the record has ectopy."""
    base = 60.0 / rate_bpm
    spread = words.number["rr_sd"][finding[RHYTHM]]
    n = int(11.5 / max(0.55 * base, SHORTEST_RR_S)) + 4
    rr = np.maximum(base * (1 + spread * rng.standard_normal(n).clip(-2.2, 2.2)), SHORTEST_RR_S)
    early = np.zeros(n, bool)
    which = finding[ECTOPY]
    if which >= 0:
        every = int(words.number["every"][which])
        early[int(rng.integers(2, 3 + min(every, 3))) :: every] = True
        places = np.flatnonzero(early[:-1])
        saved = rr[places] * (1 - words.number["coupling"][which])
        rr[places] -= saved
        if words.text["ectopic"][which] in words.waves:
            rr[places + 1] += saved
    return Beats(np.cumsum(rr) - rr[0] * (1 + rng.random()), early)


def eight_leads(
    words: Words,
    finding: dict[str, int],
    rate_bpm: float,
    rng: np.random.Generator,
    person: np.random.Generator,
) -> np.ndarray:
    """(8, 5000) int16 counts. ``person`` draws what a patient keeps: size and lead by lead differences."""
    active = [each for each in finding.values() if each >= 0]
    rhythm = finding[RHYTHM]
    sums = {name: words.number[name][active].sum() for name in ("pr_ms", "qt_ms")}
    gain = person.uniform(0.8, 1.25) * np.prod(words.number["scale"][active])
    lead_gain = (gain * person.uniform(0.88, 1.12, len(LEADS))).astype(np.float32)
    beats = draw_beats(words, finding, rate_bpm, rng)
    stretch = np.sqrt(min(max(60.0 / rate_bpm, 0.3), 1.4))
    waves = _waves_of(words, active)
    beat = _shape(waves, ("qrs", "t"), stretch, sums["qt_ms"] / 1000)
    atrial = _shape(waves, ("p",), 1.0, 0.0, -sums["pr_ms"] / 1000) * np.float32(
        words.number["p_wave"][rhythm]
    )

    total = np.zeros((len(LEADS), SAMPLES + 2 * _PAD), np.float32)
    own_shape = words.waves.get(words.text["ectopic"][finding[ECTOPY]]) if finding[ECTOPY] >= 0 else None
    early = beat if own_shape is None else _shape(own_shape, ("qrs", "t"), stretch, 0.0)
    sizes = 1 + 0.03 * rng.standard_normal(len(beats.at_s))
    atria_apart = words.number["p_rate"][rhythm]
    for at, size, is_early in zip(
        beats.at_s.tolist(), sizes.astype(np.float32), beats.early.tolist(), strict=True
    ):
        _lay(total, at, size * (early if is_early else beat))
        if not atria_apart and not (is_early and own_shape is not None):
            _lay(total, at, atrial)
    if atria_apart:
        for at in np.arange(-0.5 + rng.random(), 11.0, 60.0 / atria_apart).tolist():
            _lay(total, at, atrial)
    total = total[:, _PAD:-_PAD] * lead_gain[:, None]
    total += _atrial_motion(words, rhythm, rng) + _unrest(rng)
    return np.round(total * np.float32(1000 / UV_PER_COUNT)).clip(-32768, 32767).astype(np.int16)


def flat_leads() -> np.ndarray:
    """(8, 5000): electrodes that were never connected."""
    return np.zeros((len(LEADS), SAMPLES), np.int16)


def with_artefact(counts: np.ndarray) -> np.ndarray:
    """A swing beyond ±32.767 mV in one lead, so that microvolts would not fit int16."""
    counts = counts.copy()
    counts[3, 2000:2040] = 7400
    return counts


def _waves_of(words: Words, active: list[int]) -> Waves:
    """The normal beat with what the findings add and replace."""
    own = [words.waves[words.findings[each]] for each in active if words.findings[each] in words.waves]
    replaced = {part for waves in own for part in waves.part[waves.replaces]}
    base = words.waves["base"]
    kept = ~np.isin(base.part, list(replaced))
    every = [base, *own]
    keeps = [kept, *(np.ones(len(waves.part), bool) for waves in own)]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(waves, name)[keep] for waves, keep in zip(every, keeps, strict=True)])

    return Waves(**{name: joined(name) for name in ("part", "replaces", "at_s", "sd_s", "mv")})


def _shape(
    waves: Waves, parts: tuple[str, ...], stretch: float, later_s: float, shift_s: float = 0.0
) -> np.ndarray:
    """(8, w) mV over the grid. T waves stand ``stretch`` times as far and ``later_s`` later."""
    mine = np.isin(waves.part, parts)
    is_t = (waves.part[mine] == "t") & (waves.at_s[mine] > 0.2)
    centre = waves.at_s[mine] * np.where(is_t, stretch, 1.0) + np.where(is_t, later_s, 0.0) + shift_s
    distance = (_GRID - centre[:, None].astype(np.float32)) / waves.sd_s[mine, None].astype(np.float32)
    return waves.mv[mine].T.astype(np.float32) @ np.exp(np.float32(-0.5) * distance * distance)


def _lay(total: np.ndarray, at_s: float, shape: np.ndarray) -> None:
    first = round((at_s - BEFORE_S) * HZ) + _PAD
    if 0 <= first <= total.shape[1] - shape.shape[1]:
        total[:, first : first + shape.shape[1]] += shape


def _atrial_motion(words: Words, rhythm: int, rng: np.random.Generator) -> np.ndarray:
    """Fibrillatory or flutter waves, (8, 5000) mV or nothing."""
    height, hz = words.number["f_wave_mv"][rhythm], words.number["f_hz"][rhythm]
    if not height:
        return np.float32(0)
    base = words.waves["base"]
    lead_mv = (height * base.mv[base.part == "f"][0]).astype(np.float32)
    time = np.arange(SAMPLES, dtype=np.float32) / HZ
    regular = words.number["rr_sd"][rhythm] < 0.05
    if regular:
        phase = np.float32(2 * np.pi) * (
            np.float32(hz * rng.uniform(0.93, 1.07)) * time + np.float32(rng.random())
        )
        wave = sum(np.sin(k * phase) / k for k in range(1, SLOPE_OF_FLUTTER + 1))
    else:
        swing = np.float32(rng.uniform(0.6, 1.2)) * np.sin(
            np.float32(2 * np.pi * rng.uniform(0.2, 0.6)) * time
        )
        phase = np.float32(2 * np.pi) * (
            np.float32(hz * rng.uniform(0.8, 1.2)) * time + swing + np.float32(rng.random())
        )
        wave = np.sin(phase) + np.float32(0.4) * np.sin(np.float32(1.7) * phase + 1)
    return lead_mv[:, None] * wave[None, :]


def _unrest(rng: np.random.Generator) -> np.ndarray:
    """Noise of the muscles and the wander of breathing, (8, 5000) mV."""
    noise = rng.standard_normal((len(LEADS), SAMPLES), dtype=np.float32) * np.float32(rng.uniform(*NOISE_MV))
    time = np.arange(SAMPLES, dtype=np.float32) / HZ
    sway = np.sin(
        np.float32(2 * np.pi) * (np.float32(rng.uniform(0.15, 0.4)) * time + np.float32(rng.random()))
    )
    noise += (WANDER_MV * rng.standard_normal(len(LEADS))).astype(np.float32)[:, None] * sway
    return noise
