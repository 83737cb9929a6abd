"""``load mitbih``: the records of the MIT-BIH Arrhythmia Database with their reference annotations."""

from __future__ import annotations

from pathlib import Path

from warehouse.home import Home, generation, writing
from warehouse.load import raw
from warehouse.load.cards import card_of
from warehouse.load.mitbih_split import draw_beats
from warehouse.load.report import LoadReport, write_report
from warehouse.load.wfdb_release import (
    SHOWN,
    fetch_first,
    find_records,
    listed_but_missing,
    release_of,
    unknown_symbols,
    write_records,
)

DATASET = "mitbih"
ANNOTATORS = ("atr",)
HZ = 360
"""The release's rate, which the published segments rest on."""


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

    What is broken costs only itself and stands in the report. Raises InputError when there is no record, when two
    have one name, or when none can be read.
    """
    report = LoadReport(DATASET, card_of(DATASET)["schema"])
    fetch_first(source, download, base_url, ANNOTATORS, workers, progress, report)
    jobs = find_records(source, ANNOTATORS, DATASET)
    report.problems += listed_but_missing(source, jobs)
    with home.writer(f"load {DATASET}"), writing(home.path), generation(home.raw / DATASET) as folder:
        tables = write_records(folder, jobs, workers, progress, report)
        unknown_symbols(tables["annotation"], "mitbih_symbol", report)
        other = [
            f"{row['record_id']} {row['hz']:g} Hz" for row in tables["record"].to_pylist() if row["hz"] != HZ
        ]
        handled = "kept; the published segments take every third sample, whatever the rate"
        report.odd(f"record at another rate than {HZ} Hz", len(other), other[:SHOWN], handled)
        report.release = release_of(report, tables["record"]["record_id"].to_pylist())
        raw.write_table(folder, "split", draw_beats(tables["annotation"], report.release["name"]), report)
        write_report(folder, report)
    return report
