"""What is odd in the annotation files, with its extent and with what the views make of it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa

from warehouse.load.annotation_csv import AnnotationFile
from warehouse.load.columns import places_of, to_numbers, words_of
from warehouse.load.report import LoadReport
from warehouse.maps import map_rows


def note_oddities(files: list[AnnotationFile], annotation: pa.Table, report: LoadReport) -> None:
    """Enter every known trap of the files in the report; ``annotation`` has their rows, stacked."""
    layouts = Counter(file.layout for file in files)
    for layout in sorted(set(layouts) - {"standard"}):
        cases = [file.case_id for file in files if file.layout == layout]
        report.odd(f"layout '{layout}'", len(cases), cases, "read after its own header")
    without = [file.case_id for file in files if not file.has_bom]
    report.odd("file without byte order mark", len(without), without, "read either way")

    rhythms, beats = _tally(annotation["rhythm_label"]), _tally(annotation["beat_type"])
    old = [row["spelling"] for row in map_rows("vitaldb_rhythm") if row["spelling"] != row["rhythm"]]
    report.odd(
        "rhythm under an old name",
        sum(rhythms[name] for name in old),
        handled="map.vitaldb_rhythm translates it",
    )
    report.odd(
        "row without a rhythm",
        rhythms[None],
        handled="ends a run of normal rhythm (vitaldb.normal_context_v0)",
    )
    report.odd("row without a beat", beats[None], handled="no beat (vitaldb.annotation_v0)")
    markers = [row["beat_type"] for row in map_rows("vitaldb_beat") if row["kind"] == "marker"]
    case, time = to_numbers(annotation["case_id"]), to_numbers(annotation["time_second"])
    written = [at for at, word in enumerate(words_of(annotation["beat_type"])) if word in markers]
    misplaced = case[np.isin(places_of(annotation["beat_type"]), written)]
    report.odd(
        "marker in the beat column",
        len(misplaced),
        sorted(set(misplaced.tolist())),
        "taken as a marker (vitaldb.annotation_v0); the beats between are not flagged in the files",
    )
    same_case = case[1:] == case[:-1]
    step = np.diff(time)
    tied = same_case & (step == 0)
    starts = tied & ~np.concatenate([[False], tied[:-1]])
    report.odd(
        "group of rows with one time stamp",
        int(starts.sum()),
        sorted(set(case[1:][tied].tolist())),
        "kept, in the order of the file",
    )
    by_number, by_turns = _marker_faults(annotation, begin=markers[0])
    handled = "the row's own flag decides; both pairings stand in vitaldb.quality_interval_v0"
    report.odd(
        "case in which a number of the quality markers lacks its begin or its end, or ends before it begins",
        len(by_number),
        by_number,
        handled,
    )
    report.odd(
        "case in which begin and end of the quality markers do not alternate, first to last",
        len(by_turns),
        by_turns,
        handled,
    )


def _tally(column: pa.ChunkedArray) -> Counter:
    """How often each value stands in a column, None for NULL."""
    words = [None, *words_of(column)]
    counts = np.bincount(places_of(column) + 1, minlength=len(words))
    return Counter(dict(zip(words, counts.tolist(), strict=True)))


def _marker_faults(annotation: pa.Table, begin: str) -> tuple[list[int], list[int]]:
    """Cases whose markers do not pair by their numbers, and cases whose markers do not go begin, end, begin, end."""
    labels = words_of(annotation["bad_signal_quality_label"])
    places = places_of(annotation["bad_signal_quality_label"])
    marked = places >= 0
    cases = to_numbers(annotation["case_id"])[marked]
    read = [(label.startswith(begin), int(re.sub(r"\D", "", label))) for label in labels]
    turns: defaultdict[int, list[bool]] = defaultdict(list)
    numbered: defaultdict[tuple[int, int], list[bool]] = defaultdict(list)
    for case_id, place in zip(cases.tolist(), places[marked].tolist(), strict=True):
        begins, number = read[place]
        turns[case_id].append(begins)
        numbered[case_id, number].append(begins)
    return (
        sorted({case_id for (case_id, _), found in numbered.items() if found != [True, False]}),
        sorted(case_id for case_id, found in turns.items() if found != [True, False] * (len(found) // 2)),
    )
