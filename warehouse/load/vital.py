"""Lead II of annotated cases: a folder of ``<caseid>.vital`` becomes four Parquet tables.

========================  =================================================================================
``signal``                a row per minute of a case: ``samples`` float32 mV, NaN where missing
``signal_case``           a row per case: what is stored, from which file, read by what
``signal_run``            a row per run of missing samples, and per second or more of one constant value
``detected_peak``         a row per R peak
========================  =================================================================================

Samples are counted from the begin of the recording everywhere. Only the annotated window is stored, widened
to the 5-second grid of the segments and by 10 s on either side where the recording has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np

from warehouse.errors import InputError, Problem, UsageError
from warehouse.load.folder import files_below
from warehouse.load.peaks import detect_peaks, detector_name
from warehouse.load.pool import mapper
from warehouse.load.signal_facts import Runs, find_runs
from warehouse.load.vital_tables import SignalWriter
from warehouse.load.vital_track import HZ, TRACK, read_track

POOL_PAYS_BYTES = 20_000_000
"""Starting processes costs some 1.5 s, in which one process reads about this much."""
PRELOAD = ("vitaldb.utils", "sleepecg", __name__)
GRID_S = 5
MARGIN_S = 10


@dataclass(frozen=True)
class CaseWindow:
    """What is annotated of a case, in s from the recording's begin: first and last row, both included."""

    case_id: int
    start_s: float
    end_s: float


@dataclass
class SignalReport:
    """What became of the signals. A case in ``problems`` has no row in any table."""

    loaded: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    without_file: list[int] = field(default_factory=list)
    without_annotation: list[int] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """The report in words, for ``_load.json``."""
        lines = [f"signals: {len(self.loaded)} cases loaded with {loader_name()}"]
        if self.problems:
            lines.append(f"signals: {len(self.problems)} cases refused")
        for cases, what in (
            (self.without_file, "annotated cases have no .vital file; their missing ECG is not checked"),
            (self.without_annotation, "files belong to cases without annotations and were not loaded"),
        ):
            if cases:
                lines.append(f"signals: {len(cases)} {what}: {', '.join(map(str, cases))}")
        return lines


@dataclass(frozen=True)
class CaseSignal:
    """What is stored of one case. ``first_sample`` is where ``samples`` begin in the recording; ``runs`` and
    ``peaks`` count from there."""

    case_id: int
    first_sample: int
    samples: np.ndarray
    hz: int
    recording_s: float
    source_file: str
    source_sha256: str
    runs: Runs
    peaks: np.ndarray


def loader_name() -> str:
    return f"vitaldb {version('vitaldb')}"


def find_signal_files(folder: Path) -> dict[int, Path]:
    """Every ``<caseid>.vital`` below ``folder``, at any depth.

    Raises UsageError when there is no such folder, InputError when it holds none, or a case twice.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: found no folder; expected one with <caseid>.vital files")
    found: dict[int, list[Path]] = {}
    for path in files_below(folder):
        if path.suffix == ".vital" and path.stem.isascii() and path.stem.isdigit():
            found.setdefault(int(path.stem), []).append(path)
    problems = [
        Problem(
            f"case {case_id}",
            " and ".join(str(path.relative_to(folder)) for path in paths),
            "one .vital file",
        )
        for case_id, paths in sorted(found.items())
        if len(paths) > 1
    ]
    if not found:
        raise InputError(f"{folder}: found no <caseid>.vital at any depth; expected at least one")
    if problems:
        raise InputError(f"{folder}: found more than one signal of a case", problems, "remove the wrong one")
    return {case_id: paths[0] for case_id, paths in sorted(found.items())}


def load_signals(
    windows: Sequence[CaseWindow],
    files: Mapping[int, Path],
    out: Path,
    *,
    workers: int = 1,
    progress: Callable[[int], object] | None = None,
) -> SignalReport:
    """Write the four tables as folders below ``out``; they are there, empty, even when nothing is loaded.

    A case that fails costs only itself and stands in the report. Up to ``workers`` processes read files; the
    bytes written do not depend on their number. ``progress`` is called with 1 after each case.
    """
    report = SignalReport()
    annotated = {window.case_id for window in windows}
    report.without_annotation = sorted(set(files) - annotated)
    report.without_file = sorted(annotated - set(files))
    jobs = [
        (window, files[window.case_id])
        for window in sorted(windows, key=lambda window: window.case_id)
        if window.case_id in files
    ]
    writing = SignalWriter(out, track=TRACK, loader=loader_name(), detector=detector_name())
    with writing as writer, mapper(_processes(workers, jobs), len(jobs), PRELOAD) as run:
        for result in run(read_case, jobs):
            if isinstance(result, Problem):
                report.problems.append(result)
            else:
                writer.add(result)
                report.loaded.append(result.case_id)
            if progress is not None:
                progress(1)
    return report


def read_case(job: tuple[CaseWindow, Path]) -> CaseSignal | Problem:
    """Read one file and everything that is written of it, or say what is wrong with it."""
    window, path = job
    where = f"case {window.case_id}, {path.name}"
    try:
        recording = read_track(path)
        begin, end = stored_span(window, len(recording.samples))
    except InputError as error:
        (problem,) = error.problems
        return Problem(where, problem.found, problem.expected)
    except OSError as error:
        return Problem(where, f"a file that cannot be read ({error.strerror})", "a readable file")
    samples = recording.samples[begin:end]
    annotated = recording.samples[math.floor(window.start_s * HZ) : math.floor(window.end_s * HZ) + 1]
    if np.isnan(annotated).all():
        return Problem(where, "no sample in the annotated window", "lead II in it")
    return CaseSignal(
        case_id=window.case_id,
        first_sample=begin,
        samples=samples,
        hz=recording.hz,
        recording_s=recording.duration_s,
        source_file=path.name,
        source_sha256=recording.sha256,
        runs=find_runs(samples, recording.hz),
        peaks=detect_peaks(samples, recording.hz),
    )


def stored_span(window: CaseWindow, n_samples: int) -> tuple[int, int]:
    """The samples [begin, end) that are stored of a recording of ``n_samples`` at 500 Hz.

    The grid segment of the last row is stored whole. Raises InputError when the window is not inside.
    """
    last = math.floor(window.end_s * HZ)
    if not 0 <= window.start_s <= window.end_s or last >= n_samples:
        found = f"annotations from {window.start_s:.3f} to {window.end_s:.3f} s"
        expected = f"a window inside the recording, 0 to {n_samples / HZ:.3f} s"
        raise InputError(f"case {window.case_id}", [Problem(f"case {window.case_id}", found, expected)])
    begin = math.floor(window.start_s / GRID_S) * GRID_S - MARGIN_S
    end = (math.floor(window.end_s / GRID_S) + 1) * GRID_S + MARGIN_S
    return max(0, begin * HZ), min(n_samples, end * HZ)


def _processes(workers: int, jobs: Sequence[tuple[CaseWindow, Path]]) -> int:
    """One where a pool would cost more than it gains."""
    size = sum(path.stat().st_size for _, path in jobs if path.exists())
    return 1 if size < POOL_PAYS_BYTES else workers
