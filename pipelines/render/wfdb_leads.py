"""One WFDB record → its leads in mV, for `render-record`: nothing is drawn of files that contradict each other.

The wfdb package reads every format, and takes what it does not understand of a header for a default: a rate that it
cannot parse for 250 Hz. So the header's own words are held against what it read, and sizes and checksums against the
header (:mod:`warehouse.load.wfdb_record`).
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from warehouse.errors import InputError, Problem
from warehouse.load import wfdb_record

MICROVOLTS = {"mv": 1000.0, "uv": 1.0, "µv": 1.0, "v": 1e6}
_NUMBER = r"\d+\.?\d*"  # wfdb reads 5e2 as 5
_FIRST_LINE = re.compile(
    rf"(?P<name>[-\w]+)(?P<segments>/\d+)?\s+(?P<signals>\d+)"
    rf"(?:\s+(?P<hz>{_NUMBER})(?:/{_NUMBER}(?:\([-+]?{_NUMBER}\))?)?(?:\s+(?P<samples>\d+)(?:\s+\S+){{0,2}})?)?",
    re.ASCII,  # wfdb drops other letters
)
"""Name, signals, Hz, samples, time and date; what stands after the signals may be missing (WFDB's header(5))."""


def header_of(record: Path) -> Path:
    """The header of a record that is named by itself, its ``.hea`` or its ``.dat``. Raises InputError without one."""
    names = [f"{record.name.removesuffix('.hea')}.hea"]
    if record.suffix == ".dat":
        names.append(f"{record.stem}.hea")
    for name in names:
        if record.with_name(name).is_file():
            return record.with_name(name)
    found = "a folder" if record.is_dir() else "no file"
    raise _refused(record.with_name(names[-1]), found, "the header of a WFDB record")


def read_record(header: Path) -> tuple[dict[str, np.ndarray], float]:
    """Leads by name, (n,) float64 mV with NaN where missing, and Hz.

    Physical values as the wfdb package gives them, whatever format, gains and baselines; leads of one rate alone.
    Raises InputError with all that header and samples contradict each other in.
    """
    _check_first_line(header)
    told = wfdb_record.read_record(wfdb_record.RecordJob(header, header.stem, ""))
    if told.problems:
        raise InputError(f"{header.name}: not drawn", told.problems, "check the record's files")
    import wfdb

    try:
        record = wfdb.rdrecord(str(header.with_suffix("")))
    except Exception as error:  # wfdb raises whatever its parser meets
        found = f"{type(error).__name__}: {error}"
        raise _refused(header, found, "a record that the wfdb package reads") from None
    if record.p_signal is None or not record.p_signal.size:
        raise _refused(header, "no samples", "a record with signals")
    names = [lead.strip() for lead in record.sig_name]
    units = [unit.lower() for unit in record.units]
    strange = sorted({unit for unit in units if unit not in MICROVOLTS})
    if strange:
        raise _refused(header, f"units {', '.join(strange)}", "mV, uV or V")
    if len(set(names)) < len(names):
        raise _refused(header, f"leads {', '.join(names)}", "each lead once")
    leads = {
        name: record.p_signal[:, place] * (MICROVOLTS[units[place]] / 1000)
        for place, name in enumerate(names)
    }
    return leads, float(record.fs)


def _check_first_line(header: Path) -> None:
    """Whether the first line is one of a record, and as many signals follow as it says."""
    lines = [line for line in wfdb_record.header_lines(header) if not line[1].startswith("#")]
    if not lines:
        raise _refused(header, "an empty header", "a line of the record and one for each signal")
    row, text = lines[0]
    first = _FIRST_LINE.fullmatch(text)
    if first is None:
        raise _refused(
            header, repr(text), "name (of A–Z, a–z, 0–9, _ and -), number of signals, Hz, samples", row
        )
    if first["segments"] is None and len(lines) - 1 != int(first["signals"]):
        found = f"{len(lines) - 1} lines of signals"
        raise _refused(header, found, f"{first['signals']}, as the first line says", lines[-1][0])


def _refused(header: Path, found: str, expected: str, row: int | None = None) -> InputError:
    problem = Problem(header.name, found, expected, row)
    return InputError(f"{header.name}: not drawn", [problem], "check the record's files")
