"""What the page of a view says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.answers import Answer
from pipelines.book import graph
from pipelines.book.highlight import highlight
from pipelines.book.prose import blocks
from pipelines.book.versions import compared, versions_of
from warehouse.views import View

if TYPE_CHECKING:
    from pipelines.book.site import Site

SHOWN_ROWS = 40
"""So many rows of a report or an audit are shown."""


def gather(site: Site, view: View) -> dict[str, Any]:
    """By the names that ``book/view.html`` uses."""
    entry = site.manifest.get(view.name)
    readable = view.name in site.readable
    return {
        "view": view,
        "blocks": blocks(view),
        "state": site.state(view),
        "fingerprint": site.rules[view.name],
        "entry": entry,
        "rows": site.ask(f"SELECT count(*) AS rows FROM {view.name}")
        if entry is not None and readable
        else None,
        "columns": _columns(site, view) if readable else [],
        "sql_text": highlight(view.sql, lambda name: _near(site.href(name))),
        "parents": sorted(view.reads),
        "children": site.children.get(view.name, []),
        "picture": picture(site, view),
        "versions": versions_of(site, view),
        "compared": compared(site, view),
        "tasks": site.tasks_of(view.name),
        "answer": _answer(site, view) if readable else None,
        "lines": len(view.sql.splitlines()),
    }


def _near(address: str | None) -> str | None:
    """An address below the book, as a page in one of its folders says it."""
    return None if address is None else f"../{address}"


def _columns(site: Site, view: View) -> list[tuple[str, str]]:
    """Name and type of each column."""
    return [(name, kind) for name, kind, *_ in site.con.execute(f"DESCRIBE {view.name}").fetchall()]


def _answer(site: Site, view: View) -> Answer | None:
    """The rows of a report or an audit, the first ones; None for a view of records, or one that reads images that were
    not rendered."""
    if view.layer not in ("report", "audit") or view.stem.endswith("_why"):
        return None
    order = (
        f"\nORDER BY {', '.join(_quoted(name) for name in view.grain)}" if view.grain else "\nORDER BY ALL"
    )
    try:
        return site.ask(f"SELECT *\nFROM {view.name}{order}\nLIMIT {SHOWN_ROWS}")
    except duckdb.Error:
        return None


def _quoted(name: str) -> str:
    return f'"{name}"'


def picture(site: Site, view: View) -> graph.Picture:
    """The view between what it reads and what reads it."""
    children = site.children.get(view.name, [])
    parents = {view.name: view.reads, **{child.name: (view.name,) for child in children}}
    columns = {name: 0 for name in view.reads} | {view.name: 1} | {child.name: 2 for child in children}
    return graph.draw(parents, {name: name for name in columns}, columns)
