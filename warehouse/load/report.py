"""``_load.json``: what a load took in, what became of it, what is odd.

Apart from the Parquet writing in :mod:`warehouse.load.raw`, so that a command that only reads starts without Arrow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from warehouse.errors import HomeError, Problem
from warehouse.home import Home


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
    next_step: str | None = None
    """What to do about the problems; not in the file."""

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
        lines = [
            f"loaded {self.dataset}: {release.get('name') or 'a release that the registry does not know'}"
        ]
        if release and not release["is_specified"]:
            lines.append(f"  {release['note']}")
        lines += [f"  {name:<14} {entry['rows']:>10,} rows" for name, entry in self.tables.items()]
        if self.oddities:
            lines.append("odd, and kept (all of it in _load.json):")
        lines += [f"  {odd['count']:>7,} × {odd['what']}: {odd['handled']}" for odd in self.oddities]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"problem: {problem}" for problem in self.problems]
        return "\n".join(lines)


def write_report(folder: Path, report: LoadReport) -> None:
    """Write ``_load.json``; a byte of a name that is not UTF-8 is written out, as in ``caf\\udce9``."""
    text = _laid_out(report.as_json())
    text = re.sub("[\ud800-\udfff]", lambda found: f"\\\\u{ord(found[0]):04x}", text)
    (folder / "_load.json").write_text(text, encoding="utf-8")


def _laid_out(report: dict) -> str:
    """JSON with a key a line, and a table, a source, a note a line below it."""

    def lines(value: object) -> str:
        if isinstance(value, dict) and value:
            return (
                "{\n  " + ",\n  ".join(f"{text(key)}: {text(each)}" for key, each in value.items()) + "\n }"
            )
        if isinstance(value, list) and value:
            return "[\n  " + ",\n  ".join(map(text, value)) + "\n ]"
        return text(value)

    text = json.JSONEncoder(ensure_ascii=False).encode  # with an indent, json is written in Python
    return "{\n " + ",\n ".join(f"{text(key)}: {lines(value)}" for key, value in report.items()) + "\n}\n"


def read_report(home: Home, dataset: str) -> dict | None:
    """The ``_load.json`` of a data set, None when it is not loaded. Raises HomeError when it cannot be read."""
    path = home.raw / dataset / "_load.json"
    try:
        return _checked(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise HomeError(
            f"{path}: found {error}; expected what `load` wrote",
            f"load {dataset} again, with its signals if it had some",
        ) from error


def report_before(folder: Path) -> dict | None:
    """The ``_load.json`` of the load that a new one follows; None where there is none that can be read.

    Never an error, so that a load can mend what reading refuses.
    """
    try:
        return _checked(json.loads((folder / "_load.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


_SHAPE = {"dataset": str, "schema": str, "release": dict, "versions": dict, "tables": dict, "notes": list}
"""What readers rely on."""


def _checked(report: object) -> dict:
    """``report`` when it has all that readers rely on. Raises ValueError when it has not."""
    if not isinstance(report, dict):
        raise ValueError("no JSON object")
    lacking = [name for name, kind in _SHAPE.items() if not isinstance(report.get(name), kind)]
    if lacking:
        raise ValueError(f"no {', '.join(lacking)}")
    for name, entry in report["tables"].items():
        if not isinstance(entry, dict) or not {"files", "rows", "sha256"} <= entry.keys():
            raise ValueError(f"table {name} without its files, rows and digest")
    return report


def loaded(home: Home) -> dict[str, dict]:
    """Every loaded data set with its report."""
    reports = {}
    for path in sorted(home.raw.glob("*/_load.json")):
        if not path.parent.name.startswith("."):
            reports[path.parent.name] = read_report(home, path.parent.name)
    return reports
