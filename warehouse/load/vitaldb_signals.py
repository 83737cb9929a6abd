"""The signal part of ``load vitaldb-arrhythmia``: fetched, read, kept from the load before, or left empty."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from warehouse.home import writing
from warehouse.load import raw
from warehouse.load.bar import bar
from warehouse.load.report import LoadReport
from warehouse.load.vital_tables import SCHEMAS


def download_signals(
    folder: Path, cases: list[int], url: str, workers: int, progress: bool, report: LoadReport
) -> Path:
    """Fetch the cases' ``.vital`` files into ``folder``; what fails stands in the report, what is there is kept."""
    from warehouse.load.download import download_cases

    with writing(folder), bar(len(cases), "download", progress) as step:
        result = download_cases(cases, folder, base_url=url, workers=workers, progress=step)
    report.problems += result.problems
    report.notes.append(f"signals: {len(cases) - len(result.problems)} of {len(cases)} files from {url}")
    return folder


def write_signals(
    folder: Path,
    before: Path,
    metadata: pa.Table,
    source: Path | None,
    workers: int,
    progress: bool,
    report: LoadReport,
) -> None:
    """Write the signal tables into a load's ``folder``; ``before`` is the load that it follows.

    ``source`` is a folder of ``<caseid>.vital``. Without it the tables of the load before are kept, or left empty.
    """
    if source is None and _has_signals(before):
        for name in SCHEMAS:
            raw.carry_table(before, folder, name, report)
        report.notes.append("signals: kept from the load before")
        return
    if source is None:
        for name, schema in SCHEMAS.items():
            raw.write_empty_table(folder, name, schema, report)
        report.notes.append("signals: none loaded; missing ECG and the clock are not checked")
        return
    from warehouse.load import vital

    windows = [
        vital.CaseWindow(row["case_id"], row["analysis_start_time_sec"], row["analysis_end_time_sec"])
        for row in metadata.to_pylist()
    ]
    files = vital.find_signal_files(source)
    with bar(len(files), "signals", progress) as step:
        result = vital.load_signals(windows, files, folder, workers=workers, progress=step)
    report.problems += result.problems
    report.notes += result.notes
    for name in SCHEMAS:
        raw.enter_table(folder, name, report)


def _has_signals(before: Path) -> bool:
    path = before / "_load.json"
    return (
        path.is_file() and json.loads(path.read_text(encoding="utf-8"))["tables"]["signal_case"]["rows"] > 0
    )
