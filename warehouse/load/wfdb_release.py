"""A folder of WFDB records, of any depth, into tables: found, read in parallel, reported."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from warehouse.errors import InputError, Problem, UsageError
from warehouse.load import raw
from warehouse.load.bar import bar
from warehouse.load.cards import card_of
from warehouse.load.folder import files_below
from warehouse.load.pool import mapper, threads
from warehouse.load.report import LoadReport
from warehouse.load.wfdb_header import segments_of
from warehouse.load.wfdb_record import RecordJob
from warehouse.load.wfdb_tables import RECORDS_PER_SHARD, SCHEMAS, ShardJob, write_shard
from warehouse.maps import map_column

PRELOAD = ("wfdb", "pyarrow.parquet", "warehouse.load.wfdb_tables")
PROCESSES_PAY_BYTES = 500_000_000
"""Below, threads are sooner: processes take a second to start, and half of the work runs beside Python."""
SHOWN = 20


def find_records(source: Path, annotators: tuple[str, ...], dataset: str) -> list[RecordJob]:
    """Every record below ``source``, by id; segments of a multi-segment record are part of it.

    Raises UsageError when there is no such folder, InputError when it holds no record, or two of one id.
    """
    if not source.is_dir():
        raise UsageError(
            f"{source}: found {'a file' if source.exists() else 'nothing'}; expected the folder of {dataset}",
            "pass the folder that holds the records (.hea)",
        )
    headers = [path for path in files_below(source) if path.suffix == ".hea"]
    parts: set[Path] = set()
    whole: set[Path] = set()
    for header in headers:
        try:
            segments = segments_of(header)
        except OSError:
            continue  # read_record says what is wrong with it
        parts |= {header.with_name(f"{name}.hea") for name in segments}
        whole |= {header} if segments else set()
    parts -= whole  # a record of segments is no segment: one that names itself must not vanish
    jobs = [
        RecordJob(header, header.stem, _folder(header, source), annotators)
        for header in headers
        if header not in parts
    ]
    if not jobs:
        raise InputError(
            f"{source}: found no WFDB header at any depth, nothing loaded",
            [Problem(str(source), "no .hea file", "the records of the release")],
            "pass the folder that holds the records (.hea), or add --download to fetch them into it",
        )
    counts = Counter(job.record_id for job in jobs)
    twice = [job for job in jobs if counts[job.record_id] > 1]
    if twice:
        raise InputError(
            f"{source}: records of one name, nothing loaded",
            [
                Problem(f"record {job.record_id}", f"{job.folder or '.'}/", "one record of a name")
                for job in twice
            ],
            "take the copies out of the folder",
        )
    return sorted(jobs, key=lambda job: job.record_id)


def fetch_first(
    source: Path,
    download: bool,
    base_url: str | None,
    annotators: tuple[str, ...],
    workers: int,
    progress: bool,
    report: LoadReport,
) -> None:
    """The part of a load that ``--download`` asks for; UsageError for an address without it."""
    if base_url is not None and not download:
        raise UsageError(
            f"found --base-url {base_url} without --download; expected both or neither",
            "add --download, or leave --base-url out",
        )
    if download:
        from warehouse.load.wfdb_download import download_records

        url = base_url or card_of(report.dataset)["records_base_url"]
        download_records(source, url, annotators, max(2, workers), progress, report)


def listed_but_missing(source: Path, jobs: Sequence[RecordJob]) -> list[Problem]:
    """Records that the release's own RECORDS file names and that are not there."""
    path = source / "RECORDS"
    if not path.is_file():
        return []
    present = {job.record_id for job in jobs}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [
        Problem("RECORDS", f"record {line.strip()}", "its header below the folder", number)
        for number, line in enumerate(lines, start=1)
        if line.strip() and line.strip().rsplit("/", 1)[-1] not in present
    ]


def write_records(
    folder: Path,
    jobs: Sequence[RecordJob],
    workers: int,
    progress: bool,
    report: LoadReport,
    *,
    detect: bool = False,
) -> dict[str, pa.Table]:
    """Read the records and write all tables below a load's ``folder``; what is wrong goes into the report.

    ``detect``: R peaks as well. Returns the tables but ``signal``. Raises InputError when not one record could be read.
    """
    (folder / "signal").mkdir()
    blocks = [jobs[at : at + RECORDS_PER_SHARD] for at in range(0, len(jobs), RECORDS_PER_SHARD)]
    shards = [
        ShardJob(block, folder / "signal" / f"signal-{number:04d}.parquet", detect)
        for number, block in enumerate(blocks)
    ]
    pieces: dict[str, list[pa.Table]] = {name: [] for name in SCHEMAS if detect or name != "detected_peak"}
    files: dict[str, tuple[str, int]] = {}
    unread: list[str] = []
    with bar(len(jobs), "records", progress) as step, _pool(jobs, workers, len(shards)) as run:
        for job, shard in zip(shards, run(write_shard, shards), strict=True):
            for name, some in pieces.items():
                some.append(shard.tables[name])
            files |= shard.files
            unread += shard.unread
            report.problems += shard.problems
            if step is not None:
                step(len(job.records))
    if len(unread) == len(jobs):
        raise InputError(
            f"none of {len(jobs)} records can be read, nothing loaded",
            report.problems,
            "copy the records again",
        )
    tables = {name: pa.concat_tables(some).unify_dictionaries() for name, some in pieces.items()}
    for name, table in tables.items():
        raw.write_table(folder, name, table, report)
    raw.enter_table(folder, "signal", report)
    report.sources.append(_sources(files, len(jobs)))
    _note_signals(tables["signal_fact"], report)
    _note_copies(files, tables, report)
    return tables


def _pool(jobs: Sequence[RecordJob], workers: int, shards: int):
    folders = {job.header.parent for job in jobs}
    size = sum(path.stat().st_size for folder in folders for path in folder.iterdir() if path.is_file())
    if size < PROCESSES_PAY_BYTES:
        return threads(workers, shards)
    return mapper(workers, shards, PRELOAD)


def release_of(report: LoadReport, records: Sequence[str]) -> dict:
    """Which release the files are: by one digest over their names and digests, by the number of records where the card
    knows no digest."""
    card = card_of(report.dataset)
    specified = next(each for each in card["releases"] if each["is_specified"])
    digest = report.sources[-1]["sha256"]
    whole = [each for each in card["releases"] if each["sha256"] is None and each["records"] == len(records)]
    known = next((each for each in card["releases"] if each["sha256"] == digest), next(iter(whole), None))
    return {
        "sha256": digest,
        "name": known["name"] if known else None,
        "is_specified": bool(known and known["is_specified"]),
        "specified": specified["name"],
        "note": known["note"]
        if known
        else f"{len(records):,} of {specified['records']:,} records, or other files",
    }


def unknown_symbols(annotation: pa.Table, symbols: str, report: LoadReport) -> None:
    """Say which annotation symbols the map ``symbols`` does not hold."""
    known = set(map_column(symbols, "symbol"))
    counted = pc.value_counts(annotation["symbol"]).to_pylist()
    unknown = {each["values"]: each["counts"] for each in counted if each["values"] not in known}
    report.odd(
        "annotation with a symbol that the map does not hold",
        sum(unknown.values()),
        sorted(map(str, unknown)),
        f"kept, no beat; what it means belongs into registry/maps/{symbols}.csv",
    )


def _sources(files: dict[str, tuple[str, int]], records: int) -> dict:
    """One entry for all files that records were read from; a file's folder does not count."""
    lines = sorted(f"{name.rsplit('/', 1)[-1]} {digest}\n" for name, (digest, _) in files.items())
    return {
        "file": f"{len(files)} files of {records} records",
        "sha256": hashlib.sha256("".join(lines).encode()).hexdigest(),
        "bytes": sum(size for _, size in files.values()),
        "rows": records,
    }


def _note_signals(facts: pa.Table, report: LoadReport) -> None:
    rows = facts.select(
        ["record_id", "lead", "checksum", "has_samples", "min_count", "max_count", "invalid_samples"]
    )
    rows = rows.to_pylist()
    verdicts = Counter(row["checksum"] for row in rows)
    loaded = sum(row["has_samples"] for row in rows)
    report.notes.append(
        f"signals: {loaded:,} of {len(rows):,} leads; checksums: {verdicts['verified']:,} verified, "
        f"{verdicts['not declared']:,} not declared, {verdicts['differs']:,} differ"
    )

    def named(some: list[dict]) -> list[str]:
        return [f"{row['record_id']} {row['lead']}" for row in some[:SHOWN]]

    flat = [row for row in rows if row["has_samples"] and row["min_count"] == row["max_count"]]
    report.odd("lead that is constant", len(flat), named(flat), "kept; no segment can be scaled")
    holes = [row for row in rows if row["invalid_samples"]]
    total = sum(row["invalid_samples"] for row in holes)
    report.odd(
        "sample that its format marks as missing",
        total,
        named(holes),
        "kept as its code (signal.invalid_count)",
    )


def _note_copies(files: dict[str, tuple[str, int]], tables: dict[str, pa.Table], report: LoadReport) -> None:
    """Say which records have the same signal file, byte for byte: one heart under two names can be in two parts."""
    folder = {row["record_id"]: row["folder"] for row in tables["record"].to_pylist()}
    same: dict[str, set[tuple[str, str]]] = {}
    for row in tables["signal_fact"].select(["record_id", "source_file"]).to_pylist():
        path = f"{folder[row['record_id']] or ''}/{row['source_file']}".lstrip("/")
        digest, size = files.get(path, ("", 0))
        if size:
            same.setdefault(digest, set()).add((row["record_id"], row["source_file"]))
    shared = [users for users in same.values() if len({record for record, _ in users}) > 1]
    copies = sorted(" = ".join(f"{record} {file}" for record, file in sorted(users)) for users in shared)
    handled = f"kept, each as its own record ({'; '.join(copies[:3])})"
    report.odd("signal file that several records have", len(copies), copies[:SHOWN], handled)


def _folder(header: Path, source: Path) -> str:
    return "/".join(header.parent.relative_to(source).parts)
