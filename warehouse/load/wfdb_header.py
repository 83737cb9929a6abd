"""The words of a WFDB header, held against the format before the wfdb package reads them.

The package takes what it does not understand for a default: a rate of -500 or 500,0 for 250 Hz, 5e2 for 5. Such a
header is refused, since every label in seconds would be wrong. The format is WFDB's header(5).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_NUMBER = r"\d+\.?\d*"  # wfdb reads 5e2 as 5
_FIRST_LINE = re.compile(
    rf"(?P<name>[-\w]+)(?:/(?P<segments>\d+))?\s+(?P<signals>\d+)"
    rf"(?:\s+(?P<hz>{_NUMBER})(?:/{_NUMBER}(?:\([-+]?{_NUMBER}\))?)?(?:\s+(?P<samples>\d+)(?:\s+\S+){{0,2}})?)?",
    re.ASCII,  # wfdb drops other letters
)
"""Name, signals, Hz, samples, time and date; what stands after the signals may be missing."""
_SEGMENT = re.compile(r"(~|[-\w]+)\s+\d+", re.ASCII)


@dataclass(frozen=True)
class Fault:
    """What is wrong with a header, and in which line of the file (None: in all of it)."""

    row: int | None
    found: str
    expected: str


def header_lines(header: Path) -> list[tuple[int, str]]:
    """Line number and text of every line that is not empty: UTF-8, else Latin-1. Raises OSError."""
    data = header.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]


def is_in_segments(lines: list[tuple[int, str]]) -> bool:
    """Whether these are the lines of a multi-segment record."""
    first = next((line for _, line in lines if not line.startswith("#")), "")
    return bool(first) and "/" in first.split()[0]


def segments_of(header: Path) -> list[str]:
    """The names of a multi-segment record's segments, gaps (``~``) left out; empty for any other record.

    Names that are none, such as paths, are left out too: :func:`fault_of` says so. Raises OSError.
    """
    lines = header_lines(header)
    if not is_in_segments(lines):
        return []
    words = [line for _, line in lines if not line.startswith("#")][1:]
    return [line.split()[0] for line in words if not line.startswith("~") and _SEGMENT.fullmatch(line)]


def fault_of(lines: list[tuple[int, str]]) -> Fault | None:
    """The first thing in :func:`header_lines` that wfdb would read as something else, or could not read."""
    lines = [line for line in lines if not line[1].startswith("#")]
    if not lines:
        return Fault(None, "an empty header", "a WFDB header: a line of the record and one for each signal")
    row, text = lines[0]
    first = _FIRST_LINE.fullmatch(text)
    if first is None:
        expected = "a WFDB header: name (of A–Z, a–z, 0–9, _ and -), number of signals, Hz, samples"
        return Fault(row, repr(text), expected)
    if first["hz"] is not None and not float(first["hz"]):
        return Fault(row, f"{first['hz']} Hz", "a rate above 0 Hz")
    kind = "signals" if first["segments"] is None else "segments"
    if len(lines) - 1 != int(first[kind]):
        found = f"{len(lines) - 1} lines of {kind}"
        return Fault(lines[-1][0], found, f"{first[kind]}, as the first line says")
    if kind == "segments":
        strange = next((line for line in lines[1:] if not _SEGMENT.fullmatch(line[1])), None)
        if strange is not None:
            return Fault(strange[0], repr(strange[1]), "the name of a segment or ~, and its samples")
    return None
