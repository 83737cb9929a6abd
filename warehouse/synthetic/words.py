"""What ``registry/synthetic/vitaldb_*.csv`` declares, as tables.

The synthesiser knows rhythms, symbols and shapes from those files alone.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

import numpy as np

from warehouse.errors import RegistryError
from warehouse.project import registry_path


@dataclass(frozen=True)
class Rhythm:
    """A row of ``vitaldb_rhythm.csv``; the README beside it says what each column means."""

    name: str
    older_name: str
    rate_bpm: float
    rr_sd: float
    rr_wander: float
    pause_share: float
    pause_factor: float
    symbols: np.ndarray
    """(k,) int8 indices into :attr:`Words.symbols`; empty where rows carry no beat."""
    shares: np.ndarray
    """(k,) float64, sum 1."""
    ectopic: int
    """Index of the coupled symbol, -1 for none."""
    ectopic_every: int
    coupling: float
    p_wave: float
    p_spread: float
    pr_extra_ms: float
    p_in_pause: float
    f_wave_mv: float
    noise_mv: float


@dataclass(frozen=True)
class Step:
    """A stretch of one rhythm: ``rhythm`` indexes ``Words.rhythms``, ``share`` is of the case's length."""

    rhythm: int
    share: float
    events: tuple[str, ...]


@dataclass(frozen=True)
class Scenario:
    """What one case of the release is like."""

    part: str
    schema: str
    older_names: bool
    subject_again: bool
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Words:
    """The whole vocabulary. ``waves[part]`` is (n, 4) float64: symbol index, at_ms, sd_ms, mv."""

    symbols: tuple[str, ...]
    events: tuple[str, ...]
    """Per symbol: the event that sets it, or an empty string."""
    couplings: np.ndarray
    rhythms: tuple[Rhythm, ...]
    waves: dict[str, np.ndarray]
    scenarios: tuple[Scenario, ...]

    def set_by(self, event: str) -> np.ndarray:
        """(k,) int8: the symbols that an event sets."""
        return np.array([i for i, name in enumerate(self.events) if name == event], dtype=np.int8)


@cache
def vitaldb_words() -> Words:
    """Read the five files. Raises RegistryError when one names a word that another does not declare."""
    beats = _rows("vitaldb_beat.csv")
    symbols = tuple(row["beat"] for row in beats)
    rhythms = tuple(_rhythm(row, symbols) for row in _rows("vitaldb_rhythm.csv"))
    names = [rhythm.name for rhythm in rhythms]
    waves: dict[str, list[tuple[float, ...]]] = {}
    for row in _rows("vitaldb_wave.csv"):
        index = _index(row["beat"], symbols, "vitaldb_wave.csv")
        shape = (float(row["at_ms"]), float(row["sd_ms"]), float(row["mv"]))
        waves.setdefault(row["part"], []).append((index, *shape))
    steps: dict[str, list[Step]] = {}
    for row in _rows("vitaldb_step.csv"):
        rhythm = _index(row["rhythm"], names, "vitaldb_step.csv")
        steps.setdefault(row["scenario"], []).append(
            Step(rhythm, float(row["share"]), tuple(row["events"].split()))
        )
    return Words(
        symbols=symbols,
        events=tuple(row["event"] for row in beats),
        couplings=np.array([float(row["coupling"]) for row in beats]),
        rhythms=rhythms,
        waves={part: np.array(rows) for part, rows in waves.items()},
        scenarios=tuple(
            Scenario(
                part=row["part"],
                schema=row["schema"],
                older_names=row["spelling"] == "old",
                subject_again=row["subject"] == "again",
                steps=tuple(steps[row["scenario"]]),
            )
            for row in _rows("vitaldb_case.csv")
        ),
    )


def _rhythm(row: dict[str, str], symbols: tuple[str, ...]) -> Rhythm:
    pairs = [pair.split("=") for pair in row["beats"].split()]
    return Rhythm(
        name=row["rhythm"],
        older_name=row["older_name"] or row["rhythm"],
        symbols=np.array([_index(name, symbols, "vitaldb_rhythm.csv") for name, _ in pairs], dtype=np.int8),
        shares=np.array([float(share) for _, share in pairs]),
        ectopic=_index(row["ectopic_beat"], symbols, "vitaldb_rhythm.csv") if row["ectopic_beat"] else -1,
        ectopic_every=int(row["ectopic_every"]),
        **{
            name: float(row[name])
            for name in (
                "rate_bpm", "rr_sd", "rr_wander", "pause_share", "pause_factor", "coupling",
                "p_wave", "p_spread", "pr_extra_ms", "p_in_pause", "f_wave_mv", "noise_mv",
            )
        },
    )  # fmt: skip


def _index(name: str, known: tuple[str, ...] | list[str], file: str) -> int:
    if name not in known:
        raise RegistryError(
            f"registry/synthetic/{file}: found {name!r}, expected one of {', '.join(known)}",
            "declare the word in vitaldb_rhythm.csv or vitaldb_beat.csv first",
        )
    return list(known).index(name)


def _rows(file: str) -> list[dict[str, str]]:
    with registry_path("synthetic", file).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))
