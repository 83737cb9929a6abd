"""What every loader writes: Parquet tables and ``_load.json``, published as one generation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.errors import HomeError, Problem
from warehouse.home import Home, carry

ROW_GROUP = 131_072


@dataclass
class LoadReport:
    """``_load.json``: what came in, what became of it, what is odd. ``problems`` are cases that were not loaded."""

    dataset: str
    schema: str
    release: dict = field(default_factory=dict)
    sources: list[dict] = field(default_factory=list)
    tables: dict[str, dict] = field(default_factory=dict)
    oddities: list[dict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def odd(self, what: str, count: int, where: Iterable[object] = (), handled: str = "") -> None:
        """Note something odd, with how many and where, and what the views make of it."""
        if count:
            self.oddities.append({"what": what, "count": count, "where": list(where), "handled": handled})

    def as_json(self) -> dict:
        return {
            "dataset": self.dataset,
            "schema": self.schema,
            "release": self.release,
            "versions": {name: version(name) for name in ("pyarrow", "duckdb", "numpy")},
            "tables": self.tables,
            "oddities": self.oddities,
            "notes": self.notes,
            "problems": [str(problem) for problem in self.problems],
            "sources": self.sources,
        }

    def as_text(self) -> str:
        """The same for a terminal: tables, what is odd, notes; problems one a line."""
        release = self.release
        lines = [f"loaded {self.dataset}: {release.get('name') or 'a release the registry does not know'}"]
        if release and not release["is_specified"]:
            lines.append(f"  not the spec's release {release['specified']}: {release['note']}")
        lines += [f"  {name:<14} {entry['rows']:>10,} rows" for name, entry in self.tables.items()]
        if self.oddities:
            lines.append("odd, and kept (all of it in _load.json):")
        lines += [f"  {odd['count']:>7,} × {odd['what']}: {odd['handled']}" for odd in self.oddities]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"problem: {problem}" for problem in self.problems]
        return "\n".join(lines)


def write_table(folder: Path, name: str, table: pa.Table, report: LoadReport) -> None:
    """Write ``<folder>/<name>/<name>.parquet`` and enter it in the report."""
    target = folder / name / f"{name}.parquet"
    target.parent.mkdir()
    pq.write_table(table, target, compression="zstd", compression_level=1, row_group_size=ROW_GROUP)
    enter_table(folder, name, report)


def write_empty_table(folder: Path, name: str, schema: pa.Schema, report: LoadReport) -> None:
    """Write a table without rows, so that the views that read it run."""
    target = folder / name / f"{name}.parquet"
    target.parent.mkdir()
    pq.ParquetWriter(target, schema).close()
    enter_table(folder, name, report)


def enter_table(folder: Path, name: str, report: LoadReport) -> None:
    """Enter a table's files, rows and digest in the report."""
    files = sorted((folder / name).glob("*.parquet"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    report.tables[name] = {
        "files": [file.name for file in files],
        "rows": sum(pq.read_metadata(file).num_rows for file in files),
        "sha256": digest.hexdigest(),
    }


def carry_table(before: Path, folder: Path, name: str, report: LoadReport) -> None:
    """Bring a table of the load before into this one, unchanged."""
    for file in sorted((before / name).glob("*.parquet")):
        carry(file, folder / name / file.name)
    enter_table(folder, name, report)


def write_report(folder: Path, report: LoadReport) -> None:
    (folder / "_load.json").write_text(
        json.dumps(report.as_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def read_report(home: Home, dataset: str) -> dict | None:
    """The ``_load.json`` of a data set, None when it is not loaded. Raises HomeError when it cannot be read."""
    path = home.raw / dataset / "_load.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise HomeError(
            f"{path}: found {error}; expected what `load` wrote", f"load {dataset} again"
        ) from error


def loaded(home: Home) -> dict[str, dict]:
    """Every loaded data set with its report."""
    reports = {}
    for path in sorted(home.raw.glob("*/_load.json")):
        if not path.parent.name.startswith("."):
            reports[path.parent.name] = read_report(home, path.parent.name)
    return reports
