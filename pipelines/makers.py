"""Who made predictions: a file's name, or a baseline or a model where this home wrote the file itself.

A Parquet file says by a key-value note which baseline or trained model it is of, and anybody can write such a note.
So `baseline` and `predict` keep the sha256 of every file that they write in ``data/predictions/.written/``, a small
file each, and the name is believed where the submitted file is one of those. Elsewhere it stays what it is, something
that the file says.
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


MODEL = "model "
"""What stands before the name of a trained model, among the names of baselines."""


def remember(home: Home, name: str, sha256: str) -> None:
    """Keep that this home wrote a file with this digest, for baseline `name`, or for ``model <run>``."""
    folder = home.path / "predictions" / ".written"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / sha256, f"{name}\n")


def believed(home: Home, made_by: Mapping[str, Any]) -> dict[str, Any]:
    """``made_by`` of a submission or a record, with ``baseline`` or ``model`` only where this home wrote the file.

    What a file says without that stands in ``says``; ``remark`` is what a reader of its score must know.
    """
    baseline, model = made_by.get("baseline"), made_by.get("model")
    said = baseline or (f"{MODEL}{model}" if model else None)
    true = said is not None and _written(home, str(made_by.get("sha256"))) == said
    return {
        **made_by,
        "baseline": baseline if true else None,
        "model": model if true else None,
        "says": None if true else said,
        "remark": REFERENCES.get(str(baseline)),
    }


def maker(made_by: Mapping[str, Any] | None, otherwise: str = "-") -> str:
    """What `believed` found, as a name in one line."""
    made_by = made_by or {}
    if made_by.get("baseline"):
        return one_line(made_by["baseline"])
    if made_by.get("model"):
        return one_line(f"{MODEL}{made_by['model']}")
    name = one_line(made_by.get("file") or otherwise)
    return f"{name} (which says it is {called(made_by['says'])})" if made_by.get("says") else name


def called(said: str) -> str:
    """What a file says it is, in words and in one line."""
    return one_line(said if said.startswith(MODEL) else f"baseline {said}")


def _written(home: Home, sha256: str) -> str | None:
    """What of this home wrote the file with this digest."""
    if len(sha256) != 64 or not sha256.isalnum():
        return None
    try:
        return (home.path / "predictions" / ".written" / sha256).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
