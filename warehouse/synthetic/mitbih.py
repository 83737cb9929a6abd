"""A small release like MIT-BIH: format 212, two leads at 360 Hz, reference annotations, CR LF headers.

Counts by record and the order of leads are as odd as the real ones: paced beats, a record without lead II, one with
it on channel 1, two records of one person.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warehouse.errors import UsageError
from warehouse.synthetic.heartbeats import add_waves, as_counts, checksum, rows_of, rr_intervals

HZ = 360
GAIN, BASELINE, BITS = 200, 1024, 11
FIRST_MARK, MARK_EVERY = 7, 23
"""Beats: a record's other annotation stands after the 7th beat and every 23rd from there."""


def write_mitbih_release(
    out: Path, *, records: int | None = None, seconds: int = 60, seed: int = 0
) -> list[str]:
    """Write ``.hea``, ``.dat`` and ``.atr`` of the first ``records`` of the declared records, all of them where None.

    Returns their names. The same arguments give the same bytes.
    """
    declared = rows_of("mitbih_record.csv")
    if records is not None and not 1 <= records <= len(declared):
        raise UsageError(f"found {records} records; expected 1 to {len(declared)}")
    out.mkdir(parents=True, exist_ok=True)
    waves: dict[str, list[list[float]]] = {}
    for row in rows_of("mitbih_wave.csv"):
        shape = [
            float(row["at_ms"]) / 1000,
            float(row["sd_ms"]) / 1000,
            float(row["II"]),
            float(row["chest"]),
        ]
        waves.setdefault(row["symbol"], []).append(shape)
    names = []
    for number, row in enumerate(declared[:records]):
        rng = np.random.default_rng([seed, number])
        _write_record(out, row, {name: np.array(some) for name, some in waves.items()}, seconds, rng)
        names.append(row["record_id"])
    (out / "RECORDS").write_text("".join(f"{name}\r\n" for name in names), newline="")
    return names


def _write_record(
    out: Path, row: dict[str, str], waves: dict[str, np.ndarray], seconds: int, rng: np.random.Generator
) -> None:
    import wfdb

    n = seconds * HZ
    at_s, symbols = _beats(row, seconds, rng)
    leads = row["leads"].split()
    signal = np.zeros((2, n))
    size = rng.uniform(0.8, 1.2) * (1 + 0.04 * rng.standard_normal(len(at_s)))
    chest = [not lead.endswith("II") for lead in leads]
    for symbol in np.unique(symbols):
        mine = symbols == symbol
        shape = waves[symbol]
        columns = [2 + int(is_chest) for is_chest in chest]
        columns[1] = 3 if columns[0] == columns[1] else columns[1]
        add_waves(signal, HZ, at_s[mine], shape[:, [0, 1, *columns]], size[mine])
    counts = as_counts(signal, HZ, GAIN, BASELINE, rng, BITS)
    name = row["record_id"]
    (out / f"{name}.dat").write_bytes(pack_212(counts.T.reshape(-1)))
    lines = [f"{name} 2 {HZ} {n}"]
    for lead, each in zip(leads, counts, strict=True):
        lines.append(f"{name}.dat 212 {GAIN} {BITS} {BASELINE} {each[0]} {checksum(each)} 0 {lead}")
    lines.append(f"# {row['comment']}")
    (out / f"{name}.hea").write_text("".join(f"{line}\r\n" for line in lines), newline="")
    samples, marks, notes = _annotations(row, np.round(at_s * HZ).astype(np.int64), symbols)
    wfdb.wrann(name, "atr", samples, marks, aux_note=notes, write_dir=str(out))


def _beats(row: dict[str, str], seconds: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Times in s and symbols of the beats; a beat that comes early is followed by a longer interval."""
    pairs = [pair.split("=") for pair in row["beats"].split()]
    shares = np.array([float(share) for _, share in pairs])
    rr = rr_intervals(float(row["rate_bpm"]), float(row["rr_sd"]), seconds, rng)
    which = rng.choice(len(pairs), len(rr), p=shares / shares.sum())
    usual = int(shares.argmax())
    early = float(row["premature_by"]) * rr * (which != usual)
    rr = rr - early + np.concatenate([[0], early[:-1]])
    at_s = 0.2 + np.cumsum(np.maximum(rr, 0.25))
    inside = at_s < seconds - 0.1
    return at_s[inside], np.array([symbol for symbol, _ in pairs])[which[inside]]


def _annotations(
    row: dict[str, str], samples: np.ndarray, symbols: np.ndarray
) -> tuple[np.ndarray, list[str], list[str]]:
    """Beats, the rhythm that opens the record, and its other annotation between beats."""
    (opening,) = rows_of("mitbih_opening.csv")
    found = [(int(samples[0]) // 2, opening["symbol"], row["rhythm"])]
    found += [(int(sample), str(symbol), "") for sample, symbol in zip(samples, symbols, strict=True)]
    if row["mark"]:
        places = range(FIRST_MARK, len(samples) - 1, MARK_EVERY)
        found += [((int(samples[at]) + int(samples[at + 1])) // 2, row["mark"], "") for at in places]
    found.sort()
    at, marks, notes = zip(*found, strict=True)
    return np.array(at), list(marks), list(notes)


def pack_212(values: np.ndarray) -> bytes:
    """Pairs of 12-bit two's complement numbers as three bytes each; an odd last one stands with a zero."""
    padded = np.concatenate([values, np.zeros(len(values) % 2, np.int64)]) & 0xFFF
    first, second = padded[0::2], padded[1::2]
    packed = np.stack([first & 0xFF, (first >> 8) | ((second >> 8) << 4), second & 0xFF], axis=1)
    return packed.astype(np.uint8).tobytes()
