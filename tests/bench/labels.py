"""VitalDB arrhythmia: annotation files to labels, beside a plain-Python oracle on the same files.

The oracle (tests/oracle) reads the files and keeps the label, reason and rhythms of every segment in memory, in
one process and one thread. Ours also holds the files against metadata.csv and their contract, reads the clinical
table, and writes Parquet with its digests, the evidence, a manifest and the database. So three figures stand
beside it: ours in one process and one thread too, the same as two processes with as many threads as there are
cores, as the commands run, and both at ten times the files.

A round runs every row once, each in a process of its own, so that a machine that slows down slows all of them. Others
on the same machine only add to a time, so the least of the rounds says most: ratios are of the leasts, and beside them
the median and range of the ratios within a round.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench.measure import ROOT, Measure, measure

ROUNDS = 9
PAIRS = 40
"""Of the oracle and ours in one process, in turn: a shared machine moves a single ratio by a third either way."""

ORACLE = """
import sys, time
from pathlib import Path
from tests.oracle import label_case, read_folder
imports = time.process_time()
cases = read_folder(Path(sys.argv[1]))
result = sum(len(label_case(rows)) for rows in cases.values())
"""
LOAD = """
import sys, time
from pathlib import Path
from warehouse.home import Home
from warehouse.load.vitaldb_arrhythmia import load
imports = time.process_time()
load(Home(Path(sys.argv[2])), Path(sys.argv[1]))
result = None
"""
BUILD = """
import sys, time
from pathlib import Path
from warehouse.home import Home
from warehouse.materialize import materialize
imports = time.process_time()
build = materialize(Home(Path(sys.argv[2])))
result = build.manifest["views"]["task.vitaldb_arrhythmia_abnormal_v0"]["rows"]
"""
STREET = """
import sys, time
from pathlib import Path
from warehouse.home import Home
from warehouse.load.vitaldb_arrhythmia import load
from warehouse.materialize import materialize
imports = time.process_time()
load(Home(Path(sys.argv[2])), Path(sys.argv[1]))
build = materialize(Home(Path(sys.argv[2])), threads=1)
result = build.manifest["views"]["task.vitaldb_arrhythmia_abnormal_v0"]["rows"]
"""
REBUILD = """
import sys, time
from pathlib import Path
from warehouse.home import Home
from warehouse.materialize import materialize
from warehouse.views import Catalog
imports, begin = time.process_time(), time.perf_counter()
build = materialize(Home(Path(sys.argv[1])), catalog=Catalog.read(Path(sys.argv[2])))
result = {"built": build.built, "clock_s": time.perf_counter() - begin}
"""


def table() -> str:
    with tempfile.TemporaryDirectory(prefix="leadhouse-bench-") as name:
        place = Path(name)
        source, what = _source(place)
        rounds = [_round(source, place, number) for number in range(ROUNDS)]
        segments = rounds[0]["oracle"].result
        assert all(one["street"].result == segments for one in rounds), "other segments than the oracle's"
        pairs = [_pair(source, place, number) for number in range(PAIRS)]
        ten = _ten_times(source, place / "ten")
        oracle10, street10 = measure(ORACLE, ten, runs=1), _ours(STREET, ten, place)
    lines = [
        f"labels: {what}; {segments:,} segments",
        f"CPU s: the whole process, all threads, the least of {ROUNDS} rounds; imports: the part of it before any file",
        "× oracle: least against least; within a round the median and range. Besides imports: the same without them",
        f"{'':<46} {'CPU s':>6} {'imports':>8} {'MiB':>5}  {'× oracle':<23}  besides imports",
    ]
    for label, key in (
        ("oracle: read and label, in memory", "oracle"),
        ("load + materialize: one process, one thread", "street"),
        ("load", "load"),
        ("materialize", "build"),
        ("load, materialize: two processes", "both"),
        ("materialize after a constant changed", "again"),
    ):
        found = [one[key] for one in rounds]
        lines.append(
            f"{label:<46} {min(one.cpu_s for one in found):>6.2f} "
            f"{min(one.imports_s for one in found):>8.2f} "
            f"{max(one.mib for one in found):>5.0f}  "
            f"{_ratio(rounds, key, lambda one: one.cpu_s):<23}  {_ratio(rounds, key, _bare)}"
        )
    again = [one["again"] for one in rounds]
    street = statistics.median(one["street"].cpu_s for one in rounds)
    lines += [
        "goals: load + materialize 4 s, 400 MiB, 1 × oracle; after a constant changed 0.7 s besides imports "
        f"({min(map(_bare, again)):.2f} CPU s, {min(one.result['clock_s'] for one in again):.2f} s on the clock)",
        _said_of(pairs),
        f"ten times the files: {street10.cpu_s:.2f} s ({street10.cpu_s / street:.1f} times the median; at most 11), "
        f"{street10.mib:.0f} MiB, {street10.cpu_s / oracle10.cpu_s:.2f} × oracle ({oracle10.cpu_s:.2f} s)",
    ]
    return "\n".join(lines)


def _round(source: Path, place: Path, number: int) -> dict[str, Measure]:
    """Every row once."""
    oracle = measure(ORACLE, source, runs=1)
    street = _ours(STREET, source, place)
    load = _ours(LOAD, source, place)
    build = measure(BUILD, source, place / "home", runs=1)
    both = Measure(
        load.cpu_s + build.cpu_s, max(load.peak, build.peak), None, load.imports_s + build.imports_s
    )
    again = measure(REBUILD, place / "home", _changed_rules(place, number), runs=1)
    assert "vitaldb.normal_context_v0" in again.result["built"]
    return {"oracle": oracle, "street": street, "load": load, "build": build, "both": both, "again": again}


def _pair(source: Path, place: Path, number: int) -> tuple[float, float]:
    """CPU s of ours and of the oracle, each first every other time."""
    if number % 2:
        return _ours(STREET, source, place).cpu_s, measure(ORACLE, source, runs=1).cpu_s
    oracle = measure(ORACLE, source, runs=1).cpu_s
    return _ours(STREET, source, place).cpu_s, oracle


def _said_of(pairs: list[tuple[float, float]]) -> str:
    """The ratio within the pairs, its median with a bootstrapped 95 % interval, and that of all their time."""
    ratios = [ours / oracle for ours, oracle in pairs]
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(2_000))
    ours, oracle = (sum(column) for column in zip(*pairs, strict=True))
    return (
        f"one process against the oracle, {len(pairs)} pairs in turn: {statistics.median(ratios):.2f} × oracle "
        f"(95 % {medians[50]:.2f}–{medians[-51]:.2f}), of all their CPU seconds {ours / oracle:.2f}"
    )


def _ours(code: str, source: Path, place: Path) -> Measure:
    """Run into a fresh home, which stays in ``place/home``."""
    shutil.rmtree(place / "home", ignore_errors=True)
    return measure(code, source, place / "home", runs=1)


def _bare(one: Measure) -> float:
    return one.cpu_s - one.imports_s


def _ratio(rounds: list[dict[str, Measure]], key: str, part: Callable[[Measure], float]) -> str:
    """A row against the oracle: the least of both, and what the rounds say one by one."""
    least = min(part(one[key]) for one in rounds) / min(part(one["oracle"]) for one in rounds)
    each = [part(one[key]) / part(one["oracle"]) for one in rounds]
    return f"{least:.2f}; {statistics.median(each):.2f} ({min(each):.2f}–{max(each):.2f})"


def _source(place: Path) -> tuple[Path, str]:
    shared = Path(os.environ.get("LEADHOUSE_SHARED") or ROOT.parent / "shared") / "data" / "arrdb"
    if shared.is_dir():
        return shared, "the 482 real annotation files"
    from warehouse.synthetic import write_vitaldb_release

    write_vitaldb_release(place / "release", cases=482, seconds=1_100, signals=False)
    return place / "release", "482 synthetic cases (the real files are not here)"


def _changed_rules(place: Path, number: int) -> Path:
    """The views with a normal context that is not 45 s long, another one in each round."""
    rules = place / f"rules-{number}"
    shutil.copytree(ROOT / "sql", rules)
    view = rules / "vitaldb" / "normal_context_v0.sql"
    changed = view.read_text().replace("45 AS normal_context_s", f"{30 + number} AS normal_context_s")
    assert changed != view.read_text()
    view.write_text(changed)
    return rules


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
                if data.removeprefix(b"\xef\xbb\xbf").startswith(b"caseid,"):  # elsewhere it could be a time
                    data = data.replace(f"\n{row['case_id']}.0,".encode(), f"\n{case}.0,".encode())
                (place / "annotations" / f"Annotation_file_{case}.csv").write_bytes(data)
    return place
