"""VitalDB arrhythmia: annotation files to labels, beside a plain-Python oracle on the same files.

The oracle (tests/oracle) reads the same files and gives the label, reason and rhythms of every segment, in
memory. Ours also writes Parquet, a manifest and the evidence. Both are measured with their imports.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from tests.bench.measure import ROOT, Measure, measure

ORACLE = """
import sys
from pathlib import Path
from tests.oracle import label_case, read_folder
cases = read_folder(Path(sys.argv[1]))
result = sum(len(label_case(rows)) for rows in cases.values())
"""
LOAD = """
import sys
from pathlib import Path
from warehouse.home import Home
from warehouse.load.vitaldb_arrhythmia import load
load(Home(Path(sys.argv[2])), Path(sys.argv[1]))
result = None
"""
BUILD = """
import sys
from pathlib import Path
from warehouse.home import Home
from warehouse.materialize import materialize
build = materialize(Home(Path(sys.argv[2])))
result = build.manifest["views"]["task.vitaldb_arrhythmia_abnormal_v0"]["rows"]
"""
REBUILD = """
import sys, time
from pathlib import Path
from warehouse.home import Home
from warehouse.materialize import materialize
from warehouse.views import Catalog


began = time.process_time()
materialize(Home(Path(sys.argv[1])), catalog=Catalog.read(Path(sys.argv[2])))
result = time.process_time() - began
"""


def table() -> str:
    with tempfile.TemporaryDirectory(prefix="leadhouse-bench-") as name:
        place = Path(name)
        source, what = _source(place)
        oracle = measure(ORACLE, source)
        load, build = _ours(source, place)
        whole = load.cpu_s + build.cpu_s
        again = _after_a_constant_changed(place)
        ten = _ten_times(source, place / "ten")
        load10, build10 = _ours(ten, place, runs=1)
        grown = (load10.cpu_s + build10.cpu_s) / whole
    assert build.result == oracle.result, f"{build.result} segments beside the oracle's {oracle.result}"
    rows = [
        ("oracle: read and label, in memory", oracle.cpu_s, oracle.mib, 1.0),
        ("load", load.cpu_s, load.mib, load.cpu_s / oracle.cpu_s),
        ("materialize", build.cpu_s, build.mib, build.cpu_s / oracle.cpu_s),
        ("load + materialize (goal: 4 s, 400 MiB)", whole, max(load.mib, build.mib), whole / oracle.cpu_s),
        ("materialize after a constant changed (goal: 0.7 s)", again, None, again / oracle.cpu_s),
    ]
    lines = [
        f"labels: {what}; {build.result:,} segments",
        f"{'':<52} {'CPU s':>7} {'MiB':>6} {'× oracle':>9}",
    ]
    for label, cpu, mib, ratio in rows:
        lines.append(f"{label:<52} {cpu:>7.2f} {f'{mib:.0f}' if mib else '':>6} {ratio:>9.2f}")
    lines.append(
        f"ten times the files (goal: at most 11 times the time): {grown:.1f} times, {build10.mib:.0f} MiB"
    )
    return "\n".join(lines)


def _source(place: Path) -> tuple[Path, str]:
    shared = Path(os.environ.get("LEADHOUSE_SHARED") or ROOT.parent / "shared") / "data" / "arrdb"
    if shared.is_dir():
        return shared, "the 482 real annotation files"
    from warehouse.synthetic import write_vitaldb_release

    write_vitaldb_release(place / "release", cases=482, seconds=1_100, signals=False)
    return place / "release", "482 synthetic cases (the real files are not here)"


def _ours(source: Path, place: Path, runs: int = 3) -> tuple[Measure, Measure]:
    """Load and build into a fresh home each time; the last home stays in ``place/home``."""
    home = place / "home"
    loads, builds = [], []
    for _ in range(runs):
        shutil.rmtree(home, ignore_errors=True)
        loads.append(measure(LOAD, source, home, runs=1))
        builds.append(measure(BUILD, source, home, runs=1))
    return _median(loads), _median(builds)


def _median(found: list[Measure]) -> Measure:
    return sorted(found, key=lambda one: one.cpu_s)[len(found) // 2]


def _after_a_constant_changed(place: Path) -> float:
    """CPU seconds of a build in which the normal context went from 45 to 30 s, besides imports; the median of 3."""
    found = []
    for run in range(3):
        rules = place / f"rules-{run}"
        shutil.copytree(ROOT / "sql", rules)
        view = rules / "vitaldb" / "normal_context_v0.sql"
        changed = view.read_text().replace("45 AS normal_context_s", f"{30 + run} AS normal_context_s")
        assert changed != view.read_text()
        view.write_text(changed)
        found.append(measure(REBUILD, place / "home", rules, runs=1).result)
    return sorted(found)[1]


def _ten_times(source: Path, place: Path) -> Path:
    """The same release ten times over, under other case numbers."""
    import csv

    (place / "annotations").mkdir(parents=True)
    (metadata,) = source.rglob("metadata.csv")
    with metadata.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    files = {path.stem.rsplit("_", 1)[1]: path for path in source.rglob("Annotation_file_*.csv")}
    with (place / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        for copy in range(10):
            for row in rows:
                case = int(row["case_id"]) + copy * 10_000
                writer.writerow({**row, "case_id": case})
                data = files[row["case_id"]].read_bytes()
                data = data.replace(f"\n{row['case_id']}.0,".encode(), f"\n{case}.0,".encode())
                (place / "annotations" / f"Annotation_file_{case}.csv").write_bytes(data)
    return place
