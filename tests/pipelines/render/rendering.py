"""Homes for render tests: a few hand-made LYDUS records, and ways to spoil their signals."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import lydus_files
import numpy as np

from warehouse.home import Home
from warehouse.load import lydus
from warehouse.load.report import LoadReport
from warehouse.load.signal_counts import CountsWriter, Scale
from warehouse.materialize import materialize

TASK = "lydus-ecg-image@0"
FOLDER = "lydus_ecg_image_v0"
EIGHT = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6")


def small_home(place: Path, records: int = 6, vals: np.ndarray | None = None) -> Home:
    """A loaded and built release of so many records with signals."""
    rows = [lydus_files.row(f"{500 + number}") for number in range(records)]
    release = lydus_files.write_table(place / "release", rows)
    values = lydus_files.counts(records, seed=7) if vals is None else vals
    lydus_files.write_npz(release, [row["new_id"] for row in rows], values.reshape(records, -1))
    home = Home(place / "data")
    lydus.load(home, release)
    materialize(home, ["task.lydus_ecg_image_v0"])
    return home


def replace_signals(home: Home, records: list[tuple[str, np.ndarray, Scale]]) -> None:
    """Other signals than `load` would take: (record, (leads, samples) int16, scale) each."""
    folder = (home.raw / "lydus").resolve()
    for file in (folder / "signal").iterdir():
        file.unlink()
    (folder / "signal").rmdir()
    with CountsWriter(folder) as writer:
        for record_id, counts, scale in records:
            writer.add([record_id], counts[None].astype(np.int16), scale)
    report = LoadReport("lydus", "lydus")
    from warehouse.load import raw

    raw.enter_table(folder, "signal", report)
    path = folder / "_load.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    told["tables"]["signal"] = report.tables["signal"]
    path.write_text(json.dumps(told), encoding="utf-8")


def contents(folder: Path) -> dict[str, str]:
    """File → sha256 of everything in a folder of images but the lock."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }
