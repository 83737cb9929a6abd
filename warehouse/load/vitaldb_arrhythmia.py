"""``load vitaldb-arrhythmia``: annotation files, metadata and subjects, with or without the lead II signals.

Everything is read and checked before the first byte is written. What the files have wrong and a view can mend
stays in the raw tables as it is, and stands in ``_load.json`` with the view that mends it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from warehouse import splits
from warehouse.errors import InputError, Problem, UsageError
from warehouse.home import Home, generation, writing
from warehouse.load import metadata_csv, raw
from warehouse.load.annotation_csv import NAME, AnnotationFile, read_annotations
from warehouse.load.cards import card_of
from warehouse.load.columns import from_columns, to_numbers
from warehouse.load.fields import WHOLE_IN_RANGE, whole
from warehouse.load.folder import files_below
from warehouse.load.oddities import note_oddities
from warehouse.load.report import LoadReport, write_report
from warehouse.load.vitaldb_signals import download_signals, write_signals

DATASET = "vitaldb-arrhythmia"


def load(
    home: Home,
    source: Path,
    *,
    subjects: Path | None = None,
    signals: Path | None = None,
    download: bool = False,
    base_url: str | None = None,
    workers: int = 2,
    progress: bool = False,
) -> LoadReport:
    """Load a release into ``home``.

    ``subjects``: a CSV with ``caseid`` and ``subjectid``; by default the one found beside the annotations, else
    the columns of metadata.csv. ``signals``: a folder of ``<caseid>.vital``; ``download`` fetches into it (into
    ``downloads/`` of the home when none is named) from ``base_url`` (the data-set card's). Without either, signals
    of the load before stay where it was of the same release. Raises InputError with every file and row that is
    wrong; the home then keeps what it has.
    A case whose signal is broken is a problem in the report and costs only its signal.
    """
    if not source.is_dir():
        raise UsageError(
            f"{source}: found {'a file' if source.exists() else 'nothing'}; expected the folder of a release",
            "pass the folder that holds metadata.csv and the Annotation_file_<case>.csv files",
        )
    if base_url is not None and not download:
        raise UsageError(
            f"found --base-url {base_url} without --download; expected both or neither",
            "add --download, or leave --base-url out",
        )
    report = LoadReport(DATASET, card_of(DATASET)["schema"])
    present = files_below(source)
    paths = _annotation_paths(source, present)
    metadata_path = _metadata_path(source, present)
    metadata = metadata_csv.read_metadata(metadata_path)
    _note_open_end(metadata_path, report)
    files, annotation = read_annotations(paths)
    _match(files, annotation, metadata)
    clinical = _subjects(source, present, subjects, metadata_path, list(paths), report)
    report.release = _release(files)
    report.sources = [
        {
            "file": file.name,
            "sha256": file.sha256,
            "bytes": file.size,
            "rows": file.rows,
            "layout": file.layout,
            "bom": file.has_bom,
        }
        for file in files
    ]
    note_oddities(files, annotation, report)

    if download:
        folder = signals or home.path / "downloads" / "vitaldb"
        url = base_url or card_of(DATASET)["signals_base_url"]
        signals = download_signals(folder, list(paths), url, workers, progress, report)
    with home.writer(f"load {DATASET}"), writing(home.path), generation(home.raw / DATASET) as folder:
        raw.write_table(folder, "annotation", annotation, report)
        raw.write_table(folder, "metadata", metadata, report)
        raw.write_table(folder, "clinical", clinical, report)
        raw.write_table(folder, "split", split_table(splits.draw(card_of(DATASET)["split"])), report)
        write_signals(folder, home.raw / DATASET, metadata, signals, workers, progress, report)
        write_report(folder, report)
    return report


def _annotation_paths(source: Path, present: Sequence[Path]) -> dict[int, Path]:
    """Case id → file, in the order of the ids."""
    found: dict[int, Path] = {}
    problems = []
    for path in present:
        if not path.match("Annotation_file_*.csv"):
            continue
        match = NAME.fullmatch(path.name)
        if match is None:
            problems.append(
                Problem(str(path.relative_to(source)), "no case number", "Annotation_file_<case>.csv")
            )
            continue
        case_id = whole(match[1])
        if case_id is None:
            problems.append(Problem(str(path.relative_to(source)), f"case {match[1]}", WHOLE_IN_RANGE))
            continue
        if case_id in found:
            problems.append(
                Problem(
                    str(path.relative_to(source)),
                    f"case {case_id} again",
                    f"one file a case (the other is {found[case_id].relative_to(source)})",
                )
            )
        found.setdefault(case_id, path)
    if not found:
        problems.append(Problem(str(source), "no Annotation_file_<case>.csv at any depth", "at least one"))
    if problems:
        raise InputError(f"{source}: not loaded", problems, "pass the folder of one release, each case once")
    return dict(sorted(found.items()))


def _metadata_path(source: Path, present: Sequence[Path]) -> Path:
    found = [path for path in present if path.name == "metadata.csv"]
    if len(found) != 1:
        names = ", ".join(str(path.relative_to(source)) for path in found) or "none"
        raise InputError(
            f"{source}: not loaded",
            [Problem(str(source), f"metadata.csv: {names}", "exactly one, at any depth")],
            "pass the folder of one release",
        )
    return found[0]


def _match(files: list[AnnotationFile], annotation: pa.Table, metadata: pa.Table) -> None:
    """Hold the files against metadata.csv: both sides complete, the same rows and the same window."""
    rows = {row["case_id"]: row for row in metadata.to_pylist()}
    times = to_numbers(annotation["time_second"])
    ends = np.cumsum([file.rows for file in files])
    problems = []
    for file, end in zip(files, ends, strict=True):
        row = rows.pop(file.case_id, None)
        if row is None:
            problems.append(
                Problem("metadata.csv", f"no row for case {file.case_id}", f"one, for {file.name}")
            )
            continue
        for column, found, expected in (
            ("total_beats", file.rows, row["total_beats"]),
            ("analysis_start_time_sec", times[end - file.rows], row["analysis_start_time_sec"]),
            ("analysis_end_time_sec", times[end - 1], row["analysis_end_time_sec"]),
        ):
            if abs(found - expected) > 1e-6:
                what = f"{found} rows" if column == "total_beats" else f"{found} s"
                problems.append(Problem(file.name, what, f"{expected} ({column} of metadata.csv)"))
    problems += [
        Problem("metadata.csv", f"case {case_id}", f"a file Annotation_file_{case_id}.csv", row["row_no"])
        for case_id, row in rows.items()
    ]
    if problems:
        raise InputError(
            "annotation files and metadata.csv disagree, nothing loaded",
            problems,
            "copy the release again, whole",
        )


def _subjects(
    source: Path,
    present: Sequence[Path],
    given: Path | None,
    metadata_path: Path,
    cases: list[int],
    report: LoadReport,
) -> pa.Table:
    if given is not None and not given.is_file():
        raise UsageError(f"{given}: found no file; expected a CSV with caseid and subjectid")
    tables = [
        path for path in present if path.suffix == ".csv" and not path.name.startswith("Annotation_file_")
    ]
    beside = [path for path in tables if {"caseid", "subjectid"} <= set(metadata_csv.header_of(path))]
    if given is not None:
        path, column = given, "caseid"
    elif len(beside) == 1:
        path, column = beside[0], "caseid"
    elif len(beside) > 1:
        raise UsageError(
            f"{source}: found {len(beside)} tables with caseid and subjectid "
            f"({', '.join(path.name for path in beside)}); expected one",
            "say which with --subjects",
        )
    elif "subjectid" in metadata_csv.header_of(metadata_path):
        path, column = metadata_path, "case_id"
    else:
        names = ", ".join(path.name for path in tables if path != metadata_path)
        looked = f" ({names}: read as UTF-8 with commas, the header names others)" if names else ""
        report.notes.append(
            f"no subjects: no table with caseid and subjectid was found{looked}, so no case has a part; "
            "load again with --subjects CSV (VitalDB's clinical table)"
        )
        return from_columns([[]] * len(metadata_csv.CLINICAL), metadata_csv.CLINICAL)
    table = metadata_csv.read_clinical(path, column)
    if path != metadata_path:
        _note_open_end(path, report)
    known = set(to_numbers(table["case_id"]).tolist())
    subject_ids, rows = to_numbers(table["subject_id"]), to_numbers(table["row_no"])
    units = splits.declaration(card_of(DATASET)["split"])["units"]
    problems = [
        Problem(path.name, f"no row for case {case_id}", "a subject for every annotated case")
        for case_id in cases
        if case_id not in known
    ]
    problems += [
        Problem(path.name, f"subject {subject_ids[at]}", f"{units['first']}..{units['last']}", int(rows[at]))
        for at in np.flatnonzero((subject_ids < units["first"]) | (subject_ids > units["last"]))
    ]
    if problems:
        raise InputError(
            f"{path.name}: subjects missing or unknown, nothing loaded",
            problems,
            "pass VitalDB's whole clinical table",
        )
    report.notes.append(f"subjects: {path.name} ({table.num_rows} cases)")
    return table


def _note_open_end(path: Path, report: LoadReport) -> None:
    """Note a table whose last row may have been cut."""
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read()
    if last not in (b"\n", b"\r"):
        report.odd(
            "table whose last line has no end",
            1,
            [path.name],
            "read as it stands; a file that was copied half looks the same",
        )


def _release(files: list[AnnotationFile]) -> dict:
    """Which release the files are, by the digest over their names and digests."""
    text = "".join(f"{file.name} {file.sha256}\n" for file in sorted(files, key=lambda file: file.name))
    digest = hashlib.sha256(text.encode()).hexdigest()
    known = next((release for release in card_of(DATASET)["releases"] if release["sha256"] == digest), None)
    specified = next(release["name"] for release in card_of(DATASET)["releases"] if release["is_specified"])
    return {
        "sha256": digest,
        "name": known["name"] if known else None,
        "commit": known["commit"] if known else None,
        "is_specified": bool(known and known["is_specified"]),
        "specified": specified,
        "note": known["note"] if known else f"not {specified}, which the task's spec names",
    }


def split_table(split: splits.Split) -> pa.Table:
    """``split.vitaldb``, a row a subject."""
    schema = pa.schema([("subject_id", pa.int32()), ("part", pa.string())])
    return from_columns([split.units, split.parts.tolist()], schema)
