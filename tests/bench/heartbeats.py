"""MIT-BIH: loading beside reading the same files with wfdb alone, and cutting all segments.

On the 48 real records where they lie beside the checkout, else on synthetic ones of their length. Each measurement is a
process of its own; CPU seconds are with and without imports, seconds on the clock depend on who else is at work.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

from tests.bench.measure import ROOT, measure

SECONDS = 1806
READ = """
import sys, time
from pathlib import Path
import wfdb
imports = time.process_time()
for header in sorted(Path(sys.argv[1]).glob("*.hea")):
    base = str(header.with_suffix(""))
    wfdb.rdrecord(base, physical=len(sys.argv) > 2)
    wfdb.rdann(base, "atr")
result = None
"""
LOAD = """
import sys, time
from pathlib import Path
import wfdb, pyarrow.parquet
from warehouse.home import Home
from warehouse.load import loaders
imports = time.process_time()
start = time.perf_counter()
report = loaders.load(Home(Path(sys.argv[2])), "mitbih", Path(sys.argv[1]), workers=int(sys.argv[3]))
result = {"wall": time.perf_counter() - start, "records": report.tables["record"]["rows"]}
"""
BUILD = """
import sys, time
from pathlib import Path
from warehouse.home import Home
from warehouse.materialize import materialize
imports = time.process_time()
materialize(Home(Path(sys.argv[1])), threads=2)
result = None
"""
CUT = """
import sys, time
from pathlib import Path
import polars, pyarrow.parquet
from pipelines.segments import read_segments
from warehouse.home import Home
from warehouse.task import read_task
imports = time.process_time()
home = Home(Path(sys.argv[1]))
result = read_segments(home, read_task(home, "ecg-heartbeat-arrhythmia@0")).values.shape[0]
"""


def release(place: Path) -> tuple[Path, str]:
    """The real records, else synthetic ones, and what they are."""
    real = Path(os.environ.get("LEADHOUSE_SHARED") or ROOT.parent / "shared") / "data" / "mitdb"
    if real.is_dir():
        return real, "the real records"
    from warehouse.synthetic import write_mitbih_release

    write_mitbih_release(place / "release", seconds=SECONDS)
    return place / "release", f"synthetic records of {SECONDS} s"


def table(runs: int = 3) -> str:
    with tempfile.TemporaryDirectory(prefix="leadhouse-bench-") as name:
        source, what = release(Path(name))
        home = Path(name) / "data"
        reads = measure(READ, source, runs=runs)
        physical = measure(READ, source, "physical", runs=runs)
        loads = measure(LOAD, source, home, 1, runs=runs)
        records = loads.result["records"]
        walls: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(runs):  # by turns, so that both meet the same neighbours
            for workers, found in walls.items():
                start = time.perf_counter()
                measure(LOAD, source, home, workers, runs=1)
                found.append(time.perf_counter() - start)
        builds = measure(BUILD, home, runs=1)
        cuts = measure(CUT, home, runs=runs)
    read, load = reads.cpu_s - reads.imports_s, loads.cpu_s - loads.imports_s
    one, two = (statistics.median(walls[workers]) for workers in (1, 2))
    return "\n".join(
        [
            f"heartbeats: {records} records, {what}; medians of {runs} runs; load average {os.getloadavg()[0]:.1f}",
            f"{'':<43} {'CPU s':>7} {'with imports':>13} {'MiB':>6}",
            f"{'read counts with wfdb alone':<43} {read:>7.2f} {reads.cpu_s:>13.2f} {reads.mib:>6.0f}",
            f"{'read with wfdb alone, as it does by default':<43} {physical.cpu_s - physical.imports_s:>7.2f} "
            f"{physical.cpu_s:>13.2f} {physical.mib:>6.0f}",
            f"{'load mitbih, one worker':<43} {load:>7.2f} {loads.cpu_s:>13.2f} {loads.mib:>6.0f}",
            f"{'  times counts with wfdb alone (goal: 2)':<43} {load / read:>7.2f} {loads.cpu_s / reads.cpu_s:>13.2f}",
            f"{'materialize (two threads)':<43} {builds.cpu_s - builds.imports_s:>7.2f} {builds.cpu_s:>13.2f} "
            f"{builds.mib:>6.0f}",
            f"{f'cut {cuts.result:,} segments (goal: 5 CPU s)':<43} {cuts.cpu_s - cuts.imports_s:>7.2f} "
            f"{cuts.cpu_s:>13.2f} {cuts.mib:>6.0f}",
            f"load on the clock, from start to exit: one worker {one:.1f} s, two workers {two:.1f} s",
        ]
    )


if __name__ == "__main__":
    print(table())
