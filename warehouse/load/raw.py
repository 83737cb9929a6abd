"""What every loader writes: Parquet tables, each entered in the load's report."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.digests import files_digest
from warehouse.home import carry
from warehouse.load.report import LoadReport

ROW_GROUP = 131_072


def write_table(folder: Path, name: str, table: pa.Table, report: LoadReport) -> None:
    """Write ``<folder>/<name>/<name>.parquet`` and enter it in the report.

    Numbers with a fraction are compressed by Snappy: zstd takes half as long again over VitalDB's times, to write and
    to read, and leaves seven tenths of the bytes.
    """
    target = folder / name / f"{name}.parquet"
    target.parent.mkdir()
    floats = {field.name: pa.types.is_floating(field.type) for field in table.schema}
    pq.write_table(
        table,
        target,
        compression={name: "snappy" if floating else "zstd" for name, floating in floats.items()},
        compression_level={name: 1 for name, floating in floats.items() if not floating},
        row_group_size=ROW_GROUP,
        use_dictionary=[name for name, floating in floats.items() if not floating],
        write_statistics=[field.name for field in table.schema if _is_looked_for(field)],
    )
    enter_table(folder, name, report)


def _is_looked_for(field: pa.Field) -> bool:
    """Whether readers skip rows by a column: the least and greatest of few words tell little and take long to find."""
    return not pa.types.is_dictionary(field.type) or field.name.endswith("_id")


def write_empty_table(folder: Path, name: str, schema: pa.Schema, report: LoadReport) -> None:
    """Write a table without rows, so that the views that read it run."""
    target = folder / name / f"{name}.parquet"
    target.parent.mkdir()
    pq.ParquetWriter(target, schema).close()
    enter_table(folder, name, report)


def enter_table(folder: Path, name: str, report: LoadReport) -> None:
    """Enter a table's files, rows and digest in the report."""
    files = sorted((folder / name).glob("*.parquet"))
    report.tables[name] = {
        "files": [file.name for file in files],
        "rows": sum(pq.read_metadata(file).num_rows for file in files),
        "sha256": files_digest(files),
    }


def carry_table(before: Path, folder: Path, name: str, report: LoadReport) -> None:
    """Bring a table of the load before into this one, unchanged."""
    for file in sorted((before / name).glob("*.parquet")):
        carry(file, folder / name / file.name)
    enter_table(folder, name, report)
