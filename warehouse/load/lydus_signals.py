"""Signals of a LYDUS release: one npz, or a folder of .npy or WFDB records. Blocks of records pass through.

All keys and all shapes are known, and held against the metadata, before the first sample is read.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from warehouse.errors import InputError, Problem
from warehouse.load.report import LoadReport
from warehouse.load.signal_counts import CountsWriter, Scale
from warehouse.load.tables_in import file_as_source, files_as_source
from warehouse.load.wfdb_signals import read_wfdb

LEADS = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6")
SAMPLES = 5000
HZ = 500
BLOCK = 128
NEAR = 2
"""Counts by which the third lead may miss II − I and still be lead III (the device rounds each lead)."""
SHOWN = 20

Blocks = Iterator[tuple[int, np.ndarray, Scale]]
"""First key's place, (n, 8, 5000) int16, scale."""


@dataclass
class LayoutCheck:
    """E09: does the third stored lead behave as lead III. Records with a constant lead among the three say nothing."""

    records: int = 0
    alike: int = 0

    def add(self, counts: np.ndarray) -> None:
        first, second, third = (counts[:, lead].astype(np.int32) for lead in range(3))
        telling = (np.ptp(first, axis=1) > 0) & (np.ptp(second, axis=1) > 0) & (np.ptp(third, axis=1) > 0)
        near = (np.abs(second - first - third) <= NEAR).mean(axis=1) > 0.9
        self.records += int(telling.sum())
        self.alike += int((telling & near).sum())

    def problem(self, where: str) -> Problem | None:
        if self.alike <= 0.5 * self.records:
            return None
        return Problem(
            f"E09 {where}",
            f"a third lead that is II − I in {self.alike:,} of {self.records:,} records",
            f"{', '.join(LEADS)}; these look like I, II, III, V1–V5",
        )


@dataclass(frozen=True)
class SignalSource:
    """Signals not read yet. ``keys`` in the order of the blocks."""

    name: str
    keys: list[str]
    blocks: Callable[[], Blocks]
    as_source: Callable[[], dict]


def open_signals(path: Path, uv_per_count: float) -> SignalSource:
    """Look at the signals without reading samples. Raises InputError for another shape (E06) or dtype (E07)."""
    scale = Scale(LEADS, HZ, uv_per_count)
    if path.suffix == ".npz":
        return _open_npz(path, scale)
    if path.is_dir():
        headers = sorted(path.rglob("*.hea"))
        return _open_wfdb(path, headers) if headers else _open_arrays(path, scale)
    raise InputError(
        f"{path.name}: not read, nothing loaded",
        [Problem(path.name, "no signals", "an .npz, or a folder of .npy or WFDB records")],
    )


def match_keys(source: SignalSource, ids: Sequence[str]) -> list[str]:
    """The record id of every key: the key itself, or its part before the first ``_``. Raises InputError (E08, E02)."""
    known = set(ids)
    found = [key if key in known else key.split("_", 1)[0] for key in source.keys]
    problems, seen = [], {}
    for place, (key, record_id) in enumerate(zip(source.keys, found, strict=True)):
        if record_id not in known:
            problems.append(
                Problem(f"E08 {source.name}", f"signal {key!r}", "a record of the metadata", place + 1)
            )
        elif record_id in seen:
            problems.append(
                Problem(
                    f"E02 {source.name}",
                    f"signal {key!r}",
                    f"one of a record (the other: {seen[record_id]!r})",
                    place + 1,
                )
            )
        seen.setdefault(record_id, key)
    problems += [
        Problem(
            f"E08 {source.name}",
            f"no signal for record {record_id!r}",
            "one for every record of the metadata",
        )
        for record_id in ids
        if record_id not in seen
    ]
    if problems:
        raise InputError(
            f"{source.name}: signals and metadata do not have the same records, nothing loaded",
            problems,
            "copy both parts of one release; to load labels alone, move the signals out of the folder",
        )
    return found


def load_signals(
    source: SignalSource, record_ids: Sequence[str], folder: Path, report: LoadReport, progress=None
) -> CountsWriter:
    """Stream every block into ``signal``. Raises InputError (E09) at the end when the leads are others."""
    check = LayoutCheck()
    with CountsWriter(folder) as writer:
        for first, counts, scale in source.blocks():
            check.add(counts)
            writer.add(record_ids[first : first + len(counts)], counts, scale)
            if progress is not None:
                progress(len(counts))
        problem = check.problem(source.name)
        if problem is not None:
            raise InputError(
                f"{source.name}: another order of leads, nothing loaded",
                [problem],
                "ask the source which leads these are",
            )
    facts = writer.facts()
    flat = [row["record_id"] for row in facts.select(["record_id", "flat"]).to_pylist() if row["flat"]]
    report.odd(
        "W14 record with all leads constant",
        len(flat),
        flat[:SHOWN],
        "kept; the views leave it out (lydus.exclusion_v0)",
    )
    report.sources.append(source.as_source())
    report.notes.append(f"signals: {len(record_ids):,} records from {source.name}")
    return writer


def _shape_problem(where: str, shape: tuple[int, ...], dtype: np.dtype, record: bool) -> Problem | None:
    """``shape`` of one record, or of all with the records first."""
    each = shape if record else shape[1:]
    if each not in ((len(LEADS) * SAMPLES,), (len(LEADS), SAMPLES), (SAMPLES, len(LEADS))):
        n = "" if record else "n, "
        expected = (
            f"({n}{len(LEADS) * SAMPLES}), ({n}{len(LEADS)}, {SAMPLES}) or ({n}{SAMPLES}, {len(LEADS)})"
        )
        return Problem(f"E06 {where}", f"shape {shape}", expected)
    if dtype.kind != "i" or dtype.itemsize != 2:
        return Problem(f"E07 {where}", f"dtype {dtype}", "int16: counts as the device stored them")
    return None


def _as_records(values: np.ndarray) -> np.ndarray:
    """(n, …) in any of the three layouts as (n, 8, 5000) int16."""
    if values.shape[1:] == (SAMPLES, len(LEADS)):
        values = values.transpose(0, 2, 1)
    return np.ascontiguousarray(values.reshape(len(values), len(LEADS), SAMPLES), np.int16)


def _broken(name: str, problems: list[Problem], step: str = "copy the signals again") -> InputError:
    return InputError(f"{name}: not read, nothing loaded", problems, step)


_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, struct.error)


def _open_npz(path: Path, scale: Scale) -> SignalSource:
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename.removesuffix(".npy"): info.filename for info in archive.infolist()}
            missing = [name for name in ("vals", "keys") if name not in members]
            if missing:
                found = f"arrays {', '.join(members) or '(none)'}"
                raise _broken(
                    path.name, [Problem(path.name, found, "vals and keys")], "save both arrays into one npz"
                )
            with archive.open(members["vals"]) as file:
                shape, fortran, dtype = _array_header(file)
            keys = _keys(path.name, archive.read(members["keys"]))
    except _DAMAGE as error:
        raise _broken(
            path.name, [Problem(path.name, f"a file that breaks off or is damaged ({error})", "a whole .npz")]
        ) from None
    problem = _shape_problem(f"{path.name}: vals", shape, dtype, record=False)
    if problem is None and fortran and len(shape) > 1:
        problem = Problem(
            f"E06 {path.name}: vals",
            "columns first (Fortran order)",
            "records first: numpy.ascontiguousarray",
        )
    if problem is None and len(keys) != shape[0]:
        problem = Problem(f"E08 {path.name}", f"{len(keys)} keys and {shape[0]} rows of vals", "as many")
    if problem is not None:
        raise _broken(
            path.name, [problem], "take the release's own file, int16 counts of 8 leads × 5000 samples"
        )

    def blocks() -> Blocks:
        row = int(np.prod(shape[1:])) * 2
        try:
            with zipfile.ZipFile(path) as archive, archive.open(members["vals"]) as file:
                _array_header(file)
                for first in range(0, shape[0], BLOCK):
                    n = min(BLOCK, shape[0] - first)
                    data = file.read(n * row)
                    if len(data) != n * row:
                        raise EOFError(f"{len(data):,} of {n * row:,} bytes at record {first + 1}")
                    yield first, _as_records(np.frombuffer(data, dtype).reshape(n, *shape[1:])), scale
                if file.read(1):
                    raise ValueError("more samples than the array's header says")
        except _DAMAGE as error:
            raise _broken(
                path.name,
                [Problem(path.name, f"samples that break off or are damaged ({error})", "a whole .npz")],
            ) from None

    return SignalSource(path.name, keys, blocks, lambda: file_as_source(path, len(keys)))


def _array_header(file) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(file)


class _TextPickle(pickle.Unpickler):
    """An array of Python texts comes pickled; this reads such an array and refuses everything else."""

    def find_class(self, module: str, name: str) -> object:
        if module.split(".")[0] == "numpy" and name in ("_reconstruct", "ndarray", "dtype"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name}")


def _keys(where: str, data: bytes) -> list[str]:
    file = io.BytesIO(data)
    _shape, _fortran, dtype = _array_header(file)
    try:
        values = (
            _TextPickle(file).load() if dtype.hasobject else np.load(io.BytesIO(data), allow_pickle=False)
        )
    except pickle.UnpicklingError as error:
        raise _broken(where, [Problem(where, f"keys that hold {error}", "an array of texts")]) from None
    if values.ndim != 1:
        raise _broken(where, [Problem(where, f"keys of shape {values.shape}", "one key a record")])
    return [each.decode("utf-8") if isinstance(each, bytes) else str(each) for each in values.tolist()]


def _open_arrays(folder: Path, scale: Scale) -> SignalSource:
    paths = sorted(folder.rglob("*.npy"))
    problems = []
    for path in paths:
        try:
            with path.open("rb") as file:
                shape, _fortran, dtype = _array_header(file)
                wanted = file.tell() + int(np.prod(shape)) * dtype.itemsize
            problem = _shape_problem(path.name, shape, dtype, record=True)
            if problem is None and path.stat().st_size != wanted:
                problem = Problem(
                    path.name, f"{path.stat().st_size:,} bytes", f"{wanted:,}, as its header says"
                )
        except _DAMAGE as error:
            problem = Problem(path.name, f"no array ({error})", "a whole .npy file")
        if problem is not None:
            problems.append(problem)
    if problems or not paths:
        raise _broken(folder.name, problems or [Problem(folder.name, "no signals", ".npy or WFDB records")])

    def blocks() -> Blocks:
        for first in range(0, len(paths), BLOCK):
            some = [np.load(path, allow_pickle=False) for path in paths[first : first + BLOCK]]
            yield first, np.concatenate([_as_records(each[None]) for each in some]), scale

    return SignalSource(
        folder.name,
        [path.stem for path in paths],
        blocks,
        lambda: files_as_source(folder.name, paths, len(paths)),
    )


def _open_wfdb(folder: Path, headers: list[Path]) -> SignalSource:
    def blocks() -> Blocks:
        for place, header in enumerate(headers):
            record = read_wfdb(header)
            leads = record.scale.leads
            problem = None
            if sorted(leads) != sorted(LEADS):
                problem = Problem(f"E06 {header.name}", f"leads {', '.join(leads)}", ", ".join(LEADS))
            elif record.counts.shape[1] != SAMPLES or record.scale.hz != HZ:
                found = f"{record.counts.shape[1]} samples at {record.scale.hz} Hz"
                problem = Problem(f"E06 {header.name}", found, f"{SAMPLES} at {HZ} Hz")
            if problem is not None:
                raise _broken(header.name, [problem])
            order = [leads.index(lead) for lead in LEADS]
            yield place, record.counts[order][None], replace(record.scale, leads=LEADS)

    def as_source() -> dict:
        """Headers alone: they hold the checksums of the samples."""
        return files_as_source(f"{folder.name}/*.hea", headers, len(headers))

    return SignalSource(folder.name, [header.stem for header in headers], blocks, as_source)
