"""A release in the format of LYDUS-SNUH-ECG-50K that nobody's heart made: statements that agree with the signals.

The metadata table has a row a record; the signals are one npz of ``keys`` and int16 ``vals``, lead after lead,
as in the set that the 50K release was taken from.
"""

from __future__ import annotations

import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from warehouse.errors import UsageError
from warehouse.load.lydus_dx import SEPARATORS
from warehouse.synthetic.lydus_plan import BLOCK, HUGE, Plan, draw_block
from warehouse.synthetic.lydus_words import AV, ECTOPY, REVIEWED, RHYTHM, Words, lydus_words

IDS = 10_000_019
"""A prime: record ids are a walk through as many numbers of eight digits, so their order says nothing."""
DISAGREES = 0.015
"""The share of reviewed cells that name something else than the statements."""
UNREVIEWED_BEATS = 0.3
"""The share of premature beats that the reviewers did not note."""
UNMEASURED = 0.004
KOREAN = 0.05
MEASURES = ("vrate", "arate", "pri", "qrsd", "qti", "qtc", "paxis", "raxis", "taxis")


def write_lydus_release(
    out: Path,
    *,
    records: int = 200,
    seed: int = 0,
    signals: bool = True,
    patients: bool = True,
    table: str = "metadata.csv",
    separator: str = "newline",
    typos: float = 0.0,
    dated: bool = False,
    times: bool = True,
) -> None:
    """Write ``table`` (.csv, .csv.gz, .csv.xz or .parquet) and, with ``signals``, ``ecg.npz`` into ``out``.

    Record *k* depends on ``seed`` and *k* alone, so a longer release begins with the same records. The same
    arguments give the same bytes. ``patients``: name them in ``hid``, which the 50K release does not. ``typos``:
    the share of misspelt lines. ``dated`` takes the benchmark's shares: five lines a record, 30 % with a date;
    without ``times`` of the day a million records have some 100,000 distinct lines instead of 1.3 million.
    """
    if not 1 <= records < IDS:
        raise UsageError(f"found {records} records; expected 1 to {IDS - 1:,}")
    if separator not in SEPARATORS:
        raise UsageError(f"found separator {separator!r}; expected one of {', '.join(SEPARATORS)}")
    words = lydus_words()
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    with _table_writer(out / table) as write:
        for plan in _plans(words, records, seed, dated):
            write(
                _metadata(words, plan, seed, patients, SEPARATORS[separator], typos, times).slice(
                    0, records - plan.first
                )
            )
    if signals:
        _write_signals(out / "ecg.npz", words, records, seed, patients, dated)


def release_findings(records: int, seed: int = 0, *, dated: bool = False) -> dict[str, tuple[str, ...]]:
    """Record id → the findings that its statements and its signal show; none where no analysis was made."""
    words = lydus_words()
    found = {}
    for plan in _plans(words, records, seed, dated):
        ids = record_ids(plan.number, seed)
        for place in range(min(len(ids), records - plan.first)):
            active = () if plan.silent[place] else tuple(words.findings[each] for each in plan.active(place))
            found[ids[place]] = active
    return found


def record_ids(number: np.ndarray, seed: int) -> list[str]:
    return [str(10_000_000 + each) for each in ((number * 3_141_593 + seed * 104_729 + 977) % IDS).tolist()]


def _plans(words: Words, records: int, seed: int, dated: bool) -> Iterator[Plan]:
    for block in range(-(-records // BLOCK)):
        yield draw_block(words, seed, block, dated=dated)


def _metadata(
    words: Words, plan: Plan, seed: int, patients: bool, separator: str, typos: float, times: bool
) -> pa.Table:
    from warehouse.synthetic.lydus_text import lines_of

    counts, lines = lines_of(plan, typos, times)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    cells = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), lines), separator)
    reviewed = _reviewed(words, plan)
    rng = plan.rng
    n = len(plan.number)
    texts, weights = zip(*words.conclusions, strict=True)
    said = rng.choice(len(texts), size=n, p=np.array(weights) / sum(weights))
    conclusion = np.where(rng.random(n) < KOREAN, np.array(texts, object)[said], None)
    columns = {"new_id": pa.array(record_ids(plan.number, seed))}
    if patients:
        columns["hid"] = pa.array(_patient_ids(plan))
    columns |= {
        "rhythm": _texts(reviewed["rhythm"]),
        "premature beat": _texts(reviewed["premature_beat"]),
        "bbb": _texts(reviewed["bbb"]),
        "avb": _texts(reviewed["avb"]),
        "pacing": _texts(reviewed["pacing"]),
        "dx": cells,
        "age": pa.array(np.clip(np.round(rng.normal(62, 16, n)), 1, 99).astype(np.int32)),
        "sex": _texts(np.where(rng.random(n) < 0.55, "M", "F").astype(object)),
        **_measures(words, plan),
        "conclusion": _texts(conclusion),
    }
    return pa.table(columns)


def _texts(values: np.ndarray) -> pa.Array:
    return pa.array([value or None for value in values.tolist()], pa.string())


def _patient_ids(plan: Plan) -> list[str]:
    return [f"HID{each:07d}" for each in plan.patient.tolist()]


def _reviewed(words: Words, plan: Plan) -> dict[str, np.ndarray]:
    """What two readers noted: the findings' words, now and then others."""
    n = len(plan.number)
    usual = int(words.on("default")[0])
    cells = {}
    for column in REVIEWED:
        said = words.text[column]
        cell = np.full(n, said[usual], dtype=object)
        for finding in plan.finding.values():
            word = np.append(said, "")[finding]
            cell = np.where(word != "", word, cell)
        other = np.array(sorted({word for word in said if word} | {said[usual]}), dtype=object)
        off = plan.rng.random(n) < DISAGREES
        cell[off] = other[plan.rng.integers(len(other), size=int(off.sum()))]
        cells[column] = cell
    missed = (plan.finding[ECTOPY] >= 0) & (plan.rng.random(n) < UNREVIEWED_BEATS)
    cells["premature_beat"][missed] = words.text["premature_beat"][usual]
    return cells


def _measures(words: Words, plan: Plan) -> dict[str, pa.Array]:
    """The device's numbers, with its sentinels where it measured nothing."""
    rng, n = plan.rng, len(plan.number)
    numbers = {name: np.append(each, 0) for name, each in words.number.items()}
    total = {
        name: sum(numbers[name][each] for each in plan.finding.values())
        for name in ("pr_ms", "qt_ms", "qrs_ms")
    }
    rhythm, rr = plan.finding[RHYTHM], 60 / plan.rate_bpm
    has_p = numbers["p_wave"][rhythm] > 0
    qti = 385 * np.sqrt(rr) + total["qt_ms"] + rng.normal(0, 9, n)
    f_hz = numbers["f_hz"][rhythm]
    values = {
        "vrate": plan.rate_bpm,
        "arate": np.where(f_hz > 0, 60 * f_hz, plan.rate_bpm),
        "pri": np.where(has_p, 158 + total["pr_ms"] + rng.normal(0, 14, n), 0),
        "qrsd": 88 + total["qrs_ms"] + rng.normal(0, 5, n),
        "qti": qti,
        "qtc": qti / np.sqrt(rr),
        "paxis": np.where(has_p, rng.normal(50, 18, n), 0),
        "raxis": rng.normal(35, 30, n),
        "taxis": rng.normal(45, 28, n),
    }
    table = {}
    for name in MEASURES:
        whole = np.round(values[name]).astype(np.int32)
        whole[rng.random(n) < UNMEASURED] = 29999
        whole[plan.silent] = 0
        table[name] = pa.array(whole)
    return table


@contextmanager
def _table_writer(path: Path) -> Iterator[Callable[[pa.Table], None]]:
    """Yields a function that appends a table; CSV begins with a byte-order mark, as the parent set's does."""
    kind = path.name.split(".", 1)[-1]
    if kind not in ("csv", "csv.gz", "csv.xz", "parquet"):
        raise UsageError(f"found table {path.name!r}; expected .csv, .csv.gz, .csv.xz or .parquet")
    writer = None
    with ExitStack() as stack:
        sink = stack.enter_context(path.open("wb"))
        if kind == "csv.gz":
            sink = stack.enter_context(gzip.GzipFile(fileobj=sink, mode="wb", mtime=0, filename=""))
        elif kind == "csv.xz":
            sink = stack.enter_context(lzma.open(sink, "wb", preset=1))
        if kind != "parquet":
            sink.write(b"\xef\xbb\xbf")

        def write(table: pa.Table) -> None:
            nonlocal writer
            if writer is None:
                if kind == "parquet":
                    writer = pq.ParquetWriter(sink, table.schema, compression="zstd", compression_level=1)
                else:
                    writer = pa_csv.CSVWriter(sink, table.schema)
                stack.callback(writer.close)
            writer.write_table(table)

        yield write


def _write_signals(path: Path, words: Words, records: int, seed: int, patients: bool, dated: bool) -> None:
    """Stream the npz: all keys, then the records one by one."""
    from warehouse.synthetic import lydus_heart as heart

    keys = []
    for plan in _plans(words, records, seed, dated):
        ids = record_ids(plan.number, seed)
        day = np.datetime64("2010-01-01") + (plan.number * 7) % 4018
        suffix = [
            f"_{who}_{when.replace('-', '')}"
            for who, when in zip(_patient_ids(plan), day.astype(str), strict=True)
        ]
        keys += [record + (tail if patients else "") for record, tail in zip(ids, suffix, strict=True)]
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        member = io.BytesIO()
        np.lib.format.write_array(member, np.array(keys[:records]), allow_pickle=False)
        archive.writestr(zipfile.ZipInfo("keys.npy"), member.getvalue())
        with archive.open(zipfile.ZipInfo("vals.npy"), "w", force_zip64=True) as file:
            shape = (records, len(words.waves["base"].mv[0]) * heart.SAMPLES)
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<i2", "fortran_order": False, "shape": shape}
            )
            for plan in _plans(words, records, seed, dated):
                for place in range(min(len(plan.number), records - plan.first)):
                    file.write(_counts(words, plan, place, seed).tobytes())


def _counts(words: Words, plan: Plan, place: int, seed: int) -> np.ndarray:
    from warehouse.synthetic import lydus_heart as heart

    if plan.flat[place]:
        return heart.flat_leads()
    number = int(plan.number[place])
    finding = {axis: int(each[place]) for axis, each in plan.finding.items()}
    if plan.silent[place]:
        finding = {axis: -1 for axis in finding} | {RHYTHM: finding[RHYTHM], AV: -1}
    counts = heart.eight_leads(
        words,
        finding,
        float(plan.rate_bpm[place]),
        np.random.default_rng([seed, 1 << 32, number]),
        np.random.default_rng([seed, 2 << 32, int(plan.patient[place])]),
    )
    return heart.with_artefact(counts) if number == HUGE else counts
