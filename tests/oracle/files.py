"""Annotation files of the VitalDB Arrhythmia Database → rows; three layouts, each after its own header."""

from __future__ import annotations

import csv
from pathlib import Path

from .rule import ABNORMAL, BEATS, NOISE, NORMAL, RENAMED, SECOND, Row

MARKERS = frozenset({"Start", "End"})
"""Case 2453 writes them into the beat column."""


def read_folder(folder: Path) -> dict[int, list[Row]]:
    """Case id → rows, for every ``Annotation_file_<case>.csv`` at any depth."""
    paths = folder.rglob("Annotation_file_*.csv")
    return {
        case_id: read_case(path)
        for case_id, path in sorted((int(path.stem.split("_")[-1]), path) for path in paths)
    }


def read_case(path: Path) -> list[Row]:
    """One file. Raises ValueError on a rhythm, a beat or a flag that is not known."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = next(reader)
        time, beat, rhythm, flag = (
            header.index(name) for name in ("time_second", "beat_type", "rhythm_label", "bad_signal_quality")
        )
        rows = [
            Row(
                round(float(fields[time]) * SECOND),
                fields[beat],
                _RHYTHMS[fields[rhythm]],
                _FLAGS[fields[flag]],
            )
            for fields in reader
        ]
    strange = {row.beat for row in rows} - BEATS - MARKERS - {""}
    if strange:
        raise ValueError(f"{path.name}: beats {sorted(strange)}")
    return rows


_RHYTHMS = {name: name for name in (*ABNORMAL, NORMAL, NOISE, "")} | RENAMED
_FLAGS = {"True": True, "TRUE": True, "False": False, "FALSE": False}
