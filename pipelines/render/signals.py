"""Signals for pages: where the records of a task lie in the home, their leads in mV, the printer's resolution.

Signals stay in Parquet; a row group of some thirty records is read at a time, never a whole table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipelines.render.leads import NoPage
from warehouse.errors import HomeError
from warehouse.home import Home
from warehouse.leads import LEADS, complete, standard_name
from warehouse.load.cards import card_of
from warehouse.spec import Spec

if TYPE_CHECKING:
    import pyarrow as pa

    from warehouse.database import Input

LARGEST = 32_767
"""Of 16 bits; −32,768 stands for no value (WFDB format 16)."""


@dataclass(frozen=True)
class Group:
    """One row group of a signal table: what a worker reads at a time."""

    file: Path
    number: int


@dataclass(frozen=True)
class WfdbGain:
    """The spec's input.render.wfdb_gain: 16-bit records at ``uv_per_count`` µV a count, or at ``then_uv_per_count``
    where one of the twelve leads goes beyond ``beyond_mv``.
    """

    uv_per_count: float
    beyond_mv: float
    then_uv_per_count: float

    @classmethod
    def of(cls, spec: Spec) -> WfdbGain | None:
        """A task's rule; None where its records go to the printer as they are stored."""
        rule = spec.data["input"]["render"].get("wfdb_gain")
        return cls(*(rule[name] for name in cls.__dataclass_fields__)) if rule else None


def signal_table(home: Home, spec: Spec) -> tuple[str, Input]:
    """The SQL name and the files of the signals behind a task. Raises HomeError when there are none."""
    from warehouse.database import inputs  # brings DuckDB, which a worker does without

    name = f"raw_{card_of(spec.data['dataset'])['schema']}.signal"
    table = inputs(home).get(name)
    if table is None or not table.files:
        raise HomeError(
            f"{home.path}: found no {name}; expected signals", f"run `load {spec.data['dataset']} SOURCE`"
        )
    return name, table


def find_records(files: Collection[Path], record_ids: Collection[str]) -> dict[Group, dict[str, int]]:
    """Row group → record → its row there, of the records that have a signal; groups without any are left out.

    Raises HomeError for a file that cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    wanted, found = set(record_ids), {}
    for file in files:
        try:
            parquet = pq.ParquetFile(file)
            for number in range(parquet.num_row_groups):
                ids = parquet.read_row_group(number, columns=["record_id"])["record_id"].to_pylist()
                rows = {record_id: row for row, record_id in enumerate(ids) if record_id in wanted}
                if rows:
                    found[Group(file, number)] = rows
        except (pa.ArrowException, OSError) as error:
            raise unreadable(file, error) from error
    return found


def unreadable(file: Path, error: Exception) -> HomeError:
    """A file of signals that is damaged, or that a later load has replaced."""
    return HomeError(
        f"{file}: found {str(error).splitlines()[0]}; expected the signals that `load` wrote",
        "load the data set again, then render again: images that are there are kept",
    )


def read_group(group: Group) -> pa.Table:
    """The records of a row group. Raises HomeError when they cannot be read.

    Arrow's own allocator keeps 20 MiB a worker that the system's gives back.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    usual = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        return pq.ParquetFile(group.file).read_row_group(group.number, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(group.file, error) from error
    finally:
        pa.set_memory_pool(usual)


def leads_of(table: pa.Table, row: int) -> tuple[dict[str, np.ndarray], int]:
    """One record's leads by name, (n,) float64 mV with NaN where missing, and its rate in Hz.

    mV = (count − baseline) / gain as WFDB has it, gain in counts a mV. Raises NoPage when the row contradicts itself.
    Samples come from Arrow's buffer: its own ``to_numpy`` would bring pandas, 40 MiB a worker.
    """
    record = {
        name: table[name][row].as_py() for name in ("leads", "n_leads", "n_samples", "hz", "uv_per_count")
    }
    baseline, missing = table["baseline"][row].as_py(), table["missing_count"][row].as_py()
    values = table["samples"][row].values
    samples = np.frombuffer(values.buffers()[1], np.int16)[values.offset : values.offset + len(values)]
    names = record["leads"].split(",")
    if len(names) != record["n_leads"] or len(samples) != record["n_leads"] * record["n_samples"]:
        found = f"{len(names)} lead names and {len(samples):,} samples"
        raise NoPage("shape", found, f"{record['n_leads']} leads of {record['n_samples']:,} samples")
    counts = samples.reshape(record["n_leads"], record["n_samples"])
    mv = (counts.astype(np.float64) - baseline) / (1000 / record["uv_per_count"])
    if missing is not None:
        mv[counts == missing] = np.nan
    return dict(zip(names, mv, strict=True)), record["hz"]


def rounded(leads: Mapping[str, np.ndarray], rule: WfdbGain) -> tuple[dict[str, np.ndarray], float]:
    """The twelve leads as a 16-bit WFDB record holds them, in mV again, and its µV a count.

    The four derived leads are computed first and rounded like the others, ties to the even count. NaN stays NaN.
    Raises NoPage where a value does not fit 16 bits even at the coarser resolution.
    """
    named = complete({standard_name(name): values for name, values in leads.items()})
    twelve = {lead: named[lead] for lead in LEADS if lead in named}
    extreme = max((float(np.nanmax(np.abs(mv), initial=0.0)) for mv in twelve.values()), default=0.0)
    uv_per_count = rule.uv_per_count if extreme <= rule.beyond_mv else rule.then_uv_per_count
    gain = 1000 / uv_per_count
    if extreme * gain > LARGEST + 0.5:
        raise NoPage(
            "range",
            f"a value of {extreme:,.1f} mV",
            f"at most {LARGEST / gain:,.2f} mV: 16 bits at {uv_per_count:g} µV a count",
        )
    return {lead: np.rint(mv * gain) / gain for lead, mv in twelve.items()}, uv_per_count
