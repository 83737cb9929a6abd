"""Files of the home that are not the ones that were written: what an error of DuckDB may come from.

DuckDB says in many words, and as many classes of errors, that it cannot read a page. Whether a file is damaged is told
by its digest, and which one, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb

from warehouse.database import Input, inputs, unreadable
from warehouse.digests import file_digest
from warehouse.errors import HomeError
from warehouse.home import Home
from warehouse.manifest import read_manifest

LOOKED_AT = 1 << 30
"""Bytes of a table beyond which only `audit` reads it whole: signals."""

OF_THE_QUERY = (
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ConversionException,
    duckdb.OutOfRangeException,
    duckdb.ConstraintException,
    duckdb.OutOfMemoryException,
    duckdb.InterruptException,
)
"""What no damaged file is the reason of."""


def may_come_of_damage(error: BaseException | None) -> bool:
    """Whether DuckDB said it of what it read."""
    return isinstance(error, duckdb.Error) and not isinstance(error, OF_THE_QUERY)


def changed_built(home: Home, manifest: Mapping[str, Mapping], names: Iterable[str]) -> list[tuple[str, str]]:
    """(view, file in ``data/built``) of those views whose files `materialize` did not write so."""
    entries = [(name, manifest[name]) for name in names]
    return [
        (name, entry["file"])
        for name, entry in entries
        if file_digest(home.built / entry["file"]) != entry["sha256"]
    ]


def changed_raw(present: Mapping[str, Input], names: Iterable[str]) -> list[str]:
    """Those of the raw tables whose files `load` did not write so."""
    return [name for name in names if not present[name].is_intact]


def damage(home: Home, error: Exception) -> HomeError | None:
    """The error that names the damaged files of the home, where there are any that another error may come from."""
    said: BaseException | None = error
    while said is not None and not isinstance(said, duckdb.Error):
        said = said.__cause__
    if isinstance(error, HomeError) or not may_come_of_damage(said):
        return None
    try:
        present, manifest = inputs(home), read_manifest(home)["views"]
    except HomeError:
        return None
    small = sorted(
        name for name, source in present.items() if source.files and _bytes(source.files) < LOOKED_AT
    )
    files = [present[name].files[0] for name in changed_raw(present, small)]
    files += [home.built / file for _, file in changed_built(home, manifest, manifest)]
    found = [unreadable(file, said) for file in files]
    if len(found) < 2:
        return found[0] if found else None
    steps = dict.fromkeys(each.next_step for each in found)
    return HomeError("\n".join(str(each).splitlines()[0] for each in found), "; ".join(steps))


def _bytes(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())
