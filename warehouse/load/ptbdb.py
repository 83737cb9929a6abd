"""``load ptbdb``: the records of the PTB Diagnostic ECG Database; their diagnoses stand in the headers' comments."""

from __future__ import annotations

from pathlib import Path

from warehouse.home import Home, generation, writing
from warehouse.load.cards import card_of
from warehouse.load.report import LoadReport, write_report
from warehouse.load.wfdb_release import (
    fetch_first,
    find_records,
    listed_but_missing,
    release_of,
    write_records,
)

DATASET = "ptbdb"


def load(
    home: Home,
    source: Path,
    *,
    download: bool = False,
    base_url: str | None = None,
    workers: int = 2,
    progress: bool = False,
) -> LoadReport:
    """Load the records below ``source`` into ``home``, read by up to ``workers`` processes.

    ``download`` fetches the release into ``source`` first, from ``base_url`` (the data-set card's); what is there and
    whole is kept.

    What is broken costs only itself and stands in the report; a missing ``.xyz`` costs vx, vy and vz. Raises InputError
    when there is no record, when two have one name, or when none can be read.
    """
    report = LoadReport(DATASET, card_of(DATASET)["schema"])
    fetch_first(source, download, base_url, (), workers, progress, report)
    jobs = find_records(source, (), DATASET)
    report.problems += listed_but_missing(source, jobs)
    with home.writer(f"load {DATASET}"), writing(home.path), generation(home.raw / DATASET) as folder:
        tables = write_records(folder, jobs, workers, progress, report, detect=True)
        report.release = release_of(report, tables["record"]["record_id"].to_pylist())
        write_report(folder, report)
    return report
