"""WFDB records as Parquet: what `load mitbih` and `load ptbdb` write.

==================  =====================================================================================
``record``          a row a record: its folder in the release, rate, length, number of signals
``comment``         a row a comment line of its header
``annotation``      a row an annotation, in the order of the file; ``row_no`` counts from 1
``signal_fact``     a row a lead and segment: all that the header says of it, whether its samples were
                    loaded, what label rules need to know of them (no view opens a signal)
``window_peak``     a row a local maximum of a ten-second window (:mod:`warehouse.load.window_peaks`), of lead II
                    (map.heartbeat_lead), else of the first lead
``detected_peak``   a row an R peak of the same lead, where the loader asks for a detector (`load ptbdb`)
``signal``          the samples of the leads that were loaded: counts as stored; a value in ``units`` is
                    (count − ``baseline``) / ``gain``, ``invalid_count`` is the count that means "missing"
==================  =====================================================================================

Counts are int32, for formats 24 and 32 need it: with delta encoding and zstd 1 the files are as small as of int16
(48 records of MIT-BIH: 41 MB, written in 0.6 CPU s). A row group holds one lead, so a reader of one lead decodes
nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.errors import Problem
from warehouse.load.columns import from_bools, from_known, from_numbers, from_texts, repeated
from warehouse.load.wfdb_annotations import Annotations
from warehouse.load.wfdb_peaks import (
    DETECTED_PEAK,
    WINDOW_PEAK,
    detected_peak_rows,
    peak_leads,
    window_peak_rows,
)
from warehouse.load.wfdb_record import INVALID, Lead, Record, RecordJob, read_record

RECORDS_PER_SHARD = 8
"""A shard of ``signal`` is written by one process, whoever does the others: bytes do not depend on their number."""

WORD = pa.dictionary(pa.int32(), pa.string())
STAMP = [("source_file", WORD), ("row_no", pa.int32())]

RECORD = pa.schema(
    [
        ("record_id", pa.string()),
        ("folder", pa.string()),
        ("hz", pa.float64()),
        ("n_signals", pa.int32()),
        ("n_samples", pa.int64()),
        ("n_segments", pa.int32()),
        ("base_time", pa.string()),
        ("base_date", pa.string()),
        ("source_file", pa.string()),
        ("row_no", pa.int32()),
    ]
)
COMMENT = pa.schema(
    [("record_id", pa.string()), ("text", pa.string()), ("source_file", pa.string()), STAMP[1]]
)
ANNOTATION = pa.schema(
    [
        ("record_id", WORD),
        ("annotator", WORD),
        ("sample", pa.int64()),
        ("symbol", pa.string()),
        ("subtype", pa.int32()),
        ("chan", pa.int32()),
        ("num", pa.int32()),
        ("aux", pa.string()),
        *STAMP,
    ]
)
SIGNAL_FACT = pa.schema(
    [
        ("record_id", pa.string()),
        ("segment_no", pa.int32()),
        ("channel", pa.int32()),
        ("lead", pa.string()),
        ("first_sample", pa.int64()),
        ("n_samples", pa.int64()),
        ("hz", pa.float64()),
        ("gain", pa.float64()),
        ("baseline", pa.int32()),
        ("units", pa.string()),
        ("format", pa.string()),
        ("adc_bits", pa.int32()),
        ("adc_zero", pa.int32()),
        ("declared_checksum", pa.int32()),
        ("checksum", pa.string()),
        ("has_samples", pa.bool_()),
        ("problem", pa.string()),
        ("min_count", pa.int64()),
        ("max_count", pa.int64()),
        ("invalid_samples", pa.int64()),
        ("source_file", pa.string()),
        ("row_no", pa.int32()),
    ]
)
SIGNAL = pa.schema(
    [
        ("record_id", pa.string()),
        ("segment_no", pa.int32()),
        ("channel", pa.int32()),
        ("lead", pa.string()),
        ("first_sample", pa.int64()),
        ("n_samples", pa.int64()),
        ("hz", pa.float64()),
        ("gain", pa.float64()),
        ("baseline", pa.int32()),
        ("units", pa.string()),
        ("invalid_count", pa.int64()),
        pa.field("samples", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
    ]
)
SIGNAL_KEYS = pa.schema(list(SIGNAL)[:-1])
SCHEMAS = {
    "record": RECORD,
    "comment": COMMENT,
    "annotation": ANNOTATION,
    "signal_fact": SIGNAL_FACT,
    "window_peak": WINDOW_PEAK,
    "detected_peak": DETECTED_PEAK,
}
"""The tables but ``signal``."""

_HOW = {
    "compression": "zstd",
    "compression_level": 1,
    "use_dictionary": False,
    "write_statistics": ["record_id", "channel"],
    "column_encoding": {"samples.list.element": "DELTA_BINARY_PACKED"},
}


@dataclass(frozen=True)
class ShardJob:
    """Records to read, and the file of ``signal`` that gets their samples."""

    records: Sequence[RecordJob]
    target: Path
    detect: bool = False
    """Whether R peaks are detected."""


@dataclass
class Shard:
    """What became of a job: its rows of every table of SCHEMAS, its files, what was wrong."""

    tables: dict[str, pa.Table]
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def write_shard(job: ShardJob) -> Shard:
    """Read the records of a job one by one, write their samples, and return the rest."""
    rows: dict[str, list] = {name: [] for name in SCHEMAS}
    shard = Shard({})
    with pq.ParquetWriter(job.target, SIGNAL, **_HOW) as writer:
        for each in job.records:
            record = read_record(each)
            shard.problems += record.problems
            shard.files |= {f"{each.folder}/{name}".lstrip("/"): seen for name, seen in record.files.items()}
            if not record.is_read:
                shard.unread.append(each.record_id)
                continue
            rows["record"].append(_record_row(record))
            source = each.header.name
            rows["comment"] += [(each.record_id, text, source, number) for number, text in record.comments]
            leads = peak_leads(record.leads)
            rows["window_peak"].append(window_peak_rows(each.record_id, leads))
            if job.detect:
                rows["detected_peak"].append(detected_peak_rows(each.record_id, leads))
            rows["annotation"] += [_annotations(each.record_id, found) for found in record.annotations]
            for lead in record.leads:
                rows["signal_fact"].append(_fact_row(each.record_id, lead))
                if lead.samples is not None and len(lead.samples):
                    writer.write_table(_signal(each.record_id, lead))
    made = {name: rows.pop(name) for name in ("annotation", "window_peak", "detected_peak")}
    shard.tables = {name: _table(some, SCHEMAS[name]) for name, some in rows.items()} | {
        name: pa.concat_tables([SCHEMAS[name].empty_table(), *some]) for name, some in made.items()
    }
    return shard


def _table(rows: list[tuple], schema: pa.Schema) -> pa.Table:
    """Rows as columns that may hold any text, line feeds and quotes too."""
    if not rows:
        return schema.empty_table()
    made = []
    for column, kind in zip(zip(*rows, strict=True), schema.types, strict=True):
        known = np.array([value is not None for value in column])
        if pa.types.is_string(kind):
            made.append(from_texts(column))
        elif pa.types.is_boolean(kind):
            made.append(from_bools(np.array(column, bool)))
        else:
            filled = np.array([0 if value is None else value for value in column], kind.to_pandas_dtype())
            made.append(from_known(filled, known))
    return pa.table(made, schema=schema)


def _record_row(record: Record) -> tuple:
    job = record.job
    return (
        *(
            job.record_id,
            job.folder or None,
            record.hz,
            record.n_signals,
            record.n_samples,
            record.n_segments,
        ),
        *(record.base_time, record.base_date, job.header.name, 1),
    )


def _fact_row(record_id: str, lead: Lead) -> tuple:
    low = high = invalid = None
    if lead.samples is not None and len(lead.samples):
        low, high = int(lead.samples.min()), int(lead.samples.max())
        code = INVALID.get(lead.format)
        invalid = int((lead.samples == code).sum()) if code is not None and low <= code else 0
    return (
        *(record_id, lead.segment_no, lead.channel, lead.name, lead.first_sample, lead.n_samples, lead.hz),
        *(lead.gain, lead.baseline, lead.units, lead.format, lead.adc_bits, lead.adc_zero, lead.declared),
        *(lead.checksum, lead.samples is not None, lead.problem, low, high, invalid),
        *(lead.file, lead.channel + 1),
    )


def _annotations(record_id: str, found: Annotations) -> pa.Table:
    n = len(found.sample)
    return pa.table(
        [
            repeated(record_id, n),
            repeated(found.annotator, n),
            from_numbers(found.sample),
            from_texts(found.symbol),
            *(from_numbers(values) for values in (found.subtype, found.chan, found.num)),
            from_texts(found.aux),
            repeated(found.file, n),
            from_numbers(np.arange(1, n + 1, dtype=np.int32)),
        ],
        schema=ANNOTATION,
    )


def _signal(record_id: str, lead: Lead) -> pa.Table:
    n = len(lead.samples)
    code = INVALID.get(lead.format)
    keys = _table(
        [
            (
                *(record_id, lead.segment_no, lead.channel, lead.name, lead.first_sample, n, lead.hz),
                *(lead.gain, lead.baseline, lead.units, code),
            )
        ],
        SIGNAL_KEYS,
    )
    ends = from_numbers(np.array([0, n], np.int32))
    samples = pa.ListArray.from_arrays(ends, from_numbers(lead.samples), type=SIGNAL.field("samples").type)
    return pa.table([*keys.columns, samples], schema=SIGNAL)
