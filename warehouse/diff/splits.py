"""A split drawn as another declaration says: who would move to which part."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from warehouse.home import Home
from warehouse.load.report import loaded
from warehouse.splits import draw

if TYPE_CHECKING:
    import pyarrow as pa

NOT_IN_SAMPLE = "not in the sample"


def drawn_by(home: Home, name: str, declared: dict) -> pa.Table | None:
    """``split.<name>`` as `load` would write it for this declaration, from what is loaded; None where nothing is.

    Raises RegistryError for a declaration that does not give the membership which it locks.
    """
    found = next(
        ((dataset, report) for dataset, report in loaded(home).items() if report["schema"] == name), None
    )
    if found is None:
        return None
    dataset, report = found
    if "units" in declared:
        from warehouse.load.vitaldb_arrhythmia import split_table

        return split_table(draw(name, declared))
    if "fractions" in declared:
        from warehouse.load.mitbih_split import draw_beats

        annotation = _read(home, dataset, report, "annotation")
        return draw_beats(annotation, report["release"]["name"], declared)
    return _by_record(home, dataset, report, declared)


def _by_record(home: Home, dataset: str, report: Mapping, declared: dict) -> pa.Table:
    from warehouse.load.lydus_split import Split, draw_sample, draw_split, split_table

    before = _read(home, dataset, report, "split").to_pydict()
    if report["release"]["is_specified"]:  # the published membership: only the sample is drawn
        membership = Split(before["record_id"], before["group_id"], before["part"], "", True)
    else:
        record = _read(home, dataset, report, "record").select(["record_id", "patient_id"]).to_pydict()
        patients = record["patient_id"] if any(record["patient_id"]) else None
        membership = draw_split(record["record_id"], patients, declared)
    return split_table(membership, draw_sample(membership, declared))


def members(table: pa.Table) -> dict[str, str]:
    """Unit → its part, with a word where the sample leaves it out; the unit is every column before the part."""
    columns = table.to_pydict()
    names = list(columns)
    keys = [name for name in names[: names.index("part")] if name != "group_id"]
    units = ["_".join(map(str, key)) for key in zip(*(columns[name] for name in keys), strict=True)]
    sampled = columns.get("sampled") or [True] * len(units)
    return {
        unit: part if is_in else f"{part}, {NOT_IN_SAMPLE}"
        for unit, part, is_in in zip(units, columns["part"], sampled, strict=True)
    }


def write(table: pa.Table, folder: Path, name: str) -> Path:
    """The table as a Parquet file in ``folder``."""
    import pyarrow.parquet as pq

    path = folder / f"{name}.parquet"
    pq.write_table(table, path)
    return path


def _read(home: Home, dataset: str, report: Mapping, table: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = [home.loaded(dataset) / table / file for file in report["tables"][table]["files"]]
    return pa.concat_tables([pq.read_table(file) for file in files])
