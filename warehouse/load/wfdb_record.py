"""One WFDB record, whole: header, comments, every lead as the counts that were stored, annotations.

All formats and multi-segment records are read by the wfdb package. What is added here: the header's own words are
held against the format (:mod:`warehouse.load.wfdb_header`), sizes and checksums against the header, segments against
their record; comments keep their letters (wfdb drops what is not ASCII), and what is broken costs only itself: a file
that is not there its leads, an annotation file the annotations.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from warehouse.errors import Problem
from warehouse.load.wfdb_annotations import END_MARK, Annotations, read_annotations, said, the_wfdb
from warehouse.load.wfdb_header import fault_of, header_lines, is_in_segments

BITS = {"8": 8, "16": 16, "24": 24, "32": 32, "61": 16, "80": 8, "160": 16, "212": 12}
"""Format → bits a sample, where every sample takes the same."""

INVALID = {"8": -(1 << 7), "80": -(1 << 7), "508": -(1 << 7), "212": -(1 << 11), "310": -(1 << 9), "311": -(1 << 9),
    "16": -(1 << 15), "61": -(1 << 15), "160": -(1 << 15), "516": -(1 << 15), "24": -(1 << 23), "524": -(1 << 23),
    "32": -(1 << 31)}  # fmt: skip
"""Format → the count that stands for a missing sample (WFDB's signal(5))."""


@dataclass(frozen=True)
class RecordJob:
    """What to read: a header, the record's id, its folder below the release, the annotators that it should have."""

    header: Path
    record_id: str
    folder: str
    annotators: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lead:
    """One lead of one segment. ``samples`` (n,) int32 counts, None where they were refused (``problem`` says why).

    ``checksum`` is ``verified``, ``not declared`` or ``differs``; None where nothing was read. Samples count from
    ``first_sample``, at the lead's own rate.
    """

    segment_no: int
    channel: int
    name: str
    first_sample: int
    n_samples: int
    hz: float
    gain: float
    baseline: int
    units: str
    format: str
    file: str
    adc_bits: int | None = None
    adc_zero: int | None = None
    declared: int | None = None
    checksum: str | None = None
    samples: np.ndarray | None = None
    problem: str | None = None


@dataclass
class Record:
    """A record as read. ``files``: name, sha256 and size of all that was there; ``comments``: line number and text."""

    job: RecordJob
    hz: float | None = None
    n_signals: int | None = None
    n_samples: int | None = None
    n_segments: int = 1
    base_time: str | None = None
    base_date: str | None = None
    comments: list[tuple[int, str]] = field(default_factory=list)
    leads: list[Lead] = field(default_factory=list)
    annotations: list[Annotations] = field(default_factory=list)
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    is_read: bool = False
    """Whether the header could be read at all."""


def read_record(job: RecordJob) -> Record:
    """Read everything that is readable; the rest stands in ``problems``. Never raises for what a file holds."""
    record = Record(job)
    _read_signals(record)
    if record.is_read:
        for annotator in job.annotators:
            _read_annotations(record, annotator)
    return record


def _read_signals(record: Record) -> None:
    header = record.job.header
    try:
        lines = header_lines(header)
        _note_file(record, header)
        record.comments = [(number, line[1:].strip()) for number, line in lines if line.startswith("#")]
        if _is_refused(record, header, lines):
            return
        head = (
            _read_segments(record, header) if is_in_segments(lines) else _read_segment(record, header, 0, 0)
        )
    except Exception as error:  # wfdb raises whatever its parser meets
        _refuse(record, header.name, said(error), "a WFDB header")
        return
    if head is None:
        return
    record.is_read = True
    record.hz, record.n_signals, record.n_samples = head.fs, head.n_sig, head.sig_len
    record.base_time = None if head.base_time is None else str(head.base_time)
    record.base_date = None if head.base_date is None else str(head.base_date)


def _read_segments(record: Record, header: Path):
    """The segments of a record, those left out that contradict it. Returns what wfdb read of its own header."""
    head = the_wfdb().rdheader(str(header.with_suffix("")))
    record.n_segments = head.n_seg
    total = sum(head.seg_len)
    if head.sig_len is not None and total != head.sig_len:
        _refuse(
            record,
            header.name,
            f"segments of {total:,} samples together",
            f"{head.sig_len:,}, as its first line says",
        )
    start = 0
    for number, (name, length) in enumerate(zip(head.seg_name, head.seg_len, strict=True)):
        segment = header.with_name(f"{name}.hea")
        if name != "~" and length and _belongs(record, segment, length, head.fs):
            _read_segment(record, segment, number, start)
        start += length
    return head


def _belongs(record: Record, segment: Path, length: int, hz: float) -> bool:
    """Whether a segment's header is what its record says of it; else a problem, and its leads are lost."""
    lost = "the segment is not loaded"
    if not segment.is_file():
        _refuse(record, segment.name, "no such file", f"the header of a segment; {lost}")
        return False
    lines = header_lines(segment)
    _note_file(record, segment)
    if _is_refused(record, segment, lines):
        return False
    if is_in_segments(lines):
        _refuse(record, segment.name, "a record of segments", f"a segment with signals of its own; {lost}")
        return False
    part = the_wfdb().rdheader(str(segment.with_suffix("")))
    if part.fs != hz:
        _refuse(record, segment.name, f"{part.fs:g} Hz", f"{hz:g} Hz, as the record has; {lost}")
        return False
    if part.sig_len not in (None, length):
        _refuse(record, segment.name, f"{part.sig_len:,} samples", f"{length:,}, as the record says; {lost}")
        return False
    return True


def _is_refused(record: Record, header: Path, lines: list[tuple[int, str]]) -> bool:
    fault = fault_of(lines)
    if fault is not None:
        _refuse(record, header.name, fault.found, fault.expected, fault.row)
    return fault is not None


def _read_segment(record: Record, header: Path, segment_no: int, start: int):
    """One header with its files. Returns what wfdb read of it; a problem and None when that was nothing."""
    wfdb = the_wfdb()
    base = str(header.with_suffix(""))
    how = {"physical": False, "return_res": 32, "smooth_frames": False}
    try:
        read = wfdb.rdrecord(base, **how)
        if not read.n_sig:
            return wfdb.rdheader(base)  # rdrecord takes the length for 0
        if any(read.skew or ()):
            read = wfdb.rdrecord(base, ignore_skew=True, **how)  # a checksum is of what the file holds
        channels, broken = list(range(read.n_sig)), {}
    except Exception as error:
        try:
            read = wfdb.rdheader(base)
        except Exception as second:
            _refuse(record, header.name, said(second), "a WFDB header")
            return None
        broken = _broken_files(header, read) or dict.fromkeys(read.file_name, (said(error), "whole signals"))
        channels = [place for place, name in enumerate(read.file_name) if name not in broken]
        for name, (found, expected) in broken.items():
            lost = [_name(read, place) for place in range(read.n_sig) if read.file_name[place] == name]
            _refuse(record, name, found, f"{expected}; leads lost: {', '.join(lost)}")
        partly = None
        if channels:
            try:
                partly = wfdb.rdrecord(base, channels=channels, ignore_skew=True, **how)
            except Exception as second:
                _refuse(record, header.name, said(second), "signals that the wfdb package reads")
                channels, broken = [], {**broken, **dict.fromkeys(read.file_name, (said(second), ""))}
        read.e_d_signal = partly.e_d_signal if partly is not None else []
    for name in dict.fromkeys(read.file_name or ()):
        if header.with_name(name).is_file():
            _note_file(record, header.with_name(name))
    counts = dict(zip(channels, read.e_d_signal or (), strict=True))
    for channel in range(read.n_sig or 0):
        lead = _lead(read, channel, segment_no, start, counts.get(channel))
        if lead.checksum == "differs":
            found = f"checksum {int(lead.samples.sum(dtype=np.int64)) & 0xFFFF} in lead {lead.name}"
            _refuse(
                record, lead.file, found, f"{lead.declared}, as {header.name} says; the lead is not loaded"
            )
            lead = _without_samples(lead, "checksum differs")
        elif lead.samples is None:
            lead = _without_samples(lead, broken.get(lead.file, ("not read", ""))[0])
        record.leads.append(lead)
    return read


def _lead(read, channel: int, segment_no: int, start: int, samples: np.ndarray | None) -> Lead:
    frame = read.samps_per_frame[channel] or 1
    declared = read.checksum[channel]
    declared = None if not declared else int(declared) & 0xFFFF  # 0 is what writers put who compute none
    verdict = None
    if samples is not None:
        found = int(samples.sum(dtype=np.int64)) & 0xFFFF
        verdict = "not declared" if declared is None else "verified" if found == declared else "differs"
    length = len(samples) if samples is not None else (read.sig_len or 0) * frame
    return Lead(
        segment_no=segment_no,
        channel=channel,
        name=_name(read, channel),
        first_sample=start * frame,
        n_samples=length,
        hz=float(read.fs) * frame,
        gain=float(read.adc_gain[channel]),
        baseline=int(read.baseline[channel]),
        units=read.units[channel],
        format=read.fmt[channel],
        file=read.file_name[channel],
        adc_bits=read.adc_res[channel],
        adc_zero=read.adc_zero[channel],
        declared=declared,
        checksum=verdict,
        samples=samples,
    )


def _without_samples(lead: Lead, why: str) -> Lead:
    return Lead(**{**lead.__dict__, "samples": None, "problem": why})


def _name(read, channel: int) -> str:
    return ((read.sig_name or [None] * read.n_sig)[channel] or f"signal {channel}").strip()


def _broken_files(header: Path, read) -> dict[str, tuple[str, str]]:
    """Signal files that are missing or have too few bytes: name → found and expected."""
    broken = {}
    for name in dict.fromkeys(read.file_name):
        path = header.with_name(name)
        if not path.is_file():
            what = "a folder" if path.is_dir() else "no such file"
            broken[name] = (what, "the file that the header names")
            continue
        places = [place for place, other in enumerate(read.file_name) if other == name]
        if read.fmt[places[0]] not in INVALID:
            broken[name] = (f"format {read.fmt[places[0]]}", f"one of {', '.join(sorted(INVALID, key=int))}")
            continue
        bits = BITS.get(read.fmt[places[0]])
        if bits is None or not read.sig_len:
            continue
        samples = read.sig_len * sum(read.samps_per_frame[place] or 1 for place in places)
        expected = (samples * bits + 7) // 8 + (read.byte_offset[places[0]] or 0)
        size = path.stat().st_size
        if size < expected:
            broken[name] = (
                f"{size:,} bytes",
                f"{expected:,} ({samples:,} samples in format {read.fmt[places[0]]})",
            )
    return broken


def _read_annotations(record: Record, annotator: str) -> None:
    header = record.job.header
    path = header.with_name(f"{header.stem}.{annotator}")
    try:
        data = path.read_bytes()
    except OSError:
        _refuse(record, path.name, "no such file", "the record's annotations")
        return
    _note_file(record, path, data)
    try:
        found = read_annotations(path)
    except Exception as error:  # wfdb raises whatever its parser meets
        _refuse(record, path.name, said(error), "a WFDB annotation file")
        return
    if data[-2:] != END_MARK:
        n = len(found.symbol)
        _refuse(record, path.name, f"no end mark after {n:,} annotations", "two zero bytes at the end")
    record.annotations.append(found)


def _note_file(record: Record, path: Path, data: bytes | None = None) -> None:
    if path.name not in record.files:
        data = path.read_bytes() if data is None else data
        record.files[path.name] = (hashlib.sha256(data).hexdigest(), len(data))


def _refuse(record: Record, where: str, found: str, expected: str, row: int | None = None) -> None:
    record.problems.append(Problem(f"record {record.job.record_id}, {where}", found, expected, row))
