"""What ``registry/synthetic/lydus_*.csv`` declares, as tables: findings, their lines, their waves.

A finding is something that a record shows and its statements name. Findings of one axis exclude each other.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

import numpy as np

from warehouse.errors import RegistryError
from warehouse.project import registry_path

LEADS = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6")
REVIEWED = ("rhythm", "premature_beat", "bbb", "avb", "pacing")
_NUMBERS = ("share", "share_dated", "severity", "rate_low", "rate_high", "rr_sd", "p_wave", "pr_ms", "qt_ms",
            "p_rate", "f_wave_mv", "f_hz", "scale", "every", "coupling", "qrs_ms")  # fmt: skip
RHYTHM, AV, ECTOPY = "rhythm", "conduction_av", "ectopy"
PRINTED = ("form", "conduction", "hypertrophy", "infarct", "repolarisation", "hedge", "unmapped", "summary",
           "comparison", "comparison_change", "comparison_more", "comparison_dated")  # fmt: skip
"""The axes with a line of their own, in the order of print; the rhythm's comes first, AV and ectopy join it."""
DRAWN = (RHYTHM, AV, ECTOPY, *(axis for axis in PRINTED if axis != "summary"))


@dataclass(frozen=True)
class Waves:
    """(k,) rows of ``lydus_wave.csv``; ``mv`` is (k, 8) in the order of LEADS."""

    part: np.ndarray
    replaces: np.ndarray
    at_s: np.ndarray
    sd_s: np.ndarray
    mv: np.ndarray


@dataclass(frozen=True)
class Words:
    """``number[column]`` and ``text[column]`` are (findings,); ``axis_of`` (findings,) axis names.

    ``lines[finding]`` are (text, weight) pairs, ``waves[finding]`` its waves; ``conclusions`` (text, weight) pairs.
    """

    findings: tuple[str, ...]
    axis_of: np.ndarray
    number: dict[str, np.ndarray]
    text: dict[str, np.ndarray]
    alone: np.ndarray
    lines: dict[str, list[tuple[str, float]]]
    waves: dict[str, Waves]
    conclusions: list[tuple[str, float]]

    def on(self, axis: str) -> np.ndarray:
        """(k,) the findings of an axis."""
        return np.flatnonzero(self.axis_of == axis)

    def index(self, finding: str) -> int:
        return self.findings.index(finding)


@cache
def lydus_words() -> Words:
    """Read the four files. Raises RegistryError when one names a finding that another does not declare."""
    rows = _rows("lydus_finding.csv")
    findings = tuple(row["finding"] for row in rows)
    lines: dict[str, list[tuple[str, float]]] = {name: [] for name in findings}
    for row in _rows("lydus_line.csv"):
        _known(row["finding"], findings, "lydus_line.csv")
        lines[row["finding"]].append((row["text"], float(row["weight"])))
    shapes: dict[str, list[dict[str, str]]] = {}
    for row in _rows("lydus_wave.csv"):
        _known(row["finding"], (*findings, "base", "ventricular"), "lydus_wave.csv")
        shapes.setdefault(row["finding"], []).append(row)
    for row in rows:
        for other in row["only_with"].split():
            _known(other, findings, "lydus_finding.csv")
    words = Words(
        findings=findings,
        axis_of=np.array([row["axis"] for row in rows], dtype=object),
        number={name: np.array([float(row[name] or 0) for row in rows]) for name in _NUMBERS},
        text={
            name: np.array([row[name] for row in rows], dtype=object)
            for name in (*REVIEWED, "ectopic", "only_with", "classes")
        },
        alone=np.array([row["alone"] == "1" for row in rows]),
        lines=lines,
        waves={name: _waves(some) for name, some in shapes.items()},
        conclusions=[(row["text"], float(row["weight"])) for row in _rows("lydus_conclusion.csv")],
    )
    axes = {*DRAWN, "summary", "special", "default"}
    for axis in sorted(set(words.axis_of) - axes):
        raise RegistryError(
            f"registry/synthetic/lydus_finding.csv: found axis {axis!r}; expected one of {', '.join(sorted(axes))}"
        )
    return words


def _waves(rows: list[dict[str, str]]) -> Waves:
    return Waves(
        part=np.array([row["part"] for row in rows], dtype=object),
        replaces=np.array([row["mode"] == "replace" for row in rows]),
        at_s=np.array([float(row["at_ms"]) / 1000 for row in rows]),
        sd_s=np.array([float(row["sd_ms"]) / 1000 for row in rows]),
        mv=np.array([[float(row[lead]) for lead in LEADS] for row in rows]),
    )


def _known(name: str, known: tuple[str, ...], file: str) -> None:
    if name not in known:
        raise RegistryError(
            f"registry/synthetic/{file}: found finding {name!r}, expected one of {', '.join(known)}",
            "declare it in lydus_finding.csv first",
        )


def _rows(file: str) -> list[dict[str, str]]:
    with registry_path("synthetic", file).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))
