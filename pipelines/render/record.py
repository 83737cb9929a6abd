"""``render-record``: the pages of one WFDB record, as the generator prints them from the same file."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.render.draws import seed_of
from pipelines.render.job import JPEG, PNG, ImageSettings, augmenter, make_image
from pipelines.render.leads import pages
from warehouse.errors import InputError, Problem, UsageError
from warehouse.home import writing

FORMATS = {".jpg": JPEG, ".jpeg": JPEG, ".png": PNG}
MICROVOLTS = {"mv": 1000.0, "uv": 1.0, "µv": 1.0, "v": 1e6}


def render_record(
    record: Path,
    out: Path,
    settings: ImageSettings | None = None,
    *,
    seed: int | None = None,
    geometry: bool = False,
) -> list[dict[str, Any]]:
    """Draw a WFDB record (with or without ``.hea``) to ``out``, whose suffix decides the format.

    A page per whole ten seconds: ``out`` for a single one, else ``out`` with ``-1``, ``-2``, … before its suffix.
    ``seed``: of the draws, :func:`seed_of` the record's name where None; a later page n takes ``<name>-<n>``, or the
    next number after ``seed``. ``geometry``: ``.json`` beside each image. Returns file, first second and
    drawn values of each; what is left after the last ten seconds has no page.
    Raises InputError for a record that cannot be read or printed, UsageError for another suffix, HomeError when
    ``out`` cannot be written; then no file of this call is left half written.
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
    name = record.name.removesuffix(".hea")
    leads, hz = read_record(record.with_name(name))
    found = list(pages(leads, hz))
    told = []
    for number, (begin_s, page) in enumerate(found, start=1):
        file = out if len(found) == 1 else out.with_name(f"{out.stem}-{number}{out.suffix}")
        if seed is None:
            own = seed_of(name if number == 1 else f"{name}-{number}", settings.seed_prefix)
        else:
            own = seed + number - 1
        image = make_image(page, hz, own, settings)
        with writing(out.parent):
            out.parent.mkdir(parents=True, exist_ok=True)
            _write(file, image.data)
            if geometry:
                text = json.dumps(image.geometry.as_dict(), indent=1, allow_nan=False) + "\n"
                _write(file.with_suffix(".json"), text.encode())
        told.append({"file": str(file), "begin_s": begin_s, **image.draws.as_dict()})
    return told


def read_record(path: Path) -> tuple[dict[str, np.ndarray], float]:
    """Leads by name, (n,) float64 mV with NaN where missing, and Hz. ``path`` has no suffix.

    Physical values as the wfdb package gives them, whatever format, gains and baselines; leads of one rate alone.
    Raises InputError when there is no such record, or one that wfdb cannot read.
    """
    import wfdb

    header = path.with_name(f"{path.name}.hea")
    if not header.is_file():
        raise _refused(header, "no file", "the header of a WFDB record")
    try:
        record = wfdb.rdrecord(str(path))
    except Exception as error:  # wfdb raises whatever its parser meets
        raise _refused(
            header, f"{type(error).__name__}: {error}", "a record that the wfdb package reads"
        ) from None
    if record.p_signal is None or not record.p_signal.size:
        raise _refused(header, "no samples", "a record with signals")
    names = [lead.strip() for lead in record.sig_name]
    units = [unit.lower() for unit in record.units]
    strange = sorted({unit for unit in units if unit not in MICROVOLTS})
    if strange:
        raise _refused(header, f"units {', '.join(strange)}", "mV, uV or V")
    if len(set(names)) < len(names):
        raise _refused(header, f"leads {', '.join(names)}", "each lead once")
    leads = {
        name: record.p_signal[:, place] * (MICROVOLTS[units[place]] / 1000)
        for place, name in enumerate(names)
    }
    return leads, float(record.fs)


def _refused(path: Path, found: str, expected: str) -> InputError:
    return InputError(
        f"{path.name}: not drawn", [Problem(path.name, found, expected)], "check the record's files"
    )


def _write(path: Path, data: bytes) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
