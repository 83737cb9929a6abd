"""LYDUS: raw Parquet to record classes, beside the grammar in plain Python with a cache per distinct line.

Records have five lines each, drawn from templates at uneven frequencies; 30 % of the lines carry a date that no other
line has, 5 % a typing error. The oracle (tests/oracle/dx.py) reads the same Parquet and parses each wording without
its dates once; its classes, counted, must be ours. Both are measured in processes of their own, imports included.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.bench.measure import measure

SIZES = (10_000, 100_000, 1_000_000)
LINES_EACH = 5
SHARE_DATED = 0.30
SHARE_TYPED = 0.05
LETTERS = "abcdefghijklmnopqrstuvwxyz"

WRITE = """
import sys
from pathlib import Path
from tests.bench.dx_lines import write_home
result = write_home(Path(sys.argv[1]), int(sys.argv[2]))
"""
BUILD = """
import sys
from pathlib import Path
import duckdb
from warehouse.home import Home
from warehouse.materialize import materialize
home = Home(Path(sys.argv[1]))
build = materialize(home, ["lydus.record_label_v0"], threads=2)
file = home.built / build.manifest["views"]["lydus.record_label_v0"]["file"]
names = {"afib_afl": "AFIB/AFL", "acute_mi": "Acute MI", "brady": "BRADY", "cd": "CD", "hyp": "HYP", "norm": "NORM",
    "old_mi": "Old MI", "pac": "PAC", "pvc": "PVC", "sttc": "STTC", "tachy": "TACHY"}
sums = ", ".join(f"count(*) FILTER ({column})" for column in names)
(counts,) = duckdb.connect().execute(f"SELECT {sums} FROM read_parquet('{file}')").fetchall()
result = dict(zip(names.values(), counts))
"""
ORACLE = """
import sys
from collections import Counter
from pathlib import Path
import pyarrow.parquet as pq
from tests.oracle import dx
raw = Path(sys.argv[1]) / "raw" / "lydus"
texts = pq.read_table(raw / "dx_text").to_pydict()
wording = dict(zip(texts["text_id"], texts["text"]))
lines = pq.read_table(raw / "dx_line", columns=["record_id", "text_id"])
counts, before, record = Counter(), None, []
for batch in lines.to_batches(max_chunksize=100_000):
    for record_id, text_id in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist()):
        if record_id != before:
            counts.update(dx.classes(record))
            before, record = record_id, []
        record.append(wording[text_id])
counts.update(dx.classes(record))
result = {name: counts[name] for name in dx.CLASSES}
"""


def templates() -> list[str]:
    """Wordings by falling frequency; DATE stands where a date goes."""
    rhythms = [
        "Normal sinus rhythm", "Sinus bradycardia", "Atrial fibrillation", "Sinus tachycardia", "Sinus rhythm",
        "Marked sinus bradycardia", "Atrial flutter", "Ventricular-paced rhythm", "Junctional rhythm",
    ]  # fmt: skip
    modifiers = [
        "", " with 1st degree A-V block", " with occasional Premature ventricular complexes",
        " with Premature atrial complexes", " with rapid ventricular response", " with sinus arrhythmia",
        " with premature ventricular or aberrantly conducted complexes", " with short PR",
        " with frequent Premature ventricular complexes in a pattern of bigeminy", " with Fusion complexes",
    ]  # fmt: skip
    regions = [
        "Anterior", "Inferior", "Septal", "Lateral", "Anteroseptal", "Anterolateral", "Inferior-posterior", "Posterior",
    ]  # fmt: skip
    hedges = ["", "Cannot rule out ", "Possible "]
    ages = [", age undetermined", " (cited on or before DATE)", "", ", possibly acute", ", old"]
    places = ["inferior", "lateral", "anterior", "anterolateral", "inferolateral"]
    heads = ["T wave abnormality", "ST & T wave abnormality", "Marked T wave abnormality"]
    alone = [
        "Normal ECG", "Abnormal ECG", "When compared with ECG of DATE,", "Nonspecific T wave abnormality",
        "Left axis deviation", "No significant change was found", "Right bundle branch block", "Prolonged QT",
        "Left ventricular hypertrophy", "Nonspecific ST and T wave abnormality", "Low voltage QRS",
        "Premature ventricular complexes are no longer Present", "Left bundle branch block", "Otherwise normal ECG",
        "Incomplete right bundle branch block", "Possible Left atrial enlargement", "Left anterior fascicular block",
        "Minimal voltage criteria for LVH, may be normal variant", "Vent. rate has increased BY 21 BPM",
        "Nonspecific ST abnormality", "Early repolarization", "Borderline ECG", "Rightward axis",
        "RSR' or QR pattern in V1 suggests right ventricular conduction delay", "Biatrial enlargement",
        "Nonspecific intraventricular conduction delay", "Abnormal QRS-T angle, consider primary T wave abnormality",
        "*** Poor data quality, interpretation may be adversely affected", "** ** ACUTE MI / STEMI ** **",
        "ST elevation, consider early repolarization, pericarditis, or injury", "Inferior injury pattern",
        "Marked ST abnormality, possible inferior subendocardial injury", "Serial changes of Anterior infarct Present",
        "*** ** ** ** * ACUTE MI ** ** ** **", "Right bundle branch block -or- right ventricular hypertrophy",
    ]  # fmt: skip
    made = [
        *alone,
        *map("".join, itertools.product(rhythms, modifiers)),
        *(f"{hedge}{region} infarct{age}" for hedge, region, age in itertools.product(hedges, regions, ages)),
        *(
            f"{head}, consider {place} ischemia{end}"
            for head, place, end in itertools.product(heads, places, ("", " or digitalis effect"))
        ),
        *(f"ST elevation, consider {place} injury or acute infarct" for place in places),
        *(
            f"{change} in {place} leads"
            for change in ("T wave inversion", "ST depression")
            for place in places
        ),
        *(f"T wave inversion now evident in {place.title()} leads" for place in places),
        *(
            f"{rhythm} has replaced {other}"
            for rhythm in rhythms[:5]
            for other in rhythms[:5]
            if rhythm != other
        ),
    ]
    return list(dict.fromkeys(made))


def write_home(home: Path, records: int, seed: int = 0) -> int:
    """The raw tables of a release as ``load`` leaves them; returns the number of distinct texts."""
    from warehouse.load import raw
    from warehouse.load.lydus_source import MEASUREMENTS, TEXTS
    from warehouse.load.report import LoadReport, write_report

    rng = np.random.default_rng([seed, records])
    kinds = templates()
    assert len(kinds) >= 300
    weights = 1 / np.arange(1, len(kinds) + 1) ** 0.8
    n = records * LINES_EACH
    chosen = rng.choice(len(kinds), size=n, p=weights / weights.sum())
    dated = [number for number, kind in enumerate(kinds) if "DATE" in kind]
    unique = rng.random(n) < SHARE_DATED
    chosen[unique] = rng.choice(dated, size=int(unique.sum()))
    typed = ~unique & (rng.random(n) < SHARE_TYPED)
    letters = rng.integers(len(LETTERS), size=n)
    spots = rng.random(n)
    ids: dict[str, int] = {}
    counts: list[int] = []
    codes = np.empty(n, np.int32)
    for place, (kind, is_unique, is_typed) in enumerate(
        zip(chosen.tolist(), unique.tolist(), typed.tolist(), strict=True)
    ):
        text = kinds[kind]
        if "DATE" in text:
            day = place if is_unique else place % 40
            text = text.replace(
                "DATE", f"{day % 28 + 1:02d}-FEB-{1990 + day // 28 % 30} {_clock(day // 840)}"
            )
        if is_typed:
            spot = int(spots[place] * len(text))
            text = text[:spot] + LETTERS[letters[place]] + text[spot + 1 :]
        code = ids.setdefault(text, len(ids))
        if code == len(counts):
            counts.append(0)
        counts[code] += 1
        codes[place] = code + 1
    order = [f"r{number:07d}" for number in range(records)]
    folder = home / "raw" / "lydus"
    folder.mkdir(parents=True)
    report = LoadReport("lydus", "lydus")
    nothing = {name: pa.nulls(records, pa.string()) for name in ("patient_id", *TEXTS)}
    nothing |= {name: pa.nulls(records, pa.int32()) for name in MEASUREMENTS}
    rows = np.arange(2, records + 2, dtype=np.int32)
    source = {"source_file": pa.nulls(records, pa.string()).fill_null("metadata.csv"), "row_no": rows}
    raw.write_table(folder, "record", pa.table({"record_id": order, **nothing, **source}), report)
    raw.write_table(
        folder,
        "dx_line",
        pa.table(
            {
                "record_id": pa.array(order).take(pa.array(np.repeat(np.arange(records), LINES_EACH))),
                "line_no": pa.array(np.tile(np.arange(1, LINES_EACH + 1, dtype=np.int32), records)),
                "text_id": pa.array(codes),
            }
        ),
        report,
    )
    raw.write_table(
        folder,
        "dx_text",
        pa.table(
            {
                "text_id": pa.array(np.arange(1, len(ids) + 1, dtype=np.int32)),
                "text": list(ids),
                "lines": counts,
            }
        ),
        report,
    )
    write_report(folder, report)
    return len(ids)


def _clock(number: int) -> str:
    """A time of day, another for each number below 86,400."""
    return f"{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}"


def table(sizes: tuple[int, ...] = SIZES) -> str:
    lines = [
        f"dx lines: raw Parquet to record classes, {LINES_EACH} lines a record, {len(templates())} templates "
        "(goal at 1,000,000: 12 CPU s, 1,536 MiB); medians of 3 runs, one run at 1,000,000",
        f"{'records':>10} {'texts':>10} {'CPU s':>7} {'MiB':>6} {'oracle CPU s':>13} {'MiB':>6} {'× oracle':>9}",
    ]
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="leadhouse-bench-") as name:
            texts = measure(WRITE, name, size, runs=1).result  # apart: a child begins with its parent's peak
            runs = 3 if size < 1_000_000 else 1
            found = []
            for _ in range(runs):
                shutil.rmtree(Path(name) / "built", ignore_errors=True)
                (Path(name) / "built").unlink(missing_ok=True)
                found.append(measure(BUILD, name, runs=1))
            ours = sorted(found, key=lambda one: one.cpu_s)[len(found) // 2]
            oracle = measure(ORACLE, name, runs=runs)
        assert ours.result == oracle.result, f"{ours.result} beside the oracle's {oracle.result}"
        lines.append(
            f"{size:>10,} {texts:>10,} {ours.cpu_s:>7.2f} {ours.mib:>6.0f} {oracle.cpu_s:>13.2f} "
            f"{oracle.mib:>6.0f} {ours.cpu_s / oracle.cpu_s:>9.2f}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES, help="numbers of records")
    print(table(tuple(parser.parse_args().sizes)))


if __name__ == "__main__":
    main()
