"""One WFDB record → its leads in mV, for `render-record`: nothing is drawn of files that contradict each other.

The wfdb package reads every format. The header's own words, sizes and checksums are held against each other first, as
every load does it (:mod:`warehouse.load.wfdb_record`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warehouse.errors import InputError, Problem
from warehouse.load import wfdb_record

MICROVOLTS = {"mv": 1000.0, "uv": 1.0, "µv": 1.0, "v": 1e6}


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


def _refused(header: Path, found: str, expected: str) -> InputError:
    problem = Problem(header.name, found, expected)
    return InputError(f"{header.name}: not drawn", [problem], "check the record's files")
