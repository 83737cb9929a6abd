"""The published segmenter once more, in plain Python, straight from the .dat and .atr files of a record."""

from __future__ import annotations

import math
from pathlib import Path

BEATS = {
    **dict.fromkeys("NLRej", "N"),
    **dict.fromkeys("AaJS", "S"),
    **dict.fromkeys("VE", "V"),
    "F": "F",
    **dict.fromkeys("/fQ", "Q"),
}
CODES = {1: "N", 2: "L", 3: "R", 4: "a", 5: "V", 6: "F", 7: "J", 8: "A", 9: "S", 10: "E", 11: "j", 12: "/", 13: "Q",
    34: "e", 38: "f"}  # fmt: skip
"""The codes of an annotation file that are beats in MIT-BIH."""


def annotations(path: Path) -> list[tuple[int, int]]:
    """(sample, code) of every annotation, by the MIT format: pairs of bytes, six bits of code and ten of time."""
    data, found, at, time = path.read_bytes(), [], 0, 0
    while True:
        word = data[at] | data[at + 1] << 8
        at += 2
        code, value = word >> 10, word & 1023
        if word == 0:
            return found
        if code == 59:  # a long interval follows, high half first
            time += (data[at] | data[at + 1] << 8) << 16 | data[at + 2] | data[at + 3] << 8
            at += 4
        elif code == 63:  # a note of so many bytes, rounded up to a pair
            at += value + value % 2
        elif code < 60:
            time += value
            found.append((time, code))


def first_channel(path: Path) -> list[int]:
    """Counts of the first of two channels in format 212: three bytes hold one sample of each."""
    data = path.read_bytes()
    counts = [low | (middle & 15) << 8 for low, middle in zip(data[0::3], data[1::3], strict=True)]
    return [count - 4096 if count > 2047 else count for count in counts]


def segments(folder: Path, record: str) -> list[tuple[int, str, int, int, int, list[float]]]:
    """(place in the file, class, begin, end, samples, the 187 values) of every beat but one that nothing follows."""
    notes, counts = annotations(folder / f"{record}.atr"), first_channel(folder / f"{record}.dat")
    times = [time for time, _ in notes] + [len(counts)]
    found = []
    for place, (time, code) in enumerate(notes[:-1]):
        if CODES.get(code) is None:
            continue
        following = times[place + 1]
        end = following + math.floor((times[place + 2] - following) / 5)
        piece = counts[time:end:3]
        low, high = min(piece), max(piece)
        row = [(count - low) / (high - low) for count in piece[:187]]
        found.append((place + 1, BEATS[CODES[code]], time, end, len(piece), row + [0.0] * (187 - len(row))))
    return found
