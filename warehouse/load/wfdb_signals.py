"""One WFDB record as raw counts with its scale.

Format 16 in one file, which is what PTB-XL and most 12-lead sets use, is read here and held against the
header's length, first values and checksums; every other layout goes through the wfdb package.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from warehouse.errors import InputError, Problem
from warehouse.load.signal_counts import Scale

_SIGNAL = re.compile(
    r"(?P<file>\S+)\s+(?P<format>\S+)"
    r"(?:\s+(?P<gain>[-+.\deE]+)(?:\((?P<baseline>-?\d+)\))?(?:/(?P<unit>\S+))?"
    r"(?:\s+(?P<resolution>\d+)(?:\s+(?P<zero>-?\d+)(?:\s+(?P<first>-?\d+)(?:\s+(?P<checksum>-?\d+)"
    r"(?:\s+(?P<block>\d+)(?:\s+(?P<lead>.*))?)?)?)?)?)?)?"
)
MISSING = {"16": -32768, "61": -32768, "160": -32768, "212": -2048, "310": -512, "311": -512, "80": -128}
"""Format → the count that stands for no value, after the WFDB specification."""
DEFAULT_GAIN = 200.0
"""Counts per mV where a header says 0 or nothing, after the WFDB specification."""
_MICROVOLTS = {"mv": 1000.0, "uv": 1.0, "µv": 1.0, "v": 1e6, None: 1000.0}


@dataclass(frozen=True)
class Counts:
    """``counts`` (leads, samples) int16."""

    counts: np.ndarray
    scale: Scale


def read_wfdb(header: Path) -> Counts:
    """Read the record of a ``.hea`` file. Raises InputError that says what is wrong with header or samples."""
    try:
        text = header.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise _refused(header, "no file", "a WFDB header") from None
    except UnicodeDecodeError:
        raise _refused(header, "bytes that are not UTF-8", "a WFDB header") from None
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        raise _refused(header, "an empty header", "a record line and a line for each signal")
    fields = lines[0][1].split()
    try:
        name, n_leads = fields[0], int(fields[1])
        hz = float(re.split(r"[/(]", fields[2])[0])
        n_samples = int(fields[3]) if len(fields) > 3 else None
    except (IndexError, ValueError):
        raise _refused(
            header, repr(lines[0][1]), "name, number of signals, Hz, samples", lines[0][0]
        ) from None
    if len(lines) - 1 < n_leads:
        raise _refused(
            header, f"{len(lines) - 1} signal lines", f"{n_leads}, as the first line says", lines[-1][0]
        )
    if "/" in name or n_samples is None:
        return _by_wfdb(header)
    signals = []
    for number, line in lines[1 : n_leads + 1]:
        match = _SIGNAL.fullmatch(line.strip())
        if match is None:
            raise _refused(header, repr(line), "a signal line", number)
        signals.append(match.groupdict())
    if (
        n_leads == 0
        or {each["format"] for each in signals} != {"16"}
        or len({each["file"] for each in signals}) > 1
    ):
        return _by_wfdb(header)
    scale = replace(_scale(header, hz, signals), missing=MISSING["16"])
    data = header.with_name(signals[0]["file"])
    expected = n_leads * n_samples * 2
    try:
        size = data.stat().st_size
    except OSError:
        raise _refused(header, f"no {data.name}", "the samples beside the header") from None
    if size != expected:
        raise _refused(
            data, f"{size:,} bytes", f"{expected:,} ({n_leads} leads × {n_samples} samples of 2 bytes)"
        )
    counts = np.ascontiguousarray(np.fromfile(data, "<i2").reshape(n_samples, n_leads).T)
    _hold_against(header, data, counts, signals)
    return Counts(counts, scale)


def _scale(header: Path, hz: float, signals: list[dict]) -> Scale:
    if not hz.is_integer() or hz <= 0:
        raise _refused(header, f"{hz:g} Hz", "a whole number of Hz")
    leads = tuple((each["lead"] or f"lead {place}").strip() for place, each in enumerate(signals, start=1))
    units = {(each["unit"] or "mV").lower() for each in signals}
    gains = {float(each["gain"] or 0) or DEFAULT_GAIN for each in signals}
    baselines = {int(each["baseline"] or each["zero"] or 0) for each in signals}
    return _uniform(header, leads, int(hz), units, gains, baselines)


def _uniform(
    header: Path, leads: tuple[str, ...], hz: int, units: set[str], gains: set[float], baselines: set[int]
) -> Scale:
    if len(units) > 1 or not units <= set(_MICROVOLTS):
        raise _refused(header, f"units {', '.join(sorted(units))}", "one of mV, uV, V for all signals")
    if len(gains) > 1 or len(baselines) > 1 or min(gains) <= 0:
        found = (
            f"gains {', '.join(map(str, sorted(gains)))}, baselines {', '.join(map(str, sorted(baselines)))}"
        )
        raise _refused(header, found, "one positive gain and one baseline for all signals")
    return Scale(leads, hz, _MICROVOLTS[units.pop()] / gains.pop(), baselines.pop())


def _hold_against(header: Path, data: Path, counts: np.ndarray, signals: list[dict]) -> None:
    sums = counts.sum(axis=1, dtype=np.int64) & 0xFFFF
    for place, each in enumerate(signals):
        lead = each["lead"] or f"lead {place + 1}"
        if each["first"] is not None and counts.shape[1] and counts[place, 0] != int(each["first"]):
            raise _refused(
                data, f"{counts[place, 0]} first in {lead}", f"{each['first']}, as {header.name} says"
            )
        if each["checksum"] is not None and int(sums[place]) != int(each["checksum"]) & 0xFFFF:
            raise _refused(
                data,
                f"checksum {int(sums[place])} in {lead}",
                f"{int(each['checksum']) & 0xFFFF}, as {header.name} says",
            )


def _by_wfdb(header: Path) -> Counts:
    import wfdb

    try:
        record = wfdb.rdrecord(str(header.with_suffix("")), physical=False, return_res=16)
    except Exception as error:  # wfdb raises whatever its parser meets
        raise _refused(
            header, f"{type(error).__name__}: {error}", "a record that the wfdb package reads"
        ) from None
    if record.d_signal is None or record.d_signal.size == 0:
        raise _refused(header, "no samples", "a record with signals")
    units = {unit.lower() for unit in record.units}
    scale = _uniform(
        header,
        tuple(record.sig_name),
        int(record.fs),
        units,
        set(map(float, record.adc_gain)),
        set(record.baseline),
    )
    missing = {MISSING.get(each) for each in record.fmt or ()}
    scale = replace(scale, missing=missing.pop() if len(missing) == 1 else None)
    return Counts(np.ascontiguousarray(record.d_signal.T, np.int16), scale)


def _refused(path: Path, found: str, expected: str, row: int | None = None) -> InputError:
    return InputError(
        f"{path.name}: not read", [Problem(path.name, found, expected, row)], "copy the record again"
    )
