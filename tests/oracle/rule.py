"""Annotation rows of a case → its segments with label and reason.

Times are whole microseconds: stamps lie on a lattice of 1/360 s, and "exactly 10 s" must not hang on the last bit
of a float.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SECOND = 1_000_000
GRID = 5 * SECOND
LONGEST_STEP = 10 * SECOND
NORMAL_CONTEXT = 45 * SECOND

NORMAL = "N"
NOISE = "Noise"
ABNORMAL = frozenset(
    {
        "AFIB/AFL",
        "AVB",
        "Patterned Atrial Ectopy",
        "Patterned Ventricular Ectopy",
        "SND",
        "SVTA",
        "Unclassifiable",
        "VT",
        "WAP/MAT",
    }
)
RENAMED = {
    "SR-mPAC-BT": "Patterned Atrial Ectopy",
    "SR-mPVC-BT": "Patterned Ventricular Ectopy",
    "MAT": "WAP/MAT",
}
BEATS = frozenset("NSVUP")
PREMATURE = frozenset("SV")


class Row(NamedTuple):
    """One annotation row in the order of the file; empty text where the file has nothing."""

    time: int
    """Microseconds."""
    beat: str
    rhythm: str
    """Today's name."""
    flagged: bool


class Ecg(NamedTuple):
    """What is known of a case's signal: sample numbers count from the recording's begin."""

    hz: int
    first: int
    samples: int
    missing: tuple[tuple[int, int], ...] = ()
    """Runs of missing samples: first, how many."""


class Segment(NamedTuple):
    start_s: int
    label: str | None
    reason: str
    rhythms: tuple[str, ...]
    """Behind the label, in order of their names."""
    rhythms_seen: tuple[str, ...]
    beats: int
    premature_beats: int
    bad_signal_quality: bool
    ecg: str


def label_case(rows: Sequence[Row], ecg: Ecg | None = None) -> list[Segment]:
    """Every segment from that of the first row to that of the last."""
    runs = normal_runs(rows)
    torn = _segments_in_gaps(rows)
    inside: dict[int, list[Row]] = {}
    for row in rows:
        start = row[0] // GRID
        if start in inside:
            inside[start].append(row)
        else:
            inside[start] = [row]
    covered = set()
    for begin, end in runs:
        if end - begin >= NORMAL_CONTEXT:
            covered.update(range(-(-begin // GRID), end // GRID))
    return [
        _judge(number, inside.get(number, ()), number in torn, number in covered, ecg)
        for number in range(rows[0][0] // GRID, rows[-1][0] // GRID + 1)
    ]


def normal_runs(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """First and last stamp of every uninterrupted run of normal rows, short ones too.

    A row of another rhythm, a row without one, and a step of more than 10 s end a run.
    """
    runs = []
    begin = end = None
    for time, _, rhythm, _ in rows:
        if rhythm != NORMAL or (end is not None and time - end > LONGEST_STEP):
            if begin is not None:
                runs.append((begin, end))
            begin = end = None
        if rhythm == NORMAL:
            begin = time if begin is None else begin
            end = time
    if begin is not None:
        runs.append((begin, end))
    return runs


def _segments_in_gaps(rows: Sequence[Row]) -> set[int]:
    """Numbers of the segments that an annotation gap reaches into."""
    torn: set[int] = set()
    before = rows[0][0]
    for row in rows:
        time = row[0]
        if time - before > LONGEST_STEP:
            torn.update(range(before // GRID, -(-time // GRID)))
        before = time
    return torn


def _judge(number: int, rows: Sequence[Row], in_gap: bool, in_run: bool, ecg: Ecg | None) -> Segment:
    seen, beats, premature, flagged = set(), 0, 0, False
    for _, beat, rhythm, bad in rows:
        seen.add(rhythm)
        if beat in BEATS:
            beats += 1
            premature += beat in PREMATURE
        flagged = flagged or bad
    seen.discard("")
    abnormal = seen & ABNORMAL
    checked = "not checked" if ecg is None else _ecg(number, ecg)
    label, because = None, ()
    if in_gap:
        reason = "gap"
    elif not beats:
        reason = "no_beat"
    elif NOISE in seen:
        reason = "noise"
    elif checked == "missing":
        reason = "missing_ecg"
    elif abnormal:
        label, reason, because = "abnormal", "abnormal_rhythm", abnormal
    elif not seen:
        reason = "no_rhythm"
    elif premature:
        reason = "premature"
    elif not in_run:
        reason = "short_run"
    else:
        label, reason, because = "normal", "normal_context", seen
    return Segment(
        number * GRID // SECOND,
        label,
        reason,
        tuple(sorted(because)),
        tuple(sorted(seen)),
        beats,
        premature,
        flagged,
        checked,
    )


def _ecg(number: int, ecg: Ecg) -> str:
    """More than a tenth missing, counted sample by sample."""
    samples = range(number * 5 * ecg.hz, (number + 1) * 5 * ecg.hz)
    recorded = range(max(samples.start, ecg.first), min(samples.stop, ecg.first + ecg.samples))
    missing = len(samples) - len(recorded)
    for first, size in ecg.missing:
        missing += len(range(max(samples.start, first), min(samples.stop, first + size)))
    return "missing" if missing * 10 > len(samples) else "present"
