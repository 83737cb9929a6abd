"""What is odd in the annotation files, with its extent and with what the views make of it."""

from __future__ import annotations

import re
from collections import Counter

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

    old = [row["spelling"] for row in map_rows("vitaldb_rhythm") if row["spelling"] != row["rhythm"]]
    report.odd(
        "rhythm under an old name",
        int(_holds(annotation["rhythm_label"], old).sum()),
        handled="map.vitaldb_rhythm translates it",
    )
    report.odd(
        "row without a rhythm",
        annotation["rhythm_label"].null_count,
        handled="ends a run of normal rhythm (vitaldb.normal_context_v0)",
    )
    report.odd(
        "row without a beat",
        annotation["beat_type"].null_count,
        handled="no beat (vitaldb.annotation_v0)",
    )
    markers = [row["beat_type"] for row in map_rows("vitaldb_beat") if row["kind"] == "marker"]
    case, time = to_numbers(annotation["case_id"]), to_numbers(annotation["time_second"])
    misplaced = case[_holds(annotation["beat_type"], markers)]
    report.odd(
        "marker in the beat column",
        len(misplaced),
        sorted(set(misplaced.tolist())),
        "taken as a marker (vitaldb.annotation_v0); the beats between are not flagged in the files",
    )
    tied = (time[1:] == time[:-1]) & (case[1:] == case[:-1])
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


def _holds(column: pa.ChunkedArray, words: list[str]) -> np.ndarray:
    """(n,) bool: the rows that hold one of the words."""
    known = words_of(column)
    return np.isin(places_of(column), [known.index(word) for word in words if word in known])


def _marker_faults(annotation: pa.Table, begin: str) -> tuple[list[int], list[int]]:
    """Cases whose markers do not pair by their numbers, and cases whose markers do not go begin, end, begin, end."""
    labels = words_of(annotation["bad_signal_quality_label"])
    places = places_of(annotation["bad_signal_quality_label"])
    case, place = to_numbers(annotation["case_id"])[places >= 0], places[places >= 0]
    begins = np.array([label.startswith(begin) for label in labels], bool)[place]
    number = np.array([int(re.sub(r"\D", "", label)) for label in labels], np.int64)[place]
    return _unpaired(case, number, begins, most=2), _unpaired(case, np.zeros_like(number), begins)


def _unpaired(case: np.ndarray, group: np.ndarray, begins: np.ndarray, most: int | None = None) -> list[int]:
    """Cases with a group whose markers are not begin, end and so on to an end, or are more than ``most``."""
    if not len(case):
        return []
    order = np.lexsort((group, case))  # which keeps the order within a group
    case, group, begins = case[order], group[order], begins[order]
    first = np.flatnonzero(np.append(True, (case[1:] != case[:-1]) | (group[1:] != group[:-1])))
    sizes = np.diff(np.append(first, len(case)))
    place = np.arange(len(case)) - np.repeat(first, sizes)
    faulty = np.logical_or.reduceat(begins != (place % 2 == 0), first) | (sizes % 2 == 1)
    if most is not None:
        faulty |= sizes > most
    return sorted(set(case[first][faulty].tolist()))
