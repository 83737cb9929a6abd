"""Who made predictions: a file's name, or a baseline where this home wrote the file itself.

A Parquet file says by a key-value note which baseline wrote it, and anybody can write such a note. So `baseline`
keeps the sha256 of every file that it writes in ``data/predictions/.written/``, a small file each, and the name is
believed where the submitted file is one of those. Elsewhere it stays what it is, something that the file says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warehouse.home import Home, write_text, writing
from warehouse.table import one_line

NOTE = "leadhouse.baseline"
"""The key-value note of a Parquet file by which a baseline says which one it is."""

REFERENCES = {"rr-annotated": "reads annotated beats: a reference, no model of a signal"}
"""Baselines whose score is no submission's rival, and why."""


def remember(home: Home, baseline: str, sha256: str) -> None:
    """Keep that `baseline` of this home wrote a file with this digest."""
    folder = home.path / "predictions" / ".written"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / sha256, f"{baseline}\n")


def believed(home: Home, made_by: Mapping[str, Any]) -> dict[str, Any]:
    """``made_by`` of a submission or a record, with ``baseline`` only where this home wrote the file.

    What a file says without that stands in ``says``; ``remark`` is what a reader of its score must know.
    """
    said = made_by.get("baseline")
    baseline = said if said and _written(home, str(made_by.get("sha256"))) == said else None
    return {
        **made_by,
        "baseline": baseline,
        "says": said if baseline is None else None,
        "remark": REFERENCES.get(str(said)),
    }


def maker(made_by: Mapping[str, Any] | None, otherwise: str = "-") -> str:
    """What `believed` found, as a name in one line."""
    made_by = made_by or {}
    if made_by.get("baseline"):
        return one_line(made_by["baseline"])
    name = one_line(made_by.get("file") or otherwise)
    return f"{name} (which says it is baseline {one_line(made_by['says'])})" if made_by.get("says") else name


def _written(home: Home, sha256: str) -> str | None:
    """Which baseline of this home wrote the file with this digest."""
    if len(sha256) != 64 or not sha256.isalnum():
        return None
    try:
        return (home.path / "predictions" / ".written" / sha256).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
