"""A small release of the VitalDB Arrhythmia Database that nobody's heart made, in the real file formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warehouse.errors import UsageError
from warehouse.splits import draw
from warehouse.synthetic.annotation_files import write_annotation_file
from warehouse.synthetic.beats import TICKS_PER_S, draw_beats
from warehouse.synthetic.rows import draw_rows
from warehouse.synthetic.words import Scenario, vitaldb_words

SPLIT = "vitaldb"
METADATA_COLUMNS = (
    "case_id",
    "analysis_start_time_sec",
    "analysis_end_time_sec",
    "analyzed_duration_sec",
    "total_beats",
    "rhythm_classes",
)
REAL_CASES = 6388
"""VitalDB's cases are numbered from 1 to this."""

SHORTEST_S = 60.0


def write_vitaldb_release(
    out: Path,
    *,
    cases: int = 24,
    seconds: float = 240,
    seed: int = 0,
    signals: bool = True,
    late_s: float = 0.0,
) -> None:
    """Write ``annotations/``, ``metadata.csv``, ``clinical_data.csv`` and, with ``signals``, ``vital/``.

    Case *k* follows scenario *k* of ``registry/synthetic`` (they repeat after the last) and depends on
    ``seed`` and *k* alone, so a longer release begins with the same hearts. Annotations cover ``seconds`` and
    begin about 100 s into the recording. The same arguments give the same bytes. ``late_s`` moves the last
    case's waveform that much behind its annotations, as public notes report of some real cases: the audit of
    the clock has to find it. Raises UsageError for a number out of range.
    """
    if cases < 1 or seconds < SHORTEST_S:
        raise UsageError(
            f"found {cases} cases of {seconds} s; expected at least one case of at least {SHORTEST_S:.0f} s"
        )
    words = vitaldb_words()
    plan = [words.scenarios[number % len(words.scenarios)] for number in range(cases)]
    case_ids, subject_ids = _identities(plan, seed)
    out = Path(out)
    (out / "annotations").mkdir(parents=True, exist_ok=True)
    if signals:
        (out / "vital").mkdir(exist_ok=True)
    described = []
    for number, (scenario, case_id) in enumerate(zip(plan, case_ids, strict=True)):
        rng = np.random.default_rng([seed, number])
        start_tick = round(rng.uniform(96, 126) * TICKS_PER_S)
        beats = draw_beats(scenario.steps, words, start_tick, seconds, rng)
        rows = draw_rows(scenario, beats)
        first, last, present = write_annotation_file(
            out / "annotations",
            case_id,
            rows,
            words,
            schema=scenario.schema,
            older_names=scenario.older_names,
        )
        described.append((case_id, first, last, len(rows.tick), present))
        if signals:
            from warehouse.synthetic.ecg import lead_ii
            from warehouse.synthetic.vital_file import write_vital

            signal = lead_ii(beats, rows.stretches, words, rng)
            if late_s and number == cases - 1:
                signal = signal.shifted(late_s)
            write_vital(out / "vital" / f"{case_id}.vital", signal, packed=number % 4 != 3)
    _write_metadata(out / "metadata.csv", described)
    _write_clinical(out / "clinical_data.csv", case_ids, subject_ids, described, seed)


def _identities(plan: list[Scenario], seed: int) -> tuple[list[int], list[int]]:
    """Case ids, all different, and subject ids from the part of the split that each scenario asks for."""
    rng = np.random.default_rng([seed, 1 << 32])
    case_ids = rng.permutation(np.arange(1, max(REAL_CASES, len(plan)) + 1))[: len(plan)]
    split = draw(SPLIT)
    waiting = {part: rng.permutation(split.units[split.parts == part]) for part in sorted(set(split.parts))}
    used = dict.fromkeys(waiting, 0)
    subjects = []
    for scenario in plan:
        again = scenario.subject_again and used[scenario.part]
        used[scenario.part] += not again
        subjects.append(int(waiting[scenario.part][(used[scenario.part] - 1) % len(waiting[scenario.part])]))
    return case_ids.tolist(), subjects


def _write_metadata(path: Path, described: list[tuple[int, float, float, int, list[str]]]) -> None:
    """In the order of the ids as text, rhythm names quoted when there are several, rows counted as beats."""
    lines = [",".join(METADATA_COLUMNS)]
    for case_id, first, last, rows, present in sorted(described, key=lambda each: str(each[0])):
        listed = ", ".join(present)
        quoted = f'"{listed}"' if "," in listed else listed
        lines.append(f"{case_id},{first!r},{last!r},{last - first!r},{rows},{quoted}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")


def _write_clinical(
    path: Path, case_ids: list[int], subject_ids: list[int], described: list[tuple], seed: int
) -> None:
    """Some columns of VitalDB's clinical table, for these cases and a few that nobody annotated."""
    rng = np.random.default_rng([seed, 2 << 32])
    ends = {case_id: round(last) + 60 for case_id, _first, last, _rows, _present in described}
    people = dict(zip(case_ids, subject_ids, strict=True))
    others = [case_id for case_id in range(1, REAL_CASES + 1) if case_id not in people][:3]
    people |= {case_id: int(rng.integers(1, 6091)) for case_id in others}
    lines = ["caseid,subjectid,casestart,caseend,age,sex,height,weight,bmi,asa,emop,department"]
    for case_id in sorted(people):
        height, weight = rng.normal(163, 9), rng.normal(63, 11)
        sex, age = rng.choice(["F", "M"]), int(rng.integers(19, 90))
        lines.append(
            f"{case_id},{people[case_id]},0,{ends.get(case_id, 7200)},{age},{sex},{height:.1f},{weight:.1f},"
            f"{weight / (height / 100) ** 2:.1f},{rng.integers(1, 4)},{rng.integers(0, 2)},General surgery"
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
