"""Predictions as a file of the house: Parquet, with a note of who made it, whose digest the home keeps."""

from __future__ import annotations

import hashlib
import io
import uuid
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from pipelines.makers import remember
from warehouse.errors import HomeError, UsageError
from warehouse.home import Home, sync, writing

if TYPE_CHECKING:
    from warehouse.task import TaskData


def check_out(out: Path | None, example: str) -> None:
    """UsageError when `out` is no name for a Parquet file."""
    if out is not None and (out.is_dir() or out.suffix.lower() != ".parquet"):
        found = "a folder" if out.is_dir() else f"the suffix {out.suffix or '(none)'!r}"
        raise UsageError(
            f"--out {out}: found {found}; expected the name of a Parquet file",
            f"pass a name like {example}",
        )


def write_predictions(
    home: Home,
    task: TaskData,
    frame: pl.DataFrame,
    name: str,
    out: Path | None,
    *,
    notes: Mapping[str, str],
    maker: str,
) -> Path:
    """Write `frame` whole or not at all to `out`, ``predictions/<slug>_v<N>/<name>.parquet`` in the home where None.

    The home keeps the file's digest with `maker`, so that the name is believed (`pipelines.makers`); a home that
    cannot be written still gives a file elsewhere. HomeError.
    """
    buffer = io.BytesIO()
    frame.write_parquet(buffer, statistics=False, metadata=dict(notes))
    path = out or home.path / "predictions" / task.spec.view.removeprefix("task.") / f"{name}.parquet"
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
        try:
            draft.write_bytes(buffer.getvalue())
            sync(draft)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    with suppress(HomeError) if out is not None else nullcontext():
        remember(home, maker, hashlib.sha256(buffer.getvalue()).hexdigest())
    return path
