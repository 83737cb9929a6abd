"""Small LYDUS releases for tests, made by hand so that every cell is known, and WFDB records."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from warehouse.errors import InputError
from warehouse.home import Home
from warehouse.load import lydus

LINES = ("Normal sinus rhythm", "Possible Left atrial enlargement", "Borderline ECG")
HEADER = ("new_id", "rhythm", "premature beat", "bbb", "avb", "pacing", "dx", "age", "sex",
          "vrate", "arate", "pri", "qrsd", "qti", "qtc", "paxis", "raxis", "taxis", "conclusion")  # fmt: skip


def row(new_id: str, **cells: object) -> dict[str, object]:
    usual = dict(zip(HEADER, (new_id, "NSR", "Nonspecific", "", "NSP", "", "\n".join(LINES), 61, "M",
                              72, 72, 160, 90, 380, 417, 50, -30, 0, ""), strict=True))  # fmt: skip
    return usual | {
        name.replace("_", " ") if name == "premature_beat" else name: each for name, each in cells.items()
    }


def csv_text(rows: list[dict[str, object]], delimiter: str = ",") -> str:
    text = io.StringIO()
    writer = csv.DictWriter(
        text, list(rows[0]), delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL
    )
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_table(
    folder: Path, rows: list[dict[str, object]], name: str = "ecg.csv", encoding: str = "utf-8"
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(csv_text(rows).encode(encoding))
    return folder


def counts(n: int, seed: int = 0) -> np.ndarray:
    """(n, 8, 5000) int16 that are no multiples of each other."""
    steps = np.random.default_rng(seed).integers(-9, 10, (n, 8, 5000))
    return np.cumsum(steps, axis=2).astype(np.int16)


def write_npz(folder: Path, keys: list[str], vals: np.ndarray, name: str = "ecg.npz", **options) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / name, keys=np.array(keys, **options), vals=vals)
    return folder / name


def write_wfdb(
    folder: Path,
    name: str,
    samples: np.ndarray,
    leads,
    *,
    hz: int = 500,
    gain: str = "1000.0(0)/mV",
    checksum: int = 0,
) -> Path:
    """A record of format 16; ``samples`` (leads, n). ``checksum`` is added to each right one."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.dat").write_bytes(np.ascontiguousarray(samples.T, "<i2").tobytes())
    lines = [f"{name} {len(leads)} {hz} {samples.shape[1]}"]
    for lead, each in zip(leads, samples, strict=True):
        total = (int(each.sum(dtype=np.int64)) + checksum) & 0xFFFF
        lines.append(f"{name}.dat 16 {gain} 16 0 {each[0]} {total} 0 {lead}")
    path = folder / f"{name}.hea"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def table_of(home: Home, name: str, dataset: str = lydus.DATASET) -> list[dict]:
    import pyarrow.parquet as pq

    return pq.read_table(sorted((home.raw / dataset / name).glob("*.parquet"))).to_pylist()


def refused(home: Home, source: Path, *expected: str, **options) -> InputError:
    """``load lydus`` must refuse with all of these words and leave the home as it was."""
    before = snapshot(home, lydus.DATASET)
    with pytest.raises(InputError) as caught:
        lydus.load(home, source, **options)
    for text in expected:
        assert text in str(caught.value)
    assert caught.value.exit_code == 1
    assert caught.value.next_step
    assert snapshot(home, lydus.DATASET) == before
    return caught.value


def snapshot(home: Home, dataset: str) -> dict[str, bytes]:
    folder = home.raw / dataset
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
