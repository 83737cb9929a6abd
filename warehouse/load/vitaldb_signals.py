"""The signal part of ``load vitaldb-arrhythmia``: fetched, read, kept from the load before, or left empty."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from warehouse.digests import files_digest
from warehouse.errors import InputError, Problem
from warehouse.home import writing
from warehouse.load import raw
from warehouse.load.bar import bar
from warehouse.load.report import LoadReport, report_before
from warehouse.load.vital_tables import SCHEMAS


def download_signals(
    folder: Path, cases: list[int], url: str, workers: int, progress: bool, report: LoadReport
) -> Path | None:
    """Fetch the cases' ``.vital`` files into ``folder``; what fails stands in the report, what is there is kept.

    Returns the folder, None when it holds no file of any case.
    """
    from warehouse.load.download import download_cases

    with writing(folder), bar(len(cases), "download", progress) as step:
        result = download_cases(cases, folder, base_url=url, workers=workers, progress=step)
    report.problems += result.problems
    report.notes.append(f"signals: {len(cases) - len(result.problems)} of {len(cases)} files from {url}")
    if result.stopped:
        report.notes.append(f"signals: the download was stopped, nothing comes from {url}: {result.stopped}")
        report.next_step = (
            f"check the address {url} (--base-url) and the line, then run the same load again: "
            "files that are there are not fetched again"
        )
    elif result.problems:
        report.next_step = "run the same load again: only files that are not there are fetched"
    return folder if len(result.problems) < len(cases) else None


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

    ``source`` is a folder of ``<caseid>.vital``. Without it the tables of the load before are kept when that was
    of the same release, else left empty. Raises InputError for a folder without any annotated case.
    """
    if source is None:
        keeps, note = _of_before(before, report.release)
        for name, schema in SCHEMAS.items():
            if keeps:
                raw.carry_table(before, folder, name, report)
            else:
                raw.write_empty_table(folder, name, schema, report)
        if note is not None:
            report.notes.append(f"signals: {note}")
        if not keeps:
            report.notes.append("signals: none loaded; missing ECG and the clock are not checked")
        return
    from warehouse.load import vital

    windows = [
        vital.CaseWindow(row["case_id"], row["analysis_start_time_sec"], row["analysis_end_time_sec"])
        for row in metadata.to_pylist()
    ]
    files = vital.find_signal_files(source)
    if not {window.case_id for window in windows} & set(files):
        raise _no_case(source, sorted(files), [window.case_id for window in windows])
    with bar(len(files), "signals", progress) as step:
        result = vital.load_signals(windows, files, folder, workers=workers, progress=step)
    report.problems += result.problems
    report.notes += result.notes
    for name in SCHEMAS:
        raw.enter_table(folder, name, report)


def _of_before(before: Path, release: dict) -> tuple[bool, str | None]:
    """Whether the signals of the load before belong to ``release``, cases and windows, and are whole; and a note."""
    if not any(before.glob("signal/*.parquet")):
        return False, None
    then = report_before(before)
    again = "dropped; load with --signals or --download"
    if then is None:
        return (
            False,
            f"the _load.json before cannot be read, so signals of that load, if it had any, are {again}",
        )
    if not then["tables"].get("signal_case", {}).get("rows"):
        return False, None
    if then["release"].get("sha256") != release["sha256"]:
        return False, f"those of the load before were of another release: {again}"
    for name in SCHEMAS:
        files = sorted((before / name).glob("*.parquet"))
        if files_digest(files) != then["tables"].get(name, {}).get("sha256"):
            return False, f"those of the load before have changed since ({name}): {again}"
    return True, f"kept from the load before, {then['tables']['signal_case']['rows']} cases"


def _no_case(source: Path, found: list[int], annotated: list[int]) -> InputError:
    def some(cases: list[int]) -> str:
        return ", ".join(map(str, cases[:5])) + (", …" if len(cases) > 5 else "")

    return InputError(
        f"{source}: found no signal of an annotated case, nothing loaded",
        [
            Problem(
                str(source), f".vital files of {some(found)}", f"at least one of the cases {some(annotated)}"
            )
        ],
        "pass the folder of this release's signals, or leave --signals out",
    )
