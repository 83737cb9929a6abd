"""Example segments as a person would look at them: which ones, what speaks for their label, and their beats.

The choice is blind: of the segments that are alike (same label, same reason, same rhythm), unflagged ones whose
clock is not in doubt go first, and among those the one whose id has the smallest sha256.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.answers import Answer, ask, plain
from pipelines.paper import Paper, draw_paper

if TYPE_CHECKING:
    import duckdb

STRIPS = 12
"""At most so many; where there are more kinds of segments, the rarest rhythms give way."""

CHOICE = """
    WITH alike AS (
        SELECT
            label.*
            , task.instance_id
            , task.part
            , task.left_out
            , task.clock
            , count(*) OVER kind AS alike
            , row_number() OVER (
                kind ORDER BY label.bad_signal_quality, task.clock = 'beyond', sha256(task.instance_id)
            ) AS place
        FROM vitaldb.segment_label_v0 AS label
        INNER JOIN {view} AS task ON label.case_id = task.record_id AND label.start_s = task.start_s
        WHERE label.rhythms IS NULL OR label.rhythms NOT LIKE '%|%'
        WINDOW kind AS (PARTITION BY label.label, label.reason, label.rhythms)
    )

    SELECT
        alike.*
        , reason.meaning
        , rhythm.note
    FROM alike
    LEFT JOIN map.vitaldb_reason AS reason ON alike.reason = reason.reason
    LEFT JOIN map.vitaldb_rhythm AS rhythm ON alike.rhythms = rhythm.spelling
    WHERE alike.place = 1
    ORDER BY alike.label IS NULL, alike.label DESC, reason.rank, alike.alike DESC, alike.rhythms
"""

BEATS = """
    SELECT
        row_no
        , time_s
        , beat_type
        , is_premature
        , rhythm
        , bad_signal_quality
    FROM vitaldb.annotation_v0
    WHERE case_id = {case_id} AND start_s = {start_s}
    ORDER BY row_no
"""

EVIDENCE = """
    SELECT
        evidence.kind
        , evidence.class
        , evidence.rule
        , evidence.value
        , evidence.source
        , evidence.source_no
        , evidence.rows_in
        , evidence.accepted
        , evidence.reason
        , reason.meaning
        , origin.time_s
    FROM vitaldb.segment_evidence_v0 AS evidence
    LEFT JOIN map.vitaldb_reason AS reason ON evidence.reason = reason.reason
    LEFT JOIN vitaldb.annotation_v0 AS origin
        ON evidence.case_id = origin.case_id AND evidence.source_no = origin.row_no
    WHERE evidence.case_id = {case_id} AND evidence.start_s = {start_s}
    ORDER BY evidence.accepted DESC, reason.rank, evidence.rule, evidence.source_no
"""

RUNS = """
    SELECT
        run_no
        , from_s
        , to_s
        , accepted
    FROM vitaldb.normal_context_v0
    WHERE case_id = {case_id} AND from_s < {start_s} + {duration_s} AND to_s >= {start_s}
    ORDER BY run_no
"""

SIGNAL = """
    WITH block AS (
        SELECT
            hz
            , samples
            , first_sample
            , {start_s} * hz - first_sample AS skipped
        FROM raw_vitaldb.signal
        WHERE
            case_id = {case_id}
            AND first_sample < ({start_s} + {duration_s}) * hz
            AND first_sample + len(samples) > {start_s} * hz
    )

    SELECT
        hz
        , greatest(-skipped, 0) AS offset_samples
        , list_slice(samples, greatest(skipped, 0) + 1, skipped + {duration_s} * hz) AS samples
    FROM block
    ORDER BY first_sample
"""


@dataclass(frozen=True)
class Strip:
    """A segment with all that a page draws of it. ``row`` is its line of the choice's answer."""

    row: dict[str, Any]
    beats: Answer
    evidence: Answer
    runs: Answer
    signal: str
    has_signal: bool
    paper: Paper

    @property
    def rhythm_changes(self) -> list[dict[str, Any]]:
        """The annotation rows with another rhythm than the row before, the first one included."""
        rows = self.beats.rows
        return [row for n, row in enumerate(rows) if n == 0 or row["rhythm"] != rows[n - 1]["rhythm"]]


def choose(con: duckdb.DuckDBPyConnection, view: str, most: int = STRIPS) -> tuple[Answer, list[dict]]:
    """The query over all kinds of segments, and those of its rows that are drawn, in its order."""
    answer = ask(con, CHOICE.format(view=view))
    rows = list(answer)
    spare = len(rows) - most
    labelled = [row for row in rows if row["label"] is not None]
    dropped = sorted(labelled, key=lambda row: (row["alike"], row["rhythms"]))[: max(spare, 0)]
    return answer, [row for row in rows if row not in dropped]


def read_strips(con: duckdb.DuckDBPyConnection, rows: Sequence[dict[str, Any]]) -> list[Strip]:
    """Read what is drawn of each chosen segment, and nothing else of its case."""
    strips = []
    for row in rows:
        where = {key: int(row[key]) for key in ("case_id", "start_s", "duration_s")}
        beats = ask(con, BEATS.format(**where))
        query = SIGNAL.format(**where)
        samples, hz = _samples(con, query, where["duration_s"])
        strips.append(
            Strip(
                row=row,
                beats=beats,
                evidence=ask(con, EVIDENCE.format(**where)),
                runs=ask(con, RUNS.format(**where)),
                signal=plain(query),
                has_signal=hz is not None,
                paper=draw_paper(samples, hz, where["duration_s"]),
            )
        )
    return strips


def _samples(con: duckdb.DuckDBPyConnection, query: str, duration_s: int) -> tuple[np.ndarray, int | None]:
    """(n,) float64 mV of the segment, NaN where nothing is stored, and Hz; empty and None without a signal."""
    blocks = con.execute(query).fetchall()
    if not blocks:
        return np.empty(0), None
    hz = int(blocks[0][0])
    samples = np.full(duration_s * hz, np.nan)
    for _, offset, values in blocks:
        samples[offset : offset + len(values)] = np.asarray(values, dtype=np.float64)
    return samples, hz
