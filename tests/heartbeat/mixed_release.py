"""``python -m tests.heartbeat.mixed_release OUT``: the four real PTB records beside synthetic healthy controls.

The real records are all of infarctions, so nothing can be trained on them alone. What is trained on both tells real
from made up, not an infarction from a healthy heart: it shows that the transfer runs.
"""

from __future__ import annotations

import csv
import os
import shutil
import sys
import tempfile
from pathlib import Path

from warehouse.project import registry_path
from warehouse.synthetic.ptbdb import write_ptbdb_release

PATIENTS = 32
"""Made-up patients that the controls are taken from."""


def write_mixed_release(out: Path, real: Path) -> tuple[int, int]:
    """Write both into the new folder ``out``; returns how many real records and controls it holds."""
    with registry_path("synthetic", "ptbdb_patient.csv").open(encoding="utf-8", newline="") as file:
        healthy = next(row["admission"] for row in csv.DictReader(file) if row["kind"] == "control")
    shutil.copytree(real, out)
    names = {header.name for header in real.rglob("*.hea")}
    with tempfile.TemporaryDirectory(prefix="leadhouse-ptbdb-") as made:
        write_ptbdb_release(Path(made), patients=PATIENTS, seconds=60, records_each=1)
        controls = [
            folder
            for folder in sorted(Path(made).glob("patient*"))
            if all(
                f": {healthy}\n" in header.read_text() and header.name not in names
                for header in folder.glob("*.hea")
            )
        ]
        for folder in controls:
            shutil.copytree(folder, out / f"patient{900 + int(folder.name.removeprefix('patient'))}")
    return len(names), len(controls)


if __name__ == "__main__":
    root = Path(__file__).parents[2]
    shared = Path(os.environ.get("LEADHOUSE_SHARED") or root.parent / "shared")
    records, controls = write_mixed_release(Path(sys.argv[1]), shared / "data/ptbdb")
    print(f"{records} real records, {controls} synthetic controls")
