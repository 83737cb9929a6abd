"""Which loaded release `demo` made up: a page says so, and only such a release is loaded over by the next demo."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from warehouse.home import Home, write_text, writing


def note(home: Home, report: dict, made: dict) -> None:
    """Remember that the release of a load's ``report`` was made up, and of what."""
    with writing(home.path):
        write_text(_path(home, report), json.dumps({"loaded": _mark(report), **made}) + "\n")


def made_up(home: Home, report: dict | None) -> dict | None:
    """What was noted of the release that is loaded; None when the loaded release is another one."""
    if report is None:
        return None
    try:
        made = json.loads(_path(home, report).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return made if made.get("loaded") == _mark(report) else None


def _path(home: Home, report: dict) -> Path:
    return home.path / "demo" / f"{report['dataset']}.json"


def _mark(report: dict) -> str:
    """A digest of everything that was loaded."""
    tables = "".join(f"{name} {entry['sha256']}\n" for name, entry in sorted(report["tables"].items()))
    return hashlib.sha256(tables.encode()).hexdigest()
