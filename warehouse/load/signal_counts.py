"""Signals as the converter gave them: int16 counts with their scale, in shards of Parquet, and facts about each.

====================  ===================================================================================
``signal``            a row a record: ``samples`` are ``n_leads`` × ``n_samples`` counts, lead after lead in
                      the order of ``leads`` (names, comma between); µV = (count − baseline) × uv_per_count;
                      ``missing_count`` is the count that stands for no value, null where all are values
``signal_fact``       a row a record: what label rules need to know of it, since no view opens a signal
====================  ===================================================================================

Counts stay exact where microvolts would not fit int16. Of 120 real 12-lead records at 500 Hz, delta encoding
with zstd 1 takes 38 % of the int16 bytes, plain encoding with zstd 1 54 %, Parquet's defaults 65 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.leads import complete, standard_name
from warehouse.load.columns import from_blocks, from_bools, from_known, from_numbers, from_texts, repeated

RECORDS_PER_SHARD = 2048
RECORDS_PER_GROUP = 32
"""A reader of one record decodes this many."""

SIGNAL = pa.schema(
    [
        ("record_id", pa.string()),
        ("leads", pa.dictionary(pa.int32(), pa.string())),
        ("n_leads", pa.int32()),
        ("n_samples", pa.int32()),
        ("hz", pa.int32()),
        ("uv_per_count", pa.float64()),
        ("baseline", pa.int32()),
        ("missing_count", pa.int32()),
        ("samples", pa.list_(pa.field("item", pa.int16()))),
    ]
)
FACT = pa.schema(
    [
        ("record_id", pa.string()),
        ("has_signal", pa.bool_()),
        ("flat", pa.bool_()),
        ("constant_leads", pa.int32()),
        ("min_count", pa.int32()),
        ("max_count", pa.int32()),
        ("uv_per_count", pa.float64()),
        ("extreme_uv", pa.float64()),
    ]
)
"""``extreme_uv``: how far from 0 µV the twelve leads go, derived ones among them; null without a single value."""
_HOW = {
    "compression": "zstd",
    "compression_level": 1,
    "use_dictionary": ["leads"],
    "column_encoding": {"samples.list.element": "DELTA_BINARY_PACKED"},
}


@dataclass(frozen=True)
class Scale:
    """Of one block: ``uv_per_count`` µV lie between two counts, ``baseline`` is the count of 0 µV.

    ``missing`` is the count that stands for no value, where the format has one.
    """

    leads: tuple[str, ...]
    hz: int
    uv_per_count: float
    baseline: int = 0
    missing: int | None = None


class CountsWriter:
    """Takes blocks of records in order and writes the shards of ``signal``; a context manager.

    After the block ends, :meth:`facts` has a row a record.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "signal"
        self._records = 0
        self._shard: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []
        self._facts: list[pa.Table] = []

    def __enter__(self) -> CountsWriter:
        self._folder.mkdir(parents=True)
        return self

    def __exit__(self, kind, _error, _trace) -> None:
        if kind is None:
            self._flush(whole=True)
            if self._records == 0:
                self._open()
        if self._shard is not None:
            self._shard.close()
            self._shard = None

    def add(self, ids: Sequence[str], counts: np.ndarray, scale: Scale) -> None:
        """Write records; ``counts`` is (n, leads, samples) int16."""
        n, n_leads, n_samples = counts.shape
        self._waiting.append(
            pa.table(
                [
                    from_texts(list(ids)),
                    repeated(",".join(scale.leads), n),
                    from_numbers(np.full(n, n_leads, np.int32)),
                    from_numbers(np.full(n, n_samples, np.int32)),
                    from_numbers(np.full(n, scale.hz, np.int32)),
                    from_numbers(np.full(n, scale.uv_per_count)),
                    from_numbers(np.full(n, scale.baseline, np.int32)),
                    from_known(
                        np.full(n, scale.missing or 0, np.int32), np.full(n, scale.missing is not None)
                    ),
                    from_blocks(counts.reshape(n, -1)),
                ],
                schema=SIGNAL,
            )
        )
        self._facts.append(_facts(ids, counts, scale))
        self._flush()

    def facts(self, without: Sequence[str] = ()) -> pa.Table:
        """``signal_fact``: the records that were written, then those ``without`` a signal."""
        nothing = np.zeros(len(without), bool)
        rest = pa.table(
            [
                from_texts(list(without)),
                from_bools(nothing),
                from_known(nothing, nothing),
                *(from_known(nothing.astype(np.int32), nothing) for _ in range(3)),
                *(from_known(nothing.astype(np.float64), nothing) for _ in range(2)),
            ],
            schema=FACT,
        )
        return pa.concat_tables([*self._facts, rest])

    def _flush(self, whole: bool = False) -> None:
        """Write full row groups, at the end what is left too."""
        while sum(table.num_rows for table in self._waiting) >= (1 if whole else RECORDS_PER_GROUP):
            waiting = pa.concat_tables(self._waiting, promote_options="none")
            group, rest = waiting.slice(0, RECORDS_PER_GROUP), waiting.slice(RECORDS_PER_GROUP)
            self._waiting = [rest] if rest.num_rows else []
            if self._records % RECORDS_PER_SHARD == 0:
                self._open()
            self._shard.write_table(group.combine_chunks())
            self._records += group.num_rows

    def _open(self) -> None:
        if self._shard is not None:
            self._shard.close()
        path = self._folder / f"signal-{self._records // RECORDS_PER_SHARD:04d}.parquet"
        self._shard = pq.ParquetWriter(path, SIGNAL, **_HOW)


def _facts(ids: Sequence[str], counts: np.ndarray, scale: Scale) -> pa.Table:
    lowest, highest = counts.min(axis=2), counts.max(axis=2)
    constant = (lowest == highest).sum(axis=1).astype(np.int32)
    n = len(constant)
    return pa.table(
        [
            from_texts(list(ids)),
            from_bools(np.ones(n, bool)),
            from_bools(constant == counts.shape[1]),
            from_numbers(constant),
            from_numbers(lowest.min(axis=1).astype(np.int32)),
            from_numbers(highest.max(axis=1).astype(np.int32)),
            from_numbers(np.full(n, scale.uv_per_count)),
            from_known(*_extremes(counts, scale)),
        ],
        schema=FACT,
    )


def _extremes(counts: np.ndarray, scale: Scale) -> tuple[np.ndarray, np.ndarray]:
    """(n,) µV, and whether the record has a value at all."""
    values = counts.astype(np.float32) - np.float32(scale.baseline)  # whole and half numbers below 2²³: exact
    if scale.missing is not None:
        values[counts == scale.missing] = np.nan
    names = [standard_name(lead) for lead in scale.leads]
    extreme = np.zeros(len(counts), np.float64)
    known = np.zeros(len(counts), bool)
    for lead in complete({name: values[:, place] for place, name in enumerate(names)}).values():
        present = ~np.isnan(lead)
        extreme = np.maximum(extreme, np.abs(np.where(present, lead, 0)).max(axis=1, initial=0))
        known |= present.any(axis=1)
    return extreme * scale.uv_per_count, known
