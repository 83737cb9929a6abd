"""Peaks of a WFDB record as rows: the maxima of ten-second windows, and R peaks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from warehouse.load.columns import from_numbers, repeated
from warehouse.load.peaks import detect_peaks, detector_name
from warehouse.load.wfdb_record import INVALID, Lead
from warehouse.load.window_peaks import window_peaks
from warehouse.maps import map_column

WORD = pa.dictionary(pa.int32(), pa.string())

WINDOW_PEAK = pa.schema(
    [
        ("record_id", WORD),
        ("peak_no", pa.int32()),
        ("segment_no", pa.int32()),
        ("channel", pa.int32()),
        ("window_no", pa.int32()),
        ("place", pa.int64()),
        ("sample", pa.int64()),
        ("height", pa.float64()),
    ]
)
DETECTED_PEAK = pa.schema(
    [
        ("record_id", WORD),
        ("peak_no", pa.int32()),
        ("segment_no", pa.int32()),
        ("channel", pa.int32()),
        ("sample", pa.int64()),
        ("detector", WORD),
    ]
)


def peak_leads(leads: Sequence[Lead]) -> list[Lead]:
    """The pieces of a record's first lead II, else of its first lead, that have samples."""
    spellings = set(map_column("heartbeat_lead", "spelling"))
    channels = [lead.channel for lead in leads if lead.name in spellings] or [lead.channel for lead in leads]
    return [lead for lead in leads if lead.channel == min(channels) and lead.samples is not None]


def window_peak_rows(record_id: str, leads: Sequence[Lead]) -> pa.Table:
    """``place`` counts within the segment, ``peak_no`` over all of them."""
    pieces = [WINDOW_PEAK.empty_table()]
    for lead in leads:
        found = window_peaks(lead.samples, lead.hz, INVALID.get(lead.format))
        columns = [
            *_peak_keys(record_id, lead, len(found.place), pieces),
            from_numbers(found.window_no.astype(np.int32)),
            from_numbers(found.place.astype(np.int64)),
            from_numbers(lead.first_sample + found.sample),
            from_numbers(found.height),
        ]
        pieces.append(pa.table(columns, schema=WINDOW_PEAK))
    return pa.concat_tables(pieces)


def detected_peak_rows(record_id: str, leads: Sequence[Lead]) -> pa.Table:
    pieces = [DETECTED_PEAK.empty_table()]
    for lead in leads:
        values = (lead.samples - lead.baseline) / lead.gain
        values[lead.samples == INVALID.get(lead.format)] = np.nan
        found = detect_peaks(values, lead.hz)
        columns = [
            *_peak_keys(record_id, lead, len(found), pieces),
            from_numbers(lead.first_sample + found),
            repeated(detector_name(), len(found)),
        ]
        pieces.append(pa.table(columns, schema=DETECTED_PEAK))
    return pa.concat_tables(pieces)


def _peak_keys(record_id: str, lead: Lead, n: int, before: list[pa.Table]) -> list[pa.Array]:
    start = 1 + sum(piece.num_rows for piece in before)
    return [
        repeated(record_id, n),
        from_numbers(np.arange(start, start + n, dtype=np.int32)),
        from_numbers(np.full(n, lead.segment_no, np.int32)),
        from_numbers(np.full(n, lead.channel, np.int32)),
    ]
