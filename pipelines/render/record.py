"""``render-record``: the pages of one WFDB record, as the generator prints them from the same file."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.render.draws import seed_of
from pipelines.render.job import JPEG, PNG, ImageSettings, augmenter, make_image
from pipelines.render.leads import NoPage, pieces
from pipelines.render.settings import PAGE_SECONDS
from pipelines.render.wfdb_leads import header_of, read_record
from warehouse.errors import InputError, Problem, UsageError
from warehouse.home import writing

FORMATS = {".jpg": JPEG, ".jpeg": JPEG, ".png": PNG}


def render_record(
    record: Path,
    out: Path,
    settings: ImageSettings | None = None,
    *,
    seed: int | None = None,
    geometry: bool = False,
) -> list[dict[str, Any]]:
    """Draw a WFDB record (with or without ``.hea`` or ``.dat``) to ``out``, whose suffix decides the format.

    A page per whole ten seconds: ``out`` for a single one, else ``out`` with ``-1``, ``-2``, … before its suffix.
    ``seed``: of the draws, :func:`seed_of` the record's name where None; a later page n takes ``<name>-<n>``, or the
    next number after ``seed``. ``geometry``: ``.json`` beside each image. Returns file, first second and
    drawn values of each; what is left after the last ten seconds has no page.
    Raises InputError for a record that cannot be read or printed, or once the others are there for pages that cannot;
    UsageError for another suffix or a folder in the way, HomeError when ``out`` cannot be written. No file of this
    call is left half written.
    """
    settings = settings or ImageSettings()
    kind = FORMATS.get(out.suffix.lower())
    if kind is None:
        raise UsageError(
            f"{out}: found suffix {out.suffix or '(none)'}; expected one of {', '.join(FORMATS)}"
        )
    settings = replace(settings, format=kind)
    if not settings.plain:
        augmenter(settings.augmenter)
    header = header_of(record)
    leads, hz = read_record(header)
    try:
        found = list(pieces(leads, hz))
    except NoPage as error:
        raise _no_page(header, [(None, error)], 1) from None
    files = [out.with_name(f"{out.stem}-{number}{out.suffix}") for number in range(1, len(found) + 1)]
    files = files if len(found) > 1 else [out]
    for file in files:
        if file.is_dir():
            raise UsageError(f"{file}: found a folder; expected a file to write")
    told, refused = [], []
    for number, (file, (begin_s, page)) in enumerate(zip(files, found, strict=True), start=1):
        if seed is None:
            own = seed_of(header.stem if number == 1 else f"{header.stem}-{number}", settings.seed_prefix)
        else:
            own = seed + number - 1
        try:
            image = make_image(page, hz, own, settings)
        except NoPage as error:
            refused.append((begin_s, error))
            continue
        with writing(out.parent, "OUT"):
            out.parent.mkdir(parents=True, exist_ok=True)
            _write(file, image.data)
            if geometry:
                text = json.dumps(image.geometry.as_dict(), indent=1, allow_nan=False) + "\n"
                _write(file.with_suffix(".json"), text.encode())
        told.append({"file": str(file), "begin_s": begin_s, **image.draws.as_dict()})
    if refused:
        raise _no_page(header, refused, len(found))
    return told


def _no_page(header: Path, refused: list[tuple[int | None, NoPage]], of: int) -> InputError:
    """What gives no page says of which record, and of which seconds where there are more pages."""
    summary = f"{header.name}: no page of this record"
    if len(refused) < of:
        summary = f"{header.name}: {len(refused)} of {of} pages were not drawn; the rest is there"
    problems = []
    for begin_s, error in refused:
        where = header.name if of == 1 else f"{header.name}, {begin_s} to {begin_s + PAGE_SECONDS} s"
        problems += [Problem(where, each.found, each.expected) for each in error.problems]
    return InputError(summary, problems, refused[0][1].next_step)


def _write(path: Path, data: bytes) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
