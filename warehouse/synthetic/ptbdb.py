"""A small release like the PTB database: 15 leads at 1000 Hz, format 16, diagnoses in the headers' comments.

Infarctions and healthy controls: the real records that can be had without the whole release are all of infarctions.
As in the older copies of it, headers declare neither checksums nor first values.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warehouse.errors import UsageError
from warehouse.synthetic.heartbeats import add_waves, as_counts, rows_of, rr_intervals

HZ = 1000
GAIN, BITS = 2000, 16
STORED = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6")
FRANK = np.array(
    [
        [0.6, 0.1, -0.1, 0.0, 0.0, 0.2, 0.3, 0.4],
        [-0.3, 0.9, 0.0, -0.1, 0.0, 0.1, 0.1, 0.1],
        [0.0, 0.1, -0.5, -0.4, -0.1, 0.1, 0.1, 0.0],
    ]
)
"""vx, vy and vz as mixtures of the stored leads: plausible, no transform of anyone's."""


def write_ptbdb_release(
    out: Path, *, patients: int = 20, seconds: int = 32, seed: int = 0, records_each: int = 2
) -> list[str]:
    """Write ``patientNNN/sNNNNlre.hea``, ``.dat`` and ``.xyz``; returns the records' names.

    Every kind of patient is there from four patients on. The same arguments give the same bytes.
    """
    kinds = rows_of("ptbdb_patient.csv")
    if patients < 1 or records_each < 1:
        raise UsageError(f"found {patients} patients of {records_each} records; expected 1 or more of each")
    shares = np.array([float(kind["share"]) for kind in kinds])
    waves: dict[str, list[list[float]]] = {}
    for row in rows_of("ptbdb_wave.csv"):
        shape = [
            float(row["at_ms"]) / 1000,
            float(row["sd_ms"]) / 1000,
            *(float(row[lead]) for lead in STORED),
        ]
        waves.setdefault(row["kind"], []).append(shape)
    names = []
    for number in range(patients):
        rng = np.random.default_rng([seed, number])
        kind = kinds[number if number < len(kinds) else int(rng.choice(len(kinds), p=shares / shares.sum()))]
        shape = np.array(waves["base"] + waves.get(kind["kind"], []))
        shape[:, 2:] *= rng.uniform(0.8, 1.25, len(STORED))
        folder = out / f"patient{number + 1:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        for record in range(records_each):
            name = f"s{number * records_each + record + 1:04d}lre"
            _write_record(folder, name, kind, shape, seconds, rng)
            names.append(f"{folder.name}/{name}")
    (out / "RECORDS").write_text("".join(f"{name}\n" for name in names))
    return names


def _write_record(
    folder: Path, name: str, kind: dict[str, str], shape: np.ndarray, seconds: int, rng: np.random.Generator
) -> None:
    n = seconds * HZ
    at_s = 0.2 + np.cumsum(rr_intervals(rng.uniform(58, 95), 0.03, seconds, rng))
    stored = np.zeros((len(STORED), n))
    add_waves(stored, HZ, at_s[at_s < seconds], shape, rng.uniform(0.9, 1.1))
    one, two = stored[0], stored[1]
    limb = np.stack([one, two, two - one, -(one + two) / 2, one - two / 2, two - one / 2])
    twelve = np.concatenate([limb, stored[2:]])
    counts = as_counts(np.concatenate([twelve, FRANK @ stored]), HZ, GAIN, 0, rng, BITS)
    for suffix, some in (("dat", counts[:12]), ("xyz", counts[12:])):
        (folder / f"{name}.{suffix}").write_bytes(some.T.astype("<i2").tobytes())
    leads = ("i", "ii", "iii", "avr", "avl", "avf", "v1", "v2", "v3", "v4", "v5", "v6", "vx", "vy", "vz")
    lines = [f"{name} 15 {HZ} {n}"]
    lines += [
        f"{name}.{'dat' if at < 12 else 'xyz'} 16 {GAIN} 16 0 0 0 0 {lead}" for at, lead in enumerate(leads)
    ]
    age = int(rng.integers(int(kind["age_from"]), int(kind["age_to"])))
    said = {
        "age": age,
        "sex": ["female", "male"][int(rng.integers(2))],
        "Reason for admission": kind["admission"],
        "Acute infarction (localization)": kind["localization"],
    }
    lines += [f"# {key}: {value}" for key, value in said.items()]
    (folder / f"{name}.hea").write_text("".join(f"{line}\n" for line in lines))
