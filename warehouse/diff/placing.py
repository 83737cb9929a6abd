"""One version of a view in the place of another: what a task would say if it read that one."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from warehouse.flips import why_view
from warehouse.spec import Spec, specs
from warehouse.variant import Variant
from warehouse.views import Catalog, View


def readers(catalog: Catalog, alias: str) -> list[tuple[Spec, list[View]]]:
    """The tasks that read some version of a view, each with the versions that it reads."""
    found = []
    for spec in specs():
        if spec.view in catalog:
            read = [view for view in catalog.lineage([spec.view]) if view.alias == alias]
            if read:
                found.append((spec, read))
    return found


def in_place_of(catalog: Catalog, spec: Spec, place: View, chosen: View) -> Variant:
    """The task with ``chosen`` read where ``place`` is.

    ``chosen`` may itself be made from ``place`` (a later version that reads the earlier one): then the views that read
    ``place`` get its name in their text instead.
    """
    if chosen.name == place.name:
        return Variant()
    own = {view.name for view in catalog.lineage([chosen.name])}
    if place.name not in own:
        return Variant(views={place.name: f"SELECT * FROM {chosen.name}"})
    targets = [name for name in (spec.view, why_view(spec)) if name in catalog]
    return Variant(
        views={
            view.name: renamed(view.sql, place, chosen)
            for view in catalog.lineage(targets)
            if place.name in view.reads and view.name not in own
        }
    )


def renamed(sql: str, place: View, chosen: View) -> str:
    """The text with one table's name for another's, at its tokens."""
    data, pieces, done = sql.encode(), [], 0
    found = [start for start, kind in duckdb.tokenize(sql) if kind != duckdb.token_type.comment]
    words = [_word(data, start) for start in found]
    stem = f"{place.stem}_v{place.version}"
    for number in range(len(words) - 2):
        if words[number : number + 3] == [place.schema, ".", stem]:
            start = found[number + 2]
            pieces += [data[done:start], f"{chosen.stem}_v{chosen.version}".encode()]
            done = start + len(stem)
    return b"".join([*pieces, data[done:]]).decode()


def _word(data: bytes, start: int) -> str:
    """The name, or the one sign, that begins at a byte."""
    end = start
    while end < len(data) and (data[end : end + 1].isalnum() or data[end : end + 1] == b"_"):
        end += 1
    return data[start : max(end, start + 1)].decode(errors="replace")


def affected(catalogs: Iterable[Catalog], name: str, others: Iterable[str]) -> bool:
    """Whether one of the others (views, maps, splits) is in a view's lineage, on either side."""
    wanted = set(others)
    return any(
        view.name in wanted or wanted & {*view.reads}
        for catalog in catalogs
        for view in catalog.lineage([name])
    )
