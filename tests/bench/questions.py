"""Questions to a built home: why a label, what differs between two versions.

Each command runs as a user runs it, in a process of its own, imports included. On the 482 real VitalDB cases, and on a
LYDUS home of a million records, all of them sampled, with five lines each as in tests/bench/dx_lines.py: fifty times
the instances that the published task has.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.bench.labels import _source
from tests.bench.measure import ROOT, measure

RECORDS = 1_000_000
RUNS = 3

WRITE = """
import sys
from pathlib import Path
from tests.bench.questions import use_project, write_lydus_home
use_project(sys.argv[3])
result = write_lydus_home(Path(sys.argv[1]), int(sys.argv[2]))
"""
COMMAND = """
import contextlib, io, sys
from tests.bench.questions import run
with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")) as said:
    result = {"code": run(sys.argv[1], sys.argv[2:])}
    said.flush()
result["bytes"] = len(said.buffer.getvalue())
"""


@dataclass(frozen=True)
class Question:
    """A command, the CPU seconds that are its goal, and the home that it is asked of (vitaldb or lydus)."""

    words: tuple[str, ...]
    goal_s: float | None
    home: str


QUESTIONS = [
    Question(("why", "vitaldb-arrhythmia-abnormal@0", "1001_4995"), 0.8, "vitaldb"),
    Question(("why", "vitaldb-arrhythmia-abnormal@0", "1001:4996.2", "normal"), 0.8, "vitaldb"),
    Question(("why", "lydus-ecg-image@0", "r0000373"), 0.8, "lydus"),
    Question(("why", "lydus-ecg-image@0", "r0724643", "Old MI", "--json"), 0.8, "lydus"),
    Question(("diff", "vitaldb.normal_context@0", "@1"), 10, "vitaldb"),
    Question(("diff", "vitaldb.normal_context@0", "@2", "--json"), 10, "vitaldb"),
    Question(("diff", "lydus-ecg-image@0", "@1"), 10, "lydus"),
    Question(("diff", "lydus-ecg-image@0", "@1", "--json"), 10, "lydus"),
    Question(("diff", "map.dx_hedge", "{project}/dx_hedge.csv"), None, "lydus"),
    Question(("whatif", "vitaldb-arrhythmia-abnormal", "--accept", "premature"), 10, "vitaldb"),
    Question(
        ("whatif", "vitaldb-arrhythmia-abnormal", "--set", "normal_context_s=30", "--json"), 10, "vitaldb"
    ),
    Question(("whatif", "lydus-ecg-image@0", "--accept", "hedged"), 10, "lydus"),
    Question(("whatif", "lydus-ecg-image@0", "--refuse", "code", "--json"), 10, "lydus"),
    Question(("whatif", "lydus-ecg-image@0", "--set", "count_comparison_tinv=true"), 10, "lydus"),
    Question(("whatif", "lydus-ecg-image@0", "--map", "{project}/dx_hedge.csv"), 10, "lydus"),
]
"""``lydus-ecg-image@1`` is made for the benchmark: the same task with another PVC (see :func:`write_project`). A map
without a word changes every label of it, and is computed for both."""


def use_project(project: str) -> None:
    """Read ``sql/`` and ``registry/`` of another folder from here on."""
    import warehouse.project

    warehouse.project.project_root = lambda: Path(project)


def run(project: str, words: list[str]) -> int:
    """One command of ours on the rules of another folder; returns its exit code."""
    use_project(project)
    from cli import main

    try:
        main.main(words)
    except SystemExit as done:
        return int(done.code or 0)
    return 0


def write_project(place: Path) -> None:
    """A copy of ``sql/`` and ``registry/`` with a second version of lydus-ecg-image: PVC is not said of PAC."""
    for name in ("sql", "registry"):
        shutil.copytree(ROOT / name, place / name)
    for stem in ("lydus_ecg_image", "lydus_ecg_image_why"):
        text = (place / "sql" / "task" / f"{stem}_v0.sql").read_text()
        text = text.replace(f"-- task.{stem} v0", f"-- task.{stem} v1")
        text = text.replace("task.lydus_ecg_image_v0", "task.lydus_ecg_image_v1")
        changed = text.replace(', label.pvc AS "PVC"', ', label.pvc AND NOT label.pac AS "PVC"')
        assert (changed != text) is (stem == "lydus_ecg_image")
        (place / "sql" / "task" / f"{stem}_v1.sql").write_text(changed)
    spec = (place / "registry" / "tasks" / "lydus-ecg-image@0.json").read_text()
    version = spec.replace('"version": 0', '"version": 1', 1)
    assert version != spec
    (place / "registry" / "tasks" / "lydus-ecg-image@1.json").write_text(version)
    lines = (place / "registry" / "maps" / "dx_hedge.csv").read_text().splitlines(keepends=True)
    (place / "dx_hedge.csv").write_text("".join(line for line in lines if not line.startswith("possible,")))


def write_lydus_home(home: Path, records: int) -> int:
    """Raw tables as `load` leaves them, every record sampled, and the build of the task; returns the built rows."""
    import numpy as np

    from tests.bench.dx_lines import write_home
    from warehouse.home import Home
    from warehouse.load import raw
    from warehouse.load.lydus_split import draw_split, split_table
    from warehouse.load.report import LoadReport, read_report, write_report
    from warehouse.load.signal_counts import FACT, SIGNAL
    from warehouse.materialize import materialize
    from warehouse.splits import declaration

    write_home(home, records)
    folder = home / "raw" / "lydus"
    before = read_report(Home(home), "lydus")
    report = LoadReport("lydus", "lydus", {"name": None, "is_specified": False, "note": "made up"})
    ids = [f"r{number:07d}" for number in range(records)]
    membership = draw_split(ids, None, declaration("lydus"))
    raw.write_table(folder, "split", split_table(membership, np.ones(records, bool)), report)
    raw.write_empty_table(folder, "signal_fact", FACT, report)
    raw.write_empty_table(folder, "signal", SIGNAL, report)
    report.tables = {**before["tables"], **report.tables}
    write_report(folder, report)
    build = materialize(Home(home))
    return build.manifest["views"]["task.lydus_ecg_image_v0"]["rows"]


def table(records: int = RECORDS) -> str:
    """Builds both homes, asks every question some times, and gives the medians."""
    with tempfile.TemporaryDirectory(prefix="leadhouse-bench-") as name:
        place = Path(name)
        write_project(place / "project")
        measure(WRITE, place / "lydus", records, place / "project", runs=1)
        source, what = _source(place)
        _write_vitaldb_home(source, place / "vitaldb")
        return _asked(place, what, records)


def _asked(place: Path, what: str, records: int) -> str:
    lines = [
        f"questions: {what}, and {records:,} made-up LYDUS records; whole processes, medians of {RUNS} runs",
        f"{'':<64} {'CPU s':>6} {'goal':>5} {'MiB':>5} {'says kB':>8}",
    ]
    for question in QUESTIONS:
        words = [word.replace("{project}", str(place / "project")) for word in question.words]
        found = measure(COMMAND, place / "project", *words, "--data", place / question.home, runs=RUNS)
        assert found.result["code"] == 0, words
        goal = "" if question.goal_s is None else f"{question.goal_s:g}"
        shown = " ".join(question.words).replace("{project}/", "")
        kilobytes = found.result["bytes"] / 1_000
        lines.append(f"{shown:<64} {found.cpu_s:>6.2f} {goal:>5} {found.mib:>5.0f} {kilobytes:>8,.0f}")
    return "\n".join(lines)


def _write_vitaldb_home(source: Path, home: Path) -> None:
    from warehouse.home import Home
    from warehouse.load.vitaldb_arrhythmia import load
    from warehouse.materialize import materialize

    load(Home(home), source)
    materialize(Home(home))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=int, nargs="?", default=RECORDS, help="number of LYDUS records")
    print(table(parser.parse_args().records))


if __name__ == "__main__":
    main()
