"""``load ptbxl``: PTB-XL's database table, its statement table, the WFDB records of one rate, PTB-XL+ 12SL statements.

A row or a record that cannot be read costs only itself and stands in the report; tables that break their
contract as a whole are rejected.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from warehouse.errors import InputError, Problem, UsageError
from warehouse.home import Home, generation, writing
from warehouse.load import ptbxl_tables, raw
from warehouse.load.bar import bar
from warehouse.load.cards import card_of
from warehouse.load.report import LoadReport, write_report
from warehouse.load.signal_counts import CountsWriter, Scale
from warehouse.load.tables_in import files_as_source
from warehouse.load.wfdb_signals import Counts, read_wfdb

DATASET = "ptbxl"
RECORDS = 21_799
SECONDS = 10
LEADS = ("I", "II", "III", "AVR", "AVL", "AVF", "V1", "V2", "V3", "V4", "V5", "V6")
FILE_COLUMN = {100: "filename_lr", 500: "filename_hr"}
BLOCK = 64
SHOWN = 20


def load(
    home: Home,
    source: Path,
    *,
    hz: int | None = None,
    statements: Path | None = None,
    progress: bool = False,
) -> LoadReport:
    """Load a copy of PTB-XL, or of a part of it, into ``home``.

    ``hz``: which of the two rates; by default the one that more records have, 500 when they tie. ``statements``:
    PTB-XL+'s 12sl_statements.csv, by default one below ``source``. Records without files are noted; a record that
    cannot be read is a problem in the report. Raises InputError for tables that break their contract.
    """
    if not source.is_dir():
        raise UsageError(
            f"{source}: found {'a file' if source.exists() else 'nothing'}; expected the folder of PTB-XL",
            "pass the folder that holds ptbxl_database.csv",
        )
    if hz is not None and hz not in FILE_COLUMN:
        raise UsageError(f"found --hz {hz}; expected 100 or 500")
    if statements is not None and not statements.is_file():
        raise UsageError(f"{statements}: found no file; expected PTB-XL+'s 12sl_statements.csv")
    report = LoadReport(DATASET, card_of(DATASET)["schema"])
    database = ptbxl_tables.one_file(source, "ptbxl_database*.csv")
    scp = ptbxl_tables.read_scp_statements(ptbxl_tables.one_file(source, "scp_statements*.csv"), report)
    record, recording, codes = ptbxl_tables.read_database(database, report)
    known = set(scp["code"].to_pylist())
    unknown = sorted({code for code in codes["code"].to_pylist() if code not in known})
    report.odd(
        "SCP code that scp_statements.csv does not hold",
        len(unknown),
        unknown[:SHOWN],
        "kept, without a class",
    )
    given = ptbxl_tables.read_statements_12sl(source, statements, record["ecg_id"].to_pylist(), report)
    report.release = _release(record.num_rows)
    files = _files(database.parent, record, hz, report)
    with home.writer(f"load {DATASET}"), writing(home.path), generation(home.raw / DATASET) as folder:
        raw.write_table(folder, "record", record, report)
        raw.write_table(folder, "recording", recording, report)
        raw.write_table(folder, "scp_code", codes, report)
        raw.write_table(folder, "scp_statement", scp, report)
        raw.write_table(folder, "statement_12sl", given, report)
        with bar(len(files), "signals", progress) as step:
            _write_signals(folder, files, record["ecg_id"].to_pylist(), report, step)
        write_report(folder, report)
    return report


def _files(root: Path, record, hz: int | None, report: LoadReport) -> dict[int, tuple[Path, int]]:
    """ecg_id → header and rate, of the records that have one."""
    ids = record["ecg_id"].to_pylist()
    found = {}
    for rate, column in FILE_COLUMN.items():
        names = record[column].to_pylist()
        paths = {
            ecg_id: root / f"{name}.hea" for ecg_id, name in zip(ids, names, strict=True) if name is not None
        }
        found[rate] = {ecg_id: path for ecg_id, path in paths.items() if path.is_file()}
    chosen = hz or max(FILE_COLUMN, key=lambda rate: (len(found[rate]), rate))
    there, rest = found[chosen], {rate: len(files) for rate, files in found.items() if rate != chosen}
    missing = [ecg_id for ecg_id in ids if ecg_id not in there]
    if not there:
        report.notes.append(f"signals: none at {chosen} Hz; none loaded")
        return {}
    report.notes.append(
        f"signals: {len(there):,} of {len(ids):,} records at {chosen} Hz"
        + "".join(
            f" ({count:,} at {rate} Hz are there too: --hz {rate})" for rate, count in rest.items() if count
        )
    )
    report.odd("record without a signal file", len(missing), missing[:SHOWN], "its labels are loaded")
    return {ecg_id: (path, chosen) for ecg_id, path in there.items()}


def _write_signals(
    folder: Path, files: dict[int, tuple[Path, int]], ids: list[int], report: LoadReport, step
) -> None:
    written = set()
    with CountsWriter(folder) as writer:
        for names, counts, scale in _blocks(files, report, step):
            writer.add(names, counts, scale)
            written |= set(names)
    raw.enter_table(folder, "signal", report)
    if files:
        headers = [path for path, _ in files.values()]
        report.sources.append(files_as_source("records*/*.hea", headers, len(headers)))
    without = [str(ecg_id) for ecg_id in ids if str(ecg_id) not in written] if files else []
    facts = writer.facts(without)
    raw.write_table(folder, "signal_fact", facts, report)
    flat = [row["record_id"] for row in facts.select(["record_id", "flat"]).to_pylist() if row["flat"]]
    report.odd("record with all leads constant", len(flat), flat[:SHOWN], "kept")


def _blocks(
    files: dict[int, tuple[Path, int]], report: LoadReport, step
) -> Iterator[tuple[list[str], np.ndarray, Scale]]:
    """Records of one scale together, in the order of ``files``; what cannot be read goes into the report."""
    names: list[str] = []
    held: list[Counts] = []
    for ecg_id, (path, rate) in files.items():
        try:
            record = _checked(path, read_wfdb(path), rate)
        except InputError as error:
            report.problems += [
                Problem(f"record {ecg_id}, {each.where}", each.found, each.expected, each.row)
                for each in error.problems
            ]
        else:
            if held and (held[0].scale != record.scale or len(held) == BLOCK):
                yield names, np.stack([each.counts for each in held]), held[0].scale
                names, held = [], []
            names.append(str(ecg_id))
            held.append(record)
        if step is not None:
            step(1)
    if held:
        yield names, np.stack([each.counts for each in held]), held[0].scale


def _checked(path: Path, record: Counts, rate: int) -> Counts:
    found, expected = record.scale, (LEADS, rate, rate * SECONDS)
    if (tuple(lead.upper() for lead in found.leads), found.hz, record.counts.shape[1]) == expected:
        return record
    raise InputError(
        path.name,
        [
            Problem(
                path.name,
                f"leads {', '.join(found.leads)}, {record.counts.shape[1]} samples at {found.hz} Hz",
                f"{', '.join(LEADS)}, {rate * SECONDS} samples at {rate} Hz",
            )
        ],
    )


def _release(rows: int) -> dict:
    specified = next(each["name"] for each in card_of(DATASET)["releases"] if each["is_specified"])
    whole = rows == RECORDS
    return {
        "name": specified if whole else None,
        "is_specified": whole,
        "specified": specified,
        "note": f"{rows:,} of {RECORDS:,} records",
    }
