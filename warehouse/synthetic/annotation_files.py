"""Annotation files in the three layouts that the real release has, byte for byte in their habits.

* ``usual`` (480 of the 482 real files): byte-order mark, LF, five columns, stamps on the 1/360 s lattice as
  Python prints them, ``True``/``False``, numbered markers in a column of their own.
* ``swapped`` (real case 3828): the last two columns change places.
* ``caseid_first`` (real case 2453): no byte-order mark, CRLF and none at the end, stamps of two decimals, the
  case id as a decimal number that is missing on odd rows, unnumbered markers in the beat column, ``TRUE`` on
  the marker rows alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warehouse.synthetic.beats import TICKS_PER_S
from warehouse.synthetic.rows import CLOSE, NO, OPEN, Rows
from warehouse.synthetic.words import Words

_MARKER_EVENT = {OPEN: "opens", CLOSE: "closes"}
USUAL = ("time_second", "beat_type", "rhythm_label", "bad_signal_quality", "bad_signal_quality_label")
SWAPPED = (*USUAL[:3], USUAL[4], USUAL[3])
CASEID_FIRST = ("caseid", "beat_type", "time_second", "rhythm_label", "bad_signal_quality")


def annotation_file_name(case_id: int) -> str:
    return f"Annotation_file_{case_id}.csv"


def write_annotation_file(
    folder: Path, case_id: int, rows: Rows, words: Words, *, schema: str, older_names: bool
) -> tuple[float, float, list[str]]:
    """Write one file and return what ``metadata.csv`` says of it: first and last stamp (s), rhythm names."""
    path = folder / annotation_file_name(case_id)
    names = np.array(
        [each.older_name if older_names else each.name for each in words.rhythms] + [""], dtype=object
    )
    rhythm = names[rows.rhythm]
    symbol = np.array([*words.symbols, ""], dtype=object)[rows.symbol]
    marker = _markers(rows, words)
    if schema == "caseid_first":
        stamps = _write_caseid_first(path, case_id, rows, symbol, rhythm, marker, words)
    else:
        stamps = rows.tick / TICKS_PER_S
        _write_usual(path, rows, stamps, symbol, rhythm, marker, USUAL if schema == "usual" else SWAPPED)
    present = sorted(names[index] for index in np.unique(rows.rhythm) if index != NO)
    return float(stamps[0]), float(stamps[-1]), present


def _markers(rows: Rows, words: Words) -> np.ndarray:
    """(n,) the marker's word without its number, empty for other rows."""
    text = {kind: words.symbols[int(words.set_by(event)[0])] for kind, event in _MARKER_EVENT.items()}
    return np.array([text.get(kind, "") for kind in rows.marker.tolist()], dtype=object)


def _write_usual(
    path: Path,
    rows: Rows,
    stamps: np.ndarray,
    symbol: np.ndarray,
    rhythm: np.ndarray,
    marker: np.ndarray,
    columns: tuple[str, ...],
) -> None:
    import polars as pl

    for place in np.flatnonzero(rows.marker != NO):
        marker[place] += str(rows.number[place])
    flagged = np.where(rows.flagged, "True", "False").astype(object)
    values = dict(zip(USUAL, (stamps, symbol, rhythm, flagged, marker), strict=True))
    schema = {name: pl.Float64 if name == USUAL[0] else pl.String for name in columns}
    pl.DataFrame({name: values[name] for name in columns}, schema=schema).write_csv(
        path, include_bom=True, line_terminator="\n", quote_style="never"
    )


def _write_caseid_first(
    path: Path,
    case_id: int,
    rows: Rows,
    symbol: np.ndarray,
    rhythm: np.ndarray,
    marker: np.ndarray,
    words: Words,
) -> np.ndarray:
    """Two early beats lose their case id and rhythm, as two do in the real file. Returns the stamps, s."""
    stamps = np.where(rows.marker == NO, np.round(rows.tick / TICKS_PER_S, 2), rows.tick / TICKS_PER_S)
    orphans = np.flatnonzero(np.isin(rows.symbol, words.set_by("premature")))[:2].tolist()
    lines = [",".join(CASEID_FIRST)]
    for place, stamp in enumerate(stamps.tolist()):
        if rows.marker[place] != NO:
            lines.append(f",{marker[place]},{stamp:.13f},{rhythm[place]},TRUE")
        elif place in orphans:
            lines.append(f",{symbol[place]},{stamp!r},,FALSE")
        else:
            lines.append(f"{case_id}.0,{symbol[place]},{stamp!r},{rhythm[place]},FALSE")
    path.write_bytes("\r\n".join(lines).encode())
    return stamps
