"""A heartbeat on ECG paper: four seconds of its lead, the segment that a model sees, and what is annotated there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.answers import Answer, plain
from pipelines.paper import Paper, draw_paper
from warehouse.database import sql_text

if TYPE_CHECKING:
    from pipelines.book.site import Site

SHOWN_S = 4
BEFORE_S = 1
"""Seconds before the segment."""

SIGNAL = """
    SELECT
        hz
        , gain
        , baseline
        , invalid_count
        , greatest(first_sample - {first}, 0) AS offset_samples
        , list_slice(
            samples
            , greatest({first} - first_sample, 0) + 1
            , {first} - first_sample + CAST({shown_s} * hz AS BIGINT)
        ) AS samples
    FROM raw_{schema}.signal
    WHERE
        record_id = {record}
        AND channel = {channel}
        AND first_sample < {first} + {shown_s} * hz
        AND first_sample + n_samples > {first}
    ORDER BY first_sample
"""

RATE = "SELECT max(hz) AS hz FROM raw_{schema}.signal WHERE record_id = {record} AND channel = {channel}"

ANNOTATED = """
    SELECT
        row_no
        , sample
        , symbol
        , is_beat
        , is_premature
    FROM mitbih.annotation_v0
    WHERE record_id = {record} AND sample BETWEEN {first} AND {last}
    ORDER BY row_no
"""

DETECTED = """
    SELECT
        peak_no
        , sample
    FROM raw_ptbdb.detected_peak
    WHERE record_id = {record} AND channel = {channel} AND sample BETWEEN {first} AND {last}
    ORDER BY peak_no
"""


@dataclass(frozen=True)
class Beat:
    """``marks`` are a letter (none where a peak was detected), its seconds from the left edge and whether it is
    premature; ``bounds`` the segment's begin and end in the same seconds.
    """

    paper: Paper
    marks: tuple[tuple[str, float, bool], ...]
    bounds: tuple[float, float]
    begin_s: float
    has_signal: bool
    sql: tuple[Answer | str, ...]


def draw_beat(site: Site, schema: str, row: dict[str, Any]) -> Beat | None:
    """The picture of one instance; ``row`` has record_id, channel, sample and end_sample. None without a rate."""
    names: dict[str, Any] = {
        "schema": schema,
        "record": sql_text(row["record_id"]),
        "channel": int(row["channel"]),
        "shown_s": SHOWN_S,
    }
    (rate,) = site.ask(RATE.format(**names))
    if rate["hz"] is None:
        return None
    hz = round(rate["hz"])
    first = int(row["sample"]) - BEFORE_S * hz
    names |= {"first": first, "last": first + SHOWN_S * hz}
    query = plain(SIGNAL.format(**names))
    samples = np.full(SHOWN_S * hz, np.nan)
    for _, gain, baseline, invalid, offset, counts in site.con.execute(query).fetchall():
        piece = np.asarray(counts, dtype=np.float64)
        piece[piece == invalid] = np.nan
        samples[offset : offset + len(piece)] = ((piece - baseline) / gain)[: len(samples) - offset]
    annotated = site.ask((ANNOTATED if schema == "mitbih" else DETECTED).format(**names))
    marks = tuple(
        (each.get("symbol", ""), (each["sample"] - first) / hz, bool(each.get("is_premature")))
        for each in annotated
    )
    bounds = tuple(
        min(max((int(row[end]) - first) / hz, 0.0), float(SHOWN_S)) for end in ("sample", "end_sample")
    )
    return Beat(
        paper=draw_paper(samples, hz, SHOWN_S),
        marks=marks,
        bounds=(bounds[0], bounds[1]),
        begin_s=first / hz,
        has_signal=bool((~np.isnan(samples)).any()),
        sql=(annotated, query),
    )
